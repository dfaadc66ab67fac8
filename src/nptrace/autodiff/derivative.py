"""Exact derivatives of a graph, as a graph: forward (Jacobian-vector) and reverse (vector-Jacobian) products.

Both walk the nodes once and rebuild them, so that a loop can be replaced by one that also carries tangents (forward) or
that saves its carried values for a second loop to read backwards (reverse). Everything else is copied.

Where a function has a kink, the derivative is that of the branch taken: +1 for |x| at 0, that of a for max(a, b) at a
tie. floor, lookup with respect to its position, random numbers and comparisons have derivative zero. sqrt has no
derivative at 0 (inf, and NaN times a zero tangent): keep its argument away from zero, as ``nptrace.norm(x, epsilon)``
does. 0**y has derivative 0 for y > 1. A branch that is not taken adds nothing, also where its derivative is infinite:
np.where(x > 0, np.sqrt(x), 0) has derivative 0 at 0, as has np.arcsin(np.clip(x, -1, 1)) where it clips.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from nptrace.autodiff.activity import ActiveValues, refuse_no_iterations
from nptrace.errors import TraceError
from nptrace.ir.graph import Graph, Node, Region
from nptrace.ir.powers import is_never_negative
from nptrace.ir.scope import Scopes

NewNodes: TypeAlias = dict  # the new node of every old node; for a loop, those of its whole carry
Adjoints: TypeAlias = (
    dict  # by old node, by ("item", loop, k) and ("cell", memory, slot, row); for columns, their positions
)
LARGEST_PULLED_TABLE = 64  # most entries of a run-time table in reverse mode, where each entry costs a select


def jvp(graph: Graph, outputs: Sequence[Node], tangents: Mapping[int, int]) -> tuple[Graph, list[Node], list[Node]]:
    """Return (new graph, outputs, their tangents); ``tangents`` maps input positions to the inputs for their tangents.

    The graph is new, so that a value and its tangent are computed side by side: appended to the old graph, every
    tangent would come after every value, and all values would have to be kept.
    """
    walk = Forward(graph, outputs, tangents)
    walk.visit_all(Scopes.OUTSIDE)
    return walk.new, [walk.primal[o] for o in outputs], [walk.tangent[o] for o in outputs]


def vjp(
    graph: Graph, outputs: Sequence[Node], adjoints: Iterable[int], inputs: Iterable[int]
) -> tuple[Graph, list[Node], list[Node]]:
    """Return (new graph, outputs, adjoints of ``inputs``); ``adjoints``: an input position for every output."""
    inputs = list(inputs)
    from nptrace.autodiff.reverse import Reverse  # it imports this module

    walk = Reverse(graph, outputs, inputs)
    new = walk.new
    primal: NewNodes = {}
    walk.visit_all(Scopes.OUTSIDE, primal)
    total: Adjoints = defaultdict(lambda: new.const(0))
    for output, position in zip(outputs, adjoints):
        total[output] = new.add(total[output], new.input(position))
    walk.pull_back(Scopes.OUTSIDE, primal, total)
    return new, [primal[o] for o in outputs], [total[graph.input(i)] for i in inputs]


def rebuild(old: Graph, graph: Graph, i: Node, new: Mapping[Node, Node]) -> Node:
    """Copy node i of ``old`` into ``graph``, with operands mapped by ``new``."""
    n = old.nodes[i]
    op, a = n[0], [new[x] for x in old.operands(i)]
    simple: dict[str, Callable[..., Node]] = {
        "add": graph.add,
        "sub": graph.sub,
        "mul": graph.mul,
        "neg": graph.neg,
        "inv": graph.inv,
        "div": graph.quotient,
        "min": graph.minimum,
        "max": graph.maximum,
        "lt": graph.less,
        "le": graph.less_equal,
        "not": graph.logical_not,
        "select": graph.select,
        "atan2": graph.atan2,
    }
    if op == "const":
        return graph.const(n[1]) if old.value(i) is not None else graph.no_fold(*n[1:])
    if op == "input":
        return graph.input(n[1])
    if op == "pow":  # the base is not negative: its sign needs no check
        return graph.power(*a) if any(graph.value(x) is not None for x in a) else graph.node("pow", *a)
    if op in simple:
        return simple[op](*a)
    if op in ("and", "or"):
        return graph.logical(op, *a)
    if op == "lookup":
        return graph.lookup(graph.table(old.tables[n[1]]), *a)
    if op == "lookup_input":
        return graph.lookup_input(n[1], n[2], *a)
    if op == "random":
        return graph.random(n[1], *a)
    if op == "item":
        return graph.item(a[0], n[2])
    if op in (
        "stop_gradient",
        "custom_fixed_point",
        "gradient_bottleneck",
    ):  # the walks below differentiate these
        return a[0]
    return graph.unary(op, *a)


def partials(g: Graph, op: str, a: Sequence[Node], y: Node, moving: Sequence[bool]) -> list[tuple[int, Node]]:
    """Return [(operand position, partial derivative)] of an operation on ``a`` with value ``y``, except for choices.

    Only for operands that are ``moving``: at a constant, the others may have no derivative (log 0).
    """
    return [(k, _partial(g, op, a, y, k)) for k in range(len(a)) if moving[k] and op in _SMOOTH]


_SMOOTH = frozenset({"add", "sub", "mul", "neg", "inv", "div", "sqrt", "sin", "cos", "exp", "log", "pow", "atan2"})


SINGULAR_OPS = frozenset({"inv", "div", "sqrt", "log", "pow", "atan2", "exp"})  # may have infinite derivatives


def _partial(g: Graph, op: str, a: Sequence[Node], y: Node, k: int) -> Node:
    one, zero = g.const(1), g.const(0)
    if op in ("add", "sub", "neg"):
        return g.const(-1) if op == "neg" or (op == "sub" and k) else one
    if op == "mul":
        return a[1 - k]
    if op == "inv":
        return g.neg(g.mul(y, y))
    if op == "div":
        return g.neg(g.mul(y, g.inv(a[1]))) if k else g.inv(a[1])
    if op == "sqrt":
        return g.mul(g.const(0.5), g.inv(y))
    if op == "sin":
        return g.unary("cos", a[0])
    if op == "cos":
        return g.neg(g.unary("sin", a[0]))
    if op == "exp":
        return y
    if op == "log":
        return g.inv(a[0])
    if op == "atan2":
        shared = g.inv(g.add(g.mul(a[0], a[0]), g.mul(a[1], a[1])))
        return g.neg(g.mul(a[0], shared)) if k else g.mul(a[1], shared)
    if k == 0:  # pow by its base, which is nonnegative
        less_one = g.sub(a[1], one)
        known = g.value(less_one) is not None
        return g.mul(a[1], g.power(a[0], less_one) if known else g.node("pow", a[0], less_one))
    # by its exponent: y log(base), and at base 0 the infinite logarithm must not be multiplied by y = 0
    return g.mul(y, g.unary("log", g.select(g.less(zero, a[0]), a[0], one)))


def choice(graph: Graph, op: str, a: Sequence[Node]) -> tuple[Node, int, int] | None:
    """Return (condition, position if true, position if false) of an operation that picks one operand, or None."""
    if op == "select":
        return a[0], 1, 2
    if op == "min":
        return graph.less(a[1], a[0]), 1, 0
    if op == "max":
        return graph.less(a[0], a[1]), 1, 0
    return None


class Forward:
    """Forward mode by dual numbers: every old node gets a new value node and a tangent node."""

    def __init__(self, graph: Graph, roots: Sequence[Node], tangents: Mapping[int, int]) -> None:
        self.old, self.new, self.scopes = graph, Graph(), Scopes(graph, roots)
        self.active = ActiveValues(graph, roots)
        self.given, self.zero = tangents, self.new.const(0)
        self.primal: NewNodes = {}
        self.tangent: NewNodes = {}
        self.regions: dict[int, int] = {}  # new region by old region
        self.memory: dict[Node, tuple[Node, dict[int, tuple[Node, int]]]] = {}  # values, {slot: where its tangents are}

    def visit_all(self, scope: int) -> None:
        for i in self.scopes.nodes[scope]:
            self.visit(i)

    def visit(self, i: Node) -> None:
        n, g = self.old.nodes[i], self.new
        if n[0] == "repeat":
            self.visit_repeat(i)
        elif n[0] == "item":
            self.primal[i], self.tangent[i] = self.primal[n[1]][n[2]], self.tangent[n[1]][n[2]]
        elif n[0] == "rows":
            self.visit_rows(i)
        elif n[0] in ("saved", "stored"):
            (values, tangents), at = self.memory[n[1]], self.regions[n[3]] if n[0] == "saved" else n[3]
            read = g.saved if n[0] == "saved" else g.stored
            self.primal[i] = read(values, n[2], at)
            self.tangent[i] = read(*tangents[n[2]], at) if n[2] in tangents else self.zero
        elif n[0] not in ("param", "counter"):
            self.primal[i] = y = rebuild(self.old, g, i, self.primal)
            if n[0] == "input":
                self.tangent[i] = g.input(self.given[n[1]]) if n[1] in self.given else self.zero
            elif n[0] == "lookup_input":
                self.tangent[i] = self.tangent_of_table(n)
            elif n[0] in ("stop_gradient", "custom_fixed_point", "gradient_bottleneck"):
                self.tangent[i] = self.zero if n[0] == "stop_gradient" else self.tangent[n[-1]]
            else:
                a, t = ([known[x] for x in self.old.operands(i)] for known in (self.primal, self.tangent))
                self.tangent[i] = self.push(n[0], a, t, y)

    def tangent_of_table(self, n: tuple) -> Node:
        """Return the lookup in the table of tangents."""
        first, shape = n[1], n[2]
        count = int(np.prod(shape))
        tangents = [self.given.get(first + k) for k in range(count)]
        if all(t is None for t in tangents):
            return self.zero
        start = tangents[0]
        if start is None or tangents != list(range(start, start + count)):
            raise TraceError(
                f"the tangents of a run-time table (inputs {first} to {first + count - 1}) must be given for all of it,"
                " as inputs in the same order"
            )
        return self.new.lookup_input(start, shape, *(self.primal[x] for x in n[3:]))

    def push(self, op: str, a: list[Node], t: list[Node], y: Node) -> Node:
        g = self.new
        if all(x == self.zero for x in t):
            return self.zero
        picked = choice(g, op, a)
        if picked:
            return g.select(picked[0], t[picked[1]], t[picked[2]])
        if op == "abs":
            return g.select(g.less(a[0], self.zero), g.neg(t[0]), t[0])
        total = self.zero
        for position, partial in partials(g, op, a, y, [x != self.zero for x in t]):
            term = g.mul(partial, t[position])
            if op in ("sqrt", "pow") and self.may_rest(t[position]) and not self.is_positive(a[0]):
                rests = g.logical("and", g.less_equal(t[position], self.zero), g.less_equal(self.zero, t[position]))
                term = g.select(rests, self.zero, term)  # zero tangent: zero, even if the partial is infinite
            total = g.add(total, term)
        return total

    def may_rest(self, tangent: Node, depth: int = 4) -> bool:
        """Return whether a choice may have made a tangent zero; searches ``depth`` levels."""
        n = self.new.nodes[tangent]
        if n[0] == "select":
            return self.zero in n[2:] or any(self.may_rest(x, depth - 1) for x in n[2:] if depth)
        return n[0] in ("add", "sub", "mul", "neg") and depth > 0 and any(self.may_rest(x, depth - 1) for x in n[1:])

    def is_positive(self, a: Node) -> bool:
        """Return whether a value is evidently positive: the sum of a nonnegative value and a positive constant."""
        n = self.new.nodes[a]
        known = [self.new.value(x) for x in n[1:]] if n[0] == "add" else []
        return any(c is not None and c > 0 for c in known) and is_never_negative(self.new, a)

    def visit_repeat(self, i: Node) -> None:
        """Build one loop that carries values and their nonzero tangents, which are found by iteration."""
        g, old = self.new, self.old.nodes[i][1]
        region, initial = self.old.regions[old], self.old.nodes[i][2:]
        m = len(initial)
        counts = [k for k in range(m) if (old, k) in self.active.carried]
        moving = [k for k in counts if self.tangent[initial[k]] != self.zero]
        while True:
            new, params = g.open_region(region.count, m + len(moving), region.reverse)
            self.enter(old, new, region, params[:m], dict(zip(moving, params[m:])))
            values = [self.primal[r] for r in region.results]
            tangents = [self.tangent[r] for r in region.results]
            grown = [k for k in counts if k in moving or tangents[k] != self.zero]
            if grown == moving:
                break
            moving = grown
        if moving and region.check_first:
            raise refuse_no_iterations()
        start = [self.primal[x] for x in initial] + [self.tangent[initial[k]] for k in moving]
        kept = [k for k, x in enumerate(region.saves) if (i, k) in self.active.kept and self.tangent[x] != self.zero]
        saves = [self.primal[x] for x in region.saves] + [self.tangent[region.saves[k]] for k in kept]
        loop = g.repeat(new, start, values + [tangents[k] for k in moving], saves, stop=region.stop)
        g.regions[new].check_first = region.check_first
        self.memory[i] = loop, {k: (loop, len(region.saves) + j) for j, k in enumerate(kept)}
        at = {k: m + j for j, k in enumerate(moving)}
        self.primal[i] = [g.item(loop, k) for k in range(m)]
        self.tangent[i] = [g.item(loop, at[k]) if k in at else self.zero for k in range(m)]

    def visit_rows(self, i: Node) -> None:
        """Build the rows, and rows of their nonzero tangents."""
        g, count, values = self.new, self.old.nodes[i][1], self.old.nodes[i][2:]
        width = len(values) // count
        tangents = [self.tangent[x] for x in values]
        moving = [k for k in range(width) if any(t != self.zero for t in tangents[k::width])]
        tangent_rows = g.rows(count, [t for k, t in enumerate(tangents) if k % width in moving]) if moving else -1
        slots = {k: (tangent_rows, j) for j, k in enumerate(moving)}
        self.memory[i] = g.rows(count, [self.primal[x] for x in values]), slots

    def enter(self, old: int, new: int, region: Region, values: Sequence[Node], tangents: Mapping[int, Node]) -> None:
        for k, p in enumerate(region.params):
            self.primal[p], self.tangent[p] = values[k], tangents.get(k, self.zero)
        self.regions[old] = new
        counter = self.old.counter(old)
        self.primal[counter], self.tangent[counter] = self.new.counter(new), self.zero
        self.visit_all(old)
