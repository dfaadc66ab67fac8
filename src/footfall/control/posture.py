"""A standing posture for any robot whose legs have a closed form: feet under hips, knees the way the limits allow."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.errors import InputError
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import leg_inverse, within_limits
from footfall.robot.description import Robot

_STRETCH = 0.72  # of the straight leg: bent enough to push, straight enough to stand easily


def standing_joints(robot: Robot, hip_height: float | None = None) -> Float[ndarray, "nj"]:
    """Joint positions [rad] that stand on feet under the hips; a pose ``stand`` of the robot is taken as it is.

    hip_height: of the hips over the ground [m]; 72 % of the stretched leg unless given.
    """
    if "stand" in robot.poses and hip_height is None:
        return np.array(robot.poses["stand"].joints)
    joints = np.zeros(robot.nj)
    for foot in robot.foot_names:
        leg = leg_geometry(robot, foot)
        reach = leg.stretch + (leg.foot.length if leg.foot else 0.0)
        height = _STRETCH * reach if hip_height is None else hip_height - leg.radius
        target = np.array([0.0, 0.0, -height])
        for knee in (1, -1):
            pose = leg_inverse(robot, foot, target, knee, frame="hip")
            if bool(pose.reachable) and bool(within_limits(robot, foot, pose.joints)):
                joints[list(leg.joints)] = pose.joints
                break
        else:
            raise InputError(f"leg {foot} of robot '{robot.name}' cannot stand {height:.3f} m below its hip")
    return joints


def standing_state(robot: Robot, hip_height: float | None = None) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:
    """(q, v) at rest, level, with the lowest foot just touching z = 0."""
    from footfall.kinematics.forward import foot_positions

    q, v = robot.state(standing_joints(robot, hip_height))
    radii = np.array([foot.radius for foot in robot.feet])
    q[2] = -float(np.min(foot_positions(robot, q)[:, 2] - radii))
    return q, v
