"""Factorizations of symmetric matrices without pivoting: A = L Lᵀ (Cholesky) and A = L D Lᵀ, by columns.

Only the lower half of A is read. Traced, the columns unroll, and zeros that are known while tracing cost nothing: order
unknowns that are coupled to few others first, as in any sparse factorisation. ``looped`` is for matrices without zeros.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from nptrace.array_types import Float


def cholesky(A: Float[ndarray, "n n"]) -> Float[ndarray, "n n"]:
    """Return lower triangular L with L Lᵀ = A, for a positive definite A."""
    n, rest = len(A), np.array(A)
    L = np.zeros((n, n))
    for j in range(n):
        column = rest[j:, j] / np.sqrt(rest[j, j])
        L[j:, j] = column
        rest[j + 1 :, j + 1 :] = rest[j + 1 :, j + 1 :] - np.outer(column[1:], column[1:])
    return L


def cholesky_solve(L: Float[ndarray, "n n"], b: Float[ndarray, "n"]) -> Float[ndarray, "n"]:
    """Return x with L Lᵀ x = b; b may have columns."""
    return back_substitute(L, substitute(L, b))


def ldl(A: Float[ndarray, "n n"]) -> tuple[Float[ndarray, "n n"], Float[ndarray, "n"]]:
    """Return (L, 1/d), with L unit lower triangular and L diag(d) Lᵀ = A.

    For definite A, and for quasi-definite A ([H Eᵀ; E -F] with H and F definite; F may be 0 if E has full rank), which
    have such factors for any order of the first block.
    """
    n, rest = len(A), np.array(A)
    L, inverse = np.eye(n), np.zeros(n)
    for j in range(n):
        inverse[j] = 1.0 / rest[j, j]
        below = rest[j + 1 :, j]
        L[j + 1 :, j] = below * inverse[j]
        rest[j + 1 :, j + 1 :] = rest[j + 1 :, j + 1 :] - np.outer(L[j + 1 :, j], below)
    return L, inverse


def ldl_solve(
    factors: tuple[Float[ndarray, "n n"], Float[ndarray, "n"]], b: Float[ndarray, "n"]
) -> Float[ndarray, "n"]:
    """Return x with L diag(d) Lᵀ x = b."""
    L, inverse = factors
    return back_substitute(L, inverse * substitute(L, b, unit=True), unit=True)


def substitute(L: Float[ndarray, "n n"], b: Float[ndarray, "n"], unit: bool = False) -> Float[ndarray, "n"]:
    """Return x with L x = b; b may have columns. ``unit``: assume that the diagonal of L is 1."""
    rest = np.array(b)
    for j in range(len(L)):
        if not unit:
            rest[j] = rest[j] / L[j, j]
        below = L[j + 1 :, j]
        rest[j + 1 :] = rest[j + 1 :] - (np.outer(below, rest[j]) if rest.ndim > 1 else below * rest[j])
    return rest


def back_substitute(L: Float[ndarray, "n n"], b: Float[ndarray, "n"], unit: bool = False) -> Float[ndarray, "n"]:
    """Return x with Lᵀ x = b."""
    rest = np.array(b)
    for j in reversed(range(len(L))):
        if not unit:
            rest[j] = rest[j] / L[j, j]
        row = L[j, :j]
        rest[:j] = rest[:j] - (np.outer(row, rest[j]) if rest.ndim > 1 else row * rest[j])
    return rest
