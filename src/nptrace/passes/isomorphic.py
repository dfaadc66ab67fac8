"""Packs: isomorphic operations, which compute one thing for each of four groups, or of two. The search of ``slp``.

A traced function unrolls its Python loops, so a loop over four like things leaves four isomorphic subgraphs: they
differ in their inputs and constants alone. A *pack* is four values, one for each group, made by the same operation from
packs, from constants, and from values of the base that all four share; four scalar operations can then run as one.
Where only only those of a pair are alike packs have two members.

The search works on one body of statements at a time. It guesses seeds, leaves (inputs, carried values of a loop) that
lie side by side in the groups, and follows the def-use chains from them level by level; a level is the longest way from
a leaf. Operations of one level never depend on each other, so that any packs can be scheduled. A wrong seed finds few
packs: it costs speed, never a number. Sums over the groups are in no pack.

Constant propagation would destroy the isomorphism wherever a zero or a one is simplified away in one group and not in
the others; a caller brings the groups into a normal form in which that is rare, and marks the rest with ``no_fold``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from heapq import heappop, heappush
from itertools import repeat

from nptrace.ir.program import Loop, Operation, Statement, all_loops, walk

Pack = tuple[int, ...]
_Placed = tuple[int, int]  # (lane, value)
GROUPS = 4

_UNORDERED = frozenset({"add", "mul", "and", "or"})  # min and max are not: which NaN comes out depends on the order
_PRODUCTS = frozenset({"fma", "fms", "fnma"})  # their first two operands may change places
_GUESSES = 5  # at most so many are tried
_ENOUGH = 0.65  # a guess that puts this share of the operations into packs is taken at once
_CONSTANT, _VALUE = -1, 1 << 40  # an operand in a signature; packs count from 0, a value of the base from here
_LEAF_OPS = frozenset({"input", "item", "saved", "stored"})
_LOOKUPS = frozenset({"lookup", "lookup_input"})


class Packs:
    """Values side by side; ``of[value]`` is (number of the pack, lane), ``level[value]`` the way from the leaves."""

    def __init__(self, lanes: int, level: dict[int, int]) -> None:
        self.lanes = lanes
        self.all: list[Pack] = []
        self.of: dict[int, tuple[int, int]] = {}
        self.level = level

    def add(self, group: Pack) -> None:
        for lane, value in enumerate(group):
            self.of[value] = (len(self.all), lane)
        self.all.append(group)

    def fits(self, group: Sequence[int]) -> bool:
        """Whether values can become a pack: all different and none in one yet."""
        return len(set(group)) == self.lanes and not any(v in self.of for v in group)


def find(
    body: Sequence[Statement], constants: frozenset[int], lanes: int, across: bool = False
) -> dict[int | None, Packs]:
    """The packs of a program, by loop (its node; None: outside of loops); they have 4 or 2 members.

    across: also operations on numbers of two groups, if every group meets the one so many positions after it.
    """
    found: dict[int | None, Packs] = {}
    _search(body, None, constants, lanes, across, found)
    return found


def _search(
    body: Sequence[Statement],
    loop: Loop | None,
    constants: frozenset[int],
    lanes: int,
    across: bool,
    found: dict[int | None, Packs],
) -> None:
    """The loops of a body first: what they carry side by side is a hint for the statements around them."""
    hints: list[Pack] = []
    items: dict[tuple[int, int], int] = {
        (s.operands[0], s.detail[0]): s.result for s in body if isinstance(s, Operation) and s.op == "item"
    }
    for s in body:
        if isinstance(s, Loop):
            _search(s.body, s, constants, lanes, across, found)
            position = {p: k for k, p in enumerate(s.params)}
            for group in found[s.node].all:
                if all(p in position for p in group):
                    slots = [position[p] for p in group]
                    hints.append(tuple(s.initial[k] for k in slots))
                    hints.append(tuple(items.get((s.node, k), -1) for k in slots))
    scope = _Scope(body, loop, constants, lanes, across)
    found[loop.node if loop else None] = scope.best(hints)


class _Scope:
    """One body of statements: who makes a value, who reads it, and how far it is from the leaves."""

    def __init__(
        self, body: Sequence[Statement], loop: Loop | None, constants: frozenset[int], lanes: int, across: bool
    ) -> None:
        self.constants, self.lanes, self.across = constants, lanes, across
        self.made: dict[int, Operation] = {}
        self.order: list[tuple[int, Operation, int]] = []  # what is made here: (value, maker, kind of operation)
        self.level: dict[int, int] = {}
        self.readers: dict[int, list[tuple[int, int]]] = defaultdict(list)  # of a value: (level, position in the order)
        self.leaf_kinds: dict[int, str] = {} if loop is None else dict.fromkeys(loop.params, "carried")
        level, order, readers = self.level, self.order, self.readers
        kinds: dict[tuple, int] = {}
        for s in body:
            if isinstance(s, Loop):
                level[s.node] = 1 + max((level.get(x, 0) for x in reads(s)), default=0)
                continue
            op, value, operands = s.op, s.result, s.operands
            if op in _LEAF_OPS:
                level[value] = level.get(operands[0], 0) if operands else 0
                self.leaf_kinds[value] = op
            elif op != "const":
                above = level[value] = 1 + max(map(level.get, operands, repeat(0)), default=0)
                if op in ("rows", "steps"):  # memory, and a number of the whole program, belong to no group
                    continue
                read = (above, len(order))
                kind = (op, s.detail, value) if op == "random" else (op, s.detail)  # blocks of bits are in no pack
                order.append((value, s, kinds.setdefault(kind, len(kinds))))
                self.made[value] = s
                for x in operands:
                    readers[x].append(read)
        # the stop of a loop is a number of its own
        barred = {*constants, *(() if loop is None or loop.stop is None else (loop.params[loop.stop],))}
        barred |= set() if loop is None else {loop.counter}
        self.leaves = sorted(x for x in self.readers if x not in self.made and x not in barred)
        self.leaf_set = set(self.leaves)

    def best(self, hints: Sequence[Pack]) -> Packs:
        """The packs of the guess that finds most of them."""
        best = Packs(self.lanes, self.level)
        for guess in [list(hints), *([] if self._known(hints) else self._guesses())]:
            packs = self._grown(guess)
            if len(packs.all) > len(best.all):
                best = packs
            if len(best.all) * self.lanes > _ENOUGH * len(self.made):
                break
        return best

    def _known(self, hints: Sequence[Pack]) -> bool:
        """Whether there is nothing of substance here beside a loop whose packs are known."""
        return bool(hints) and len(self.made) < 16 * len(hints)

    def _guesses(self) -> list[list[Pack]]:
        """Leaves that are read for the same operations, in parts of equal size: group after group."""
        classes: dict[tuple, list[int]] = defaultdict(list)
        for x in self.leaves:
            uses = sorted([self.order[position][1].op for _, position in self.readers[x]])
            classes[tuple(uses)].append(x)
            for op in ("sin", "cos"):  # joint angles, whatever else is done with them
                if op in uses:
                    classes[(op, "alone")].append(x)
        guesses: list[tuple[int, tuple[Pack, ...]]] = []
        for kind, members in classes.items():
            odd = len(members) % GROUPS  # members that are in no group come first or last
            for part in (members[odd:], members[: len(members) - odd]):
                guesses += [(len(kind) * len(part), packs) for packs in self._split(part)]
        guesses.sort(key=lambda g: g[0], reverse=True)
        return [list(packs) for packs in dict.fromkeys(packs for _, packs in guesses)][:_GUESSES]

    def _split(self, members: Sequence[int]) -> Iterator[tuple[Pack, ...]]:
        """Members in four parts, one a group; for pairs, neighbours go together or every other one."""
        size = len(members) // GROUPS
        groups = [members[k * size : (k + 1) * size] for k in range(GROUPS)]
        if size and self.lanes == GROUPS:
            yield tuple(zip(*groups))
        elif size:
            yield (*zip(groups[0], groups[1]), *zip(groups[2], groups[3]))
            yield (*zip(groups[0], groups[2]), *zip(groups[1], groups[3]))

    def _grown(self, seeds: Sequence[Pack]) -> Packs:
        """Follow the seeds; leaves that are met side by side become seeds in their turn."""
        bare, seen = Packs(self.lanes, self.level), set[Pack]()
        behind = [leaves for g in seeds if self._alike(g) for leaves in self._behind(g, bare, seen)]
        seeds = [g for g in (*seeds, *behind) if self._side_by_side(g)]
        while True:
            start = Packs(self.lanes, self.level)
            for group in seeds:
                if start.fits(group):
                    start.add(group)
            met = self._follow(start)
            if not met:
                return start
            seeds = [*seeds, *met]

    def _side_by_side(self, group: Pack) -> bool:
        """Whether values are leaves that come into being together, or lie beside each other in one table."""
        if all(v in self.made and self.made[v].op in _LOOKUPS for v in group):
            first = self.made[group[0]]
            others = [self.made[v] for v in group[1:]]
            return all((m.op, m.detail) == (first.op, first.detail) for m in others) and all(
                len(set(side)) == 1 or all(x in self.constants for x in side)
                for side in zip(first.operands, *(m.operands for m in others))
            )
        kinds = {(self.leaf_kinds.get(v, "outside"), self.level.get(v, 0)) for v in group}
        return len(kinds) == 1 and all(v in self.leaf_set for v in group)

    def _follow(self, packs: Packs) -> list[Pack]:
        """Put operations into packs, level by level; returns leaves that were met side by side."""
        met: list[Pack] = []
        seen: set[Pack] = set()
        readers, order = self.readers, self.order
        waiting: dict[int, set[int]] = {}  # positions of what reads packs, by level: nothing else can become one
        levels: list[int] = []  # of these, a heap

        def wait(group: Pack) -> None:
            for value in group:
                for level, position in readers.get(value, ()):
                    if level in waiting:
                        waiting[level].add(position)
                    else:
                        waiting[level] = {position}
                        heappush(levels, level)

        for group in packs.all:
            wait(group)
        while levels:
            strict: dict[tuple, list[_Placed]] = {}
            for position in sorted(waiting.pop(heappop(levels))):
                value, maker, kind = order[position]
                found = self._signature(maker, kind, packs.of)
                if found is not None:
                    strict.setdefault(found[0], []).append((found[1], value))
            loose: dict[tuple, list[_Placed]] = {}
            for signature, members in strict.items():
                if groups := self._groups(members):
                    for group in groups:
                        packs.add(group)
                        wait(group)
                else:  # perhaps a value outside that differs from group to group
                    loose.setdefault(tuple(map(min, signature, repeat(_VALUE))), []).extend(members)
            for members in loose.values():
                for group in self._groups(members):
                    packs.add(group)
                    wait(group)
                    met += self._behind(group, packs, seen)
        return met

    def _groups(self, members: list[_Placed]) -> list[Pack]:
        """Packs of values that have their lanes; none where a lane has more of them than another."""
        lanes = self.lanes
        if len(members) % lanes:
            return []
        if len(members) == lanes:  # nearly always
            members = sorted(members)
            return [tuple([v for _, v in members])] if [lane for lane, _ in members] == list(range(lanes)) else []
        columns = [[v for at, v in members if at == lane] for lane in range(lanes)]
        return list(zip(*columns)) if len(set(map(len, columns))) == 1 else []

    def _alike(self, group: Sequence[int]) -> bool:
        """Whether values are made here, by the same operation."""
        return all(v in self.made for v in group) and len({self.made[v].op for v in group}) == 1

    def _behind(self, group: Pack, packs: Packs, seen: set[Pack]) -> Iterator[Pack]:
        """Leaves that like operations are made from, side by side."""
        for side in zip(*(ordered(self.made[v], packs.of, self.constants) for v in group)):
            if side in seen or not packs.fits(side):
                continue
            seen.add(side)
            if self._side_by_side(side):
                yield side
            elif self._alike(side):
                yield from self._behind(side, packs, seen)

    def _signature(self, s: Operation, kind: int, of: dict[int, tuple[int, int]]) -> tuple[tuple, int] | None:
        """(what is done to which packs and values, in which lane), or None for what belongs to no group."""
        lanes, constants, positions, met = self.lanes, self.constants, [], []
        for x in s.operands:
            positions.append(position := of.get(x))
            if position is not None:
                met.append(position)
        lane, mixed = met[0][1], False
        if len(met) > 1:
            for position in met:
                mixed = mixed or position[1] != lane
            lane = max(met)[1]  # of the youngest pack: who makes a product of two groups has the longer way behind it
            if mixed and (not self.across or len({pack for pack, _ in met}) < len(set(met))):
                return None  # a sum over groups
        described = []
        for x, position in zip(s.operands, positions):
            if position is not None:
                described.append(position[0] * lanes + (position[1] - lane) % lanes)
            else:
                described.append(_CONSTANT if x in constants else _VALUE + x)
        if s.op in _UNORDERED:
            described.sort()
        elif s.op in _PRODUCTS and described[1] < described[0]:
            described[0], described[1] = described[1], described[0]
        return (kind, *described), lane


def ordered(s: Operation, of: dict[int, tuple[int, int]], constants: Container[int]) -> list[int]:
    """Operands in an order that is the same for all members of a pack."""

    count = 2 if s.op in _PRODUCTS or s.op in _UNORDERED else 0
    if not count:
        return list(s.operands)

    def rank(x: int) -> tuple[int, int]:
        return (2, of[x][0]) if x in of else (0, 0) if x in constants else (1, x)

    a, b = s.operands[:2]
    return [b, a, *s.operands[2:]] if rank(b) < rank(a) else list(s.operands)


def reads(loop: Loop) -> set[int]:
    """Return what a loop reads from outside: its initial values, and what its body does not make itself."""
    operations, loops = walk(loop.body), [loop, *all_loops(loop.body)]
    inside = {o.result for o in operations}
    read = {x for o in operations for x in o.operands}
    for s in loops:
        inside.update((*s.params, s.counter, s.node))  # type: ignore[arg-type]
        read.update((*s.initial, *s.results, *s.saves))
    return (read - inside).union(loop.initial)
