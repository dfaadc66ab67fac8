"""Quadratic programs by a primal-dual interior point method (Mehrotra 1992; Nocedal & Wright, ch. 16.6).

min ½ xᵀHx + fᵀx with E x = e and low <= A x <= high, H positive definite where E leaves x free. Bounds may be infinite.
Plain NumPy without branches on values: it is traced and compiled with the code that needs the solution. Every step
solves one quasi-definite system, [H + AᵀWA, Eᵀ; E, 0]; zeros of H, A and E that are known while tracing cost nothing,
so the amount of work depends on the order of the unknowns (``factor``). QPs without known zeros are solved by loops
(``dense``): more work, far less code.

The result is data: the solution, a success flag, and a point for a warm start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

from nptrace import numeric
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float
from nptrace.solve.factor import ldl, ldl_solve
from nptrace.solve.looped import Rows, ldl_rows, ldl_rows_solve, weighted_squares
from nptrace.solve.precision import reachable

INFINITE = 1e20  # larger bounds are infinite
ITERATIONS, TOLERANCE = 40, 1e-9
_HEAVY = 1e3  # larger multipliers scale up gradients and products of slack and multiplier
_LONG, _CENTRED = (
    18,
    0.8,
)  # from this step on, every third only centres the products at this share of their mean
_BACK = 0.995  # fraction of the way to the nearest bound
_LOST = 1e12  # beyond this error no solution is found


@dataclass(frozen=True, kw_only=True)
class QP:
    """A quadratic program: min ½ xᵀHx + fᵀx, E x = e, low <= A x <= high."""

    H: PyTree  # Float[ndarray, "n n"], or Rows
    f: Float[ndarray, "n"]
    A: PyTree  # Float[ndarray, "m n"], or Rows
    low: Float[ndarray, "m"]
    high: Float[ndarray, "m"]
    E: PyTree  # Float[ndarray, "p n"], or Rows
    e: Float[ndarray, "p"]

    @staticmethod
    def of(
        H: ndarray,
        f: ndarray,
        A: ndarray | None = None,
        low: ndarray | None = None,
        high: ndarray | None = None,
        E: ndarray | None = None,
        e: ndarray | None = None,
    ) -> QP:
        """Return a QP with defaults for missing arguments."""
        n = len(f)
        A = np.zeros((0, n)) if A is None else A
        none = np.full(len(A), 2.0 * INFINITE)
        E = np.zeros((0, n)) if E is None else E
        return QP(
            H=H,
            f=f,
            A=A,
            low=-none if low is None else low,
            high=none if high is None else high,
            E=E,
            e=np.zeros(0) if e is None else e,
        )


@dataclass(frozen=True, kw_only=True)
class QPIterate:
    """Unknowns, multipliers of the equalities, and slacks and multipliers of lower and upper bounds."""

    x: Float[ndarray, "n"]
    y: Float[ndarray, "p"]
    slack_lower: Float[ndarray, "m"]  # A x - low
    slack_upper: Float[ndarray, "m"]  # high - A x
    mult_lower: Float[ndarray, "m"]  # multipliers of the lower bounds
    mult_upper: Float[ndarray, "m"]  # multipliers of the upper bounds


@dataclass(frozen=True, kw_only=True)
class QPSolution:
    """The result as numbers: flags are 0 or 1."""

    x: Float[ndarray, "n"]
    converged: Scalar
    infeasible: Scalar  # a combination of the constraints is contradictory
    iterations: Scalar
    primal: Scalar  # largest violation of a constraint
    dual: Scalar  # largest remaining gradient
    gap: Scalar  # mean product of slack and multiplier
    point: QPIterate

    def or_else(self, fallback: ndarray) -> ndarray:
        """Return the solution if there is one, else ``fallback``."""
        return np.where(self.converged > 0.5, self.x, fallback)


def start_at(qp: QP, x: Float[ndarray, "n"], least: float = 1.0, multiplier: float = 0.1) -> QPIterate:
    """Return an initial point near x: slacks as at x, at least ``least``; scale both to the QP's numbers."""
    has_low, has_high = _bounded(qp)
    reach, ones = qp.A @ x, np.ones(len(qp.A))
    return QPIterate(
        x=x,
        y=np.zeros(len(qp.e)),
        slack_lower=np.where(has_low, np.maximum(reach - qp.low, least), ones),
        slack_upper=np.where(has_high, np.maximum(qp.high - reach, least), ones),
        mult_lower=np.where(has_low, multiplier * ones, 0.0),
        mult_upper=np.where(has_high, multiplier * ones, 0.0),
    )


