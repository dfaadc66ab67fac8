"""A standing posture for any robot whose legs have a closed form: feet under hips, knees the way the limits allow."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.errors import InputError
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import leg_inverse, within_limits
from footfall.robot.description import Pose, Robot
from footfall.spatial import cross

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


def with_stand(robot: Robot) -> Robot:
    """The robot with a pose ``stand``: its own, else feet under the hips; as it is where no leg tells how to stand."""
    if "stand" in robot.poses or not (robot.floating and robot.nf):
        return robot
    try:
        q, _ = standing_state(robot)
    except InputError:
        return robot
    pose = Pose(q[7:], float(q[2]))
    return robot.replace(poses={**robot.poses, "stand": pose})


def free_motions(robot: Robot, J: Float[ndarray, "nf 3 nj"]) -> Float[ndarray, "nj nj"]:
    """P, which keeps of joint motions what feet and trunk leave free: the whole of a joint that moves no foot or
    several, as a spine does; of a leg with more than three joints what its foot does not feel, I - Jᵀ(J Jᵀ)⁻¹J."""
    moved = _moved_feet(robot)
    P = np.zeros((robot.nj, robot.nj))
    for j, feet in enumerate(moved):
        P[j, j] = 0.0 if len(feet) == 1 else 1.0
    for k in range(robot.nf):
        leg = own_joints(robot, k)
        if len(leg) <= 3:
            continue
        J_leg = np.stack([J[k][:, j] for j in leg], axis=1)
        A = J_leg @ J_leg.T + 1e-6 * np.eye(3)  # a stretched leg has no inverse: little, and no harm elsewhere
        rows = np.stack([cross(A[1], A[2]), cross(A[2], A[0]), cross(A[0], A[1])])
        N = np.eye(len(leg)) - J_leg.T @ (rows.T @ J_leg) / (A[0] @ rows[0])
        for i, row in enumerate(leg):
            for j, column in enumerate(leg):
                P[row, column] = N[i, j]
    return P


def own_joints(robot: Robot, foot: int) -> list[int]:
    """The joints that move one foot and no other, as they are counted in ``robot.joint_names``."""
    return [j for j, feet in enumerate(_moved_feet(robot)) if feet == [foot]]


def _moved_feet(robot: Robot) -> list[list[int]]:
    """Of every joint, the feet that it moves."""
    tree = robot.tree
    return [[k for k, body in enumerate(tree.feet) if j in tree.support[body]] for j in range(1, robot.nj + 1)]


def standing_state(robot: Robot, hip_height: float | None = None) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:
    """(q, v) at rest, level, with the lowest foot just touching z = 0."""
    from footfall.kinematics.forward import foot_positions

    q, v = robot.state(standing_joints(robot, hip_height))
    radii = np.array([foot.radius for foot in robot.feet])
    q[2] = -float(np.min(foot_positions(robot, q)[:, 2] - radii))
    return q, v
