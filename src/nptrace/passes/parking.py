"""Parking: store values that exceed the registers of a GPU thread in the shared memory of its block.

A compiler would spill them to local memory, whose bandwidth thousands of threads exhaust: a kernel with a kilobyte of
it per thread takes twice as long. Shared memory is as fast as a cache, and holds 200 numbers for each of 256 threads.

The statements are ordered from the end, always taking the one that leaves the fewest live values (list scheduling for
register pressure); when there are too many, the value with the furthest next reader leaves the registers (Belady 1966).
Results are unchanged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush

from nptrace.ir.program import Program
from nptrace.ir.statements import Loop, Operation, Statement, all_loops, walk


def parked(program: Program, registers: int) -> Program:
    """Return a program with at most ``registers`` live values at any point, apart from parked ones.

    Its operations ``park`` (store a value in a slot) and ``fetch`` (load it) are for ``codegen.cuda``. A program with
    loops or wide values, or one that needs no slots, is returned unchanged.
    """
    if program.wide or all_loops(program.body):
        return program
    body, outputs = _Parking(_ordered(program), program.outputs, registers).run()
    constants = [s for s in program.body if isinstance(s, Operation) and s.op == "const"]
    return replace(program, body=[*constants, *body], outputs=outputs) if slots(body) else program


def slots(body: Sequence[Statement]) -> int:
    """Return the number of slots per thread."""
    return 1 + max((s.detail[0] for s in walk(body) if s.op == "park"), default=-1)


def _ordered(program: Program) -> list[Operation]:
    """Return the statements except constants, in an order with few live values."""
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
        if k not in ready:  # queued again with a lower cost
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
    """A walk over the statements, with the values in registers and those parked."""

    def __init__(self, body: Sequence[Operation], outputs: Sequence[int], registers: int) -> None:
        self.body, self.outputs, self.registers = body, list(outputs), registers
        made = {s.result for s in body}
        self.uses: dict[int, list[int]] = defaultdict(list)  # by value, the last use first
        for x in made.intersection(outputs):
            self.uses[x].append(len(body))
        for k in reversed(range(len(body))):
            for x in set(body[k].operands) & made:
                self.uses[x].append(k)
        self.made = made
        self.name: dict[int, int] = {}  # current name of a value, since it was fetched
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
