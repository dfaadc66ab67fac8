"""A whole Jacobian as one straight program: every value carries its nonzero tangents only.

``derivative.jvp`` pushes one direction, so that directions can be SIMD lanes; each lane then does the work of the
densest direction. Here every direction is written out, and structurally zero tangents are never created: a joint of a
tree affects its own branch and the root. For a sparse program, such as that of a tree, this is a fraction of the dense
work, and the result is a program like any other: four isomorphic branches share vector instructions (``slp``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nptrace.autodiff.derivative import Forward, rebuild
from nptrace.ir.graph import Graph, Node
from nptrace.ir.scope import Scopes

Tangents = dict[int, Node]  # by direction; missing ones are zero


class Carried(Exception):
    """Raised where a loop carries tangents between iterations or runs over rows, which cannot be written out."""


def columns(
    graph: Graph, outputs: Sequence[Node], inputs: Sequence[int], at: Mapping[int, float] | None = None
) -> tuple[Graph, list[Node], list[Tangents]] | None:
    """Return (new graph, outputs, tangents of every output, by the index of the input in ``inputs``).

    at: inputs with a known value at the point of differentiation. Returns None where a loop carries tangents.
    """
    walk = _Columns(graph, outputs, {i: k for k, i in enumerate(inputs)}, at or {})
    try:
        walk.visit_all(Scopes.OUTSIDE)
    except Carried:
        return None
    tangents = [walk.multiplied(walk.tangent.get(o, {})) for o in outputs]
    return walk.new, [walk.primal[o] for o in outputs], tangents


class _Columns(Forward):
    """Give every old node a new value node, and a tangent node for each direction on which it depends."""

    def __init__(
        self, graph: Graph, roots: Sequence[Node], directions: Mapping[int, int], at: Mapping[int, float]
    ) -> None:
        super().__init__(graph, roots, directions)
        self.at, self.count = at, len(directions)
        self.behind: list[Tangents] = []  # tangents before each bottleneck, whose output counts as a new direction
        self.tangent: dict[Node, Tangents] = {}

    def visit(self, i: Node) -> None:
        n, g = self.old.nodes[i], self.new
        if n[0] == "repeat":
            self.visit_repeat(i)
        elif n[0] in ("rows", "saved", "stored"):
            raise Carried  # rows of a scan
        elif n[0] == "item":
            self.primal[i] = self.primal[n[1]][n[2]]
        elif n[0] == "input":
            self.primal[i] = g.const(self.at[n[1]]) if n[1] in self.at else g.input(n[1])
            if n[1] in self.given:
                self.tangent[i] = {self.given[n[1]]: g.const(1)}
        elif n[0] not in ("param", "counter"):
            self.primal[i] = rebuild(self.old, g, i, self.primal)
            if i in self.active.nodes:
                self.tangent[i] = self.tangents(i)

    def tangents(self, i: Node) -> Tangents:
        """Return the tangents of a value that an output depends on."""
        n = self.old.nodes[i]
        if n[0] == "custom_fixed_point":
            return self.tangent.get(n[2], {})
        if n[0] == "gradient_bottleneck":
            return self.narrowed(self.tangent.get(n[1], {}))
        if n[0] == "lookup_input" and any(k in self.given for k in range(n[1], n[1] + _entries(n[2]))):
            raise Carried  # the tangents of a run-time table are a table
        operands = self.old.operands(i)
        moving = [self.tangent.get(x, {}) for x in operands]
        a, y = [self.primal[x] for x in operands], self.primal[i]
        found: Tangents = {}
        for k in sorted(set().union(*moving)):
            pushed = self.push(n[0], a, [t.get(k, self.zero) for t in moving], y)
            if pushed != self.zero:
                found[k] = pushed
        return found

    def narrowed(self, found: Tangents) -> Tangents:
        """Replace many directions by one new direction, for a gradient bottleneck."""
        if len(found) <= 1:
            return found
        self.behind.append(found)
        return {self.count + len(self.behind) - 1: self.new.const(1)}

    def multiplied(self, found: Tangents) -> Tangents:
        """Return the tangents by the inputs: apply the chain rule at every bottleneck, the last one first."""
        found, g = dict(found), self.new
        while found and (last := max(found)) >= self.count:
            weight = found.pop(last)
            for k, tangent in self.behind[last - self.count].items():
                found[k] = g.add(found.get(k, self.zero), g.mul(weight, tangent))
        return {k: found[k] for k in sorted(found) if found[k] != self.zero}

    def visit_repeat(self, i: Node) -> None:
        """Rebuild a loop whose carry needs no tangents, as in ``nptrace.custom_fixed_point``."""
        g, old = self.new, self.old.nodes[i][1]
        region, initial = self.old.regions[old], self.old.nodes[i][2:]
        new, params = g.open_region(region.count, len(initial))
        self.primal.update(zip(region.params, params))
        self.primal[self.old.counter(old)] = g.counter(new)
        self.visit_all(old)
        for k in range(len(initial)):
            if (old, k) in self.active.carried and (
                self.tangent.get(initial[k]) or self.tangent.get(region.results[k])
            ):
                raise Carried
        loop = g.repeat(
            new, [self.primal[x] for x in initial], [self.primal[r] for r in region.results], stop=region.stop
        )
        g.regions[new].check_first = region.check_first
        self.primal[i] = [g.item(loop, k) for k in range(len(initial))]


def _entries(shape: Sequence[int]) -> int:
    count = 1
    for n in shape:
        count *= n
    return count
