"""The C (and CUDA) form of each instruction, and of a program as a function body."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import DTypeLike

from nptrace.codegen.emit import Layout, Walk
from nptrace.ir.philox import philox
from nptrace.ir.program import Loop, Program

_RESERVED = frozenset({  # keywords of C and C++, names used here, and step, an old symbol of libc
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "main",
    "step", "bool", "catch", "class", "delete", "new", "namespace", "operator", "private", "public", "template",
    "this", "throw", "try", "using", "virtual", "real", "work",
})  # fmt: skip
_LONGEST = 2**31 - 1  # most iterations that an int can count; a longer loop stops early


def identifier(text: str, taken: Sequence[str] = ()) -> str:
    """Return a C name close to ``text`` that is neither a keyword nor taken."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII).strip("_") or "x"
    if name[0].isdigit() or name in _RESERVED or re.fullmatch(r"[a-z]+\d+", name):  # v12 is a name of ours
        name += "_"
        name = f"x{name}" if name[0].isdigit() else name
    while name in taken:
        name += "_"
    return name


class CEmitter:
    """Lines of C and fresh names; the interface that ``emit`` and ``vector_math`` are written against.

    Bit patterns are unsigned, so that they wrap; the names real, bits_t, FMA, INF and the few functions of ``PRELUDE``
    carry the number type and the dialect. ``fused`` describes FMA: False if it may round twice, None if the C compiler
    decides (FUSED); elementary functions are then written for both cases.
    """

    def __init__(
        self, dtype: DTypeLike, fused: bool | None, prefix: str = "", functions: dict[str, str] | None = None
    ) -> None:
        self.bits, self.lanes, self.fused, self.prefix = np.dtype(dtype).itemsize * 8, 1, fused, prefix
        self.lines: list[str] = []
        self.functions = {} if functions is None else functions  # elementary functions in use, by name
        self.count, self.depth, self.scope = 0, 1, "entry"
        self._f = "" if self.bits == 64 else "f"

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def new(self, text: str, kind: str = "real", letter: str = "v") -> str:
        self.count += 1
        name = f"{letter}{self.count}"
        # not const: clang evaluates the initialiser of a constant, and those of its operands, again for every reader
        self.line(f"{kind} {name} = {text};")
        return name

    def function(self, rule: Callable, results: int, *arguments: str) -> tuple:
        """Call an elementary function, which is written once beside the program."""
        name = f"{self.prefix}{rule.__name__}"
        if name not in self.functions:
            texts = [self._definition(rule, results, len(arguments), name, fused) for fused in self._kinds]
            both = len(set(texts)) == 2
            self.functions[name] = f"#ifdef FUSED\n{texts[0]}#else\n{texts[1]}#endif\n" if both else texts[0]
        if results == 1:
            return (self.new(f"{name}({', '.join(arguments)})"),)
        self.count += 1
        fresh = [f"v{self.count}_{k}" for k in range(results)]
        self.line(f"real {', '.join(fresh)};")
        self.line(f"{name}({', '.join([*arguments, *(f'&{n}' for n in fresh)])});")
        return tuple(fresh)

    @property
    def _kinds(self) -> tuple[bool, ...]:
        return (True, False) if self.fused is None else (self.fused,)

    def _definition(self, rule: Callable, results: int, arguments: int, name: str, fused: bool) -> str:
        """Return the text of an elementary function."""
        inner = CEmitter([np.float64, np.float32][self.bits == 32], fused, self.prefix, self.functions)
        names = [f"x{k}" for k in range(arguments)]
        out = rule(inner, *names)
        head = ", ".join(f"real {n}" for n in names)
        if results == 1:
            return f"INLINE real {name}({head})\n{{\n" + "\n".join([*inner.lines, f"    return {out};"]) + "\n}\n"
        head += "".join(f", real *y{k}" for k in range(results))
        ends = [f"    *y{k} = {value};" for k, value in enumerate(out)]
        return f"INLINE void {name}({head})\n{{\n" + "\n".join([*inner.lines, *ends]) + "\n}\n"

    # -- constants -----------------------------------------------------------------------------------------------------
    def const(self, x: float) -> str:
        if self.bits == 32:
            with np.errstate(over="ignore"):
                x = float(np.float32(x))
        if math.isnan(x):
            return "NOT_A_NUMBER"
        if math.isinf(x):
            return "INF" if x > 0 else "(-INF)"
        text = repr(float(x)) + self._f
        return f"({text})" if text[0] == "-" else text

    def int_const(self, x: int) -> str:
        return f"0x{x % (1 << self.bits):x}{'ULL' if self.bits == 64 else 'U'}"

    # -- numbers -------------------------------------------------------------------------------------------------------
    def add(self, a: str, b: str) -> str:
        return self.new(f"{a} + {b}")

    def sub(self, a: str, b: str) -> str:
        return self.new(f"{a} - {b}")

    def mul(self, a: str, b: str) -> str:
        return self.new(f"{a} * {b}")

    def div(self, a: str, b: str) -> str:
        return self.new(f"{a} / {b}")

    def neg(self, a: str) -> str:
        return self.new(f"-{a}")

    def inv(self, a: str) -> str:
        return self.new(f"{self.const(1)} / {a}")

    def fma(self, a: str, b: str, c: str) -> str:
        return self.new(f"FMA({a}, {b}, {c})")

    def fms(self, a: str, b: str, c: str) -> str:
        return self.new(f"FMA({a}, {b}, -{c})")

    def fnma(self, a: str, b: str, c: str) -> str:
        return self.new(f"FMA(-{a}, {b}, {c})")

    def sqrt(self, a: str) -> str:
        return self.new(f"sqrt{self._f}({a})")

    def abs(self, a: str) -> str:
        return self.new(f"fabs{self._f}({a})")

    def floor(self, a: str) -> str:
        return self.new(f"floor{self._f}({a})")

    def copysign(self, a: str, b: str) -> str:
        sign = self.int_const(-(1 << (self.bits - 1)))
        return self.as_float(f"(as_bits({a}) & ~{sign}) | (as_bits({b}) & {sign})")

    # -- truth ---------------------------------------------------------------------------------------------------------
    def lt(self, a: str, b: str) -> str:
        return self.new(f"{a} < {b}", "int", "b")

    def le(self, a: str, b: str) -> str:
        return self.new(f"{a} <= {b}", "int", "b")

    def select(self, c: str, a: str, b: str) -> str:
        return self.new(f"{c} ? {a} : {b}")

    def minimum(self, a: str, b: str) -> str:
        """Return the minimum; the first operand if either is NaN."""
        return self.new(f"{b} < {a} ? {b} : {a}")

    def maximum(self, a: str, b: str) -> str:
        return self.new(f"{b} > {a} ? {b} : {a}")

    def keep_nan(self, x: str, y: str) -> str:
        return self.new(f"{x} != {x} ? {x} : {y}")

    def logic_and(self, a: str, b: str) -> str:
        return self.new(f"{a} && {b}", "int", "b")

    def logic_or(self, a: str, b: str) -> str:
        return self.new(f"{a} || {b}", "int", "b")

    def logic_not(self, a: str) -> str:
        return self.new(f"!{a}", "int", "b")

    # -- bit patterns --------------------------------------------------------------------------------------------------
    def as_int(self, a: str) -> str:
        return self.new(f"as_bits({a})", "bits_t", "u")

    def as_float(self, a: str) -> str:
        return self.new(f"as_real({a})")

    def int_add(self, a: str, b: str) -> str:
        return self.new(f"{a} + {b}", "bits_t", "u")

    def int_sub(self, a: str, b: str) -> str:
        return self.new(f"{a} - {b}", "bits_t", "u")

    def shift_left(self, a: str, n: int) -> str:
        return self.new(f"{a} << {n}", "bits_t", "u")

    def shift_right(self, a: str, n: int) -> str:
        return self.new(f"(bits_t)((signed_t){a} >> {n})", "bits_t", "u")

    def bit_set(self, a: str, bit: int) -> str:
        return self.new(f"({a} & {self.int_const(bit)}) != 0", "int", "b")

    # -- random words of 32 bits ---------------------------------------------------------------------------------------
    def _word(self, text: str) -> str:
        return self.new(text, "unsigned int", "w")

    def word(self, low: str, high: str) -> str:
        return self._word(f"(unsigned int){low} | ((unsigned int){high} << 16)")

    def word_const(self, x: int) -> str:
        return f"0x{x:x}U"

    def word_product(self, a: str, factor: int) -> tuple[str, str]:
        product = self.new(f"(unsigned long long){a} * {self.word_const(factor)}", "unsigned long long", "p")
        return self._word(f"(unsigned int)({product} >> 32)"), self._word(f"(unsigned int){product}")

    def word_add(self, a: str, b: int) -> str:
        return self._word(f"{a} + {self.word_const(b)}")

    def word_xor(self, a: str, b: str) -> str:
        return self._word(f"{a} ^ {b}")

    def word_part(self, a: str, shift: int, bits: int) -> str:
        low = f"({a} >> {shift})" if shift else a
        return self.new(f"(real)({low} & {self.word_const(2**bits - 1)})" if shift + bits < 32 else f"(real){low}")

    def steps(self) -> str:
        raise NotImplementedError("a loop over the steps of a batch cannot be generated as C")

    def philox(self, counter: Sequence[str], key: Sequence[str]) -> Sequence[str]:
        """Call the generator, which is written once beside the program."""
        name = f"{self.prefix}philox"
        if name not in self.functions:
            self.functions[name] = self._philox(name)
        self.count += 1
        fresh = [f"w{self.count}_{k}" for k in range(4)]
        self.line(f"unsigned int {', '.join(fresh)};")
        self.line(f"{name}({', '.join([*counter, *key, *(f'&{n}' for n in fresh)])});")
        return fresh

    def _philox(self, name: str) -> str:
        inner = CEmitter([np.float64, np.float32][self.bits == 32], self.fused, self.prefix, self.functions)
        out = philox(inner, ["c0", "c1", "c2", "c3"], ["k0", "k1"])
        head = ", ".join([f"unsigned int {x}" for x in ("c0", "c1", "c2", "c3", "k0", "k1")])
        head += "".join(f", unsigned int *y{k}" for k in range(4))
        ends = [f"    *y{k} = {value};" for k, value in enumerate(out)]
        return f"INLINE void {name}({head})\n{{\n" + "\n".join([*inner.lines, *ends]) + "\n}\n"

    # -- memory --------------------------------------------------------------------------------------------------------
    def to_index(self, a: str) -> str:
        return self.new(f"(int){a}", "int", "i")

    def index_add(self, a: str, b: str) -> str:
        return self.new(f"{a} + {b}", "int", "i")

    def index_scale(self, a: str, n: int) -> str:
        return self.new(f"{a} * {n}", "int", "i")

    def gather_table(self, table: int, flat: str) -> str:
        return self.new(f"{self.prefix}table{table}[{flat}]")

    def gather_input(self, area: str, offset: int, flat: str) -> str:
        return self.new(self.element(area, f"{offset} + {flat}" if offset else flat))

    def element(self, area: str, index: str) -> str:
        """Return the expression for a number of an area; dialects with strides override it."""
        return f"{area}[{index}]"


