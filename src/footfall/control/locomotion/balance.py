"""Balance: contact forces for a wanted wrench on the trunk, at this moment (the slides, fact 7: stage one of two)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import Sensed
from footfall.control.locomotion.legged_plan import LocomotionPlan
from footfall.control.locomotion.single_body import SingleBody, friction_pyramid
from footfall.spatial import cross, skew
from footfall.spatial.quaternion import to_rotation
from nptrace.solve import quadratic

WEIGHTS = np.array([20.0, 20.0, 10.0, 2.0, 2.0, 4.0])  # of moment and force
LEAST = 1e-3  # of a force [1/N²]


def balance_forces(
    body: SingleBody, sensed: Sensed, found: LocomotionPlan, down: Float[ndarray, "4"]
) -> tuple[Float[ndarray, "4 3"], quadratic.Solution]:
    """Return (forces [N] at the feet that are down, world axes, how it went).

    Their moment about the centre of mass and their sum come nearest to what is wanted. Solved in robot weights.
    """
    R = to_rotation(sensed.q[3:7])
    weight, com = body.weight, sensed.q[:3] + R @ body.com
    wrench = wanted_wrench(body, R, sensed.v[:3], found.acceleration)
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


def wanted_wrench(
    body: SingleBody, R: Float[ndarray, "3 3"], omega_B: Float[ndarray, "3"], acceleration: Float[ndarray, "6"]
) -> Float[ndarray, "6"]:
    """Moment about the centre of mass and force, world axes, that move the single body as wanted."""
    moment_B = body.inertia @ acceleration[:3] + cross(omega_B, body.inertia @ omega_B)
    force = body.mass * (acceleration[3:] - np.array(body.gravity))
    return np.concatenate([R @ moment_B, force])
