"""How far a robot can be pushed by its feet and its motors: facts 4 and 5 of the lecture slides as programs.

Accelerations, contact forces and joint torques are linear in each other at a fixed state, so the largest acceleration
that friction, the one-sidedness of the ground and motor limits allow is a linear program. Friction cones are cut to
pyramids that lie inside them: 16 sides, 2 % less force at worst.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.optimize import linprog

from footfall.dynamics.constrained import contact_jacobian
from footfall.dynamics.forward_dynamics import bias_terms
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.gravity import GRAVITY
from footfall.kinematics.forward import center_of_mass, foot_positions
from footfall.robot.model.description import Robot
from footfall.spatial import skew

_SIDES = 16


def largest_acceleration(
    robot: Robot, q: Float[ndarray, "nq"], direction: Float[ndarray, "6"], friction: float | None, limited: bool
) -> float:
    """Largest acceleration of a level base along a direction (angular, linear), all feet standing still, at rest.

    friction: coefficient; None lets the ground pull and hold sideways without end. limited: whether motors have limits.
    Infinite where nothing stops it.
    """
    n, m, nj = robot.nv, 3 * robot.nf, robot.nj
    M, J, h = mass_matrix(robot, q), contact_jacobian(robot, q), bias_terms(robot, q, np.zeros(robot.nv))
    # unknowns: how much along the direction, joint accelerations, forces, torques
    base = np.zeros((n, 1 + nj))
    base[:6, 0], base[6:, 1:] = direction, np.eye(nj)
    S = np.concatenate([np.zeros((6, nj)), np.eye(nj)])
    equal = np.block([[M @ base, -J.T, -S], [J @ base, np.zeros((m, m)), np.zeros((m, nj))]])
    limits = np.array([_limit(robot, name) if limited else np.inf for name in robot.joint_names])
    bounds = [(None, None)] * (1 + nj + m) + [(-limit, limit) for limit in limits]
    cone = np.zeros((0, equal.shape[1]))
    if friction is not None:
        forces = _pyramids(robot.nf, friction)
        cone = np.concatenate([np.zeros((len(forces), 1 + nj)), forces, np.zeros((len(forces), nj))], axis=1)
    return _most(equal, np.concatenate([-h, np.zeros(m)]), cone, bounds)


def largest_com_acceleration(
    robot: Robot, q: Float[ndarray, "nq"], direction: Float[ndarray, "3"], friction: float | None
) -> float:
    """Largest acceleration of the centre of mass along a direction by forces at all feet that do not turn the robot."""
    levers = foot_positions(robot, q) - center_of_mass(robot, q)
    W = np.concatenate([np.concatenate([skew(r) for r in levers], axis=1), np.tile(np.eye(3), (1, robot.nf))])
    wanted = np.concatenate([np.zeros(3), robot.mass * direction])
    equal = np.concatenate([-wanted[:, None], W], axis=1)
    cone = np.zeros((0, equal.shape[1]))
    if friction is not None:
        forces = _pyramids(robot.nf, friction)
        cone = np.concatenate([np.zeros((len(forces), 1)), forces], axis=1)
    weight = robot.mass * np.array([0.0, 0.0, 0.0, *GRAVITY])
    return _most(equal, -weight, cone, [(None, None)] * equal.shape[1])


def _pyramids(feet: int, friction: float) -> Float[ndarray, "rows forces"]:
    """Rows of the friction pyramids of all feet: row @ forces <= 0."""
    angles = 2 * np.pi * np.arange(_SIDES) / _SIDES
    one = np.stack([np.cos(angles), np.sin(angles), np.full(_SIDES, -friction * np.cos(np.pi / _SIDES))], axis=1)
    return np.kron(np.eye(feet), one)


def _most(equal: ndarray, right: ndarray, cone: ndarray, bounds: list[tuple[float | None, float | None]]) -> float:
    """The largest first unknown; infinite where nothing stops it."""
    goal = np.zeros(equal.shape[1])
    goal[0] = -1.0
    found = linprog(goal, cone, np.zeros(len(cone)), equal, right, bounds=bounds, method="highs")
    return float(-found.fun) if found.status == 0 else np.inf


def _limit(robot: Robot, joint: str) -> float:
    return next((actuator.torque_limit for actuator in robot.actuators if actuator.joint == joint), np.inf)
