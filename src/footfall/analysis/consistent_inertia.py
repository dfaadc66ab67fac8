"""Physically consistent inertias from equations for base parameters.

A body's pseudo-inertia [[J, h], [hᵀ, m]] is written L A Aᵀ Lᵀ, with L Lᵀ that of a prior and A lower triangular with a
positive diagonal (Rucker & Wensing 2022): it is positive definite for any values of the unknowns, which are the
logarithms of A's diagonal and the numbers below it. A weak regularisation pulls them to zero, which is the prior. Joint
losses and armature are kept from being negative.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy import ndarray

from footfall.dynamics.regressor import BaseParameters, parameters, pseudo_inertia
from footfall.robot.model.description import Robot
from nptrace.array_types import Float

_WEIGHTS = (1e-6, 1e-4, 1e-2, 1.0)  # weight of the equations relative to the prior
_LOWER = [(r, c) for r in range(4) for c in range(r + 1)]  # entries of a 4x4 lower triangle
_TEN = [(3, 3), (0, 3), (1, 3), (2, 3), (0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]  # in the pseudo-inertia


def physical_parameters(
    robot: Robot, base: BaseParameters, R: ndarray, z: ndarray, spread: float
) -> Float[ndarray, "np"]:
    """Return all parameters θ: the bodies with the least |R β - z|², regularised towards ``robot`` by 1 / spread²."""
    bodies = len(robot.tree.bodies)
    start = parameters(robot, base.joint_columns)
    L = np.stack(
        [
            np.linalg.cholesky(nearest_pseudo_inertia(pseudo_inertia(ten)))
            for ten in start[: 10 * bodies].reshape(-1, 10)
        ]
    )
    G = R @ base.combinations
    inertial = 10 * bodies

    def bodies_at(x: ndarray) -> tuple[ndarray, ndarray]:
        """Return (ten parameters of every body, their derivatives with respect to its ten unknowns)."""
        A = np.zeros((bodies, 4, 4))
        for k, (r, c) in enumerate(_LOWER):
            A[:, r, c] = np.exp(x[:, k]) if r == c else x[:, k]
        M = L @ A
        P = M @ np.swapaxes(M, 1, 2)
        slopes = np.zeros((bodies, 10, 10))
        for k, (r, c) in enumerate(_LOWER):
            step = L[:, :, r] * (A[:, r, r][:, None] if r == c else 1.0)
            dP = step[:, :, None] * M[:, None, :, c]
            dP = dP + np.swapaxes(dP, 1, 2)
            slopes[:, :, k] = np.stack([dP[:, i, j] for i, j in _TEN], axis=1)
        return np.stack([P[:, i, j] for i, j in _TEN], axis=1), slopes

    def residuals(x: ndarray, weight: float) -> ndarray:
        tens, _ = bodies_at(x[:inertial].reshape(bodies, 10))
        missing = G[:, :inertial] @ tens.ravel() + G[:, inertial:] @ x[inertial:] - z
        return np.concatenate([weight * missing, x[:inertial] / spread])

    def slope(x: ndarray, weight: float) -> ndarray:
        _, slopes = bodies_at(x[:inertial].reshape(bodies, 10))
        D = np.zeros((inertial, inertial))
        for k in range(bodies):
            D[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = slopes[k]
        weak = np.concatenate([np.eye(inertial) / spread, np.zeros((inertial, len(x) - inertial))], axis=1)
        return np.concatenate([weight * np.concatenate([G[:, :inertial] @ D, G[:, inertial:]], axis=1), weak])

    free_sign = np.arange(len(start)) < inertial
    found = np.concatenate([np.zeros(inertial), start[inertial:]])
    for (
        weight
    ) in _WEIGHTS:  # equations without noise outweigh the prior by 1e20, so the valley that they leave is narrow
        found = _least_squares(partial(residuals, weight=weight), partial(slope, weight=weight), found, free_sign)
    tens, _ = bodies_at(found[:inertial].reshape(bodies, 10))
    return np.concatenate([tens.ravel(), found[inertial:]])


def _least_squares(
    residuals: Callable[[ndarray], ndarray], slope: Callable[[ndarray], ndarray], x: ndarray, free_sign: ndarray
) -> ndarray:
    """Minimise by Levenberg-Marquardt; unknowns that are sign-constrained are projected to zero or above.

    SciPy's ``least_squares`` does the same with a singular value decomposition per step and is many times slower.
    """
    r, damping = residuals(x), 1e-6
    for _ in range(200):
        J = slope(x)
        H, g = J.T @ J, J.T @ r
        held = ~free_sign & (x <= 0) & (g > 0)
        H[held], H[:, held], g[held] = 0.0, 0.0, 0.0
        H[held, held] = 1.0
        while damping < 1e12:
            step = np.linalg.solve(H + damping * np.diag(np.diag(H)), -g)
            ahead = x + np.clip(step, -2.0, 2.0)
            ahead = np.where(free_sign, ahead, np.maximum(ahead, 0.0))
            r_ahead = residuals(ahead)
            if r_ahead @ r_ahead <= r @ r:
                break
            damping *= 10.0
        else:
            return x
        gained = r @ r - r_ahead @ r_ahead
        x, r, damping = ahead, r_ahead, max(damping / 10.0, 1e-12)
        if gained <= 1e-10 * (r @ r) + 1e-20:
            break
    return x


def nearest_pseudo_inertia(P: Float[ndarray, "4 4"], least: float = 1e-6) -> Float[ndarray, "4 4"]:
    """Return P with eigenvalues of at least ``least`` times the largest; priors may be inconsistent."""
    sizes, axes = np.linalg.eigh(P)
    floor = max(least * float(sizes[-1]), 1e-9)
    return P if sizes[0] >= floor else (axes * np.maximum(sizes, floor)) @ axes.T


__all__ = ["nearest_pseudo_inertia", "physical_parameters"]
