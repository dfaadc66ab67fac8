"""Early and missed touchdown: the schedule of the feet, corrected by what they feel.

A foot that feels the ground late in its swing stands from then on. One that finds no ground where its stance should
begin stays a swinging foot, without a share of the load, and reaches down at ``REACH_SPEED`` until it feels some.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Shaped
from numpy import ndarray

from nptrace._types import Scalar

EARLIEST = 0.55  # part of a swing before which the ground is an obstacle
ON_TIME = 0.85  # part of a swing after which a touchdown is no event
REACH_SPEED = 0.5  # [m/s]
REACH_TIME = 0.16  # after this a foot is taken to stand, wherever it is [s]
LATE = 0.02  # after which a missed touchdown is an event [s]


def early(
    on: Scalar, planned: Float[ndarray, "4"], part: Float[ndarray, "4"], felt: Shaped[ndarray, "4"]
) -> Shaped[ndarray, "4"]:
    """Which feet stand before their time."""
    return (planned < 0.5) & (part > EARLIEST) & felt & on


def missed(
    on: Scalar,
    planned: Float[ndarray, "4"],
    felt: Shaped[ndarray, "4"],
    down_before: Float[ndarray, "4"],
    since: Float[ndarray, "4"],
    dt: float,
) -> tuple[Shaped[ndarray, "4"], Float[ndarray, "4"]]:
    """(which feet reach down, how long they have been late [s])."""
    late = (planned > 0.5) & ~felt & (down_before < 0.5) & on
    since = np.where(late, since + dt, 0.0)
    return late & (since < REACH_TIME), since


def reach(since: Scalar) -> tuple[Scalar, Scalar]:
    """(how far below the expected ground a late foot is wanted [m], how fast it goes there [m/s])."""
    return REACH_SPEED * since, np.where(since > 0.0, REACH_SPEED, 0.0)
