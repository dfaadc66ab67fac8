"""A course of slopes, steps, stairs, gaps and stepping stones along x, defined by a few numbers, each of which may be
free.

With it, thousands of robots each walk on a different course, in lanes and on a GPU: the only table is one of noise,
which all share. Treads and risers are those of ``steps.Steps``, with its true distances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.checks import checked_number, known
from footfall.contact.ground import checked_friction
from footfall.contact.steps import NARROWEST, Treads
from footfall.errors import InputError
from nptrace import lookup
from nptrace._types import Scalar
from nptrace.array_types import Float

STEPS = 40  # steps of a flight of stairs, followed by a landing
_NOISE = np.random.default_rng(2024).uniform(-1.0, 1.0, 64)  # heights of bumps, repeated


@dataclass(frozen=True, eq=False, kw_only=True)
class Course(Treads):
    """Level treads ``tread`` [m] deep from ``start`` [m] on, all rotated by ``slope`` [rad] about y: uphill is
    positive.

    rise: height of every second tread [m], negative downwards. bumps: treads differ in height by up to this much [m],
    in a pattern set by ``phase``. gap: width [m] of a trench behind every tread, across the whole course and ``deep``
    [m] below it: short treads become stepping stones.
    """

    slope: float = 0.0
    rise: float = 0.0
    bumps: float = 0.0
    gap: float = 0.0
    deep: float = 0.4
    tread: float = 0.15
    phase: float = 0.0
    start: float = 0.6
    friction: float = 0.8
    fillet: float = 0.01

    def __post_init__(self) -> None:
        bounds = {
            "slope": (-0.8, 0.8),
            "rise": (-0.3, 0.3),
            "bumps": (0.0, 0.3),
            "gap": (0.0, 2.0),
            "deep": (0.0, 2.0),
            "tread": (NARROWEST, 2.0),
            "phase": (0.0, 64.0),
            "start": (-1e3, 1e3),
            "fillet": (0.0, 0.01),
        }
        for key, (low, high) in bounds.items():
            value = checked_number(getattr(self, key), f"{key} of a course", low)
            if value > high:
                raise InputError(f"{key} of a course must be at most {high:g}, got {value:g}")
            object.__setattr__(self, key, value)
        object.__setattr__(self, "friction", checked_friction(self.friction))

    def _tread_at(self, x: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """See ``Treads``; the number of a trench is that of the tread before it plus a half."""
        pitch = self.tread + self.gap
        u = (x - self.start) / pitch
        k = np.floor(u)
        along = (u - k) * pitch
        trenched = self.gap > 0.0
        inside = trenched & (along >= self.tread)
        size = np.where(inside, self.gap, self.tread)
        fraction = np.where(inside, along - self.tread, along) / size
        return k + np.where(inside, 0.5, 0.0), fraction, size, np.where(trenched, 0.5, 1.0)

    def _treads_within(self, radius: float) -> int:
        """See ``Treads``. Consecutive numbers are a tread and a trench, which may be narrower than the radius.

        Feet that are no wider than the narrowest tread meet the far side of a trench whose width is free, and less than
        their radius, when they are over it.
        """
        tread = self.tread if known(self.tread) else NARROWEST
        if known(self.gap) and self.gap == 0.0:
            return super()._treads_within(radius)
        if not known(self.gap):
            return 1 if radius <= tread else 2 * int(np.ceil(radius / tread))
        pairs, rest = divmod(radius, tread + self.gap)
        return max(1, 2 * int(pairs) + (0 if rest <= 0.0 else 1 if rest <= min(tread, self.gap) else 2))

    def _depth(self, i: Scalar) -> Scalar:
        trenched = (self.gap > 0.0) & (i - np.floor(i + 0.25) > 0.25)
        return np.where(trenched, self.gap, self.tread)

    def level(self, i: Scalar) -> Scalar:
        """Return the height of tread i before rotation [m]; treads before the first are level."""
        k = np.floor(i + 0.25)
        on = np.where(k >= 0.0, 1.0, 0.0)
        climbed = self.rise * np.clip(np.floor(0.5 * k) + 1.0, 0.0, STEPS)
        position = k + np.floor(self.phase)
        noise = lookup(_NOISE, position - 64.0 * np.floor(position / 64.0))
        return climbed + on * (self.bumps * noise - np.where(i - k > 0.25, self.deep, 0.0))

    def _into(self, p_W: Float[ndarray, "3"]) -> tuple[Scalar, Scalar, Float[ndarray, "3"]]:
        """Return (cosine and sine of the slope, the point in rotated axes)."""
        c, s = np.cos(self.slope), np.sin(self.slope)
        return c, s, np.stack([c * p_W[0] + s * p_W[2], p_W[1], c * p_W[2] - s * p_W[0]])

    def distance(self, p_W: Float[ndarray, "3"]) -> float:
        return self._nearest(self._into(p_W)[2])[0]

    def frame(self, p_W: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
        c, s, p = self._into(p_W)
        R = np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
        return R @ super().frame(p)

    def height(self, x: Scalar) -> Scalar:
        """Return the height of the course [m]; on a slope with steps, that of the tread, not of an adjacent riser."""
        c, s = np.cos(self.slope), np.sin(self.slope)
        return (s * x + self.level(self._tread_at(x / c)[0])) / c


__all__ = ["STEPS", "Course"]
