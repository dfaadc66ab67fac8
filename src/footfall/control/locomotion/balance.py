"""Balance: contact forces for a desired wrench on the trunk at the present time (the slides, fact 7: stage one of
two).
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.control.interface import Sensed
from footfall.control.locomotion.single_body import SingleBody, friction_pyramid
from footfall.control.locomotion.types import LocomotionPlan
from footfall.spatial import cross, skew
from footfall.spatial.quaternion import to_rotation
from nptrace.array_types import Float
from nptrace.solve import quadratic

WRENCH_WEIGHTS = np.array([20.0, 20.0, 10.0, 2.0, 2.0, 4.0])  # weights of moment and force
FORCE_WEIGHT = 1e-3  # weight of a force [1/N²]


def balance_forces(
    body: SingleBody, sensed: Sensed, plan: LocomotionPlan, down: Float[ndarray, "4"]
) -> tuple[Float[ndarray, "4 3"], quadratic.QPSolution]:
    """Return (forces [N] at the stance feet in world axes, solver status).

    Their moment about the centre of mass and their sum come as close as possible to the desired ones. Solved in units
    of the robot's weight.
    """
    R = to_rotation(sensed.q[3:7])
    weight, com = body.weight, sensed.q[:3] + R @ body.com
    wrench = desired_wrench(body, R, sensed.v[:3], plan.acceleration)
    loaded = [np.where(d > 0.5, 1.0, 0.0) for d in down]
    arms = [np.concatenate([skew(foot - com), np.eye(3)]) for foot in plan.feet]
    A = weight * np.concatenate([d * arm for d, arm in zip(loaded, arms)], axis=1)
    scale = 1.0 / weight**2
    H = A.T @ (scale * WRENCH_WEIGHTS[:, None] * A) + FORCE_WEIGHT * np.eye(12)
    cone = np.zeros((20, 12))
    for k in range(4):
        cone[5 * k : 5 * k + 5, 3 * k : 3 * k + 3] = friction_pyramid(plan.friction, plan.normal)
    low = np.stack([d - 1.0 for d in loaded for _ in range(5)])
    none = 2.0 * quadratic.INFINITE
    high = np.stack([x for d in loaded for x in (none, none, none, none, 1.0 + 2.0 * d)])
    share = 1.0 / np.maximum(1.0, sum(loaded))
    guess = np.stack([x for d in loaded for x in (0.0 * d, 0.0 * d, d * share)])
    qp = quadratic.QP.of(H, -(A.T @ (scale * WRENCH_WEIGHTS * wrench)), cone, low, high)
    solution = quadratic.solve(qp, quadratic.start_at(qp, guess, 0.02, 0.01))
    used = np.stack([d for d in loaded for _ in range(3)])
    return weight * np.reshape(solution.x * used, (4, 3)), solution


def desired_wrench(
    body: SingleBody, R: Float[ndarray, "3 3"], omega_B: Float[ndarray, "3"], acceleration: Float[ndarray, "6"]
) -> Float[ndarray, "6"]:
    """Return the moment about the centre of mass and the force, in world axes, that move the single body as desired."""
    moment_B = body.inertia @ acceleration[:3] + cross(omega_B, body.inertia @ omega_B)
    force = body.mass * (acceleration[3:] - np.array(body.gravity))
    return np.concatenate([R @ moment_B, force])
