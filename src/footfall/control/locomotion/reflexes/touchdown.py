"""Early and missed touchdown: the schedule of the feet, corrected by contact.

A foot that feels the ground late in its swing stands from then on. One that finds no ground where its stance should
begin stays a swinging foot, without a share of the load, and reaches down until it feels some. The hips of a robot that
tips over its other feet fall at up to sqrt(g h): in a sidestep of ``Locomotion`` a foot reaches down at a fraction of
that speed.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.spatial.gravity import STANDARD
from nptrace._types import Scalar
from nptrace.array_types import Float, Shaped

EARLIEST_TOUCHDOWN = 0.55  # fraction of a swing before which a contact is an obstacle
# that fraction during a sidestep: a leaning robot's feet brush the ground on their way
EARLIEST_IN_SIDESTEP = 0.75
LATE_SWING = 0.85  # fraction of a swing after which a touchdown is not an event
REACH_SPEED = 0.5  # [m/s]
REACH_SPEED_IN_SIDESTEP = 0.6  # of sqrt(g h)
REACH_TIME = 0.16  # after this a foot is taken to stand, wherever it is [s]
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


def reach_speed(sidestep: Scalar, height: Scalar, g: Scalar = STANDARD) -> Scalar:
    """Return the speed at which a late foot goes down [m/s]: in a sidestep, that of a falling trunk."""
    return np.where(sidestep, REACH_SPEED_IN_SIDESTEP * np.sqrt(g * height), REACH_SPEED)


def reach_down(late_for: Scalar, speed: Scalar = REACH_SPEED) -> tuple[Scalar, Scalar]:
    """Return (depth below the expected ground that a late foot is moved to [m], its speed [m/s])."""
    return speed * late_for, np.where(late_for > 0.0, speed, 0.0)
