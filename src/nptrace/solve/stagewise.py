"""Optimal control over a horizon as a quadratic program, stage by stage (interior point, Riccati inside).

min Σ ½ x⁺ᵀQx⁺ + qᵀx⁺ + ½ uᵀRu + rᵀu with x⁺ = A x + B u + c and low <= C x⁺ + D u <= high, where x⁺ is the state after
a stage. The method is that of ``quadratic``; its linear system is solved by dynamic programming (Rao, Wright & Rawlings
1998), so that work is linear in the horizon and code size is constant: every sweep is a ``nptrace.scan``. States follow
from inputs, so that the dynamics hold at every iterate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy import ndarray

from nptrace import numeric
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float
from nptrace.solve.precision import reachable
from nptrace.solve.riccati import Gains, before, riccati_step

INFINITE = 1e20  # larger bounds are infinite
ITERATIONS, TOLERANCE = 25, 1e-9
_BACK = 0.995  # fraction of the way to the nearest bound
_LOST = 1e9  # beyond this gap no solution is found


@dataclass(frozen=True, kw_only=True)
class Stages:
    """The QP, one row per stage."""

    A: Float[ndarray, "N n n"]
    B: Float[ndarray, "N n m"]
    c: Float[ndarray, "N n"]
    Q: Float[ndarray, "N n n"]
    q: Float[ndarray, "N n"]
    R: Float[ndarray, "N m m"]
    r: Float[ndarray, "N m"]
    C: Float[ndarray, "N k n"]
    D: Float[ndarray, "N k m"]
    low: Float[ndarray, "N k"]
    high: Float[ndarray, "N k"]


@dataclass(frozen=True, kw_only=True)
class StagewiseIterate:
    """Inputs, states after them, slacks and multipliers of lower and upper bounds; one row per stage."""

    u: Float[ndarray, "N m"]
    x: Float[ndarray, "N n"]
    slack_lower: Float[ndarray, "N k"]
    slack_upper: Float[ndarray, "N k"]
    mult_lower: Float[ndarray, "N k"]
    mult_upper: Float[ndarray, "N k"]


@dataclass(frozen=True, kw_only=True)
class StagewiseSolution:
    """The result as numbers: flags are 0 or 1."""

    u: Float[ndarray, "N m"]
    x: Float[ndarray, "N n"]
    converged: Scalar
    infeasible: Scalar  # a combination of the constraints is contradictory
    iterations: Scalar
    primal: Scalar  # largest violation of a bound
    dual: Scalar  # largest remaining derivative by an input
    gap: Scalar  # mean product of slack and multiplier
    point: StagewiseIterate


def solve(
    stages: Stages,
    x: Float[ndarray, "n"],
    guess: Float[ndarray, "N m"],
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
    least: float = 0.1,
    multiplier: float = 0.1,
) -> StagewiseSolution:
    """Return the optimal inputs from the state x on; ``guess``: initial inputs.

    Slacks start as for the guess, at least ``least``, multipliers at ``multiplier``; scale both to the numbers of the
    QP.
    """
    with np.errstate(all="ignore"):  # the status reports values that are not finite
        return _solve(stages, x, _start(stages, x, guess, least, multiplier), iterations, tolerance)


def _solve(stages: Stages, x: ndarray, start: StagewiseIterate, iterations: int, tolerance: float) -> StagewiseSolution:
    goal = reachable(tolerance, x[0])
    has_low, has_high = _bounded(stages)
    bounds = np.maximum(np.sum(np.where(has_low, 1.0, 0.0)) + np.sum(np.where(has_high, 1.0, 0.0)), 1.0)
    primal, dual, gap = _residuals(stages, start, bounds)

    def better(_: Scalar, carry: _Carry) -> _Carry:
        point, left, gap, count = carry
        after, far, gap = _improved(stages, point, bounds, gap, _good(carry, goal))
        return after, (1.0 - far) * left, gap, count + np.where(far > 0.0, 1.0, 0.0)

    carry = (start, np.maximum(primal, dual), gap, 0.0 * gap)
    point, _, _, count = numeric.repeat(iterations, better, carry, until=lambda c: _good(c, goal))
    point = numeric.custom_fixed_point(point, lambda held: _closer(stages, x, held))
    primal, dual, gap = _residuals(stages, point, bounds)
    converged = np.where(np.maximum(np.maximum(primal, dual), gap) < 10.0 * goal, 1.0, 0.0)
    infeasible = _contradiction(stages, x, point) * (1.0 - converged)
    return StagewiseSolution(
        u=point.u,
        x=point.x,
        converged=converged,
        infeasible=infeasible,
        iterations=count,
        primal=primal,
        dual=dual,
        gap=gap,
        point=point,
    )


_Carry: TypeAlias = "tuple[StagewiseIterate, Scalar, Scalar, Scalar]"  # point, residual, gap, iterations


def rollout(stages: Stages, x: Float[ndarray, "n"], u: Float[ndarray, "N m"]) -> Float[ndarray, "N n"]:
    """Return the states after every stage."""

    def stage(x: ndarray, row: tuple[ndarray, ...]) -> tuple[ndarray, ndarray]:
        A, B, c, u = row
        after = A @ x + B @ u + c
        return after, after

    return numeric.scan(stage, x, (stages.A, stages.B, stages.c, u))[1]


def _good(carry: _Carry, tolerance: Scalar) -> Operand:
    error = np.maximum(carry[1], carry[2])
    return (error < tolerance) | ~(error < _LOST)


def _bounded(stages: Stages) -> tuple[ndarray, ndarray]:
    """Return which bounds are finite; NaN counts as a bound, so that it invalidates the result."""
    return ~(stages.low <= -INFINITE), ~(stages.high >= INFINITE)


def _start(stages: Stages, x: ndarray, guess: ndarray, least: float, multiplier: float) -> StagewiseIterate:
    def stage(x: ndarray, row: tuple[Stages, ndarray]) -> tuple[ndarray, StagewiseIterate]:
        s, u = row
        after = s.A @ x + s.B @ u + s.c
        reach = s.C @ after + s.D @ u
        has_low, has_high = _bounded(s)
        over = np.where(has_low, np.maximum(reach - s.low, least), 1.0)
        under = np.where(has_high, np.maximum(s.high - reach, least), 1.0)
        mult_lower, mult_upper = (np.where(has, multiplier, 0.0) for has in (has_low, has_high))
        return after, StagewiseIterate(
            u=u, x=after, slack_lower=over, slack_upper=under, mult_lower=mult_lower, mult_upper=mult_upper
        )

    return numeric.scan(stage, x, (stages, guess))[1]


@dataclass(frozen=True)
class _Sums:
    """Sums that determine the length of a step and the gap after it."""

    shrink: Scalar  # largest relative decrease of a slack or multiplier
    products: Scalar  # Σ slack · multiplier, by powers of the length
    slopes: Scalar
    squares: Scalar


def _improved(
    stages: Stages, point: StagewiseIterate, bounds: Scalar, gap: Scalar, done: ndarray
) -> tuple[StagewiseIterate, Scalar, Scalar]:
    """Return (next point, step length, gap) of a predictor-corrector step; a finished point is unchanged."""
    gains = _gains(stages, point)
    zero = 0.0 * gap
    straight, sums = _step(stages, point, gains, zero, None)
    far = 1.0 / np.maximum(1.0, sums.shrink)
    ratio = (sums.products + far * (sums.slopes + far * sums.squares)) / np.maximum(sums.products, 1e-300)
    bent, sums = _step(stages, point, gains, ratio * ratio * ratio * gap, straight)
    far = _BACK / np.maximum(_BACK, sums.shrink)
    after = (sums.products + far * (sums.slopes + far * sums.squares)) / bounds
    lost = ~(after < _LOST) | ~(sums.shrink < np.inf)
    stays = done | lost

    def move(carry: Scalar, row: tuple[StagewiseIterate, StagewiseIterate]) -> tuple[Scalar, StagewiseIterate]:
        return carry, _moved(*row, far, stays)

    moved = numeric.scan(move, zero, (point, bent))[1]
    return moved, np.where(stays, 0.0, far), np.where(done, gap, np.where(lost, 2.0 * _LOST, after))


def _gains(stages: Stages, point: StagewiseIterate) -> Gains:
    """Return the matrices of the backward sweep."""

    def stage(P: ndarray, row: tuple[Stages, StagewiseIterate]) -> tuple[ndarray, Gains]:
        s, at = row
        W = (at.mult_lower / at.slack_lower + at.mult_upper / at.slack_upper)[:, None]
        gains, P = riccati_step(s.A, s.B, s.R + s.D.T @ (W * s.D), s.D.T @ (W * s.C), P + s.Q + s.C.T @ (W * s.C))
        return P, gains

    n = stages.A.shape[1]
    return numeric.scan(stage, np.zeros((n, n)), (stages, point), reverse=True)[1]


@dataclass(frozen=True)
class _Push:
    """The linear terms of a stage, with the residuals and targets of its bounds."""

    y: ndarray
    left: ndarray
    right: ndarray
    miss_low: ndarray
    miss_high: ndarray


def _step(
    stages: Stages,
    point: StagewiseIterate,
    gains: Gains,
    goal: Scalar,
    bend: StagewiseIterate | None,
    keeps: bool = False,
) -> tuple[StagewiseIterate, _Sums]:
    """Step towards slack times multiplier = goal, or its current value (``keeps``); ``bend``: the predictor step."""

    def back(p: ndarray, row: tuple[Stages, StagewiseIterate, Gains, StagewiseIterate | None]) -> tuple[ndarray, _Push]:
        s, at, gain, bend = row
        has_low, has_high = _bounded(s)
        reach = s.C @ at.x + s.D @ at.u
        miss_low = np.where(has_low, reach - at.slack_lower - s.low, 0.0)
        miss_high = np.where(has_high, s.high - reach - at.slack_upper, 0.0)
        left, right = (
            (0.0, 0.0) if keeps else (goal - at.slack_lower * at.mult_lower, goal - at.slack_upper * at.mult_upper)
        )
        if bend is not None:
            left, right = left - bend.slack_lower * bend.mult_lower, right - bend.slack_upper * bend.mult_upper
        left = np.where(has_low, left - at.mult_lower * miss_low, 0.0) / at.slack_lower
        right = np.where(has_high, right - at.mult_upper * miss_high, 0.0) / at.slack_upper
        push = at.mult_upper - at.mult_lower - left + right
        after = p + s.Q @ at.x + s.q + s.C.T @ push
        y, p = before(gain, s.A, s.B, s.R @ at.u + s.r + s.D.T @ push, after)
        return p, _Push(y, left, right, miss_low, miss_high)

    n = stages.A.shape[1]
    _, pushes = numeric.scan(back, np.zeros(n), (stages, point, gains, bend), reverse=True)

    def forth(
        carry: tuple[ndarray, _Sums], row: tuple[Stages, StagewiseIterate, Gains, _Push]
    ) -> tuple[tuple[ndarray, _Sums], StagewiseIterate]:
        dx, sums = carry
        s, at, gain, push = row
        du = gain.input(push.y, dx)
        dx = s.A @ dx + s.B @ du
        step = _slacks(s, at, push, du, dx)
        return (dx, _added(s, sums, at, step)), step

    start = (np.zeros(n), _Sums(0.0 * goal, 0.0 * goal, 0.0 * goal, 0.0 * goal))
    (_, sums), step = numeric.scan(forth, start, (stages, point, gains, pushes))
    return step, sums


def _slacks(s: Stages, at: StagewiseIterate, push: _Push, du: ndarray, dx: ndarray) -> StagewiseIterate:
    """Return a step of inputs and states with the steps of slacks and multipliers."""
    has_low, has_high = _bounded(s)
    reach = s.C @ dx + s.D @ du
    return StagewiseIterate(
        u=du,
        x=dx,
        slack_lower=np.where(has_low, reach + push.miss_low, 0.0),
        slack_upper=np.where(has_high, push.miss_high - reach, 0.0),
        mult_lower=np.where(has_low, push.left - at.mult_lower / at.slack_lower * reach, 0.0),
        mult_upper=np.where(has_high, push.right + at.mult_upper / at.slack_upper * reach, 0.0),
    )


def _added(s: Stages, sums: _Sums, at: StagewiseIterate, step: StagewiseIterate) -> _Sums:
    has_low, has_high = _bounded(s)
    shrink = np.concatenate(
        [
            -step.slack_lower / at.slack_lower,
            -step.slack_upper / at.slack_upper,
            -step.mult_lower / np.where(has_low, at.mult_lower, 1.0),
            -step.mult_upper / np.where(has_high, at.mult_upper, 1.0),
        ]
    )
    return _Sums(
        np.maximum(sums.shrink, np.max(shrink)),
        sums.products + at.slack_lower @ at.mult_lower + at.slack_upper @ at.mult_upper,
        sums.slopes
        + at.slack_lower @ step.mult_lower
        + step.slack_lower @ at.mult_lower
        + at.slack_upper @ step.mult_upper
        + step.slack_upper @ at.mult_upper,
        sums.squares + step.slack_lower @ step.mult_lower + step.slack_upper @ step.mult_upper,
    )


def _moved(point: StagewiseIterate, step: StagewiseIterate, far: Scalar, stays: Scalar = False) -> StagewiseIterate:
    pairs = {key: (getattr(point, key), getattr(step, key)) for key in StagewiseIterate.__dataclass_fields__}
    return StagewiseIterate(**{key: np.where(stays, a, a + far * b) for key, (a, b) in pairs.items()})


def _residuals(stages: Stages, point: StagewiseIterate, bounds: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return (largest violation, largest derivative by an input, mean of slack times multiplier)."""

    def stage(
        carry: tuple[ndarray, Scalar, Scalar, Scalar], row: tuple[Stages, StagewiseIterate]
    ) -> tuple[tuple[ndarray, Scalar, Scalar, Scalar], Scalar]:
        costate, primal, dual, gap = carry
        s, at = row
        has_low, has_high = _bounded(s)
        reach = s.C @ at.x + s.D @ at.u
        over = np.where(has_low, np.abs(reach - at.slack_lower - s.low), 0.0)
        under = np.where(has_high, np.abs(s.high - reach - at.slack_upper), 0.0)
        push = at.mult_upper - at.mult_lower
        costate = costate + s.Q @ at.x + s.q + s.C.T @ push
        slope = np.abs(s.R @ at.u + s.r + s.D.T @ push + s.B.T @ costate)
        primal = np.maximum(primal, np.max(np.concatenate([over, under])))
        gap = gap + at.slack_lower @ at.mult_lower + at.slack_upper @ at.mult_upper
        return (s.A.T @ costate, primal, np.maximum(dual, np.max(slope)), gap), gap

    zero = 0.0 * bounds
    (_, primal, dual, gap), _ = numeric.scan(
        stage, (np.zeros(stages.A.shape[1]), zero, zero, zero), (stages, point), reverse=True
    )
    return primal, dual, gap / bounds


