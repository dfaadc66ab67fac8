"""Contact-implicit optimal control: contacts are found, not scheduled, and the motion over a knot is the simulator's
implicit step.

The goals and their weights are those of ``control.optimal.horizon``, without the schedule of stances: every foot is
attracted to its goal, and the ground's forces, their start and end, and friction come from the contact model. With one
as hard as the default, the cost has kinks within a tenth of a millimetre at which a search stops; ``soft_contact`` has
gradients over millimetres.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy import ndarray

import nptrace
from footfall.contact.compliant import Compliant
from footfall.contact.ground import Ground, Plane
from footfall.contact.points import spheres_of
from footfall.control.interface import JointCommand
from footfall.control.optimal.compiled_horizon import CompiledHorizon, check_finite
from footfall.control.optimal.horizon import Compile, error, row_of, slice_of
from footfall.control.optimal.knot import Goal, KnotModel, cost, expanded_cost, lowest_points
from footfall.control.optimal.sweep import Model
from footfall.errors import InputError
from footfall.identity import digest_of
from footfall.kinematics.forward import joint_transforms
from footfall.robot.model.parts import Foot
from footfall.sim.joints import JointModel
from footfall.sim.linearization import LinearStep, step_state
from footfall.sim.tick import SimulationModel
from footfall.sim.world import World
from footfall.spatial.gravity import STANDARD
from nptrace._types import PyTree, Scalar

STEP = 5e-3  # [s], longest simulator step in a knot
PLANTED = 0.1  # fraction of the weight of a foot's distance from its goal, for one that a schedule would have in stance


def soft_contact(mass: float, dent: float = 1e-3) -> Compliant:
    """Return contact that a robot of a mass [kg] depresses by about ``dent`` [m] when standing on four feet."""
    load, exponent = 0.25 * STANDARD * mass, 1.5
    return Compliant(
        stiffness=load / dent**exponent,
        exponent=exponent,
        damping=60.0 * mass,
        ramp=2.0 * dent,
        stick_speed=2e-2,
        slip_speed=4e-2,
    )


class ContactHorizon(CompiledHorizon):
    """A ``trajectory.RollingProblem``; ``goals`` as for ``horizon.HorizonProblem``, with equal intervals.

    ground: a plane unless given. contact: soft unless given. touching: spheres besides the feet (``body_spheres``).
    """

    def __init__(
        self,
        model: KnotModel,
        goals: Goal,
        compile: Compile,
        ground: Ground | None = None,
        contact: Compliant | None = None,
        touching: Sequence[Foot] = (),
    ) -> None:
        self.model, self.robot = model, model.robot
        robot, lasts = model.robot, float(goals.interval[0])
        self.lasts = lasts
        steps = max(1, round(np.ceil(lasts / STEP - 1e-9)))
        soft = soft_contact(robot.mass) if contact is None else contact
        world = World(
            robot=robot,
            ground=ground or Plane(),
            contact=soft,
            joints=JointModel.ideal(),
            gravity=model.gravity,
            spheres=spheres_of(robot, touching),
        )
        self.moves = LinearStep(world, lasts / steps, steps=steps, exact=False)
        self.high = np.full(robot.nj, np.inf)  # torques are penalised near their limits, and clipped when applied
        self.low = -self.high
        self.aim(goals)
        first = row_of(self.goals, 0)
        x, u = np.concatenate([first.q, first.v]), np.zeros(robot.nj)
        N, n = self.knots, 2 * robot.nv
        rows = np.tile(x, (N, 1)), np.zeros((N, robot.nj)), np.zeros((N, robot.nj)), np.zeros((N, robot.nj, n))
        constants = HorizonConstants(model, self.moves.model)
        self._roll = compile(priced_rollout, constants, x, *rows, np.array(0.0), self.goals, verify=False)
        self._expand = compile(expanded_cost, model, x, u, first, target="batch", verify=False)
        self._error = compile(error, model, x, x, target="batch", verify=False)

    def aim(self, goals: Goal) -> None:
        """Set other goals for the same horizon; nothing is recompiled.

        Their schedule has only one effect: a stance foot is attracted less to its goal, and has no clearance.
        """
        check_finite(goals)
        if not np.allclose(goals.interval, self.lasts):
            raise InputError(f"the knots of a contact-implicit horizon must last {self.lasts:g} s each")
        stands = goals.down > 0.5
        pull = np.where(stands, PLANTED * goals.pull, goals.pull)
        least = np.where(stands, goals.floor - 1.0, goals.least)
        self.goals = replace(goals, down=np.zeros_like(goals.down), pull=pull, least=least)

    def quadratic(self, x: ndarray, u: ndarray) -> Model:
        """Return steps to first order and costs to second order along a trajectory."""
        nq, nv, N, m = self.robot.nq, self.robot.nv, *u.shape
        gradient, hessian, effort = self._expand(x, np.concatenate([u, np.zeros((1, m))]), self.goals)
        found = self.moves(x[:-1, :nq], x[:-1, nq:], JointCommand(0.0, 0.0, 0.0, 0.0, u))
        xx = np.zeros((N + 1, 2 * nv, 2 * nv))
        xx[:, :nv, :nv] = hessian
        xx[:, np.arange(nv, 2 * nv), np.arange(nv, 2 * nv)] = self.goals.weights[:, nv:]
        uu = effort[:N, :, None] * np.eye(m)
        return Model.of(found.A, found.B, gradient[:, m:], xx, gradient[:N, :m], uu)


@dataclass(frozen=True, eq=False)
class HorizonConstants:
    """The constants of a rollout: weights, and a step that finds its contacts."""

    model: KnotModel
    step: SimulationModel

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)


def priced_rollout(
    constants: HorizonConstants,
    start: ndarray,
    x: ndarray,
    u: ndarray,
    changes: ndarray,
    gains: ndarray,
    length: ndarray,
    goals: Goal,
) -> tuple[ndarray, ndarray, Scalar]:
    """Return (states after every knot, torques, total cost) under feedback about a trajectory."""
    model, robot = constants.model, constants.model.robot
    most, none = np.array(model.limits), [np.zeros(3)] * robot.nf
    memory = constants.step.world.contact.start(constants.step.world.contacts)

    def priced(now: ndarray, torque: ndarray, goal: Goal) -> Scalar:
        return cost(model, now, torque, goal, none, lowest_points(robot, joint_transforms(robot, now[: robot.nq])))

    def knot(
        carry: tuple[ndarray, PyTree], row: tuple[PyTree, ...]
    ) -> tuple[tuple[ndarray, PyTree], tuple[ndarray, ndarray]]:
        (now, total), (about, planned, change, K, goal) = carry, row
        wanted = planned + length * change + K @ error(model, about, now)
        torque = np.minimum(np.maximum(wanted, -most), most)
        command = JointCommand(0.0, 0.0, 0.0, 0.0, torque).broadcast(robot.nj)
        after = np.concatenate(
            step_state(constants.step, now[: robot.nq], now[robot.nq :], memory, command, np.zeros(6))
        )
        return (after, total + priced(now, torque, goal)), (after, torque)

    running, last = slice_of(goals, slice(0, -1)), row_of(goals, -1)
    (end, total), (states, inputs) = nptrace.scan(knot, (start, 0.0), (x, u, changes, gains, running))
    return states, inputs, total + priced(end, np.zeros(robot.nj), last)
