"""The backward sweep of dynamic programming: changes of the inputs and gains, from a quadratic model of the cost-to-go.

A knot's model is one matrix over z = (u, x, 1): curvatures, and gradients in its last row and column. So is the
cost-to-go over (x, 1), and a stage is three products and a factorisation,

    H = L + Zᵀ V Z,   H_uu = C Cᵀ,   Y = C⁻¹ H_u·,   V = H_·· - YᵀY,   (K, k) = -C⁻ᵀ Y

small enough that the number of calls matters more than their operations: BLAS is called directly, with routines that
stay on one thread (triangular matrices are inverted and multiplied, since OpenBLAS starts threads to solve with them,
however small).

Inputs have limits (Tassa, Mansard, Todorov 2014): a knot that reaches one is solved by projected Newton, and inputs at
a limit have no gain.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol

import numpy as np
from numpy import ndarray

from nptrace.array_types import Float


@dataclass(frozen=True)
class Model:
    """Knots as quadratic models; z = (u, x, 1)."""

    Z: Float[ndarray, "N z x"]  # (x, 1) after a knot as a function of z, transposed as BLAS expects it
    L: Float[ndarray, "N z z"]  # knot costs
    V: Float[ndarray, "x x"]  # cost of the last state

    @staticmethod
    def of(A: ndarray, B: ndarray, x: ndarray, xx: ndarray, u: ndarray, uu: ndarray) -> Model:
        """Create it from derivatives of steps and costs; x and xx have a row for the last state."""
        N, n, m = B.shape
        Z, L = np.zeros((N, m + n + 1, n + 1)), np.zeros((N, m + n + 1, m + n + 1))
        Z[:, :m, :n], Z[:, m:-1, :n], Z[:, -1, n] = B.swapaxes(1, 2), A.swapaxes(1, 2), 1.0
        L[:, :m, :m], L[:, m:-1, m:-1] = uu, xx[:-1]
        L[:, :m, -1] = L[:, -1, :m] = u
        L[:, m:-1, -1] = L[:, -1, m:-1] = x[:-1]
        V = np.zeros((n + 1, n + 1))
        V[:n, :n], V[:n, n], V[n, :n] = xx[-1], x[-1], x[-1]
        return Model(Z, L, V)

    def backward_pass(
        self, low: Float[ndarray, "N m"], high: Float[ndarray, "N m"], weight: float
    ) -> BackwardPass | None:
        """See ``backward``."""
        return backward(self, low, high, weight)


class QuadraticModel(Protocol):
    """A second-order model of a horizon that can be swept backwards."""

    def backward_pass(
        self, low: Float[ndarray, "N m"], high: Float[ndarray, "N m"], weight: float
    ) -> BackwardPass | None: ...


@dataclass(frozen=True)
class BackwardPass:
    """Feedforward changes of the inputs, feedback gains, and the predicted change of the cost."""

    changes: Float[ndarray, "N m"]
    gains: Float[ndarray, "N m n"]
    linear: float
    quadratic: float

    def promised_decrease(self, length: float) -> float:
        """Return the predicted decrease of the cost for a step length from 0 to 1."""
        return -length * (self.linear + length * self.quadratic)


def backward(
    model: Model, low: Float[ndarray, "N m"], high: Float[ndarray, "N m"], weight: float
) -> BackwardPass | None:
    """Return the model's optimal plan within limits of the changes, or None where a knot has no minimum.

    weight: a penalty on the change of the next state.
    """
    blas, _ = _routines()
    N, m = low.shape
    V, gains_and_changes = model.V, np.empty((N, m, model.V.shape[0]))
    linear = quadratic = 0.0
    bounded = bool(np.isfinite(low).any() or np.isfinite(high).any())
    for k in range(N - 1, -1, -1):
        Z = model.Z[k].T
        H = blas.dgemm(1.0, Z, blas.dgemm(1.0, V, Z), 1.0, model.L[k].T, 1)
        H_uu, H_u = H[:m, :m], H[:m, m:]
        bounds = (low[k], high[k]) if bounded else (None, None)
        solved = (
            _regularised_knot(H_uu, H_u, weight * Z[:-1, :m], Z[:-1], *bounds) if weight else _knot(H_uu, H_u, *bounds)
        )
        if solved is None:
            return None
        gains_and_changes[k], Y = solved
        if Y is not None:  # a minimum without active limits: most terms below cancel
            V = blas.dgemm(-1.0, Y, Y, 1.0, H[m:, m:], 1)
            falls = -float(Y[:, -1] @ Y[:, -1])
            linear += falls
            quadratic -= 0.5 * falls
            continue
        K, change = gains_and_changes[k], gains_and_changes[k, :, -1]
        linear += float(change @ H_u[:, -1])
        quadratic += 0.5 * float(change @ H_uu @ change)
        half = K.T @ (0.5 * (H_uu @ K) + H_u)
        V = H[m:, m:] + half + half.T
    return BackwardPass(gains_and_changes[:, :, -1].copy(), gains_and_changes[:, :, :-1].copy(), linear, quadratic)


@functools.cache
def _routines() -> tuple[ModuleType, ModuleType]:
    """Return SciPy's BLAS and LAPACK, loaded on first use: what is imported with every controller needs NumPy alone."""
    from scipy.linalg import blas, lapack

    return blas, lapack


