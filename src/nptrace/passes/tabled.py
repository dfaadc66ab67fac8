"""Products with large constant matrices as loops over tables, for C code that must be small.

The trace of y = W x holds every weight as a constant of its own: y_k is a sum of products with the same values x and
other constants for every k. Such sums become one loop, whose constants are the rows of a table. What is then computed
from y_k alone (a bias, an activation) joins the loop as far as it is alike for all k. Operations and their order
within a number are unchanged, so results are the same bits. Matrices that a loop looks up column by column are tables
already; what follows from its results is made a loop in the same way.

Machine code keeps the unrolled form: there the loop takes twice as long.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from nptrace.ir.program import Loop, Operation, Program, Statement, all_loops, times_read, walk

_SUMS = frozenset({"add", "sub", "mul", "fma", "fms", "fnma"})
_APART = frozenset({"const", "input", "item", "saved", "stored", "rows", "lookup", "lookup_input", "random"})
_LEAST = 8  # rows of a matrix, and constants in each, that are worth a loop
_FEWEST = 4  # operations after each result of a loop that are worth another loop


@dataclass
class _Product:
    """Sums that differ in constants alone, or ``heads``, results of a loop, and what follows from each.

    ``at`` is the position of the first sum, or that behind the results.
    """

    at: int
    rows: list[list[Operation]]
    after: list[list[Operation]]
    heads: Sequence[int] = ()

    def roots(self) -> list[int]:
        return [*self.heads] if self.heads else [row[-1].result for row in self.rows]


def with_tables(program: Program) -> Program:
    """Return the program with the sums outside of its loops that differ in constants alone as loops over tables."""
    work = _Tabling(program)
    return work.program() if work.products else program


class _Tabling:
    """The rewriting of one program."""

    def __init__(self, program: Program) -> None:
        self.before = program
        self.constants = {s.result: float(s.detail[0]) for s in walk(program.body) if s.op == "const"}
        self.body = self._ordered(program.body)
        self.position = {s.result: k for k, s in enumerate(self.body) if isinstance(s, Operation)}
        self.read = times_read(self.body, program.outputs)
        self.products = [*self._products(), *self._results()]
        for product, after in zip(self.products, self._following()):
            product.after = after
        self.products = [p for p in self.products if not p.heads or len(p.after[0]) >= _FEWEST]

    def _ordered(self, body: Sequence[Statement]) -> list[Statement]:
        """Return the statements: constants behind the other factor or term, results of a loop right behind it."""
        items: dict[int, list[Statement]] = defaultdict(list)
        for s in body:
            if isinstance(s, Operation) and s.op == "item":
                items[s.operands[0]].append(s)
        out: list[Statement] = []
        for s in body:
            if isinstance(s, Loop):
                out += [s, *items[s.node]]
            elif s.op in _SUMS - {"sub"} and s.operands[0] in self.constants:
                out.append(replace(s, operands=(s.operands[1], s.operands[0], *s.operands[2:])))
            elif s.op != "item":
                out.append(s)
        return out

    def _operation(self, value: int) -> Operation:
        found = self.body[self.position[value]]
        assert isinstance(found, Operation)
        return found

    # -- sums that are alike ------------------------------------------------------------------------------------------
    def _products(self) -> list[_Product]:
        forms: dict[tuple, int] = {}  # of a sum: its operations, with a mark for each constant
        form: dict[int, int] = {}
        inner: set[int] = set()
        for s in self.body:
            if not isinstance(s, Operation) or s.op not in _SUMS:
                continue
            parts: list[tuple] = []
            for x in s.operands:
                if x in self.constants:
                    parts.append(())
                elif x in form and self.read[x] == 1:
                    parts.append(("sum", form[x]))
                    inner.add(x)
                else:
                    parts.append(("value", x))
            form[s.result] = forms.setdefault((s.op, *parts), len(forms))
        alike: dict[int, list[int]] = defaultdict(list)
        for x in form:
            if x not in inner:
                alike[form[x]].append(x)
        found = []
        for roots in alike.values():
            if len(roots) >= _LEAST:
                rows = [self._sum(x, inner) for x in roots]
                if sum(x in self.constants for s in rows[0] for x in s.operands) >= _LEAST:
                    found.append(_Product(self.position[roots[0]], rows, []))
        return found

    def _results(self) -> list[_Product]:
        """Return the results of each loop that has many."""
        found = []
        for at, s in enumerate(self.body):
            if isinstance(s, Loop):
                own = self._items(at + 1)
                if len(own) >= _LEAST:
                    found.append(_Product(at + 1 + len(own), [[] for _ in own], [], own))
        return found

    def _items(self, start: int) -> list[int]:
        """Return the results that stand one after another from a position on."""
        out = []
        for s in self.body[start:]:
            if not isinstance(s, Operation) or s.op != "item":
                break
            out.append(s.result)
        return out

    def _sum(self, root: int, inner: set[int]) -> list[Operation]:
        """Return the operations of a sum, the last one first read and the root last."""
        out, stack = list[Operation](), [root]
        while stack:
            s = self._operation(stack.pop())
            out.append(s)
            stack += [x for x in s.operands if x in inner]
        return out[::-1]

    # -- what follows from one row alone ------------------------------------------------------------------------------
    def _following(self) -> list[list[list[Operation]]]:
        """Return, for every product and row, the operations that follow, as far as they are alike for all rows."""
        taken = {s.result for product in self.products for row in product.rows for s in row}
        owner = {x: (p, k) for p, product in enumerate(self.products) for k, x in enumerate(product.roots())}
        after: list[list[list[Operation]]] = [[[] for _ in product.rows] for product in self.products]
        for s in self.body:
            if not isinstance(s, Operation) or s.op in _APART or s.result in taken:
                continue
            owners = {owner[x] for x in s.operands if x in owner}
            if len(owners) != 1:
                continue
            (p, k) = next(iter(owners))
            others = [x for x in s.operands if x not in owner and x not in self.constants]
            if all(self.position.get(x, len(self.body)) < self.products[p].at for x in others):
                owner[s.result] = (p, k)
                after[p][k].append(s)
        return [self._alike(product, rows) for product, rows in zip(self.products, after)]

    def _alike(self, product: _Product, rows: list[list[Operation]]) -> list[list[Operation]]:
        forms = [list(self._forms(root, row)) for root, row in zip(product.roots(), rows)]
        same = 0
        for at in zip(*forms):
            if len(set(at)) > 1:
                break
            same += 1
        return [row[:same] for row in rows]

    def _forms(self, root: int, row: Sequence[Operation]) -> Iterator[tuple]:
        own = {root: 0} | {s.result: 1 + k for k, s in enumerate(row)}
        for s in row:
            yield (
                s.op,
                s.detail,
                *(() if x in self.constants else ("own", own[x]) if x in own else ("value", x) for x in s.operands),
            )

    # -- the new program ----------------------------------------------------------------------------------------------
    def program(self) -> Program:
        """Return the program with loops, each where its first sum was; constants come first."""
        loops = list(all_loops(self.body))
        values = [o.result for o in walk(self.body)]
        values += [x for loop in loops for x in (loop.node, *loop.params, loop.counter or 0)]
        fresh = count(1 + max(values))
        regions = count(1 + max((loop.region for loop in loops), default=0))
        tables = list(self.before.tables)
        instead: dict[int, list[Statement]] = defaultdict(list)
        gone: set[int] = set()
        for product in self.products:
            gone |= {s.result for row in (*product.rows, *product.after) for s in row}
            instead[product.at] += self._loop(product, tables, fresh, next(regions))
        first: list[Statement] = [s for s in self.body if isinstance(s, Operation) and s.op == "const"]
        rest: list[Statement] = []
        for k, s in enumerate(self.body):
            rest += instead[k]
            if not isinstance(s, Operation) or not (s.op == "const" or s.result in gone):
                rest.append(s)
        rest += instead[len(self.body)]
        return replace(self.before, body=first + rest, tables=tables)

    def _loop(self, product: _Product, tables: list[np.ndarray], fresh: Iterator[int], region: int) -> list[Statement]:
        rows = [row + after for row, after in zip(product.rows, product.after)]
        known = np.array([[self.constants[x] for s in row for x in s.operands if x in self.constants] for row in rows])
        differs = (known.view(np.int64) != known[0].view(np.int64)).any(axis=0)
        varies = iter(differs.tolist())
        new: dict[int, int] = {}
        before: list[Statement] = []
        body: list[Statement] = []
        columns = 0
        if product.heads:
            memory, new[product.heads[0]] = next(fresh), next(fresh)
            before.append(Operation("rows", memory, tuple(product.heads), (len(rows),)))
            body.append(Operation("saved", new[product.heads[0]], (memory,), (0, region)))
        for s in rows[0]:
            operands = []
            for x in s.operands:
                if x in self.constants and next(varies):
                    operands.append(next(fresh))
                    body.append(Operation("tabled", operands[-1], (), (len(tables), columns, region)))
                    columns += 1
                else:
                    operands.append(new.get(x, x))
            new[s.result] = next(fresh)
            body.append(replace(s, result=new[s.result], operands=tuple(operands)))
        if columns:
            tables.append(known[:, differs])
        inside = [Counter(x for s in row for x in s.operands) for row in rows]
        kept = [
            k for k in range(len(rows[0])) if any(self.read[r[k].result] > n[r[k].result] for r, n in zip(rows, inside))
        ]
        node = next(fresh)
        loop = Loop(
            node=node,
            region=region,
            count=len(rows),
            reverse=False,
            params=(),
            initial=(),
            results=(),
            saves=tuple(new[rows[0][k].result] for k in kept),
            body=body,
        )
        stored = [
            Operation("stored", row[k].result, (node,), (slot, r))
            for r, row in enumerate(rows)
            for slot, k in enumerate(kept)
        ]
        return [*before, loop, *stored]
