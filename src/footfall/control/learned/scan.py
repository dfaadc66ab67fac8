"""Heights of the ground around a robot, for policies that observe them."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.contact.ground import Ground
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.spatial.quaternion import to_rotation
from nptrace import repeat
from nptrace._types import Scalar
from nptrace.array_types import Float

ScanPoints = tuple[tuple[float, float], ...]  # forward and to the left of the trunk [m]
MAX_HEIGHT = 1.0  # largest height in a scan [m]
NO_GROUND_MESSAGE = "this policy observes the ground around it: pass it, policy.over(ground)"
# [m] above the trunk at which the search for the ground starts, and its number of steps down
_SCAN_START_HEIGHT, _SCAN_STEPS = 0.5, 12


def scan_points_world(q: Float[ndarray, "nq"], points: ScanPoints) -> list[tuple[Scalar, Scalar]]:
    """Return the points in the world [m], given in level axes that face the trunk's heading."""
    R = to_rotation(q[3:7])
    length = np.sqrt(R[0, 0] * R[0, 0] + R[1, 0] * R[1, 0] + 1e-12)
    c, s = R[0, 0] / length, R[1, 0] / length
    return [(q[0] + c * x - s * y, q[1] + s * x + c * y) for x, y in points]


def heights_under(ground: Ground, q: Float[ndarray, "nq"], points: ScanPoints) -> Float[ndarray, "k"]:
    """Return the heights of any ground at points [m], by sphere tracing from above (Hart 1996)."""
    points_W = scan_points_world(q, points)

    def lower(_: Scalar, z: ndarray) -> ndarray:
        return np.stack([z[k] - ground.distance(np.stack([x, y, z[k]])) for k, (x, y) in enumerate(points_W)])

    return repeat(_SCAN_STEPS, lower, np.zeros(len(points)) + (q[2] + _SCAN_START_HEIGHT))


def heights_seen(
    robot: Robot, ground: Ground | None, q: Float[ndarray, "nq"], points: ScanPoints
) -> Float[ndarray, "k"]:
    """Return heights as a policy observes them."""
    if ground is None:
        raise InputError(NO_GROUND_MESSAGE)
    return relative_heights(robot, q, heights_under(ground, q, points))


def relative_heights(robot: Robot, q: Float[ndarray, "nq"], heights: Float[ndarray, "k"]) -> Float[ndarray, "k"]:
    """Return heights relative to the ground level that the trunk's height implies."""
    return np.clip(heights - (q[2] - robot.poses["stand"].height), -MAX_HEIGHT, MAX_HEIGHT)
