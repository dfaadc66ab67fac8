"""Branch-free elementary functions, written once against a small emitter interface (LLVM, C and CUDA).

Only additions, products, one division, bit patterns and selects: no tables, no libm, and identical bits at every lane
width. An emitter whose ``fused`` is False may round between a product and a sum; constants and error-free products are
then chosen so that little accuracy is lost. Bounds, asserted in the tests (ulp: units in the last place; in brackets
without fused operations):

========  ==========================  ==========================  ==================================================
function  float64                     float32                     range and limits
========  ==========================  ==========================  ==================================================
sin, cos  1.8e-16 (2.1e-16) absolute  9.5e-8 absolute, 1.7 ulp    |x| < 1e5 (float32: 1e4), then digits go;
          1.7 (2.4) ulp above 0.1     above 0.1                   beyond 2^50 (2^21) meaningless or NaN
exp       1.0 (1.3) ulp               1.0 (1.3) ulp               overflow: inf; below 3.2e-308 (1.7e-38): zero
log       1.0 ulp                     1.0 ulp                     0: -inf; negative: NaN; subnormal counts as zero
pow       1.5 + |y|/15 ulp            1.5 + |y|/15 ulp            negative base: NaN; 0**y: 0 for y > 1e-9 (1e-5),
                                                                  inf for y < 0; x**0: 1; overflow, underflow as exp
atan2     2.0 ulp                     2.0 ulp                     quadrants, signed zeros, infinities as NumPy,
                                                                  but |x|, |y| < 8e307 (1.5e38) where finite
========  ==========================  ==========================  ==================================================

A NaN in any argument gives NaN, in pow too (NumPy: nan**0 is 1).
"""

from __future__ import annotations

import math
from typing import TypeAlias

from nptrace.codegen.emitter import Emitter

_SIN = {
    64: (1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
         -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01),
    32: (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1),
}  # fmt: skip
_COS = {
    64: (-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
         2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02),
    32: (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2),
}  # fmt: skip
# exp(r) for |r| < ln(2)/2, interpolated at Chebyshev points: 1.7e-17 (1e-8) relative
_EXP = {
    64: (2.510055063387081e-08, 2.762030318678593e-07, 2.7557268112223657e-06, 2.4801520843720836e-05,
         0.00019841269863277817, 0.0013888888917505259, 0.008333333333330016, 0.041666666666623546,
         0.16666666666666669, 0.5000000000000001, 1.0, 1.0),
    32: (0.0013926311211112728, 0.00836328121969456, 0.041666553849406554, 0.16666576375075393, 0.5, 1.0, 1.0),
}  # fmt: skip
_LOG = {  # from fdlibm, highest power of s^2 first
    64: (1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
         2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01),
    32: (0.24279078841, 0.28498786688, 0.40000972152, 0.66666662693),
}  # fmt: skip
_ATAN = {  # from fdlibm and Cephes, for |t| < tan(pi/8), highest power of t^2 first
    64: (1.62858201153657823623e-02, -3.65315727442169155270e-02, 4.97687799461593236017e-02,
         -5.83357013379057348645e-02, 6.66107313738753120669e-02, -7.69187620504482999495e-02,
         9.09088713343650656196e-02, -1.11111104054623557880e-01, 1.42857142725034663711e-01,
         -1.99999999998764832476e-01, 3.33333333333329318027e-01),
    32: (-8.05374449538e-2, 1.38776856032e-1, -1.99777106478e-1, 3.33329491539e-1),
}  # fmt: skip
# pi/2 as a sum. Fused: two full-precision parts, since k times the first is not rounded. Unfused: short parts, whose
# products with k are exact.
_HALF_PI = {
    (64, True): (1.5707963267948966, 6.123233995736766e-17),
    (64, False): (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21),
    (32, True): (1.5707963705062866, -4.3711390001862426e-08),
    (32, False): (1.5703125, 4.837512969970703e-4, 7.549789954891882e-08),
}
_PI_PARTS = {
    64: ((0.7853981633974483, 3.061616997868383e-17), (1.5707963267948966, 6.123233995736766e-17),
         (3.141592653589793, 1.2246467991473532e-16)),
    32: ((0.7853981852531433, -2.1855695e-08), (1.5707963705062866, -4.371139e-08),
         (3.1415927410125732, -8.742278e-08)),
}  # fmt: skip
_LN2 = {64: (6.93147180369123816490e-01, 1.90821492927058770002e-10), 32: (0.693359375, -2.12194440e-4)}
_LOG2E = {64: (1.4426950408889634, 2.0355273740931033e-17), 32: (1.4426950216293335, 1.9259629911266175e-08)}
_MANTISSA = {64: 52, 32: 23}
_BIAS = {64: 1023, 32: 127}
_SQRT_HALF_BITS = {64: 0x3FE6A09E667F3BCD, 32: 0x3F3504F3}
_SIGN_BIT = {64: -(1 << 63), 32: -(1 << 31)}
# adding it rounds to a whole number and leaves that number in the low bits: no conversion, which AVX2 lacks for int64
_WHOLE = {64: 1.5 * 2.0**52, 32: 1.5 * 2.0**23}
_WHOLE_BITS = {64: 0x4338000000000000, 32: 0x4B400000}
_TINY = {64: 2.2250738585072014e-308, 32: 1.1754943508222875e-38}
_LARGEST = {64: 8.98846567431158e307, 32: 1.7014117e38}  # half of the largest number, so that the sum of two is finite
_EXP_RANGE = {64: (-708.6, 709.9), 32: (-87.6, 88.95)}
_EXP2_RANGE = {64: (-1022.4, 1024.4), 32: (-126.4, 128.4)}
_LOG2_OF_ZERO = {64: -1e12, 32: -1e8}  # finite, so that its product with zero is zero

