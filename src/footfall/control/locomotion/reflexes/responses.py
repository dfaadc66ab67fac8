"""Responses: changes of the gait required by the ground and the speed.

Slope: trunk, footholds and friction pyramids follow the plane estimated from the feet; without the response it is
level. Rough ground: σ² is the mean squared distance of touchdowns from that plane; feet clear 2 σ more and the trunk
rises by σ/2. Speed: the Froude number v² / (g h) chooses the gait, with hysteresis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from footfall.gait.pattern import Gait, trot, walk
from footfall.spatial.gravity import STANDARD
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float, Shaped

CLEARANCE_PER_SIGMA, MAX_CLEARANCE = 2.0, 0.06  # additions per σ, and their maximum [m]
RISE_PER_SIGMA, MAX_RISE = 0.5, 0.02
STEPS_REMEMBERED = 6.0
SLOPE_EVENT_ANGLE = np.radians(5.0)  # slope from which it is an event
ROUGH_EVENT_SIGMA = 0.008  # σ from which it is an event [m]


def level_ground(
    enabled: Operand, slope: Float[ndarray, "3"], normal: Float[ndarray, "3"], position: Float[ndarray, "2"]
) -> Operand:
    """Return (slope, normal) of the plane below the feet, or of a level one at the same height below the base."""
    flat = np.array([0.0, 0.0, slope[2] + slope[0] * position[0] + slope[1] * position[1]])
    return np.where(enabled, slope, flat), np.where(enabled, normal, np.array([0.0, 0.0, 1.0]))


def update_unevenness(before: Scalar, touched: Shaped[ndarray, "4"], height_error: Float[ndarray, "4"]) -> Scalar:
    """Return the updated mean square of touchdown heights relative to the expected ground [m²]."""
    for k in range(4):
        before = before + np.where(touched[k], (height_error[k] * height_error[k] - before) / STEPS_REMEMBERED, 0.0)
    return before


def rough_ground_margins(enabled: Scalar, unevenness: Scalar) -> tuple[Scalar, Scalar]:
    """Return (additional clearance of swing feet, additional height of the trunk) [m]."""
    sigma = np.where(enabled, np.sqrt(unevenness + 1e-12), 0.0)
    return np.minimum(CLEARANCE_PER_SIGMA * sigma, MAX_CLEARANCE), np.minimum(RISE_PER_SIGMA * sigma, MAX_RISE)


GEARS: tuple[Gait, ...] = (walk(duty=0.78, period=0.9), trot(duty=0.6, period=0.5), trot(duty=0.5, period=0.36))
GEAR_UP_FROUDE, GEAR_DOWN_FROUDE = (0.04, 0.45), (0.025, 0.32)  # Froude numbers at which to shift up, and down


def gear(
    before: Scalar,
    speed: Scalar,
    height: Scalar,
    up: Sequence[float] = GEAR_UP_FROUDE,
    down: Sequence[float] = GEAR_DOWN_FROUDE,
    g: Scalar = STANDARD,
) -> Scalar:
    """Return which of ``GEARS`` a commanded speed [m/s] requires; between ``down`` and ``up`` the gear is kept."""
    froude = speed * speed / (g * height)
    for k in range(len(up)):
        before = np.where((froude > up[k]) & (before < k + 1.0), k + 1.0, before)
        before = np.where((froude < down[k]) & (before > 0.0 + k), 0.0 + k, before)
    return before
