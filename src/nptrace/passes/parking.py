"""Values that do not fit the registers of a GPU's thread, parked in the memory that its block shares.

A compiler puts them into local memory, which thousands of threads do not share well: a kernel with a kilobyte of it a
thread takes twice as long. The memory of a block is as near as a cache, and holds 200 numbers for each of 256 threads.

The statements are ordered from the end, each time the one that leaves fewest values alive (list scheduling for register
pressure); then a value leaves the registers when there are too many, the one whose next reader is furthest away (Belady
1966). Every number is what it was: only its place changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush

from nptrace.ir.program import Program
from nptrace.ir.statements import Loop, Operation, Statement, all_loops, walk


def parked(program: Program, registers: int) -> Program:
    """Return a program of which no more than ``registers`` values are alive at once, but for those that are parked.

    Its operations ``park`` (a value, into a slot) and ``fetch`` (out of it) are for ``codegen.cuda``. A program with
    loops, or with wide values, or one that needs no slots, is returned as it is.
    """
    if program.wide or all_loops(program.body):
        return program
    body, outputs = _Parking(_ordered(program), program.outputs, registers).run()
    constants = [s for s in program.body if isinstance(s, Operation) and s.op == "const"]
    return replace(program, body=[*constants, *body], outputs=outputs) if slots(body) else program


def slots(body: Sequence[Statement]) -> int:
    """Return how many numbers a thread parks at once."""
    return 1 + max((s.detail[0] for s in walk(body) if s.op == "park"), default=-1)


def _ordered(program: Program) -> list[Operation]:
    """The statements but for constants, in an order in which few values are alive at once."""
    constants = {s.result for s in walk(program.body) if s.op == "const"}
    body = [s for s in program.body if not isinstance(s, Loop) and s.op != "const"]
    position = {s.result: k for k, s in enumerate(body)}
    reads = [{x for x in s.operands if x not in constants} for s in body]
    readers: dict[int, list[int]] = defaultdict(list)
    for k, values in enumerate(reads):
        for x in values:
            readers[x].append(k)
    left = {s.result: len(readers[s.result]) for s in body}
    alive = {x for x in program.outputs if x not in constants}
    ready = {k for k, s in enumerate(body) if not left[s.result]}
    heap: list[tuple[int, int]] = []

    def offer(k: int) -> None:
        heappush(heap, (len(reads[k] - alive) - (body[k].result in alive), -k))

    for k in ready:
        offer(k)
    out: list[Operation] = []
    while heap:
        k = -heappop(heap)[1]
        if k not in ready:  # offered again since, when it was cheaper
            continue
        ready.discard(k)
        out.append(body[k])
        alive.discard(body[k].result)
        for x in sorted(reads[k]):
            if x not in alive:
                alive.add(x)
                for reader in readers[x]:
                    if reader in ready:
                        offer(reader)
            left[x] -= 1
            if not left[x]:
                ready.add(position[x])
                offer(position[x])
    return out[::-1]


class _Parking:
    """The walk over the statements, with what is in registers and what is parked."""

    def __init__(self, body: Sequence[Operation], outputs: Sequence[int], registers: int) -> None:
        self.body, self.outputs, self.registers = body, list(outputs), registers
        made = {s.result for s in body}
        self.uses: dict[int, list[int]] = defaultdict(list)  # of a value, the last first
        for x in made.intersection(outputs):
            self.uses[x].append(len(body))
        for k in reversed(range(len(body))):
            for x in set(body[k].operands) & made:
                self.uses[x].append(k)
        self.made = made
        self.name: dict[int, int] = {}  # of a value since it was fetched
        self.held: set[int] = set()
        self.slot: dict[int, int] = {}
        self.free: list[int] = []
        self.count = 0
        self.fresh = 1 + max((x for s in body for x in (s.result, *s.operands)), default=0)
        self.fresh = max(self.fresh, 1 + max(outputs, default=0))
        self.out: list[Statement] = []

    def run(self) -> tuple[list[Statement], list[int]]:
        for k, s in enumerate(self.body):
            read = [x for x in dict.fromkeys(s.operands) if x in self.made]
            for x in read:
                self._hold(x)
            self.out.append(replace(s, operands=tuple(self.name.get(x, x) for x in s.operands)))
            for x in read:
                while self.uses[x] and self.uses[x][-1] <= k:
                    self.uses[x].pop()
                if not self.uses[x]:
                    self.held.discard(x)
                    if x in self.slot:
                        self.free.append(self.slot.pop(x))
            if self.uses[s.result]:
                self.held.add(s.result)
            while len(self.held) > self.registers:
                self._park(max(self.held, key=lambda x: (self.uses[x][-1], x)))
        for x in dict.fromkeys(self.outputs):
            if x in self.made:
                self._hold(x)
        return self.out, [self.name.get(x, x) for x in self.outputs]

    def _hold(self, x: int) -> None:
        if x not in self.held:
            self.name[x] = self.fresh
            self.out.append(Operation("fetch", self.fresh, (), (self.slot[x],)))
            self.fresh += 1
            self.held.add(x)

    def _park(self, x: int) -> None:
        self.held.discard(x)
        if x in self.slot:
            return
        if not self.free:
            self.free.append(self.count)
            self.count += 1
        self.slot[x] = self.free.pop()
        self.out.append(Operation("park", self.fresh, (self.name.get(x, x),), (self.slot[x],)))
        self.fresh += 1
