"""The compiled step as a trajectory problem: states (q, v), joint torques as inputs, a quadratic cost about references.

    l_k = ½ eᵀ W_k e + ½ (u - u_k)ᵀ R (u - u_k),   e = (difference of q, v) from the reference of knot k

``control.optimal.trajectory.optimise`` does the rest. Derivatives are exact: those of the step by ``LinearStep``, those
of e likewise (a rotation vector far from zero is not the angle its rate integrates to).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

import nptrace
from footfall import compiling
from footfall.adapters import unadapted
from footfall.contact.stance import Stance
from footfall.control.interface import JointCommand
from footfall.control.optimal.sweep import Model
from footfall.control.optimal.trajectory import Expansion
from footfall.dynamics.coordinates import difference, integrate
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.sim.linearization import LinearStep, step_state
from footfall.sim.tick import SimulationModel
from footfall.sim.world import World
from nptrace._types import PyTree
from nptrace.array_types import Float


@dataclass(frozen=True)
class Reference:
    """The desired state of each knot, and the cost of missing it."""

    q: Float[ndarray, "K nq"]
    v: Float[ndarray, "K nv"]
    weights: Float[ndarray, "K nd"]  # weights of the deviation's components
    torque: Float[ndarray, "N nj"]  # [N m]
    effort: Float[ndarray, "nj"]  # weight of squared torques


class StepProblem:
    """A ``control.optimal.trajectory.Problem``: x = (q, v), u = joint torques [N m] held for ``steps`` steps of dt.

    damping: joint damping [N m s/rad], part of the command as in any joint controller. Limits are those of the motors.
    exact and free: as in ``LinearStep``.
    """

    def __init__(
        self,
        world: World,
        reference: Reference,
        dt: float = 1e-3,
        steps: int = 5,
        damping: float = 0.0,
        exact: bool = True,
        free: Sequence[str] = (),
    ) -> None:
        if world.objects:
            raise InputError("optimization supports only the robot: remove the objects")
        if isinstance(unadapted(world.contact), Stance):  # a knot does not know which feet stand: all would land in it
            raise InputError("optimization does not support stance contact, whose feet are remembered: use compliant")
        robot = world.robot
        self.robot, self.damping = robot, float(damping)
        self.moves = LinearStep(world, dt, steps=steps, exact=exact, free=free)
        by_joint = {actuator.joint: actuator.torque_limit for actuator in robot.actuators}
        self.high = np.array([by_joint.get(name, np.inf) for name in robot.joint_names])
        self.low = -self.high
        self._aim(reference)
        x = np.concatenate([reference.q[0], reference.v[0]])
        self._error = compiling.compile(error, robot, x, x, target="batch", verify=False)
        self._derivative = compiling.jacobian(
            moved_error, robot, np.zeros(2 * robot.nv), x, x, wrt="deviation", at_zero=True
        )
        self._rolls: dict[int, PyTree] = {}  # compiled, by the number of knots

    def aiming_at(self, reference: Reference, world: World | None = None, damping: float | None = None) -> StepProblem:
        """Return the step problem with another cost, or in a world like this one; nothing is recompiled."""
        other = copy.copy(self)
        other._aim(reference)
        other.moves = self.moves if world is None else self.moves.like(world)
        other.damping = self.damping if damping is None else float(damping)
        return other

    def _aim(self, reference: Reference) -> None:
        robot, knots = self.robot, len(reference.torque)
        for name, shape in (
            ("q", (knots + 1, robot.nq)),
            ("v", (knots + 1, robot.nv)),
            ("weights", (knots + 1, 2 * robot.nv)),
            ("torque", (knots, robot.nj)),
            ("effort", (robot.nj,)),
        ):
            array = np.asarray(getattr(reference, name))
            if array.shape != shape or not np.isfinite(array).all():
                raise InputError(f"{name} of a reference of {knots} knots must be finite and of shape {shape}")
        self.reference = reference
        self._goals = np.concatenate([reference.q, reference.v], axis=1)

    def step(self, x: ndarray, u: ndarray) -> ndarray:
        q, v = np.split(x, [self.robot.nq], axis=1)
        if not np.isfinite(x).all():  # a failed step length: its cost is infinite
            fine = np.isfinite(x).all(axis=1)
            after = np.full_like(x, np.nan)
            if fine.any():
                after[fine] = self.step(x[fine], u[fine])
            return after
        return np.concatenate(self.moves.step(q, v, self._command(u)), axis=1)

    def roll(
        self, start: ndarray, x: ndarray, u: ndarray, changes: ndarray, gains: ndarray, length: float
    ) -> tuple[ndarray, ndarray, float]:
        """Return (states, torques, cost) from ``start`` on under u + length changes + gains (state - x)."""
        numbers = [np.array(float(length)), np.array(self.damping)]
        given = [start, x[: len(u)], u, changes, gains, *numbers, self.low, self.high]
        moves = self.moves
        if len(u) not in self._rolls:
            self._rolls[len(u)] = compiling.compile(
                feedback_rollout, moves.model, *given, verify=False, free=moves.free
            )
        after, torques = self._rolls[len(u)](*given, *moves.values)
        states = np.concatenate([start[None], after])
        return states, torques, float(self.cost(states[None], torques[None])[0])

    def difference(self, x_from: ndarray, x_to: ndarray) -> ndarray:
        return self._error(x_from, x_to)

    def linearise(self, x: ndarray, u: ndarray, *after: ndarray) -> tuple[ndarray, ndarray]:
        nq = self.robot.nq
        ends = (after[0][:, :nq], after[0][:, nq:]) if after else None
        found = self.moves(x[:, :nq], x[:, nq:], self._command(u), ends=ends)
        return found.A, found.B

    def cost(self, x: ndarray, u: ndarray) -> ndarray:
        ref = self.reference
        flat = x.reshape(-1, x.shape[-1])
        goals = np.broadcast_to(self._goals, x.shape).reshape(flat.shape)
        away = self._error(goals, flat).reshape(*x.shape[:2], -1)
        strain = u - ref.torque
        return 0.5 * np.einsum("cki,ki,cki->c", away, ref.weights, away) + 0.5 * np.einsum(
            "cki,i,cki->c", strain, ref.effort, strain
        )

    def expand(self, x: ndarray, u: ndarray) -> Expansion:
        ref = self.reference
        away = self._error(self._goals, x)
        J = self._derivative.matrices(np.zeros(2 * self.robot.nv), self._goals, x)
        weighted = ref.weights[:, :, None] * J
        return Expansion(
            np.einsum("kij,ki->kj", weighted, away),
            J.swapaxes(1, 2) @ weighted,
            ref.effort * (u - ref.torque),
            np.broadcast_to(np.diag(ref.effort), (len(u), len(ref.effort), len(ref.effort))),
        )

    def quadratic(self, x: ndarray, u: ndarray) -> Model:
        """Return steps to first order and costs to second order along a trajectory."""
        terms = self.expand(x, u)
        return Model.of(*self.linearise(x[:-1], u, x[1:]), terms.x, terms.xx, terms.u, terms.uu)

    def _command(self, u: ndarray) -> JointCommand:
        return JointCommand(0.0, 0.0, 0.0, self.damping, u)


def error(robot: Robot, x_from: ndarray, x_to: ndarray) -> ndarray:
    """Return the deviation of one state from another, in minimal coordinates."""
    nq = robot.nq
    return np.concatenate([difference(robot, x_from[:nq], x_to[:nq]), x_to[nq:] - x_from[nq:]])


def moved_error(robot: Robot, deviation: ndarray, x_from: ndarray, x_to: ndarray) -> ndarray:
    """Return the deviation with x_to moved by another deviation."""
    nq, nv = robot.nq, robot.nv
    q = integrate(robot, x_to[:nq], deviation[:nv], 1.0)
    return error(robot, x_from, np.concatenate([q, x_to[nq:] + deviation[nv:]]))


def feedback_rollout(
    model: SimulationModel,
    start: ndarray,
    x: ndarray,
    u: ndarray,
    changes: ndarray,
    gains: ndarray,
    length: ndarray,
    damping: ndarray,
    low: ndarray,
    high: ndarray,
) -> tuple[ndarray, ndarray]:
    """Return (states after every knot, torques) under feedback about a trajectory."""
    robot = model.world.robot
    memory = model.world.contact.start(model.world.contacts)

    def knot(now: ndarray, row: tuple[ndarray, ...]) -> tuple[ndarray, tuple[ndarray, ndarray]]:
        about, planned, change, K = row
        wanted = planned + length * change + K @ error(robot, about, now)
        torque = np.minimum(np.maximum(np.where(np.isfinite(wanted), wanted, planned), low), high)
        command = JointCommand(0.0, 0.0, 0.0, damping, torque).broadcast(robot.nj)
        after = np.concatenate(step_state(model, now[: robot.nq], now[robot.nq :], memory, command, np.zeros(6)))
        return after, (after, torque)

    return nptrace.scan(knot, start, (x, u, changes, gains))[1]


__all__ = ["Reference", "StepProblem", "error", "feedback_rollout", "moved_error"]