def start_again(qp: QP, point: QPIterate, least: float = 1e-3) -> QPIterate:
    """Return the solution of a similar QP, moved away from its bounds, as an initial point."""
    has_low, has_high = _bounded(qp)
    reach = qp.A @ point.x
    return QPIterate(
        x=point.x,
        y=point.y,
        slack_lower=np.where(has_low, np.maximum(reach - qp.low, least), 1.0),
        slack_upper=np.where(has_high, np.maximum(qp.high - reach, least), 1.0),
        mult_lower=np.where(has_low, np.maximum(point.mult_lower, least), 0.0),
        mult_upper=np.where(has_high, np.maximum(point.mult_upper, least), 0.0),
    )


def solve(
    qp: QP,
    start: QPIterate | None = None,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
    dense: bool = False,
    least: float = 1.0,
    multiplier: float = 0.1,
) -> QPSolution:
    """Return the minimizer, after at most ``iterations`` steps; elements that share lanes end together.

    start: the initial point (``start_at``, ``start_again``). By default, the first step ignores the bounds: if it
    satisfies them all, it is the solution, otherwise the method starts there, with slacks of at least ``least`` and
    multipliers of the scale of the QP. tolerance: bound on violations, gradients and products of slack and multiplier;
    in single precision at least ``precision.SINGLE``. dense: see above.
    """
    with np.errstate(all="ignore"):  # the status reports values that are not finite
        return _solve(_by_rows(qp) if dense else qp, start, iterations, tolerance, least, multiplier)


def _by_rows(qp: QP) -> QP:
    return replace(qp, H=Rows(qp.H), A=Rows(qp.A), E=Rows(qp.E))


def _solve(
    qp: QP, start: QPIterate | None, iterations: int, tolerance: float, least: float, multiplier: float
) -> QPSolution:
    n, m, p = len(qp.f), len(qp.A), len(qp.e)
    free = QPIterate(
        x=np.zeros(n),
        y=np.zeros(p),
        slack_lower=np.ones(m),
        slack_upper=np.ones(m),
        mult_lower=np.zeros(m),
        mult_upper=np.zeros(m),
    )
    goal = reachable(tolerance, qp.f[0])
    has_low, has_high = _bounded(qp)
    bounds = np.maximum(np.sum(np.where(has_low, 1.0, 0.0)) + np.sum(np.where(has_high, 1.0, 0.0)), 1.0)

    def better(_: Scalar, carry: tuple[QPIterate, ndarray, ndarray]) -> tuple[QPIterate, ndarray, ndarray]:
        before, last, count = carry
        newton = _Newton(qp, before)
        straight = newton.step(0.0, None)
        levels = (count > _LONG - 0.5) & (count - 3.0 * np.floor((count + 0.5) / 3.0) < 0.5)
        after, error = _improved(newton, straight, bounds, levels)
        if start is None:
            at_first, met = newton.unbounded(straight, least, multiplier)
            first = count < 0.5
            after, error = _chosen(first, at_first, after), np.where(first, np.where(met, 0.0, 0.5 * _LOST), error)
        error = np.where(newton.convex, error, 2.0 * _LOST)
        ended = good(carry)
        done = ended | ~(error < _LOST)
        return _chosen(done, before, after), np.where(ended, last, error), np.where(done, count, count + 1.0)

    def good(carry: tuple[QPIterate, ndarray, ndarray]) -> Operand:
        return (carry[1] < goal) | ~(carry[1] < _LOST)

    carry = (free if start is None else start, np.asarray(0.5 * _LOST), np.asarray(0.0))
    point, error, count = numeric.repeat(iterations, better, carry, until=good)
    point = numeric.custom_fixed_point(point, lambda held: _closer(qp, held))
    primal, dual, gap = residuals(qp, point, bounds)
    size = 1.0 + _largest(np.abs(qp.f)) + _largest(np.concatenate([point.mult_lower, point.mult_upper]))
    right = (primal < 10.0 * goal * size) & (dual < 10.0 * goal * size) & (gap < 10.0 * goal * _heaviness(point))
    converged = np.where((error < goal) & right, 1.0, 0.0)
    contradicts = _contradiction(qp, point) * (1.0 - converged)
    return QPSolution(
        x=point.x,
        converged=converged,
        infeasible=contradicts,
        iterations=count,
        primal=primal,
        dual=dual,
        gap=gap,
        point=point,
    )


def residuals(qp: QP, point: QPIterate, bounds: tuple[ndarray, ndarray]) -> tuple[Scalar, Scalar, Scalar]:
    """Return (largest violation, largest remaining gradient, mean of slack times multiplier)."""
    has_low, has_high = _bounded(qp)
    reach = qp.A @ point.x
    over = np.where(has_low, np.abs(reach - point.slack_lower - qp.low), 0.0)
    under = np.where(has_high, np.abs(reach + point.slack_upper - qp.high), 0.0)
    primal = _largest(np.concatenate([over, under, np.abs(qp.E @ point.x - qp.e)]))
    gap = (np.sum(point.slack_lower * point.mult_lower) + np.sum(point.slack_upper * point.mult_upper)) / bounds
    return primal, _largest(np.abs(_gradient(qp, point))), gap


