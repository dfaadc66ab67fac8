"""One traced number or truth value: a node of a graph with Python's arithmetic.

Every use of its value (``if x:``, ``float(x)``, ``x == y``, ``a[x]``, ``{}[x]``) raises a ``TraceError`` that says what
to write instead: a trace that cannot be correct stops. Its type looks like the ``np.float64`` or ``np.bool_`` that it
represents, so that code that checks types takes the same branch as in plain NumPy.
"""

import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeAlias, TypeGuard, overload

import numpy as np

from nptrace import numeric
from nptrace.ir.graph import BOOLEAN_OPS, Graph, Node
from nptrace.ir.refusal import refusal

Element: TypeAlias = "Scalar | float"  # one number or truth value of an array, or a symbol in its place
Rule: TypeAlias = Callable[[Element, Element], Element]  # for two elements, at least one of them traced
_FLOAT, _BOOL = np.dtype(np.float64), np.dtype(np.bool_)


class Scalar:
    """One traced number, or one traced truth value."""

    __slots__ = ("graph", "node")

    def __init__(self, graph: Graph, node: Node) -> None:
        self.graph, self.node = graph, node

    def __repr__(self) -> str:
        if numeric.tracer.get() is not None:
            raise refusal("a traced value cannot be converted to text: return it and print or format the result")
        return f"<traced %{self.node}: {' '.join(map(str, self.graph.nodes[self.node]))}>"

    @property
    def is_truth(self) -> bool:
        return self.graph.nodes[self.node][0] in BOOLEAN_OPS

    # -- arithmetic (the binary operators are set below) ---------------------------------------------------------------
    def __neg__(self) -> "Scalar":
        if self.is_truth:
            raise refusal("a boolean cannot be negated: use ~condition, or 1.0 * condition to make it a number")
        return Scalar(self.graph, self.graph.neg(self.node))

    def __pos__(self) -> "Scalar":
        return self

    def __abs__(self) -> "Scalar":
        return unary("abs", self)

    def __invert__(self) -> "Scalar":
        return Scalar(self.graph, self.graph.logical_not(truth_of(self.graph, self)))

    def conjugate(self) -> "Scalar":
        return self

    if TYPE_CHECKING:  # set by _set_operator

        def __add__(self, other: Element) -> "Scalar": ...
        def __radd__(self, other: Element) -> "Scalar": ...
        def __sub__(self, other: Element) -> "Scalar": ...
        def __rsub__(self, other: Element) -> "Scalar": ...
        def __mul__(self, other: Element) -> "Scalar": ...
        def __rmul__(self, other: Element) -> "Scalar": ...
        def __truediv__(self, other: Element) -> "Scalar": ...
        def __rtruediv__(self, other: Element) -> "Scalar": ...
        def __pow__(self, other: Element) -> "Scalar": ...
        def __rpow__(self, other: Element) -> "Scalar": ...
        def __lt__(self, other: Element) -> "Scalar": ...
        def __le__(self, other: Element) -> "Scalar": ...
        def __gt__(self, other: Element) -> "Scalar": ...
        def __ge__(self, other: Element) -> "Scalar": ...
        def __and__(self, other: Element) -> "Scalar": ...
        def __rand__(self, other: Element) -> "Scalar": ...
        def __or__(self, other: Element) -> "Scalar": ...
        def __ror__(self, other: Element) -> "Scalar": ...

    # -- operations that raise -----------------------------------------------------------------------------------------
    def __bool__(self) -> bool:
        raise refusal(
            "the truth of a traced value is not known while tracing: use np.where(condition, a, b), np.maximum,"
            " np.minimum or np.clip instead of if, and, or, not, min, max, while, sort"
            " (and make a list of traced values an np.array first)"
        )

    def __float__(self) -> float:
        raise refusal(
            "a traced value has no numerical value: use np.sin rather than math.sin or float(x), and make arrays that"
            " receive traced values with np.stack, np.array or np.zeros rather than as float arrays"
        )

    __complex__ = __float__

    def __int__(self) -> int:
        raise refusal("a traced value is not a whole number: use np.floor, or lookup(table, i) to index by it")

    def __index__(self) -> int:
        raise refusal("a traced value cannot index an array or count a loop: use lookup(table, i), repeat(n, ...)")

    def __ne__(self, other: Element) -> "Scalar":  # type: ignore[override]
        return ~_equal(self, other)

    def __eq__(self, other: Element) -> "Scalar":  # type: ignore[override]
        return _equal(self, other)

    def __hash__(self) -> int:
        raise refusal(
            "a traced value cannot be a key of a dict, a set or a cache: its value is not known while tracing"
        )

    def __format__(self, spec: str) -> str:
        if spec:
            raise refusal(f"a traced value cannot be formatted as {spec!r}: return it and format the result")
        return repr(self)

    def __reduce__(self) -> NoReturn:
        raise refusal("a traced value cannot be pickled or sent to another process")

    def __getattr__(self, name: str) -> NoReturn:
        # hasattr must keep working for names that no number has; attributes of numbers that a trace lacks raise
        if not name.startswith("_") and hasattr(np.float64, name):
            raise refusal(f".{name} of a traced number is not supported")
        raise AttributeError(f"a traced number has no attribute {name!r}")

    # -- attributes and methods of np.float64 --------------------------------------------------------------------------
    ndim, shape, size = 0, (), 1

    @property
    def dtype(self) -> np.dtype:
        return _BOOL if self.is_truth else _FLOAT

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # seen by isinstance
        return np.bool_ if self.is_truth else np.float64

    @property
    def T(self) -> "Scalar":
        return self

    @property
    def real(self) -> "Scalar":
        return self

    @property
    def imag(self) -> float:
        return 0.0

    def __copy__(self) -> "Scalar":
        return self

    def __deepcopy__(self, memo: dict) -> "Scalar":
        return self

    def item(self) -> "Scalar":
        return self

    tolist = copy = conj = item