def _closer(stages: Stages, x: ndarray, point: StagewiseIterate) -> StagewiseIterate:
    """Take a Newton step at a solution with fixed products of slack and multiplier, for the derivative by the data."""
    at = StagewiseIterate(
        u=point.u,
        x=rollout(stages, x, point.u),
        slack_lower=point.slack_lower,
        slack_upper=point.slack_upper,
        mult_lower=point.mult_lower,
        mult_upper=point.mult_upper,
    )
    step, _ = _step(stages, at, _gains(stages, at), np.asarray(0.0), None, keeps=True)
    return _moved(at, step, 1.0)


def _contradiction(stages: Stages, x: ndarray, point: StagewiseIterate) -> Scalar:
    """Return 1 if the multipliers prove infeasibility (Farkas): derivative 0 with a negative bound."""
    free = rollout(stages, x, 0.0 * point.u)

    def stage(
        carry: tuple[ndarray, Scalar, Scalar], row: tuple[Stages, StagewiseIterate, ndarray]
    ) -> tuple[tuple[ndarray, Scalar, Scalar], Scalar]:
        costate, left, value = carry
        s, at, free = row
        has_low, has_high = _bounded(s)
        push, reach = at.mult_upper - at.mult_lower, s.C @ free
        costate = costate + s.C.T @ push
        left = np.maximum(left, np.max(np.abs(s.D.T @ push + s.B.T @ costate)))
        value = value + np.where(has_high, s.high - reach, 0.0) @ at.mult_upper
        return (s.A.T @ costate, left, value - np.where(has_low, s.low - reach, 0.0) @ at.mult_lower), left

    zero = 0.0 * free[0, 0]
    (_, left, value), _ = numeric.scan(
        stage, (np.zeros(stages.A.shape[1]), zero, zero), (stages, point, free), reverse=True
    )
    return np.where((value < 0.0) & (left <= -1e-6 * value), 1.0, 0.0)


__all__ = ["INFINITE", "Stages", "StagewiseIterate", "StagewiseSolution", "rollout", "solve"]


def __dir__() -> list[str]:
    return sorted(__all__)
