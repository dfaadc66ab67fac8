"""Emit a program as LLVM IR for any number type and lane width. Nothing here runs.

The module has three entry points, all over blocks of lanes laid out as (scalar, lane): the state of an element is a
column.

``nptrace_evaluate(state, rest, shared, out, work, blocks)`` calls the kernel on every block;
``nptrace_advance(state, rest, shared, work, blocks, steps)`` feeds the outputs back into the state;
``nptrace_roll(state, rest, shared, out, record, work, blocks, steps, every)`` feeds back the leading outputs and stores
all outputs of every ``every``-th step in ``record``, laid out as (block, row, scalar, lane). The kernel of a program
with the operation ``steps`` contains the step loop; any other is called once per step. ``work`` is memory of the
caller, ``workspace(...)`` numbers: the rows of loops and two sets of outputs. All pointers are aligned to 64 bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from numpy.typing import DTypeLike

from nptrace.codegen.emit import Layout, Walk, tape_size
from nptrace.codegen.llvm_emitter import LLVMEmitter, WideEmitter
from nptrace.ir.graph import BOOLEAN_OPS
from nptrace.ir.program import Loop, Operation, Program

# never "step": it clashes with an old libc symbol
EVALUATE, ADVANCE, ROLL = "nptrace_evaluate", "nptrace_advance", "nptrace_roll"
LONGEST_BLOCK = 500  # lines; the time of LLVM's schedulers grows with the square of a block's loads and stores
AREAS = "ptr noalias %state, ptr noalias %rest, ptr noalias %shared"


def module(
    program: Program, layout: Layout, dtype: DTypeLike, lanes: int, *, fused: bool = True, arch: str = "x86_64"
) -> str:
    """Return the IR text of a whole program.

    fused: whether the processor has a fused multiply-add. arch: decides how denormals are flushed (x86_64, aarch64;
    otherwise not at all).
    """
    e = LLVMEmitter(dtype, lanes, fused, extremes=arch == "aarch64")
    kernel = _Kernel(program, layout, e).text()
    out = len(program.outputs)
    drivers = _evaluate(e, layout, out, arch)
    if out == layout.size("state"):
        makes_steps = any(isinstance(s, Operation) and s.op == "steps" for s in program.body)
        drivers += (_advance_all if makes_steps else _advance)(e, layout, arch)
    if 0 < layout.size("state") <= out:
        drivers += _roll(e, layout, out, arch)
    drivers += "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    return "\n".join([*_tables(program, e), *sorted(e.intrinsics), _FLUSH.get(arch, _NO_FLUSH)[2], kernel, drivers])


def workspace(program: Program, layout: Layout, lanes: int) -> int:
    """Return the working memory that the entry points need, in numbers."""
    return (2 * _scratch(layout, len(program.outputs)) + tape_size(program.body)) * lanes


def _scratch(layout: Layout, out: int) -> int:
    return max(layout.size("state"), out)


def _tables(program: Program, e: LLVMEmitter) -> Iterator[str]:
    for k, table in enumerate(program.tables):
        values = ", ".join(f"{e.scalar} {e.literal(x)}" for x in table.ravel())
        yield f"@table{k} = internal constant [{table.size} x {e.scalar}] [{values}], align 64"


class _Kernel(Walk):
    """The body of one block; a loop becomes blocks with phis."""

    e: LLVMEmitter

    def __init__(self, program: Program, layout: Layout, emitter: LLVMEmitter) -> None:
        super().__init__(program, layout, emitter)
        self.indices: dict[int, str] = {}
        self.row_of: dict[int, tuple[str, int]] = {}  # by counter: the iteration as an integer, the count
        self.labels = self.block_began = 0
        self.wide = WideEmitter(f"f{emitter.bits // 8}", program.lanes, emitter)
        self.truths: set[int] = set()
        self.locations_of: dict[int, list[int]] = defaultdict(list)  # positions of outputs, by value
        for k, output in enumerate(program.outputs):
            self.locations_of[output].append(k)
        self.handed_out: dict[int, list[Operation]] = defaultdict(list)  # lanes that are outputs, by wide value
        for s in program.body:
            if isinstance(s, Operation) and s.op == "extract" and s.result in self.locations_of:
                self.handed_out[s.operands[0]].append(s)

    def text(self) -> str:
        e = self.e
        e.lines.append("%never = icmp eq ptr %out, null")
        self.clear()
        for s in self.program.body:
            self.run([s])
            if isinstance(s, Operation):
                self.hand_out(s)
        # Without alignstack spilled 512-bit vectors straddle cache lines: 1.4 to 1.6 times slower.
        return (
            f"define internal void @kernel({AREAS}, ptr noalias %out, ptr noalias %tape, i64 %steps) noinline"
            f" alignstack(64) {(self.wide if self.program.wide else e).attributes} {{\nentry:\n"
            + "\n".join(e.lines)
            + "\nret void\nnowhere:\nret void\n}"
        )

    def hand_out(self, s: Operation) -> None:
        """Write outputs as soon as they are known: keeping the hundreds of a Jacobian alive would waste registers."""
        for k in self.locations_of.pop(s.result, ()):
            self.e.store(self.names[s.result], "%out", k)
            self.cut()
        for number in self.handed_out.pop(s.result, ()):
            if number.result not in self.names:
                self.run([number])
                self.hand_out(number)

    def clear(self) -> None:
        """Write the zero outputs: a Jacobian has many, in long runs."""
        zeros = {s.result for s in self.program.body if isinstance(s, Operation) and repr(s.detail) == "(0.0,)"}
        locations = sorted(k for zero in zeros for k in self.locations_of.get(zero, ()))
        if 2 * len(locations) > len(self.program.outputs):
            self.e.clear("%out", locations[0], locations[-1] + 1 - locations[0])
            for zero in zeros:
                self.locations_of.pop(zero, None)

    def cut(self) -> None:
        """End a long block. The branch is never taken, since ``out`` is never null, but LLVM cannot know that."""
        e = self.e
        if len(e.lines) - self.block_began > LONGEST_BLOCK:
            self.labels += 1
            e.lines.append(f"br i1 %never, label %nowhere, label %cut{self.labels}")
            e.begin_block(f"cut{self.labels}", e.scope)
            self.block_began = len(e.lines)

    def value(self, s: Operation) -> str:
        self.cut()
        if s.op == "extract" and s.result in self.names:
            return self.names[s.result]
        if s.op == "steps":
            return self.e.steps()
        if s.op == "lookup_input" and (row := self._of_row(s)) is not None:
            return row
        if not self.program.wide:
            return super().value(s)
        moved = s.op in ("extract", "gather", "broadcast", "permute")
        truth = s.op in BOOLEAN_OPS or (moved and s.operands[0] in self.truths)
        if truth:
            self.truths.add(s.result)
        if s.op == "extract":
            return self.wide.extract(self.names[s.operands[0]], s.detail[0], truth)
        if s.op == "hsum":
            return self.wide.hsum(self.names[s.operands[0]])
        if s.result not in self.program.wide:
            return super().value(s)
        narrow, self.e = self.e, self.wide
        self.wide.scope = narrow.scope
        try:
            return self._wide_value(s, truth)
        finally:
            self.e = narrow

    def _of_row(self, s: Operation) -> str | None:
        """Return an input of the current row of a loop, without a lookup's guards; None for any other lookup."""
        first, shape = s.detail
        counter, count = self.row_of.get(s.operands[0], ("", 0))
        if len(shape) != 2 or not 0 < count <= shape[0] or s.result in self.program.wide:
            return None
        slot = self.constants.get(s.operands[1], -1.0)
        if slot != int(slot) or not 0 <= slot < shape[1]:
            return None
        area, offset = self.locations[first]
        return self.load(area, self._tape_index((offset, shape[1]), int(slot), counter))

    def _wide_value(self, s: Operation, truth: bool) -> str:
        if s.op == "input":
            return self.wide.load_each([self.locations[k] for k in s.detail])
        if s.op == "gather":
            return self.wide.gather([self.names[x] for x in s.operands], truth)
        if s.op == "broadcast":
            return self.wide.broadcast(self.names[s.operands[0]], truth)
        if s.op == "permute":
            return self.wide.permute(self.names[s.operands[0]], s.detail, truth)
        return super().value(s)

    def extreme(self, op: str, operands: Sequence[int], a: list) -> str:
        if self.e.extremes:
            return self.e.call("minimum" if op == "min" else "maximum", *a)
        return super().extreme(op, operands, a)

    def load(self, area: str, offset: int | str) -> str:
        return (self.e.load_shared if area == "shared" else self.e.load)(f"%{area}", offset)

    def saved(self, tape: tuple[int, int], slot: int, region: int) -> str:
        return self.e.load("%tape", self._tape_index(tape, slot, self.indices[region]))

    def stored(self, tape: tuple[int, int], slot: int, row: int) -> str:
        return self.e.load("%tape", tape[0] + slot + row * tape[1])

    def keep(self, tape: tuple[int, int], slot: int, row: int, value: str) -> None:
        self.e.store(value, "%tape", tape[0] + slot + row * tape[1])
        self.cut()

    def _tape_index(self, tape: tuple[int, int], slot: int, counter: str) -> str:
        index = self.e.new(f"mul i64 {counter}, {tape[1]}")
        return self.e.new(f"add i64 {index}, {tape[0] + slot}")

    def _type(self, value: int) -> str:
        return self.wide.type if value in self.program.wide else self.e.type

    def loop(self, loop: Loop) -> None:
        e, names = self.e, self.names
        self.labels += 1
        label = self.labels
        top, end, before = f"loop{label}", f"done{label}", e.label
        initial = [names[x] for x in loop.initial]
        may_skip = loop.stop is not None and initial[loop.stop] != e.const(0)
        if may_skip:
            assert loop.stop is not None
            begins = e.any(e.compare("une", initial[loop.stop], e.const(1)))
            e.lines.append(f"br i1 {begins}, label %{top}, label %{end}")
        else:
            e.lines.append(f"br label %{top}")
        e.begin_block(top, top)
        self.block_began = len(e.lines)
        phis = len(e.lines)
        counter, following = f"%turn{label}", f"%next{label}"
        for k, p in enumerate(loop.params):
            names[p] = f"%carry{label}_{k}"
        at = self.indices[loop.region] = e.new(f"sub i64 {loop.count - 1}, {counter}") if loop.reverse else counter
        if loop.counter is not None:
            self.row_of[loop.counter] = at, loop.count
            names[loop.counter] = e.splat(e.new(f"sitofp i64 {at} to {e.scalar}"))
        self.run(loop.body)
        for slot, x in enumerate(loop.saves):
            e.store(names[x], "%tape", self._tape_index(self.tapes[loop.node], slot, at))
            self.cut()
        results, last = [names[x] for x in loop.results], e.label
        e.lines.append(f"{following} = add i64 {counter}, 1")
        again = e.new(f"icmp slt i64 {following}, {loop.count}")
        if loop.stop is not None:
            again = e.new(f"and i1 {again}, {e.any(e.compare('une', results[loop.stop], e.const(1)))}")
        e.lines.append(f"br i1 {again}, label %{top}, label %{end}")
        e.lines[phis:phis] = [f"{counter} = phi i64 [ 0, %{before} ], [ {following}, %{last} ]"] + [
            f"{names[p]} = phi {self._type(p)} [ {start}, %{before} ], [ {result}, %{last} ]"
            for p, start, result in zip(loop.params, initial, results)
        ]
        e.begin_block(end, end)
        self.block_began = len(e.lines)
        for k, (p, start, result) in enumerate(zip(loop.params, initial, results)):
            if may_skip:
                result = e.new(f"phi {self._type(p)} [ {start}, %{before} ], [ {result}, %{last} ]")
            names["item", loop.node, k] = result


