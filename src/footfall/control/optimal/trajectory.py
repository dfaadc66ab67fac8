"""Trajectory optimisation by differential dynamic programming with limits on the inputs (Tassa, Mansard, Todorov 2014).

    minimise Σ_k l_k(x_k, u_k) + l_N(x_N)   over u_0 ... u_{N-1},   x_{k+1} = f(x_k, u_k),   low <= u_k <= high

The backward pass models the cost-to-go as a quadratic (first derivatives of the step are exact, second ones are
neglected: Gauss-Newton, or iLQR); each knot gives a change of the input and a feedback gain, both within the limits.
The forward pass rolls out the step with them, for several step lengths at once, and the longest that lowers the cost as
predicted is accepted. So every iterate is a feasible motion of the simulator, and the cost decreases monotonically.

The step, its derivatives and the cost are given as a ``Problem``; states may lie on a manifold, with deviations defined
by ``difference``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy import ndarray

from footfall.control.optimal.sweep import BackwardPass, Model, QuadraticModel
from footfall.errors import FootfallError, InputError
from nptrace.array_types import Float

STEP_LENGTHS = 0.5 ** np.arange(8)
_MIN_DECREASE_RATIO = 1e-3  # fraction of the predicted decrease that is required
_MIN_RELATIVE_DECREASE = 1e-11  # fraction of the cost: a smaller prediction is lost in rounding
_MIN_REGULARISATION, _MAX_REGULARISATION, _REGULARISATION_FACTOR = 1e-6, 1e10, 4.0  # limits of the regularisation


@dataclass(frozen=True)
class Expansion:
    """Derivatives of the cost along a trajectory, in deviations; the second ones positive semidefinite."""

    x: Float[ndarray, "K n"]
    xx: Float[ndarray, "K n n"]
    u: Float[ndarray, "N m"]
    uu: Float[ndarray, "N m m"]


class Problem(Protocol):
    """An optimal control problem. ``step``, ``difference`` and ``cost`` take many states or trajectories at once (axis
    0)."""

    low: Float[ndarray, "m"]
    high: Float[ndarray, "m"]

    def step(self, x: Float[ndarray, "c nx"], u: Float[ndarray, "c m"]) -> Float[ndarray, "c nx"]: ...

    def difference(self, x_from: Float[ndarray, "c nx"], x_to: Float[ndarray, "c nx"]) -> Float[ndarray, "c n"]: ...

    def linearise(
        self, x: Float[ndarray, "N nx"], u: Float[ndarray, "N m"], *after: ndarray
    ) -> tuple[ndarray, ndarray]:
        """Return A (N, n, n) and B (N, n, m) of every knot."""
        ...

    def cost(self, x: Float[ndarray, "c K nx"], u: Float[ndarray, "c N m"]) -> Float[ndarray, "c"]: ...

    def expand(self, x: Float[ndarray, "K nx"], u: Float[ndarray, "N m"]) -> Expansion: ...


@runtime_checkable
class RollingProblem(Protocol):
    """A problem that rolls out whole trajectories, and expands them, itself."""

    low: Float[ndarray, "m"]
    high: Float[ndarray, "m"]

    def difference(self, x_from: Float[ndarray, "c nx"], x_to: Float[ndarray, "c nx"]) -> Float[ndarray, "c n"]: ...

    def roll(
        self, start: ndarray, x: ndarray, u: ndarray, changes: ndarray, gains: ndarray, length: float
    ) -> tuple[ndarray, ndarray, float]:
        """Return (states, inputs, cost) from ``start``, about a trajectory, with a fraction of the changes under the
        gains.
        """
        ...

    def quadratic(self, x: Float[ndarray, "K nx"], u: Float[ndarray, "N m"]) -> QuadraticModel:
        """Return steps to first order and costs to second order along a trajectory."""
        ...


class _SteppedProblem:
    """A ``Problem`` as a ``RollingProblem``."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.low, self.high = problem, problem.low, problem.high
        self.difference = problem.difference

    def roll(
        self, start: ndarray, x: ndarray, u: ndarray, changes: ndarray, gains: ndarray, length: float
    ) -> tuple[ndarray, ndarray, float]:
        problem, states, inputs = self.problem, [start], []
        for k in range(len(u)):
            deviation = problem.difference(x[k][None], states[k][None])[0]
            unclipped = u[k] + length * changes[k] + gains[k] @ deviation
            inputs.append(np.clip(np.where(np.isfinite(unclipped), unclipped, u[k]), self.low, self.high))
            states.append(problem.step(states[k][None], inputs[k][None])[0])
        done = np.stack(states), np.stack(inputs)
        return *done, float(problem.cost(done[0][None], done[1][None])[0])

    def quadratic(self, x: ndarray, u: ndarray) -> Model:
        terms = self.problem.expand(x, u)
        return Model.of(*self.problem.linearise(x[:-1], u), terms.x, terms.xx, terms.u, terms.uu)


def _rolling(problem: Problem | RollingProblem) -> RollingProblem:
    return problem if isinstance(problem, RollingProblem) else _SteppedProblem(problem)


@dataclass
class Trajectory:
    """States, inputs and gains, to be followed with u_k + K_k difference(x_k, x)."""

    x: Float[ndarray, "K nx"]
    u: Float[ndarray, "N m"]
    gains: Float[ndarray, "N m n"]
    costs: list[float] = field(default_factory=list)  # costs of the first guess and of every iterate after it
    ended: str = "iterations"  # or "converged", or "stuck": no step lowers the cost, as at a kink

    @property
    def cost(self) -> float:
        return self.costs[-1]


