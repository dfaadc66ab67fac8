"""Slip: a loaded foot that slides tells the friction there is, and the controller trusts no more than that.

While a foot slides its force lies on the friction cone, so |f_t| / f_n is the coefficient itself. Less trust makes the
pyramids of all programs narrower (more normal force for the same push along the ground), steps shorter (a foot beyond
μ h from under the hip would need more friction than there is) and changes of speed slower. Trust comes back in time.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Shaped
from numpy import ndarray

from footfall.spatial import cross
from nptrace import norm
from nptrace._types import Scalar

SLIDING = 0.2  # [m/s]
LOADED = 0.08  # of the weight
LASTING = 0.01  # before this it is a foot that lands [s]
OPPOSED = 0.7  # of the force along the ground points against the sliding: a foot that is dragged, not one that kicks
CAUTION = 0.85  # of the friction measured is trusted
LEARN, FORGET = 0.015, 4.0  # time constants [s]
LEAST = 0.06  # friction that is always trusted
UPHILL = 1.5  # times the slope: pyramids lie within the cone, and walking takes more than standing


def sliding(
    on: Scalar,
    stood: Float[ndarray, "4"],
    velocities: Float[ndarray, "4 3"],
    forces: Float[ndarray, "4 3"],
    normal: Float[ndarray, "3"],
    weight: float,
    slid: Float[ndarray, "4"],
    dt: float,
) -> tuple[Shaped[ndarray, "4"], Float[ndarray, "4"], Float[ndarray, "4"]]:
    """(which feet slide, the friction each of them measures, for how long each has been sliding [s])."""
    which, measured = [], []
    for k in range(4):
        load, speed = forces[k] @ normal, velocities[k] - (velocities[k] @ normal) * normal
        along = forces[k] - load * normal
        held = -(along @ speed) > OPPOSED * norm(along, 1e-9) * norm(speed, 1e-9)
        which.append((stood[k] > 0.5) & (load > LOADED * weight) & (norm(speed, 1e-9) > SLIDING) & held & on)
        measured.append(norm(along, 1e-9) / np.maximum(load, 1e-3 * weight))
    slid = np.where(np.stack(which), slid + dt, 0.0)
    return slid > LASTING, np.stack(measured), slid


def of_the_soles(
    velocities: Float[ndarray, "4 3"],
    turning: Float[ndarray, "4 3"],
    radii: Float[ndarray, "4"],
    normal: Float[ndarray, "3"],
) -> Float[ndarray, "4 3"]:
    """Velocities where the feet touch: a foot that rolls moves, and does not slide."""
    return np.stack([velocities[k] - cross(turning[k], radii[k] * normal) for k in range(4)])


def trusted(
    trust: Scalar,
    usual: float,
    normal: Float[ndarray, "3"],
    slides: Shaped[ndarray, "4"],
    measured: Float[ndarray, "4"],
    dt: float,
) -> Scalar:
    """The friction to count on after this tick: on a slope at least what standing there takes."""
    floor = np.maximum(LEAST, UPHILL * np.sqrt(normal[0] * normal[0] + normal[1] * normal[1]) / normal[2])
    least = trust
    for k in range(4):
        least = np.where(slides[k], np.minimum(least, np.maximum(CAUTION * measured[k], floor)), least)
    slipped = np.max(np.where(slides, 1.0, 0.0)) > 0.5
    return trust + np.where(slipped, dt / LEARN * (least - trust), dt / FORGET * (usual - trust))
