"""Trajectory optimisation by differential dynamic programming with limits on the inputs (Tassa, Mansard, Todorov 2014).

    minimise Σ_k l_k(x_k, u_k) + l_N(x_N)   over u_0 ... u_{N-1},   x_{k+1} = f(x_k, u_k),   low <= u_k <= high

Backwards along a trajectory the cost to go is modelled as a quadratic (first derivatives of the step are exact, its
second ones left out: Gauss-Newton, or iLQR); each knot gives a change of the input and a feedback gain, both within the
limits. Forwards the step itself is rolled out under them, several step lengths at once, and the longest that lowers the
cost as the model promised is taken. So every iterate is a motion of the simulator's own, and the cost only falls.

The step, its derivatives and the cost are handed in as a ``Problem``; states may live in a curved space, deviations are
what ``difference`` says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.linalg import lapack

from footfall.errors import FootfallError, InputError

STEP_LENGTHS = 0.5 ** np.arange(8)
_PROMISE = 1e-3  # of the promised fall that must come true
_NOTHING = 1e-11  # of the cost: a promise that rounding would break
_LEAST, _MOST, _FACTOR = 1e-6, 1e10, 4.0  # of the regularisation


@dataclass(frozen=True)
class Expansion:
    """Derivatives of the cost along a trajectory, in deviations; the second ones positive semidefinite."""

    x: Float[ndarray, "N+1 n"]
    xx: Float[ndarray, "N+1 n n"]
    u: Float[ndarray, "N m"]
    uu: Float[ndarray, "N m m"]


class Problem(Protocol):
    """What is optimised. ``step``, ``difference`` and ``cost`` take many states or trajectories at once (axis 0)."""

    low: Float[ndarray, "m"]
    high: Float[ndarray, "m"]

    def step(self, x: Float[ndarray, "c nx"], u: Float[ndarray, "c m"]) -> Float[ndarray, "c nx"]: ...

    def difference(self, x_from: Float[ndarray, "c nx"], x_to: Float[ndarray, "c nx"]) -> Float[ndarray, "c n"]: ...

    def linearise(
        self, x: Float[ndarray, "N nx"], u: Float[ndarray, "N m"], *after: ndarray
    ) -> tuple[ndarray, ndarray]:
        """A (N, n, n) and B (N, n, m) of every knot."""
        ...

    def cost(self, x: Float[ndarray, "c N+1 nx"], u: Float[ndarray, "c N m"]) -> Float[ndarray, "c"]: ...

    def expand(self, x: Float[ndarray, "N+1 nx"], u: Float[ndarray, "N m"]) -> Expansion: ...


@runtime_checkable
class RollingProblem(Problem, Protocol):
    """A problem that rolls a whole trajectory out at once; its ``linearise`` is also told where the knots end."""

    def roll(
        self, start: ndarray, x: ndarray, u: ndarray, changes: ndarray, gains: ndarray, length: float
    ) -> tuple[ndarray, ndarray]:
        """(states, inputs) from ``start``, about a trajectory, with so much of the changes under the gains."""
        ...


@dataclass
class Trajectory:
    """States, inputs and gains: follow it with u_k + K_k difference(x_k, x)."""

    x: Float[ndarray, "N+1 nx"]
    u: Float[ndarray, "N m"]
    gains: Float[ndarray, "N m n"]
    costs: list[float] = field(default_factory=list)  # of the first guess and of every iterate after it
    ended: str = "iterations"  # or "converged", or "stuck": no step lowers the cost, as at a kink of it

    @property
    def cost(self) -> float:
        return self.costs[-1]


def optimise(
    problem: Problem,
    start: Float[ndarray, "nx"],
    guess: Float[ndarray, "N m"] | Trajectory,
    iterations: int = 200,
    tolerance: float = 1e-4,
    patience: int = 3,
    tell: Callable[[int, float], None] | None = None,
) -> Trajectory:
    """The trajectory from ``start`` that costs least, from a first guess: inputs, or a trajectory and its gains.

    Ends when ``patience`` iterations in a row lower the cost by less than ``tolerance`` of it, or none lowers it any
    more. ``tell(iteration, cost)`` is called after every one.
    """
    about = guess if isinstance(guess, Trajectory) else None
    inputs = np.asarray(guess.u if isinstance(guess, Trajectory) else guess, dtype=float)
    if inputs.ndim != 2 or inputs.shape[1:] != problem.low.shape or not len(inputs) or not np.isfinite(inputs).all():
        raise InputError(f"the first guess must be finite inputs of shape (knots, inputs), got {inputs.shape}")
    x, u = _first(problem, np.asarray(start, dtype=float), inputs, about)
    cost = float(problem.cost(x[None], u[None])[0])
    if not np.isfinite(cost):
        raise FootfallError("the first guess leads to states that are not finite")
    n, m = problem.difference(x[:1], x[:1]).shape[1], u.shape[1]
    found = Trajectory(x, u, np.zeros((len(u), m, n)), [cost])
    weight, slow = 1e-3, 0
    A, B, terms = *_linearised(problem, x, u), problem.expand(x, u)
    for iteration in range(1, iterations + 1):
        better = None
        while better is None:
            plan = _backward(A, B, terms, found.u, problem.low, problem.high, weight)
            if plan is not None and plan.promised(1.0) < _NOTHING * abs(found.cost):
                break
            better = None if plan is None else _forward(problem, found, plan)
            weight = max(_FACTOR * weight, _LEAST) if better is None else weight
            if weight > _MOST:
                break
        if better is None:
            found.ended = "stuck" if weight > _MOST else "converged"
            break
        gain, found.x, found.u = better
        found.costs.append(found.cost - gain)
        weight = weight / _FACTOR if weight > _LEAST else 0.0
        A, B, terms = *_linearised(problem, found.x, found.u), problem.expand(found.x, found.u)
        if tell is not None:
            tell(iteration, found.cost)
        slow = slow + 1 if gain < tolerance * abs(found.cost) else 0
        if slow >= patience:
            found.ended = "converged"
            break
    found.gains = _gains(A, B, terms, found.u, problem)
    return found


def improved(problem: Problem, about: Trajectory, start: Float[ndarray, "nx"], weight: float = 0.0) -> Trajectory:
    """One iteration from ``start`` on, warm from a trajectory nearby: what receding horizon control does at each tick.

    The trajectory is followed by its gains, expanded, and improved by one sweep backwards and its line search; where no
    step lowers the cost it stays as it was followed, with the gains of the sweep.
    """
    x, u = _first(problem, np.asarray(start, dtype=float), about.u, about)
    cost = float(problem.cost(x[None], u[None])[0])
    if not np.isfinite(cost):
        raise FootfallError("the trajectory leads to states that are not finite from here")
    A, B, terms = *_linearised(problem, x, u), problem.expand(x, u)
    while (plan := _backward(A, B, terms, u, problem.low, problem.high, weight)) is None:
        weight = max(_FACTOR * weight, _LEAST)
    found = Trajectory(x, u, plan.gains, [cost])
    better = _forward(problem, found, plan)
    if better is not None:
        gain, found.x, found.u = better
        found.costs.append(cost - gain)
    return found


def _linearised(problem: Problem, x: ndarray, u: ndarray) -> tuple[ndarray, ndarray]:
    return problem.linearise(x[:-1], u, x[1:]) if isinstance(problem, RollingProblem) else problem.linearise(x[:-1], u)


def _gains(A: ndarray, B: ndarray, terms: Expansion, u: ndarray, problem: Problem) -> ndarray:
    """The gains about a trajectory, with no more regularisation than the search for them needs."""
    weight = 0.0
    while (plan := _backward(A, B, terms, u, problem.low, problem.high, weight)) is None:
        weight = max(_FACTOR * weight, _LEAST)
    return plan.gains


def _first(problem: Problem, start: ndarray, u: ndarray, about: Trajectory | None) -> tuple[ndarray, ndarray]:
    """The first guess rolled out; about a trajectory, under its gains."""
    if about is None:
        n = problem.difference(start[None], start[None]).shape[1]
        about = Trajectory(np.tile(start, (len(u) + 1, 1)), u, np.zeros((*u.shape, n)))
    plan = _Plan(np.zeros_like(u), about.gains, 0.0, 0.0)
    x, done = _rolled(problem, start, about, plan, np.zeros(1))
    return x[0], done[0]


@dataclass(frozen=True)
class _Plan:
    """Changes of the inputs and gains, and what they promise."""

    changes: ndarray
    gains: ndarray
    slope: float
    curve: float

    def promised(self, length: float) -> float:
        """By how much the cost falls for a step of a length from 0 to 1, says the model."""
        return -length * (self.slope + length * self.curve)


def _backward(
    A: ndarray, B: ndarray, terms: Expansion, u: ndarray, low: ndarray, high: ndarray, weight: float
) -> _Plan | None:
    """The plan that the quadratic model of the cost to go makes, or None where a knot has no minimum."""
    V_x, V_xx, n = terms.x[-1], terms.xx[-1], A.shape[1]
    changes, gains = np.zeros_like(u), np.zeros((*u.shape, n))
    slope = curve = 0.0
    both = np.concatenate([A, B], axis=2)  # of state and input at once: few large products instead of many small ones
    room = low - u, high - u
    for k in reversed(range(len(u))):
        Z = both[k]
        H, g = Z.T @ (V_xx @ Z), V_x @ Z
        H[:n, :n] += terms.xx[k]
        H[n:, n:] += terms.uu[k]
        g[:n] += terms.x[k]
        g[n:] += terms.u[k]
        Q_uu, Q_u, Q_ux = H[n:, n:], g[n:], H[n:, :n]
        stiff, tied = Q_uu, Q_ux
        if weight:  # a price on how far the next state moves
            stiff, tied = Q_uu + weight * (B[k].T @ B[k]), Q_ux + weight * (B[k].T @ A[k])
        solved = _knot(stiff, Q_u, tied, room[0][k], room[1][k])
        if solved is None:
            return None
        change, K, is_free = solved
        changes[k], gains[k] = change, K
        falls = float(change @ Q_u)
        slope += falls
        if is_free and not weight:  # a minimum without limits: most of what follows cancels
            curve -= 0.5 * falls
            V_x = g[:n] + Q_u @ K
            V_xx = H[:n, :n] + Q_ux.T @ K
        else:
            curve += 0.5 * float(change @ Q_uu @ change)
            V_x = g[:n] + (change @ Q_uu + Q_u) @ K + change @ Q_ux
            half = K.T @ (0.5 * (Q_uu @ K) + Q_ux)
            V_xx = H[:n, :n] + half + half.T
        V_xx = 0.5 * (V_xx + V_xx.T)
    return _Plan(changes, gains, slope, curve)


def _knot(H: ndarray, g: ndarray, G: ndarray, low: ndarray, high: ndarray) -> tuple[ndarray, ndarray, bool] | None:
    """(change, gain, whether no limit is met) of the input at one knot; inputs at a limit have no gain.

    None where there is no minimum.
    """
    L, wrong = lapack.dpotrf(H, lower=1)
    if wrong:
        return None
    change = -lapack.dpotrs(L, g, lower=1)[0]
    if (change > low).all() and (change < high).all():
        return change, -lapack.dpotrs(L, G, lower=1)[0], True
    solved = box_minimum(H, g, low, high)
    if solved is None:
        return None
    change, free = solved
    gain = np.zeros_like(G)
    if free.any():
        gain[free] = -np.linalg.solve(H[np.ix_(free, free)], G[free])
    return change, gain, False


def _forward(problem: Problem, last: Trajectory, plan: _Plan) -> tuple[float, ndarray, ndarray] | None:
    """(fall of the cost, states, inputs) for the longest step that keeps its promise.

    All lengths roll side by side, or one after the other where the problem rolls by itself: nearly always the first
    will do.
    """
    together = not isinstance(problem, RollingProblem)
    for lengths in [STEP_LENGTHS] if together else np.split(STEP_LENGTHS, len(STEP_LENGTHS)):
        with np.errstate(all="ignore"):
            x, u = _rolled(problem, last.x[0], last, plan, lengths)
            costs = problem.cost(x, u)
        for j, length in enumerate(lengths):
            fall, promised = last.cost - costs[j], plan.promised(length)
            if np.isfinite(costs[j]) and promised > 0.0 and fall > _PROMISE * promised:
                return float(fall), x[j], u[j]
    return None


def _rolled(
    problem: Problem, start: ndarray, last: Trajectory, plan: _Plan, lengths: ndarray
) -> tuple[ndarray, ndarray]:
    """States and inputs under a plan about a trajectory, for every step length."""
    if isinstance(problem, RollingProblem):
        rolls = [problem.roll(start, last.x, last.u, plan.changes, plan.gains, length) for length in lengths]
        return np.stack([x for x, _ in rolls]), np.stack([u for _, u in rolls])
    count = len(lengths)
    x, u = np.empty((count, *last.x.shape)), np.empty((count, *last.u.shape))
    x[:, 0] = start
    for k in range(len(plan.changes)):
        away = problem.difference(np.broadcast_to(last.x[k], x[:, k].shape), x[:, k])
        asked = last.u[k] + lengths[:, None] * plan.changes[k] + away @ plan.gains[k].T
        u[:, k] = np.clip(np.where(np.isfinite(asked), asked, last.u[k]), problem.low, problem.high)
        x[:, k + 1] = problem.step(x[:, k], u[:, k])
    return x, u


def box_minimum(
    H: Float[ndarray, "m m"], g: Float[ndarray, "m"], low: Float[ndarray, "m"], high: Float[ndarray, "m"]
) -> tuple[Float[ndarray, "m"], ndarray] | None:
    """(d, which are free) that minimises ½ dᵀHd + gᵀd between low and high, by projected Newton; None if H has none."""
    d = np.clip(np.zeros(len(g)), low, high)
    for _ in range(50):
        slope = g + H @ d
        held = ((d <= low) & (slope > 0)) | ((d >= high) & (slope < 0))
        free = ~held
        if not free.any() or np.abs(slope[free]).max() < 1e-10 * max(np.abs(g).max(), 1e-300):
            break
        try:
            L = np.linalg.cholesky(H[np.ix_(free, free)])
        except np.linalg.LinAlgError:
            return None
        move = np.zeros(len(g))
        move[free] = -np.linalg.solve(L.T, np.linalg.solve(L, slope[free]))
        before, length = 0.5 * d @ H @ d + g @ d, 1.0
        while True:
            tried = np.clip(d + length * move, low, high)
            if 0.5 * tried @ H @ tried + g @ tried <= before + 0.1 * (slope @ (tried - d)) or length < 1e-10:
                break
            length *= 0.5
        if np.array_equal(tried, d):
            break
        d = tried
    slope = g + H @ d
    held = ((d <= low) & (slope >= 0)) | ((d >= high) & (slope <= 0))
    return d, ~held
