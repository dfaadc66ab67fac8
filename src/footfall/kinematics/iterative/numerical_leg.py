"""Iterative inverse kinematics of a leg for any foot position, for legs without a closed form (canted axes).

Damped Newton's method (Levenberg-Marquardt, with Sugihara's damping of 2011: the squared residual), from a nearby
guess: the closed form of a leg with straightened axes, or the previous joints. Then two or three iterations suffice.
Traced, it is a loop that ends when the foot is at its target; its derivative is that of the solution.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

import nptrace
from footfall.kinematics.leg_chain import LegChain, Values, foot_jacobian
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float
from nptrace.solve.factor import cholesky, cholesky_solve

THERE = 1e-10  # [m]
_ITERATIONS = 30  # maximum iterations
_STEP = 0.5  # [rad] or [m], largest change of a joint in one iteration
_LEAST = 1e-14  # [m²], smallest damping: a stretched leg has no inverse


def numerical_leg(
    leg: LegChain, position: Float[ndarray, "3"], guess: Values, iterations: int = _ITERATIONS
) -> tuple[Float[ndarray, "n"], Operand]:
    """Solve the inverse kinematics of a leg by damped Newton steps, without joint limits.

    If the position is out of reach, the leg points towards it.

    Args:
        leg: Chain of the leg (``leg_chain``).
        position: Position of the foot's centre in the frame of the body that carries the leg [m].
        guess: Joint values to start from.
        iterations: Largest number of iterations.

    Returns:
        Joint values, and whether the foot is at its target.
    """

    def closer(joints: ndarray, damping: Scalar = 1.0) -> ndarray:
        p, J = foot_jacobian(leg, joints)
        left = position - p
        A = J @ J.T + (damping * (left @ left) + _LEAST) * np.eye(3)
        return joints + np.clip(J.T @ cholesky_solve(cholesky(A), left), -_STEP, _STEP)

    def iterate(_: float, carry: tuple[ndarray, PyTree]) -> tuple[ndarray, PyTree]:
        joints, far = carry
        found = nptrace.select(far <= THERE, joints, closer(joints))
        return found, _distance(leg, found, position)

    start = np.stack([angle + 0.0 for angle in guess])
    found, far = nptrace.repeat(iterations, iterate, (start, np.inf), until=lambda carry: carry[1] <= THERE)
    return nptrace.custom_fixed_point(found, lambda joints: closer(joints, 0.0)), far <= 1e3 * THERE


def _distance(leg: LegChain, joints: ndarray, position: ndarray) -> Scalar:
    left = position - foot_jacobian(leg, joints)[0]
    return np.sqrt(left @ left)
