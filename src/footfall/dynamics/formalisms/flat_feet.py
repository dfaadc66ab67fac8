"""Flat feet, six rows each (J_c in R^{6 x (n+6)} of the lecture slides, 24 rows in Adak 2021), and their limits.

A sole on the ground transmits a whole wrench (n, f): the foot neither moves nor rotates. The KKT system, the impact and
eq. (19) of Yan 2021 (``solve_by_structure`` with ``flat``) are those of points with twice the rows. The ground can
supply less: a centre of pressure inside the sole, friction, and a moment about the normal that friction at the sole's
points can make. For a rectangle this cone has a closed form (Caron, Pham and Nakamura 2015).
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.dynamics.factor import factor, solve_inward, solve_outward
from footfall.dynamics.formalisms.constrained import Gravity, contact_solve
from footfall.dynamics.forward_dynamics import bias_terms, generalised
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.errors import InputError
from footfall.kinematics.jacobian import feet_bias_acceleration, feet_jacobian
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import FlatFoot
from footfall.spatial.gravity import GRAVITY
from nptrace.array_types import Float


def flat_dynamics(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    tau: Float[ndarray, "nj"],
    mode: Float[ndarray, "nf"],
    gravity: Gravity = GRAVITY,
    damping: float = 0.0,
) -> tuple[Float[ndarray, "nv"], Float[ndarray, "nf 6"]]:
    """Return accelerations and contact wrenches with flat soles held: they neither move nor rotate.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.
        tau: Joint torques [N m].
        mode: 1 for each sole flat on the ground, 0 for the others; it may be traced.
        gravity: Acceleration of gravity in world axes [m/s²].
        damping: Damping as in ``constrained_dynamics``.

    Returns:
        Accelerations a = dv/dt, and wrenches (moment, force) on the soles at their middles, world axes.
    """
    _check(robot, mode)
    L, d, Y, _ = _in_factor(robot, q)
    free = solve_outward(robot, L, generalised(robot, tau) - bias_terms(robot, q, v, gravity))
    wanted = -np.reshape(feet_bias_acceleration(robot, q, v), (6 * robot.nf,))
    w = contact_solve(d, Y, mode[:, None] * np.ones(6), wanted - Y.T @ (free / d), damping)
    return solve_inward(robot, L, (free + Y @ w) / d), np.reshape(w, (robot.nf, 6))


def flat_impact(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], mode: Float[ndarray, "nf"], damping: float = 0.0
) -> tuple[Float[ndarray, "nv"], Float[ndarray, "nf 6"]]:
    """Return the velocity after flat soles land and stick.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.
        mode: 1 for each sole flat on the ground after the impact.
        damping: Damping as in ``constrained_dynamics``.

    Returns:
        Velocity after the impact, and impulses (moment, force) [N m s, N s].
    """
    _check(robot, mode)
    L, d, Y, J = _in_factor(robot, q)
    w = contact_solve(d, Y, mode[:, None] * np.ones(6), -(J @ v), damping)
    return v + solve_inward(robot, L, (Y @ w) / d), np.reshape(w, (robot.nf, 6))


def center_of_pressure(wrench: Float[ndarray, "6"]) -> Float[ndarray, "2"]:
    """Return where on the sole the force acts, from its middle, in the axes of the wrench [m]: z along the normal."""
    return np.stack([-wrench[1] / wrench[5], wrench[0] / wrench[5]])


def sole_margins(
    sole: tuple[float, float], wrench: Float[ndarray, "6"], friction: float
) -> dict[str, Float[ndarray, "_"]]:
    """Return the margins of a contact wrench inside the limits of a flat sole.

    All margins are zero or more exactly where forces at the corners of the sole can produce the wrench.

    Args:
        sole: Length and width of the sole [m].
        wrench: Moment and force at the middle of the sole, in its axes.
        friction: Coefficient of friction.

    Returns:
        ``normal`` [N], ``friction`` [N] along x and y (a pyramid), ``pressure`` [N m] along x and y, ``yaw`` [N m] in
        both directions.
    """
    X, Y, mu = 0.5 * sole[0], 0.5 * sole[1], friction
    n, f = wrench[:3], wrench[3:]
    reach = mu * (X + Y) * f[2]
    least = np.abs(Y * f[0] - mu * n[0]) + np.abs(X * f[1] - mu * n[1]) - reach
    most = reach - np.abs(Y * f[0] + mu * n[0]) - np.abs(X * f[1] + mu * n[1])
    return {
        "normal": np.stack([f[2]]),
        "friction": mu * f[2] - np.abs(f[:2]),
        "pressure": np.stack([X * f[2] - np.abs(n[1]), Y * f[2] - np.abs(n[0])]),
        "yaw": np.stack([n[2] - least, most - n[2]]),
    }


def _in_factor(robot: Robot, q: ndarray) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Return (L, d, Y, J) with six rows per foot, like ``constrained.feet_in_factor`` with three."""
    L, d = factor(robot, mass_matrix(robot, q))
    J = np.reshape(feet_jacobian(robot, q), (6 * robot.nf, robot.nv))
    return L, d, solve_outward(robot, L, J.T), J


def _check(robot: Robot, mode: ndarray) -> None:
    for foot in robot.feet:
        if not isinstance(foot, FlatFoot):
            raise InputError(f"foot '{foot.name}' of robot '{robot.name}' has no sole: FlatFoot(..., sole=(0.2, 0.1))")
    if np.shape(mode) != (robot.nf,):
        raise InputError(f"a mode of robot '{robot.name}' is {robot.nf} numbers, got shape {np.shape(mode)}")
