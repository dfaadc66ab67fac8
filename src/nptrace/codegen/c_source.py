"""A program as dependency-free C99 for an embedded computer: header, source and test.

Only ``<math.h>`` is used (sqrt, fabs, floor, and fma where the machine has one); the elementary functions are
generated. There is no allocation and no static state: reversed loops save to the caller's ``work``. Large programs are
split into functions of bounded size (``c_parts``), which keep values there too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from nptrace.codegen import c_parts, interpret
from nptrace.codegen.c_emitter import Body, CEmitter, bit_functions, identifier, tables, types
from nptrace.codegen.emit import Layout, tape_size
from nptrace.errors import InputError
from nptrace.frontend import tree
from nptrace.ir.program import Program
from nptrace.passes.reductions import reassociated
from nptrace.passes.tabled import with_tables

Shapes = Sequence[tuple[str, tuple[int, ...]]]

_PRELUDE = """#include <math.h>

#define INLINE static
#define INF INFINITY
#define NOT_A_NUMBER NAN
#ifdef {fast}
#define FUSED
#define FMA(a, b, c) {fma}(a, b, c)
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

"""


def write_c(
    program: Program,
    folder: str | Path,
    name: str,
    *,
    arguments: Shapes | None = None,
    outputs: Shapes | None = None,
    samples: np.ndarray | None = None,
    expected: np.ndarray | None = None,
    dtype: DTypeLike = np.float64,
    tolerance: float | None = None,
    words: Mapping[str, str] | None = None,
    notes: str = "",
    limit: int = c_parts.LIMIT,
    more: Callable[[CFunction], tuple[str, str]] | None = None,
) -> list[Path]:
    """Write ``name.h``, ``name.c`` and ``name_test.c``, and return their paths.

    arguments, outputs: (name, shape) of every array, in the program's order. samples: inputs of the test, (count,
    inputs); expected: the results there, by default those of ``interpret``. The test prints its worst error, relative
    to the larger of one and the expected number, and fails beyond ``tolerance``. words: descriptions of arrays by name;
    notes: further lines of the header's comment. A program of more operations than ``limit`` is split into several
    functions. more: returns further text for header and source.
    """
    if not re.fullmatch(r"[A-Za-z]\w*", name, flags=re.ASCII) or identifier(name) != name:
        raise InputError(
            f"{name!r} cannot name a C function: use letters, digits and underscores, and neither a keyword nor 'step'"
        )
    dtype, program = np.dtype(dtype), reassociated(program)  # sums in the order of our machine code
    ins = _fields(arguments, program.input_size, "x", "arguments", [])
    outs = _fields(outputs, len(program.outputs), "out", "outputs", [n for n, _ in ins])
    if samples is None:
        samples = np.random.default_rng(0).uniform(0.1, 1.0, (4, program.input_size))
    samples = np.asarray(samples, dtype).reshape(-1, program.input_size)
    if expected is None:
        expected = interpret.evaluate(program, samples.T).T
    expected = np.asarray(expected, dtype).reshape(len(samples), -1)
    tolerance = tolerance or (1e-12 if dtype == np.float64 else 1e-4)
    function = CFunction(
        program=with_tables(program),
        name=name,
        ins=ins,
        outs=outs,
        dtype=dtype,
        words=words or {},
        notes=notes,
        limit=limit,
    )
    header, source = more(function) if more is not None else ("", "")
    texts = {
        f"{name}.h": function.header(header),
        f"{name}.c": function.source(source),
        f"{name}_test.c": function.test(samples, expected, tolerance),
    }
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        (target / file).write_text(text)
    return [target / file for file in texts]


def _fields(given: Shapes | None, size: int, default: str, what: str, taken: list[str]) -> Shapes:
    """Return legal, distinct C names with shapes; checks the total size."""
    fields = list(given) if given is not None else [(default, (size,))]
    total = sum(tree.size(shape) for _, shape in fields)
    if total != size:
        raise InputError(f"{what}: the shapes {fields} hold {total} numbers, the program has {size}")
    out: list[tuple[str, tuple[int, ...]]] = []
    for name, shape in fields:
        out.append((identifier(name, [*taken, *(n for n, _ in out)]), tuple(shape)))
    return out


@dataclass(kw_only=True)
class CFunction:
    """A program as a C function: its header, its source and its test.

    ``ins`` and ``outs`` are legal C names with shapes; ``work`` is the size of the caller's scratch memory, in numbers.
    """

    program: Program
    name: str
    ins: Shapes
    outs: Shapes
    dtype: np.dtype
    words: Mapping[str, str] = field(default_factory=dict)
    notes: str = ""
    limit: int = c_parts.LIMIT

    def __post_init__(self) -> None:
        self.emitter = CEmitter(self.dtype, fused=None, prefix=f"{self.name}_")
        layout = Layout(tuple((n, tree.size(s)) for n, s in self.ins))
        places = [(n, k) for n, s in self.outs for k in range(tree.size(s))]
        self.parts: list[str] = []
        if c_parts.operations(self.program.body) <= self.limit:
            body = Body(self.program, layout, self.emitter)
            body.run(self.program.body)
            for (n, k), result in zip(places, self.program.outputs):
                self.emitter.line(f"{n}[{k}] = {body.names[result]};")
            self.work = tape_size(self.program.body)
        else:
            split = c_parts.Parts(self.program, layout, self.emitter, places, self.limit)
            split.write()
            self.parts, self.work = split.functions, split.work

    @property
    def kind(self) -> str:
        """The C type of a number."""
        return _kind(self.dtype)

    def arguments(self) -> list[tuple[str, str]]:
        """Return (declaration, name) of every argument, in order."""
        parts = [(f"const {self.kind} {n}[{tree.size(s)}]", n) for n, s in self.ins if tree.size(s)]
        parts += [(f"{self.kind} {n}[{tree.size(s)}]", n) for n, s in self.outs if tree.size(s)]
        return [*parts, (f"{self.kind} work[{self.work}]", "work")] if self.work else parts

    def _signature(self) -> str:
        return f"void {self.name}({', '.join(declaration for declaration, _ in self.arguments())})"

    def header(self, more: str = "") -> str:
        """Return the header: the declaration, a description of every array, and further declarations."""
        guard = f"{self.name.upper()}_H"
        lines = []
        for fields, way in ((self.ins, "input"), (self.outs, "output")):
            for n, s in fields:
                what = f"; {self.words[n]}" if n in self.words else ""
                lines.append(f" * {n}: {_words(s)}, {way}{what}")
        if self.work:
            size = self.work * self.dtype.itemsize
            lines.append(f" * work: {self.work} numbers of memory ({size} bytes), contents irrelevant before and after")
        notes = "".join(f" * {line}".rstrip() + "\n" for line in self.notes.splitlines())
        return (
            f"#ifndef {guard}\n#define {guard}\n\n"
            f"/* {self.name}: {self.program.size} operations, generated by nptrace.\n"
            " * Arrays are row-major; outputs must not overlap inputs.\n"
            + "\n".join(lines)
            + (f"\n *\n{notes}" if notes else "\n")
            + f' */\n#ifdef __cplusplus\nextern "C" {{\n#endif\n{self._signature()};\n{more}'
            "#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
        )

    def source(self, more: str = "") -> str:
        """Return the source: the function, its dependencies, and further text."""
        e, double = self.emitter, self.dtype.itemsize == 8
        text = "\n".join(e.lines)
        prelude = _PRELUDE.format(fast="FP_FAST_FMA" if double else "FP_FAST_FMAF", fma="fma" if double else "fmaf")
        functions = "\n".join(e.functions.values())
        parts = [f'/* Generated by nptrace. */\n#include "{self.name}.h"\n', prelude, types(self.dtype)]
        parts += [bit_functions(functions), functions, tables(self.program, e, "static const")]
        if self.parts:
            given = self.arguments()
            members = [f"    {'const ' if d.startswith('const') else ''}real *{n};\n" for d, n in given]
            parts += [f"struct {e.prefix}arrays {{\n{''.join(members)}}};\n", _PART, *self.parts]
            text = f"    const struct {e.prefix}arrays arrays = {{{', '.join(n for _, n in given)}}};\n{text}"
        else:
            unused = [f"    (void){n};" for n, s in self.ins if tree.size(s) and f"{n}[" not in text]
            text = "\n".join([*unused, text])
        signature = self._signature().replace(f"{self.kind} ", "real ")
        return "\n".join(p for p in [*parts, signature] if p) + "\n{\n" + text + "\n}\n" + more

    def test(self, samples: np.ndarray, expected: np.ndarray, tolerance: float) -> str:
        """Return a main function that runs the samples and prints the worst error."""
        return _test(self, samples, expected, tolerance)


_PART = """#if defined(__GNUC__) || defined(__clang__)
#define PART static __attribute__((noinline))
#else
#define PART static
#endif
"""


def _test(function: CFunction, samples: np.ndarray, expected: np.ndarray, tolerance: float) -> str:
    name, kind, work, e = function.name, function.kind, function.work, CEmitter(function.dtype, fused=False)
    calls = [*_places("in[s]", function.ins), *_places("got", function.outs), *(["work"] if work else [])]

    def rows(values: np.ndarray) -> str:
        return ",\n".join("    {" + ", ".join(e.const(x) for x in row) + "}" for row in values)

    columns = max(1, samples.shape[1])
    ins_text = rows(samples) if samples.shape[1] else ",\n".join(["    {0}"] * len(samples))
    return f"""/* Runs {name} on {len(samples)} samples and prints the worst error. Generated by nptrace. */
