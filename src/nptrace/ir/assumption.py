"""The values of a graph's nodes where a condition is known to hold."""

from nptrace.ir.graph import Graph, Node

_DEEPEST = 64  # nesting depth of conditions that is searched


class Assumption:
    """Facts that follow from one condition: enough to decide which branch a select takes, without new nodes."""

    def __init__(self, graph: Graph, condition: Node) -> None:
        self.graph = graph
        self.facts: dict[tuple, bool] = {}
        stack = [(condition, True)]
        while stack:
            node, holds = stack.pop()
            n = graph.nodes[node]
            self.facts[n] = holds
            if n[0] == "not":
                stack.append((n[1], not holds))
            elif n[0] == ("and" if holds else "or"):
                stack += [(x, holds) for x in n[1:]]
            elif n[0] in ("lt", "le") and holds:  # a comparison that fails implies nothing: an operand may be NaN
                self.facts[("le", *n[1:])] = True
                self.facts[("lt", n[2], n[1])] = False
                if n[0] == "lt":
                    self.facts[("le", n[2], n[1])] = False

    def truth(self, condition: Node, depth: int = _DEEPEST) -> bool | None:
        """Return whether another condition also holds; None if that is not evident."""
        n = self.graph.nodes[condition]
        if n in self.facts:
            return self.facts[n]
        if n[0] not in ("not", "and", "or"):
            return self.graph.truth_value(condition)
        if not depth:
            return None
        parts = [self.truth(x, depth - 1) for x in n[1:]]
        if n[0] == "not":
            return None if parts[0] is None else not parts[0]
        decisive = n[0] == "or"  # one such operand decides
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive

    def resolved(self, node: Node) -> Node:
        """Return the node that gives this node its value."""
        while self.graph.op(node) == "select":
            condition, yes, no = self.graph.operands(node)
            holds = self.truth(condition)
            if holds is None:
                return node
            node = yes if holds else no
        return node
