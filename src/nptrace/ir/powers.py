"""a**b from products, square roots and the operation ``pow``, which is defined for bases >= 0 only."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nptrace.ir.fold import fold_power

if TYPE_CHECKING:
    from nptrace.ir.graph import Graph, Node

LARGEST_UNROLLED_POWER = 64


def power(g: Graph, a: Node, b: Node) -> Node:
    """Return a**b as NumPy does, for every base."""
    base, exponent = g.value(a), g.value(b)
    if exponent is None:
        return _variable_power(g, a, b)
    if base is not None:
        return g.const(fold_power(base, exponent))
    if exponent == 0.5:
        return g.unary("sqrt", a)
    if exponent == -0.5:
        return g.inv(g.unary("sqrt", a))
    if not exponent.is_integer():
        return g.node("pow", a, b)
    if abs(exponent) <= LARGEST_UNROLLED_POWER:
        return _whole_power(g, a, int(exponent))
    size = g.node("pow", g.unary("abs", a), b)
    return size if exponent % 2 == 0 else g.select(g.less(a, g.const(0)), g.neg(size), size)


def _whole_power(g: Graph, a: Node, n: int) -> Node:
    if n < 0:
        return g.inv(_whole_power(g, a, -n))
    if n == 0:
        return g.const(1)
    if n == 1:
        return a
    half = _whole_power(g, a, n // 2)
    square = g.mul(half, half)
    return g.mul(square, a) if n % 2 else square


def _variable_power(g: Graph, a: Node, b: Node) -> Node:
    """Return a**b for a variable exponent: a negative base has powers where the exponent is an integer."""
    if is_never_negative(g, a):
        return g.node("pow", a, b)
    size = g.node("pow", g.unary("abs", a), b)
    half = g.mul(g.const(0.5), b)
    odd = g.less(g.unary("floor", half), half)
    fraction = g.less(g.unary("floor", b), b)
    signed = g.select(fraction, g.const(math.nan), g.select(odd, g.neg(size), size))
    return g.select(g.less(a, g.const(0)), signed, size)


def is_never_negative(g: Graph, a: Node, depth: int = 4) -> bool:
    """Return whether the node is evidently >= 0 (or NaN); searches ``depth`` levels."""
    n = g.nodes[a]
    if n[0] == "const":
        return n[1] >= 0
    if n[0] in ("abs", "sqrt", "exp", "pow", "counter") or (n[0] == "mul" and n[1] == n[2]):
        return True
    if n[0] in ("mul", "add", "max") and depth:
        both = (is_never_negative(g, x, depth - 1) for x in n[1:])
        return any(both) if n[0] == "max" else all(both)
    return False