def _regularised_knot(
    H_uu: ndarray, H_u: ndarray, B: ndarray, Z: ndarray, low: ndarray | None, high: ndarray | None
) -> tuple[ndarray, ndarray | None] | None:
    """Return a knot's feedback law with a penalty on the next state, which is not part of the cost."""
    m = len(H_uu)
    tied = H_u.copy()
    tied[:, :-1] += B.T @ Z[:, m:-1]
    solved = _knot(H_uu + B.T @ Z[:, :m], tied, low, high)
    return None if solved is None else (solved[0], None)


def _knot(H: ndarray, G: ndarray, low: ndarray | None, high: ndarray | None) -> tuple[ndarray, ndarray | None] | None:
    """Return ((gains, change) of the input at one knot, Y if no limit is active); None without a minimum."""
    blas, lapack = _routines()
    C, wrong = lapack.dpotrf(H, lower=1)
    if wrong:
        return None
    inverse, _ = lapack.dtrtri(C, lower=1)
    Y = blas.dtrmm(1.0, inverse, G, lower=1)
    gains_and_changes = blas.dtrmm(-1.0, inverse, Y, lower=1, trans_a=1)
    change = gains_and_changes[:, -1]
    if low is None or high is None or ((change > low) & (change < high)).all():
        return gains_and_changes, Y
    solved = box_minimum(H, G[:, -1], low, high)
    if solved is None:
        return None
    change, free = solved
    gains_and_changes = np.zeros_like(G)
    if free.any():
        gains_and_changes[free] = -np.linalg.solve(H[np.ix_(free, free)], G[free])
    gains_and_changes[:, -1] = change
    return gains_and_changes, None


def box_minimum(
    H: Float[ndarray, "m m"], g: Float[ndarray, "m"], low: Float[ndarray, "m"], high: Float[ndarray, "m"]
) -> tuple[Float[ndarray, "m"], ndarray] | None:
    """Return (d, which are free) minimising ½ dᵀHd + gᵀd between low and high, by projected Newton; None if there is
    none.
    """
    d = np.clip(np.zeros(len(g)), low, high)
    for _ in range(50):
        gradient = g + H @ d
        at_limit = ((d <= low) & (gradient > 0)) | ((d >= high) & (gradient < 0))
        free = ~at_limit
        if not free.any() or np.abs(gradient[free]).max() < 1e-10 * max(np.abs(g).max(), 1e-300):
            break
        try:
            L = np.linalg.cholesky(H[np.ix_(free, free)])
        except np.linalg.LinAlgError:
            return None
        move = np.zeros(len(g))
        move[free] = -np.linalg.solve(L.T, np.linalg.solve(L, gradient[free]))
        before, length = 0.5 * d @ H @ d + g @ d, 1.0
        while True:
            tried = np.clip(d + length * move, low, high)
            if 0.5 * tried @ H @ tried + g @ tried <= before + 0.1 * (gradient @ (tried - d)) or length < 1e-10:
                break
            length *= 0.5
        if np.array_equal(tried, d):
            break
        d = tried
    gradient = g + H @ d
    at_limit = ((d <= low) & (gradient >= 0)) | ((d >= high) & (gradient <= 0))
    return d, ~at_limit
