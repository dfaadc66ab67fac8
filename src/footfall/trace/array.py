"""Symbolic arrays: an ndarray subclass whose elements are traced scalars, so that plain NumPy code traces itself.

``Scalar`` is one node of a graph with Python's arithmetic. ``Array`` is an object-dtype ndarray of them: shapes, slices,
broadcasting, ``@``, ``.T``, ``np.stack`` and the rest are NumPy's own; ``__array_ufunc__`` and ``__array_function__``
replace only what NumPy would decide by looking at a value (where, maximum, sign, clip, comparisons, norm).
Both classes answer every question about a value (``if x:``, ``float(x)``, ``x == y``, ``a[x]``) with a ``TraceError``
that says what to write instead: a trace that cannot be right stops.
"""

import math
import numbers

import numpy as np

from footfall.errors import TraceError

_array, _empty, _full = np.array, np.empty, np.full  # constructors.py replaces those of the numpy namespace while a trace runs


class Scalar:
    """One traced number, or one traced truth value."""

    __slots__ = ("graph", "node")

    def __init__(self, graph, node):
        self.graph, self.node = graph, node

    def __repr__(self):
        return f"Scalar(%{self.node}: {' '.join(map(str, self.graph.nodes[self.node]))})"

    # -- arithmetic ---------------------------------------------------------------------------------------------
    def __neg__(self):
        return Scalar(self.graph, self.graph.neg(_number(self)))

    def __pos__(self):
        return self

    def __abs__(self):
        return _unary("abs", self)

    def __invert__(self):
        return Scalar(self.graph, self.graph.logical_not(_truth(self.graph, self)))

    def conjugate(self):
        return self

    # -- refusals -----------------------------------------------------------------------------------------------
    def __bool__(self):
        raise TraceError(
            "the truth of a traced value is not known while tracing: use np.where(condition, a, b), np.maximum,"
            " np.minimum or np.clip instead of if, and, or, not, min, max, while"
        )

    def __float__(self):
        raise TraceError(
            "a traced value has no number yet: use np.sin rather than math.sin, and make arrays that receive traced"
            " values with np.stack, np.array, or np.zeros(shape, like=x) rather than as float arrays"
        )

    def __int__(self):
        raise TraceError("a traced value is not a whole number yet: use np.floor, or lookup(table, i) to index by it")

    def __index__(self):
        raise TraceError("a traced value cannot index an array or count a loop: use lookup(table, i), repeat(n, ...)")

    def __eq__(self, other):
        raise TraceError("== on traced values is a mistake in floating point: use <, <= or np.abs(a - b) < tolerance")

    __ne__ = __eq__
    __hash__ = object.__hash__

    def __iter__(self):
        raise TraceError("a traced value is a single number and cannot be unpacked")

    # -- NumPy's protocols --------------------------------------------------------------------------------------
    ndim, shape, size = 0, (), 1

    @property
    def T(self):
        return self

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return _apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function, types, args, kwargs):
        return _apply_function(function, args, kwargs)


class Array(np.ndarray):
    """An object-dtype ndarray of traced scalars and plain numbers."""

    __array_priority__ = 100

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return _apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function, types, args, kwargs):
        return _apply_function(function, args, kwargs)

    def __bool__(self):
        if self.size == 1:
            return bool(self.view(np.ndarray).item())
        raise TraceError("the truth of a traced array is not known while tracing: use np.where(condition, a, b)")

    def astype(self, dtype, *args, **kwargs):
        if np.dtype(dtype).kind in "fO":
            return self.copy()  # the precision is chosen when the trace is compiled
        raise TraceError(f"a traced array cannot become {np.dtype(dtype)}: every traced value is a real number")


def wrap(values):
    """An object ndarray as Array; a single element as itself."""
    if isinstance(values, np.ndarray):
        return values.view(Array) if values.ndim else values.item()
    return values


def symbols(graph, nodes, shape):
    """An Array of the given nodes."""
    out = _empty(len(nodes), dtype=object)
    out[:] = [Scalar(graph, n) for n in nodes]
    return out.reshape(shape).view(Array) if shape != () else out[0]


