"""NumPy's elementary functions of traced scalars, built from the graph's few operations.

Where a formula loses digits (expm1, log1p, sinh, tanh near 0), a series is used below a threshold. Both are evaluated
and one is selected; the other stays finite, so that derivatives stay finite too.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar, overload

import numpy as np

from nptrace.frontend.scalar import (
    BINARY,
    Element,
    Rule,
    Scalar,
    _set_operator,
    binary,
    graph_of,
    is_scalar,
    logical,
    select,
    truth_of,
    unary,
    xor,
)
from nptrace.ir.refusal import refusal

E = TypeVar("E", bound=Element)


# -- primitives --------------------------------------------------------------------------------------------------------
def sqrt(x: Scalar) -> Scalar:
    return unary("sqrt", x)


def exp(x: Scalar) -> Scalar:
    return unary("exp", x)


def log(x: Scalar) -> Scalar:
    return unary("log", x)


def floor(x: Scalar) -> Scalar:
    return unary("floor", decides(x))


def decides(x: E) -> E:
    """Return a traced number whose quotients are true divisions, since floor(49 * (1 / 49)) is 0."""
    if is_scalar(x):
        x.graph.decide_by(x.node)
    return x


def _polynomial(x: Scalar, coefficients: Sequence[float]) -> Element:
    """Evaluate a polynomial, lowest power first."""
    total: Element = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


# -- rounding ----------------------------------------------------------------------------------------------------------
def ceil(x: Scalar) -> Scalar:
    return -floor(-x)


def trunc(x: Scalar) -> Scalar:
    return select(x < 0, ceil(x), floor(x))


def rint(x: Scalar) -> Scalar:
    """Round to the nearest integer, halves to even; a zero has the sign of x."""
    size = absolute(decides(x))
    below = floor(size)
    rest, half = size - below, 0.5 * below
    odd = floor(half) < half
    whole = below + select((rest > 0.5) | ((rest >= 0.5) & odd), 1.0, 0.0)
    return select(x < 0, -whole, select(x > 0, whole, x))


def _quotient_and_rest(a: Element, b: Element) -> tuple[Element, Element]:
    """Return (floor(a / b), a - b floor(a / b)) with the remainder in [0, b), or (b, 0] for a negative b.

    The quotient by a rounded reciprocal can be off by one near an integer, which the remainder reveals. The divisor is
    split, so that the remainder is exact even without a fused multiply-add.
    """
    if not is_scalar(b) and math.isinf(b):
        return _by_infinity(a, b)
    q = unary("floor", BINARY["truediv"](decides(a), decides(b)))
    head, tail = _halves(b) if is_scalar(b) else _split(float(b))
    rest, after = a - q * head - q * tail, a - (q + 1.0) * head - (q + 1.0) * tail
    if is_scalar(b):
        low, high = rest * b < 0, after * b >= 0
    else:
        low, high = (rest < 0, after >= 0) if b > 0 else (rest > 0, after <= 0)
    found = select(low, q - 1.0, select(high, q + 1.0, q)), select(low, rest + b, select(high, after, rest))
    if not is_scalar(b):
        return found
    infinite, (whole, all_of_it) = absolute(b) >= math.inf, _by_infinity(a, b)
    return select(infinite, whole, found[0]), select(infinite, all_of_it, found[1])


def _by_infinity(a: Element, b: Element) -> tuple[Element, Element]:
    """Return (floor(a / b), remainder) for infinite b: the remainder is a, or b if signs differ; NaN for infinite a."""
    opposite = ((a < 0) & (b > 0)) | ((a > 0) & (b < 0))
    finite = absolute(a) < math.inf
    whole, rest = select(opposite, -1.0, 0.0), select(opposite, b, a)
    return select(finite, whole, math.nan), select(finite, rest, math.nan)


def _split(b: float) -> tuple[float, float]:
    """Split b into parts of 26 and 27 bits: their products with an integer below 2^26 are exact."""
    if not math.isfinite(b):
        raise refusal(f"a traced value modulo the constant {b}")
    mantissa, exponent = math.frexp(b)
    head = math.ldexp(round(math.ldexp(mantissa, 26)), exponent - 26)
    return head, b - head


def _halves(b: Scalar) -> tuple[Scalar, Scalar]:
    """Split a traced b (Veltkamp) into 41 and 12 bits, in float32 12 and 12: exact for quotients < 4096."""
    scaled = 4097.0 * b
    head = scaled - (scaled - b)
    return head, b - head


def remainder(a: Element, b: Element) -> Element:
    return _quotient_and_rest(a, b)[1]


def floor_divide(a: Element, b: Element) -> Element:
    return _quotient_and_rest(a, b)[0]


def fmod(a: Element, b: Element) -> Element:
    """Return the remainder with the sign of a."""
    rest = remainder(absolute(a), absolute(b))
    return select(a < 0, -rest, rest)


# -- signs and special values ------------------------------------------------------------------------------------------
@overload
def absolute(x: Scalar) -> Scalar: ...
@overload
def absolute(x: Element) -> Element: ...
def absolute(x: Element) -> Element:
    return abs(x) if is_scalar(x) else abs(float(x))


def sign(x: Scalar) -> Scalar:
    """Return the sign of x; floor in the last branch is 0 at 0, NaN at NaN, and has derivative zero."""
    return select(x > 0, 1.0, select(x < 0, -1.0, floor(x)))


def isnan(x: Scalar) -> Scalar:
    return ~((x < 0) | (x >= 0))


def isfinite(x: Scalar) -> Scalar:
    return absolute(x) < math.inf


def isinf(x: Scalar) -> Scalar:
    return absolute(x) >= math.inf


def signbit(x: Scalar) -> Scalar:
    return (x < 0) | (1.0 / x < 0)  # the reciprocal of -0.0 is -inf


def copysign(a: Element, b: Element) -> Element:
    size = absolute(a)
    if not is_scalar(b):
        return -size if math.copysign(1, b) < 0 else size
    return select(signbit(b), -size, size)


def heaviside(x: Element, at_zero: Element) -> Element:
    if not is_scalar(x):
        return at_zero if x == 0 else float(np.heaviside(x, 0))
    return select(x > 0, 1.0, select(x < 0, 0.0, select(x >= 0, at_zero, x)))


def fmax(a: Element, b: Element) -> Element:
    """Return the larger of a and b, or the one that is not NaN."""
    return _ignoring_nan(BINARY["maximum"], a, b)


def fmin(a: Element, b: Element) -> Element:
    return _ignoring_nan(BINARY["minimum"], a, b)


def _ignoring_nan(rule: Rule, a: Element, b: Element) -> Element:
    result: Element = rule(a, b)
    for x, other in ((a, b), (b, a)):
        if is_scalar(x):
            result = select(isnan(x), other, result)
        elif math.isnan(x):
            return other
    return result


# -- exponentials ------------------------------------------------------------------------------------------------------
_EXPM1 = [1 / math.factorial(k) for k in range(1, 16)]
_SINH = [1 / math.factorial(2 * k + 1) for k in range(10)]
_COSH = [1 / math.factorial(2 * k) for k in range(10)]
_ARTANH = [1 / (2 * k + 1) for k in range(12)]


def _near_zero(x: Scalar, bound: float) -> tuple[Scalar, Scalar, Scalar]:
    """Return (|x| < bound, x where that holds and 0 elsewhere, 1 where it holds and x elsewhere)."""
    near = absolute(x) < bound
    return near, select(near, x, 0.0), select(near, 1.0, x)


def expm1(x: Scalar) -> Scalar:
    near, small, _ = _near_zero(x, 0.5)
    return select(near, small * _polynomial(small, _EXPM1), exp(x) - 1.0)


def log1p(x: Scalar) -> Scalar:
    """Return log(1 + x), by 2 artanh(x / (2 + x)) near 0."""
    near, small, large = _near_zero(x, 0.25)
    s = small / (2.0 + small)
    return select(near, 2.0 * s * _polynomial(s * s, _ARTANH), log(1.0 + large))


def sinh(x: Scalar) -> Scalar:
    near, small, _ = _near_zero(x, 1.0)
    size = absolute(x)
    half = exp(0.5 * size)  # its square would overflow before the result does
    large = 0.5 * half * half - 0.5 / (half * half)
    return select(near, small * _polynomial(small * small, _SINH), select(x < 0, -large, large))


def cosh(x: Scalar) -> Scalar:
    half = exp(0.5 * absolute(x))
    return 0.5 * half * half + 0.5 / (half * half)


def tanh(x: Scalar) -> Scalar:
    near, small, _ = _near_zero(x, 0.6)
    square = small * small
    e = exp(-2.0 * absolute(x))
    large = (1.0 - e) / (1.0 + e)
    return select(near, small * _polynomial(square, _SINH) / _polynomial(square, _COSH), select(x < 0, -large, large))


def arcsinh(x: Scalar) -> Scalar:
    size = absolute(x)
    large, t = _beyond_squares(size)
    value = select(large, log(size) + math.log(2), log1p(t + t * t / (1.0 + sqrt(1.0 + t * t))))
    return select(x < 0, -value, value)


def arccosh(x: Scalar) -> Scalar:
    large, inside = _beyond_squares(x)
    t = inside - 1.0
    value = select(large, log(x) + math.log(2), log1p(t + sqrt(t * (t + 2.0))))
    return select(x < 1.0, math.nan, value)  # far below 1, t would be lost beside the root


def _beyond_squares(x: Scalar) -> tuple[Scalar, Scalar]:
    """Return (whether 1 is negligible beside x², which might overflow; x where it is not, 2 elsewhere)."""
    large = x > 1e9
    return large, select(large, 2.0, x)


def arctanh(x: Scalar) -> Scalar:
    size = absolute(x)
    value = 0.5 * log1p(2.0 * size / (1.0 - size))
    return select(x < 0, -value, value)


def exp2(x: Scalar) -> Scalar:
    return 2.0**x


def log2(x: Scalar) -> Scalar:
    return _exact_at_powers(log(x) * (1 / math.log(2)))


def log10(x: Scalar) -> Scalar:
    return _exact_at_powers(log(x) * (1 / math.log(10)))


def _exact_at_powers(y: Scalar) -> Scalar:
    """Return y, rounded where it is an integer but for rounding errors: floor(log10(1000)) is 3."""
    off = y - rint(y)
    return y - select(absolute(off) <= 4e-16 * absolute(y), floor(off * 2.0**52) * 2.0**-52, 0.0)


def logaddexp(a: Element, b: Element) -> Scalar:
    return BINARY["maximum"](a, b) + log1p(exp(-absolute(BINARY["sub"](a, b))))


def cbrt(x: Scalar) -> Scalar:
    """Return the cube root: a power, then a Newton step where it cannot overflow; exact for cubes of integers."""
    size = absolute(x)
    root = size ** (1 / 3)
    usual = (size > 1e-30) & (size < 1e30)
    safe = select(usual, root, 1.0)
    root = select(usual, safe - (safe * safe * safe - size) / (3.0 * safe * safe), root)
    return select(x < 0, -root, root)


# -- angles ------------------------------------------------------------------------------------------------------------
def tan(x: Scalar) -> Scalar:
    return unary("sin", x) / unary("cos", x)


def arctan(x: Scalar) -> Scalar:
    return BINARY["arctan2"](x, 1.0)


def arcsin(x: Scalar) -> Scalar:
    return BINARY["arctan2"](x, sqrt((1.0 - x) * (1.0 + x)))


def arccos(x: Scalar) -> Scalar:
    return BINARY["arctan2"](sqrt((1.0 - x) * (1.0 + x)), x)


def hypot(a: Element, b: Element) -> Element:
    """Return sqrt(a² + b²), scaled by the larger one, so that squares neither overflow nor underflow."""
    a, b = absolute(a), absolute(b)
    large, small = BINARY["maximum"](a, b), BINARY["minimum"](a, b)
    ratio = small / select(large > 0, large, 1.0)
    return select((a >= math.inf) | (b >= math.inf), math.inf, large * sqrt(1.0 + ratio * ratio))


# -- tables for dispatch -----------------------------------------------------------------------------------------------
def _number_of(x: Scalar) -> Scalar:
    """Return a truth value as a number, since functions of it give numbers."""
    return x * 1.0 if x.is_truth else x


def _of_number(rule: Callable[[Scalar], Scalar]) -> Callable[[Scalar], Scalar]:
    return lambda x: rule(_number_of(x))


def _of_numbers(rule: Rule) -> Rule:
    def checked(a: Element, b: Element) -> Element:
        graph_of(a, b)
        return rule(*(_number_of(x) if is_scalar(x) else x for x in (a, b)))

    return checked


UNARY: dict[str, Callable[[Scalar], Scalar]] = {
    name: _of_number(rule)
    for name, rule in {
        "sqrt": sqrt,
        "exp": exp,
        "log": log,
        "floor": floor,
        "ceil": ceil,
        "trunc": trunc,
        "rint": rint,
        "sin": lambda x: unary("sin", x),
        "cos": lambda x: unary("cos", x),
        "tan": tan,
        "arcsin": arcsin,
        "arccos": arccos,
        "arctan": arctan,
        "sinh": sinh,
        "cosh": cosh,
        "tanh": tanh,
        "arcsinh": arcsinh,
        "arccosh": arccosh,
        "arctanh": arctanh,
        "expm1": expm1,
        "log1p": log1p,
        "exp2": exp2,
        "log2": log2,
        "log10": log10,
        "cbrt": cbrt,
        "sign": sign,
        "isnan": isnan,
        "isfinite": isfinite,
        "isinf": isinf,
        "signbit": signbit,
        "fabs": absolute,
        "square": lambda x: x * x,
        "reciprocal": lambda x: 1.0 / x,
        "deg2rad": lambda x: x * (math.pi / 180),
        "rad2deg": lambda x: x * (180 / math.pi),
    }.items()
}
UNARY |= {
    "absolute": lambda x: x if x.is_truth else abs(x),
    "radians": UNARY["deg2rad"],
    "degrees": UNARY["rad2deg"],
    "logical_not": lambda x: ~x,
    "invert": lambda x: ~x,
}
PAIR: dict[str, Rule] = {
    "add": BINARY["add"],
    "subtract": BINARY["sub"],
    "multiply": BINARY["mul"],
    "divide": BINARY["truediv"],
    "power": BINARY["pow"],
    "float_power": BINARY["pow"],
    "less": BINARY["lt"],
    "less_equal": BINARY["le"],
    "greater": BINARY["gt"],
    "greater_equal": BINARY["ge"],
    "equal": lambda a, b: _either(a, b, "eq"),
    "not_equal": lambda a, b: _either(a, b, "ne"),
    "maximum": BINARY["maximum"],
    "minimum": BINARY["minimum"],
    "logical_and": BINARY["and"],
    "logical_or": BINARY["or"],
    "logical_xor": BINARY["xor"],
    "bitwise_and": BINARY["and"],
    "bitwise_or": BINARY["or"],
    "bitwise_xor": BINARY["xor"],
    "arctan2": BINARY["arctan2"],
    **{
        name: _of_numbers(rule)
        for name, rule in {
            "remainder": remainder,
            "fmod": fmod,
            "floor_divide": floor_divide,
            "heaviside": heaviside,
            "copysign": copysign,
            "fmax": fmax,
            "fmin": fmin,
            "hypot": hypot,
            "logaddexp": logaddexp,
        }.items()
    },
}
TWO_RESULTS: dict[str, Callable[..., tuple[Element, Element]]] = {
    "divmod": lambda a, b: _quotient_and_rest(a, b),
    "modf": lambda x: (x - trunc(x), trunc(x)),
}


def _either(a: Element, b: Element, name: str) -> Scalar:
    """Compare with the traced operand first: equality is symmetric, and a plain number would compare by itself."""
    return BINARY[name](a, b) if is_scalar(a) else BINARY[name](b, a)


def _reflected_divmod(self: Scalar, other: Element) -> tuple[Element, Element]:
    return _quotient_and_rest(other, self)


def _round(self: Scalar, digits: int | None = None) -> Scalar:
    scale = 10.0 ** (digits or 0)
    if scale < 1:
        raise refusal("rounding to tens or hundreds: divide, np.rint, and multiply")
    return rint(self) if scale == 1 else rint(self * scale) / scale


for _name, _rule in UNARY.items():  # NumPy calls methods of the elements of an object array: np.sin(a) calls a[0].sin()
    setattr(Scalar, _name, _rule)
for _name in ("arctan2", "hypot", "fmod", "fmax", "fmin", "copysign", "heaviside", "logaddexp"):
    setattr(Scalar, _name, PAIR[_name])
Scalar.__round__ = Scalar.round = _round  # type: ignore[attr-defined]
Scalar.__floor__, Scalar.__ceil__, Scalar.__trunc__ = floor, ceil, trunc  # type: ignore[attr-defined]
Scalar.__divmod__ = _quotient_and_rest  # type: ignore[operator]
Scalar.__rdivmod__ = _reflected_divmod  # type: ignore[attr-defined]
_set_operator("mod", PAIR["remainder"])
_set_operator("floordiv", PAIR["floor_divide"])
__all__ = ["PAIR", "TWO_RESULTS", "UNARY", "binary", "logical", "truth_of", "xor"]
