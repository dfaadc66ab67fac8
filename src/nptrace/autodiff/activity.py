"""Activity analysis: find the values through which a derivative passes, which are fewer than all live values.

A condition has no derivative, ``nptrace.stop_gradient`` cuts it off, and ``nptrace.custom_fixed_point`` takes it from
the Newton step: the loop of a solver then carries no tangents at all.
"""

from collections.abc import Sequence

from nptrace.errors import TraceError
from nptrace.ir.graph import Graph, Node

_FLAT = frozenset({"stop_gradient", "lt", "le", "and", "or", "not", "floor", "lookup", "lookup_input", "random"})


class ActiveValues:
    """Values on which an output depends differentiably: ``nodes``, ``carried`` (region, k), ``kept`` (memory, slot)."""

    def __init__(self, graph: Graph, outputs: Sequence[Node]) -> None:
        self.graph = graph
        self.carried: set[tuple[int, int]] = set()
        self.kept: set[tuple[Node, int]] = set()
        loops = {graph.nodes[i][1]: graph.nodes[i] for i in graph.live(outputs) if graph.op(i) == "repeat"}
        self.nodes, stack = set[Node](), list(outputs)
        while stack:
            i = stack.pop()
            if i in self.nodes:
                continue
            self.nodes.add(i)
            n = graph.nodes[i]
            if n[0] in ("item", "param"):
                region, k = (graph.nodes[n[1]][1], n[2]) if n[0] == "item" else n[1:]
                self.carried.add((region, k))
                stack += [loops[region][2 + k], graph.regions[region].results[k]]
            elif n[0] in ("saved", "stored"):
                self.kept.add(n[1:3])
                memory = graph.nodes[n[1]]
                if memory[0] == "rows":
                    stack += memory[2 + n[2] :: (len(memory) - 2) // memory[1]]
                else:
                    stack.append(graph.regions[memory[1]].saves[n[2]])
            elif n[0] in ("select", "custom_fixed_point"):
                stack += n[2:]
            elif n[0] not in _FLAT:
                stack += graph.operands(i)

    def moves(self, loop: Node, inputs: frozenset[int]) -> bool:
        """Return whether a loop may depend on these inputs, directly or through the carry of an outer loop."""
        region, graph = self.graph.nodes[loop][1], self.graph
        needs = [graph.nodes[i] for i in graph.live([loop])]
        return any((n[0] == "input" and n[1] in inputs) or (n[0] == "param" and n[1] != region) for n in needs)


def refuse_no_iterations() -> TraceError:
    return TraceError(
        "repeat(..., check_first=True) may execute no iteration, and its derivative would then be that of the initial"
        " guess: define the derivative of the solution with nptrace.custom_fixed_point(found, newton_step), or use"
        " nptrace.stop_gradient(found)"
    )