class Body(Walk):
    """Statements of a program as lines of C; a loop is a for with mutable carried values."""

    e: CEmitter
    # Whether a loop that may end early recomputes loop invariants in every iteration: such loops mostly run once, and
    # invariants kept for a second iteration would fill the registers of a GPU.
    forgets = False

    def __init__(self, program: Program, layout: Layout, emitter: CEmitter) -> None:
        super().__init__(program, layout, emitter)
        self.indices: dict[int, str] = {}
        self.loops = 0
        self.parts = [self.names]  # for a target whose threads hold several parts of a value: names for each part

    def load(self, area: str, offset: int) -> str:
        return self.e.new(self.e.element(area, str(offset)))

    def saved(self, tape: tuple[int, int], slot: int, region: int) -> str:
        return self.e.new(self._tape(tape, slot, self.indices[region]))

    def stored(self, tape: tuple[int, int], slot: int, row: int) -> str:
        return self.e.new(f"work[{tape[0] + slot + tape[1] * row}]")

    def tabled(self, table: int, column: int, region: int) -> str:
        width = self.program.tables[table].shape[1]
        return f"{self.e.prefix}table{table}[{column} + {width} * {self.indices[region]}]"

    def keep(self, tape: tuple[int, int], slot: int, row: int, value: str) -> None:
        self.e.line(f"work[{tape[0] + slot + tape[1] * row}] = {value};")

    def stopped(self, flag: str) -> str:
        """Return the condition on which a loop ends early."""
        return f"{flag} == (real)1"

    @staticmethod
    def _tape(tape: tuple[int, int], slot: int, index: str) -> str:
        return f"work[{tape[0] + slot} + {tape[1]} * {index}]"

    def loop(self, loop: Loop) -> None:
        e = self.e
        self.loops += 1
        label, outer = self.loops, e.scope
        carriers: list[list[str]] = []
        for k, (p, start) in enumerate(zip(loop.params, loop.initial)):
            begins = self.texts(start)
            carriers.append([f"c{label}_{k}" + (f"_{part}" if len(begins) > 1 else "") for part in range(len(begins))])
            for carrier, begin in zip(carriers[-1], begins):
                e.line(f"real {carrier} = {begin};")
            self.call(p, carriers[-1])
        index = self.indices[loop.region] = f"n{label}"
        order = f"int {index} = {loop.count - 1}; {index} >= 0; --{index}"
        if loop.count > _LONGEST and loop.stop is not None:
            order = ";;"
        elif not loop.reverse:
            order = f"int {index} = 0; {index} < {loop.count}; ++{index}"
        e.line(f"for ({order}) {{")
        e.depth, e.scope = e.depth + 1, f"loop{label}"
        if loop.stop is not None:
            e.line(f"if ({self.stopped(self.names[loop.params[loop.stop]])}) break;")
        same = [
            (p, start)
            for p, start, x in zip(loop.params, loop.initial, loop.results)
            if self.forgets and loop.stop is not None and p == x and start not in self.constants
        ]
        for p, _ in same:
            for name in self.texts(p):
                e.line(f"FORGET({name});")
        if loop.counter is not None:
            self.call(loop.counter, [e.new(f"(real){index}")])
        outside = [dict(names) for names in self.parts]
        self.run(loop.body)
        for slot, x in enumerate(loop.saves):
            e.line(f"{self._tape(self.tapes[loop.node], slot, index)} = {self.names[x]};")
        # a carried value that becomes another one is read before any of them is written
        carried = {name for names in carriers for name in names}
        fresh = [[e.new(name) if name in carried else name for name in self.texts(x)] for x in loop.results]
        for names, values in zip(carriers, fresh):
            for carrier, value in zip(names, values):
                e.line(f"{carrier} = {value};")
        e.depth, e.scope = e.depth - 1, outer
        e.line("}")
        for part, before in zip(self.parts, outside):
            part.update(before)  # an inner loop may have renamed them
        for k, p in enumerate(loop.params):
            self.call(("item", loop.node, k), self.texts(p))
        for p, start in same:  # one copy suffices
            self.call(start, self.texts(p))

    def texts(self, value: int) -> list[str]:
        """Return the names of a value: one, or one for each of its parts."""
        return [self.names[value]]

    def call(self, value: Hashable, names: Sequence[str]) -> None:
        """Name a value, or each of its parts."""
        for k, part in enumerate(self.parts):
            part[value] = names[k % len(names)]


