"""A trace in readable form: as LaTeX, as Python that needs only NumPy, or as C.

Small mechanisms become sums of harmonics (``harmonics``), with c12 for cos(q1 + q2); an expression without such a form,
or with a much longer one, is written step by step, with shared values named t1, t2, ...
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nptrace.errors import InputError
from nptrace.frontend.tracer import Trace
from nptrace.ir.graph import Graph, Node
from nptrace.ir.harmonics import NotHarmonic, Term, sums

_LONGEST = 90  # most characters of one step
_WORTH = 2.0  # how much longer than steps a sum of harmonics may be, since it is easier to read


@dataclass(frozen=True)
class Names:
    """The names of inputs in Python and in LaTeX."""

    python: tuple[str, ...]
    latex: tuple[str, ...]


def python_text(traced: Trace, function: str, arguments: Sequence[str], names: Names, about: str) -> str:
    """Return the trace as Python source; every argument is an array, unpacked into ``names``."""
    lines, at = ["import numpy as np", "", "", f"def {function}({', '.join(arguments)}):", f'    """{about}"""'], 0
    for argument, size in zip(arguments, traced.argument_sizes):
        own = names.python[at : at + size]
        lines.append(f"    {', '.join(own)}{',' if size == 1 else ''} = {argument}")
        at += size
    steps, results = _code(traced, names, _PYTHON)
    lines += [f"    {left} = {right}" for left, right in steps]
    return "\n".join([*lines, f"    return {_python_array(results, _one_shape(traced))}", ""])


def c_text(traced: Trace, function: str, arguments: Sequence[str], names: Names, about: str) -> str:
    """Return the trace as C source; every argument is an array, the result a row-major array."""
    shape = _one_shape(traced)
    taken = "".join(f"const double {argument}[{n}], " for argument, n in zip(arguments, traced.argument_sizes))
    lines = [f"/* {about} */", "#include <math.h>", ""]
    lines += [f"void {function}({taken}double result[{max(1, math.prod(shape))}])", "{"]
    steps, results = _code(traced, names, _C)
    read, at = set(re.findall(r"\w+", " ".join([*(right for _, right in steps), *results]))), 0
    for argument, size in zip(arguments, traced.argument_sizes):
        own = names.python[at : at + size]
        lines += [f"    const double {name} = {argument}[{k}];" for k, name in enumerate(own) if name in read]
        at += size
    lines += [f"    const double {left} = {right};" for left, right in steps]
    lines += [f"    result[{k}] = {text};" for k, text in enumerate(results)]
    return "\n".join([*lines, "}", ""])


def _code(traced: Trace, names: Names, style: _Style) -> tuple[list[tuple[str, str]], list[str]]:
    """Return definitions and entries, as sums of harmonics where these are short enough."""
    written = _Steps(traced.graph, traced.outputs, names.python, style)
    by_steps = written.steps, [written.text(o) for o in traced.outputs]
    try:
        by_harmonics = _harmonic_code(traced, names, style)
    except NotHarmonic:
        return by_steps
    return by_harmonics if _length(*by_harmonics) <= _WORTH * _length(*by_steps) else by_steps


def _length(steps: Sequence[tuple[str, str]], results: Sequence[str]) -> int:
    """Return the length of definitions and entries in characters."""
    return sum(len(left) + len(right) for left, right in steps) + sum(map(len, results))


def equations(traced: Trace, symbol: str, names: Names, digits: int = 4) -> list[str]:
    """Return the trace as LaTeX, one equation for every nonzero entry: M_{11} = 0.5 + 0.1 \\cos(q_2)."""
    steps = _Steps(traced.graph, traced.outputs, names.latex, _latex_style(digits))
    written, lines = [steps.text(o) for o in traced.outputs], [f"{left} = {right}" for left, right in steps.steps]
    try:
        found = [_latex_sum(terms, names, digits) for terms in sums(traced.graph, traced.outputs, traced.input_size)]
    except NotHarmonic:
        found = []
    if found and sum(map(len, found)) <= _WORTH * _length(steps.steps, written):
        written, lines = found, []
    return lines + _named_entries(written, symbol, _one_shape(traced))


def latex(traced: Trace, symbol: str, names: Names, digits: int = 4) -> str:
    """Return all equations in one aligned block."""
    rows = [line.replace(" = ", " &= ", 1) for line in equations(traced, symbol, names, digits)]
    return "\n".join([r"\begin{aligned}", " \\\\\n".join(rows), r"\end{aligned}"])


def _one_shape(traced: Trace) -> tuple[int, ...]:
    if len(traced.output_shapes) != 1 or len(traced.output_shapes[0]) > 2:
        raise InputError("only a function that returns one number, vector or matrix can be written as a formula")
    return traced.output_shapes[0]


# -- harmonics ---------------------------------------------------------------------------------------------------------
def _harmonic_code(traced: Trace, names: Names, style: _Style) -> tuple[list[tuple[str, str]], list[str]]:
    """Return (definitions of the sines and cosines, entries)."""
    found = sums(traced.graph, traced.outputs, traced.input_size)
    waves: dict[str, str] = {}

    def wave(term: Term) -> str:
        name = _wave_name(term, names.python)
        angle = _combination(term.harmonics, names.python, " * ")
        waves[name] = style.functions[term.kind].format(angle)
        return name

    results = []
    for terms in found:
        parts = []
        for term in terms:
            powers = [(name, p) for name, p in zip(names.python, term.powers) if p]
            factors = [name if p == 1 else style.power.format(name, p) for name, p in powers]
            factors += [wave(term)] if term.kind != "1" else []
            parts.append((term.coefficient, " * ".join(factors)))
        results.append(_joined(parts, lambda c: repr(float(c)), " * "))
    return sorted(waves.items(), key=lambda item: (len(item[0]), item[0])), results


def _latex_sum(terms: list[Term], names: Names, digits: int) -> str:
    parts = []
    for term in terms:
        factors = [name if p == 1 else f"{name}^{{{p}}}" for name, p in zip(names.latex, term.powers) if p]
        if term.kind != "1":
            factors.append(f"\\{term.kind}({_combination(term.harmonics, names.latex, ' ')})")
        parts.append((term.coefficient, r" \, ".join(factors)))
    return _joined(parts, lambda c: _latex_number(c, digits), r" \, ")


def _wave_name(term: Term, names: Sequence[str]) -> str:
    """Return the name of a wave: c12 for cos(q1 + q2), s1m2 for sin(q1 - q2), c11 for cos(2 q1)."""
    used = [
        (k, name.lstrip("q") if name.lstrip("q").isdigit() else name) for k, name in zip(term.harmonics, names) if k
    ]
    between = "" if all(len(number) == 1 for _, number in used) else "_"
    signed = [("m" if k < 0 else "") + number for k, number in used for _ in range(abs(k))]
    return term.kind[0] + between + between.join(signed)


def _combination(multiples: Sequence[int], names: Sequence[str], times: str) -> str:
    return _joined([(float(k), name) for k, name in zip(multiples, names) if k], lambda c: f"{c:g}", times)


def _joined(parts: Sequence[tuple[float, str]], number: Callable[[float], str], times: str) -> str:
    """Join terms as a x - b y + c, without factors of one."""
    text = ""
    for c, rest in parts:
        size = number(abs(c))
        word = size if not rest else rest if float(abs(c)) == 1.0 else f"{size}{times}{rest}"
        text += (f" {'-' if c < 0 else '+'} " if text else "-" if c < 0 else "") + word
    return text or "0"


# -- step by step ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class _Style:
    """The syntax of a language."""

    number: Callable[[float], str]
    temporary: str
    product: str
    quotient: str  # {0} divided by {1}
    power: str  # {0} to the {1}
    functions: dict[str, str]


_PYTHON = _Style(
    number=lambda c: repr(float(c)),
    temporary="t{0}",
    product="{0} * {1}",
    quotient="{0} / {1}",
    power="{0}**{1}",
    functions={
        "sin": "np.sin({0})",
        "cos": "np.cos({0})",
        "sqrt": "np.sqrt({0})",
        "atan2": "np.arctan2({0}, {1})",
        "abs": "np.abs({0})",
        "exp": "np.exp({0})",
        "log": "np.log({0})",
    },
)

_C = _Style(
    number=lambda c: repr(float(c)),
    temporary="t{0}",
    product="{0} * {1}",
    quotient="{0} / {1}",
    power="pow({0}, {1})",
    functions={
        "sin": "sin({0})",
        "cos": "cos({0})",
        "sqrt": "sqrt({0})",
        "atan2": "atan2({0}, {1})",
        "abs": "fabs({0})",
        "exp": "exp({0})",
        "log": "log({0})",
    },
)


def _latex_style(digits: int) -> _Style:
    return _Style(
        number=lambda c: _latex_number(c, digits),
        temporary="t_{{{0}}}",
        product=r"{0} \, {1}",
        quotient=r"{0} / {1}",
        power="{0}^{{{1}}}",
        functions={
            "sin": r"\sin({0})",
            "cos": r"\cos({0})",
            "sqrt": r"\sqrt{{{0}}}",
            "atan2": r"\mathrm{{atan2}}({0}, {1})",
            "abs": r"|{0}|",
            "exp": r"e^{{{0}}}",
            "log": r"\log({0})",
        },
    )


class _Steps:
    """Step-by-step code: values that are read twice or grow too long get a name; all others are written in place."""

    def __init__(self, graph: Graph, outputs: Sequence[Node], inputs: Sequence[str], style: _Style) -> None:
        self.graph, self.style, self.inputs = graph, style, inputs
        self.steps: list[tuple[str, str]] = []
        self._texts: dict[Node, tuple[str, int]] = {}  # with its weakest operator: 0 sum, 1 product, 2
        live = graph.live(outputs)
        readers = Counter(x for i in live for x in graph.operands(i))
        for i in live:
            text, strength = self._written(i)
            if graph.op(i) not in ("const", "input") and (readers[i] > 1 or len(text) > _LONGEST):
                name = style.temporary.format(len(self.steps) + 1)
                self.steps.append((name, text))
                text, strength = name, 2
            self._texts[i] = text, strength

    def text(self, i: Node) -> str:
        return self._texts[i][0]

    def _written(self, i: Node) -> tuple[str, int]:
        n = self.graph.nodes[i]
        if n[0] == "const":
            return self.style.number(n[1]), 2 if n[1] >= 0 else 0
        if n[0] == "input":
            return self.inputs[n[1]], 2
        a = list(n[1:])
        if n[0] in ("add", "sub"):
            return f"{self._inside(a[0], 0)} {'+' if n[0] == 'add' else '-'} {self._inside(a[1], 1)}", 0
        if n[0] == "neg":
            return f"-{self._inside(a[0], 1)}", 0
        if n[0] == "mul":
            return self.style.product.format(self._inside(a[0], 1), self._inside(a[1], 2)), 1
        if n[0] == "inv":
            return self.style.quotient.format(self.style.number(1.0), self._inside(a[0], 2)), 1
        if n[0] == "div":
            return self.style.quotient.format(self._inside(a[0], 1), self._inside(a[1], 2)), 1
        if n[0] in self.style.functions:
            return self.style.functions[n[0]].format(*(self.text(x) for x in a)), 2
        raise InputError(f"a function with '{n[0]}' cannot be written as a formula")

    def _inside(self, i: Node, strength: int) -> str:
        text, own = self._texts[i]
        return text if own >= strength else f"({text})"


# -- results -----------------------------------------------------------------------------------------------------------
def _named_entries(written: list[str], symbol: str, shape: tuple[int, ...]) -> list[str]:
    """Name the entries, M_{12} = M_{21} = ... where they are equal; zeros are left out."""
    wide = max(shape, default=1) > 9
    labels = [
        f"{symbol}_{{{(',' if wide else '').join(str(k + 1) for k in index)}}}" if index else symbol
        for index in np.ndindex(*shape)
    ]
    together: dict[str, list[str]] = {}
    for label, text in zip(labels, written):
        together.setdefault(text, []).append(label)
    lines = [f"{' = '.join(same)} = {text}" for text, same in together.items() if text != "0"]
    return lines or [f"{symbol} = 0"]


def _python_array(results: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return results[0]
    if len(shape) == 1:
        return "np.array([\n" + "".join(f"        {r},\n" for r in results) + "    ])"
    rows = [results[k * shape[1] : (k + 1) * shape[1]] for k in range(shape[0])]
    return "np.array([\n" + "".join(f"        [{', '.join(row)}],\n" for row in rows) + "    ])"


def _latex_number(c: float, digits: int) -> str:
    if c == 0 or not math.isfinite(c):
        return f"{c:g}"
    text = f"{c:.{digits}g}"
    if "e" not in text:
        return text
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa} \\cdot 10^{{{int(exponent)}}}"
