"""A swing on half an ellipse at trapezoidal speed: eqs. (22)-(23) of Yan et al. 2021.

    s(t): a t²/2, then v t - v²/2a, then v T - v²/a - a (t - T)²/2
    x = x_pre + L + L cos(π - s),   z = H sin(π - s)

The paper has y up and z right; here z is up and y left. Errata: s must run from 0 to π, which fixes v (T - t_a) = π;
the foot then travels 2 L (and 2 W sideways), so that L is half a step. The speed is zero at both ends, so a foot lifts
and lands at rest: position and velocity are continuous.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.checks import finite_number, is_number, number_from_zero, positive_number
from footfall.errors import InputError
from nptrace import select
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float


@dataclass(frozen=True)
class Trapezoid:
    """A trapezoidal velocity profile, eq. (22), for unit distance and time.

    ``ramp`` = t_a / T is the fraction of the time spent accelerating, and that spent decelerating.

    A ramp of 1/2 has no interval of constant speed. The distance is 0 before the start and 1 after the end.
    """

    ramp: float = 0.25

    def __post_init__(self) -> None:
        if not is_number(self.ramp) or not 0 < self.ramp <= 0.5:
            raise InputError(f"the ramp of a trapezoidal speed must be more than 0 and at most 1/2, got {self.ramp!r}")

    @property
    def top_speed(self) -> float:
        """Return v T over the whole distance: 1 / (1 - ramp)."""
        return 1.0 / (1.0 - self.ramp)

    @property
    def acceleration(self) -> float:
        """Return the acceleration a, as a T² divided by the distance."""
        return self.top_speed / self.ramp

    def position(self, u: Scalar) -> Operand:
        """Return the fraction of the distance at the fraction u of the time."""
        u = np.clip(u, 0.0, 1.0)
        a, v, r = self.acceleration, self.top_speed, self.ramp
        rise, fall = 0.5 * a * u * u, 1.0 - 0.5 * a * (1.0 - u) * (1.0 - u)
        return select(u < r, rise, select(u <= 1.0 - r, v * u - 0.5 * v * r, fall))

    def rate(self, u: Scalar) -> Scalar:
        """Return the derivative of the distance with respect to u."""
        u = np.clip(u, 0.0, 1.0)
        return self.acceleration * np.minimum(np.minimum(u, 1.0 - u), self.ramp)

    def second_rate(self, u: Scalar) -> Scalar:
        """Return the second derivative with respect to u: +a, 0, -a inside, 0 outside."""
        a = self.acceleration
        inside = (u >= 0.0) & (u <= 1.0)
        return select(inside, select(u < self.ramp, a, select(u <= 1.0 - self.ramp, 0.0 * u, -a)), 0.0 * u)


def trapezoid(distance: float, speed: float, acceleration: float) -> tuple[Trapezoid, float]:
    """Return a trapezoidal velocity profile for a distance, a top speed and an acceleration.

    Args:
        distance: Distance [m or rad].
        speed: Top speed [m/s or rad/s].
        acceleration: Acceleration [m/s² or rad/s²].

    Returns:
        Profile and duration [s]; a triangle if the distance is too short for the top speed.
    """
    for what, value in (("distance", distance), ("speed", speed), ("acceleration", acceleration)):
        positive_number(value, f"the {what} of a trapezoidal transition")
    if speed * speed >= distance * acceleration:
        return Trapezoid(0.5), 2.0 * math.sqrt(distance / acceleration)
    ramp_time = speed / acceleration
    time = distance / speed + ramp_time
    return Trapezoid(ramp_time / time), time


@dataclass(frozen=True)
class Ellipse:
    """Half an ellipse from one foothold to the next: L forward, W to the left (half of each distance), H up [m]."""

    half_step: float  # L
    half_side: float = 0.0  # W
    height: float = 0.05  # H
    profile: Trapezoid = Trapezoid()

    def __post_init__(self) -> None:
        for key in ("half_step", "half_side"):
            finite_number(getattr(self, key), f"{key} of an elliptic swing")
        number_from_zero(self.height, "height of an elliptic swing")

    @staticmethod
    def turning(
        place: tuple[float, float], forward: float, left: float, turn: float, height: float = 0.05, ramp: float = 0.25
    ) -> Ellipse:
        """Return the step of a foot at ``place`` [m] from the body's centre, when the body moves by (forward, left)
        [m] and turns by ``turn`` [rad] about its centre.
        """
        if not all(map(is_number, (*place, forward, left, turn))):
            raise InputError(f"a turning step needs finite numbers, got {place}, {forward}, {left}, {turn}")
        c, s, (x, y) = math.cos(turn), math.sin(turn), place
        return Ellipse(0.5 * (forward + c * x - s * y - x), 0.5 * (left + s * x + c * y - y), height, Trapezoid(ramp))

    def position(self, u: Scalar) -> Float[ndarray, "3"]:
        """Return the position relative to lift-off [m], at the fraction u of the swing."""
        angle = math.pi * self.profile.position(u)
        along = 1.0 - np.cos(angle)
        return np.stack([self.half_step * along, self.half_side * along, self.height * np.sin(angle)])

    def rate(self, u: Scalar) -> Float[ndarray, "3"]:
        """Return d(position)/du [m]: divide by the swing's duration for the velocity."""
        angle, speed = math.pi * self.profile.position(u), math.pi * self.profile.rate(u)
        across = speed * np.sin(angle)
        return np.stack([self.half_step * across, self.half_side * across, self.height * speed * np.cos(angle)])


def swing_between(
    start: Float[ndarray, "3"], end: Float[ndarray, "3"], height: Scalar, u: Scalar, profile: Trapezoid
) -> Float[ndarray, "3"]:
    """Return the point on the half ellipse from one foothold to another [m], in any direction and at any heights."""
    angle = math.pi * profile.position(u)
    up = np.stack([0.0 * u, 0.0 * u, height * np.sin(angle)])
    return start + 0.5 * (1.0 - np.cos(angle)) * (end - start) + up