def _bounded(qp: QP) -> tuple[ndarray, ndarray]:
    """Return which bounds are finite; NaN counts as a bound, so that it invalidates the result."""
    return ~(qp.low <= -INFINITE), ~(qp.high >= INFINITE)


def _gradient(qp: QP, point: QPIterate) -> Scalar:
    """Return the gradient of the Lagrangian by x."""
    by_bounds = qp.A.T @ (point.mult_upper - point.mult_lower)
    return qp.H @ point.x + qp.f + by_bounds + qp.E.T @ point.y


def _largest(values: Operand) -> Operand:
    return np.max(values) if len(values) else np.asarray(0.0)


def _heaviness(point: QPIterate) -> Scalar:
    """Return a scale of multipliers, at least 1."""
    return np.maximum(1.0, _largest(np.concatenate([point.mult_lower, point.mult_upper])) / _HEAVY)


def _least(values: Operand) -> Operand:
    return np.min(values) if len(values) else np.asarray(1.0)


def _improved(
    newton: _Newton, straight: QPIterate, bounds: tuple[ndarray, ndarray], levels: Scalar
) -> tuple[QPIterate, Scalar]:
    """Return (next point, its error) after one predictor-corrector step.

    Residuals are linear: a step of length a reduces them by 1 - a. The corrector may cycle (Cartis 2009), and did so in
    one of about a thousand QPs of falls and steps: a step with ``levels`` leaves it out and brings all products close
    to their mean, which ends the cycle.
    """
    point = newton.point
    gap = (np.sum(point.slack_lower * point.mult_lower) + np.sum(point.slack_upper * point.mult_upper)) / bounds
    ahead = _moved(point, straight, newton.length(straight, 1.0))
    gap_ahead = (np.sum(ahead.slack_lower * ahead.mult_lower) + np.sum(ahead.slack_upper * ahead.mult_upper)) / bounds
    ratio = gap_ahead / np.maximum(gap, 1e-30)
    goal, part = np.where(levels, _CENTRED, ratio * ratio * ratio) * gap, np.where(levels, 0.0, 1.0)
    bent = newton.step(goal, straight, part)
    far = newton.length(bent, _BACK)
    after = _moved(point, bent, far)
    gap = (np.sum(after.slack_lower * after.mult_lower) + np.sum(after.slack_upper * after.mult_upper)) / bounds
    return after, np.maximum((1.0 - far) * newton.residual(), gap) / _heaviness(after)


def _factored(qp: QP, weight: Operand) -> tuple[Callable[..., ndarray], tuple[ndarray, ndarray]]:
    """Return (solve function, factors) of [H + AᵀWA, Eᵀ; E, 0]."""
    n, p = len(qp.f), len(qp.e)
    K = np.zeros((n + p, n + p))
    if isinstance(qp.A, Rows):
        K[:n, :n] = qp.H.array + weighted_squares(qp.A.array, weight)
        K[n:, :n] = qp.E.array
        return ldl_rows_solve, ldl_rows(K)
    K[:n, :n] = qp.H + qp.A.T @ (weight[:, None] * qp.A)
    K[n:, :n] = qp.E
    return ldl_solve, ldl(K)


