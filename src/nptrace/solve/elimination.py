"""Small linear systems A x = B by elimination without pivoting, for matrices close to positive definite."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from nptrace.solve.factor import cholesky, cholesky_solve


def eliminate(A: ndarray, B: ndarray) -> ndarray:
    """Return x with A x = B, a vector or columns; A may be unsymmetric, but its leading blocks must be regular."""
    n, rows, rest = len(A), np.array(A), np.array(B)
    for k in range(n):
        part = rows[k + 1 :, k] / rows[k, k]
        rows[k + 1 :, k + 1 :] = rows[k + 1 :, k + 1 :] - np.outer(part, rows[k, k + 1 :])
        rest[k + 1 :] = rest[k + 1 :] - (np.outer(part, rest[k]) if rest.ndim > 1 else part * rest[k])
    for k in reversed(range(n)):
        rest[k] = rest[k] / rows[k, k]
        column = rows[:k, k]
        rest[:k] = rest[:k] - (np.outer(column, rest[k]) if rest.ndim > 1 else column * rest[k])
    return rest


def least_squares(A: ndarray, B: ndarray) -> ndarray:
    """Return x that minimises |A x - B|, by the normal equations, which square the condition number of A."""
    return cholesky_solve(cholesky(A.T @ A), A.T @ B)