# -- nodes of elements -------------------------------------------------------------------------------------------------
def is_scalar(x: object) -> TypeGuard[Scalar]:
    """Return whether x is a traced scalar (isinstance would read its __class__, which is float64)."""
    return type(x) is Scalar


def lift(graph: Graph, x: object) -> Node | None:
    """Return the node of an element, truth values unchanged; None if it is not a real number."""
    if type(x) is Scalar:
        if x.graph is not graph:
            raise refusal("a value of one trace was kept and used in another: traced functions must be pure")
        return x.node
    if type(x) is float or type(x) is int:
        return graph.const(x)
    if type(x) is bool or type(x) is np.bool_:
        return graph.truth(bool(x))
    if isinstance(x, numbers.Real):
        return graph.const(x)
    if isinstance(x, numbers.Complex):
        raise refusal(
            f"the complex number {x} cannot be combined with a traced value: every traced value is a real number"
        )
    return None


def number(graph: Graph, node: Node) -> Node:
    """Return a truth value as 0 or 1, a number as it is."""
    if graph.nodes[node][0] in BOOLEAN_OPS:
        return graph.select(node, graph.const(1), graph.const(0))
    return node


def node_of(graph: Graph, element: object) -> Node:
    """Return the number node of an element of a traced result."""
    node = lift(graph, element)
    if node is None:
        raise refusal(f"a traced function expected a number, got {_brief(element)}")
    return number(graph, node)


def truth_of(graph: Graph, element: object) -> Node:
    """Return the truth node of an element; a number is true if it is not zero."""
    node = lift(graph, element)
    if node is None:
        raise refusal(f"a traced function expected a condition, got {_brief(element)}")
    if graph.nodes[node][0] in BOOLEAN_OPS:
        return node
    known = graph.value(node)
    if known is not None:
        return graph.truth(known != 0)
    zero = graph.const(0)
    return graph.logical_not(graph.logical("and", graph.less_equal(node, zero), graph.less_equal(zero, node)))


def _brief(element: object) -> str:
    with numeric.untraced():  # it may contain traced values
        text = repr(element)
    return f"{type(element).__name__} {text if len(text) < 40 else text[:37] + '...'}"


def graph_of(*elements: object) -> Graph:
    return next(x.graph for x in elements if type(x) is Scalar)


# -- element rules -----------------------------------------------------------------------------------------------------
def unary(op: str, a: Scalar) -> Scalar:
    """Return the rule of a graph operation on one scalar."""
    return Scalar(a.graph, a.graph.unary(op, number(a.graph, a.node)))


@overload
def select(condition: Scalar, a: Element, b: Element) -> Scalar: ...
@overload
def select(condition: Element, a: Element, b: Element) -> Element: ...
def select(condition: Element, a: Element, b: Element) -> Element:
    """Return np.where for one element; a truth value if both choices are truth values."""
    if type(condition) is not Scalar:
        return a if condition else b
    g = condition.graph
    c, x, y = truth_of(g, condition), lift(g, a), lift(g, b)
    if x is not None and y is not None and g.is_boolean(x) and g.is_boolean(y):
        return Scalar(g, g.logical("or", g.logical("and", c, x), g.logical("and", g.logical_not(c), y)))
    return Scalar(g, g.select(c, node_of(g, a), node_of(g, b)))


Build = Callable[[Graph, Node, Node], Node]


def binary(build: Build, truths: Build | None = None) -> Callable[[Element, Element], Scalar]:
    """Return the rule for two elements, at least one traced, from a graph method; NotImplemented for non-numbers.

    ``truths``: the rule for two truth values, where NumPy treats them differently (True + True is True).
    """

    def rule(a: Element, b: Element) -> Scalar:
        if type(a) is Scalar:
            g = a.graph
        else:
            assert type(b) is Scalar
            g = b.graph
        x, y = lift(g, a), lift(g, b)
        if x is None or y is None:
            return NotImplemented
        nodes = g.nodes
        if nodes[x][0] in BOOLEAN_OPS:
            if truths is not None and nodes[y][0] in BOOLEAN_OPS:
                return Scalar(g, truths(g, x, y))
            x = number(g, x)
        if nodes[y][0] in BOOLEAN_OPS:
            y = number(g, y)
        return Scalar(g, build(g, x, y))

    return rule


