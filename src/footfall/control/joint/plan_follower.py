"""A motion plan of body and feet, followed by inverse kinematics and joint PD: the controller of Yan et al. 2021, eq.
(25).

The desired feet relative to the body give joint angles, and their differences joint rates. Torques are fed forward for
the weight: gravity of the links, and stance-foot forces that carry the robot, distributed so that they act below its
centre of mass. Only the joints are sensed: the planned position may drift from the true one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, Controller, JointCommand, Sensed, check_rate
from footfall.control.joint.joint_pd import (
    SPINE_GAINS,
    check_gain,
    check_inverse,
    gains_of,
    iterative_leg_inverse,
    with_loops,
)
from footfall.dynamics.gravity_terms import gravity_terms
from footfall.errors import InputError
from footfall.gait.named_plans import named_plan
from footfall.gait.pattern import LEGS
from footfall.gait.planner import MotionPlan, PlannedPose
from footfall.gait.takeover import take_over
from footfall.kinematics.closed_loops import motor_torques
from footfall.kinematics.forward import body_poses, center_of_mass, foot_positions
from footfall.kinematics.jacobian import feet_jacobian
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import knee_direction, leg_inverse
from footfall.robot.model.description import Robot
from footfall.spatial import quaternion
from footfall.spatial.gravity import GRAVITY, Gravity, weight_of
from footfall.spatial.rotation import from_euler
from nptrace._types import Given, Operand, Scalar
from nptrace.array_types import Float

_RATE_INTERVAL = 1e-3  # [s] over which joint rates are differenced
# [s] between checks of a plan's reach, and their duration: later cycles repeat the first
_CHECK_INTERVAL, _CHECKED_DURATION = 0.1, 10.0
_REGULARISATION = 1e-6  # fraction of the weights' system, so that two feet in line can share a load


@dataclass(frozen=True, eq=False, kw_only=True)
class PlanFollower(Controller):
    """Joint PD on a motion plan, with joint velocities and the weight fed forward.

    ``feed_forward`` is the fraction of the gravity torques that is fed forward, from 0 to 1. ``inverse`` is JointPD's:
    ``closed``, or ``fabrik`` or ``resolved_rate``, which start from the joints of the last tick.
    """

    plan: MotionPlan
    kp: float = 40.0
    kd: float = 1.0
    rate: float = 1000.0  # [Hz]
    feed_forward: float = 1.0
    foot_pitch: float = 0.0  # ankle angle of a leg that has one [rad]
    spine_kp: float = SPINE_GAINS[0]
    spine_kd: float = SPINE_GAINS[1]
    inverse: str = "closed"

    def __post_init__(self) -> None:
        check_rate(self.rate)
        check_inverse(self.inverse, "PlanFollower")
        for key in ("kp", "kd", "spine_kp", "spine_kd", "feed_forward"):
            check_gain(getattr(self, key), f"{key} of PlanFollower", ())

    def start(self, robot: Robot) -> dict[str, ndarray]:
        """Return the joints of an iterative inverse; raise an error if a foot is out of reach at the start."""
        pose = self.plan.at(0.0)
        for leg, (_, reachable) in zip(LEGS, _legs(robot, pose, self.foot_pitch)):
            if not reachable:
                raise InputError(f"the plan puts foot {leg} of '{robot.name}' out of reach at its start")
        return {} if self.inverse == "closed" else {"joints": self.posture(robot)}

    def posture(self, robot: Robot) -> Float[ndarray, "nj"]:
        """Return the initial joint positions [rad] of the plan."""
        return planned_joints(robot, self.plan.at(0.0), self.foot_pitch)

    def command_limits(self, robot: Robot) -> dict[str, float]:
        """Return an empty dictionary: it follows its plan and takes no command."""
        return {}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        pose = self.plan.at(t)
        joints = self._joints(robot, pose, memory.get("joints"))
        ahead = self._joints(robot, self.plan.at(t + _RATE_INTERVAL), joints)
        memory = memory if self.inverse == "closed" else {**memory, "joints": joints}
        torque: ndarray | float = 0.0
        if self.feed_forward:
            torque = self.feed_forward * weight_torques(robot, pose, joints, sensed.gravity)
            if robot.loops:
                torque = motor_torques(robot, planned_state(robot, pose, joints), torque)
        kp, kd = gains_of(robot, self.kp, self.spine_kp), gains_of(robot, self.kd, self.spine_kd)
        return JointCommand(joints, (ahead - joints) * (1.0 / _RATE_INTERVAL), kp, kd, torque), memory

    def _joints(self, robot: Robot, pose: PlannedPose, last: Float[ndarray, "nj"] | None) -> Float[ndarray, "nj"]:
        return planned_joints(robot, pose, self.foot_pitch, self.inverse, last)


def take_over_plan(new: Given, old: Given, when: float) -> PlanFollower:
    """Return a follower that continues from another's plan at a time [s]."""
    if not (isinstance(new, PlanFollower) and isinstance(old, PlanFollower)):
        raise InputError("only a PlanFollower can continue the plan of another")
    return replace(new, plan=take_over(old.plan, new.plan, when))


def reachable_plan(robot: Robot, text: str, speed: float | None, duration: float) -> MotionPlan:
    """Return the plan that a text describes (``gait.named_plans``); raise if it takes a foot out of reach."""
    plan = named_plan(robot, text, speed, duration)
    for t in np.arange(0.0, min(plan.duration, _CHECKED_DURATION), _CHECK_INTERVAL):
        for leg, (_, reachable) in zip(LEGS, _legs(robot, plan.at(float(t)), 0.0)):
            if not reachable:
                raise InputError(f"the plan takes foot {leg} of '{robot.name}' out of reach after {t:.2f} s")
    return plan


