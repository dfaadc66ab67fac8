"""A = L D Lᵀ of a small dense symmetric matrix, written with loops: what a trace can unroll (contact sets, 12 x 12)."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def dense_factor(A: Float[ndarray, "n n"]) -> tuple[Float[ndarray, "n n"], Float[ndarray, "n"]]:
    """(L, d), L unit lower triangular; reads the lower triangle of a positive definite A. No pivoting."""
    n = len(A)
    L = np.eye(n)
    d: list[float] = []
    for k in range(n):
        column = A[k:, k]
        for j in range(k):
            column = column - L[k:, j] * (L[k, j] * d[j])
        d.append(column[0])
        L[k + 1 :, k] = column[1:] * (1.0 / d[k])
    return L, np.stack(d) if d else np.zeros(0)


def dense_solve(L: Float[ndarray, "n n"], d: Float[ndarray, "n"], b: Float[ndarray, "n"]) -> Float[ndarray, "n"]:
    """x with L diag(d) Lᵀ x = b."""
    n = len(d)
    x = [b[k] for k in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            x[i] = x[i] - L[i, k] * x[k]
    for k in reversed(range(n)):
        x[k] = x[k] * (1.0 / d[k])
        for i in range(k + 1, n):
            x[k] = x[k] - L[i, k] * x[i]
    return np.stack(x) if x else np.zeros(0)
