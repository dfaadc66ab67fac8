"""Which loop a node belongs to: the innermost region whose parameters or counter it depends on."""

from collections import defaultdict
from collections.abc import Iterable

from nptrace.errors import TraceError
from nptrace.ir.graph import Graph, Node, operands_of


class Scopes:
    """Regions of nodes: ``of[node]`` is a region, or OUTSIDE; ``nodes[region]`` are its nodes, operands first."""

    OUTSIDE = -1

    def __init__(self, graph: Graph, roots: Iterable[Node]) -> None:
        roots = list(roots)
        self.graph = graph
        self.of: dict[Node, int] = {}
        self.nodes: dict[int, list[Node]] = defaultdict(list)
        self.depends: dict[Node, frozenset[int]] = {}
        nothing: frozenset[int] = frozenset()
        innermost = {nothing: self.OUTSIDE}
        depends, nodes = self.depends, graph.nodes
        for i in graph.live(roots):
            n = nodes[i]
            regions = nothing
            for x in operands_of(n):
                found = depends[x]
                if found is not regions and not found <= regions:
                    regions = regions | found if regions else found
            if n[0] in ("param", "counter"):
                regions = frozenset((n[1],))
            elif n[0] == "saved":
                regions |= {n[3]}
            elif n[0] == "repeat":
                body = graph.regions[n[1]]
                regions = regions.union(*(depends[x] for x in (*body.results, *body.saves))) - {n[1]}
            depends[i] = regions
            if regions not in innermost:  # regions nest, and an inner region is opened after the outer one
                innermost[regions] = max(regions)
            self.of[i] = innermost[regions]
            self.nodes[innermost[regions]].append(i)
        for root in roots:
            if self.of[root] != self.OUTSIDE:
                raise TraceError("a value from inside a repeat is used outside of it: return it from the body")

    def inside(self, region: int) -> set[Node]:
        """Return the nodes of a region and of the loops in it."""
        nested, inside = {region}, set[Node]()
        while True:  # the body of an inner loop may not depend on the outer one except through its start
            inside = {i for i, regions in self.depends.items() if not nested.isdisjoint(regions)}
            grown = nested | {self.graph.nodes[i][1] for i in inside if self.graph.op(i) == "repeat"}
            if grown == nested:
                return inside
            nested = grown

    def captured(self, region: int) -> list[Node]:
        """Return the nodes outside a region that its body reads (constants excluded)."""
        inside = self.inside(region)
        own = self.graph.regions[region]
        read = [x for i in inside for x in self._reads(i)] + [*own.results, *own.saves]
        return sorted({x for x in read if x not in inside and self.graph.op(x) != "const"})

    def _reads(self, i: Node) -> Iterable[Node]:
        n = self.graph.nodes[i]
        if n[0] == "repeat":
            return [*n[2:], *self.graph.regions[n[1]].results, *self.graph.regions[n[1]].saves]
        return self.graph.operands(i)
