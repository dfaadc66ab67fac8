"""A standing posture for any robot whose legs have a closed form: feet below hips, knees bent as the limits permit."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.errors import InputError
from footfall.kinematics.closed_loops import closed_joints
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import hip_height as hip_height_of
from footfall.kinematics.leg_inverse import leg_inverse, within_limits
from footfall.robot.files.draft import stand_of
from footfall.robot.model.description import Pose, Robot
from footfall.robot.model.placement import foot_centres, standing_pose
from footfall.spatial import cross
from footfall.spatial.gravity import weight_of
from nptrace.array_types import Float

_MAX_UNEVENNESS = 0.2  # fraction of the height by which soles of a standing pose may differ in height
_MIN_STRETCH_FRACTION = 0.35  # fraction of the stretched leg: with lower hips, the robot lies rather than stands
_STAND_STRETCH_FRACTION = 0.72  # fraction of the straight leg: bent enough to push, straight enough to stand easily


def standing_joints(robot: Robot, hip_height: float | None = None) -> Float[ndarray, "nj"]:
    """Return the joint positions of a standing robot: those of its pose ``stand``, else with its feet below the hips.

    Args:
        robot: The robot.
        hip_height: Height of the hips over the ground [m]; 72 % of the stretched leg unless given.

    Returns:
        Joint positions [rad].
    """
    if "stand" in robot.poses and hip_height is None:
        return np.array(robot.poses["stand"].joints)
    joints = _rest_joints(robot)
    for foot in robot.foot_names:
        leg = leg_geometry(robot, foot, nearly=True)
        reach = leg.stretch + (leg.foot.length if leg.foot else 0.0)
        height = _STAND_STRETCH_FRACTION * reach if hip_height is None else hip_height - leg.radius
        target = np.array([0.0, 0.0, -height])
        for knee in (1, -1):
            pose = leg_inverse(robot, foot, target, knee, frame="hip", nearly=True)
            if bool(pose.reachable) and bool(within_limits(robot, foot, pose.joints)):
                joints[list(leg.joints)] = pose.joints
                break
        else:
            raise InputError(f"leg {foot} of robot '{robot.name}' cannot stand {height:.3f} m below its hip")
    if not robot.loops:
        return joints
    given = [j for foot in robot.foot_names for j in leg_geometry(robot, foot, nearly=True).joints]
    return closed_joints(robot, joints, given)


def with_stand(robot: Robot) -> Robot:
    """Return the robot with a pose ``stand``: its own, or what its file calls ``home`` or ``standing`` if that
    stands on its feet, otherwise feet below the hips; unchanged if no leg can stand.
    """
    if not (robot.floating and robot.nf) or ("stand" in robot.poses and robot.model_file is None):
        return robot
    given = stand_of(robot.poses)
    if given is not None and (given == "stand" or stands_in(robot, robot.poses[given].joints)):
        joints = robot.poses[given].joints
        joints = closed_joints(robot, joints) if robot.loops else joints
        pose = standing_pose(robot, joints)  # heights of keyframes are rounded, or chosen for a drop
    else:
        try:
            q, _ = standing_state(robot)
        except InputError:
            return robot
        pose = Pose(q[7:], float(q[2]))
    return robot.replace(poses={**robot.poses, "stand": pose})


def why_no_stand(robot: Robot) -> str:
    """Return why a robot has no pose ``stand``, as text; empty if it has one."""
    if "stand" in robot.poses:
        return ""
    if not robot.floating:
        return "its base is fixed (floating=True frees it)"
    if not robot.nf:
        return "it has no feet (feet=[...] names them)"
    try:
        standing_state(robot)
    except InputError as error:
        return str(error)
    return "its description has none (footfall.control.posture.with_stand makes one)"


def stands_in(robot: Robot, joints: Float[ndarray, "nj"]) -> bool:
    """Return whether a pose is a stand: all feet about level below the base, legs neither folded nor stretched."""
    soles = foot_centres(robot, robot.state(joints)[0])[:, 2] - np.array([foot.radius for foot in robot.feet])
    if soles.max() >= 0 or np.ptp(soles) > _MAX_UNEVENNESS * -soles.min():
        return False
    for foot in robot.foot_names:
        try:
            leg = leg_geometry(robot, foot, nearly=True)
        except InputError:
            continue
        reach = leg.stretch + (leg.foot.length if leg.foot else 0.0)
        if not _MIN_STRETCH_FRACTION < (hip_height_of(leg, [joints[j] for j in leg.joints]) - leg.radius) / reach < 1.0:
            return False
    return True


def load_of_standing(robot: Robot) -> Float[ndarray, "nj"]:
    """Return torques that hold the robot in its stand, its weight shared by the feet [N m]."""
    from footfall.dynamics.gravity_terms import gravity_terms
    from footfall.kinematics.jacobian import feet_jacobian

    q, _ = robot.state("stand")
    share = np.array([0.0, 0.0, weight_of(robot.mass) / robot.nf])
    carried = sum(J[3:, 6:].T @ share for J in feet_jacobian(robot, q))
    return np.asarray(gravity_terms(robot, q)[6:] - carried)


def _rest_joints(robot: Robot) -> Float[ndarray, "nj"]:
    """Return positions of joints outside legs: as in the file's stand, otherwise zero, or the nearest value within
    their limits.
    """
    given = stand_of(robot.poses)
    if given is not None:
        return np.array(robot.poses[given].joints)
    limits = [(body.joint.lower, body.joint.upper) for body in robot.tree.bodies[1:] if body.joint is not None]
    return np.array([min(max(0.0, lower), upper) for lower, upper in limits])


def free_motions(robot: Robot, J: Float[ndarray, "nf 3 nj"]) -> Float[ndarray, "nj nj"]:
    """Return P, the projection of joint motions onto those free of feet and trunk: the whole motion of a joint that
    moves no foot or several, as in a spine; for a leg with more than three joints its null space, I - Jᵀ(J Jᵀ)⁻¹J.
    """
    moved = _moved_feet(robot)
    P = np.zeros((robot.nj, robot.nj))
    for j, feet in enumerate(moved):
        P[j, j] = 0.0 if len(feet) == 1 else 1.0
    for k in range(robot.nf):
        leg = own_joints(robot, k)
        if len(leg) <= 3:
            continue
        J_leg = np.stack([J[k][:, j] for j in leg], axis=1)
        A = J_leg @ J_leg.T + 1e-6 * np.eye(3)  # a stretched leg has no inverse: small, and harmless elsewhere
        rows = np.stack([cross(A[1], A[2]), cross(A[2], A[0]), cross(A[0], A[1])])
        N = np.eye(len(leg)) - J_leg.T @ (rows.T @ J_leg) / (A[0] @ rows[0])
        for i, row in enumerate(leg):
            for j, column in enumerate(leg):
                P[row, column] = N[i, j]
    return P


def own_joints(robot: Robot, foot: int) -> list[int]:
    """Return the indices in ``robot.joint_names`` of the joints that move one foot and no other."""
    return [j for j, feet in enumerate(_moved_feet(robot)) if feet == [foot]]


def _moved_feet(robot: Robot) -> list[list[int]]:
    """Return the feet that each joint moves."""
    tree = robot.tree
    return [[k for k, body in enumerate(tree.feet) if j in tree.support[body]] for j in range(1, robot.nj + 1)]


def standing_state(robot: Robot, hip_height: float | None = None) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:
    """Return the state of a standing robot: at rest, level, with the lowest foot just touching z = 0.

    Args:
        robot: The robot.
        hip_height: Height of the hips above the ground [m]; 72 % of the stretched leg unless given.

    Returns:
        q and v.
    """
    from footfall.kinematics.forward import foot_positions

    q, v = robot.state(standing_joints(robot, hip_height))
    radii = np.array([foot.radius for foot in robot.feet])
    q[2] = -float(np.min(foot_positions(robot, q)[:, 2] - radii))
    return q, v
