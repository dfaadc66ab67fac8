"""The structure of floating-base dynamics as the lecture slides state it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from footfall import dynamics, kinematics
from footfall.compare.laws import rate_along
from footfall.compare.states import States
from footfall.experiments.claims import Claim
from footfall.experiments.floating_base.floating_common import about_com, error, every, judge, worst
from footfall.robot import Robot
from footfall.spatial import skew
from footfall.spatial.quaternion import to_rotation


def jcb_structure(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    def one(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> float:
        R, x_b = to_rotation(q[3:7]), q[:3]
        found, asked = [], []
        for J, x_f in zip(kinematics.feet_jacobian(robot, q), kinematics.foot_positions(robot, q)):
            turned = np.concatenate([J[[3, 4, 5, 0, 1, 2], 3:6] @ R.T, J[[3, 4, 5, 0, 1, 2], :3] @ R.T], axis=1)
            found.append(turned)
            lever = -skew(x_f - x_b)
            asked.append(np.block([[np.eye(3), lever], [np.zeros((3, 3)), np.eye(3)]]))
        return error(np.array(found), np.array(asked))

    return judge(
        "jcb_structure",
        worst(one, every(robots, states)),
        "base columns of the foot Jacobians by the support path, turned to world axes and (linear, angular) order",
    )


def gravity(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    def one(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> float:
        g = np.concatenate([np.zeros(3), to_rotation(q[3:7]).T @ np.array(dynamics.GRAVITY), np.zeros(robot.nj)])
        return error(-dynamics.mass_matrix(robot, q) @ g, dynamics.gravity_terms(robot, q))

    return judge(
        "gravity_is_minus_M_g",
        worst(one, every(robots, states)),
        "Algorithm 3 against the mass matrix; with velocities in base axes g is turned into them",
    )


def momentum_rows(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    def one(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> float:
        M, X = dynamics.mass_matrix(robot, q), about_com(robot, q)
        moved = np.stack([X.wrench_to_parent(column) for column in M[:6].T], axis=1)
        locked = M[:6, :6] @ v[:6]
        still = np.concatenate([v[:6], np.zeros(robot.nj)])
        whole = X.wrench_to_child(dynamics.momentum(robot, q, still))
        return max(error(moved, dynamics.momentum_matrix(robot, q)), error(locked, whole))

    return judge(
        "momentum_rows",
        worst(one, every(robots, states)),
        "rows moved to the centre of mass against the centroidal momentum matrix, summed body by body; M_b against the"
        " momentum of the robot moving as one body",
    )


def skew_property(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    right: list[float] = []
    printed: list[float] = []
    for robot, q, v, _, _ in every(robots, states):
        C, M = dynamics.coriolis_matrix(robot, q, v), dynamics.mass_matrix(robot, q)
        change = rate_along(robot, lambda x, robot=robot: dynamics.mass_matrix(robot, x), q, v)  # type: ignore[misc]
        for S, found in ((change - 2 * C, right), (M - 2 * C, printed)):
            found.append(float(np.abs(S + S.T).max() / max(np.abs(S).max(), 1e-300)))
    return judge(
        "skew",
        max(right),
        "S = dM/dt - 2C, dM/dt by differentiation along the motion. Our copy of the slides, converted from handwriting,"
        f" has M - 2C, for which |S + Sᵀ| / |S| is {min(printed):.2g} at least: no choice of C makes it skew. The same"
        " copy has ẍ for ẋ in the base's velocity, C q̈ for C q̇ and q̇ for q in the minimal coordinates: it loses and"
        " adds dots, so the slip is not held against the slides",
    )


def energy(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    def one(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> float:
        half = 0.5 * v @ dynamics.mass_matrix(robot, q) @ v
        return abs(dynamics.kinetic_energy(robot, q, v) - half) / half

    return judge(
        "kinetic_energy",
        worst(one, every(robots, states)),
        "link by link (rotors included) against the mass matrix",
    )
