"""Reverse derivatives of a graph: values forwards, with loops that save their carry, then adjoints backwards.

A loop that reads rows returns their adjoints as rows: its reversed loop saves them, and the reversed producer of the
rows reads these. The adjoint of a value that a nested loop reads from outside both loops is summed over the iterations
of the outer loop.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from nptrace.autodiff.activity import ActiveValues, refuse_no_iterations
from nptrace.autodiff.derivative import (
    LARGEST_PULLED_TABLE,
    SINGULAR_OPS,
    Adjoints,
    NewNodes,
    choice,
    partials,
    rebuild,
)
from nptrace.errors import TraceError
from nptrace.ir.graph import Graph, Node
from nptrace.ir.scope import Scopes


class Reverse:
    """Reverse mode: values forwards, with loops that save their carry, then adjoints backwards."""

    def __init__(self, graph: Graph, roots: Sequence[Node], wanted: Iterable[int]) -> None:
        self.old, self.new, self.scopes = graph, Graph(), Scopes(graph, roots)
        self.active, self.wanted = ActiveValues(graph, roots), frozenset(wanted)

    def visit_all(self, scope: int, primal: NewNodes, region: int | None = None) -> None:
        """Rebuild the values of a scope; ``region``: its new loop."""
        g = self.new
        for i in self.scopes.nodes[scope]:
            n = self.old.nodes[i]
            if n[0] == "repeat":
                primal[i] = self.visit_repeat(i, primal)
            elif n[0] == "rows":
                primal[i] = g.rows(n[1], [primal[x] for x in n[2:]])
            elif n[0] == "saved":
                assert region is not None
                primal[i] = g.saved(primal[n[1]], n[2], region)
            elif n[0] == "stored":
                primal[i] = g.stored(primal[n[1]], *n[2:])
            elif n[0] not in ("param", "counter"):
                primal[i] = rebuild(self.old, g, i, primal)

    def visit_repeat(self, i: Node, primal: NewNodes) -> Node:
        g, old = self.new, self.old.nodes[i][1]
        region = self.old.regions[old]
        new, params = g.open_region(region.count, len(region.params), region.reverse)
        inside = dict(primal)
        inside.update(zip(region.params, params))
        inside[self.old.counter(old)] = g.counter(new)
        self.visit_all(old, inside, new)
        start = [primal[x] for x in self.old.nodes[i][2:]]
        # all iterations, even where the loop may stop early: the second loop reads the saved carry of each
        read = any((old, k) in self.active.carried for k in range(len(params)))
        read = read or any((i, k) in self.active.kept for k in range(len(region.saves)))
        saves = [inside[x] for x in region.saves] + list(params if read else ())
        results = [inside[r] for r in region.results]
        loop = g.repeat(new, start, results, saves, stop=None if read else region.stop)
        g.regions[new].check_first = region.check_first
        return loop

    def pull_back(self, scope: int, primal: NewNodes, total: Adjoints) -> None:
        """Add what every node of the scope contributes to the adjoints in ``total`` (old node -> adjoint)."""
        g, zero = self.new, self.new.const(0)
        for i in reversed(self.scopes.nodes[scope]):
            op = self.old.op(i)
            if op == "repeat":
                self.pull_back_repeat(i, primal, total)
                continue
            up = total.get(i, zero)
            if op == "rows":
                self.pull_back_rows(i, total)
                continue
            if up == zero or op in ("const", "input", "param", "counter", "saved"):
                continue  # the loop passes on the adjoints of the rows that it reads
            if op == "stored":
                self.add_cell(total, self.old.nodes[i][1:], up)
                continue
            if op == "item":
                total[("item", *self.old.nodes[i][1:])] = up
                continue
            if op in ("stop_gradient", "custom_fixed_point", "gradient_bottleneck"):
                if op != "stop_gradient":
                    self.add(total, self.old.nodes[i][-1], up)
                continue
            operands = self.old.operands(i)
            a = [primal[x] for x in operands]
            picked = choice(g, op, a)
            if picked:
                condition, yes, no = picked
                self.add(total, operands[yes], g.select(condition, up, zero))
                self.add(total, operands[no], g.select(condition, zero, up))
            elif op == "lookup_input":
                self.pull_back_table(self.old.nodes[i], a, up, total)
            elif op == "abs":
                self.add(total, operands[0], g.select(g.less(a[0], zero), g.neg(up), up))
            else:
                for position, partial in partials(g, op, a, primal[i], [self.old.op(x) != "const" for x in operands]):
                    self.add(total, operands[position], self.scaled(op, partial, up))

    def scaled(self, op: str, partial: Node, up: Node) -> Node:
        """Return partial * up, but zero where ``up`` is zero: in a branch not taken the partial may be infinite."""
        g = self.new
        product = g.mul(partial, up)
        found = self.mask(up) if op in SINGULAR_OPS or self.may_be_singular(partial) else None
        if found is None:
            return product
        condition, taken = found
        return g.select(condition, product, g.const(0)) if taken else g.select(condition, g.const(0), product)

    def may_be_singular(self, partial: Node, depth: int = 4) -> bool:
        """Return whether a value may be infinite or NaN where its branch is not taken; searches ``depth`` levels."""
        n = self.new.nodes[partial]
        if n[0] in ("mul", "neg", "add", "sub") and depth:
            return any(self.may_be_singular(x, depth - 1) for x in n[1:])
        return n[0] in SINGULAR_OPS

    def mask(self, up: Node, depth: int = 8) -> tuple[Node, bool] | None:
        """Return (condition, value) outside of which an adjoint from a select is zero; None for any other adjoint."""
        n, zero = self.new.nodes[up], self.new.const(0)
        if n[0] == "select" and zero in n[2:]:
            return n[1], n[3] == zero
        if n[0] in ("neg", "mul") and depth:
            return next(filter(None, (self.mask(x, depth - 1) for x in n[1:])), None)
        return None

    def table_inputs(self, n: tuple) -> list[int]:
        """Return the inputs of a run-time table if the adjoint of any of them is needed."""
        inputs = range(n[1], n[1] + int(np.prod(n[2])))
        return list(inputs) if not self.wanted.isdisjoint(inputs) else []

    def pull_back_table(self, n: tuple, at: list[Node], up: Node, total: Adjoints) -> None:
        """Add the adjoint to the entry of the table that was read."""
        g, inputs = self.new, self.table_inputs(n)
        if len(inputs) > LARGEST_PULLED_TABLE:
            raise TraceError(
                f"a gradient with respect to a run-time table of {len(inputs)} entries: reverse mode takes at most"
                f" {LARGEST_PULLED_TABLE}; use the forward derivative (jvp), or make the table a constant"
            )
        flat = g.const(0)
        for axis, size in zip(at, n[2]):
            index = g.minimum(g.maximum(g.unary("floor", axis), g.const(0)), g.const(size - 1))
            flat = g.add(g.mul(flat, g.const(size)), index)
        for k, position in enumerate(inputs):
            here = g.logical("and", g.less(g.const(k - 0.5), flat), g.less(flat, g.const(k + 0.5)))
            self.add(total, self.old.input(position), g.select(here, up, g.const(0)))

    def add(self, total: Adjoints, node: Node, amount: Node) -> None:
        if self.old.op(node) != "const":
            total[node] = self.new.add(total[node], amount)

    # -- memory --------------------------------------------------------------------------------------------------------
    def add_cell(self, total: Adjoints, cell: tuple[Node, int, int], up: Node) -> None:
        """Add to the adjoint of one number in memory: (memory, slot, row)."""
        total["cell", *cell] = self.new.add(total["cell", *cell], up)

    def cells(self, total: Adjoints, memory: Node, slot: int, count: int) -> list[Node]:
        """Return the adjoints of one slot, row by row."""
        g, found = self.new, []
        for row in range(count):
            up = total["cell", memory, slot, row]
            for loop, at in total.get(("column", memory, slot), ()):
                up = g.add(up, g.stored(loop, at, row))
            found.append(up)
        return found

    def pull_back_rows(self, i: Node, total: Adjoints) -> None:
        count, values = self.old.nodes[i][1], self.old.nodes[i][2:]
        width = len(values) // count
        for slot in range(width):
            for x, up in zip(values[slot::width], self.cells(total, i, slot, count)):
                self.add(total, x, up)

    def adjoint_of_save(self, i: Node, slot: int, total: Adjoints, region: int) -> Node:
        """Return the adjoint of a value that a loop saves, at the current iteration of its reversed loop."""
        g, zero = self.new, self.new.const(0)
        count = self.old.regions[self.old.nodes[i][1]].count
        up = zero
        for loop, at in total.get(("column", i, slot), ()):
            up = g.add(up, g.saved(loop, at, region))
        single = [total["cell", i, slot, row] for row in range(count)]
        if all(x == zero for x in single):
            return up
        read = g.column(single)
        return g.add(up, read(region) if read else g.saved(g.rows(count, single), 0, region))

    # -- loops ---------------------------------------------------------------------------------------------------------
    def pull_back_repeat(self, i: Node, primal: NewNodes, total: Adjoints) -> None:
        """Build the reversed loop: recompute the body from saved values, carry the adjoints of carry and closure."""
        g, old, zero = self.new, self.old.nodes[i][1], self.new.const(0)
        region = self.old.regions[old]
        counts = [k for k in range(len(region.params)) if (old, k) in self.active.carried]  # others have no adjoint
        up = [total.pop(("item", i, k), zero) for k in counts]
        saved = [k for k in range(len(region.saves)) if (i, k) in self.active.kept]
        if all(u == zero for u in up) and not any(self.has_adjoint(i, k, total) for k in saved):
            return
        if region.check_first and self.active.moves(i, self.wanted):
            raise refuse_no_iterations()
        captured, cells = self.captured(old)
        new, params = g.open_region(region.count, len(counts) + len(captured) + len(cells), not region.reverse)
        inside = dict(primal)
        first = len(region.saves)
        inside.update((p, g.saved(primal[i], first + k, new)) for k, p in enumerate(region.params))
        inside[self.old.counter(old)] = g.counter(new)
        self.visit_all(old, inside, new)
        inner: Adjoints = defaultdict(lambda: zero)
        for k, adjoint in zip(counts, params):
            self.add(inner, region.results[k], adjoint)
        for k in saved:
            self.add(inner, region.saves[k], self.adjoint_of_save(i, k, total, new))
        self.pull_back(old, inside, inner)
        results = [inner[region.params[k]] for k in counts]
        results += [g.add(p, inner[c]) for p, c in zip(params[len(counts) :], captured)]
        rest = params[len(counts) + len(captured) :]
        for p, (memory, slot, row) in zip(rest, cells):
            results.append(g.add(p, self.cells(inner, memory, slot, row + 1)[row]))
        reads = [x for x in self.scopes.nodes[old] if self.old.op(x) == "saved" and inner[x] != zero]
        start = up + [zero] * (len(captured) + len(cells))
        loop = g.repeat(new, start, results, [inner[x] for x in reads])
        for k, x in enumerate([*(self.old.nodes[i][2 + k] for k in counts), *captured]):
            self.add(total, x, g.item(loop, k))
        for k, cell in enumerate(cells, len(counts) + len(captured)):
            self.add_cell(total, cell, g.item(loop, k))
        for at, x in enumerate(reads):
            memory, slot = self.old.nodes[x][1:3]
            total["column", memory, slot] = [*total.get(("column", memory, slot), ()), (loop, at)]

    def has_adjoint(self, i: Node, slot: int, total: Adjoints) -> bool:
        zero, count = self.new.const(0), self.old.regions[self.old.nodes[i][1]].count
        rows = any(total.get(("cell", i, slot, row), zero) != zero for row in range(count))
        return rows or ("column", i, slot) in total

    def captured(self, region: int) -> tuple[list[Node], list[tuple[Node, int, int]]]:
        """Return the values that a loop reads from outside: nodes, and the (memory, slot, row) read by nested loops."""
        found, cells = set[Node](), set[tuple[Node, int, int]]()
        inside = self.scopes.inside(region)
        for i in inside:
            n = self.old.nodes[i]
            if n[0] == "lookup_input":
                found.update(self.old.input(k) for k in self.table_inputs(n))
            elif n[0] == "saved" and n[3] != region and n[1] not in inside and n[1:3] in self.active.kept:
                cells.update((n[1], n[2], row) for row in range(self.old.regions[n[3]].count))
        read = self.scopes.captured(region)
        found.update(x for x in read if self.old.op(x) not in ("rows", "repeat"))
        return sorted(found), sorted(cells)