def node_of(graph, element):
    """The number node behind an element of a traced result: a Scalar or a plain number."""
    if isinstance(element, Scalar):
        if element.graph is not graph:
            raise TraceError("a value of one trace was kept and used in another: traced functions must be pure")
        return _number(element)
    return graph.const(element)


def has_symbols(values):
    """Whether a nest of lists, arrays and numbers holds a traced value."""
    if isinstance(values, (Scalar, Array)):
        return True
    if isinstance(values, np.ndarray):
        return values.dtype == object and any(isinstance(x, Scalar) for x in values.flat)
    return isinstance(values, (list, tuple)) and any(map(has_symbols, values))


def has_scalars(values):
    """Whether a nest of lists and arrays holds a traced scalar (an Array may hold plain numbers only)."""
    if isinstance(values, Scalar):
        return True
    if isinstance(values, np.ndarray):
        return values.dtype == object and any(isinstance(x, Scalar) for x in values.flat)
    return isinstance(values, (list, tuple)) and any(map(has_scalars, values))


def plain_numbers(values):
    """A float array of a nest that holds no traced scalar."""
    if has_scalars(values):
        raise TraceError("lookup: the table must be known while tracing; a traced table is not supported")
    return values.view(np.ndarray).astype(float) if isinstance(values, np.ndarray) else _array(values, dtype=float)


def _numbers(x):
    return plain_numbers(x) if isinstance(x, np.ndarray) and x.dtype == object else x


# -- element rules ------------------------------------------------------------------------------------------------
def _number(s):
    g = s.graph
    return g.select(s.node, g.const(1), g.const(0)) if g.is_boolean(s.node) else s.node


def _truth(graph, s):
    if not isinstance(s, Scalar):
        return graph.truth(bool(s))
    return s.node if graph.is_boolean(s.node) else graph.logical_not(_both_ways(graph, s.node))


def _both_ways(graph, node):  # node == 0
    zero = graph.const(0)
    return graph.logical("and", graph.less_equal(node, zero), graph.less_equal(zero, node))


def _pair(a, b):
    """(graph, node of a, node of b) with plain numbers lifted, or None if either is no scalar."""
    if isinstance(a, Scalar):
        g = a.graph
        if isinstance(b, Scalar):
            if b.graph is not g:
                raise TraceError("a value of one trace was kept and used in another: traced functions must be pure")
            return g, _number(a), _number(b)
        return (g, _number(a), g.const(b)) if isinstance(b, numbers.Real) else None
    return (b.graph, b.graph.const(a), _number(b)) if isinstance(a, numbers.Real) else None


def _binary(build, plain):
    """(operator, its reflection, rule for any two elements) from a graph method and its meaning on plain numbers."""

    def forward(self, other):
        pair = _pair(self, other)
        return NotImplemented if pair is None else Scalar(pair[0], build(*pair))

    def reflected(self, other):
        pair = _pair(other, self)
        return NotImplemented if pair is None else Scalar(pair[0], build(*pair))

    def rule(a, b):
        if isinstance(a, Scalar) or isinstance(b, Scalar):
            pair = _pair(a, b)
            if pair is None:
                raise TraceError(f"a traced value met {type(b if isinstance(a, Scalar) else a).__name__}")
            return Scalar(pair[0], build(*pair))
        return plain(a, b)

    return forward, reflected, rule


def _unary(op, a):
    return Scalar(a.graph, a.graph.unary(op, _number(a)))


def _unary_rule(op, plain):
    return lambda a: _unary(op, a) if isinstance(a, Scalar) else plain(a)


def _logical_rule(op, plain):
    def rule(a, b):
        if isinstance(a, Scalar) or isinstance(b, Scalar):
            g = a.graph if isinstance(a, Scalar) else b.graph
            return Scalar(g, g.logical(op, _truth(g, a), _truth(g, b)))
        return plain(a, b)

    return rule


def _select(condition, a, b):
    """np.where for one element."""
    if not isinstance(condition, Scalar):
        return a if condition else b
    g = condition.graph
    return Scalar(g, g.select(_truth(g, condition), node_of(g, a), node_of(g, b)))


def _sign(a):
    return _select(a > 0, 1.0, _select(a < 0, -1.0, 0.0)) if isinstance(a, Scalar) else math.copysign(a != 0, a)


def _reject_equality(a, b):
    return Scalar.__eq__(a, b)


