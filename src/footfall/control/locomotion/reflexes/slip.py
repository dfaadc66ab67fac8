"""Slip: a loaded foot that slides reveals the friction, and the controller assumes no more than that.

While a foot slides its force lies on the friction cone, so |f_t| / f_n is the coefficient itself. Less friction makes
the pyramids of all QPs narrower (more normal force for the same tangential force), steps shorter (a foot further than μ
h from below the hip would need more friction than there is) and changes of speed slower. The assumed friction recovers
with time.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.spatial import cross
from nptrace import norm
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float, Shaped

MIN_SPEED = 0.2  # [m/s]
MIN_LOAD = 0.08  # fraction of the weight
MIN_DURATION = 0.01  # before this time, a foot is still landing [s]
# fraction of the tangential force that opposes the sliding: a foot that is dragged, not one that kicks
MIN_OPPOSED_FRACTION = 0.7
TRUSTED_FRACTION = 0.85  # fraction of the measured friction that is assumed
LEARN_TIME, FORGET_TIME = 0.015, 4.0  # time constants [s]
MIN_FRICTION = 0.06  # friction that is always assumed
SLOPE_FACTOR = 1.5  # times the slope: pyramids lie within the cone, and walking needs more than standing


def detect_slip(
    enabled: Scalar,
    in_stance: Float[ndarray, "4"],
    velocities: Float[ndarray, "4 3"],
    forces: Float[ndarray, "4 3"],
    normal: Float[ndarray, "3"],
    weight: float,
    slipping_for: Float[ndarray, "4"],
    dt: float,
) -> tuple[Shaped[ndarray, "4"], Float[ndarray, "4"], Float[ndarray, "4"]]:
    """Return (which feet slide, the friction that each of them measures, how long each has been sliding [s])."""
    slipping, measured = [], []
    for k in range(4):
        load, speed = forces[k] @ normal, velocities[k] - (velocities[k] @ normal) * normal
        along = forces[k] - load * normal
        opposed = -(along @ speed) > MIN_OPPOSED_FRACTION * norm(along, 1e-9) * norm(speed, 1e-9)
        slipping.append(
            (in_stance[k] > 0.5) & (load > MIN_LOAD * weight) & (norm(speed, 1e-9) > MIN_SPEED) & opposed & enabled
        )
        measured.append(norm(along, 1e-9) / np.maximum(load, 1e-3 * weight))
    slipping_for = np.where(np.stack(slipping), slipping_for + dt, 0.0)
    return slipping_for > MIN_DURATION, np.stack(measured), slipping_for


def contact_velocities(
    velocities: Float[ndarray, "4 3"],
    turning: Float[ndarray, "4 3"],
    radii: Float[ndarray, "4"],
    normal: Float[ndarray, "3"],
) -> Float[ndarray, "4 3"]:
    """Return velocities at the contact points: a rolling foot moves without sliding."""
    return np.stack([velocities[k] - cross(turning[k], radii[k] * normal) for k in range(4)])


def trusted_friction(
    friction: float,
    nominal: float,
    normal: Float[ndarray, "3"],
    slipping: Shaped[ndarray, "4"],
    measured: Float[ndarray, "4"],
    dt: float,
) -> float:
    """Return the friction assumed after this tick: on a slope at least what standing there requires."""
    floor = np.maximum(MIN_FRICTION, SLOPE_FACTOR * np.sqrt(normal[0] * normal[0] + normal[1] * normal[1]) / normal[2])
    lowest: Operand = friction
    for k in range(4):
        lowest = np.where(slipping[k], np.minimum(lowest, np.maximum(TRUSTED_FRACTION * measured[k], floor)), lowest)
    slipped = np.max(np.where(slipping, 1.0, 0.0)) > 0.5
    change: Operand = np.where(slipped, dt / LEARN_TIME * (lowest - friction), dt / FORGET_TIME * (nominal - friction))
    return friction + change
