"""Factorizations of symmetric matrices without known zeros, as loops: n² operations of code instead of n³/3.

Rows and columns are rotated by one at every step, so that the pivot is always at the same position. This takes three
times the work of the unrolled factorization, and compiles thirty times as fast for thirty unknowns.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from nptrace import numeric
from nptrace._types import Scalar
from nptrace.array_types import Float


def ldl_rows(A: Float[ndarray, "n n"]) -> tuple[Float[ndarray, "n n"], Float[ndarray, "n"]]:
    """Return (columns, 1/d) of A = L D Lᵀ: row j holds column j of L, starting at the diagonal."""
    n = len(A)
    lower = np.tril(np.ones((n, n))) > 0.5

    def eliminate(rest: ndarray, _: Scalar) -> tuple[ndarray, tuple[ndarray, ndarray]]:
        inverse = 1.0 / rest[0, 0]
        below = rest[1:, 0]
        column = below * inverse
        after = np.zeros((n, n))
        after[: n - 1, : n - 1] = rest[1:, 1:] - np.outer(column, below)
        after = np.where(lower, after, 0.0)
        after[n - 1, n - 1] = 1.0 + 0.0 * inverse
        return after, (np.concatenate([column, np.zeros(1)]), inverse)

    _, (columns, inverse) = numeric.scan(eliminate, np.where(lower, A, 0.0), np.zeros(n))
    return columns, inverse


def ldl_rows_solve(
    factors: tuple[Float[ndarray, "n n"], Float[ndarray, "n"]], b: Float[ndarray, "n"]
) -> Float[ndarray, "n"]:
    """Return x with A x = b."""
    columns, inverse = factors
    zero = np.zeros(1)

    def forward(rest: ndarray, row: tuple[ndarray, ndarray]) -> tuple[ndarray, ndarray]:
        column, inverse = row
        after = np.concatenate([rest[1:], zero]) - column * rest[0]
        return after, rest[0] * inverse

    def backward(found: ndarray, row: tuple[ndarray, ndarray]) -> tuple[ndarray, ndarray]:
        column, value = row
        x = value - column @ found
        return np.concatenate([np.stack([x]), found[:-1]]), x

    _, scaled = numeric.scan(forward, b, (columns, inverse))
    return numeric.scan(backward, np.zeros(len(b)), (columns, scaled), reverse=True)[1]


class Rows:
    """A matrix without known zeros, with row-wise products: A @ x, A.T @ w and ``squares``."""

    def __init__(self, array: Float[ndarray, "m n"], transposed: bool = False) -> None:
        self.array, self.transposed = array, transposed

    def __len__(self) -> int:
        return self.array.shape[1 if self.transposed else 0]

    @property
    def T(self) -> Rows:
        return Rows(self.array, not self.transposed)

    def __matmul__(self, x: Float[ndarray, "n"]) -> Float[ndarray, "m"]:
        if not len(self.array):
            return np.zeros(len(self))
        if self.transposed:
            return numeric.scan(lambda sum, row: (sum + row[0] * row[1], row[1]), np.zeros(len(self)), (self.array, x))[
                0
            ]
        return numeric.scan(lambda carry, row: (carry, row @ x), 0.0, self.array)[1]


def weighted_squares(A: Float[ndarray, "m n"], weight: Float[ndarray, "m"]) -> Float[ndarray, "n n"]:
    """Return the lower half of Aᵀ diag(weight) A, summed over the rows of A."""
    n = A.shape[1]
    lower = np.tril(np.ones((n, n))) > 0.5

    def add(total: ndarray, row: tuple[ndarray, ndarray]) -> tuple[ndarray, ndarray]:
        a, w = row
        return np.where(lower, total + np.outer(w * a, a), 0.0), w

    return numeric.scan(add, np.zeros((n, n)), (A, weight))[0] if len(A) else np.zeros((n, n))