_BINARY = {
    "add": _binary(lambda g, a, b: g.add(a, b), lambda a, b: a + b),
    "sub": _binary(lambda g, a, b: g.sub(a, b), lambda a, b: a - b),
    "mul": _binary(lambda g, a, b: g.mul(a, b), lambda a, b: a * b),
    "truediv": _binary(lambda g, a, b: g.div(a, b), lambda a, b: a / b),
    "pow": _binary(lambda g, a, b: g.power(a, b), lambda a, b: a**b),
    "lt": _binary(lambda g, a, b: g.less(a, b), lambda a, b: a < b),
    "le": _binary(lambda g, a, b: g.less_equal(a, b), lambda a, b: a <= b),
    "gt": _binary(lambda g, a, b: g.less(b, a), lambda a, b: a > b),
    "ge": _binary(lambda g, a, b: g.less_equal(b, a), lambda a, b: a >= b),
    "minimum": _binary(lambda g, a, b: g.minimum(a, b), min),
    "maximum": _binary(lambda g, a, b: g.maximum(a, b), max),
}
for _name, (_forward, _reflected, _rule) in _BINARY.items():
    if _name not in ("minimum", "maximum"):
        setattr(Scalar, f"__{_name}__", _forward)
        if _name in ("add", "sub", "mul", "truediv", "pow"):
            setattr(Scalar, f"__r{_name}__", _reflected)
for _name, _plain in (("and", lambda a, b: a and b), ("or", lambda a, b: a or b)):
    setattr(Scalar, f"__{_name}__", _logical_rule(_name, _plain))
    setattr(Scalar, f"__r{_name}__", _logical_rule(_name, _plain))

_UNARY = {name: _unary_rule(name, getattr(math, name)) for name in ("sqrt", "sin", "cos", "exp", "log", "floor")}
_UNARY["absolute"] = _unary_rule("abs", abs)
_UNARY["sign"] = _sign
_UNARY["square"] = lambda a: a * a
_UNARY["reciprocal"] = lambda a: 1.0 / a
_UNARY["tan"] = lambda a: _UNARY["sin"](a) / _UNARY["cos"](a)
_UNARY["tanh"] = lambda a: 1.0 - 2.0 / (_UNARY["exp"](2.0 * a) + 1.0)
_UNARY["logical_not"] = lambda a: ~a if isinstance(a, Scalar) else not a
_UNARY["invert"] = _UNARY["logical_not"]
for _name, _rule in _UNARY.items():  # np.sin(plain object array) calls element.sin()
    setattr(Scalar, _name, _rule)


# -- NumPy dispatch -----------------------------------------------------------------------------------------------
def _elementwise(rule, operands):
    return np.frompyfunc(rule, operands, 1)


_UFUNCS = {getattr(np, name): _elementwise(rule, 1) for name, rule in _UNARY.items()}
_UFUNCS |= {
    np.add: np.add,  # NumPy's own object loops call Scalar's operators
    np.subtract: np.subtract,
    np.multiply: np.multiply,
    np.divide: np.divide,
    np.negative: np.negative,
    np.positive: np.positive,
    np.matmul: np.matmul,
    np.conjugate: np.positive,
    np.power: _elementwise(_BINARY["pow"][2], 2),
    np.less: _elementwise(_BINARY["lt"][2], 2),
    np.less_equal: _elementwise(_BINARY["le"][2], 2),
    np.greater: _elementwise(_BINARY["gt"][2], 2),
    np.greater_equal: _elementwise(_BINARY["ge"][2], 2),
    np.maximum: _elementwise(_BINARY["maximum"][2], 2),
    np.minimum: _elementwise(_BINARY["minimum"][2], 2),
    np.fmax: _elementwise(_BINARY["maximum"][2], 2),
    np.fmin: _elementwise(_BINARY["minimum"][2], 2),
    np.logical_and: _elementwise(_logical_rule("and", lambda a, b: a and b), 2),
    np.logical_or: _elementwise(_logical_rule("or", lambda a, b: a or b), 2),
    np.bitwise_and: _elementwise(_logical_rule("and", lambda a, b: a and b), 2),
    np.bitwise_or: _elementwise(_logical_rule("or", lambda a, b: a or b), 2),
    np.equal: _elementwise(_reject_equality, 2),
    np.not_equal: _elementwise(_reject_equality, 2),
}
_where = _elementwise(_select, 3)


