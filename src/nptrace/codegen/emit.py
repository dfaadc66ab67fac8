"""The walk from a program to a target's text, shared by LLVM, C and CUDA.

An emitter writes one instruction of a target; a ``Walk`` translates the operations of a program into calls of the
emitter. Loops, memory and the kernel's entry points belong to the target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from nptrace._types import Operand
from nptrace.codegen import vector_math
from nptrace.codegen.emitter import Emitter
from nptrace.ir.philox import COUNTER_WORDS, LARGEST_WORD, joined
from nptrace.ir.program import Loop, Operation, Program, Statement


@dataclass(frozen=True)
class Layout:
    """The memory layout of a program's inputs, as runs of consecutive inputs: ``[(area, count), ...]``.

    "state" and "rest" hold one number per lane; "shared" is common to all lanes and blocks. ``advance`` feeds the
    outputs back into the state. (In C the areas are the arguments.)
    """

    runs: tuple[tuple[str, int], ...]

    def size(self, area: str) -> int:
        return sum(count for name, count in self.runs if name == area)

    @property
    def total(self) -> int:
        return sum(count for _, count in self.runs)

    def locations(self) -> list[tuple[str, int]]:
        """Return (area, offset in it) of every input."""
        used: Counter[str] = Counter()
        out = []
        for area, count in self.runs:
            out += [(area, used[area] + k) for k in range(count)]
            used[area] += count
        return out


def first_is_state(sizes: Sequence[int], shared: Sequence[int] = ()) -> Layout:
    """Return a layout whose first argument is the state; ``shared``: positions of arguments common to all lanes."""
    return Layout(tuple(("shared" if k in shared else "rest" if k else "state", n) for k, n in enumerate(sizes)))


def tape_size(body: Sequence[Statement]) -> int:
    """Return the memory per lane that a program needs for rows, in numbers."""
    loops = sum(s.count * len(s.saves) + tape_size(s.body) for s in body if isinstance(s, Loop))
    return loops + sum(len(s.operands) for s in body if not isinstance(s, Loop) and s.op == "rows")


class Walk:
    """A walk over the statements; ``names`` maps SSA numbers to the target's operands."""

    def __init__(self, program: Program, layout: Layout, emitter: Emitter) -> None:
        self.program, self.layout, self.e = program, layout, emitter
        self.locations = layout.locations()
        self.names: dict[Hashable, str] = {}
        self.constants: dict[int, Operand] = {}  # a tuple for a wide value
        self.tapes: dict[int, tuple[int, int]] = {}  # by loop or rows: (first number of its memory, numbers per row)
        self.tape_used = 0
        self.sines: dict[Hashable, Sequence[str]] = {}
        self.words: dict[Hashable, str] = {}  # 32-bit words, by their halves
        self.blocks: dict[Hashable, Sequence[str]] = {}  # random words, by counter and key

    def run(self, body: Sequence[Statement]) -> None:
        for s in body:
            if isinstance(s, Loop):
                if s.saves:
                    self._take(s.node, s.count, len(s.saves))
                self.loop(s)
            elif s.op == "rows":
                count, width = s.detail[0], len(s.operands) // s.detail[0]
                self._take(s.result, count, width)
                for k, x in enumerate(s.operands):
                    self.keep(self.tapes[s.result], k % width, k // width, self.names[x])
            else:
                self.names[s.result] = self.value(s)

    def _take(self, memory: int, count: int, width: int) -> None:
        self.tapes[memory] = (self.tape_used, width)
        self.tape_used += count * width

    def loop(self, loop: Loop) -> None:
        raise NotImplementedError

    def load(self, area: str, offset: int) -> str:
        raise NotImplementedError

    def saved(self, tape: tuple[int, int], slot: int, region: int) -> str:
        raise NotImplementedError

    def stored(self, tape: tuple[int, int], slot: int, row: int) -> str:
        raise NotImplementedError

    def tabled(self, table: int, column: int, region: int) -> str:
        """Return a constant of this iteration: the column of a table in the row of a loop's counter."""
        raise NotImplementedError

    def keep(self, tape: tuple[int, int], slot: int, row: int, value: str) -> None:
        """Store a number in a row."""
        raise NotImplementedError

    def value(self, s: Operation) -> str:
        e, op = self.e, s.op
        if op == "const":
            self.constants[s.result] = s.detail[0]
            return e.const(s.detail[0])
        if op == "input":
            return self.load(*self.locations[s.detail[0]])
        if op == "item":
            return self.names["item", s.operands[0], s.detail[0]]
        if op == "saved":
            return self.saved(self.tapes[s.operands[0]], *s.detail)
        if op == "stored":
            return self.stored(self.tapes[s.operands[0]], *s.detail)
        if op == "tabled":
            return self.tabled(*s.detail)
        a = [self.names[x] for x in s.operands]
        if op in ("sin", "cos"):
            key = (s.operands[0], e.scope)
            if key not in self.sines:
                self.sines[key] = e.function(vector_math.sincos, 2, *a)
            return self.sines[key][op == "cos"]
        if op in _FUNCTIONS:
            return e.function(_FUNCTIONS[op], 1, *a)[0]
        if op in ("min", "max"):
            return self.extreme(op, s.operands, a)
        if op == "random":
            return e.word_part(self.block(s.operands)[s.detail[0][0]], *s.detail[0][1:])
        if op == "lookup":
            table = s.detail[0]
            return self.kept_nan(
                s.operands, e.gather_table(table, self.flat(s.operands, a, self.program.tables[table].shape))
            )
        if op == "lookup_input":
            first, shape = s.detail
            area, offset = self.locations[first]
            return self.kept_nan(s.operands, e.gather_input(area, offset, self.flat(s.operands, a, shape)))
        return getattr(e, _METHODS.get(op, op))(*a)

    def extreme(self, op: str, operands: Sequence[int], a: list) -> str:
        """Return the minimum or maximum: NaN if either operand is NaN; a constant operand needs no guard."""
        if self.is_number(operands[0]):
            operands, a = operands[::-1], a[::-1]
        picked = (self.e.minimum if op == "min" else self.e.maximum)(*a)  # the first operand, if either is NaN
        return picked if self.is_number(operands[1]) else self.e.keep_nan(a[1], picked)

    def is_number(self, operand: int) -> bool:
        """Return whether an operand is a constant that is not NaN in any lane."""
        return operand in self.constants and not np.isnan(self.constants[operand]).any()

    def flat(self, operands: Sequence[int], position: list, shape: Sequence[int]) -> str:
        """Return the row-major index of a position, rounded down and clamped before conversion; NaN is safe."""
        e, total = self.e, ""
        for operand, x, n in zip(operands, position, shape):
            whole = self.whole(operand, x, n)
            total = whole if not total else e.index_add(e.index_scale(total, n), whole)
        return total

    def whole(self, operand: int, x: str, n: int) -> str:
        """Return one index of a position, in an axis of size n."""
        e = self.e
        return e.to_index(e.floor(e.minimum(e.maximum(e.const(0), x), e.const(n - 1))))

    def block(self, operands: Sequence[int]) -> Sequence[str]:
        """Return the four random words of a counter and a key, computed once."""
        key = (*operands, self.e.scope)
        if key not in self.blocks:
            words = [self.word(low, high) for low, high in zip(operands[::2], operands[1::2])]
            self.blocks[key] = self.e.philox(words[: COUNTER_WORDS // 2], words[COUNTER_WORDS // 2 :])
        return self.blocks[key]

    def word(self, low: int, high: int) -> str:
        """32 Return a 32-bit word from two halves, each rounded down and clamped to its range; NaN is zero."""
        e, key = self.e, (low, high, self.e.scope)
        if key not in self.words:
            if low in self.constants and high in self.constants:
                words = joined([self.constants[low], self.constants[high]])
                self.words[key] = e.word_const(int(words[0]))
            else:
                halves = [e.minimum(e.maximum(e.const(0), self.names[x]), e.const(LARGEST_WORD)) for x in (low, high)]
                self.words[key] = e.word(*halves)
        return self.words[key]

    def kept_nan(self, position: Sequence[int], value: str) -> str:
        """Return the value read, but NaN where the position is NaN."""
        for x in position:
            if not self.is_number(x):
                value = self.e.keep_nan(self.names[x], value)
        return value


_FUNCTIONS: dict[str, Callable[..., str]] = {
    "exp": vector_math.exp,
    "log": vector_math.log,
    "pow": vector_math.power,
    "atan2": vector_math.atan2,
}
_METHODS = {"and": "logic_and", "or": "logic_or", "not": "logic_not"}