# (set, restore, declare): denormals are flushed inside the entry points, and the caller's mode is restored
_NO_FLUSH = ("", "", "")
_FLUSH = {
    "x86_64": (
        """%old = alloca i32
  %new = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %old)
  %m0 = load i32, ptr %old
  %m1 = or i32 %m0, 32832
  store i32 %m1, ptr %new
  call void @llvm.x86.sse.ldmxcsr(ptr %new)""",
        "call void @llvm.x86.sse.ldmxcsr(ptr %old)",
        "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)",
    ),
    "aarch64": (
        """%old = call i64 @llvm.aarch64.get.fpcr()
  %new = or i64 %old, 16777216
  call void @llvm.aarch64.set.fpcr(i64 %new)""",
        "call void @llvm.aarch64.set.fpcr(i64 %old)",
        "declare i64 @llvm.aarch64.get.fpcr()\ndeclare void @llvm.aarch64.set.fpcr(i64)",
    ),
}


def _evaluate(e: LLVMEmitter, layout: Layout, out: int, arch: str) -> str:
    v, (setup, restore, _) = e.type, _FLUSH.get(arch, _NO_FLUSH)
    return f"""
define void @{EVALUATE}({AREAS}, ptr noalias %out, ptr noalias %work, i64 %blocks) {e.attributes} {{
entry:
  {setup}
  %tape = getelementptr {v}, ptr %work, i64 {2 * _scratch(layout, out)}
  br label %top
top:
  %b = phi i64 [ 0, %entry ], [ %b2, %top ]
  %i0 = mul i64 %b, {layout.size("state")}
  %i1 = mul i64 %b, {layout.size("rest")}
  %i2 = mul i64 %b, {out}
  %p0 = getelementptr {v}, ptr %state, i64 %i0
  %p1 = getelementptr {v}, ptr %rest, i64 %i1
  %p2 = getelementptr {v}, ptr %out, i64 %i2
  call void @kernel(ptr %p0, ptr %p1, ptr %shared, ptr %p2, ptr %tape, i64 1)
  %b2 = add i64 %b, 1
  %more = icmp slt i64 %b2, %blocks
  br i1 %more, label %top, label %end
end:
  {restore}
  ret void
}}
"""


