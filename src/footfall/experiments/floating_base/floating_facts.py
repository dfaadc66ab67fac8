"""Facts 1 to 7 of the lecture slides: what moves a floating base."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from footfall import dynamics, kinematics
from footfall.compare.states import States
from footfall.dynamics.constrained import constrained_dynamics, contact_jacobian
from footfall.dynamics.modes import all_modes
from footfall.experiments.claims import Claim
from footfall.experiments.floating_base.floating_common import (
    about_com,
    error,
    every,
    judge,
    momentum_rate,
    weight,
    worst,
)
from footfall.experiments.floating_base.floating_limits import largest_acceleration, largest_com_acceleration
from footfall.gravity import STANDARD
from footfall.robot import Robot

FRICTION = 0.6


def fact1(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    def one(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> float:
        x = dynamics.forward_dynamics(robot, q, v, tau[6:])
        return error(momentum_rate(robot, q, v, x), weight(robot))

    robot, q, v, _, tau = every(robots, states)[0]
    rest = dynamics.forward_dynamics(robot, q, v, 0.0 * tau[6:])
    push = dynamics.forward_dynamics(robot, q, v, 10.0 * np.sign(tau[6:])) - rest
    return judge(
        "fact1_torque_does_not_reach_base_row",
        worst(one, every(robots, states)),
        "in flight, torques of the size of the weight: the rate of total momentum is the weight whatever they are;"
        f" through M_bj they still move the base against the legs (10 N m at every joint of {robot.name}:"
        f" {np.linalg.norm(push[3:6]):.0f} m/s² at the base's origin)",
    )


def fact2(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    errors, ranks = [], {}
    for robot, q, v, _, tau in every(robots, states):
        A, J = dynamics.momentum_matrix(robot, q), contact_jacobian(robot, q)
        turning = momentum_rate(robot, q, v, np.zeros(robot.nv))
        levers = kinematics.foot_positions(robot, q) - kinematics.center_of_mass(robot, q)
        for mode in all_modes(robot):
            x, f = constrained_dynamics(robot, q, v, tau[6:], mode)
            pushed = np.concatenate([np.cross(levers, f).sum(axis=0), f.sum(axis=0)])
            errors.append(error(A @ x + turning, pushed + weight(robot)))
            ranks[int(mode.sum())] = int(np.linalg.matrix_rank(J[np.repeat(mode, 3) > 0, :6], tol=1e-9))
    reach = ", ".join(f"{rank} with {count}" for count, rank in sorted(ranks.items()))
    return judge(
        "fact2_base_moved_by_contact_forces",
        worst(errors),
        "rate of momentum about the centre of mass = moments and forces of the feet + weight, with random torques, in"
        f" all modes; of the six base rows the feet reach {reach} standing",
    )


def fact4(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    ahead, below = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, -1.0])
    rows: list[tuple[str, float, float, float]] = []
    for robot in robots:
        q = robot.state("stand")[0]
        forward, down = (largest_com_acceleration(robot, q, d, FRICTION) for d in (ahead, below))
        rows.append((robot.name, forward, down, largest_com_acceleration(robot, q, ahead, None)))
    told = "; ".join(f"{name} {forward:.2f} and {down:.2f}" for name, forward, down, _ in rows)
    return judge(
        "fact4_contact_forces_limited",
        max(forward for _, forward, _, _ in rows),
        "largest acceleration of the centre of mass, forward and downward, with all feet standing and no change of"
        f" angular momentum, friction μ = {FRICTION} and a ground that only pushes (linear program) [m/s²]: {told};"
        f" bounds μ g = {FRICTION * STANDARD:.2f} and g. With a ground that holds and pulls there is no bound",
        holds=all(
            forward <= 1.0001 * FRICTION * STANDARD and down <= 1.0001 * STANDARD and np.isinf(free)
            for _, forward, down, free in rows
        ),
    )


def fact5(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    up = np.array([0, 0, 0, 0, 0, 1.0])
    rows: list[tuple[str, float, float]] = []
    for robot in robots:
        q = robot.state("stand")[0]
        limited, free = (largest_acceleration(robot, q, up, FRICTION, limited=x) for x in (True, False))
        rows.append((robot.name, limited, free))
    told = "; ".join(f"{name} {limited:.1f}" for name, limited, _ in rows)
    return judge(
        "fact5_joint_torque_limited",
        max(limited for _, limited, _ in rows),
        f"largest upward acceleration of a level base with all feet still, by the motors' limits [m/s²]: {told};"
        " without them there is no bound",
        holds=all(np.isfinite(limited) and np.isinf(free) for _, limited, free in rows),
    )


def fact6(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    def one(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> float:
        rows = dynamics.inverse_dynamics(robot, q, v, a)[:6]
        return error(about_com(robot, q).wrench_to_parent(rows), momentum_rate(robot, q, v, a) - weight(robot))

    return judge(
        "fact6_base_rows_are_newton_euler",
        worst(one, every(robots, states)),
        "base rows of inverse dynamics, moved to the centre of mass, against the rate of linear and angular momentum"
        " (differentiated along the motion) minus the weight, for random accelerations",
    )


def fact7(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    errors = []
    for robot, q, v, a, _ in every(robots, states):
        J, turning = contact_jacobian(robot, q), kinematics.feet_bias_acceleration(robot, q, v)[:, 3:].reshape(-1)
        for mode in all_modes(robot):
            if mode.sum() >= 3:
                rows = np.repeat(mode, 3) > 0
                x = np.array(a)
                x[6:] += np.linalg.lstsq(J[rows, 6:], -turning[rows] - J[rows] @ x, rcond=None)[0]
                if np.abs(J[rows] @ x + turning[rows]).max() > 1e-9:
                    continue  # a straight leg cannot follow the base that was asked for
                need = dynamics.inverse_dynamics(robot, q, v, x)
                f = np.zeros(3 * robot.nf)
                f[rows] = np.linalg.lstsq(J[rows, :6].T, need[:6], rcond=None)[0]  # stage 1: base rows
                torques = need[6:] - J[:, 6:].T @ f  # stage 2: joint rows
                back = constrained_dynamics(robot, q, v, torques, mode)
                errors.append(max(error(back[0], x), error(back[1].reshape(-1), f)))
    return judge(
        "fact7_two_stages",
        worst(errors),
        "random accelerations of the base with 3 or 4 feet down; stage 1 takes the least forces that make them, stage 2"
        " the torques; put into the KKT system the torques give back the same accelerations and the same forces, which"
        f" the ground makes of them ({len(errors)} stances)",
    )
