"""A large program as C functions of bounded size, so that compilation time grows linearly with the program.

The statements are cut into parts with a limited number of operations, each a separate function. A longer loop is a loop
of calls. A value computed in one part and read in another is kept in a slot of the caller's ``work``, after the memory
of the program itself; slots are reused once their value is dead. Operations and their order are unchanged, so results
are identical bit for bit.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from nptrace.codegen.c_emitter import Body, CEmitter
from nptrace.codegen.emit import Layout, tape_size
from nptrace.ir.program import Loop, Operation, Program, Statement
from nptrace.ir.statements import walk

LIMIT = 500  # operations per part: less than a second of clang -O2
_FREE = frozenset({"const", "input", "item"})
_TRUTHS = frozenset({"lt", "le", "and", "or", "not"})


@dataclass
class _Piece:
    """Statements of one function, or a large loop with the pieces of its body, with the values read and left."""

    statements: list[Statement] = field(default_factory=list)
    large: Loop | None = None
    inner: list[_Piece] = field(default_factory=list)
    reads: set[Hashable] = field(default_factory=set)
    leaves: set[Hashable] = field(default_factory=set)


class Parts(Body):
    """The body of a C function that calls the parts of a program, and the text of the parts."""

    def __init__(
        self, program: Program, layout: Layout, emitter: CEmitter, outputs: Sequence[tuple[str, int]], limit: int
    ) -> None:
        super().__init__(program, layout, emitter)
        self.limit = limit
        self.outputs = dict.fromkeys(area for area, _ in outputs)
        self.functions: list[str] = []
        self.first_slot = tape_size(program.body)
        self.slots, self.free = 0, list[int]()
        self.place: dict[Hashable, int] = {}  # slot of a value
        self.alias: dict[Hashable, Hashable] = {}
        self.inputs: dict[Hashable, int] = {}
        self.counters: dict[Hashable, str] = {}
        self.truths = {o.result for o in walk(program.body) if o.op in _TRUTHS}
        self.open: list[str] = []  # counters of the enclosing large loops
        self.run([o for o in walk(program.body) if o.op == "const"])
        self.literals = dict(self.names)
        self._link(program.body)
        self.asked: defaultdict[Hashable, list[str]] = defaultdict(list)
        for value, (area, k) in zip(program.outputs, outputs):
            self.asked[self.source(value)].append(emitter.element(area, str(k)))

    @property
    def work(self) -> int:
        """Return the memory that the functions need, in numbers; call after ``write``."""
        return self.first_slot + self.slots

    def write(self) -> None:
        """Write all parts, and the calls of them."""
        self._region(self._pieces(self.program.body), (), lambda: None)
        for key in list(self.asked):  # constants and inputs
            self._give(key, self._text(key))

    # -- locations of values -------------------------------------------------------------------------------------------
    def _large(self, s: Statement) -> bool:
        return isinstance(s, Loop) and _operations(s) > self.limit

    def _link(self, body: Sequence[Statement]) -> None:
        """Find aliases: results of loops, and values that a large loop never changes."""
        for s in body:
            if isinstance(s, Operation):
                if s.op == "item":
                    self.alias[s.result] = ("item", s.operands[0], s.detail[0])
                elif s.op == "input":
                    self.inputs[s.result] = s.detail[0]
            elif self._large(s):
                for k, (p, start, result) in enumerate(zip(s.params, s.initial, s.results)):
                    carried = ("item", s.node, k)
                    self.alias[p] = carried
                    if p == result:
                        self.alias[carried] = start
                self._link(s.body)

    def source(self, value: Hashable) -> Hashable:
        while value in self.alias:
            value = self.alias[value]
        return value

    def _moving(self, loop: Loop) -> list[tuple[Hashable, int, int]]:
        """Return (value, first value, next value) of every carry that a large loop changes."""
        return [
            (("item", loop.node, k), start, result)
            for k, (p, start, result) in enumerate(zip(loop.params, loop.initial, loop.results))
            if p != result
        ]

    def _pieces(self, body: Sequence[Statement]) -> list[_Piece]:
        pieces, room = [_Piece()], self.limit
        for s in body:
            if isinstance(s, Operation) and s.op in _FREE:
                continue
            if self._large(s):
                assert isinstance(s, Loop)
                moving, inner = self._moving(s), self._pieces(s.body)
                reads = {self.source(x) for _, first, after in moving for x in (first, after)}
                reads |= {self.source(x) for x in s.saves}
                reads |= set().union(*(piece.reads for piece in inner)) if inner else set()
                if s.stop is not None:
                    reads.add(self.source(s.params[s.stop]))
                leaves = {key for key, _, _ in moving}
                pieces += [_Piece(large=s, inner=inner, reads=reads - leaves, leaves=leaves), _Piece()]
                room = self.limit
                continue
            room -= (cost := _operations(s))
            if room < 0 and pieces[-1].statements:
                pieces.append(_Piece())
                room = self.limit - cost
            pieces[-1].statements.append(s)
            pieces[-1].reads |= {self.source(x) for x in _reads(s)}
            pieces[-1].leaves |= set(_leaves(s))
        return [piece for piece in pieces if piece.statements or piece.large]

    # -- pieces in order, and the slots of values passed between them --------------------------------------------------
    def _region(self, pieces: Sequence[_Piece], ending: Sequence[Hashable], end: Callable[[], None]) -> None:
        """Write pieces, then the ending, which also reads values."""
        last: dict[Hashable, int] = {}
        for k, piece in enumerate(pieces):
            last.update(dict.fromkeys(piece.reads, k))
        last.update(dict.fromkeys(ending, len(pieces)))
        over: defaultdict[int, list[Hashable]] = defaultdict(list)  # values that are dead after a piece
        for k, piece in enumerate(pieces):
            for key in sorted(piece.leaves, key=repr):
                if piece.large or last.get(key, -1) > k:
                    self.place[key] = self.free.pop() if self.free else self._fresh()
                    over[max(k, last.get(key, -1))].append(key)
            if piece.large:
                self._large_loop(piece.large, piece.inner)
            else:
                self._part(piece)
            self.free += [self.place.pop(key) for key in over[k]]
        end()
        self.free += [self.place.pop(key) for key in over[len(pieces)]]

    def _fresh(self) -> int:
        self.slots += 1
        return self.slots - 1

    def _slot(self, key: Hashable) -> str:
        return f"work[{self.first_slot + self.place[key]}]"

    def _text(self, value: Hashable) -> str:
        """Return the expression of a value outside of any part."""
        key = self.source(value)
        if key in self.literals:
            return self.literals[key]
        if key in self.inputs:
            area, offset = self.locations[self.inputs[key]]
            return self.e.element(area, str(offset))
        return f"(real){self.counters[key]}" if key in self.counters else self._slot(key)

    def _give(self, key: Hashable, text: str) -> None:
        for target in self.asked.pop(key, ()):
            self.e.line(f"{target} = {text};")

    def _large_loop(self, loop: Loop, inner: Sequence[_Piece]) -> None:
        """Write a loop of calls; its carry is kept in slots from the first iteration to the last reader."""
        e, moving = self.e, self._moving(loop)
        self.loops += 1
        index = self.indices[loop.region] = f"n{self.loops}"
        if loop.saves:
            self._take(loop.node, loop.count, len(loop.saves))
        for key, first, _ in moving:
            e.line(f"{self._slot(key)} = {self._text(first)};")
        order = f"{index} = {loop.count - 1}; {index} >= 0; --{index}"
        if not loop.reverse:
            order = f"{index} = 0; {index} < {loop.count}; ++{index}"
        e.line(f"for (int {order}) {{")
        e.depth += 1
        self.open.append(index)
        if loop.stop is not None:
            e.line(f"if ({self.stopped(self._text(loop.params[loop.stop]))}) break;")
        if loop.counter is not None:
            self.counters[loop.counter] = index

        def end() -> None:
            for slot, x in enumerate(loop.saves):
                e.line(f"{self._tape(self.tapes[loop.node], slot, index)} = {self._text(x)};")
            carried = {self.source(key) for key, _, _ in moving}  # read before any of them is written
            after = [e.new(self._text(x)) if self.source(x) in carried else self._text(x) for _, _, x in moving]
            for (key, _, _), text in zip(moving, after):
                e.line(f"{self._slot(key)} = {text};")

        self._region(inner, [self.source(x) for x in (*(x for _, _, x in moving), *loop.saves)], end)
        self.open.pop()
        e.depth -= 1
        e.line("}")
        for key, _, _ in moving:
            self._give(key, self._slot(key))

    # -- one part ------------------------------------------------------------------------------------------------------
    def _part(self, piece: _Piece) -> None:
        """Write a function of some statements, and its call."""
        e, name = self.e, f"{self.e.prefix}part{len(self.functions) + 1}"
        outside, self.names = (e.lines, e.depth, e.scope), dict(self.literals)
        self.parts = [self.names]
        e.lines, e.depth, e.scope = [], 1, name
        for s in piece.statements:
            for value in sorted(set(_reads(s)), key=repr):
                self._fetch(value)
            self.run([s])
            for key in _leaves(s):
                if key in self.place:
                    e.line(f"{self._slot(key)} = {self._number(key)};")
                self._give(key, self.names[key])
        lines = e.lines
        e.lines, e.depth, e.scope = outside
        text = "\n".join(lines)
        counters = [n for n in self.open if re.search(rf"\b{n}\b", text)]
        areas = dict.fromkeys([*(area for area, _ in self.layout.runs), *self.outputs, "work"])
        used = [area for area in areas if re.search(rf"\b{area}\[", text)]
        kinds = {area: "const real *const" for area, _ in self.layout.runs}
        heads = [f"    {kinds.get(area, 'real *const')} {area} = arrays->{area};" for area in used]
        given = "".join(f", int {n}" for n in counters)
        self.functions.append(
            f"PART void {name}(const struct {e.prefix}arrays *arrays{given})\n{{\n"
            + "\n".join([*heads, *([] if used else ["    (void)arrays;"]), text])
            + "\n}\n"
        )
        e.line(f"{name}({', '.join(['&arrays', *counters])});")

    def _number(self, key: Hashable) -> str:
        return f"(real){self.names[key]}" if key in self.truths else self.names[key]

    def _fetch(self, value: Hashable) -> None:
        """Load a value from another part into a local variable, before its first reader."""
        if value in self.names:
            return
        key = self.source(value)
        if key not in self.names:
            if key in self.truths:
                self.names[key] = self.e.new(f"{self._slot(key)} != (real)0", "int", "b")
            else:
                self.names[key] = self.e.new(self._text(key))
        self.names[value] = self.names[key]


def _operations(s: Statement) -> int:
    return sum(map(_operations, s.body)) if isinstance(s, Loop) else s.op not in _FREE


def operations(body: Sequence[Statement]) -> int:
    """Count the operations in the text of some statements, loop bodies once."""
    return sum(map(_operations, body))


def _reads(s: Statement) -> Iterator[Hashable]:
    """Return the outside values that a statement reads, constants included."""
    if isinstance(s, Operation):
        if s.op == "item":
            yield ("item", s.operands[0], s.detail[0])
        elif s.op not in ("saved", "stored"):
            yield from s.operands
        return
    own: set[Hashable] = {*s.params, s.counter}
    for inner in s.body:
        own |= {inner.result} if isinstance(inner, Operation) else set(_leaves(inner))
    read = [*s.results, *s.saves, *(x for inner in s.body for x in _reads(inner))]
    yield from s.initial
    yield from (x for x in read if x not in own)


def _leaves(s: Statement) -> list[Hashable]:
    """Return the values that later statements may read."""
    if isinstance(s, Operation):
        return [] if s.op == "rows" else [s.result]
    return [("item", s.node, k) for k in range(len(s.params))]