Value: TypeAlias = str  # an operand in the target's text


def sincos(e: Emitter, x: Value) -> tuple[Value, Value]:
    """Return (sin x, cos x): Cody-Waite reduction to [-pi/4, pi/4], then polynomials of fdlibm (float32: Cephes)."""
    shifted = e.fma(x, e.const(2 / math.pi), e.const(_WHOLE[e.bits]))
    turns, quadrant, r = e.sub(shifted, e.const(_WHOLE[e.bits])), e.as_int(shifted), x
    for part in _HALF_PI[e.bits, bool(e.fused)]:
        r = e.fnma(turns, e.const(part), r)
    z = e.mul(r, r)
    sine = e.fma(e.mul(r, z), _horner(e, z, _SIN[e.bits]), r)
    cosine = e.fma(e.mul(z, z), _horner(e, z, _COS[e.bits]), e.fnma(z, e.const(0.5), e.const(1)))
    odd = e.bit_set(quadrant, 1)
    a, b = e.select(odd, cosine, sine), e.select(odd, sine, cosine)
    flip_cosine = e.bit_set(e.int_add(quadrant, e.int_const(1)), 2)
    return e.select(e.bit_set(quadrant, 2), e.neg(a), a), e.select(flip_cosine, e.neg(b), b)


def exp(e: Emitter, x: Value) -> Value:
    """Return exp(x) as 2^k exp(x - k ln 2)."""
    low, high = _EXP_RANGE[e.bits]
    x = e.minimum(e.maximum(x, e.const(low)), e.const(high))
    shifted = e.fma(x, e.const(_LOG2E[e.bits][0]), e.const(_WHOLE[e.bits]))
    k = e.sub(shifted, e.const(_WHOLE[e.bits]))
    r = e.fnma(k, e.const(_LN2[e.bits][1]), e.fnma(k, e.const(_LN2[e.bits][0]), x))
    return _scaled(e, _horner(e, r, _EXP[e.bits]), shifted)


def log(e: Emitter, x: Value) -> Value:
    """Return log(x) as k ln 2 + log(m), arranged as in fdlibm."""
    k, f = _split(e, x)
    half_square, series = _log_parts(e, f)
    high, low = _LN2[e.bits]
    small = e.sub(half_square, e.fma(k, e.const(low), series))
    y = e.fma(k, e.const(high), e.sub(f, small))
    y = e.select(e.lt(x, e.const(_TINY[e.bits])), e.const(-math.inf), y)
    y = e.select(e.lt(x, e.const(0)), e.const(math.nan), y)
    return e.select(e.lt(x, e.const(math.inf)), y, x)  # inf and NaN are kept


def power(e: Emitter, x: Value, y: Value) -> Value:
    """Return x^y as 2^(y log2 x); the logarithm has a head and a tail, for accuracy at large exponents."""
    k, f = _split(e, x)
    half_square, series = _log_parts(e, f)
    square_tail = _product_tail(e, e.mul(f, e.const(0.5)), f, half_square)
    most = e.sub(f, half_square)
    head = e.add(most, series)
    tail = e.sub(e.sub(e.sub(f, most), half_square), square_tail)
    tail = e.add(tail, e.sub(series, e.sub(head, most)))
    log2e, log2e_tail = _LOG2E[e.bits]
    scaled = e.mul(head, e.const(log2e))
    tail = e.fma(head, e.const(log2e_tail), e.mul(tail, e.const(log2e)))
    tail = e.add(_product_tail(e, head, e.const(log2e), scaled), tail)
    total = e.add(k, scaled)
    tail = e.add(tail, e.sub(scaled, e.sub(total, k)))
    limit = _LOG2_OF_ZERO[e.bits]
    total = e.select(e.lt(x, e.const(_TINY[e.bits])), e.const(limit), total)
    total = e.select(e.lt(x, e.const(math.inf)), total, e.const(-limit))
    y = e.minimum(e.maximum(y, e.const(limit * 1e3)), e.const(-limit * 1e3))  # the product tail needs a finite y
    product = e.mul(total, y)
    tail = e.fma(tail, y, _product_tail(e, total, y, product))
    low, high = _EXP2_RANGE[e.bits]
    product = e.minimum(e.maximum(product, e.const(low)), e.const(high))
    shifted = e.add(product, e.const(_WHOLE[e.bits]))
    rest = e.add(e.sub(product, e.sub(shifted, e.const(_WHOLE[e.bits]))), tail)
    rest = e.minimum(e.maximum(e.mul(rest, e.const(math.log(2))), e.const(-0.4)), e.const(0.4))  # beyond: unused
    result = _scaled(e, _horner(e, rest, _EXP[e.bits]), shifted)
    return e.select(e.le(e.const(0), x), result, e.const(math.nan))


