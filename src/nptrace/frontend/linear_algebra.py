"""``np.linalg.solve``, ``inv``, ``cholesky`` of small traced matrices, by the algorithms of ``nptrace.solve``."""

import numpy as np

from nptrace._types import Operand
from nptrace.ir.refusal import refusal
from nptrace.solve.factor import cholesky as factor
from nptrace.solve.pivoted import inverse
from nptrace.solve.pivoted import solve as pivoted_solve

LARGEST = 18  # unknowns: the loops unroll, to nine thousand operations for 18


def solve(a: Operand, b: Operand) -> np.ndarray:
    """Return ``np.linalg.solve`` of one matrix."""
    A, b = _matrix(a, "solve"), np.asarray(b)
    if b.ndim not in (1, 2) or len(b) != len(A):
        raise ValueError(f"np.linalg.solve: {A.shape} and {b.shape} do not fit")
    return pivoted_solve(A, b)


def inv(a: Operand) -> np.ndarray:
    """Return ``np.linalg.inv`` of one matrix."""
    return inverse(_matrix(a, "inv"))


def cholesky(a: Operand, /, *, upper: bool = False) -> np.ndarray:
    """Return ``np.linalg.cholesky`` of one matrix; as there, only its lower half is read."""
    L = factor(_matrix(a, "cholesky"))
    return L.T if upper else L


def _matrix(a: Operand, name: str) -> np.ndarray:
    A = np.asarray(a)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise refusal(f"np.linalg.{name} of shape {A.shape} cannot be traced: it takes one square matrix")
    if len(A) > LARGEST:
        raise refusal(
            f"np.linalg.{name} of {len(A)} unknowns cannot be traced: more than {LARGEST} would unroll into too much"
            " code; nptrace.solve has solvers with loops"
        )
    return A
