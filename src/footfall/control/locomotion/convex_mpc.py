"""The convex MPC on the single rigid body (Di Carlo et al. 2018): the slides, stage one of two.

Its QP is solved stage by stage inside a trace, with the horizon as a loop. Forces are in robot weights: a swing foot
stays an unknown without effect or bounds, so that the structure of the QP does not change with the schedule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

import nptrace
from footfall.control.interface import Sensed
from footfall.control.locomotion.single_body import SingleBody, friction_pyramid
from footfall.control.locomotion.types import LocomotionModel, LocomotionPlan, Memory
from footfall.spatial import cross, skew
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import about_z
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float
from nptrace.solve import stagewise

MPC_INTERVAL = 0.04  # [s]
_SAMPLES_PER_INTERVAL = 8  # fractions of a step of the MPC at which a schedule is read
MIN_STANCE_SHARE = 0.05  # fraction of a stage for which a foot must be in stance to carry load in it
MIN_FORCE = 0.02  # smallest force on a stance foot, as a fraction of the robot's weight
_ITERATIONS, _TOLERANCE = 20, 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvexMpc:
    """Settings of the MPC: weights of (roll, pitch, yaw; x, y, z; ω; v) over the horizon, and of the forces."""

    body: SingleBody
    steps: int = 10
    weights: tuple[float, ...] = (1.0, 1.0, 10.0, 2.0, 2.0, 50.0, 0.01, 0.01, 0.3, 0.4, 0.4, 0.1)
    force_weight: float = 0.31  # weight of forces in robot weights
    friction: float = 0.5
    largest_force: float = 3.0  # largest force on one foot, in robot weights


@dataclass(frozen=True, kw_only=True)
class MpcInput:
    """The input of the MPC."""

    x: Float[ndarray, "12"]  # roll, pitch, yaw, centre of mass, ω, v, world axes
    pose_des: Float[ndarray, "3"]  # x, y, yaw
    roll_pitch_des: Float[ndarray, "2"]  # desired roll and pitch
    v_des_ground: Float[ndarray, "3"]  # desired velocity, world axes
    yaw_rate: Scalar
    slope: Float[ndarray, "3"]
    height_des: Scalar  # desired height of the base over the ground [m]
    normal: Float[ndarray, "3"]
    friction: Scalar
    down: Float[ndarray, "4"]
    stand: Float[ndarray, "4 3"]  # soles, at their present or future positions [m]
    phase: Float[ndarray, "4"]  # phase of every leg [cycles]
    is_walking: Scalar  # 1 while the gait runs
    timing: Float[ndarray, "2"]  # duty, period [s]


def mpc_input(model: LocomotionModel, sensed: Sensed, plan: LocomotionPlan, after: Memory) -> MpcInput:
    R = to_rotation(sensed.q[3:7])
    com = sensed.q[:3] + R @ model.stage_one_body.com
    x = np.concatenate([plan.euler, com, R @ sensed.v[:3], R @ sensed.v[3:6]])
    radii = np.array([[0.0, 0.0, foot.radius] for foot in model.robot.feet[:4]])
    touchdown = plan.touchdown
    if model.wheels:  # swing feet that move with the body: they count as if below it
        touchdown = sensed.q[:3] + model.feet @ about_z(plan.euler[2]).T
    soles = np.where((after.down > 0.5)[:, None], plan.feet, touchdown) - radii
    return MpcInput(
        x=x,
        pose_des=after.pose_des,
        roll_pitch_des=plan.roll_pitch_des,
        v_des_ground=plan.v_des_ground,
        yaw_rate=after.velocity[2],
        slope=plan.slope,
        height_des=plan.height_des,
        normal=plan.normal,
        friction=plan.friction,
        down=after.down,
        stand=soles,
        phase=_cycle_fraction(after.phase - after.delays),
        is_walking=after.is_walking,
        timing=plan.timing,
    )


def solve_mpc(model: LocomotionModel, given: MpcInput) -> tuple[Float[ndarray, "4 3"], stagewise.StagewiseSolution]:
    """Return (forces [N], solver status) of the convex MPC."""
    mpc, dt = ConvexMpc(body=model.stage_one_body), MPC_INTERVAL
    com, yaw, (duty, period) = given.x[3:6], given.x[2], (given.timing[0], given.timing[1])
    offset = about_z(yaw) @ model.stage_one_body.com
    yaw_error = given.pose_des[2] - yaw
    yaw_error = yaw_error - 2.0 * np.pi * np.floor(yaw_error / (2.0 * np.pi) + 0.5)
    omega = np.array([0.0, 0.0, given.yaw_rate])
    next_step = np.stack([given.v_des_ground + cross(omega, foot - com) for foot in given.stand])
    is_walking, in_swing = given.is_walking > 0.5, np.where(given.phase >= duty, 1.0, 0.0)

    def step(carry: PyTree, row: tuple[PyTree, PyTree]) -> tuple[PyTree, tuple[PyTree, ...]]:
        time, first = row
        position = given.pose_des[:2] + time * given.v_des_ground[:2]
        height = position @ given.slope[:2] + given.slope[2] + given.height_des
        reference = np.concatenate(
            [
                given.roll_pitch_des,
                np.stack([yaw + yaw_error + given.yaw_rate * time, position[0] + offset[0], position[1] + offset[1]]),
                np.stack([height + offset[2], 0.0, 0.0, given.yaw_rate]),
                given.v_des_ground,
            ]
        )
        # finer than the steps, so that a foot about to lift counts for the rest of its stance
        down = [
            _cycle_fraction(given.phase + (time - dt + (j + 0.5) * dt / _SAMPLES_PER_INTERVAL) / period) < duty
            for j in range(_SAMPLES_PER_INTERVAL)
        ]
        share = np.where(is_walking, sum(np.where(d, 1.0, 0.0) for d in down) / _SAMPLES_PER_INTERVAL, 1.0)
        share = np.where(first > 0.5, np.where(given.down > 0.5, np.maximum(share, 0.2), 0.0), share)
        middle = time - 0.5 * dt
        # a foot lands further ahead next time
        step_ahead = np.where(
            is_walking, period * np.maximum(0.0, np.floor(given.phase + middle / period) - in_swing), 0.0
        )
        # lever arms from the predicted body, not the desired one: centimetres make newton metres
        feet = given.stand - (com + middle * given.v_des_ground) + step_ahead[:, None] * next_step
        if model.wheels:
            feet = given.stand - com
        return carry, (reference, share, feet)

    times, first = dt * np.arange(1, mpc.steps + 1), np.eye(mpc.steps)[0]
    _, (reference, share, feet) = nptrace.scan(step, 0.0, (times, first))
    return mpc_forces(mpc, given.x, reference, share, feet, given.normal, given.friction, dt)


def stages_of(
    mpc: ConvexMpc,
    reference: Float[ndarray, "steps 12"],
    share: Float[ndarray, "steps 4"],
    feet: Float[ndarray, "steps 4 3"],
    normal: Float[ndarray, "3"],
    friction: Operand,
    dt: float,
) -> tuple[stagewise.Stages, Float[ndarray, "steps 12"]]:
    """Return (the QP, forces that carry the weight), for the arguments of ``mpc_forces``."""
    body, weight = mpc.body, mpc.body.weight
    Q, R = np.diag(np.array(mpc.weights)), mpc.force_weight * np.eye(12)
    cone = friction_pyramid(friction, normal)
    C, D = np.zeros((20, 12)), np.zeros((20, 12))
    for k in range(4):
        D[5 * k : 5 * k + 5, 3 * k : 3 * k + 3] = cone
    c = np.zeros(12)
    c[3:6], c[9:12] = 0.5 * dt * dt * np.array(body.gravity), dt * np.array(body.gravity)

    def stage(carry: PyTree, row: tuple[PyTree, ...]) -> tuple[PyTree, tuple[PyTree, ...]]:
        x_des, share, feet = row
        R_z = about_z(x_des[2])
        A, B = np.eye(12), np.zeros((12, 12))
        A[:3, 6:9], A[3:6, 9:12] = dt * R_z.T, dt * np.eye(3)
        inverse = R_z @ body.inverse @ R_z.T
        load = np.where(share > MIN_STANCE_SHARE, share, 0.0) * weight
        for k in range(4):
            angular, linear = inverse @ skew(load[k] * feet[k]), load[k] / body.mass * np.eye(3)
            columns = slice(3 * k, 3 * k + 3)
            B[6:9, columns], B[9:12, columns] = dt * angular, dt * linear
            B[:3, columns], B[3:6, columns] = 0.5 * dt * dt * (R_z.T @ angular), 0.5 * dt * dt * linear
        loaded = share > MIN_STANCE_SHARE
        low, high = np.zeros(20), np.full(20, 2.0 * stagewise.INFINITE)
        for k in range(4):
            low[5 * k : 5 * k + 4] = np.where(loaded[k], 0.0, -1.0)
            low[5 * k + 4] = np.where(loaded[k], MIN_FORCE, -1.0)
            high[5 * k + 4] = np.where(loaded[k], mpc.largest_force, 1.0)
        guess_share = np.where(loaded, 1.0, 0.0) / np.maximum(np.sum(np.where(loaded, share, 0.0)), 0.25)
        guess = np.stack([x for k in range(4) for x in (0.0 * guess_share[k], 0.0 * guess_share[k], guess_share[k])])
        return carry, (A, B, -np.array(mpc.weights) * x_des, low, high, guess)

    _, (A, B, q, low, high, guess) = nptrace.scan(stage, 0.0, (reference, share, feet))
    n = mpc.steps
    same = [np.stack([x] * n) for x in (c, Q, R, np.zeros(12), C, D)]
    return stagewise.Stages(
        A=A, B=B, c=same[0], Q=same[1], q=q, R=same[2], r=same[3], C=same[4], D=same[5], low=low, high=high
    ), guess


def mpc_forces(
    mpc: ConvexMpc,
    x: Float[ndarray, "12"],
    reference: Float[ndarray, "steps 12"],
    share: Float[ndarray, "steps 4"],
    feet: Float[ndarray, "steps 4 3"],
    normal: Float[ndarray, "3"],
    friction: Scalar,
    dt: float,
) -> tuple[Float[ndarray, "4 3"], stagewise.StagewiseSolution]:
    """Return (forces [N] in world axes for the first step, solver status).

    Args:
        x: (Θ roll pitch yaw, p of the centre of mass, ω, v), all in world axes.
        reference: desired x at the end of each step.
        share: fraction of each step in which each foot is in stance.
        feet: positions relative to the planned centre of mass [m].
        normal: normal of the ground.
        friction: friction that may be relied on.
        dt: length of a step [s].
    """
    stages, guess = stages_of(mpc, reference, share, feet, normal, friction, dt)
    found = stagewise.solve(stages, x, guess, _ITERATIONS, _TOLERANCE)
    down = np.where(share[0] > MIN_STANCE_SHARE, 1.0, 0.0)
    return mpc.body.weight * down[:, None] * np.reshape(found.u[0], (4, 3)), found


def _cycle_fraction(x: Scalar) -> PyTree:
    """Return the fraction of a cycle, in [0, 1)."""
    return x - np.floor(x)
