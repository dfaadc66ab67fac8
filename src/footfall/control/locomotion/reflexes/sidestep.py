"""Sidestep: feet follow the capture point (DynaKat: "kick out the legs to one side to catch its fall").

The capture point of the centre of mass's motion relative to the desired one, ξ = c + sqrt(h / g) (ċ - v_wanted), is
where a foot must land to stop it. As long as it lies well within the polygon of all four feet (the Wide Stability
Margin of DynaKat, for ξ instead of the centre of gravity), normal footholds suffice. When it comes within ``MARGIN`` of
the border, a standing robot starts to step, and swing feet move all the way to it, for ``HOLD_TIME``.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.spatial.gravity import STANDARD
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float

FEET_IN_CIRCLE = (0, 1, 3, 2)  # LF, RF, RH, LH: the feet in circular order
MARGIN = 0.02  # [m]
HOLD_TIME = 0.5  # [s]
PERIOD_SCALE = 0.75  # fraction of the gait's period while it lasts
MAX_STEP = 0.7  # largest distance from below the hip, as a fraction of its height


def capture_point(
    com: Float[ndarray, "3"],
    velocity: Float[ndarray, "3"],
    velocity_des: Float[ndarray, "3"],
    height: Scalar,
    g: Scalar = STANDARD,
) -> Float[ndarray, "2"]:
    """Return where a foot would have to land to stop the motion beyond the desired one [m]."""
    return com[:2] + np.sqrt(height / g) * (velocity - velocity_des)[:2]


def margin(point: Float[ndarray, "2"], feet: Float[ndarray, "4 3"]) -> Scalar:
    """Return the signed distance of a point from the nearest side of the feet's quadrilateral, positive inside [m]."""
    corners = [feet[k, :2] for k in FEET_IN_CIRCLE]
    sides = []
    for a, b in zip(corners, corners[1:] + corners[:1]):
        edge = b - a
        length = np.sqrt(edge[0] * edge[0] + edge[1] * edge[1] + 1e-12)
        # clockwise: the inside is on the right
        sides.append((edge[1] * (point[0] - a[0]) - edge[0] * (point[1] - a[1])) / length)
    return np.minimum(np.minimum(sides[0], sides[1]), np.minimum(sides[2], sides[3]))


def update_alarm(enabled: Operand, margin_now: Operand, alarm: Operand, dt: float) -> Operand:
    """Return the time left of a sidestep [s]."""
    return np.where(enabled & (margin_now < MARGIN), HOLD_TIME, np.maximum(alarm - dt, 0.0))
