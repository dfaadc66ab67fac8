"""Which loop a node belongs to: the innermost region whose parameters or counter it depends on."""

from collections import defaultdict

from footfall.errors import TraceError


class Scopes:
    """``of[node]`` is its region, or OUTSIDE; ``nodes[region]`` are its nodes, operands first."""

    OUTSIDE = -1

    def __init__(self, graph, roots):
        self.graph = graph
        self.of, self.nodes, self.depends = {}, defaultdict(list), {}
        nothing = frozenset()
        for i in graph.live(roots):
            n = graph.nodes[i]
            regions = nothing.union(*(self.depends[x] for x in graph.operands(i)))
            if n[0] in ("param", "counter"):
                regions = frozenset((n[1],))
            elif n[0] == "saved":
                regions |= {n[3]}
            elif n[0] == "repeat":
                body = graph.regions[n[1]]
                regions = regions.union(*(self.depends[x] for x in (*body.results, *body.saves))) - {n[1]}
            self.depends[i] = regions
            # regions nest, and an inner one is opened after its outer one
            self.of[i] = max(regions, default=self.OUTSIDE)
            self.nodes[self.of[i]].append(i)
        for root in roots:
            if self.of[root] != self.OUTSIDE:
                raise TraceError("a value from inside a repeat was kept and used after it: return it from the body")

    def captured(self, region):
        """The nodes outside a region that its body reads (constants excluded)."""
        graph, found = self.graph, {}
        nested, inside = {region}, set()
        while True:  # the body of an inner loop may not depend on the outer one except through its start
            inside = {i for i, regions in self.depends.items() if not nested.isdisjoint(regions)}
            grown = nested | {graph.nodes[i][1] for i in inside if graph.op(i) == "repeat"}
            if grown == nested:
                break
            nested = grown
        read = [x for i in inside for x in self._reads(i)] + list(graph.regions[region].results)
        for x in read:
            if x not in inside and graph.op(x) != "const":
                found[x] = True
        return sorted(found)

    def _reads(self, i):
        n = self.graph.nodes[i]
        if n[0] == "repeat":
            return [*n[2:], *self.graph.regions[n[1]].results]
        return self.graph.operands(i)