#include <math.h>
#include <stdio.h>
#include "{name}.h"

#define INF INFINITY
#define NOT_A_NUMBER NAN

static const {kind} in[{len(samples)}][{columns}] = {{
{ins_text}
}};
static const {kind} expected[{len(samples)}][{expected.shape[1]}] = {{
{rows(expected)}
}};
static {kind} got[{expected.shape[1]}];
{f"static {kind} work[{work}];" if work else ""}

int main(void)
{{
    double worst = 0.0;
    for (int s = 0; s < {len(samples)}; ++s) {{
        {name}({", ".join(calls)});
        for (int k = 0; k < {expected.shape[1]}; ++k) {{
            const double y = (double)got[k], z = (double)expected[s][k];
            const double size = fabs(z) > 1.0 ? fabs(z) : 1.0;
            const int alike = y == z || (y != y && z != z);
            const double error = alike ? 0.0 : fabs(y - z) / size;
            if (!(error <= worst))
                worst = error == error ? error : HUGE_VAL;
        }}
    }}
    printf("%.3e\\n", worst);
    return worst <= {tolerance!r} ? 0 : 1;
}}
"""


def _places(array: str, fields: Shapes) -> list[str]:
    """Return the expression for each field of an array that holds them one after another; empty fields are left out."""
    starts = np.cumsum([0, *(tree.size(s) for _, s in fields)])
    return [f"{array} + {at}" for at, (_, s) in zip(starts, fields) if tree.size(s)]


def _kind(dtype: np.dtype) -> str:
    return "double" if dtype.itemsize == 8 else "float"


def _words(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) + " numbers" if shape else "one number"
