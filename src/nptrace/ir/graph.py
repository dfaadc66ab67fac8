"""A hash-consed graph of scalar operations: the result of tracing.

A node is an integer; ``graph.nodes[i]`` is a tuple ``(op, *operands)``. Building the same tuple twice gives the same
integer, so common subexpressions merge by construction, and the constructors simplify first (0*x, 1*x, x+0, constants,
signs). There is no global state: every trace owns one ``Graph``. Simplification follows the rules of real numbers: 0*x
and x - x are 0 even if x is NaN at run time, and the sign of zero is not kept.

Semantics of the operations, on every target: ``min`` and ``max`` give NaN if either operand is NaN; ``pow`` is for
bases >= 0 (``power`` below builds the rest); a quotient is a product with a shared reciprocal ``inv``; only a quotient
that is compared, rounded or used as a position is a true division ``div``: 49 * (1 / 49) is less than 1.

Two nodes are regions rather than operations. A *repeat* is a loop with carried values; its body lives in the same
graph and refers to the loop's parameters. Anything in the body that does not depend on a parameter is therefore outside
the loop by construction (loop-invariant code motion needs no pass). A *lookup* reads a constant table at a
rounded-down, clamped position; ``("lookup_input", first, shape, *positions)`` reads a table given at run time, as the
inputs from ``first`` on.

``("random", part, *words)`` are some bits of a random block, which is a function of its counter and key (``philox``);
their derivative is zero, as for a lookup.

Two nodes are memory: a repeat that saves values at every iteration, and *rows*, values stored in rows. A loop reads the
row of its current iteration (``saved``), other code a row with a known index (``stored``).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from nptrace.ir.arithmetic import Arithmetic, Node, ordered
from nptrace.ir.fold import fold_unary
from nptrace.ir.philox import COUNTER_WORDS, Part, block, part_of
from nptrace.ir.powers import power
from nptrace.ir.refusal import refusal

BOOLEAN_OPS = frozenset({"lt", "le", "and", "or", "not"})
LEAF_OPS = frozenset({"const", "input", "param", "counter"})
_PASSING = frozenset({"add", "sub", "mul", "neg", "abs", "min", "max"})  # these propagate rounding errors


@dataclass(kw_only=True)
class Region:
    """The body of a repeat: parameters in, results out, both as nodes of the owning graph."""

    count: int
    params: tuple[int, ...]
    results: tuple[int, ...] = ()
    saves: tuple[int, ...] = ()  # body nodes stored at every iteration, one row each
    reverse: bool = False  # the counter runs count-1 .. 0
    stop: int | None = None  # the carried value that ends the loop when it becomes 1
    check_first: bool = False  # the loop may end before its first iteration


@dataclass(kw_only=True)
class Graph(Arithmetic):
    """Nodes, the regions and tables they refer to, and the simplifying constructors."""

    regions: list[Region] = field(default_factory=list)
    tables: list[np.ndarray] = field(default_factory=list)
    _table_ids: dict[tuple, int] = field(default_factory=dict)

    # -- leaves and queries --------------------------------------------------------------------------------------------
    def table(self, values: np.ndarray) -> int:
        values = np.ascontiguousarray(values, dtype=np.float64)
        key = (values.shape, values.tobytes())
        if key not in self._table_ids:
            self._table_ids[key] = len(self.tables)
            self.tables.append(values)
        return self._table_ids[key]

    def operands(self, i: Node) -> tuple[Node, ...]:
        """Return the nodes that node i reads directly (for a repeat: its initial values)."""
        return operands_of(self.nodes[i])

    def is_boolean(self, i: Node) -> bool:
        return self.nodes[i][0] in BOOLEAN_OPS

    def decide_by(self, a: Node, depth: int = 3) -> Node:
        """Return a node that decides something; its quotients become true divisions, wherever they are read."""
        literal = self._literal.pop(a, None)
        if literal is not None:
            self.nodes[a] = literal
        if depth and self.op(a) in _PASSING:
            for x in self.operands(a):
                self.decide_by(x, depth - 1)
        return a

    # -- functions -----------------------------------------------------------------------------------------------------
    def unary(self, op: str, a: Node) -> Node:
        x = self.value(a)
        if x is not None:
            return self.const(fold_unary(op, x))
        if op == "abs" and self.op(a) in ("abs", "sqrt", "exp"):
            return a
        if op in ("sin", "cos", "abs") and self.op(a) == "neg":
            inner = self.unary(op, self.nodes[a][1])
            return self.neg(inner) if op == "sin" else inner
        return self.node(op, a)

    def atan2(self, y: Node, x: Node) -> Node:
        a, b = self.value(y), self.value(x)
        if a is not None and b is not None:
            return self.const(math.atan2(a, b))
        return self.node("atan2", y, x)

    def power(self, a: Node, b: Node) -> Node:
        """Return a**b as NumPy does; whole and half exponents become products and square roots."""
        return power(self, a, b)

    def minimum(self, a: Node, b: Node) -> Node:
        return self._extreme("min", a, b)

    def maximum(self, a: Node, b: Node) -> Node:
        return self._extreme("max", a, b)

    def _extreme(self, op: str, a: Node, b: Node) -> Node:
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.const(np.minimum(x, y) if op == "min" else np.maximum(x, y))
        if a == b:
            return a
        # the constant goes second: unless it is NaN, a target needs to check only the first operand for NaN
        return self.node(op, *((b, a) if x is not None else ordered(a, b) if y is None else (a, b)))

    # -- truth ---------------------------------------------------------------------------------------------------------
    def less(self, a: Node, b: Node) -> Node:
        return self._compare("lt", a, b)

    def less_equal(self, a: Node, b: Node) -> Node:
        return self._compare("le", a, b)

    def _compare(self, op: str, a: Node, b: Node) -> Node:
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.truth(x < y if op == "lt" else x <= y)
        for one, bound in ((a, y), (b, x)):
            if bound != 0 or self.op(one) not in ("mul", "neg", "abs"):  # the sign of a product is correct in any case
                self.decide_by(one)
        return self.truth(False) if a == b and op == "lt" else self.node(op, a, b)  # NaN <= NaN does not hold

    def truth(self, flag: bool) -> Node:
        """Return a boolean constant, as a comparison of constants so that it stays boolean."""
        return self.node("lt" if flag else "le", self.const(0 if flag else 1), self.const(1 if flag else 0))

    def truth_value(self, a: Node) -> bool | None:
        n = self.nodes[a]
        if n[0] in ("lt", "le"):
            x, y = self.value(n[1]), self.value(n[2])
            if x is not None and y is not None:
                return x < y if n[0] == "lt" else x <= y
        return None

    def logical(self, op: str, a: Node, b: Node) -> Node:
        absorbing = op == "or"
        for x, y in ((a, b), (b, a)):
            known = self.truth_value(x)
            if known is not None:
                return self.truth(known) if known == absorbing else y
        return a if a == b else self.node(op, *ordered(a, b))

    def logical_not(self, a: Node) -> Node:
        n, known = self.nodes[a], self.truth_value(a)
        if known is not None:
            return self.truth(not known)
        return n[1] if n[0] == "not" else self.node("not", a)

    def select(self, condition: Node, a: Node, b: Node) -> Node:
        known = self.truth_value(condition)
        if known is not None:
            return a if known else b
        if self.op(condition) == "not":
            return self.select(self.nodes[condition][1], b, a)
        return a if a == b else self.node("select", condition, a, b)

    # -- regions -------------------------------------------------------------------------------------------------------
    def lookup(self, table: int, *position: Node) -> Node:
        values = self.tables[table]
        return self._read(("lookup", table), values.shape, position, lambda at: self.const(values.flat[at]))

    def lookup_input(self, first: int, shape: tuple[int, ...], *position: Node) -> Node:
        """Return a lookup in a run-time table: the inputs first, first + 1, ... in row-major order."""
        return self._read(("lookup_input", first, shape), shape, position, lambda at: self.input(first + at))

    def _read(
        self, start: tuple, shape: tuple[int, ...], position: tuple[Node, ...], known: Callable[[int], Node]
    ) -> Node:
        """Return a lookup node, or at constant positions the entry itself (``known(flat index)``)."""
        if len(shape) != len(position):
            raise refusal(f"lookup: a table of {len(shape)} axes needs {len(shape)} positions, got {len(position)}")
        if 0 in shape:
            raise refusal(f"lookup: a table of shape {shape} is empty")
        coordinates = [x for p in position if (x := self.value(p)) is not None]
        if any(map(math.isnan, coordinates)):
            return self.const(math.nan)
        if len(coordinates) < len(position):
            return self.node(*start, *map(self.decide_by, position))
        at = [int(np.clip(np.floor(p), 0, n - 1)) for p, n in zip(coordinates, shape)]
        return known(int(np.ravel_multi_index(at, shape)))

    def random(self, part: Part, *words: Node) -> Node:
        """Return some bits of a random block (``philox``) as an integer; 16-bit words: its counter, then its key."""
        known = [x for w in words if (x := self.value(w)) is not None]
        if len(known) == len(words):
            return self.const(int(part_of(block(known[:COUNTER_WORDS], known[COUNTER_WORDS:]), part)))
        return self.node("random", part, *words)

    def open_region(self, count: int, carried: int, reverse: bool = False) -> tuple[int, tuple[Node, ...]]:
        """Return a new region and the parameter nodes of its carried values; close it with ``repeat``."""
        index = len(self.regions)
        params = tuple(self.node("param", index, k) for k in range(carried))
        self.regions.append(Region(count=count, params=params, reverse=reverse))
        return index, params

    def counter(self, region: int) -> Node:
        """Return the iteration number inside a region."""
        return self.node("counter", region)

    def repeat(
        self,
        region: int,
        initial: Sequence[Node],
        results: Iterable[Node],
        saves: Iterable[Node] = (),
        stop: int | None = None,
    ) -> Node:
        """Close a region and return the repeat node. Read its final values with ``item``."""
        self.regions[region].stop = stop
        self.regions[region].results = tuple(results)
        self.regions[region].saves = tuple(saves)
        return self.node("repeat", region, *initial)

    def item(self, repeat: Node, k: int) -> Node:
        region = self.regions[self.nodes[repeat][1]]
        if region.count == 0 or region.results[k] == region.params[k]:  # carried through unchanged
            return self.nodes[repeat][2 + k]
        return self.node("item", repeat, k)

    def stop_gradient(self, a: Node) -> Node:
        """Return ``a`` without its derivative; for graphs that are to be differentiated."""
        return a if self.op(a) in ("const", "stop_gradient") else self.node("stop_gradient", a)

    def gradient_bottleneck(self, a: Node) -> Node:
        """Return ``a`` as an intermediate variable of differentiation; otherwise as for ``stop_gradient``."""
        return (
            a
            if self.op(a) in ("const", "stop_gradient", "gradient_bottleneck")
            else self.node("gradient_bottleneck", a)
        )

    def custom_fixed_point(self, a: Node, closer: Node) -> Node:
        """Return ``a`` with the derivative of ``closer``; otherwise as for ``stop_gradient``."""
        return self.node("custom_fixed_point", a, closer)

    def rows(self, count: int, values: Sequence[Node]) -> Node:
        """Return memory with ``count`` rows, from values row by row."""
        return self.node("rows", count, *values)

    def saved(self, memory: Node, slot: int, region: int) -> Node:
        """Return value ``slot`` of the row of a region's current iteration."""
        return self.node("saved", memory, slot, region)

    def stored(self, memory: Node, slot: int, row: int) -> Node:
        """Return value ``slot`` of one row."""
        n = self.nodes[memory]
        if n[0] == "rows":
            return n[2 + row * ((len(n) - 2) // n[1]) + slot]
        return self.node("stored", memory, slot, row)

    def column(self, values: Sequence[Node]) -> Callable[[int], Node] | None:
        """Return how a region reads one of these values per iteration; None if that would need new memory."""
        if len(set(values)) == 1:
            return lambda region: values[0]
        first = self.nodes[values[0]]
        if first[0] != "stored" or list(values) != [self._ids.get((*first[:3], k)) for k in range(len(values))]:
            return None
        count = self.regions[self.nodes[first[1]][1]].count
        return (lambda region: self.saved(first[1], first[2], region)) if count == len(values) else None

    # -- traversal -----------------------------------------------------------------------------------------------------
    def live(self, roots: Iterable[Node]) -> list[Node]:
        """Return every node that the roots need, operands first (loop bodies included)."""
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
            stack += operands_of(n)
        return sorted(seen)


def operands_of(n: tuple) -> tuple[Node, ...]:
    """Return the operand nodes in a node's tuple."""
    where = _WHERE.get(n[0])
    return n[1:] if where is None else n[where]


_WHERE = dict.fromkeys(LEAF_OPS, slice(0)) | {  # which parts of a tuple are nodes; by default all but the first
    "repeat": slice(2, None),
    "lookup": slice(2, None),
    "rows": slice(2, None),
    "lookup_input": slice(3, None),
    "random": slice(2, None),
    "item": slice(1, 2),
    "saved": slice(1, 2),
    "stored": slice(1, 2),
}
