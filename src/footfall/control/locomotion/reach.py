"""Arms of walking robots: a point on a link reaches a position in the world, or pushes there.

This is a task of the whole-body QP besides those of feet and trunk: J a = kp (target - p) - kd J v - dJ/dt v, three
rows for the point and three for the link's axes where they matter; far away, the pull is limited to that of the maximum
speed, J a = kd (s - J v) - dJ/dt v. The joints of the arm keep their posture, away from their stops, in the null space
of the task: P = 1 - Jᵀ(J Jᵀ)⁻¹J on them. Stops bound their accelerations, y'' >= k² (stop - y) - 2 k y': what one joint
cannot do, the others take over.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy import ndarray

from footfall.checks import checked_number, three_numbers
from footfall.errors import InputError, unknown
from footfall.kinematics.forward import body_poses, foot_positions
from footfall.kinematics.jacobian import feet_bias_acceleration, feet_jacobian
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Foot
from footfall.spatial.rotation import is_rotation
from nptrace.array_types import Float
from nptrace.solve.factor import cholesky, cholesky_solve

_SINGULAR_DAMPING = 1e-6  # [m²]: a stretched arm has no inverse
_MAX_LINK_RATE = 2.0  # [rad/s]: largest angular velocity of a link towards its orientation
_STOP_RATE = 20.0  # [1/s]: braking rate of a joint before a stop
_STOP_MARGIN = 0.02  # [rad, m]: distance before a stop at which a joint comes to rest
_MAX_BRAKING = 50.0  # [rad/s²]: largest acceleration that a stop may require; more might be beyond the motor
# [rad, m]: distance before a stop at which an arm's free motions avoid it, and by how much at the stop
_STOP_ZONE, _STOP_REPULSION = 0.5, 4.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Reach:
    """A task that brings ``point`` [m] of a ``link`` to ``position`` [m] in the world, and holds it there.

    rotation: desired R_WL of the link; None leaves it free. force: contact force of the link on its environment
    [N], world axes. stiffness [1/s²] and damping [1/s] of the task, and its weight in the whole-body QP. speed:
    largest speed of the point [m/s].
    """

    link: str
    position: tuple[float, float, float]
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: Float[ndarray, "3 3"] | None = None
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    stiffness: float = 400.0
    damping: float = 40.0
    weight: float = 3.0
    speed: float = 0.5

    NOT_IN_DIGEST = ("position", "force")  # these are in the controller's memory: one program serves all values

    @property
    def goal(self) -> Float[ndarray, "6"]:
        """Return position [m] and force [N], which may change while the robot walks."""
        return np.array([*self.position, *self.force])

    def __post_init__(self) -> None:
        for key in ("position", "point", "force"):
            values = three_numbers(np.array(getattr(self, key), dtype=float), f"the {key} of a reach")
            object.__setattr__(self, key, tuple(values.tolist()))
        for key in ("stiffness", "damping", "weight", "speed"):
            above = key in ("damping", "speed")
            object.__setattr__(self, key, checked_number(getattr(self, key), f"{key} of a reach", 0.0, above=above))
        if self.rotation is not None and not is_rotation(np.asarray(self.rotation, dtype=float)):
            raise InputError("the rotation of a reach must be a rotation matrix")


@dataclass(frozen=True, kw_only=True)
class ReachTask:
    """J a = goal, and the arm's reaction in the bias forces."""

    J: Float[ndarray, "m nv"]
    goal: Float[ndarray, "m"]
    weight: float
    pushes: Float[ndarray, "nv"]  # generalised forces of the arm's motors for the push
    low: Float[ndarray, "nv"]  # accelerations that the stops of the arm's joints permit; 1e30 without
    high: Float[ndarray, "nv"]


@lru_cache(maxsize=32)
def hand_of(robot: Robot, link: str, point: tuple[float, float, float]) -> Robot:
    """Return the robot with the hand as a last, further foot. Raise for links that carry a foot, or that no joint
    moves alone.
    """
    if link not in robot.tree.frames:
        raise unknown("link to reach with", link, robot.tree.frames, f"robot '{robot.name}' has")
    if not arm_joints(robot, link):
        raise InputError(f"link '{link}' of robot '{robot.name}' cannot reach: no joint moves it without moving a foot")
    return robot.replace(feet=[*robot.feet, Foot(name="hand", link=link, position=np.array(point))], poses={})


def arm_joints(robot: Robot, link: str) -> list[int]:
    """Return the indices in ``robot.joint_names`` of the joints that move a link but no foot."""
    tree = robot.tree
    return [j - 1 for j in tree.support[tree.frames[link][0]] if not any(j in tree.support[foot] for foot in tree.feet)]