def tables(program: Program, emitter: CEmitter, qualifier: str) -> str:
    """Return the constant tables as arrays."""
    out = []
    for k, table in enumerate(program.tables):
        values = [emitter.const(x) for x in np.ravel(table)]
        rows = [", ".join(values[i : i + 6]) for i in range(0, len(values), 6)]
        out.append(
            f"{qualifier} real {emitter.prefix}table{k}[{len(values)}] = {{\n    " + ",\n    ".join(rows) + "\n};\n"
        )
    return "\n".join(out)


def types(dtype: DTypeLike) -> str:
    """Return the definitions of the number type and of integers of its size."""
    double = np.dtype(dtype).itemsize == 8
    names = ("double", "unsigned long long", "long long") if double else ("float", "unsigned int", "int")
    return "typedef {} real;\ntypedef {} bits_t;\ntypedef {} signed_t;\n".format(*names)


# bit patterns through a union: defined in C, and supported by every C++ compiler and by NVRTC
_BIT_FUNCTIONS = {
    "as_bits": """INLINE bits_t as_bits(real x)
{
    union { real number; bits_t pattern; } both;
    both.number = x;
    return both.pattern;
}
""",
    "as_real": """INLINE real as_real(bits_t x)
{
    union { real number; bits_t pattern; } both;
    both.pattern = x;
    return both.number;
}
""",
}


def bit_functions(text: str) -> str:
    """Return the bit functions that a text uses: an unused static function causes a warning."""
    return "\n".join(function for name, function in _BIT_FUNCTIONS.items() if f"{name}(" in text)
