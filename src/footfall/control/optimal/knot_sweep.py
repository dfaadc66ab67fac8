"""The backward sweep over expanded knots: the Riccati recursion, written for one compiled call.

With z = (δu, δx), δx⁺ = T G z + E δq_J: G has rows for the base's position and for velocities alone, and joints move by
their rates at the end of the interval, T, from where they are, E. So the cost-to-go is first mapped to G's rows,

    H = Gᵀ(TᵀVT G + TᵀVE S) + Sᵀ EᵀVT G + Sᵀ EᵀVE S + costs,   H_uu = L Lᵀ,   Y = L⁻¹ H_ux,   V⁻ = H_xx - YᵀY

with S z = δq_J: two thirds of the products needed with A and B, which are never formed. It supports neither limits of
the inputs nor a penalty on a step; ``sweep`` does.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

import nptrace
from footfall.control.optimal.knot import KnotModel, KnotTerms
from nptrace._types import PyTree, Scalar
from nptrace.array_types import Float
from nptrace.solve.factor import back_substitute, cholesky, substitute


def sweep_backward(
    model: KnotModel, terms: KnotTerms, weights: Float[ndarray, "K nd"], intervals: Float[ndarray, "K"]
) -> tuple[Float[ndarray, "N m _"], Scalar]:
    """Return ((gains, change) of every knot's input, decrease of twice the cost for a full step); NaN where a knot
    has no minimum.
    """
    nv, m = model.robot.nv, model.robot.nj
    rows = (
        terms.motion,
        terms.gradient,
        terms.position_hessian,
        terms.effort,
        terms.friction,
        weights[:, nv:],
        intervals,
    )
    V = _state_cost(terms.position_hessian[-1], weights[-1, nv:])

    def knot(
        carry: tuple[PyTree, PyTree, PyTree], row: tuple[PyTree, ...]
    ) -> tuple[tuple[PyTree, PyTree, PyTree], PyTree]:
        V, p, fall = carry
        motion, gradient, position_hessian, effort, friction, speeds, dt = row
        G = motion.T
        VT = np.concatenate([V[:, :6], V[:, nv : nv + 6], V[:, nv + 6 :] + dt * V[:, 6:nv]], axis=1)
        TVT = np.concatenate([VT[:6], VT[nv : nv + 6], VT[nv + 6 :] + dt * VT[6:nv]])
        TVE = VT[6:nv].T
        ahead = np.concatenate([p[:6], p[nv : nv + 6], p[nv + 6 :] + dt * p[6:nv]])
        joints = slice(m + 6, m + nv)
        W = TVT @ G
        W[:, joints] = W[:, joints] + TVE
        H, h = G.T @ W, G.T @ ahead + gradient
        H[joints] = H[joints] + TVE.T @ G
        H[joints, joints] = H[joints, joints] + V[6:nv, 6:nv]
        h[joints] = h[joints] + p[6:nv]
        H = H + friction.T @ friction
        H[:m, :m] = H[:m, :m] + np.diag(effort)
        H[m:, m:] = H[m:, m:] + _state_cost(position_hessian, speeds)
        L = cholesky(_symmetric(H[:m, :m]))
        Y = substitute(L, np.concatenate([H[m:, :m].T, h[:m, None]], axis=1))
        y = Y[:, -1]
        V = _symmetric(H[m:, m:] - Y[:, :-1].T @ Y[:, :-1])
        return (V, h[m:] - Y[:, :-1].T @ y, fall + y @ y), -back_substitute(L, Y)

    running = tuple(array[:-1] for array in rows)
    (_, _, fall), gains_and_changes = nptrace.scan(knot, (V, terms.gradient[-1][m:], 0.0), running, reverse=True)
    return gains_and_changes, fall


def _state_cost(position_hessian: Float[ndarray, "nv nv"], speeds: Float[ndarray, "nv"]) -> Float[ndarray, "nd nd"]:
    """Return the curvature in (δq, δv)."""
    none = np.zeros(position_hessian.shape)
    return np.concatenate(
        [np.concatenate([position_hessian, none], axis=1), np.concatenate([none, np.diag(speeds)], axis=1)]
    )


def _symmetric(A: Float[ndarray, "n n"]) -> Float[ndarray, "n n"]:
    """Return a symmetric matrix from its lower half: the upper half is never computed, and rounding cannot make them
    differ.
    """
    return np.where(np.tril(np.ones(A.shape)) > 0.5, A, A.T)