def _advance(e: LLVMEmitter, layout: Layout, arch: str) -> str:
    v, a, (setup, restore, _) = e.type, e.align, _FLUSH.get(arch, _NO_FLUSH)
    state = layout.size("state")
    copy = "call void @llvm.memcpy.p0.p0.i64"
    return f"""
define void @{ADVANCE}({AREAS}, ptr noalias %work, i64 %blocks, i64 %steps) {e.attributes} {{
entry:
  {setup}
  %s1 = getelementptr {v}, ptr %work, i64 {state}
  %tape = getelementptr {v}, ptr %work, i64 {2 * state}
  br label %outer
outer:
  %b = phi i64 [ 0, %entry ], [ %b2, %done ]
  %i0 = mul i64 %b, {state}
  %i1 = mul i64 %b, {layout.size("rest")}
  %p0 = getelementptr {v}, ptr %state, i64 %i0
  %p1 = getelementptr {v}, ptr %rest, i64 %i1
  {copy}(ptr align {a} %work, ptr align {a} %p0, i64 {state * e.bytes}, i1 false)
  br label %inner
inner:
  %k = phi i64 [ 0, %outer ], [ %k2, %inner ]
  %x = phi ptr [ %work, %outer ], [ %y, %inner ]
  %y = phi ptr [ %s1, %outer ], [ %x, %inner ]
  call void @kernel(ptr %x, ptr %p1, ptr %shared, ptr %y, ptr %tape, i64 1)
  %k2 = add i64 %k, 1
  %more = icmp slt i64 %k2, %steps
  br i1 %more, label %inner, label %done
done:
  {copy}(ptr align {a} %p0, ptr align {a} %y, i64 {state * e.bytes}, i1 false)
  %b2 = add i64 %b, 1
  %again = icmp slt i64 %b2, %blocks
  br i1 %again, label %outer, label %end
end:
  {restore}
  ret void
}}
"""


