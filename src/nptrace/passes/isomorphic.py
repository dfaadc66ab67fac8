"""The search for packs: isomorphic operations of four groups, or of two, which ``slp`` vectorises.

A traced function unrolls its Python loops, so a loop over four similar objects leaves four isomorphic subgraphs, which
differ only in inputs and constants. A *pack* is four values, one for each group, computed by the same operation from
packs, constants, and values shared by all four; four scalar operations can then run as one. Where only pairs of groups
are isomorphic, packs have two members.

The search works on one body of statements at a time. It guesses seeds, which are corresponding leaves of the groups
(inputs, carried values of a loop), and follows the def-use chains from them level by level; the level is the longest
path from a leaf. Operations of one level never depend on each other, so that any packs can be scheduled. A wrong seed
finds few packs: it costs speed, never correctness. Sums over the groups are in no pack.

Constant propagation would destroy the isomorphism wherever a zero or a one is simplified away in one group but not in
the others; callers use a normal form of the groups in which this is rare, and ``no_fold`` elsewhere.
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

_UNORDERED = frozenset({"add", "mul", "and", "or"})  # not min and max: which NaN results depends on the order
_PRODUCTS = frozenset({"fma", "fms", "fnma"})  # the first two operands commute
_GUESSES = 5  # most guesses tried
_ENOUGH = 0.65  # a guess that packs this share of the operations is accepted at once
_CONSTANT, _VALUE = -1, 1 << 40  # operands in a signature; packs count from 0, shared values from here
_LEAF_OPS = frozenset({"input", "item", "saved", "stored"})
_LOOKUPS = frozenset({"lookup", "lookup_input"})


class Packs:
    """Packs of values; ``of[value]`` is (pack, lane), ``level[value]`` the longest path from the leaves."""

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
        """Return whether values can become a pack: all different, and none in a pack yet."""
        return len(set(group)) == self.lanes and not any(v in self.of for v in group)


def find(
    body: Sequence[Statement], constants: frozenset[int], lanes: int, across: bool = False
) -> dict[int | None, Packs]:
    """Return the packs of a program, by loop node (None: outside of loops); they have 4 or 2 members.

    across: also pack operations between groups, if the two groups are the same number of positions apart in all lanes.
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
    """Search a body, its loops first: packs of carried values are hints for the statements around them."""
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
    """One body of statements: definitions and uses of values, and their levels."""

    def __init__(
        self, body: Sequence[Statement], loop: Loop | None, constants: frozenset[int], lanes: int, across: bool
    ) -> None:
        self.constants, self.lanes, self.across = constants, lanes, across
        self.made: dict[int, Operation] = {}
        self.order: list[tuple[int, Operation, int]] = []  # values defined here: (value, operation, kind of operation)
        self.level: dict[int, int] = {}
        self.readers: dict[int, list[tuple[int, int]]] = defaultdict(list)  # by value: (level, position in the order)
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
                if op in ("rows", "steps"):  # memory, and a number for the whole program, belong to no group
                    continue
                read = (above, len(order))
                kind = (op, s.detail, value) if op == "random" else (op, s.detail)  # random bits are in no pack
                order.append((value, s, kinds.setdefault(kind, len(kinds))))
                self.made[value] = s
                for x in operands:
                    readers[x].append(read)
        # the stop condition of a loop belongs to no group
        barred = {*constants, *(() if loop is None or loop.stop is None else (loop.params[loop.stop],))}
        barred |= set() if loop is None else {loop.counter}
        self.leaves = sorted(x for x in self.readers if x not in self.made and x not in barred)
        self.leaf_set = set(self.leaves)

    def best(self, hints: Sequence[Pack]) -> Packs:
        """Return the packs of the guess that finds the most."""
        best = Packs(self.lanes, self.level)
        for guess in [list(hints), *([] if self._known(hints) else self._guesses())]:
            packs = self._grown(guess)
            if len(packs.all) > len(best.all):
                best = packs
            if len(best.all) * self.lanes > _ENOUGH * len(self.made):
                break
        return best

    def _known(self, hints: Sequence[Pack]) -> bool:
        """Return whether a loop with known packs does nearly all of the work here."""
        return bool(hints) and len(self.made) < 16 * len(hints)

    def _guesses(self) -> list[list[Pack]]:
        """Yield guesses: leaves that are used alike, in equal parts, one for each group."""
        classes: dict[tuple, list[int]] = defaultdict(list)
        for x in self.leaves:
            uses = sorted([self.order[position][1].op for _, position in self.readers[x]])
            classes[tuple(uses)].append(x)
            for op in ("sin", "cos"):  # joint angles, whatever their other uses
                if op in uses:
                    classes[(op, "alone")].append(x)
        guesses: list[tuple[int, tuple[Pack, ...]]] = []
        for kind, members in classes.items():
            odd = len(members) % GROUPS  # leaves in no group come first or last
            for part in (members[odd:], members[: len(members) - odd]):
                guesses += [(len(kind) * len(part), packs) for packs in self._split(part)]
        guesses.sort(key=lambda g: g[0], reverse=True)
        return [list(packs) for packs in dict.fromkeys(packs for _, packs in guesses)][:_GUESSES]

    def _split(self, members: Sequence[int]) -> Iterator[tuple[Pack, ...]]:
        """Split members into four parts, one per group; for pairs, combine neighbours or every other part."""
        size = len(members) // GROUPS
        groups = [members[k * size : (k + 1) * size] for k in range(GROUPS)]
        if size and self.lanes == GROUPS:
            yield tuple(zip(*groups))
        elif size:
            yield (*zip(groups[0], groups[1]), *zip(groups[2], groups[3]))
            yield (*zip(groups[0], groups[2]), *zip(groups[1], groups[3]))

    def _grown(self, seeds: Sequence[Pack]) -> Packs:
        """Grow packs from the seeds; corresponding leaves found on the way become further seeds."""
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
        """Return whether values are leaves of the same kind, or adjacent entries of one table."""
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
        """Put operations into packs, level by level; return corresponding leaves found on the way."""
        met: list[Pack] = []
        seen: set[Pack] = set()
        readers, order = self.readers, self.order
        waiting: dict[int, set[int]] = {}  # positions of readers of packs, by level: only these can become packs
        levels: list[int] = []  # a heap of these levels

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
                else:  # perhaps an outside value that differs between groups
                    loose.setdefault(tuple(map(min, signature, repeat(_VALUE))), []).extend(members)
            for members in loose.values():
                for group in self._groups(members):
                    packs.add(group)
                    wait(group)
                    met += self._behind(group, packs, seen)
        return met

    def _groups(self, members: list[_Placed]) -> list[Pack]:
        """Form packs of values with known lanes; none if the lanes have different numbers of values."""
        lanes = self.lanes
        if len(members) % lanes:
            return []
        if len(members) == lanes:  # nearly always
            members = sorted(members)
            return [tuple([v for _, v in members])] if [lane for lane, _ in members] == list(range(lanes)) else []
        columns = [[v for at, v in members if at == lane] for lane in range(lanes)]
        return list(zip(*columns)) if len(set(map(len, columns))) == 1 else []

    def _alike(self, group: Sequence[int]) -> bool:
        """Return whether values are defined here, by the same operation."""
        return all(v in self.made for v in group) and len({self.made[v].op for v in group}) == 1

    def _behind(self, group: Pack, packs: Packs, seen: set[Pack]) -> Iterator[Pack]:
        """Return corresponding leaves from which isomorphic operations are computed."""
        for side in zip(*(ordered(self.made[v], packs.of, self.constants) for v in group)):
            if side in seen or not packs.fits(side):
                continue
            seen.add(side)
            if self._side_by_side(side):
                yield side
            elif self._alike(side):
                yield from self._behind(side, packs, seen)

    def _signature(self, s: Operation, kind: int, of: dict[int, tuple[int, int]]) -> tuple[tuple, int] | None:
        """Return ((operation, packs and shared values), lane), or None for an operation that belongs to no group."""
        lanes, constants, positions, met = self.lanes, self.constants, [], []
        for x in s.operands:
            positions.append(position := of.get(x))
            if position is not None:
                met.append(position)
        lane, mixed = met[0][1], False
        if len(met) > 1:
            for position in met:
                mixed = mixed or position[1] != lane
            lane = max(met)[1]  # lane in the latest pack: the group with the longer path owns a product of two
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
    """Return the operands in an order that is the same for all members of a pack."""

    count = 2 if s.op in _PRODUCTS or s.op in _UNORDERED else 0
    if not count:
        return list(s.operands)

    def rank(x: int) -> tuple[int, int]:
        return (2, of[x][0]) if x in of else (0, 0) if x in constants else (1, x)

    a, b = s.operands[:2]
    return [b, a, *s.operands[2:]] if rank(b) < rank(a) else list(s.operands)


def reads(loop: Loop) -> set[int]:
    """Return the values that a loop reads from outside: initial values, and free variables of its body."""
    operations, loops = walk(loop.body), [loop, *all_loops(loop.body)]
    inside = {o.result for o in operations}
    read = {x for o in operations for x in o.operands}
    for s in loops:
        inside.update((*s.params, s.counter, s.node))  # type: ignore[arg-type]
        read.update((*s.initial, *s.results, *s.saves))
    return (read - inside).union(loop.initial)
