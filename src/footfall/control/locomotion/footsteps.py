"""Footsteps: foothold placement by speed and its error (Raibert), swing trajectories, and the ground estimated from the
feet.

A foothold lies below the hip, shifted by half of the body's travel in a stance and by a fraction of the velocity error:
p = p_hip + v T_stance / 2 + k (v - v_wanted), k = 0.4 sqrt(h / g).
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.spatial.gravity import STANDARD
from nptrace._types import Scalar
from nptrace.array_types import Float


def foothold(
    under_hip: Float[ndarray, "3"],
    velocity: Float[ndarray, "3"],
    velocity_des: Float[ndarray, "3"],
    stance: float,
    height: float,
    max_step: Scalar = 0.45,
    capture: Scalar = False,
    g: Scalar = STANDARD,
) -> Float[ndarray, "3"]:
    """Return the touchdown position in the world [m] (without its height); velocities are the hip's.

    furthest: distance from below the hip, as a fraction of the height. capture: multiply the error by sqrt(h / g),
    which stops it in one step. g: magnitude of gravity [m/s²].
    """
    fall_time = np.sqrt(height / g)
    gain = np.where(capture, fall_time, 0.5 * stance + 0.4 * fall_time)
    step = (0.5 * stance * velocity_des + gain * (velocity - velocity_des))[:2]
    length = np.sqrt(step[0] * step[0] + step[1] * step[1] + 1e-12)
    step = step * np.minimum(1.0, max_step * height / length)
    return np.array([under_hip[0] + step[0], under_hip[1] + step[1], under_hip[2]])


def swing(
    start: Float[ndarray, "3"], end: Float[ndarray, "3"], clearance: float, s: Scalar, duration: Scalar
) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"], Float[ndarray, "3"]]:
    """Return (position, velocity, acceleration) of a foot at the fraction s of its swing, ``clearance`` above both
    ends.

    The path is minimum-jerk horizontally, and vertically up to the apex and down again.
    """
    x, dx, ddx = _minimum_jerk(s)
    along = end[:2] - start[:2]
    top = np.maximum(start[2], end[2]) + clearance
    rising = s < 0.5
    low, high = np.where(rising, start[2], top), np.where(rising, top, end[2])
    z, dz, ddz = _minimum_jerk(2 * s - np.where(rising, 0.0, 1.0))
    rise = high - low
    return (
        np.array([start[0] + x * along[0], start[1] + x * along[1], low + z * rise]),
        np.array([dx * along[0], dx * along[1], 2 * dz * rise]) / duration,
        np.array([ddx * along[0], ddx * along[1], 4 * ddz * rise]) / duration**2,
    )


def _minimum_jerk(s: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    s = np.clip(s, 0.0, 1.0)
    return (
        s * s * s * (10 - 15 * s + 6 * s * s),
        30 * s * s * (1 - s) * (1 - s),
        60 * s * (1 - s) * (1 - 2 * s),
    )


def ground_slope(points: Float[ndarray, "n 3"]) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"]]:
    """Return ((a, b, c), normal) of the plane z = a x + b y + c fitted to some points; undetermined directions are
    level.
    """
    count = len(points)
    middle = sum(points[k] for k in range(count)) / count
    away = points - middle
    xx, xy, yy = (sum(away[k, i] * away[k, j] for k in range(count)) for i, j in ((0, 0), (0, 1), (1, 1)))
    xz, yz = (sum(away[k, i] * away[k, 2] for k in range(count)) for i in (0, 1))
    xx, yy = xx + 1e-3, yy + 1e-3
    determinant = xx * yy - xy * xy
    a, b = (yy * xz - xy * yz) / determinant, (xx * yz - xy * xz) / determinant
    normal = np.array([-a, -b, 1.0 + 0.0 * a])
    return np.array([a, b, middle[2] - a * middle[0] - b * middle[1]]), normal / np.sqrt(a * a + b * b + 1.0)