def stopped_joints(robot: Robot, link: str) -> tuple[int, ...]:
    """Return those of ``arm_joints`` that have a stop on either side."""
    return tuple(j for j in arm_joints(robot, link) if np.isfinite(_stops(robot, j)).any())


def _stops(robot: Robot, j: int) -> tuple[float, float]:
    joint = robot.joint(robot.joint_names[j])
    return joint.lower, joint.upper


def stop_accelerations(
    robot: Robot, link: str, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]
) -> tuple[Float[ndarray, "nv"], Float[ndarray, "nv"]]:
    """Return the smallest and largest acceleration with which the arm's joints stay within their stops; 1e30 for
    none.
    """
    low, high = [np.full(robot.nv, far) + 0.0 * v for far in (-1e30, 1e30)]
    for j in stopped_joints(robot, link):
        lower, upper = _stops(robot, j)
        before = min(_STOP_MARGIN, 0.25 * (upper - lower))
        brake = -2.0 * _STOP_RATE * v[6 + j]
        if np.isfinite(lower):
            low[6 + j] = np.minimum(_STOP_RATE**2 * (lower + before - q[7 + j]) + brake, _MAX_BRAKING)
        if np.isfinite(upper):
            high[6 + j] = np.maximum(_STOP_RATE**2 * (upper - before - q[7 + j]) + brake, -_MAX_BRAKING)
    return low, high


def _approach_velocity(error: Float[ndarray, "3"], gain: float, max_speed: float) -> Float[ndarray, "3"]:
    """Return the approach velocity: gain times distance, limited to the maximum speed."""
    velocity = gain * error
    return velocity * (max_speed / np.maximum(np.sqrt(velocity @ velocity + 1e-12), max_speed))


def reach_task(
    robot: Robot, reach: Reach, reach_goal: Float[ndarray, "6"], q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]
) -> ReachTask:
    """Return the task at one state; ``velocity`` as in ``Reach.velocity``."""
    hand = hand_of(robot, reach.link, reach.point)
    J, rate = feet_jacobian(hand, q)[-1], feet_bias_acceleration(hand, q, v)[-1]
    kd = reach.damping
    gain = reach.stiffness / kd
    position_error = reach_goal[:3] - foot_positions(hand, q)[-1]
    goal = kd * (_approach_velocity(position_error, gain, reach.speed) - J[3:] @ v) - rate[3:]
    pushes = J[3:].T @ reach_goal[3:]
    low, high = stop_accelerations(robot, reach.link, q, v)
    if reach.rotation is None:
        return ReachTask(J=J[3:], goal=goal, weight=reach.weight, pushes=pushes, low=low, high=high)
    body, X_BL = robot.tree.frames[reach.link]
    R = np.array(reach.rotation) @ (body_poses(robot, q)[body].R @ X_BL.R).T  # remaining rotation, world axes
    rotation_error = 0.5 * np.stack([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    angular = kd * (_approach_velocity(rotation_error, gain, _MAX_LINK_RATE) - J[:3] @ v) - rate[:3]
    return ReachTask(
        J=np.concatenate([J[3:], J[:3]]),
        goal=np.concatenate([goal, angular]),
        weight=reach.weight,
        pushes=pushes,
        low=low,
        high=high,
    )


def remove_task_motions(
    robot: Robot, reach: Reach, J: Float[ndarray, "m nv"], free: Float[ndarray, "nj nj"]
) -> Float[ndarray, "nj nj"]:
    """Return ``free`` (``posture.free_motions``) without the motions that the arm needs for its task."""
    arm, P = arm_joints(robot, reach.link), np.array(free)
    J_arm = np.stack([J[:, 6 + j] for j in arm], axis=1)
    A = J_arm @ J_arm.T + _SINGULAR_DAMPING * np.eye(len(J_arm))
    N = np.eye(len(arm)) - J_arm.T @ cholesky_solve(cholesky(A), J_arm)
    for i, row in enumerate(arm):
        for j, column in enumerate(arm):
            P[row, column] = N[i, j]
    return P


def keep_off_stops(
    robot: Robot, link: str, posture_error: Float[ndarray, "nj"], q: Float[ndarray, "nq"]
) -> Float[ndarray, "nj"]:
    """Return the posture error of joints, and of the arm's joints near their stops."""
    error = np.array(posture_error)
    for j in stopped_joints(robot, link):
        lower, upper = _stops(robot, j)
        zone = min(_STOP_ZONE, 0.25 * (upper - lower))
        for stop, direction in ((lower, 1.0), (upper, -1.0)):
            if np.isfinite(stop):
                error[j] = (
                    error[j]
                    + direction
                    * _STOP_REPULSION
                    * zone
                    * np.clip(1.0 - direction * (q[7 + j] - stop) / zone, 0.0, 1.0) ** 2
                )
    return error
