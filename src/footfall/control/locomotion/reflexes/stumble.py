"""Stumble: a swing foot that hits an obstacle retracts, lifts higher, and swings over it.

A hit is a force against the direction of the swing. A new swing then starts at the foot, retracted by ``RETRACT`` and
with ``EXTRA_CLEARANCE`` more clearance (more with every hit), and takes the remaining time, at least
``MIN_SWING_TIME``.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from nptrace import norm
from nptrace._types import Operand
from nptrace.array_types import Float

EARLIEST_HIT, LATEST_HIT = 0.08, 0.85  # fractions of a swing within which a force may be a hit
MIN_OPPOSED_FRACTION = 0.7  # fraction of the force that opposes the swing
MIN_DURATION = 0.004  # before this time, it is the impact of a landing [s]
RETRACT = 0.03  # [m]
EXTRA_CLEARANCE, MAX_EXTRA_CLEARANCE = 0.05, 0.12  # [m]
MIN_SWING_TIME = 0.18  # [s]


def direction(start: Float[ndarray, "3"], end: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
    """Return the horizontal direction of a swing; zero for a foot that swings on the spot."""
    step = (end - start) * np.array([1.0, 1.0, 0.0])
    return step / norm(step, 0.01)


def is_blocked(
    enabled: Operand,
    swinging: Operand,
    fraction: Operand,
    in_contact: Operand,
    force: Float[ndarray, "3"],
    swing_direction: Float[ndarray, "3"],
) -> Operand:
    """Return whether an obstacle is in a foot's way."""
    against = -(force @ swing_direction) > MIN_OPPOSED_FRACTION * norm(force, 1e-9)
    return enabled & (swinging > 0.5) & in_contact & (fraction > EARLIEST_HIT) & (fraction < LATEST_HIT) & against


def repeat_swing(
    hit: Operand,
    swing_time_left: Operand,
    repeat_left: Operand,
    repeat_time: Operand,
    extra_clearance: Operand,
    dt: float,
) -> tuple[Operand, Operand, Operand]:
    """Return (time left, length, additional clearance) of a repeated swing; all zero for a normal one."""
    is_new = hit & (repeat_left <= 0.0)
    duration = np.maximum(swing_time_left, MIN_SWING_TIME)
    raised = np.minimum(extra_clearance + EXTRA_CLEARANCE, MAX_EXTRA_CLEARANCE)
    repeat_left = np.where(hit, duration, np.maximum(repeat_left - dt, 0.0))
    repeat_time = np.where(hit, duration, np.where(repeat_left > 0.0, repeat_time, 0.0))
    return repeat_left, repeat_time, np.where(is_new, raised, extra_clearance)