def _advance_all(e: LLVMEmitter, layout: Layout, arch: str) -> str:
    """Return ``nptrace_advance`` for a kernel that contains the step loop."""
    v, a, (setup, restore, _) = e.type, e.align, _FLUSH.get(arch, _NO_FLUSH)
    state = layout.size("state")
    return f"""
define void @{ADVANCE}({AREAS}, ptr noalias %work, i64 %blocks, i64 %steps) {e.attributes} {{
entry:
  {setup}
  %tape = getelementptr {v}, ptr %work, i64 {2 * state}
  br label %outer
outer:
  %b = phi i64 [ 0, %entry ], [ %b2, %outer ]
  %i0 = mul i64 %b, {state}
  %i1 = mul i64 %b, {layout.size("rest")}
  %p0 = getelementptr {v}, ptr %state, i64 %i0
  %p1 = getelementptr {v}, ptr %rest, i64 %i1
  call void @llvm.memcpy.p0.p0.i64(ptr align {a} %work, ptr align {a} %p0, i64 {state * e.bytes}, i1 false)
  call void @kernel(ptr %work, ptr %p1, ptr %shared, ptr %p0, ptr %tape, i64 %steps)
  %b2 = add i64 %b, 1
  %again = icmp slt i64 %b2, %blocks
  br i1 %again, label %outer, label %end
end:
  {restore}
  ret void
}}
"""


