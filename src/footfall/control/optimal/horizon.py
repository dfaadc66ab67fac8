"""Full-order optimal control over a horizon of knots: solved offline to convergence, or one iteration per tick.

    minimise Σ_k l_k(x_k, u_k) + l_N(x_N),   x_{k+1} = f(x_k, u_k),   inequalities of ``knot`` as penalties

``trajectory.optimise`` and ``trajectory.improved`` do the rest. Compiled parts: a rollout under gains with its costs,
and the quadratic models of all knots at once, knots on SIMD lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy import ndarray

import nptrace
from footfall.contact.ground import Ground
from footfall.control.optimal.compiled_horizon import CompiledHorizon
from footfall.control.optimal.knot import Goal, KnotModel, KnotTerms, cost, expand_knot, interval, lowest_points
from footfall.control.optimal.knot_sweep import sweep_backward
from footfall.control.optimal.sweep import BackwardPass, Model, backward
from footfall.control.optimal.trajectory import RollingProblem
from footfall.dynamics.coordinates import difference
from footfall.kinematics.forward import joint_transforms
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float

Compile = Callable[..., PyTree]


class AimedProblem(RollingProblem, Protocol):
    """A horizon with variable goals."""

    def aim(self, goals: Goal) -> None: ...


# whose contacts are found by the step
FindingHorizon = Callable[[KnotModel, Goal, Compile, Ground | None], AimedProblem]


class HorizonProblem(CompiledHorizon):
    """A ``trajectory.Problem`` over a number of knots; ``goals`` has knots as the first axis of every array, one more
    for the last state, whose ``down`` is zero: no torque of this horizon moves it.

    sweeps: compile the backward sweep too; this doubles the compilation time and is meant for horizons that are solved
    repeatedly.
    """

    def __init__(self, model: KnotModel, goals: Goal, compile: Compile, sweeps: bool = False) -> None:
        self.model, self.robot = model, model.robot
        # torques are penalised near their limits, and clipped when applied
        self.high = np.full(model.robot.nj, np.inf)
        self.low = -self.high
        self.aim(goals)
        robot, first = self.robot, row_of(goals, 0)
        x, u = np.concatenate([first.q, first.v]), np.zeros(robot.nj)
        N, n = self.knots, 2 * robot.nv
        rows = np.tile(x, (N, 1)), np.zeros((N, robot.nj)), np.zeros((N, robot.nj)), np.zeros((N, robot.nj, n))
        self._roll = compile(rolled, model, x, *rows, np.array(0.0), goals, verify=False)
        self._expand = compile(expand_knot, model, x, u, first, x, target="batch", verify=False)
        self._error = compile(error, model, x, x, target="batch", verify=False)
        self._sweep: Scalar | None = None
        if sweeps:
            two = np.stack([x] * (N + 1))
            terms = self._expand(two, np.zeros((N + 1, robot.nj)), goals, two)
            self._sweep = compile(sweep_backward, model, terms, goals.weights, goals.interval, verify=False)
        size = robot.nj + n + 1
        # reused: new arrays would cost a third
        self._Z, self._L = np.zeros((N, size, n + 1)), np.zeros((N + 1, size, size))

    def quadratic(self, x: ndarray, u: ndarray) -> KnotsModel:
        """Return the quadratic model of the whole horizon about a trajectory; valid until the next call, which
        overwrites it.
        """
        last = np.zeros((1, u.shape[1]))
        after = np.concatenate([x[1:], x[-1:]])
        terms = self._expand(x, np.concatenate([u, last]), self.goals, after)
        return KnotsModel(terms=terms, goals=self.goals, nv=self.robot.nv, sweep=self._sweep, Z=self._Z, L=self._L)


@dataclass(frozen=True, eq=False, kw_only=True)
class KnotsModel:
    """Quadratic models of the knots: swept by one compiled call if there is one and no limit or penalty applies."""

    terms: KnotTerms
    goals: Goal
    nv: int
    sweep: Operand  # ``knot_sweep.swept``, compiled
    Z: ndarray  # storage for the other method
    L: ndarray

    def backward_pass(
        self, low: Float[ndarray, "N m"], high: Float[ndarray, "N m"], weight: float
    ) -> BackwardPass | None:
        """See ``sweep.backward``."""
        if self.sweep is None or weight or np.isfinite(low).any() or np.isfinite(high).any():
            return backward(self.assembled, low, high, weight)
        law, fall = self.sweep(self.terms, self.goals.weights, self.goals.interval)
        if not np.isfinite(fall):
            return None
        return BackwardPass(law[:, :, -1].copy(), law[:, :, :-1].copy(), -float(fall), 0.5 * float(fall))

    @cached_property
    def assembled(self) -> Model:
        return _assembled(self.terms, self.goals, self.nv, self.Z, self.L)


def _assembled(terms: KnotTerms, goals: Goal, nv: int, Z: ndarray, L: ndarray) -> Model:
    """Write the knots' terms into Z and L: joints move by their velocities after an interval, velocities have
    separate costs.
    """
    N, m, n = len(terms.effort) - 1, terms.effort.shape[1], 2 * nv
    motion = terms.motion[:N]
    Z[:, :-1, :6], Z[:, :-1, nv:n], Z[:, -1, n] = motion[:, :, :6], motion[:, :, 6:], 1.0
    np.multiply(goals.interval[:N, None, None], motion[:, :, 12:], out=Z[:, :-1, 6:nv])
    joints, speeds, inputs = np.arange(6, nv), np.arange(m + nv, m + n), np.arange(m)
    Z[:, m + joints, joints] += 1.0
    np.matmul(terms.friction.swapaxes(1, 2), terms.friction, out=L[:, :-1, :-1])
    L[:, m : m + nv, m : m + nv] += terms.position_hessian
    L[:, speeds, speeds] += goals.weights[:, nv:]
    L[:, inputs, inputs] += terms.effort
    L[:, :-1, -1] = L[:, -1, :-1] = terms.gradient
    return Model(Z, L[:N], L[N, m:, m:])


def error(model: KnotModel, x_from: Float[ndarray, "nx"], x_to: Float[ndarray, "nx"]) -> Float[ndarray, "n"]:
    """Return the deviation of one state from another, in minimal coordinates."""
    nq = model.robot.nq
    return np.concatenate([difference(model.robot, x_from[:nq], x_to[:nq]), x_to[nq:] - x_from[nq:]])


def rolled(
    model: KnotModel,
    start: ndarray,
    x: ndarray,
    u: ndarray,
    changes: ndarray,
    gains: ndarray,
    length: ndarray,
    goals: Goal,
) -> tuple[ndarray, ndarray, Scalar]:
    """Return (states after every knot, inputs, total cost) of a feedback law about a trajectory."""
    max_torque = np.array(model.limits)

    def knot(
        carry: tuple[ndarray, PyTree], row: tuple[PyTree, ...]
    ) -> tuple[tuple[ndarray, PyTree], tuple[ndarray, ndarray]]:
        (now, total), (about, planned, change, K, goal) = carry, row
        unclipped = planned + length * change + K @ error(model, about, now)
        torque = np.minimum(np.maximum(unclipped, -max_torque), max_torque)
        q, v, forces, lowest = interval(model, now, torque, goal)
        after = np.concatenate([q, v])
        return (after, total + cost(model, now, torque, goal, forces, lowest)), (after, torque)

    running, last = slice_of(goals, slice(0, -1)), row_of(goals, -1)
    (end, total), (states, inputs) = nptrace.scan(knot, (start, 0.0), (x, u, changes, gains, running))
    still = np.zeros(model.robot.nj)
    lowest = lowest_points(model.robot, joint_transforms(model.robot, end[: model.robot.nq]))
    forces = [np.zeros(3)] * model.robot.nf  # no foot of the last state is in stance
    return states, inputs, total + cost(model, end, still, last, forces, lowest)


def row_of(goals: Goal, k: int) -> Goal:
    return replace(goals, **{f.name: getattr(goals, f.name)[k] for f in fields(Goal)})


def slice_of(goals: Goal, rows: slice) -> Goal:
    return replace(goals, **{f.name: getattr(goals, f.name)[rows] for f in fields(Goal)})