def _refuse_difference(g: Graph, a: Node, b: Node) -> Node:
    raise refusal("two booleans cannot be subtracted: use np.logical_xor, or 1.0 * condition to make one a number")


def xor(g: Graph, a: Node, b: Node) -> Node:
    """Return whether exactly one of two truth nodes holds."""
    return g.logical("and", g.logical("or", a, b), g.logical_not(g.logical("and", a, b)))


def logical(build: Build) -> Callable[[Element, Element], Scalar]:
    """Return the rule for two elements taken as truth values."""

    def rule(a: Element, b: Element) -> Scalar:
        g = graph_of(a, b)
        return Scalar(g, build(g, truth_of(g, a), truth_of(g, b)))

    return rule


def _refuse_equality(g: Graph, a: Node, b: Node) -> Node:
    raise refusal("== on traced values is a mistake in floating point: use <, <= or np.abs(a - b) < tolerance")


_compare_equal = binary(_refuse_equality, lambda g, a, b: g.logical_not(xor(g, a, b)))


def _equal(a: Element, b: Element) -> Scalar:
    result = _compare_equal(a, b)
    if result is NotImplemented:
        _refuse_equality(graph_of(a, b), 0, 0)
    return result


def _and(g: Graph, a: Node, b: Node) -> Node:
    return g.logical("and", a, b)


def _or(g: Graph, a: Node, b: Node) -> Node:
    return g.logical("or", a, b)


BINARY: dict[str, Callable[[Element, Element], Scalar]] = {
    "add": binary(Graph.add, _or),
    "sub": binary(Graph.sub, _refuse_difference),
    "mul": binary(Graph.mul, _and),
    "truediv": binary(Graph.div),
    "pow": binary(Graph.power),
    "lt": binary(Graph.less),
    "le": binary(Graph.less_equal),
    "gt": binary(lambda g, a, b: g.less(b, a)),
    "ge": binary(lambda g, a, b: g.less_equal(b, a)),
    "and": logical(_and),
    "or": logical(_or),
    "xor": logical(xor),
    "eq": _equal,
    "ne": lambda a, b: ~_equal(a, b),
    "minimum": binary(Graph.minimum, _and),
    "maximum": binary(Graph.maximum, _or),
    "arctan2": binary(Graph.atan2),
}


_OF_NUMBERS: dict[str, Build] = {"add": Graph.add, "sub": Graph.sub, "mul": Graph.mul, "truediv": Graph.div}


def _set_operator(name: str, rule: Rule) -> None:
    """Give Scalar the operator and its reflection; defers to arrays, and converts lists to arrays."""

    build = _OF_NUMBERS.get(name)

    def forward(self: Scalar, other: Element) -> Element:
        kind: type = type(other)
        if kind is Scalar or kind is float:  # nearly always
            g, x, y = self.graph, self.node, None
            if type(other) is Scalar:
                y = other.node if other.graph is g else None
            else:
                y = g.const(other)
            if build is None or y is None or g.nodes[x][0] in BOOLEAN_OPS or g.nodes[y][0] in BOOLEAN_OPS:
                return rule(self, other)
            return Scalar(g, build(g, x, y))
        if isinstance(other, np.ndarray):
            return NotImplemented
        return rule_of_arrays(self, other) if kind in (list, tuple) else rule(self, other)

    def reflected(self: Scalar, other: Element) -> Element:
        if type(other) is float and build is not None and self.graph.nodes[self.node][0] not in BOOLEAN_OPS:
            return Scalar(self.graph, build(self.graph, self.graph.const(other), self.node))
        if isinstance(other, np.ndarray):
            return NotImplemented
        kind: type = type(other)
        return rule_of_arrays(other, self) if kind in (list, tuple) else rule(other, self)

    ufunc = {
        "sub": "subtract",
        "mul": "multiply",
        "truediv": "divide",
        "pow": "power",
        "floordiv": "floor_divide",
        "mod": "remainder",
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
        "and": "bitwise_and",
        "or": "bitwise_or",
        "xor": "bitwise_xor",
    }.get(name, name)
    rule_of_arrays = getattr(np, ufunc)
    setattr(Scalar, f"__{name}__", forward)
    if name not in ("lt", "le", "gt", "ge"):
        setattr(Scalar, f"__r{name}__", reflected)


for _name in ("add", "sub", "mul", "truediv", "pow", "lt", "le", "gt", "ge", "and", "or", "xor"):
    _set_operator(_name, BINARY[_name])
