"""Swing path of a foot along a 12-point Bézier curve: Hyun, Seok, Lee, Kim, IJRR 33(11), 2014.

Design rules of such a curve, S from 0 at lift-off to 1 at touchdown, n = 11:

- a doubled end point in z makes the vertical speed zero at lift-off and touchdown;
- the first and last differences set the horizontal speeds there, dx/dS = n (c1 - c0) and n (c11 - c10): negative ones
  let the foot move with the ground before it lands (swing-leg retraction);
- tripled points reverse the foot: forward after lift-off, downward after the apex.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from numpy import ndarray

from footfall.errors import InputError
from nptrace._types import Operand
from nptrace.array_types import Float

_CENTER = 0.5  # powers of S - 1/2 lose no digits, powers of S lose five


@dataclass(frozen=True)
class Bezier:
    """A planar Bézier curve by its control points, x forward and z up [m, or in units of stride and height]."""

    x: tuple[float, ...]
    z: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.x) != len(self.z) or len(self.x) < 2:
            raise InputError(f"a Bezier curve needs as many x as z, two or more, got {len(self.x)} and {len(self.z)}")
        for axis in ("x", "z"):
            points = tuple(float(c) for c in getattr(self, axis))
            if not all(map(math.isfinite, points)):
                raise InputError(f"a control point of a Bezier curve is not finite: {axis} = {points}")
            object.__setattr__(self, axis, points)

    @property
    def degree(self) -> int:
        return len(self.x) - 1

    def position(self, S: Float[ndarray, "..."]) -> tuple[Float[ndarray, "..."], Float[ndarray, "..."]]:
        """Return (x, z) at S, by Horner's rule in S - 1/2: ``degree`` multiply-adds per coordinate."""
        return _horner(self._powers[0], S - _CENTER), _horner(self._powers[1], S - _CENTER)

    def rate(self, S: Float[ndarray, "..."]) -> tuple[Float[ndarray, "..."], Float[ndarray, "..."]]:
        """Return (dx/dS, dz/dS) at S."""
        x, z = (tuple(k * c for k, c in enumerate(powers))[1:] for powers in self._powers)
        return _horner(x, S - _CENTER), _horner(z, S - _CENTER)

    def scaled(self, x: float, z: float) -> Bezier:
        """Return the curve scaled in x and z."""
        return Bezier(tuple(x * c for c in self.x), tuple(z * c for c in self.z))

    def with_end_speeds(self, lift_off: float, touchdown: float) -> Bezier:
        """Return the curve with given horizontal speeds dx/dS at its ends: moves the second and the last but one
        point.
        """
        x = list(self.x)
        x[1] = x[0] + lift_off / self.degree
        x[-2] = x[-1] - touchdown / self.degree
        return Bezier(tuple(x), self.z)

    @cached_property
    def _powers(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return _power_basis(self.x), _power_basis(self.z)


# x in half strides L, z in heights h: public code of spot_mini_mini (MIT licence)
NORMALISED = Bezier(
    (-1.0, -1.4, -1.5, -1.5, -1.5, 0.0, 0.0, 0.0, 1.5, 1.5, 1.4, 1.0),
    (0.0, 0.0, 0.9, 0.9, 0.9, 0.9, 0.9, 1.1, 1.1, 1.1, 0.0, 0.0),
)

# The published set [m], z from the hip (printed in mm, downwards); not checked against the article itself
CHEETAH = Bezier(
    (-0.2, -0.2805, -0.3, -0.3, -0.3, 0.0, 0.0, 0.0, 0.3032, 0.3032, 0.2826, 0.2),
    (-0.5, -0.5, -0.3611, -0.3611, -0.3611, -0.3611, -0.3611, -0.3214, -0.3214, -0.3214, -0.5, -0.5),
)


def matched_ground(duty: float) -> Bezier:
    """Return the normalised curve, lifting off and landing at the speed of the stance, -2 L / (duty T)."""
    if not 0 < duty < 1:
        raise InputError(f"duty of a swing must be between 0 and 1, got {duty}")
    speed = -2.0 * (1.0 - duty) / duty  # in half strides per swing
    return NORMALISED.with_end_speeds(speed, speed)


def _horner(coefficients: tuple[float, ...], x: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
    value: Operand = coefficients[-1]
    for c in coefficients[-2::-1]:
        value = value * x + c
    return value


def _power_basis(points: tuple[float, ...]) -> tuple[float, ...]:
    """Return the coefficients of (S - 1/2)^k, the Taylor series there: term k takes k differences of the points,
    then halves.
    """
    n = len(points) - 1
    coefficients = []
    for k in range(n + 1):
        halved = list(points)
        for _ in range(k):
            halved = [b - a for a, b in pairwise(halved)]
        for _ in range(n - k):
            halved = [0.5 * (a + b) for a, b in pairwise(halved)]
        coefficients.append(math.comb(n, k) * halved[0])
    return tuple(coefficients)
