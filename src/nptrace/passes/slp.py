"""Superword-level parallelism (SLP): isomorphic scalar operations of one program become one vector operation.

This is SLP vectorisation (Larsen & Amarasinghe 2000), with the isomorphic groups of one program as lanes:
``reductions`` reassociates sums over the groups, ``isomorphic`` finds the *packs*, and here the program is rewritten. A
pack becomes *wide*: a value that holds one number per group. Other values stay scalar. ``broadcast`` (one number into
all lanes), ``gather`` (a wide value from scalars), ``extract`` (one lane), ``permute`` (lanes in another order) and
``hsum`` (a horizontal sum of four lanes, in pairs) connect the two. A wide constant has several numbers as its detail,
a wide input several positions. Every number is computed by the same operation from the same numbers as before, so that
results are identical bit for bit. ``docs/nptrace/targets.md`` follows an example through all stages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat

from nptrace.ir.program import Loop, Operation, Program, Statement, all_loops, walk, without_dead_code
from nptrace.passes.isomorphic import GROUPS, Pack, Packs, find, ordered, reads

SMALLEST = 64  # operations; smaller programs are not worth the search
WORTH = 0.9  # largest fraction of the work that may remain
ENOUGH = 0.8  # if at most this fraction remains, no other number of lanes is tried
_COSTS = {
    "sin": 25,
    "cos": 25,
    "exp": 25,
    "log": 30,
    "pow": 60,
    "atan2": 40,
    "inv": 4,
    "div": 4,
    "sqrt": 4,
    "gather": 3,
}
_FREE = frozenset({"const", "input", "item"})
_PULLED = frozenset({"add", "sub", "mul", "fma", "fms", "fnma", "neg"})
_DEEPEST = 3  # depth to which shared operations are repeated in lanes rather than gathered


def vectorised(
    program: Program,
    worth: float = WORTH,
    lanes: Sequence[int] = (4, 2),
    smallest: int = SMALLEST,
    across: bool = False,
) -> Program | None:
    """Return the program with wide values, or None if more than ``worth`` of the work would remain.

    lanes: numbers of lanes to try; the one with the least remaining work is used. smallest: fewest operations worth a
    search. across: wide operations may combine different groups (``permute`` rotates the lanes), as in a Jacobian,
    where an input of one group affects the others.
    """
    if program.size < smallest or program.wide:
        return None
    before = _cost(program.body)
    best, least = None, worth * before
    for count in lanes:
        made = _vectorised(program, count, across)
        cost = before if made is None else _cost(made.body)
        if made is not None and cost <= least:
            best, least = made, cost
        if cost < ENOUGH * before:
            break
    return best


def _vectorised(program: Program, lanes: int, across: bool) -> Program | None:
    constants = {o.result: o.detail[0] for o in walk(program.body) if o.op == "const"}
    found = find(program.body, frozenset(constants), lanes, across)
    if not any(packs.all for packs in found.values()):
        return None
    shared = _Shared(constants=constants, found=found, fresh=1 + max(_values(program.body), default=0), across=across)
    scope = _Scope(shared, program.body, None, None)
    scope.rewrite()
    outputs = [scope.scalar(x) for x in program.outputs]
    body = without_dead_code([*shared.wide_constants, *scope.out], outputs)
    wide = frozenset(shared.wide)
    return Program(
        body=body,
        outputs=outputs,
        input_size=program.input_size,
        tables=program.tables,
        input_names=program.input_names,
        wide=wide,
        lanes=lanes,
    )


def _values(body: Sequence[Statement]) -> list[int]:
    carried = [x for loop in all_loops(body) for x in (loop.node, *loop.params, loop.counter or 0)]
    return [*(o.result for o in walk(body)), *carried]


def _cost(body: Sequence[Statement]) -> int:
    """Estimate the number of instructions; sine and cosine of an angle share their work."""
    operations = walk(body)
    angles = {o.operands for o in operations if o.op in ("sin", "cos")}
    counts = Counter([o.op for o in operations])
    others = sum(n * _COSTS.get(op, 1) for op, n in counts.items() if op not in _FREE and op not in ("sin", "cos"))
    return others + _COSTS["sin"] * len(angles)


@dataclass(kw_only=True)
class _Shared:
    """Data shared by all bodies of a program."""

    constants: dict[int, float]
    found: dict[int | None, Packs]
    fresh: int
    across: bool
    wide: set[int] = field(default_factory=set)
    wide_constants: list[Statement] = field(default_factory=list)

    def new(self, wide: bool) -> int:
        self.fresh += 1
        if wide:
            self.wide.add(self.fresh)
        return self.fresh


class _Scope:
    """The rewriting of one body; ``out`` collects the statements in their new order."""

    def __init__(self, shared: _Shared, body: Sequence[Statement], loop: Loop | None, outer: _Scope | None) -> None:
        self.shared, self.body, self.loop, self.outer = shared, body, loop, outer
        self.packs = shared.found[loop.node if loop else None]
        self.made = {s.result: s for s in body if isinstance(s, Operation)}
        self.own = {*self.made, *(() if loop is None else (*loop.params, loop.counter))}
        self.out: list[Statement] = []
        self.numbers: dict[tuple, int] = {}  # (wide value, lane): extracted number
        self.wides: dict[Pack, int] = {}
        self.slots: dict[tuple[int, int], tuple[int, int | None]] = {}  # (loop, slot): (new slot, lane)

    # -- order ---------------------------------------------------------------------------------------------------------
    def rewrite(self) -> None:
        """Write every statement at the position of its last member in the trace, or as soon after as possible."""
        for _, _, _, unit in sorted(self._units(), key=lambda u: u[:3]):
            if isinstance(unit, Loop):
                self.out.append(self._loop(unit))
            elif isinstance(unit, Operation):
                self._scalar_statement(unit)
            else:
                self._wide_statement(unit)

    def _units(self) -> list[tuple[int, int, int, Statement | Pack]]:
        """Return (time, level, position, statement or pack) of everything to be written."""
        position = {(s.node if isinstance(s, Loop) else s.result): k for k, s in enumerate(self.body)}
        level, of = self.packs.level, self.packs.of
        units: list[tuple[int, Statement | Pack]] = []
        for s in self.body:
            if isinstance(s, Loop) or s.op in ("const", "input"):
                units.append((level.get(s.node, 0) if isinstance(s, Loop) else 0, s))
            elif s.result not in of:
                units.append((level.get(s.result, 0), s))
            elif of[s.result][1] == 0:
                units.append((level.get(s.result, 0), self.packs.all[of[s.result][0]]))
        units.sort(key=lambda u: (u[0], not isinstance(u[1], Loop)))  # items are on the level of their loop
        when: dict[int, int] = {}
        out: list[tuple[int, int, int, Statement | Pack]] = []
        for height, unit in units:
            if isinstance(unit, Operation):
                at = position[unit.result]
                time = when[unit.result] = max(at, *map(when.get, unit.operands, repeat(-1)), -1)
                out.append((time, 2 * height + 1, at, unit))
                continue
            members = unit if isinstance(unit, tuple) else (unit.node,)
            needs = reads(unit) if isinstance(unit, Loop) else [x for m in members for x in self.made[m].operands]
            time = max([*[position[m] for m in members], *[when.get(x, -1) for x in needs]])
            when.update(dict.fromkeys(members, time))
            out.append((time, 2 * height + (not isinstance(unit, Loop)), position[members[0]], unit))
        return out

    # -- statements ----------------------------------------------------------------------------------------------------
    def _scalar_statement(self, s: Operation) -> None:
        if s.op == "item":
            slot, lane = self.slots[s.operands[0], s.detail[0]]
            if lane is None:
                self.out.append(Operation(s.op, s.result, s.operands, (slot,)))
            else:
                whole = self._item(s.operands[0], slot)
                self.out.append(Operation("extract", s.result, (whole,), (lane,)))
        elif s.op in ("const", "input", "saved", "stored", "steps"):
            self.out.append(s)
        elif (pack := self._summed(s)) is not None:
            self.out.append(Operation("hsum", s.result, (self.wides[pack],)))
        else:
            self.out.append(Operation(s.op, s.result, tuple(map(self.scalar, s.operands)), s.detail))

    def _summed(self, s: Operation) -> Pack | None:
        """Return the pack of four whose sum in pairs, (a + b) + (c + d), is a value; None for any other value."""
        pairs = [self.made.get(x) for x in s.operands] if s.op == "add" and self.packs.lanes == GROUPS else []
        if not pairs or any(p is None or p.op != "add" or p.result in self.packs.of for p in pairs):
            return None
        members = tuple(x for p in pairs if p is not None for x in sorted(p.operands, key=self._lane))
        pack = self.packs.all[self.packs.of[members[0]][0]] if members[0] in self.packs.of else None
        return pack if pack in (members, members[2:] + members[:2]) and pack in self.wides else None

    def _lane(self, value: int) -> int:
        return self.packs.of.get(value, (0, 0))[1]

    def _wide_statement(self, group: Pack) -> None:
        first = self.made[group[0]]
        if first.op in ("input", "item", "saved", "stored"):
            if first.op != "input":  # a wide input is read where it is used
                self.wides[group] = self._carried(group)
            return
        constants = self.shared.constants
        sides = zip(*(ordered(self.made[v], self.packs.of, constants) for v in group))
        self.wides[group] = self._emit(first.op, tuple(self.wide(side) for side in sides), first.detail)

    def _carried(self, group: Pack) -> int:
        """Return a pack of items: as one wide value if the loop carries them so."""
        makers = [self.made[v] for v in group]
        if all(m.op == "item" and m.operands == makers[0].operands for m in makers):
            slots = [self.slots[m.operands[0], m.detail[0]] for m in makers]
            if [lane for _, lane in slots] == list(range(self.packs.lanes)) and len({slot for slot, _ in slots}) == 1:
                return self._item(makers[0].operands[0], slots[0][0])
        numbers = []
        for m in makers:
            self._scalar_statement(m)
            numbers.append(m.result)
        return self._emit("gather", tuple(numbers))

    def _item(self, loop: int, slot: int) -> int:
        key = ("item", loop, slot)
        if key not in self.numbers:
            self.numbers[key] = self._emit("item", (loop,), (slot,))
        return self.numbers[key]

    def _loop(self, loop: Loop) -> Loop:
        """Rewrite a loop: packs of carried values in the body are carried as wide values."""
        inner = _Scope(self.shared, loop.body, loop, self)
        position = {p: k for k, p in enumerate(loop.params)}
        groups = [g for g in inner.packs.all if all(p in position for p in g)]
        together = {p for g in groups for p in g}
        groups += self._overwritten(loop, inner.packs, together)
        together = {p for g in groups for p in g}
        single = [p for p in loop.params if p not in together]
        for slot, p in enumerate(single):
            self.slots[loop.node, position[p]] = (slot, None)
        params: list[int] = list(single)
        for group in groups:
            for lane, p in enumerate(group):
                self.slots[loop.node, position[p]] = (len(params), lane)
            inner.wides[group] = self.shared.new(wide=True)
            params.append(inner.wides[group])
        initial = [self.scalar(loop.initial[position[p]]) for p in single]
        initial += [self.wide(tuple(loop.initial[position[p]] for p in g)) for g in groups]
        inner.rewrite()
        results = [inner.scalar(loop.results[position[p]]) for p in single]
        results += [inner.wide(tuple(loop.results[position[p]] for p in g)) for g in groups]
        saves = tuple(map(inner.scalar, loop.saves))
        stop = None if loop.stop is None else self.slots[loop.node, loop.stop][0]
        return Loop(
            node=loop.node,
            region=loop.region,
            count=loop.count,
            reverse=loop.reverse,
            params=tuple(params),
            initial=tuple(initial),
            results=tuple(results),
            saves=saves,
            body=inner.out,
            counter=loop.counter,
            stop=stop,
        )

    @staticmethod
    def _overwritten(loop: Loop, packs: Packs, together: set[int]) -> list[Pack]:
        """Return packs of carried values that no iteration reads and every iteration computes as a pack."""
        inside = {x for o in walk(loop.body) for x in o.operands}
        inside |= {x for inner in all_loops(loop.body) for x in (*inner.initial, *inner.results, *inner.saves)}
        inside |= {*loop.results, *loop.saves}
        by_team: dict[int, dict[int, int]] = {}
        for k, (p, result) in enumerate(zip(loop.params, loop.results)):
            if p not in together and p not in inside and k != loop.stop and result in packs.of:
                pack, lane = packs.of[result]
                by_team.setdefault(pack, {}).setdefault(lane, p)
        whole = [found for found in by_team.values() if len(found) == packs.lanes]
        return [tuple(found[lane] for lane in range(packs.lanes)) for found in whole]

    # -- values --------------------------------------------------------------------------------------------------------
    def scalar(self, value: int) -> int:
        """Return a value of the old program as a scalar."""
        if value in self.shared.constants:
            return value
        if value not in self.own:
            assert self.outer is not None
            return self.outer.scalar(value)
        position = self.packs.of.get(value)
        if position is None or (value in self.made and self.made[value].op == "input"):
            return value
        whole, lane = self.wides[self.packs.all[position[0]]], position[1]
        if (whole, lane) not in self.numbers:
            self.numbers[whole, lane] = self._emit("extract", (whole,), (lane,), wide=False)
        return self.numbers[whole, lane]

    def wide(self, group: Pack) -> int:
        """Return values of the old program, one per lane, as a wide value."""
        found = self.wides.get(group)
        if found is None:
            found = self.wides[group] = self._made_wide(group)
        return found

    def _made_wide(self, group: Pack) -> int:
        constants = self.shared.constants
        if all(v in constants for v in group):
            if self.outer is not None:
                return self.outer.wide(group)
            number = self.shared.new(wide=True)
            self.shared.wide_constants.append(Operation("const", number, (), (tuple(constants[v] for v in group),)))
            return number
        if self.outer is not None and not any(v in self.own for v in group):
            return self.outer.wide(group)
        makers = [self.made.get(v) for v in group]
        if len(set(group)) == 1:
            return self._emit("broadcast", (self.scalar(group[0]),))
        if all(m is not None and m.op == "input" for m in makers):
            return self._emit("input", (), tuple(m.detail[0] for m in makers if m is not None))
        positions = {self.packs.of[v] for v in group if v in self.packs.of and v in self.own}
        if self.shared.across and len(positions) == len(group) and len({pack for pack, _ in positions}) == 1:
            pack = self.packs.all[self.packs.of[group[0]][0]]
            return self._emit("permute", (self.wide(pack),), tuple(self.packs.of[v][1] for v in group))
        if (sides := self._pulled(group, _DEEPEST)) is not None:
            return self._emit(self.made[group[0]].op, tuple(self.wide(side) for side in sides))
        return self._emit("gather", tuple(map(self.scalar, group)))

    def _pulled(self, group: Pack, depth: int) -> list[Pack] | None:
        """Return wide operands for isomorphic scalar operations, down to constants and shared values."""
        makers = [self.made.get(v) for v in group]
        of, constants = self.packs.of, self.shared.constants
        if not depth or any(m is None or m.op not in _PULLED or m.result in of for m in makers):
            return None
        known = [m for m in makers if m is not None]
        if len({m.op for m in known}) > 1:
            return None
        shared = set(known[0].operands).intersection(*(m.operands for m in known[1:]))
        rows = []
        for m in known:
            row = ordered(m, of, constants)
            if m.op in ("add", "mul"):
                row.sort(key=lambda x: x not in shared)
            rows.append(row)
        sides = list(zip(*rows))
        for side in sides:
            alike = len(set(side)) == 1 or all(v in constants for v in side)
            if not alike and self._pulled(side, depth - 1) is None:
                return None
        return sides

    def _emit(self, op: str, operands: tuple[int, ...], detail: tuple = (), wide: bool = True) -> int:
        number = self.shared.new(wide)
        self.out.append(Operation(op, number, operands, detail))
        return number