def optimise(
    given: Problem | RollingProblem,
    start: Float[ndarray, "nx"],
    guess: Float[ndarray, "N m"] | Trajectory,
    iterations: int = 200,
    tolerance: float = 1e-4,
    patience: int = 3,
    report: Callable[[int, float], None] | None = None,
) -> Trajectory:
    """Return the trajectory from ``start`` of lowest cost, from a first guess: inputs, or a trajectory and its gains.

    Ends when ``patience`` consecutive iterations lower the cost by less than ``tolerance`` of it, or no step lowers it.
    ``report(iteration, cost)`` is called after every iteration.
    """
    problem = _rolling(given)
    about = guess if isinstance(guess, Trajectory) else None
    inputs = np.asarray(guess.u if isinstance(guess, Trajectory) else guess, dtype=float)
    if inputs.ndim != 2 or inputs.shape[1:] != problem.low.shape or not len(inputs) or not np.isfinite(inputs).all():
        raise InputError(f"the first guess must be finite inputs of shape (knots, inputs), got {inputs.shape}")
    found = _follow(problem, np.asarray(start, dtype=float), inputs, about)
    if not np.isfinite(found.cost):
        raise FootfallError("the first guess leads to states that are not finite")
    weight, slow_iterations = 1e-3, 0
    model = problem.quadratic(found.x, found.u)
    for iteration in range(1, iterations + 1):
        better = None
        while better is None:
            backward_pass = model.backward_pass(problem.low - found.u, problem.high - found.u, weight)
            if backward_pass is not None and backward_pass.promised_decrease(1.0) < _MIN_RELATIVE_DECREASE * abs(
                found.cost
            ):
                break
            better = None if backward_pass is None else _line_search(problem, found, backward_pass)
            weight = max(_REGULARISATION_FACTOR * weight, _MIN_REGULARISATION) if better is None else weight
            if weight > _MAX_REGULARISATION:
                break
        if better is None:
            found.ended = "stuck" if weight > _MAX_REGULARISATION else "converged"
            break
        gain, found.x, found.u = better
        found.costs.append(found.cost - gain)
        weight = weight / _REGULARISATION_FACTOR if weight > _MIN_REGULARISATION else 0.0
        model = problem.quadratic(found.x, found.u)
        if report is not None:
            report(iteration, found.cost)
        slow_iterations = slow_iterations + 1 if gain < tolerance * abs(found.cost) else 0
        if slow_iterations >= patience:
            found.ended = "converged"
            break
    found.gains = _backward_pass(problem, model, found.u).gains
    return found


def improve(
    given: Problem | RollingProblem, about: Trajectory, start: Float[ndarray, "nx"], weight: float = 0.0
) -> Trajectory:
    """Run one warm-started iteration from ``start``, as receding-horizon control does at each tick.

    The trajectory is followed with its gains, expanded, and improved by one backward sweep and a line search; where no
    step lowers the cost, the followed trajectory is kept, with the gains of the sweep.
    """
    problem = _rolling(given)
    found = _follow(problem, np.asarray(start, dtype=float), about.u, about)
    if not np.isfinite(found.cost):
        raise FootfallError("the trajectory leads to states that are not finite from here")
    backward_pass = _backward_pass(problem, problem.quadratic(found.x, found.u), found.u, weight)
    if not np.isfinite(backward_pass.gains).all():
        raise FootfallError("the backward sweep gives gains that are not finite")
    found.gains = backward_pass.gains
    better = _line_search(problem, found, backward_pass)
    if better is not None:
        gain, found.x, found.u = better
        found.costs.append(found.cost - gain)
    return found


def _backward_pass(problem: RollingProblem, model: QuadraticModel, u: ndarray, weight: float = 0.0) -> BackwardPass:
    """Run the backward pass with no more regularisation than it needs."""
    low, high = problem.low - u, problem.high - u
    while (plan := model.backward_pass(low, high, weight)) is None:
        weight = max(_REGULARISATION_FACTOR * weight, _MIN_REGULARISATION)
        if weight > _MAX_REGULARISATION:
            raise FootfallError("the cost of a trajectory has no minimum along the search direction")
    return plan


def _follow(problem: RollingProblem, start: ndarray, u: ndarray, about: Trajectory | None) -> Trajectory:
    """Roll out inputs, or a trajectory under its gains."""
    if about is None:
        n = problem.difference(start[None], start[None]).shape[1]
        about = Trajectory(np.tile(start, (len(u) + 1, 1)), u, np.zeros((*u.shape, n)))
    x, done, cost = problem.roll(start, about.x, u, np.zeros_like(u), about.gains, 0.0)
    return Trajectory(x, done, about.gains, [cost])


def _line_search(
    problem: RollingProblem, last: Trajectory, backward_pass: BackwardPass
) -> tuple[float, ndarray, ndarray] | None:
    """Return (decrease of the cost, states, inputs) for the longest acceptable step; nearly always the first."""
    for length in STEP_LENGTHS:
        with np.errstate(all="ignore"):
            x, u, cost = problem.roll(last.x[0], last.x, last.u, backward_pass.changes, backward_pass.gains, length)
        decrease, promised_decrease = last.cost - cost, backward_pass.promised_decrease(length)
        if np.isfinite(cost) and promised_decrease > 0.0 and decrease > _MIN_DECREASE_RATIO * promised_decrease:
            return float(decrease), x, u
    return None
