"""Balance: contact forces for a wanted wrench on the trunk, at this moment (the slides, fact 7: stage one of two)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import Sensed
from footfall.control.locomotion.legged_plan import Plan
from footfall.control.locomotion.qp import friction_pyramid, solve_qp
from footfall.control.locomotion.single_body import SingleBody
from footfall.spatial import cross, skew
from footfall.spatial.quaternion import to_rotation


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
    W = np.array([20.0, 20.0, 10.0, 2.0, 2.0, 4.0])
    H = A.T @ (W[:, None] * A) + 1e-3 * np.eye(A.shape[1])
    weight = body.weight
    cone = np.kron(np.eye(len(columns)), friction_pyramid(friction, found.normal))
    upper = np.tile([np.inf, np.inf, np.inf, np.inf, 3.0 * weight], len(columns))
    solution = solve_qp(H, -A.T @ (W * wrench), cone, np.zeros(5 * len(columns)), upper)
    if solution.x is None:
        return None, solution.status
    forces[columns] = solution.x.reshape(-1, 3)
    return forces, solution.status


def _wanted_wrench(
    body: SingleBody, R: Float[ndarray, "3 3"], omega_B: Float[ndarray, "3"], acceleration: Float[ndarray, "6"]
) -> Float[ndarray, "6"]:
    """Moment about the centre of mass and force, world axes, that move the single body as wanted."""
    moment_B = body.inertia @ acceleration[:3] + cross(omega_B, body.inertia @ omega_B)
    force = body.mass * (acceleration[3:] - np.array(body.gravity))
    return np.concatenate([R @ moment_B, force])
