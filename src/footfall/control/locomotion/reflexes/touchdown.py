"""Early and missed touchdown: the schedule of the feet, corrected by contact.

A foot that touches the ground late in its swing is in stance from then on. A foot without ground contact when its
stance should start stays a swing foot without load, and reaches down at ``REACH_SPEED`` until it makes contact.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Shaped
from numpy import ndarray

from nptrace._types import Scalar

EARLIEST_TOUCHDOWN = 0.55  # fraction of a swing before which a contact is an obstacle
# that fraction during a sidestep: a leaning robot's feet brush the ground on their way
EARLIEST_IN_SIDESTEP = 0.75
LATE_SWING = 0.85  # fraction of a swing after which a touchdown is not an event
REACH_SPEED = 0.5  # [m/s]
REACH_TIME = 0.16  # after this time, a foot is assumed to be in stance, wherever it is [s]
LATE_EVENT_TIME = 0.02  # after which a missed touchdown is an event [s]


def early(
    enabled: Scalar,
    in_stance: Float[ndarray, "4"],
    fraction: Float[ndarray, "4"],
    in_contact: Shaped[ndarray, "4"],
    sidestep: Scalar,
) -> Shaped[ndarray, "4"]:
    """Return which feet land early; ``sidestep``: whether the robot is catching itself."""
    earliest = np.where(sidestep, EARLIEST_IN_SIDESTEP, EARLIEST_TOUCHDOWN)
    return (in_stance < 0.5) & (fraction > earliest) & in_contact & enabled


def missed(
    enabled: Scalar,
    in_stance: Float[ndarray, "4"],
    in_contact: Shaped[ndarray, "4"],
    down_before: Float[ndarray, "4"],
    late_for: Float[ndarray, "4"],
    dt: float,
) -> tuple[Shaped[ndarray, "4"], Float[ndarray, "4"]]:
    """Return (which feet reach down, how long they have been late [s])."""
    late = (in_stance > 0.5) & ~in_contact & (down_before < 0.5) & enabled
    late_for = np.where(late, late_for + dt, 0.0)
    return late & (late_for < REACH_TIME), late_for


def reach_down(late_for: Scalar) -> tuple[Scalar, Scalar]:
    """Return (target depth of a late foot below the expected ground [m], its speed [m/s])."""
    return REACH_SPEED * late_for, np.where(late_for > 0.0, REACH_SPEED, 0.0)
