"""One tick: the controller once, then as many physics steps as fit into its period. A run repeats it.

A controller that can be traced is compiled into the tick; for any other the tick is cut in two, and ``physics`` alone
is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall import numeric
from footfall.control.interface import Command, Controller, JointCommand, Sensed, as_controller
from footfall.errors import InputError
from footfall.identity import digest_of
from footfall.kinematics.forward import joint_rates
from footfall.nests import Nest, Scalar
from footfall.parameters import look_up, replaced
from footfall.robot.model.description import Pose
from footfall.simulate.integrators import as_taken, integrate_step
from footfall.simulate.step import State
from footfall.simulate.world import World


@dataclass(frozen=True, eq=False)
class SimulationModel:
    """The constants of a tick: a world, a controller, and how to step."""

    world: World
    controller: Controller | None  # None where physics alone is wanted
    integrator: str
    dt: float  # [s]
    substeps: int  # steps per tick

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
    def physics(self) -> SimulationModel:
        """The same without its controller: what ``physics`` needs, alike under every controller."""
        return replace(self, controller=None)

    def parameter(self, path: str) -> Scalar:
        """One of the world, or of the controller: ``"controller.kp"``, ``"controller.gait.period"``."""
        name, _, rest = path.partition(".")
        return look_up(self.controller, rest, name) if name == "controller" else self.world.parameter(path)

    def with_parameters(self, parameters: Mapping[str, Scalar]) -> SimulationModel:
        """An unchecked copy with the named parameters set; values may be traced."""
        model, of_world = self, {}
        for path, value in parameters.items():
            self.parameter(path)  # says now if there is none
            if path.startswith("controller."):
                model = replace(model, controller=replaced(model.controller, path.partition(".")[2], value))
            else:
                of_world[path] = value
        return replace(model, world=self.world.with_parameters(of_world))

    @cached_property
    def digest(self) -> str | None:
        """With the robot's poses, which its own digest leaves out: controllers stand in them."""
        return self.digest_in_files()

    def digest_in_files(self, older: bool = False, poses: Mapping[str, Pose] | None = None) -> str | None:
        """The same, or as files have it from before its latest fields were there; with other poses if given."""
        own = digest_of(self, older)
        return (
            None if own is None else digest_of((own, dict(self.world.robot.poses if poses is None else poses)), older)
        )


@dataclass(frozen=True)
class RunState:
    """What one tick hands to the next: the physical state, what acted in its last step, and both memories.

    A batch leaves out what it does not need: these arrays are empty. Recorded ticks have time as their first axis.
    """

    tick: float  # how many have passed; time is a multiple of it, so that it does not drift
    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    motor: Float[ndarray, "nj"]  # torque of the motors [N m]
    forces: Float[ndarray, "ns 3"]  # on the spheres, world axes [N]
    work: Float[ndarray, "5"]  # of motors, passive torques, contact and pushes since the start [J]; of the motors again
    # without what they took when they braked
    contact: dict[str, ndarray] = field(default_factory=dict)  # memory of the contact model
    memory: Nest = ()  # of the controller
    objects: Nest = ()  # of free bodies, rows of thirteen: position, quaternion, (ω, v) in their own axes


@dataclass(frozen=True)
class Inputs:
    """What may change from outside between ticks."""

    command: Command
    push: Float[ndarray, "wrenches"]  # wrench (n, f) on the base at its origin, world axes


def tick(model: SimulationModel, state: RunState, inputs: Inputs) -> tuple[RunState, JointCommand]:
    """(the state after it, the controller's command)."""
    robot = model.world.robot
    sensed = Sensed(state.q, state.v, state.forces[: robot.nf], gravity=model.world.gravity)
    answer, memory = model.acting(state.tick * model.period, robot, sensed, inputs.command, state.memory)
    command = answer.spread(robot.nj)
    next_tick = state.tick + 1.0
    after = physics(model, state, _nan_unless_finite(command), inputs.push)
    return replace(after, tick=next_tick, memory=memory), command


def _nan_unless_finite(command: JointCommand) -> JointCommand:
    """NaN for all of a command with anything in it that is not finite, so that the run stops: a motor's limit would
    hide it."""
    total = sum(np.sum(getattr(command, f.name)) for f in fields(JointCommand))
    return replace(command, position=np.where(np.isfinite(total), command.position, np.nan))


def physics(
    model: SimulationModel, state: RunState, command: JointCommand, push: Float[ndarray, "wrenches"]
) -> RunState:
    """The physics of one tick: the command is held while the robot moves."""
    robot = model.world.robot

    def substep(_: float, moving: tuple[Nest, ...]) -> tuple[Nest, ...]:
        q, v, _, _, work, memory, objects = moving
        after, acted, done = integrate_step(
            model.integrator, model.world, State(q, v, memory, objects), command, push, model.dt
        )  # fmt: skip
        rates = 0.5 * (joint_rates(robot, v) + joint_rates(robot, after.v))  # as in the audit
        spent = model.dt * np.sum(np.maximum(acted.motor * rates, 0.0))
        work = work + np.concatenate([done, np.stack([spent])])
        return after.q, after.v, acted.motor, acted.forces, work, after.memory, after.objects

    moving: tuple[Nest, ...] = (
        state.q, state.v, state.motor, state.forces, state.work, state.contact, state.objects,
    )  # fmt: skip
    moved = substep(0.0, moving) if model.substeps == 1 else numeric.repeat(model.substeps, substep, moving)
    q, v, motor, forces, work, contact, objects = moved
    return RunState(state.tick, q, v, motor, forces, work, contact, state.memory, objects)


def at_rest(world: World, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], memory: Nest = ()) -> RunState:
    """The first state of a run: nothing has acted yet."""
    return RunState(
        0.0, np.array(q, dtype=float), np.array(v, dtype=float), np.zeros(world.robot.nj),
        np.zeros((len(world.contacts), 3)), np.zeros(5), world.start(q, v), memory,
        np.stack([body.start for body in world.objects]) if world.objects else (),
    )  # fmt: skip
