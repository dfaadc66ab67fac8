"""Poses of a robot's bodies at a numeric q: enough for a drawing and for the height of a standing pose.

The full algorithm, Algorithm 1 of de Paula et al. 2024 with velocities and Jacobians, is in ``kinematics.forward``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from footfall.errors import InputError
from footfall.robot.model.description import Pose, Robot
from footfall.spatial import quaternion
from footfall.spatial.rotation import about_axis
from footfall.spatial.transform import Transform


def body_poses(robot: Robot, q: np.ndarray | None = None) -> list[Transform]:
    """Return X_WB of every body of ``robot.tree`` at ``q`` (all zero, the base at the origin, if not given)."""
    q = robot.state()[0] if q is None else np.asarray(q, dtype=float)
    if q.shape != (robot.nq,):
        raise InputError(f"q of robot '{robot.name}' must have shape ({robot.nq},), got {q.shape}")
    if not np.isfinite(q).all():
        raise InputError(f"q of robot '{robot.name}' has a value that is not finite: {q.tolist()}")
    joints = q[robot.nq - robot.nj :]
    base = Transform(quaternion.to_rotation(q[3:7]), q[:3]) if robot.floating else Transform.identity()
    poses = [base]
    for i, body in enumerate(robot.tree.bodies[1:]):
        joint = body.joint
        assert joint is not None
        if joint.kind == "prismatic":
            X_JB = Transform(np.eye(3), joints[i] * joint.axis)
        else:
            X_JB = Transform(about_axis(joint.axis, joints[i]), np.zeros(3))
        poses.append(poses[body.parent] @ body.X_PJ @ X_JB)
    return poses


def foot_centres(robot: Robot, q: np.ndarray | None = None) -> np.ndarray:
    """Return centres of the feet's spheres in the world [m], one row per foot."""
    poses = body_poses(robot, q)
    return np.array([poses[b].point(p) for b, p in zip(robot.tree.feet, robot.tree.foot_positions)]).reshape(-1, 3)


def standing_pose(robot: Robot, joints: Sequence[float] | np.ndarray) -> Pose:
    """Return joint positions as a pose whose height puts the lowest foot sphere on the ground z = 0, the base level."""
    joints = np.asarray(joints, dtype=float)
    bottoms = foot_centres(robot, robot.state(joints)[0])[:, 2] - np.array([foot.radius for foot in robot.feet])
    return Pose(joints, float(-bottoms.min()))


def two_link_angles(depth: float, upper: float, lower: float, bend: int) -> tuple[float, float]:
    """Return hip and knee [rad] that put the end of two hanging links [m] ``depth`` straight below the hip.

    Angles are right-handed about an axis; ``bend`` = +1 or -1 is the sign of the knee's.
    """
    cosine = (depth**2 - upper**2 - lower**2) / (2 * upper * lower)
    if not abs(cosine) <= 1 + 1e-9:
        raise InputError(f"links of {upper:g} m and {lower:g} m cannot reach a depth of {depth:g} m")
    knee = bend * math.acos(min(max(cosine, -1.0), 1.0))
    return -math.atan2(lower * math.sin(knee), upper + lower * math.cos(knee)), knee