def planned_joints(
    robot: Robot,
    pose: PlannedPose,
    foot_pitch: float = 0.0,
    inverse: str = "closed",
    last: Float[ndarray, "nj"] | None = None,
) -> Float[ndarray, "nj"]:
    """Return joint angles [rad] that put the feet where a plan requires: knees as in the robot's stand, a straight
    spine.

    ``last``: the joints from which an inverse other than ``closed`` starts.
    """
    targets: list[Scalar] = [0.0] * robot.nj
    if robot.loops and "stand" in robot.poses:  # initial guess from which the loops are closed
        targets = [float(angle) for angle in robot.poses["stand"].joints]
    for leg, (joints, _) in zip(LEGS, _legs(robot, pose, foot_pitch, inverse, last)):
        for j, angle in zip(leg_geometry(robot, leg).joints, joints):
            targets[j] = angle
    return with_loops(robot, np.array(targets))


def planned_state(robot: Robot, pose: PlannedPose, joints: Float[ndarray, "nj"]) -> Float[ndarray, "nq"]:
    """Return q of a plan, with the planned pose of the body."""
    yaw, pitch, roll = (0.5 * pose.euler[k] for k in range(3))
    quat = np.stack([np.cos(yaw), 0.0 * yaw, 0.0 * yaw, np.sin(yaw)])
    quat = quaternion.multiply(quat, np.stack([np.cos(pitch), 0.0 * yaw, np.sin(pitch), 0.0 * yaw]))
    quat = quaternion.multiply(quat, np.stack([np.cos(roll), np.sin(roll), 0.0 * yaw, 0.0 * yaw]))
    return np.concatenate([pose.position, quat, joints])


def weight_torques(
    robot: Robot, pose: PlannedPose, joints: Float[ndarray, "nj"], gravity: Gravity = GRAVITY
) -> Float[ndarray, "nj"]:
    """Return joint torques [N m] that carry the robot at rest on the feet that a plan loads."""
    q = planned_state(robot, pose, joints)
    order = [robot.foot_index(leg) for leg in LEGS]
    feet = foot_positions(robot, q)
    shares = load_shares(np.stack([feet[k][:2] for k in order]), pose.load, center_of_mass(robot, q)[:2])
    J = feet_jacobian(robot, q)
    weight = weight_of(robot.mass, gravity)
    torques = gravity_terms(robot, q, gravity)[6:]
    for k, share in zip(order, (shares[i] for i in range(len(order)))):
        torques = torques - weight * share * J[k, 5, 6:]
    return torques


def load_shares(
    feet: Float[ndarray, "4 2"], load: Float[ndarray, "4"], center: Float[ndarray, "2"]
) -> Float[ndarray, "4"]:
    """Return the fraction of the weight at each foot, zero where the load is zero: the least that act below ``center``
    [m].

    Weighted least squares: w = S Aᵀ (A S Aᵀ)⁻¹ b with A the rows 1, x, y and S the loads. With two feet, only the
    component along their line can be met; a soft diagonal relaxes the rest.
    """
    A = np.stack([np.ones(4), feet[:, 0] - center[0], feet[:, 1] - center[1]])
    G = A @ (load[:, None] * A.T) + _REGULARISATION * np.eye(3)
    # the first column of G⁻¹, by cofactors: b = (1, 0, 0)
    first_column = np.stack(
        [
            G[1, 1] * G[2, 2] - G[1, 2] * G[1, 2],
            G[0, 2] * G[1, 2] - G[0, 1] * G[2, 2],
            G[0, 1] * G[1, 2] - G[0, 2] * G[1, 1],
        ]
    )
    determinant = G[0, 0] * first_column[0] + G[0, 1] * first_column[1] + G[0, 2] * first_column[2]
    return load * (A.T @ first_column) / determinant


def _legs(
    robot: Robot,
    pose: PlannedPose,
    foot_pitch: float,
    inverse: str = "closed",
    last: Float[ndarray, "nj"] | None = None,
) -> list[tuple[Operand, ...]]:
    """Return joint angles of the four legs and whether the feet are in reach."""
    R_WB = from_euler(pose.euler)
    poses = []
    for k, leg in enumerate(LEGS):
        p_BF = R_WB.T @ (pose.feet[k] - pose.position)
        rotation, origin, knee = _carrier_pose(robot, leg)
        p_CF = [sum(rotation[i][j] * (p_BF[i] - origin[i]) for i in range(3)) for j in range(3)]
        position, geometry = np.stack(p_CF), leg_geometry(robot, leg)
        if last is None or inverse == "closed":
            poses.append(tuple(leg_inverse(robot, leg, position, knee, foot_pitch=foot_pitch)))
            continue
        stand = robot.poses["stand"].joints
        start, rest_angles = ([joints[j] for j in geometry.joints] for joints in (last, stand))
        poses.append(
            tuple(iterative_leg_inverse(robot, geometry, knee, position, start, foot_pitch, inverse, rest_angles))
        )
    return poses


Vector = tuple[float, ...]


@lru_cache(maxsize=64)
def _carrier_pose(robot: Robot, leg: str) -> tuple[tuple[Vector, ...], Vector, int]:
    """Return the pose of the body that carries a leg with a straight spine, and the knee's direction, as plain
    numbers.
    """
    geometry = leg_geometry(robot, leg)
    stand = robot.poses.get("stand")
    if stand is None:
        raise InputError(f"robot '{robot.name}' has no pose 'stand' to plan from")
    X = body_poses(robot, robot.state()[0])[geometry.carrier]
    knee = knee_direction(geometry, stand.joints[list(geometry.joints)])
    return tuple(tuple(float(x) for x in row) for row in X.R), tuple(float(x) for x in X.p), knee
