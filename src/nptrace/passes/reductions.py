"""Reassociated reductions: each isomorphic group sums its terms, then the partial sums are added in pairs.

The contributions of four isomorphic groups to a number form one long sum, x - a_0 b_0 - c_0 d_0 - a_1 b_1 - ..., which
needs every term as a scalar. Reassociated, each group sums its terms, p_k = a_k b_k + c_k d_k, and the result is x -
((p_0 + p_1) + (p_2 + p_3)). The partial sums run in lanes, and a single horizontal sum replaces hundreds of lane
extractions. Only the order of addition changes, so only the last digits differ.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from nptrace.ir.program import Loop, Operation, Program, Statement, all_loops, times_read, walk, without_dead_code
from nptrace.passes.isomorphic import Packs, find

_SUMS = frozenset({"add", "sub", "fma", "fms", "fnma"})
_LANES = 4


@dataclass(frozen=True)
class _Term:
    """A term of a sum: a value or a product of two values."""

    minus: bool
    factors: tuple[int, ...]


def reassociated(program: Program) -> Program:
    """Return the program with sums over four isomorphic groups in pairs, if there are any."""
    constants = frozenset(o.result for o in walk(program.body) if o.op == "const")
    found = find(program.body, constants, _LANES)
    if not any(packs.all for packs in found.values()):
        return program
    values = [o.result for o in walk(program.body)]
    values += [x for loop in all_loops(program.body) for x in (loop.node, *loop.params, loop.counter or 0)]
    work = _Regrouping(constants, found, times_read(program.body, program.outputs), 1 + max(values))
    body = without_dead_code(work.body(program.body, None), program.outputs)
    return replace(program, body=body)


@dataclass
class _Regrouping:
    """The rewriting of the bodies of one program; ``fresh`` is the last used number."""

    constants: frozenset[int]
    found: dict[int | None, Packs]
    readers: Counter[int]
    fresh: int

    def body(self, statements: Sequence[Statement], node: int | None) -> list[Statement]:
        """Return the rewritten statements of a loop (``node``), or those outside of loops."""
        packs = self.found[node]
        position = {s.result: k for k, s in enumerate(statements) if isinstance(s, Operation)}
        own = [s for s in statements if isinstance(s, Operation) and s.result not in packs.of]
        made = {s.result: s for s in own if s.op in _SUMS or s.op == "mul"}
        inner = {x for s in made.values() for x, _ in _added(s)[1] if x in made and self.readers[x] == 1}
        early: dict[int, list[Statement]] = defaultdict(list)  # statements inserted after a statement
        instead: dict[int, Sequence[Statement]] = {}
        for root in made.values():
            if root.result in inner or root.op == "mul":
                continue
            groups, rest = self._by_group(_terms(root, made, inner), packs)
            if groups:
                total, minus = self._parts(groups, position, early, None if rest else root.result)
                instead[root.result] = self._chain([_Term(minus, (total,)), *rest], root.result) if rest else []
        out: list[Statement] = list(early[-1])
        for k, s in enumerate(statements):
            if isinstance(s, Loop):
                out.append(replace(s, body=self.body(s.body, s.node)))
            else:
                out += instead.get(s.result, [s])
            out += early[k]
        return out

    def _by_group(self, terms: Sequence[_Term], packs: Packs) -> tuple[list[list[_Term]], list[_Term]]:
        """Return (terms that are isomorphic in four groups, by group; other terms)."""
        groups: list[list[_Term]] = []
        rest = [t for t in terms if len({packs.of[x][1] for x in t.factors if x in packs.of}) != 1]
        alone = set(map(id, rest))
        left = [t for t in terms if id(t) not in alone]
        for strict in (True, False):  # finally, an outside value may differ between groups
            lanes: dict[tuple, list[list[_Term]]] = defaultdict(lambda: [[] for _ in range(_LANES)])
            for term in left:
                lane = next(packs.of[x][1] for x in term.factors if x in packs.of)
                described = sorted(self._described(x, packs, strict) for x in term.factors)
                lanes[term.minus, *described][lane].append(term)
            left = []
            for members in lanes.values():
                if len({len(m) for m in members}) == 1:
                    groups += [list(group) for group in zip(*members)]
                else:
                    left += [term for m in members for term in m]
        return groups, rest + left

    def _described(self, x: int, packs: Packs, strict: bool) -> tuple:
        if x in packs.of:
            return ("pack", packs.of[x][0])
        return ("constant", -1) if x in self.constants else ("value", x if strict else -1)

    def _parts(
        self, groups: list[list[_Term]], position: dict[int, int], early: dict[int, list[Statement]], name: int | None
    ) -> tuple[int, bool]:
        """Return (sum over the groups, whether to subtract it); partial sums are placed as early as possible."""
        minus = all(group[0].minus for group in groups)  # then there are other terms: every sum begins with a plus
        parts, when = [], []
        for lane in range(_LANES):
            own = [group[lane] for group in groups]
            lines = self._chain([replace(t, minus=t.minus != minus) for t in own], None)
            parts.append(lines[-1].result if lines else own[0].factors[0])
            when.append(max(position.get(x, -1) for term in own for x in term.factors))
            early[when[-1]] += lines
        pairs = [self._new("add", *parts[:2]), self._new("add", *parts[2:])]
        early[max(when[:2])].append(pairs[0])
        early[max(when[2:])].append(pairs[1])
        total = self._new("add", pairs[0].result, pairs[1].result)
        total = total if name is None else replace(total, result=name)
        early[max(when)].append(total)
        return total.result, minus

    def _new(self, op: str, *operands: int) -> Operation:
        self.fresh += 1
        return Operation(op, self.fresh, operands)

    def _chain(self, terms: list[_Term], result: int | None) -> list[Operation]:
        """Return statements that sum the terms in order; none for a single value."""
        first = next((t for t in terms if not t.minus), terms[0])
        others = [t for t in terms if t is not first]
        lines: list[Operation] = []
        total = first.factors[0]
        if len(first.factors) == 2:
            lines.append(self._new("mul", *first.factors))
            total = lines[-1].result
        if first.minus:
            lines.append(self._new("neg", total))
            total = lines[-1].result
        for term in others:
            if len(term.factors) == 2:
                lines.append(self._new("fnma" if term.minus else "fma", *term.factors, total))
            else:
                lines.append(self._new("sub" if term.minus else "add", total, term.factors[0]))
            total = lines[-1].result
        if result is not None and lines:
            lines[-1] = replace(lines[-1], result=result)
        return lines


def _added(s: Operation) -> tuple[list[_Term], list[tuple[int, bool]]]:
    """Return (products in a sum, its other operands with whether they are subtracted)."""
    if s.op == "mul":
        return [_Term(False, s.operands)], []
    if s.op in ("add", "sub"):
        return [], [(s.operands[0], False), (s.operands[1], s.op == "sub")]
    a, b, c = s.operands
    return [_Term(s.op == "fnma", (a, b))], [(c, s.op == "fms")]


def _terms(root: Operation, made: dict[int, Operation], inner: Iterable[int]) -> list[_Term]:
    """Return the terms of a sum in order of addition."""
    terms: list[_Term] = []
    stack = [(root.result, False)]
    while stack:
        value, minus = stack.pop()
        if value == root.result or value in inner:
            products, values = _added(made[value])
            terms += [replace(t, minus=t.minus != minus) for t in products]
            stack += [(x, negative != minus) for x, negative in values]
        else:
            terms.append(_Term(minus, (value,)))
    return terms[::-1]
