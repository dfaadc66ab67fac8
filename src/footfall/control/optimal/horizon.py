"""Full-order optimal control over a horizon of knots: one problem, offline to its end or one iteration at a tick.

    minimise Σ_k l_k(x_k, u_k) + l_N(x_N),   x_{k+1} = f(x_k, u_k),   inequalities of ``knot`` as prices

``trajectory.optimise`` and ``trajectory.improved`` do the rest. What is compiled: a roll under gains, its costs
included, and all knots as quadratic models at once, knots on SIMD lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from jaxtyping import Float
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

Compile = Callable[..., PyTree]


class AimedProblem(RollingProblem, Protocol):
    """A horizon whose goals may change."""

    def aim(self, goals: Goal) -> None: ...


FindingHorizon = Callable[[KnotModel, Goal, Compile, Ground | None], AimedProblem]  # whose contacts are found


class HorizonProblem(CompiledHorizon):
    """A ``trajectory.Problem`` of so many knots; ``goals`` has knots as the first axis of every array, one more for the
    last state, whose ``down`` is zero: no torque of this horizon moves it.

    sweeps: the sweep backwards is compiled too, which takes as long again as the rest and is for horizons that are
    solved again and again.
    """

    def __init__(self, model: KnotModel, goals: Goal, compile: Compile, sweeps: bool = False) -> None:
        self.model, self.robot = model, model.robot
        # torques have a price near their limits, and are clipped as they act
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
        self._Z, self._L = np.zeros((N, size, n + 1)), np.zeros((N + 1, size, size))  # fresh ones would cost a third

    def quadratic(self, x: ndarray, u: ndarray) -> KnotsModel:
        """The whole horizon about a trajectory; good until the next call, which writes over it."""
        last = np.zeros((1, u.shape[1]))
        after = np.concatenate([x[1:], x[-1:]])
        terms = self._expand(x, np.concatenate([u, last]), self.goals, after)
        return KnotsModel(terms=terms, goals=self.goals, nv=self.robot.nv, sweep=self._sweep, Z=self._Z, L=self._L)


@dataclass(frozen=True, eq=False, kw_only=True)
class KnotsModel:
    """Knots to second order: swept by one compiled call where there is one and it has no limit or price to respect."""

    terms: KnotTerms
    goals: Goal
    nv: int
    sweep: Operand  # ``knot_sweep.swept``, compiled
    Z: ndarray  # room for the other way
    L: ndarray

    def backward_pass(
        self, low: Float[ndarray, "N m"], high: Float[ndarray, "N m"], weight: float
    ) -> BackwardPass | None:
        """As ``sweep.backward``."""
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
    """Write the knots' terms into Z and L: joints move by their velocities after an interval, velocities cost by
    themselves."""
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
    """The deviation of one state from another, in minimal coordinates."""
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
    """(states after every knot, inputs, total cost) of a feedback law about a trajectory."""
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
