"""One tick: the controller once, then as many physics steps as fit into its period. A run repeats it.

A controller that can be traced is compiled into the tick; for any other the tick is cut in two, and ``physics`` alone
is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall import numeric
from footfall.control.interface import Command, Controller, JointCommand, Sensed, as_controller
from footfall.errors import InputError
from footfall.identity import digest_of
from footfall.kinematics.forward import joint_rates
from footfall.parameters import look_up, replaced
from footfall.simulate.integrators import as_taken, integrate_step
from footfall.simulate.step import State
from footfall.simulate.world import World


@dataclass(frozen=True, eq=False)
class Rig:
    """The constants of a tick: a world, a controller, and how to step."""

    world: World
    controller: Controller | None  # None where physics alone is wanted
    integrator: str
    dt: float  # [s]
    substeps: int  # steps a tick

    def __post_init__(self) -> None:
        object.__setattr__(self, "world", as_taken(self.integrator, self.world))
        if self.controller is not None:
            object.__setattr__(self, "controller", as_controller(self.controller))

    @property
    def acting(self) -> Controller:
        """The controller of a model that has one."""
        if self.controller is None:
            raise InputError("this model has no controller: it is of the physics alone")
        return self.controller

    @property
    def period(self) -> float:
        return self.dt * self.substeps

    @property
    def physics(self) -> Rig:
        """The same without its controller: what ``physics`` needs, alike under every controller."""
        return replace(self, controller=None)

    def parameter(self, path: str) -> Any:
        """One of the world, or of the controller: ``"controller.kp"``, ``"controller.gait.period"``."""
        name, _, rest = path.partition(".")
        return look_up(self.controller, rest, name) if name == "controller" else self.world.parameter(path)

    def with_parameters(self, parameters: Mapping[str, Any]) -> Rig:
        """An unchecked copy with the named parameters set; values may be traced."""
        rig, of_world = self, {}
        for path, value in parameters.items():
            self.parameter(path)  # says now if there is none
            if path.startswith("controller."):
                rig = replace(rig, controller=replaced(rig.controller, path.partition(".")[2], value))
            else:
                of_world[path] = value
        return replace(rig, world=self.world.with_parameters(of_world))

    @cached_property
    def digest(self) -> str | None:
        """With the robot's poses, which its own digest leaves out: controllers stand in them."""
        own = digest_of(self)
        return None if own is None else digest_of((own, dict(self.world.robot.poses)))


@dataclass(frozen=True)
class Body:
    """The physical state: configuration, velocity, and what acted in the last step."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    motor: Float[ndarray, "nj"]  # torque of the motors [N m]
    forces: Float[ndarray, "ns 3"]  # on the spheres, world axes [N]
    work: Float[ndarray, "5"]  # of motors, passive torques, contact and pushes since the start [J]; of the motors again
    # without what they took when they braked
    memory: dict[str, ndarray] = field(default_factory=dict)  # of the contact model


@dataclass(frozen=True)
class Carried:
    """What one tick hands to the next."""

    tick: float  # how many have passed; time is a multiple of it, so that it does not drift
    body: Body
    memory: Any  # of the controller


@dataclass(frozen=True)
class Inputs:
    """What may change from outside between ticks."""

    command: Command
    push: Float[ndarray, "6"]  # wrench (n, f) on the base at its origin, world axes


def tick(rig: Rig, carried: Carried, inputs: Inputs) -> tuple[Carried, JointCommand]:
    """(what is carried on, what the controller asked for)."""
    robot, body = rig.world.robot, carried.body
    sensed = Sensed(body.q, body.v, body.forces[: robot.nf], gravity=rig.world.gravity)
    asked, memory = rig.acting(carried.tick * rig.period, robot, sensed, inputs.command, carried.memory)
    command = asked.spread(robot.nj)
    return Carried(carried.tick + 1.0, physics(rig, body, _or_lost(command), inputs.push), memory), command


def _or_lost(command: JointCommand) -> JointCommand:
    """A command with anything in it that is not finite loses the robot: a motor's limit would hide it."""
    total = sum(np.sum(getattr(command, f.name)) for f in fields(JointCommand))
    return replace(command, position=np.where(np.isfinite(total), command.position, np.nan))


def physics(rig: Rig, body: Body, command: JointCommand, push: Float[ndarray, "6"]) -> Body:
    """The physics of one tick: the command is held while the robot moves."""

    def substep(_: float, body: Body) -> Body:
        before = State(body.q, body.v, body.memory)
        state, acted, work = integrate_step(rig.integrator, rig.world, before, command, push, rig.dt)
        rates = 0.5 * (joint_rates(rig.world.robot, body.v) + joint_rates(rig.world.robot, state.v))  # as in the audit
        spent = rig.dt * np.sum(np.maximum(acted.motor * rates, 0.0))
        done = body.work + np.concatenate([work, np.stack([spent])])
        return Body(state.q, state.v, acted.motor, acted.forces, done, state.memory)

    if rig.substeps == 1:
        return substep(0.0, body)
    return numeric.repeat(rig.substeps, substep, body)


def at_rest(world: World, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Body:
    """The first body of a run."""
    return Body(
        np.array(q, dtype=float), np.array(v, dtype=float), np.zeros(world.robot.nj), np.zeros((len(world.spheres), 3)),
        np.zeros(5), world.contact.start(world.spheres),
    )  # fmt: skip