class _Newton:
    """The linear system at one point, factored once for two right-hand sides."""

    def __init__(self, qp: QP, point: QPIterate) -> None:
        self.qp, self.point = qp, point
        self.has_low, self.has_high = _bounded(qp)
        self.by_lower, self.by_upper = 1.0 / point.slack_lower, 1.0 / point.slack_upper
        weight = point.mult_lower * self.by_lower + point.mult_upper * self.by_upper
        self.solve, self.factors = _factored(qp, weight)
        self.convex = _least(self.factors[1][: len(qp.f)]) > 0.0  # a positive definite matrix has positive pivots
        reach = qp.A @ point.x
        self.miss_low = np.where(self.has_low, reach - point.slack_lower - qp.low, 0.0)
        self.miss_high = np.where(self.has_high, qp.high - reach - point.slack_upper, 0.0)
        self.gradient, self.miss = _gradient(qp, point), qp.E @ point.x - qp.e

    def step(
        self,
        goal: Scalar,
        bend: QPIterate | None,
        part: Scalar = 1.0,
        low: ndarray | None = None,
        high: ndarray | None = None,
    ) -> QPIterate:
        """Step towards slack times multiplier = goal, with ``part`` of the second-order term of step ``bend``."""
        point, qp = self.point, self.qp
        low_goal, high_goal = (goal, goal) if low is None else (low, high)
        left = (
            low_goal
            - point.slack_lower * point.mult_lower
            - (0.0 if bend is None else part * bend.slack_lower * bend.mult_lower)
        )
        right = (
            high_goal
            - point.slack_upper * point.mult_upper
            - (0.0 if bend is None else part * bend.slack_upper * bend.mult_upper)
        )
        left = np.where(self.has_low, left - point.mult_lower * self.miss_low, 0.0) * self.by_lower
        right = np.where(self.has_high, right - point.mult_upper * self.miss_high, 0.0) * self.by_upper
        n = len(qp.f)
        found = self.solve(self.factors, np.concatenate([qp.A.T @ (left - right) - self.gradient, -self.miss]))
        reach = qp.A @ found[:n]
        return QPIterate(
            x=found[:n],
            y=found[n:],
            slack_lower=np.where(self.has_low, reach + self.miss_low, 0.0),
            slack_upper=np.where(self.has_high, self.miss_high - reach, 0.0),
            mult_lower=np.where(self.has_low, left - point.mult_lower * self.by_lower * reach, 0.0),
            mult_upper=np.where(self.has_high, right + point.mult_upper * self.by_upper * reach, 0.0),
        )

    def residual(self) -> Scalar:
        """Return the largest violation or gradient."""
        return _largest(np.abs(np.concatenate([self.miss_low, self.miss_high, self.miss, self.gradient])))

    def unbounded(self, straight: QPIterate, least: float, multiplier: float) -> tuple[QPIterate, Scalar]:
        """Return (the point after a step without multipliers, whether it satisfies all bounds and is the solution)."""
        end = _moved(self.point, straight, 1.0)
        slack = np.concatenate(
            [np.where(self.has_low, end.slack_lower, 1.0), np.where(self.has_high, end.slack_upper, 1.0)]
        )
        met = _least(slack) >= 0.0
        over, under = (np.where(met, s, np.maximum(s, least)) for s in (end.slack_lower, end.slack_upper))
        mult_lower, mult_upper = (
            np.where(met, 0.0, np.where(has, multiplier, 0.0)) for has in (self.has_low, self.has_high)
        )
        over, under = np.where(self.has_low, over, 1.0), np.where(self.has_high, under, 1.0)
        return QPIterate(
            x=end.x,
            y=end.y,
            slack_lower=over,
            slack_upper=under,
            mult_lower=mult_lower + 0.0 * end.slack_lower,
            mult_upper=mult_upper + 0.0 * end.slack_upper,
        ), met

    def length(self, step: QPIterate, back: float) -> Scalar:
        """Return the largest step length, at most 1, at which slacks and multipliers stay positive."""
        point = self.point
        shrink = [
            -step.slack_lower * self.by_lower,
            -step.slack_upper * self.by_upper,
            np.where(self.has_low, -step.mult_lower / np.where(self.has_low, point.mult_lower, 1.0), 0.0),
            np.where(self.has_high, -step.mult_upper / np.where(self.has_high, point.mult_upper, 1.0), 0.0),
        ]
        return back / np.maximum(back, _largest(np.concatenate(shrink)))


def _moved(point: QPIterate, step: QPIterate, far: Scalar) -> QPIterate:
    return QPIterate(**{key: getattr(point, key) + far * getattr(step, key) for key in QPIterate.__dataclass_fields__})


def _chosen(condition: Scalar, one: QPIterate, other: QPIterate) -> QPIterate:
    return QPIterate(
        **{key: np.where(condition, getattr(one, key), getattr(other, key)) for key in QPIterate.__dataclass_fields__}
    )


def _closer(qp: QP, point: QPIterate) -> QPIterate:
    """Take a Newton step at a solution with fixed products of slack and multiplier, for the derivative by the data."""
    newton = _Newton(qp, point)
    return _moved(
        point,
        newton.step(0.0, None, 1.0, point.slack_lower * point.mult_lower, point.slack_upper * point.mult_upper),
        1.0,
    )


def _contradiction(qp: QP, point: QPIterate) -> Scalar:
    """Return 1 if the multipliers prove infeasibility (Farkas): Aᵀz + Eᵀy = 0 with a negative bound."""
    has_low, has_high = _bounded(qp)
    value = np.sum(np.where(has_high, qp.high, 0.0) * point.mult_upper) + np.sum(qp.e * point.y)
    value = value - np.sum(np.where(has_low, qp.low, 0.0) * point.mult_lower)
    left = _largest(np.abs(qp.A.T @ (point.mult_upper - point.mult_lower) + qp.E.T @ point.y))
    return np.where((value < 0.0) & (left <= -1e-6 * value), 1.0, 0.0)


__all__ = ["INFINITE", "QP", "QPIterate", "QPSolution", "residuals", "solve", "start_again", "start_at"]


def __dir__() -> list[str]:
    return sorted(__all__)
