"""One stage of dynamic programming: from the value function after a step to that before it.

min over u of ½ x⁺ᵀPx⁺ + pᵀx⁺ + ½ uᵀRu + uᵀSx⁺ + rᵀu with x⁺ = A x + B u. Matrices are computed once (``Gains``),
vectors as often as needed. Square roots are used rather than inverses: with L Lᵀ = R + BᵀPB + ... and Y = L⁻¹(...)A,
the value before is AᵀPA - YᵀY, which stays symmetric, and the input is -L⁻ᵀ(Y x + y).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from nptrace.array_types import Float
from nptrace.solve.factor import back_substitute, cholesky, substitute


@dataclass(frozen=True)
class Gains:
    """The feedback law: u = -L⁻ᵀ(Y x + y), with y = L⁻¹ q of ``before``."""

    L: Float[ndarray, "m m"]
    Y: Float[ndarray, "m n"]

    def input(self, y: Float[ndarray, "m"], x: Float[ndarray, "n"]) -> Float[ndarray, "m"]:
        return -back_substitute(self.L, self.Y @ x + y)


def riccati_step(
    A: Float[ndarray, "n n"],
    B: Float[ndarray, "n m"],
    R: Float[ndarray, "m m"],
    S: Float[ndarray, "m n"],
    P: Float[ndarray, "n n"],
) -> tuple[Gains, Float[ndarray, "n n"]]:
    """Return (gains, P before the step)."""
    PB = P @ B + S.T
    L = cholesky(R + B.T @ PB + S @ B)
    PA = P @ A
    Y = substitute(L, PB.T @ A)
    before = A.T @ PA - Y.T @ Y
    lower = np.tril(np.ones(P.shape)) > 0.5  # copy one half, since rounding would make P unsymmetric
    return Gains(L, Y), np.where(lower, before, before.T)


def before(
    gains: Gains, A: Float[ndarray, "n n"], B: Float[ndarray, "n m"], r: Float[ndarray, "m"], p: Float[ndarray, "n"]
) -> tuple[Float[ndarray, "m"], Float[ndarray, "n"]]:
    """Return (y, p before the step) for the linear terms of a stage."""
    y = substitute(gains.L, r + B.T @ p)
    return y, A.T @ p - gains.Y.T @ y
