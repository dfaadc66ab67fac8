"""Small general linear systems: Gaussian elimination with partial pivoting, traceable as rows are swapped by selects.

The row with the largest element of a column is moved up by comparing rows in turn, which costs a select per element:
fast enough for a dozen unknowns. ``factor`` is faster for symmetric matrices.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from nptrace.array_types import Float
from nptrace.numeric import select


def solve(A: Float[ndarray, "n n"], b: Float[ndarray, "n"]) -> Float[ndarray, "n"]:
    """Return x with A x = b; b may have columns. A singular matrix gives infinities or NaN, where NumPy raises."""
    right = np.array(b)
    rows = np.concatenate([np.array(A), right[:, None] if right.ndim == 1 else right], axis=1)
    n = len(rows)
    for j in range(n):
        for i in range(j + 1, n):
            swap = np.abs(rows[i, j]) > np.abs(rows[j, j])
            upper, lower = select(swap, rows[i, j:], rows[j, j:]), select(swap, rows[j, j:], rows[i, j:])
            rows[j, j:], rows[i, j:] = upper, lower
        for i in range(j + 1, n):
            rows[i, j:] = rows[i, j:] - (rows[i, j] / rows[j, j]) * rows[j, j:]
    x = rows[:, n:]
    for j in reversed(range(n)):
        x[j] = (x[j] - rows[j, j + 1 : n] @ x[j + 1 :]) / rows[j, j]
    return x[:, 0] if right.ndim == 1 else x


def inverse(A: Float[ndarray, "n n"]) -> Float[ndarray, "n n"]:
    """Return A⁻¹."""
    return solve(A, np.eye(len(A)))


__all__ = ["inverse", "solve"]


def __dir__() -> list[str]:
    return sorted(__all__)