def plain(x):
    """x with every Array and Scalar inside seen as a base-class object ndarray."""
    if isinstance(x, Array):
        return x.view(np.ndarray)
    if isinstance(x, Scalar):
        out = _empty((), dtype=object)
        out[()] = x
        return out
    if isinstance(x, (list, tuple)):
        return type(x)(map(plain, x))
    return x


def _apply_ufunc(ufunc, method, inputs, options):
    rule = _UFUNCS.get(ufunc)
    if rule is None:
        raise TraceError(f"np.{ufunc.__name__} of a traced value is not supported; these are: {_supported()}")
    out = options.pop("out", (None,))[0]
    if out is not None and out.dtype != object:
        raise TraceError("in-place change of a float array by a traced value: write y = y + x rather than y += x")
    options.pop("dtype", None)
    if "where" in options and options["where"] is not True:
        raise TraceError(f"np.{ufunc.__name__}(..., where=...): use np.where on the result")
    result = getattr(rule, method)(*map(plain, inputs), **options)
    if out is not None:
        out[...] = result
        return out
    return wrap(result)


def _supported():
    return ", ".join(sorted(f.__name__ for f in _UFUNCS))


def _apply_function(function, args, kwargs):
    kwargs.pop("like", None)
    special = _FUNCTIONS.get(function)
    if special is not None:
        return special(*args, **kwargs)
    args, kwargs = plain(args), {k: plain(v) for k, v in kwargs.items()}
    try:
        result = function(*args, **kwargs)
    except TraceError:
        raise
    except TypeError as error:
        if not has_scalars((args, tuple(kwargs.values()))):  # constants only: numbers are known after all
            return function(*map(_numbers, args), **{k: _numbers(v) for k, v in kwargs.items()})
        name = f"{function.__module__}.{function.__name__}"
        raise TraceError(f"{name} cannot be traced: write it with arithmetic, np.where or repeat ({error})") from None
    return tuple(map(wrap, result)) if isinstance(result, (tuple, list)) else wrap(result)


def _np_where(condition, *branches):
    if len(branches) != 2:
        raise TraceError("np.where(condition) finds positions by value: use np.where(condition, a, b)")
    return wrap(_where(plain(condition), *map(plain, branches)))


def _np_clip(a, a_min=None, a_max=None, *, min=None, max=None, out=None, **_):
    low, high = a_min if min is None else min, a_max if max is None else max
    a = a if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


def _np_norm(x, ord=None, axis=None, keepdims=False):
    if ord not in (None, 2, "fro"):
        raise TraceError(f"np.linalg.norm with ord={ord!r} cannot be traced: only the Euclidean norm")
    return np.sqrt(np.sum(np.square(x), axis=axis, keepdims=keepdims))


def _np_like(fill):
    def make(prototype, dtype=None, shape=None, **_):
        return wrap(_full(np.shape(prototype) if shape is None else shape, fill, dtype=object))

    return make


def _construct(function):
    """np.zeros(..., like=x) and friends: object arrays that traced values can be assigned into."""

    copies = function.__name__ in ("array", "asarray", "asanyarray")

    def make(*args, dtype=None, **kwargs):
        if copies and has_symbols(args[0]):
            return wrap(function(args[0], dtype=object, **kwargs))
        return wrap(function(*args, dtype=dtype, **kwargs).astype(object))

    return make


CONSTRUCTORS = (np.array, np.asarray, np.asanyarray, np.zeros, np.ones, np.empty, np.full, np.eye, np.identity)
_FUNCTIONS = {
    np.where: _np_where,
    np.clip: _np_clip,
    np.linalg.norm: _np_norm,
    np.max: lambda a, axis=None, **_: np.maximum.reduce(np.ravel(a) if axis is None else a, axis=axis or 0),
    np.min: lambda a, axis=None, **_: np.minimum.reduce(np.ravel(a) if axis is None else a, axis=axis or 0),
    np.zeros_like: _np_like(0.0),
    np.ones_like: _np_like(1.0),
    **{function: _construct(function) for function in CONSTRUCTORS},
}