def _roll(e: LLVMEmitter, layout: Layout, out: int, arch: str) -> str:
    v, a, (setup, restore, _) = e.type, e.align, _FLUSH.get(arch, _NO_FLUSH)
    state, scratch = layout.size("state"), _scratch(layout, out)
    copy = f"call void @llvm.memcpy.p0.p0.i64(ptr align {a}"
    return f"""
define void @{ROLL}({AREAS}, ptr noalias %out, ptr noalias %record, ptr noalias %work, i64 %blocks, i64 %steps,
                    i64 %every) {e.attributes} {{
entry:
  {setup}
  %s1 = getelementptr {v}, ptr %work, i64 {scratch}
  %tape = getelementptr {v}, ptr %work, i64 {2 * scratch}
  br label %outer
outer:
  %b = phi i64 [ 0, %entry ], [ %b2, %done ]
  %r0 = phi ptr [ %record, %entry ], [ %r2, %done ]
  %i0 = mul i64 %b, {state}
  %i1 = mul i64 %b, {layout.size("rest")}
  %i2 = mul i64 %b, {out}
  %p0 = getelementptr {v}, ptr %state, i64 %i0
  %p1 = getelementptr {v}, ptr %rest, i64 %i1
  %p2 = getelementptr {v}, ptr %out, i64 %i2
  {copy} %work, ptr align {a} %p0, i64 {state * e.bytes}, i1 false)
  br label %inner
inner:
  %k = phi i64 [ 0, %outer ], [ %k2, %next ]
  %left = phi i64 [ %every, %outer ], [ %left3, %next ]
  %row = phi ptr [ %r0, %outer ], [ %r2, %next ]
  %x = phi ptr [ %work, %outer ], [ %y, %next ]
  %y = phi ptr [ %s1, %outer ], [ %x, %next ]
  call void @kernel(ptr %x, ptr %p1, ptr %shared, ptr %y, ptr %tape, i64 1)
  %left2 = sub i64 %left, 1
  %due = icmp eq i64 %left2, 0
  br i1 %due, label %keep, label %next
keep:
  {copy} %row, ptr align {a} %y, i64 {out * e.bytes}, i1 false)
  %after = getelementptr {v}, ptr %row, i64 {out}
  br label %next
next:
  %left3 = phi i64 [ %left2, %inner ], [ %every, %keep ]
  %r2 = phi ptr [ %row, %inner ], [ %after, %keep ]
  %k2 = add i64 %k, 1
  %more = icmp slt i64 %k2, %steps
  br i1 %more, label %inner, label %done
done:
  {copy} %p0, ptr align {a} %y, i64 {state * e.bytes}, i1 false)
  {copy} %p2, ptr align {a} %y, i64 {out * e.bytes}, i1 false)
  %b2 = add i64 %b, 1
  %again = icmp slt i64 %b2, %blocks
  br i1 %again, label %outer, label %end
end:
  {restore}
  ret void
}}
"""
