"""Traced expressions as sums of harmonics, as one would write them by hand for a small mechanism.

Products of sines and cosines of angles are sums of sines and cosines of integer combinations of those angles, and that
sum is unique: c1 c2 - s1 s2 becomes cos(q1 + q2), c1² + s1² becomes 1, and terms that cancel disappear. Every
expression that is polynomial in its inputs and in their sines and cosines has this form, such as the energies of a
mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nptrace.ir.graph import Graph, Node

LARGEST = 1000  # terms of one expression; a longer one would be unreadable
_NOTHING = 1e-12  # relative to the largest of all coefficients

_Key = tuple[tuple[int, ...], tuple[int, ...]]  # (harmonics: integer multiples of the inputs, powers of the inputs)
_Sum = dict[_Key, complex]  # coefficients of x^powers exp(i harmonics·x)


class NotHarmonic(Exception):
    """Raised for an expression without such a form: it divides, takes roots, or grows too long."""


@dataclass(frozen=True)
class Term:
    """coefficient · Π x^powers · kind(harmonics·x), with kind "1", "cos" or "sin"."""

    coefficient: float
    kind: str
    harmonics: tuple[int, ...]
    powers: tuple[int, ...]


def sums(graph: Graph, outputs: Sequence[Node], inputs: int) -> list[list[Term]]:
    """Return every output as terms: constants first, then by the number of inputs involved. Raises NotHarmonic."""
    values: dict[Node, _Sum] = {}
    for i in graph.live(outputs):
        values[i] = _of(graph, i, values, inputs)
        if len(values[i]) > LARGEST:
            raise NotHarmonic(f"more than {LARGEST} terms")
    found = [_terms(values[o]) for o in outputs]
    least = _NOTHING * max((abs(t.coefficient) for terms in found for t in terms), default=0.0)
    return [sorted((t for t in terms if abs(t.coefficient) > least), key=_order) for terms in found]


def _of(graph: Graph, i: Node, values: dict[Node, _Sum], inputs: int) -> _Sum:
    n, none = graph.nodes[i], (0,) * inputs
    a = [values[x] for x in graph.operands(i)]
    if n[0] == "const":
        return {(none, none): complex(n[1])} if n[1] else {}
    if n[0] == "input":
        return {(none, _unit(n[1], inputs)): 1.0 + 0.0j}
    if n[0] == "neg":
        return {key: -c for key, c in a[0].items()}
    if n[0] in ("add", "sub"):
        return _added(a[0], a[1], -1.0 if n[0] == "sub" else 1.0)
    if n[0] == "mul":
        return _multiplied(a[0], a[1])
    if n[0] in ("sin", "cos"):
        return _wave(n[0], a[0], inputs)
    raise NotHarmonic(f"'{n[0]}' is not a sum of harmonics")


def _added(a: _Sum, b: _Sum, sign: float) -> _Sum:
    total = dict(a)
    for key, c in b.items():
        total[key] = total.get(key, 0.0) + sign * c
    return total


def _multiplied(a: _Sum, b: _Sum) -> _Sum:
    total: _Sum = {}
    if len(a) * len(b) > 16 * LARGEST:
        raise NotHarmonic("a product of long sums")
    for (h, p), c in a.items():
        for (k, q), d in b.items():
            key = tuple(map(sum, zip(h, k))), tuple(map(sum, zip(p, q)))
            total[key] = total.get(key, 0.0) + c * d
    largest = max((abs(c) for c in total.values()), default=0.0)
    return {key: c for key, c in total.items() if abs(c) > 1e-15 * largest}  # cancelled terms are dropped


def _wave(kind: str, angle: _Sum, inputs: int) -> _Sum:
    """Return sin or cos of an integer combination of the inputs."""
    harmonics, none = [0] * inputs, (0,) * inputs
    for (h, powers), c in angle.items():
        if h != none or sum(powers) != 1 or c.imag or c.real != round(c.real):
            raise NotHarmonic("the angle of a sine is not an integer combination of inputs")
        harmonics[powers.index(1)] = round(c.real)
    up, down = tuple(harmonics), tuple(-k for k in harmonics)
    return {(up, none): 0.5, (down, none): 0.5} if kind == "cos" else {(up, none): -0.5j, (down, none): 0.5j}


def _terms(total: _Sum) -> list[Term]:
    """Combine exp(i a) and exp(-i a) into cosines and sines."""
    terms = []
    for (h, powers), c in total.items():
        leading = next((k for k in h if k), 0)
        if leading == 0:
            terms.append(Term(c.real, "1", h, powers))
        elif leading > 0:  # the term with -h holds the conjugate
            terms += [Term(2 * c.real, "cos", h, powers), Term(-2 * c.imag, "sin", h, powers)]
    return terms


def _order(term: Term) -> tuple:
    mixed = sum(1 for k in term.harmonics if k)
    return sum(term.powers), tuple(-p for p in term.powers), mixed, tuple(-abs(k) for k in term.harmonics), term.kind


def _unit(k: int, size: int) -> tuple[int, ...]:
    return tuple(int(j == k) for j in range(size))
