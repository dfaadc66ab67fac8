"""Balance: contact forces for a wanted wrench on the trunk, at this moment (the slides, fact 7: stage one of two)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import Sensed
from footfall.control.locomotion.legged_plan import Plan
from footfall.control.locomotion.qp import friction_pyramid, solve_qp
from footfall.control.locomotion.single_body import SingleBody
from footfall.solve import quadratic
from footfall.spatial import cross, skew
from footfall.spatial.quaternion import to_rotation

WEIGHTS = np.array([20.0, 20.0, 10.0, 2.0, 2.0, 4.0])  # of moment and force
LEAST = 1e-3  # of a force [1/N²]


def balance_forces(
    body: SingleBody, sensed: Sensed, found: Plan, down: Float[ndarray, "4"], friction: float
) -> tuple[Float[ndarray, "4 3"] | None, str]:
    """(forces [N] at the feet that are down, world axes, whose moment about the centre of mass and sum come nearest to
    what is wanted, or None; how it went)."""
    forces = np.zeros((4, 3))
    columns = [k for k in range(4) if down[k] > 0.5]
    if not columns:
        return forces, "flight"
    R = to_rotation(sensed.q[3:7])
    wrench = _wanted_wrench(body, R, sensed.v[:3], found.acceleration)
    com = sensed.q[:3] + R @ body.com
    A = np.concatenate([np.concatenate([skew(found.feet[k] - com), np.eye(3)]) for k in columns], axis=1)
    W = WEIGHTS
    H = A.T @ (W[:, None] * A) + LEAST * np.eye(A.shape[1])
    weight = body.weight
    cone = np.kron(np.eye(len(columns)), friction_pyramid(friction, found.normal))
    upper = np.tile([np.inf, np.inf, np.inf, np.inf, 3.0 * weight], len(columns))
    solution = solve_qp(H, -A.T @ (W * wrench), cone, np.zeros(5 * len(columns)), upper)
    if solution.x is None:
        return None, solution.status
    forces[columns] = solution.x.reshape(-1, 3)
    return forces, solution.status


def balance_inside(
    body: SingleBody, sensed: Sensed, found: Plan, down: Float[ndarray, "4"]
) -> tuple[Float[ndarray, "4 3"], quadratic.Solution]:
    """(forces, how it went): the same program solved inside a trace, forces in robot weights."""
    R = to_rotation(sensed.q[3:7])
    weight, com = body.weight, sensed.q[:3] + R @ body.com
    wrench = _wanted_wrench(body, R, sensed.v[:3], found.acceleration)
    stands = [np.where(d > 0.5, 1.0, 0.0) for d in down]
    arms = [np.concatenate([skew(foot - com), np.eye(3)]) for foot in found.feet]
    A = weight * np.concatenate([d * arm for d, arm in zip(stands, arms)], axis=1)
    scale = 1.0 / weight**2
    H = A.T @ (scale * WEIGHTS[:, None] * A) + LEAST * np.eye(12)
    cone = np.zeros((20, 12))
    for k in range(4):
        cone[5 * k : 5 * k + 5, 3 * k : 3 * k + 3] = friction_pyramid(found.friction, found.normal)
    low = np.stack([d - 1.0 for d in stands for _ in range(5)])
    none = 2.0 * quadratic.INFINITE
    high = np.stack([x for d in stands for x in (none, none, none, none, 1.0 + 2.0 * d)])
    share = 1.0 / np.maximum(1.0, sum(stands))
    guess = np.stack([x for d in stands for x in (0.0 * d, 0.0 * d, d * share)])
    program = quadratic.Program.of(H, -(A.T @ (scale * WEIGHTS * wrench)), cone, low, high)
    solution = quadratic.solve(program, quadratic.start_at(program, guess, 0.02, 0.01))
    used = np.stack([d for d in stands for _ in range(3)])
    return weight * np.reshape(solution.x * used, (4, 3)), solution


def _wanted_wrench(
    body: SingleBody, R: Float[ndarray, "3 3"], omega_B: Float[ndarray, "3"], acceleration: Float[ndarray, "6"]
) -> Float[ndarray, "6"]:
    """Moment about the centre of mass and force, world axes, that move the single body as wanted."""
    moment_B = body.inertia @ acceleration[:3] + cross(omega_B, body.inertia @ omega_B)
    force = body.mass * (acceleration[3:] - np.array(body.gravity))
    return np.concatenate([R @ moment_B, force])
