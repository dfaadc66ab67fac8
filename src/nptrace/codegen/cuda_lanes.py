"""A vectorised program as CUDA C: four threads per element, one for each lane, or two of two lanes each.

Called by ``cuda.source``. A wide value is one register in each of four threads, or two in each of two: its parts;
scalar values are computed by all threads. ``extract`` is a shuffle between neighbours in a warp, ``broadcast`` a no-op,
``gather`` a selection by thread. All threads of a warp follow the same path: threads beyond the last element repeat it
and discard the result, and a loop ends early only when all threads of the warp may end it, as on SIMD lanes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import TypeVar

from nptrace.codegen.c_emitter import Body, CEmitter
from nptrace.codegen.emit import Layout, tape_size
from nptrace.errors import InputError
from nptrace.ir.graph import BOOLEAN_OPS
from nptrace.ir.program import Operation, Program, walk, without_dead_code

_Of = TypeVar("_Of")
LANES = 4  # lanes of a wide value
THREADS = (2, 4)  # per element
PRELUDE = """#define WARP 0xffffffffu
#define LANE(k, a, b, c, d) ((k) < 2 ? ((k) < 1 ? (a) : (b)) : ((k) < 3 ? (c) : (d)))
INLINE real hsum(real x)
{
"""
_SUMS = {  # over the threads of an element
    2: "    return x + __shfl_xor_sync(WARP, x, 1);\n}\n",
    4: "    x += __shfl_xor_sync(WARP, x, 1);\n    return x + __shfl_xor_sync(WARP, x, 2);\n}\n",
}
_MIRRORS: dict[int, dict[str, tuple[int, ...]]] = {  # registers of signs, by thread
    2: {"end": (1, -1)},
    4: {"side": (1, -1, 1, -1), "end": (1, 1, -1, -1), "cross": (1, -1, -1, 1)},
}
_SIGNS = {  # for signs of all threads: the register, and whether to negate it
    tuple(factor * sign > 0 for sign in signs): (name, factor < 0)
    for threads, mirrors in _MIRRORS.items()
    for name, signs in {"": (1,) * threads, **mirrors}.items()
    for factor in (1, -1)
}


def prelude(threads: int) -> str:
    return PRELUDE + _SUMS[threads]


class Split:
    """The numbers of the state that differ by lane (``fours``), and those that all threads hold (``ones``).

    ``kept`` are the values that the body returns, ``first[k]`` the position of the first part of each, ``outputs[k]``
    the index of output k among them and its lane, or None. Thread t holds lanes t n to t n + n - 1 as parts 0 to n - 1.
    """

    def __init__(self, program: Program, layout: Layout, threads: int = LANES) -> None:
        _check(program, layout, threads)
        self.threads, self.per = threads, LANES // threads
        self.fours = _wide_states(program, layout)
        self.taken = {offset: (k, lane) for k, four in enumerate(self.fours) for lane, offset in enumerate(four)}
        self.ones = [k for k in range(layout.size("state")) if k not in self.taken]
        self.advances = len(program.outputs) == layout.size("state")
        lanes = {s.result: (s.operands[0], s.detail[0]) for s in walk(program.body) if s.op == "extract"}
        by_lane = self._by_lane(program.outputs, lanes)
        self.kept: list[int] = []
        self.outputs: list[tuple[int, int | None]] = []
        for k, value in enumerate(program.outputs):
            kept, lane = lanes.get(value, (value, None)) if k in by_lane else (value, None)
            if kept not in self.kept:
                self.kept.append(kept)
            self.outputs.append((self.kept.index(kept), lane))
        sizes = [self.per if value in program.wide else 1 for value in self.kept]
        self.first = [sum(sizes[:k]) for k in range(len(sizes) + 1)]

    def place(self, lane: int) -> tuple[int, int]:
        """Return (thread that holds a lane, index of the part)."""
        return divmod(lane, self.per)

    def _by_lane(self, outputs: Sequence[int], lanes: dict[int, tuple[int, int]]) -> set[int]:
        """Return the outputs that each thread keeps for its lane; the next step reads all others in every thread."""
        if not self.advances:
            return set(range(len(outputs)))
        found: set[int] = set()
        for offsets in self.fours:
            ends = [lanes.get(outputs[k], (None, None)) for k in offsets]
            if len({value for value, _ in ends}) == 1 and [lane for _, lane in ends] == list(range(LANES)):
                found |= set(offsets)
        return found


def _check(program: Program, layout: Layout, threads: int) -> None:
    """Raise InputError for a program that the threads cannot share."""
    if threads not in THREADS or program.lanes != LANES:
        raise InputError(f"an element of {program.lanes} lanes cannot take {threads} threads: 4 lanes take 2 or 4")
    locations = layout.locations()
    if any(s.op == "lookup_input" and locations[s.detail[0]][0] == "state" for s in walk(program.body)):
        raise InputError("a table that is part of the state cannot be split among the threads of an element")


def _wide_states(program: Program, layout: Layout) -> list[tuple[int, ...]]:
    """Return offsets of four state numbers each that are only read together, one per lane."""
    locations, fours, taken = layout.locations(), list[tuple[int, ...]](), set[int]()
    for s in walk(program.body):
        if s.op == "input" and s.result in program.wide:
            at = [locations[k] for k in s.detail]
            offsets = tuple(offset for _, offset in at)
            if all(area == "state" for area, _ in at) and not taken.intersection(offsets):
                taken.update(offsets)
                fours.append(offsets)
    return fours


class LaneBody(Body):
    """Statements of a vectorised program; ``lane`` is the thread's lane."""

    forgets = True

    def __init__(self, program: Program, layout: Layout, emitter: CEmitter, split: Split) -> None:
        super().__init__(program, layout, emitter)
        self.split, self.truths, self.part = split, set[int](), 0
        self.mirrored: dict[tuple[str, float], str] = {}
        self.parts += [{} for _ in range(split.per - 1)]
        self.known_sines: list[dict[Hashable, Sequence[str]]] = [self.sines, *({} for _ in self.parts[1:])]

    def texts(self, value: int) -> list[str]:
        return [part[value] for part in self.parts] if value in self.program.wide else super().texts(value)

    def value(self, s: Operation) -> str:
        """Return the name of a result; a wide result is computed part by part."""
        first = self._one(s)
        for k in range(1, len(self.parts)):
            if s.result in self.program.wide:
                self._work_on(k)
                self.names[s.result] = self._one(s)
            else:
                self.parts[k][s.result] = first
        self._work_on(0)
        return first

    def _work_on(self, part: int) -> None:
        self.part, self.names, self.sines = part, self.parts[part], self.known_sines[part]

    def _one(self, s: Operation) -> str:
        e = self.e
        truth = s.op in BOOLEAN_OPS or (s.op in ("extract", "gather", "broadcast") and s.operands[0] in self.truths)
        if truth:
            self.truths.add(s.result)
        kind = ("int", "b") if truth else ("real", "v")
        if s.op == "broadcast":
            return self.names[s.operands[0]]
        if s.op == "extract":
            thread, part = self.split.place(s.detail[0])
            name = self.parts[part][s.operands[0]]
            return e.new(f"__shfl_sync(WARP, {name}, {thread}, {self.split.threads})", *kind)
        if s.op == "hsum":
            return e.new(f"hsum({' + '.join(self.texts(s.operands[0]))})")
        if s.op == "gather":
            return e.new(_chosen(self._mine([self.names[x] for x in s.operands])), *kind)
        if s.result in self.program.wide and s.op == "const":
            self.constants[s.result] = s.detail[0]
            return self._wide_constant(self._mine(s.detail[0]))
        if s.result in self.program.wide and s.op == "input":
            return self._wide_input([self.locations[k] for k in s.detail])
        return super().value(s)

    def _mine(self, of_lanes: Sequence[_Of]) -> Sequence[_Of]:
        """Return the values of the current part, one per thread."""
        return of_lanes[self.part :: self.split.per]

    def _wide_constant(self, values: Sequence[float]) -> str:
        """Return a constant by lane. Mirrored groups differ in sign: one register of signs serves all constants."""
        e, first = self.e, values[0]
        signs = tuple(x > 0 for x in values)
        if first == 0 or any(abs(x) != abs(first) for x in values) or signs not in _SIGNS:
            return e.new(_chosen([e.const(x) for x in values]))
        name, minus = _SIGNS[signs]
        key = name, abs(first)
        if key not in self.mirrored:
            self.mirrored[key] = e.new(f"{name} * {e.const(abs(first))}" if name else e.const(abs(first)))
        return f"(-{self.mirrored[key]})" if minus else self.mirrored[key]

    def _wide_input(self, locations: Sequence[tuple[str, int]]) -> str:
        e, offsets = self.e, tuple(offset for _, offset in locations)
        if offsets in self.split.fours and all(area == "state" for area, _ in locations):
            return f"four[{self.split.fours.index(offsets) * self.split.per + self.part}]"
        mine, area = self._mine(locations), locations[0][0]
        if area != "state" and len({a for a, _ in locations}) == 1:
            return e.new(e.element(area, at_lane([offset for _, offset in mine])))
        return e.new(_chosen([self.load(*location) for location in mine]))

    def whole(self, operand: int, x: str, n: int) -> str:
        """Return an index; a constant that differs by lane is converted to an integer at compile time."""
        if operand not in self.program.wide or not self.is_number(operand):
            return super().whole(operand, x, n)
        clamped = [int(min(max(0.0, value), n - 1)) for value in self._mine(list(self.constants[operand]))]
        return f"({at_lane(clamped)})"

    def load(self, area: str, offset: int) -> str:
        if area != "state":
            return super().load(area, offset)
        if offset in self.split.taken:
            slot, lane = self.split.taken[offset]
            thread, part = self.split.place(lane)
            held = f"four[{slot * self.split.per + part}]"
            return self.e.new(f"__shfl_sync(WARP, {held}, {thread}, {self.split.threads})")
        return f"one[{self.split.ones.index(offset)}]"

    def stopped(self, flag: str) -> str:
        return f"__all_sync(WARP, {flag} == (real)1)"


def _chosen(values: Sequence[str]) -> str:
    """Select one of the numbers by thread, with as few selects as possible."""
    if len(set(values)) == 1:
        return values[0]
    if len(values) == 2:
        return f"lane ? {values[1]} : {values[0]}"
    a, b, c, d = values
    if (a, b) == (c, d):
        return f"lane & 1 ? {b} : {a}"
    if a == b and c == d:
        return f"lane & 2 ? {c} : {a}"
    if a == d and b == c:
        return f"(lane + 1) & 2 ? {b} : {a}"
    return f"LANE(lane, {a}, {b}, {c}, {d})"


def at_lane(offsets: Sequence[int]) -> str:
    """Return the index of the thread's number, as a linear expression where the offsets are evenly spaced."""
    step = offsets[1] - offsets[0]
    if all(b - a == step for a, b in pairwise(offsets)):
        return f"{offsets[0]} + {step} * lane"
    return _chosen([str(k) for k in offsets])


def body(program: Program, layout: Layout, name: str, e: CEmitter, split: Split, one_loop: bool) -> tuple[str, int]:
    """Return the device function of one step, or of all in one loop, and the loop memory per thread."""
    statements = without_dead_code(program.body, split.kept)
    program = Program(
        body=statements, outputs=split.kept, input_size=program.input_size, tables=program.tables, wide=program.wide
    )
    walked = LaneBody(program, layout, e, split)
    walked.run(statements)
    for first, value in zip(split.first, split.kept):
        for part, text in enumerate(walked.texts(value)):
            e.line(f"out[{first + part}] = {text};")
    arguments = "const real *one, const real *four, const real *rest, const real *shared, real *out, real *work"
    unused = "".join(f"    (void){a};\n" for a in ("one", "four", "rest", "shared", "work", "stride", "lane"))
    last = ", int steps" if one_loop else ""
    head = f"INLINE void {name}_body({arguments}, size_t stride, int lane{last})\n"
    signs = "".join(
        f"    const real {name} = {_chosen([f'(real){x}' for x in by_thread])};\n    (void){name};\n"
        for name, by_thread in _MIRRORS[split.threads].items()
    )
    return head + f"{{\n{unused}{signs}" + "\n".join(e.lines) + "\n}\n", tape_size(statements)


def kernels(name: str, split: Split, tape: int, one_loop: bool) -> str:
    """Return the kernels. Threads beyond the last element keep running, because shuffles need all of a warp."""
    shared = "const real *__restrict__ rest, const real *__restrict__ shared"
    ones, threads, per = split.ones, split.threads, split.per
    # every number of the state that only one thread holds: (name, location by thread)
    own = [
        (f"four[{k * per + part}]", offsets[part::per]) for k, offsets in enumerate(split.fours) for part in range(per)
    ]
    start = [
        "const size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x, stride = (size_t)elements;",
        f"const int lane = (int)(thread % {threads});",
        f"const int mine = thread / {threads} < stride;",
        f"const size_t element = mine ? thread / {threads} : stride - 1;",
        f"real one[{max(1, len(ones))}], four[{max(1, len(own))}];",
        f"real out[{max(1, split.first[-1])}], work[{max(1, tape)}];",
        *(f"one[{k}] = state[{offset} * stride + element];" for k, offset in enumerate(ones)),
        *(f"{held} = state[({at_lane(offsets)}) * stride + element];" for held, offsets in own),
        *([] if ones or own else ["(void)state;"]),
    ]
    call = f"{name}_body(one, four, rest + element, shared, out, work, stride, lane{{}});"
    stores = []
    for k, (kept, lane) in enumerate(split.outputs):
        thread, part = split.place(lane or 0)
        stores.append(f"if (mine && lane == {thread})")
        stores.append(f"    out_[{k} * stride + element] = out[{split.first[kept] + part}];")
    evaluate = _kernel(
        f"{name}_evaluate(const real *__restrict__ state, {shared}, real *__restrict__ out_, int elements)",
        [*start, call.format(", 1" if one_loop else ""), *stores],
    )
    if not split.advances:
        return evaluate

    def result(offset: int) -> str:
        """Return the expression for the next value of a number of the state, in the thread that holds it."""
        kept, lane = split.outputs[offset]
        return f"out[{split.first[kept] + split.place(lane or 0)[1]}]"

    moves = [f"one[{k}] = {result(offset)};" for k, offset in enumerate(ones)]
    moves += [f"{held} = {_chosen([result(offset) for offset in offsets])};" for held, offsets in own]
    keep = [
        "if (!mine)",
        "    return;",
        *(f"state[({at_lane(offsets)}) * stride + element] = {held};" for held, offsets in own),
        "if (lane != 0)",
        "    return;",
        *(f"state[{offset} * stride + element] = one[{k}];" for k, offset in enumerate(ones)),
    ]
    if one_loop:
        loop = [call.format(", steps"), *moves]
    else:
        step = (call.format(""), *moves)
        loop = ["#pragma unroll 1", "for (int step = 0; step < steps; ++step) {", *(f"    {x}" for x in step), "}"]
    advance = _kernel(
        f"{name}_advance(real *__restrict__ state, {shared}, int steps, int elements)", [*start, *loop, *keep]
    )
    return f"{evaluate}\n{advance}"


def _kernel(head: str, lines: Sequence[str]) -> str:
    text = "\n".join(line if line.startswith("#") else f"    {line}" for line in lines)
    return f'extern "C" __global__ void __launch_bounds__(BLOCK, 1)\n{head}\n{{\n{text}\n}}\n'
