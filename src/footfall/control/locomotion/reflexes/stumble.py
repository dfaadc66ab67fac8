"""Stumble: a swinging foot that hits something retracts, lifts higher, and swings again over it.

A hit is a force against the way of the swing. From there a new swing begins at the foot, drawn back by ``RETRACT`` and
with ``HIGHER`` more clearance (more with every hit), and takes as long as was left, at least ``SHORTEST``.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from nptrace import norm
from nptrace._types import Scalar

FIRST, LAST = 0.08, 0.85  # parts of a swing within which a force may be a hit
AGAINST = 0.7  # of the force points against the swing
LASTING = 0.004  # before this it is the blow of a landing [s]
RETRACT = 0.03  # [m]
HIGHER, HIGHEST = 0.05, 0.12  # [m]
SHORTEST = 0.18  # [s]


def direction(start: Float[ndarray, "3"], end: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
    """Of a swing, level; nothing for a foot that swings on the spot."""
    way = (end - start) * np.array([1.0, 1.0, 0.0])
    return way / norm(way, 0.01)


def barred(
    on: Scalar, swinging: Scalar, part: Scalar, felt: Scalar, force: Float[ndarray, "3"], way: Float[ndarray, "3"]
) -> Scalar:
    """Whether something is in a foot's way."""
    against = -(force @ way) > AGAINST * norm(force, 1e-9)
    return on & (swinging > 0.5) & felt & (part > FIRST) & (part < LAST) & against


def swing_again(
    hit: Scalar, left: Scalar, again: Scalar, lasting: Scalar, higher: Scalar, dt: float
) -> tuple[Scalar, Scalar, Scalar]:
    """(time left, length, further clearance) of a repeated swing; all zero for one that is not."""
    fresh = hit & (again <= 0.0)
    whole = np.maximum(left, SHORTEST)
    more = np.minimum(higher + HIGHER, HIGHEST)
    again = np.where(hit, whole, np.maximum(again - dt, 0.0))
    lasting = np.where(hit, whole, np.where(again > 0.0, lasting, 0.0))
    return again, lasting, np.where(fresh, more, higher)
