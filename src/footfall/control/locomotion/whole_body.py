"""The whole-body QP: accelerations and contact forces for all tasks at once (the slides, stage two).

min ½ xᵀHx + (f + F u)ᵀx with low <= (x, A x) <= high, where x = (accelerations, forces at the four feet) and u are the
forces of stage one. Rows of A: M a - Jᵀf = -bias for the base (which is unactuated), torque limits of the joints,
friction pyramids. Tasks, by weight: stance feet do not accelerate, swing feet follow their trajectories, the trunk
moves as stage one's forces would move it (with a small feedback), redundant joints keep their posture.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy import ndarray

from footfall.control.locomotion.reach import ReachTask
from footfall.control.locomotion.single_body import friction_pyramid
from footfall.control.posture import own_joints
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, Gravity, weight_of
from nptrace._types import PyTree
from nptrace.array_types import Float
from nptrace.solve import quadratic
from nptrace.solve.factor import ldl, ldl_solve


@dataclass(frozen=True, kw_only=True)
class LocomotionGains:
    """Gains of the tasks, and their weights in the whole-body QP."""

    base_angular: tuple[float, float] = (120.0, 18.0)  # kp [1/s²], kd [1/s]
    base_linear: tuple[float, float] = (60.0, 12.0)
    base_feedback: float = 0.3  # fraction of these added to the effect of stage one's forces on the trunk
    swing: tuple[float, float] = (1500.0, 75.0)
    posture: tuple[float, float] = (300.0, 30.0)
    base_weight: float = 1.0
    swing_weight: float = 0.5
    stance_weight: float = 20.0  # stance feet do not accelerate
    posture_weight: float = 0.1  # weight of the joints' redundant motions
    # weights of rotation, and of x, y, z in base axes
    base_axis_weights: tuple[float, ...] = (0.1, 0.1, 0.1, 0.3, 0.3, 1.0)
    force_weight: float = 90.0  # weight of forces in robot weights
    least: float = 1e-6

    def __post_init__(self) -> None:
        for f in fields(self):
            value, usual = np.asarray(getattr(self, f.name), dtype=float), np.asarray(f.default)
            if value.shape != usual.shape or not np.isfinite(value).all() or (value < 0).any():
                given, like = getattr(self, f.name), f"{usual.size} finite numbers of at least 0, like {f.default}"
                raise InputError(f"{f.name} of the gains must be {like}, got {given!r}")


@dataclass(frozen=True, kw_only=True)
class WholeBodyQP:
    """min ½ xᵀHx + (f + F u)ᵀx, low <= (x, A x) <= high."""

    H: Float[ndarray, "n n"]
    f: Float[ndarray, "n"]
    F: Float[ndarray, "n 12"]  # coefficients of the forces u of stage one
    A: Float[ndarray, "m n"]
    low: Float[ndarray, "n_m"]
    high: Float[ndarray, "n_m"]


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """The tasks of the whole-body QP, each in its own axes."""

    base: Float[ndarray, "6"]  # desired spatial acceleration of the base in base axes, without stage one's forces
    base_force_map: Float[ndarray, "6 12"]  # contribution of stage one's forces
    swing: Float[ndarray, "4 3"]  # desired accelerations of the feet, world axes [m/s²]
    joints: Float[ndarray, "nj"]  # desired accelerations of the joints, for the redundant motions only [rad/s²]
    free: Float[ndarray, "nj nj"]  # these motions: ``posture.free_motions``
    down: Float[ndarray, "4"]
    normal: Float[ndarray, "3"]
    # desired accelerations of contact points in stance: none unless they slip
    stop_accelerations: Float[ndarray, "4 3"]
    reach: ReachTask | None = None  # task of an arm


def whole_body_qp(
    robot: Robot,
    gains: LocomotionGains,
    friction: float,
    M: ndarray,
    bias: ndarray,
    J: ndarray,
    rate_J: ndarray,
    tasks: Tasks,
    gravity: Gravity = GRAVITY,
) -> WholeBodyQP:
    """Return the QP of one tick; swing feet have no force, stance feet do not accelerate."""
    nv, down = robot.nv, tasks.down
    n = nv + 12
    scale = gains.base_weight * np.array(gains.base_axis_weights)
    H, f, F = np.zeros((n, n)), np.zeros(n), np.zeros((n, 12))
    H[:nv, :nv] = gains.least * np.eye(nv)
    for k in range(6):
        H[k, k] = H[k, k] + scale[k]
        f[k] = f[k] - scale[k] * tasks.base[k]
        F[k] = -scale[k] * tasks.base_force_map[k]
    H[6:nv, 6:nv] = H[6:nv, 6:nv] + gains.posture_weight * tasks.free  # a projection: PᵀP = P
    f[6:nv] = f[6:nv] - gains.posture_weight * tasks.joints
    for k in range(4):
        weight = np.where(down[k] > 0.5, gains.stance_weight, gains.swing_weight)
        goal = np.where(down[k] > 0.5, tasks.stop_accelerations[k], tasks.swing[k]) - rate_J[k]
        H[:nv, :nv] = H[:nv, :nv] + J[k].T @ (weight * J[k])
        f[:nv] = f[:nv] - J[k].T @ (weight * goal)
    if tasks.reach is not None:
        hand = tasks.reach
        H[:nv, :nv] = H[:nv, :nv] + hand.J.T @ (hand.weight * hand.J)
        f[:nv] = f[:nv] - hand.J.T @ (hand.weight * hand.goal)
    per_newton = gains.force_weight / weight_of(robot.mass, gravity) ** 2
    for k in range(nv, n):
        H[k, k] = per_newton
        F[k, k - nv] = -per_newton
    pyramid = friction_pyramid(friction, tasks.normal)
    A = np.zeros((nv + 20, n))
    A[:nv, :nv] = M
    for k in range(4):
        A[:nv, nv + 3 * k : nv + 3 * k + 3] = -J[k].T
        A[nv + 5 * k : nv + 5 * k + 5, nv + 3 * k : nv + 3 * k + 3] = pyramid
    limits = torque_bounds(robot)
    free = np.full(nv, 1e30)
    least, most = (-free, free) if tasks.reach is None else (tasks.reach.low, tasks.reach.high)
    force_bound = np.stack([np.where(d > 0.5, 1e30, 0.0) for d in down for _ in range(3)])
    low = np.concatenate([least, -force_bound, -bias[:6], -limits - bias[6:], np.zeros(20)])
    high = np.concatenate([most, force_bound, -bias[:6], limits - bias[6:], np.full(20, 1e30)])
    return WholeBodyQP(H=H, f=f, F=F, A=A, low=low, high=high)


def torque_bounds(robot: Robot) -> Float[ndarray, "nj"]:
    """Return the torque limit of every joint [N m], at most twenty times the robot's mass: some files omit it or write
    1000.
    """
    by_joint = {actuator.joint: actuator.torque_limit for actuator in robot.actuators}
    return np.array([min(by_joint.get(joint, np.inf), 20.0 * robot.mass) for joint in robot.joint_names])


_ACCELERATION_UNIT = 10.0  # unit of accelerations [m/s², rad/s²]: numbers near 1 suit single precision
_ITERATIONS, _TOLERANCE = 40, 1e-9
_SLACK, _MULTIPLIER = 0.1, 1.0  # warm start of the active bounds


def as_quadratic(
    robot: Robot,
    weight: float,
    qp: WholeBodyQP,
    down: Float[ndarray, "4"],
    forces: Float[ndarray, "4 3"],
    limits: Float[ndarray, "nj"],
    stopped: tuple[int, ...] = (),
) -> tuple[quadratic.QP, list[int], Float[ndarray, "n"]]:
    """Return (this QP for the built-in solver, the order of its unknowns, their units).

    Legs come first, joints and force of each together, then other joints, then the base: couplings between legs are
    structural zeros. A swing foot keeps an unknown force without effect or bounds. The last row of a pyramid follows
    from the others and is omitted. Accelerations of the joints ``stopped`` are bounded.
    """
    nv, n = robot.nv, robot.nv + 12
    order = [x for k in range(4) for x in (*(6 + j for j in own_joints(robot, k)), *range(nv + 3 * k, nv + 3 * k + 3))]
    order += [j for j in range(6, nv) if j not in order] + list(range(6))
    units = np.concatenate([np.full(nv, _ACCELERATION_UNIT), np.full(12, 0.25 * weight)])
    used = np.concatenate([np.ones(nv), np.stack([np.where(d > 0.5, 1.0, 0.0) for d in down for _ in range(3)])])
    cones = [nv + 5 * k + i for k in range(4) for i in range(4)]
    up = np.stack([np.where(d > 0.5, 0.0, -1.0) for d in down for _ in range(4)])
    at = [6 + j for j in stopped]
    rows = [qp.A[6:nv] / limits[:, None], qp.A[cones] / (0.25 * weight), np.eye(n)[at] / _ACCELERATION_UNIT]
    A = np.concatenate(rows[: 3 if at else 2]) * (used * units)
    E = qp.A[:6] / weight * (used * units)
    none = np.full(16, 2.0 * quadratic.INFINITE)
    low = np.concatenate([qp.low[n + 6 : n + nv] / limits, up, *(qp.low[k : k + 1] / _ACCELERATION_UNIT for k in at)])
    high = np.concatenate(
        [qp.high[n + 6 : n + nv] / limits, none, *(qp.high[k : k + 1] / _ACCELERATION_UNIT for k in at)]
    )
    H = qp.H * units[:, None] * units
    f = (qp.f + qp.F @ forces.ravel()) * used * units
    o = order
    return (
        quadratic.QP(H=H[o][:, o], f=f[o], A=A[:, o], low=low, high=high, E=E[:, o], e=qp.low[n : n + 6] / weight),
        o,
        units,
    )


def whole_body_torques(
    robot: Robot,
    weight: float,
    plan: PyTree,
    down: Float[ndarray, "4"],
    forces: Float[ndarray, "4 3"],
    limits: Float[ndarray, "nj"],
    stopped: tuple[int, ...] = (),
    clip: bool = True,
) -> tuple[Float[ndarray, "nj"], quadratic.QPSolution]:
    """Return (torques, solver status) of the whole-body QP of a plan; a solution is within the limits up to
    rounding, and clipping makes that exact. ``stopped`` as in ``as_quadratic``.
    """
    nv = robot.nv
    quadratic_program, order, units = as_quadratic(robot, weight, plan.qp, down, forces, limits, stopped)
    solution = quadratic.solve(quadratic_program, None, _ITERATIONS, _TOLERANCE, least=_SLACK, multiplier=_MULTIPLIER)
    used = np.concatenate([np.ones(nv), np.stack([np.where(d > 0.5, 1.0, 0.0) for d in down for _ in range(3)])])
    x = solution.x[np.argsort(order)] * units * used
    torque = plan.qp.A[6:nv] @ x + plan.bias[6:]
    return np.clip(torque, -limits, limits) if clip else torque, solution


def leg_torques(
    robot: Robot, plan: PyTree, down: Float[ndarray, "4"], forces: Float[ndarray, "4 3"], limits: Float[ndarray, "nj"]
) -> Float[ndarray, "nj"]:
    """Return -Jᵀf for stance feet, leg inertia times desired acceleration for swing feet, plus the bias and the
    posture torques of redundant joints.
    """
    nv = robot.nv
    M = plan.qp.A[6:nv, 6:nv]
    torque = np.array(plan.bias[6:] + M @ plan.posture)
    for k in range(4):
        leg = own_joints(robot, k)
        J = np.stack([plan.J[k][:, 6 + j] for j in leg], axis=1)
        # a stretched leg has no inverse
        joint_acceleration = J.T @ ldl_solve(ldl(J @ J.T + 1e-6 * np.eye(3)), plan.swing[k])
        swing_torque = np.stack([np.stack([M[i, j] for j in leg]) for i in leg]) @ joint_acceleration
        stance_torque = plan.J[k][:, 6:].T @ forces[k]
        torque = torque - np.where(down[k] > 0.5, stance_torque, 0.0)
        for i, j in enumerate(leg):
            torque[j] = torque[j] + np.where(down[k] > 0.5, 0.0, swing_torque[i])
    return np.clip(torque, -limits, limits)


__all__ = [
    "LocomotionGains",
    "Tasks",
    "WholeBodyQP",
    "as_quadratic",
    "leg_torques",
    "torque_bounds",
    "whole_body_qp",
    "whole_body_torques",
]
