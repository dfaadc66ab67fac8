"""A hash-consed graph of scalar operations: what a trace is made of.

A node is an integer; ``graph.nodes[i]`` is a tuple ``(op, *operands)``. Building the same tuple twice gives the same
integer, so common subexpressions merge by construction, and the building methods simplify before they build (0*x, 1*x,
x+0, constants, signs). There is no global state: every trace owns one ``Graph``.

Two nodes are regions rather than operations. A *repeat* is a loop with carried values; its body lives in the same graph
and refers to the loop's parameters. Whatever in the body does not depend on a parameter is therefore outside the loop by
construction (loop-invariant code needs no pass). A *lookup* reads a constant table at a rounded-down, clamped position.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from footfall.errors import TraceError

BOOLEAN_OPS = frozenset({"lt", "le", "and", "or", "not"})
LEAF_OPS = frozenset({"const", "input", "param", "counter"})
COMMUTATIVE_OPS = frozenset({"add", "mul", "and", "or"})
LARGEST_UNROLLED_POWER = 8


@dataclass
class Region:
    """The body of a repeat: parameters in, results out, both as nodes of the owning graph."""

    count: int
    params: tuple[int, ...]
    results: tuple[int, ...] = ()
    saves: tuple[int, ...] = ()  # body nodes stored at every iteration, read back by a reversed region
    reverse: bool = False  # the counter runs count-1 .. 0


@dataclass
class Graph:
    """Nodes, the regions and tables they refer to, and the simplifying constructors."""

    nodes: list[tuple] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)
    tables: list[np.ndarray] = field(default_factory=list)
    _ids: dict = field(default_factory=dict)
    _table_ids: dict = field(default_factory=dict)

    # -- leaves ---------------------------------------------------------------------------------------------------
    def node(self, op, *operands):
        """The integer of this exact tuple, made on first use. No simplification."""
        key = (op, *operands)
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self.nodes)
            self.nodes.append(key)
        return found

    def const(self, value):
        value = float(value)
        key = ("const", value, math.copysign(1.0, value))  # 0.0 == -0.0, but they are two constants
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self.nodes)
            self.nodes.append(("const", value))
        return found

    def input(self, position):
        return self.node("input", position)

    def table(self, values):
        values = np.ascontiguousarray(values, dtype=np.float64)
        key = (values.shape, values.tobytes())
        if key not in self._table_ids:
            self._table_ids[key] = len(self.tables)
            self.tables.append(values)
        return self._table_ids[key]

    # -- questions ------------------------------------------------------------------------------------------------
    def op(self, i):
        return self.nodes[i][0]

    def operands(self, i):
        """The nodes that node i reads directly (for a repeat: its initial values)."""
        return _operands(self.nodes[i])

    def value(self, i):
        """The number behind a constant node, or None."""
        n = self.nodes[i]
        return n[1] if n[0] == "const" else None

    def is_boolean(self, i):
        return self.nodes[i][0] in BOOLEAN_OPS

    # -- arithmetic -----------------------------------------------------------------------------------------------
    def add(self, a, b):
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.const(x + y)
        if x == 0:
            return b
        if y == 0:
            return a
        if self.op(b) == "neg":
            return self.sub(a, self.nodes[b][1])
        if self.op(a) == "neg":
            return self.sub(b, self.nodes[a][1])
        return self.node("add", *_sorted(a, b))

    def sub(self, a, b):
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.const(x - y)
        if a == b:
            return self.const(0)
        if y == 0:
            return a
        if x == 0:
            return self.neg(b)
        if self.op(b) == "neg":
            return self.add(a, self.nodes[b][1])
        if self.op(a) == "neg":
            return self.neg(self.add(self.nodes[a][1], b))
        return self.node("sub", a, b)

    def neg(self, a):
        n = self.nodes[a]
        if n[0] == "const":
            return self.const(-n[1])
        if n[0] == "neg":
            return n[1]
        if n[0] == "sub":
            return self.node("sub", n[2], n[1])
        return self.node("neg", a)

    def mul(self, a, b):
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.const(x * y)
        if y is not None:
            a, b, x = b, a, y
        if x is not None:
            if x == 0:
                return self.const(0)
            if x == 1:
                return b
            if x == -1:
                return self.neg(b)
            inner = self.nodes[b]
            if inner[0] == "mul" and self.value(inner[1]) is not None:
                return self.mul(self.const(x * self.value(inner[1])), inner[2])
            if inner[0] == "mul" and self.value(inner[2]) is not None:
                return self.mul(self.const(x * self.value(inner[2])), inner[1])
            if x < 0:  # keep one sign of every constant product, so that c*x and -c*x share work
                return self.neg(self.mul(self.const(-x), b))
        if self.op(a) == "neg":
            return self.neg(self.mul(self.nodes[a][1], b))
        if self.op(b) == "neg":
            return self.neg(self.mul(a, self.nodes[b][1]))
        return self.node("mul", *_sorted(a, b))

    def inv(self, a):
        n = self.nodes[a]
        if n[0] == "const":
            if n[1] == 0:
                raise TraceError("division by the constant zero in a traced function")
            return self.const(1 / n[1])
        if n[0] == "inv":
            return n[1]
        if n[0] == "neg":
            return self.neg(self.inv(n[1]))
        return self.node("inv", a)

    def div(self, a, b):
        """a times the reciprocal of b: a reciprocal is shared by every quotient with the same divisor."""
        return self.const(1) if a == b else self.mul(a, self.inv(b))

    # -- functions ------------------------------------------------------------------------------------------------
    def unary(self, op, a):
        x = self.value(a)
        if x is not None:
            return self.const(_FOLD_UNARY[op](x))
        if op == "abs" and self.op(a) in ("abs", "sqrt", "exp"):
            return a
        if op in ("sin", "cos", "abs") and self.op(a) == "neg":
            inner = self.unary(op, self.nodes[a][1])
            return self.neg(inner) if op == "sin" else inner
        return self.node(op, a)

    def power(self, a, b):
        """a**b; small whole and half exponents become products and square roots."""
        exponent = self.value(b)
        if exponent is None:
            return self.node("pow", a, b)
        if self.value(a) is not None:
            return self.const(self.value(a) ** exponent)
        if exponent == 0.5:
            return self.unary("sqrt", a)
        if exponent == -0.5:
            return self.inv(self.unary("sqrt", a))
        if exponent == int(exponent) and abs(exponent) <= LARGEST_UNROLLED_POWER:
            return self._whole_power(a, int(exponent))
        return self.node("pow", a, b)

    def _whole_power(self, a, n):
        if n < 0:
            return self.inv(self._whole_power(a, -n))
        if n == 0:
            return self.const(1)
        if n == 1:
            return a
        half = self._whole_power(a, n // 2)
        square = self.mul(half, half)
        return self.mul(square, a) if n % 2 else square

    def minimum(self, a, b):
        return self._extreme("min", min, a, b)

    def maximum(self, a, b):
        return self._extreme("max", max, a, b)

    def _extreme(self, op, fold, a, b):
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.const(fold(x, y))
        # Of a NaN and a constant the NaN wins, as in NumPy; of two variables the first one's NaN does.
        return a if a == b else self.node(op, *((b, a) if x is not None else (a, b)))

    # -- truth ----------------------------------------------------------------------------------------------------
    def less(self, a, b):
        return self._compare("lt", a, b)

    def less_equal(self, a, b):
        return self._compare("le", a, b)

    def _compare(self, op, a, b):
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.truth(x < y if op == "lt" else x <= y)
        return self.truth(op == "le") if a == b else self.node(op, a, b)

    def truth(self, flag):
        """A boolean constant, spelt as a comparison of constants so that it stays boolean."""
        return self.node("lt" if flag else "le", self.const(0 if flag else 1), self.const(1 if flag else 0))

    def truth_value(self, a):
        n = self.nodes[a]
        if n[0] in ("lt", "le"):
            x, y = self.value(n[1]), self.value(n[2])
            if x is not None and y is not None:
                return x < y if n[0] == "lt" else x <= y
        return None

    def logical(self, op, a, b):
        absorbing = op == "or"
        for x, y in ((a, b), (b, a)):
            known = self.truth_value(x)
            if known is not None:
                return self.truth(known) if known == absorbing else y
        return a if a == b else self.node(op, *_sorted(a, b))

    def logical_not(self, a):
        n, known = self.nodes[a], self.truth_value(a)
        if known is not None:
            return self.truth(not known)
        return n[1] if n[0] == "not" else self.node("not", a)

    def select(self, condition, a, b):
        known = self.truth_value(condition)
        if known is not None:
            return a if known else b
        if self.op(condition) == "not":
            return self.select(self.nodes[condition][1], b, a)
        return a if a == b else self.node("select", condition, a, b)

    # -- regions --------------------------------------------------------------------------------------------------
    def lookup(self, table, *position):
        shape = self.tables[table].shape
        if len(shape) != len(position):
            raise TraceError(f"lookup: a table of {len(shape)} axes needs {len(shape)} positions, got {len(position)}")
        if all(self.value(p) is not None for p in position):
            at = tuple(int(min(max(math.floor(self.value(p)), 0), n - 1)) for p, n in zip(position, shape))
            return self.const(self.tables[table][at])
        return self.node("lookup", table, *position)

    def open_region(self, count, carried, reverse=False):
        """A new region and the parameter nodes of its carried values; close it with ``repeat``."""
        index = len(self.regions)
        params = tuple(self.node("param", index, k) for k in range(carried))
        self.regions.append(Region(count, params, reverse=reverse))
        return index, params

    def counter(self, region):
        """The iteration number inside a region, as a number."""
        return self.node("counter", region)

    def repeat(self, region, initial, results, saves=()):
        """Close a region; returns the repeat node. Read its final values with ``item``."""
        self.regions[region].results = tuple(results)
        self.regions[region].saves = tuple(saves)
        return self.node("repeat", region, *initial)

    def item(self, repeat, k):
        region = self.regions[self.nodes[repeat][1]]
        if region.results[k] == region.params[k]:  # carried through unchanged
            return self.nodes[repeat][2 + k]
        return self.node("item", repeat, k)

    def saved(self, repeat, slot, region):
        """Value ``slot`` that a repeat saved, at the current iteration of another region."""
        return self.node("saved", repeat, slot, region)

    # -- walking --------------------------------------------------------------------------------------------------
    def live(self, roots):
        """Every node that roots need, operands first (loop bodies included)."""
        nodes, seen, stack = self.nodes, set(), list(roots)
        while stack:
            i = stack.pop()
            if i in seen:
                continue
            seen.add(i)
            n = nodes[i]
            if n[0] == "repeat":
                region = self.regions[n[1]]
                stack += region.results
                stack += region.saves
            stack += _operands(n)
        return sorted(seen)


def _operands(n):
    op = n[0]
    if op in LEAF_OPS:
        return ()
    if op in ("repeat", "lookup"):
        return n[2:]
    if op in ("item", "saved"):
        return n[1:2]
    return n[1:]


def _sorted(a, b):
    return (a, b) if a <= b else (b, a)


def _reject(name, rule):
    def fold(x):
        try:
            return rule(x)
        except ValueError:
            raise TraceError(f"{name} of the constant {x} in a traced function") from None

    return fold


_FOLD_UNARY = {
    "sqrt": _reject("sqrt", math.sqrt),
    "log": _reject("log", math.log),
    "sin": math.sin,
    "cos": math.cos,
    "exp": math.exp,
    "abs": abs,
    "floor": math.floor,
}
