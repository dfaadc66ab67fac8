"""Quadratic programs by DAQP with checks: finite input and output, a time limit, and a status.

min ½ xᵀHx + fᵀx with lower <= A x <= upper; equal bounds make an equality. Solved by daqp (dense active set), which for
NaN input reports success and returns NaN: input and output are checked here.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy import ndarray

from footfall.errors import MissingExtraError
from nptrace.array_types import Float

_EQUALITY = 5  # daqp's code
TIME_LIMIT = 1.0  # [s], only against a hang: if a busy machine reached it, runs would differ
_REASONS = {
    -1: "infeasible",
    -2: "cycling",
    -3: "unbounded",
    -4: "iteration limit",
    -5: "not convex",
    -6: "no start",
    -7: "time limit",
}


@dataclass(frozen=True)
class Solution:
    """x, or None with the reason; ``seconds`` includes the set-up."""

    x: Float[ndarray, "n"] | None
    status: str  # solved, or the reason
    seconds: float
    iterations: int = 0

    @property
    def solved(self) -> bool:
        return self.x is not None


def solver() -> ModuleType:
    try:
        import daqp
    except ImportError:
        raise MissingExtraError("DAQP", "compare", "daqp") from None
    return daqp


def solve_qp(
    H: Float[ndarray, "n n"],
    f: Float[ndarray, "n"],
    A: Float[ndarray, "m n"],
    lower: Float[ndarray, "m"],
    upper: Float[ndarray, "m"],
    time_limit: float = TIME_LIMIT,
) -> Solution:
    """Minimise ½ xᵀHx + fᵀx with lower <= A x <= upper; see ``solve_bounded``."""
    return solve_bounded(H, f, A, lower, upper, time_limit)


def solve_bounded(
    H: Float[ndarray, "n n"],
    f: Float[ndarray, "n"],
    A: Float[ndarray, "m n"],
    low: Float[ndarray, "k"],
    high: Float[ndarray, "k"],
    time_limit: float = TIME_LIMIT,
) -> Solution:
    """Return the minimiser, or the reason why there is none, within the time limit [s]; never NaN.

    With more bounds than rows of A the first ones bound x itself.
    """
    began = time.perf_counter()
    if not all(np.isfinite(x).all() for x in (H, f, A)) or np.isnan(low).any() or np.isnan(high).any():
        return Solution(None, "not finite", 0.0)
    if (low > high).any():
        return Solution(None, "infeasible", 0.0)
    sense = np.where(high - low < 1e-12, _EQUALITY, 0).astype(np.int32)
    try:
        x, _, flag, info = solver().solve(
            np.ascontiguousarray(H),
            np.ascontiguousarray(f),
            np.ascontiguousarray(A),
            np.minimum(high, 1e30),
            np.maximum(low, -1e30),
            sense,
            time_limit=time_limit,
            iter_limit=2000,
        )
    except (ValueError, RuntimeError, ArithmeticError) as error:
        return Solution(None, f"refused ({error})", time.perf_counter() - began)
    seconds = time.perf_counter() - began
    if flag < 1:
        return Solution(None, _REASONS.get(flag, f"failed ({flag})"), seconds, info.get("iterations", 0))
    x = np.array(x)
    if not np.isfinite(x).all():
        return Solution(None, "not finite", seconds)
    return Solution(x, "solved", seconds, info.get("iterations", 0))