def atan2(e: Emitter, y: Value, x: Value) -> Value:
    """Return the angle from the smaller over the larger side, reduced to |t| < tan(pi/8), by a polynomial."""
    ax, ay = e.abs(x), e.abs(y)
    steep = e.lt(ax, ay)  # false for a NaN, which then reaches the quotient from either side
    far = e.const(_LARGEST[e.bits])
    a = e.minimum(e.select(steep, ax, ay), far)
    b = e.minimum(e.maximum(e.select(steep, ay, ax), e.const(_TINY[e.bits])), far)
    wide = e.lt(e.mul(b, e.const(math.tan(math.pi / 8))), a)
    t = e.div(e.select(wide, e.sub(a, b), a), e.select(wide, e.add(a, b), b))
    z = e.mul(t, t)
    bent = e.mul(e.mul(t, z), _horner(e, z, _ATAN[e.bits]))
    (quarter, quarter_tail), (half, half_tail), (whole, whole_tail) = _PI_PARTS[e.bits]
    r = e.sub(t, e.sub(bent, e.select(wide, e.const(quarter_tail), e.const(0))))
    r = e.select(wide, e.add(e.const(quarter), r), r)
    # the angle from the nearest axis, added to or subtracted from that of the axis: 0, pi/2 or pi
    backwards, mirrored = e.bit_set(e.as_int(x), _SIGN_BIT[e.bits]), e.neg(r)
    r = e.select(steep, e.select(backwards, r, mirrored), e.select(backwards, mirrored, r))
    axis = e.select(steep, e.const(half), e.select(backwards, e.const(whole), e.const(0)))
    axis_tail = e.select(steep, e.const(half_tail), e.select(backwards, e.const(whole_tail), e.const(0)))
    return e.copysign(e.add(axis, e.add(r, axis_tail)), y)


def _horner(e: Emitter, x: Value, coefficients: tuple[float, ...]) -> Value:
    total = e.const(coefficients[0])
    for c in coefficients[1:]:
        total = e.fma(total, x, e.const(c))
    return total


def _split(e: Emitter, x: Value) -> tuple[Value, Value]:
    """Return (k, f) with x = (1 + f) 2^k and 1 + f in [sqrt(1/2), sqrt(2)), both exact, for normal positive x."""
    bits = e.as_int(x)
    k = e.shift_right(e.int_sub(bits, e.int_const(_SQRT_HALF_BITS[e.bits])), _MANTISSA[e.bits])
    m = e.as_float(e.int_sub(bits, e.shift_left(k, _MANTISSA[e.bits])))
    number = e.sub(e.as_float(e.int_add(k, e.int_const(_WHOLE_BITS[e.bits]))), e.const(_WHOLE[e.bits]))
    return number, e.sub(m, e.const(1))


def _log_parts(e: Emitter, f: Value) -> tuple[Value, Value]:
    """Return (h, w) of log(1 + f) = f - h + w with h = f^2/2; w is small, so that its rounding does not matter."""
    half_square = e.mul(e.mul(f, e.const(0.5)), f)
    s = e.div(f, e.add(f, e.const(2)))
    z = e.mul(s, s)
    return half_square, e.mul(s, e.fma(z, _horner(e, z, _LOG[e.bits]), half_square))


def _product_tail(e: Emitter, a: Value, b: Value, product: Value) -> Value:
    """Return a*b - product without error: one fused operation, or Dekker's algorithm."""
    if e.fused:
        return e.fms(a, b, product)
    (a1, a2), (b1, b2) = _halves(e, a), _halves(e, b)
    error = e.add(e.sub(e.mul(a1, b1), product), e.mul(a1, b2))
    return e.add(e.add(error, e.mul(a2, b1)), e.mul(a2, b2))


def _halves(e: Emitter, a: Value) -> tuple[Value, Value]:
    """Split a number into two halves of its digits (Veltkamp)."""
    spread = e.mul(a, e.const(2.0 ** (27 if e.bits == 64 else 12) + 1))
    high = e.sub(spread, e.sub(spread, a))
    return high, e.sub(a, high)


def _scaled(e: Emitter, y: Value, shifted: Value) -> Value:
    """Return y 2^k, where ``shifted`` holds k in its low bits; in two factors, because 2^1024 overflows."""
    exponent = e.int_add(e.as_int(shifted), e.int_const(_BIAS[e.bits] - 1))
    power_of_two = e.as_float(e.shift_left(exponent, _MANTISSA[e.bits]))
    return e.mul(e.mul(y, power_of_two), e.const(2))
