"""The LLVM IR form of each instruction, for one number type and lane width."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import DTypeLike

from nptrace.ir.philox import philox


class LLVMEmitter:
    """Lines of IR and fresh names; the interface that ``emit`` and ``vector_math`` are written against."""

    def __init__(self, dtype: DTypeLike, lanes: int, fused: bool = True, extremes: bool = False) -> None:
        self.bits = np.dtype(dtype).itemsize * 8
        # extremes: the processor has a minimum and maximum that propagate NaN. x86 lacks them: there the intrinsic
        # takes six instructions, a compare-and-select with a guard three, and one where an operand is a constant
        self.lanes, self.fused, self.extremes = lanes, fused, extremes
        self.scalar = "double" if self.bits == 64 else "float"
        self.integer = f"i{self.bits}"
        self.type, self.int_type = self.wide(self.scalar), self.wide(self.integer)
        self.bool_type, self.index_type = self.wide("i1"), self.wide("i32")
        self.suffix = ("" if lanes == 1 else f"v{lanes}") + f"f{self.bits}"
        self.bytes = self.bits // 8 * lanes
        self.align = min(64, self.bytes)
        self.lines: list[str] = []
        self.intrinsics: set[str] = set()
        self.count, self.letter = 0, "t"
        self.label = self.scope = "entry"  # the basic block and the loop: values computed there are visible there

    @property
    def attributes(self) -> str:
        """Return the attributes of a function: by default, LLVM splits 512-bit vectors."""
        bits = min(512, max(128, self.bytes * 8))
        return f'nounwind "min-legal-vector-width"="{bits}" "prefer-vector-width"="{bits}"'

    def wide(self, scalar: str) -> str:
        return scalar if self.lanes == 1 else f"<{self.lanes} x {scalar}>"

    def new(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"%{self.letter}{self.count} = {text}")
        return f"%{self.letter}{self.count}"

    def steps(self) -> str:
        """Return the number of steps, in every lane."""
        return self.splat(self.new(f"sitofp i64 %steps to {self.scalar}"))

    def function(self, rule: Callable, results: int, *arguments: str) -> tuple:
        """Write an elementary function in place."""
        out = rule(self, *arguments)
        return out if results > 1 else (out,)

    # -- constants -----------------------------------------------------------------------------------------------------
    def literal(self, x: float) -> str:
        if self.bits == 32:
            with np.errstate(over="ignore"):
                x = float(np.float32(x))
        return f"0x{struct.unpack('>Q', struct.pack('>d', x))[0]:016X}"

    def _all(self, kind: str, literal: str) -> str:
        return literal if self.lanes == 1 else f"splat ({kind} {literal})"

    def const(self, x: float) -> str:
        return self._all(self.scalar, self.literal(x))

    def int_const(self, x: int) -> str:
        return self._all(self.integer, str(x))

    def index_const(self, x: int) -> str:
        return self._all("i32", str(x))

    # -- numbers -------------------------------------------------------------------------------------------------------
    def _float(self, op: str, a: str, b: str) -> str:
        return self.new(f"{op} {self.type} {a}, {b}")

    def call(self, name: str, *args: str) -> str:
        types = ", ".join([self.type] * len(args))
        self.intrinsics.add(f"declare {self.type} @llvm.{name}.{self.suffix}({types})")
        return self.new(f"call {self.type} @llvm.{name}.{self.suffix}({', '.join(f'{self.type} {a}' for a in args)})")

    def add(self, a: str, b: str) -> str:
        return self._float("fadd", a, b)

    def sub(self, a: str, b: str) -> str:
        return self._float("fsub", a, b)

    def mul(self, a: str, b: str) -> str:
        return self._float("fmul", a, b)

    def div(self, a: str, b: str) -> str:
        return self._float("fdiv", a, b)

    def neg(self, a: str) -> str:
        return self.new(f"fneg {self.type} {a}")

    def inv(self, a: str) -> str:
        return self.div(self.const(1), a)

    def fma(self, a: str, b: str, c: str) -> str:
        """Return a*b + c; rounds twice without the instruction, as LLVM would call libm, a hundred times slower."""
        return self.call("fma", a, b, c) if self.fused else self.add(self.mul(a, b), c)

    def fms(self, a: str, b: str, c: str) -> str:
        return self.fma(a, b, self.neg(c)) if self.fused else self.sub(self.mul(a, b), c)

    def fnma(self, a: str, b: str, c: str) -> str:
        return self.fma(self.neg(a), b, c) if self.fused else self.sub(c, self.mul(a, b))

    def sqrt(self, a: str) -> str:
        return self.call("sqrt", a)

    def abs(self, a: str) -> str:
        return self.call("fabs", a)

    def copysign(self, a: str, b: str) -> str:
        return self.call("copysign", a, b)

    def floor(self, a: str) -> str:
        return self.call("floor", a)

    # -- truth ---------------------------------------------------------------------------------------------------------
    def compare(self, predicate: str, a: str, b: str) -> str:
        return self.new(f"fcmp {predicate} {self.type} {a}, {b}")

    def lt(self, a: str, b: str) -> str:
        return self.compare("olt", a, b)

    def le(self, a: str, b: str) -> str:
        return self.compare("ole", a, b)

    def select(self, c: str, a: str, b: str) -> str:
        return self.new(f"select {self.bool_type} {c}, {self.type} {a}, {self.type} {b}")

    def minimum(self, a: str, b: str) -> str:
        """Return the minimum; the first operand if either is NaN: exactly one instruction on x86."""
        return self.select(self.compare("olt", b, a), b, a)

    def maximum(self, a: str, b: str) -> str:
        return self.select(self.compare("ogt", b, a), b, a)

    def keep_nan(self, x: str, y: str) -> str:
        """Return y, but x where x is NaN."""
        return self.select(self.compare("uno", x, x), x, y)

    def _logic(self, op: str, a: str, b: str) -> str:
        return self.new(f"{op} {self.bool_type} {a}, {b}")

    def logic_and(self, a: str, b: str) -> str:
        return self._logic("and", a, b)

    def logic_or(self, a: str, b: str) -> str:
        return self._logic("or", a, b)

    def logic_not(self, a: str) -> str:
        return self._logic("xor", a, self._all("i1", "true"))

    def any(self, a: str) -> str:
        """Return whether a truth value holds in any lane, as one bit."""
        if self.lanes == 1:
            return a
        name = f"@llvm.vector.reduce.or.v{self.lanes}i1"
        self.intrinsics.add(f"declare i1 {name}({self.bool_type})")
        return self.new(f"call i1 {name}({self.bool_type} {a})")

    # -- bit patterns --------------------------------------------------------------------------------------------------
    def _int(self, op: str, a: str, b: str) -> str:
        return self.new(f"{op} {self.int_type} {a}, {b}")

    def as_int(self, a: str) -> str:
        return self.new(f"bitcast {self.type} {a} to {self.int_type}")

    def as_float(self, a: str) -> str:
        return self.new(f"bitcast {self.int_type} {a} to {self.type}")

    def int_add(self, a: str, b: str) -> str:
        return self._int("add", a, b)

    def int_sub(self, a: str, b: str) -> str:
        return self._int("sub", a, b)

    def shift_left(self, a: str, n: int) -> str:
        return self._int("shl", a, self.int_const(n))

    def shift_right(self, a: str, n: int) -> str:
        return self._int("ashr", a, self.int_const(n))

    def bit_set(self, a: str, bit: int) -> str:
        masked = self._int("and", a, self.int_const(bit))
        return self.new(f"icmp ne {self.int_type} {masked}, {self.int_const(0)}")

    # -- random words of 32 bits ---------------------------------------------------------------------------------------
    def _word(self, op: str, a: str, b: str) -> str:
        return self.new(f"{op} {self.index_type} {a}, {b}")

    def word(self, low: str, high: str) -> str:
        return self._word("or", self.to_index(low), self._word("shl", self.to_index(high), self.index_const(16)))

    def word_const(self, x: int) -> str:
        return self.index_const(x - (x >> 31 << 32))

    def word_product(self, a: str, factor: int) -> tuple[str, str]:
        """Return the high and low words of a 64-bit product."""
        long = self.wide("i64")
        widened = self.new(f"zext {self.index_type} {a} to {long}")
        product = self.new(f"mul {long} {widened}, {self._all('i64', str(factor))}")
        above = self.new(f"lshr {long} {product}, {self._all('i64', '32')}")
        high, low = (self.new(f"trunc {long} {x} to {self.index_type}") for x in (above, product))
        return high, low

    def word_add(self, a: str, b: int) -> str:
        return self._word("add", a, self.word_const(b))

    def word_xor(self, a: str, b: str) -> str:
        return self._word("xor", a, b)

    def word_part(self, a: str, shift: int, bits: int) -> str:
        part = self._word("lshr", a, self.index_const(shift)) if shift else a
        if shift + bits < 32:
            part = self._word("and", part, self.index_const(2**bits - 1))
        return self.new(f"sitofp {self.index_type} {part} to {self.type}")

    def philox(self, counter: Sequence[str], key: Sequence[str]) -> Sequence[str]:
        """Call the generator: inlined a dozen times, it would take LLVM longer than the rest of the program."""
        name, kind = f"@philox{self.lanes}", self.index_type
        four = f"{{ {', '.join([kind] * 4)} }}"
        self.intrinsics.add(self._philox(name, four))
        found = self.new(f"call {four} {name}({', '.join(f'{kind} {x}' for x in (*counter, *key))})")
        return [self.new(f"extractvalue {four} {found}, {k}") for k in range(4)]

    def _philox(self, name: str, four: str) -> str:
        inner = LLVMEmitter(np.float64 if self.bits == 64 else np.float32, self.lanes)
        words = [f"%{x}" for x in ("c0", "c1", "c2", "c3", "k0", "k1")]
        found, whole = philox(inner, words[:4], words[4:]), "poison"
        for k, word in enumerate(found):
            whole = inner.new(f"insertvalue {four} {whole}, {self.index_type} {word}, {k}")
        head = ", ".join(f"{self.index_type} {x}" for x in words)
        lines = "\n".join([*inner.lines, f"ret {four} {whole}"])
        return f"define internal {four} {name}({head}) noinline memory(none) {self.attributes} {{\n{lines}\n}}"

    # -- memory --------------------------------------------------------------------------------------------------------
    def to_index(self, a: str) -> str:
        """Convert a whole number of moderate size to a 32-bit integer, which every vector unit can."""
        return self.new(f"fptosi {self.type} {a} to {self.index_type}")

    def index_add(self, a: str, b: str) -> str:
        return self.new(f"add {self.index_type} {a}, {b}")

    def index_scale(self, a: str, n: int) -> str:
        return self.new(f"mul {self.index_type} {a}, {self.index_const(n)}")

    def pointer(self, base: str, k: int | str) -> str:
        return self.new(f"getelementptr {self.type}, ptr {base}, i64 {k}")

    def load(self, base: str, k: int | str) -> str:
        return self.new(f"load {self.type}, ptr {self.pointer(base, k)}, align {self.align}")

    def load_shared(self, base: str, k: int | str) -> str:
        """Load one number for all lanes; the processor broadcasts it during the load."""
        address = self.new(f"getelementptr {self.scalar}, ptr {base}, i64 {k}")
        return self.splat(self.new(f"load {self.scalar}, ptr {address}, align {self.bits // 8}"))

    def splat(self, scalar: str) -> str:
        if self.lanes == 1:
            return scalar
        one = self.new(f"insertelement {self.type} poison, {self.scalar} {scalar}, i64 0")
        return self.new(f"shufflevector {self.type} {one}, {self.type} poison, <{self.lanes} x i32> zeroinitializer")

    def store(self, value: str, base: str, k: int | str) -> None:
        self.lines.append(f"store {self.type} {value}, ptr {self.pointer(base, k)}, align {self.align}")

    def clear(self, base: str, k: int, count: int) -> None:
        """Set ``count`` numbers to zero."""
        self.intrinsics.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        address = self.pointer(base, k)
        size = count * self.bytes
        self.lines.append(
            f"call void @llvm.memset.p0.i64(ptr align {self.align} {address}, i8 0, i64 {size}, i1 false)"
        )

    def gather_table(self, table: int, flat: str) -> str:
        return self._gather(f"@table{table}", flat)

    def gather_input(self, area: str, offset: int, flat: str) -> str:
        """Load element ``flat`` of the inputs from ``offset``; each lane reads its column unless they are shared."""
        if area == "shared" or self.lanes == 1:
            return self._gather(f"%{area}", self.index_add(flat, self.index_const(offset)))
        columns = ", ".join(f"i32 {offset * self.lanes + lane}" for lane in range(self.lanes))
        return self._gather(f"%{area}", self.index_add(self.index_scale(flat, self.lanes), f"<{columns}>"))

    def _gather(self, base: str, index: str) -> str:
        address = self.new(f"getelementptr {self.scalar}, ptr {base}, {self.index_type} {index}")
        if self.lanes == 1:
            return self.new(f"load {self.scalar}, ptr {address}, align {self.bits // 8}")
        pointers = f"<{self.lanes} x ptr>"
        name = f"@llvm.masked.gather.{self.suffix}.v{self.lanes}p0"
        self.intrinsics.add(f"declare {self.type} {name}({pointers}, i32, {self.bool_type}, {self.type})")
        mask = f"{self.bool_type} splat (i1 true)"
        return self.new(
            f"call {self.type} {name}({pointers} {address}, i32 {self.bits // 8}, {mask}, {self.type} poison)"
        )

    def begin_block(self, label: str, scope: str) -> None:
        self.lines.append(f"{label}:")
        self.label, self.scope = label, scope


class WideEmitter(LLVMEmitter):
    """Instructions whose lanes are isomorphic groups of one program, interleaved with those of a scalar emitter."""

    def __init__(self, dtype: DTypeLike, lanes: int, narrow: LLVMEmitter) -> None:
        super().__init__(dtype, lanes, narrow.fused, narrow.extremes)
        self.lines, self.intrinsics, self.letter, self.narrow = narrow.lines, narrow.intrinsics, "w", narrow

    def const(self, x: float | Sequence[float]) -> str:
        if isinstance(x, (int, float)):
            return super().const(x)
        if len(set(x)) == 1 and x[0] != 0:
            return super().const(x[0])
        return f"<{', '.join(f'{self.scalar} {self.literal(one)}' for one in x)}>"

    def gather_input(self, area: str, offset: int, flat: str) -> str:
        """All lanes read the same memory."""
        return self._gather(f"%{area}", self.index_add(flat, self.index_const(offset)))

    def load_each(self, locations: Sequence[tuple[str, int]]) -> str:
        """Load numbers from any locations, one for each lane."""
        area, first = locations[0]
        if list(locations) == [(area, first + lane) for lane in range(self.lanes)]:
            address = self.new(f"getelementptr {self.scalar}, ptr %{area}, i64 {first}")
            return self.new(f"load {self.type}, ptr {address}, align {self.bits // 8}")
        return self.gather([self.narrow.load(f"%{area}", offset) for area, offset in locations])

    def gather(self, numbers: Sequence[str], truth: bool = False) -> str:
        whole, one = (self.bool_type, "i1") if truth else (self.type, self.scalar)
        joined = "poison"
        for lane, number in enumerate(numbers):
            joined = self.new(f"insertelement {whole} {joined}, {one} {number}, i64 {lane}")
        return joined

    def broadcast(self, number: str, truth: bool = False) -> str:
        if not truth:
            return self.splat(number)
        one = self.new(f"insertelement {self.bool_type} poison, i1 {number}, i64 0")
        mask = f"<{self.lanes} x i32> zeroinitializer"
        return self.new(f"shufflevector {self.bool_type} {one}, {self.bool_type} poison, {mask}")

    def extract(self, whole: str, lane: int, truth: bool = False) -> str:
        return self.new(f"extractelement {self.bool_type if truth else self.type} {whole}, i64 {lane}")

    def permute(self, whole: str, order: Sequence[int], truth: bool = False) -> str:
        kind, indices = self.bool_type if truth else self.type, ", ".join(f"i32 {lane}" for lane in order)
        return self.new(f"shufflevector {kind} {whole}, {kind} poison, <{self.lanes} x i32> <{indices}>")

    def hsum(self, whole: str) -> str:
        """Sum four lanes, in pairs."""
        pair = f"<2 x {self.scalar}>"
        even, odd = (
            self.new(f"shufflevector {self.type} {whole}, {self.type} poison, <2 x i32> <i32 {k}, i32 {k + 2}>")
            for k in (0, 1)
        )
        both = self.new(f"fadd {pair} {even}, {odd}")
        first, second = (self.new(f"extractelement {pair} {both}, i64 {k}") for k in (0, 1))
        return self.new(f"fadd {self.scalar} {first}, {second}")
