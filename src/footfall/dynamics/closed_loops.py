"""Dynamics with closed loops: a tree whose loops are kept closed by forces (Featherstone 2008, sections 8.2 and 8.4).

    [ M  -Gᵀ ] [ a ]   [ force  ]
    [ G   0  ] [ λ ] = [ wanted ]

G a = wanted keeps every loop closed; λ are the forces of the loops on their second links, in the axes of their first.
The system is solved by its Schur complement G M⁻¹ Gᵀ on the branch-sparse factor of M, so that the tree's algorithms
are used as they are, and a robot without loops pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.dynamics.factor import factor, solve_factored
from footfall.dynamics.forward_dynamics import bias_terms, generalised
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.dynamics.parallel_joints import PosedRobot
from footfall.kinematics.closed_loops import LoopRows, loop_rows, rows_of
from footfall.kinematics.forward import joint_positions, joint_rates
from footfall.robot.model.description import Robot
from footfall.spatial import Transform
from footfall.spatial.gravity import GRAVITY
from nptrace.array_types import Float
from nptrace.solve.elimination import eliminate

RATE = 100.0  # [1/s], rate at which higher-order integrators correct the drift of a loop
_SLACK = 1e-13  # fraction of the diagonal: redundant loops share their force


@dataclass(frozen=True)
class LoopConstraint:
    """The constraint G a = wanted that keeps the loops closed."""

    G: Float[ndarray, "m nv"]
    wanted: Float[ndarray, "m"]


def closed_dynamics(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    tau: Float[ndarray, "nj"],
    gravity: Float[ndarray, "3"] | tuple[float, float, float] = GRAVITY,
    rate: float = 0.0,
) -> tuple[Float[ndarray, "nv"], Float[ndarray, "m"]]:
    """Return accelerations with all kinematic loops closed.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates [rad/s or m/s].
        tau: Joint torques, or generalised forces.
        gravity: Acceleration of gravity in world axes [m/s²].
        rate: Baumgarte rate [1/s], G a + γ = -2 rate G v - rate² e, which closes open loops; 0 turns it off.

    Returns:
        (a, λ): accelerations dv/dt and the forces of the loops [N, N m].
    """
    rows = loop_rows(robot, q, v)
    L, d = factor(robot, mass_matrix(robot, q))
    force = generalised(robot, tau) - bias_terms(robot, q, v, gravity)
    wanted = -rows.bias - 2.0 * rate * (rows.G @ v) - rate * rate * rows.error
    return solve_closed(lambda b: solve_factored(robot, L, d, b), force, LoopConstraint(rows.G, wanted))


def step_constraint(rows: LoopRows, v: Float[ndarray, "nv"], dt: float) -> LoopConstraint:
    """Return the constraint that keeps loops closed over a step of ``dt``.

    Joints advance by their velocities at the end of the step, q⁺ = q + dt v⁺, so that e⁺ = e + dt G v⁺ + ½ dt² γ + ...:
    v⁺ is chosen for this to vanish, and the step corrects the remainder of third order (``project_to_loop_closure``). G
    v is then +½ dt γ before and -½ dt γ after a step, so that λ does no work on their mean. Without a step (dt = 0:
    Heun, Runge-Kutta), Baumgarte stabilisation at ``RATE`` is used.
    """
    if type(dt) in (int, float) and dt == 0.0:  # a traced dt is a step
        return LoopConstraint(rows.G, -rows.bias - 2.0 * RATE * (rows.G @ v) - RATE**2 * rows.error)
    return LoopConstraint(rows.G, (-rows.error / dt - 0.5 * dt * rows.bias - rows.G @ v) / dt)


def posture_constraint(
    at_q: PosedRobot, poses: list[Transform], q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], dt: float
) -> LoopConstraint | None:
    """Return the constraint of a robot in axes that do not rotate with parallel joints; None without loops."""
    robot = at_q.robot
    if not robot.loops:
        return None

    def link_pose(link: str) -> Transform:
        body, X_BL = robot.tree.frames[link]
        return poses[body] @ Transform(at_q.rotations[body] @ X_BL.R, at_q.point(body, X_BL.p))

    rows = rows_of(robot, poses, link_pose, joint_positions(robot, q), joint_rates(robot, v))
    return step_constraint(rows, v, dt)


def solve_closed(
    solve: Callable[[ndarray], ndarray], force: Float[ndarray, "nv"], loops: LoopConstraint
) -> tuple[Float[ndarray, "nv"], Float[ndarray, "m"]]:
    """Return (a, λ) of A a - Gᵀ λ = force, G a = wanted, where ``solve`` gives A⁻¹ of columns; A need not be
    symmetric.
    """
    both = solve(np.concatenate([np.stack([force], axis=1), loops.G.T], axis=1))
    free, Y = both[:, 0], both[:, 1:]
    forces = eliminate(_with_slack(loops.G @ Y), loops.wanted - loops.G @ free)
    return free + Y @ forces, forces


def closed_halves(
    Y: Float[ndarray, "nv n"],
    y: Float[ndarray, "nv"],
    weights: Float[ndarray, "nv"],
    Y_loops: Float[ndarray, "nv m"],
    wanted: Float[ndarray, "m"],
) -> tuple[Float[ndarray, "nv n"], Float[ndarray, "nv"]]:
    """Return half-solved systems (Y, y) (``factor.solve_outward``) with loops closed.

    Y is projected orthogonally to the loop constraints in the metric of ``weights``; y gets their contribution.
    """
    weighed = weights[:, None] * Y_loops
    S = _with_slack(Y_loops.T @ weighed)
    both = np.concatenate([weighed.T @ Y, np.stack([weighed.T @ y - wanted], axis=1)], axis=1)
    taken = Y_loops @ eliminate(S, both)
    return Y - taken[:, :-1], y - taken[:, -1]


def _with_slack(S: Float[ndarray, "m m"]) -> Float[ndarray, "m m"]:
    for k in range(len(S)):
        S[k, k] = (1.0 + _SLACK) * S[k, k]
    return S
