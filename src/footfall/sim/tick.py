"""One tick: the controller once, then as many physics steps as fit into its period. A rollout repeats it.

    integrate_step   one step of the physics (``sim.step``)
    physics          the steps of a tick, under one joint command
    tick             the controller, and the physics under its command
    rollout_tick     a tick as every rollout repeats it: from a state to the next, with selected rows

All four are plain NumPy; ``sim.rollouts`` and ``sim.gpu`` compile their traces. A controller that cannot be
traced runs in Python between compiled ``physics``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
from numpy import ndarray
from numpy.typing import DTypeLike

import nptrace
from footfall.control.interface import Command, Controller, JointCommand, Sensed, as_controller
from footfall.errors import InputError
from footfall.identity import digest_of
from footfall.parameters import look_up, replaced
from footfall.recording.force_mean import rest_of_window
from footfall.robot.model.description import Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.step import integrate_step, match_implicitness, solutions
from footfall.sim.world import World
from nptrace._types import PyTree, Scalar
from nptrace.array_types import Float
from nptrace.frontend import tree


@dataclass(frozen=True, eq=False)
class SimulationModel:
    """The constants of a tick: a world, a controller, and the step settings."""

    world: World
    controller: Controller | None  # None for physics alone
    integrator: str
    dt: float  # [s]
    substeps: int  # steps per tick

    def __post_init__(self) -> None:
        object.__setattr__(self, "world", match_implicitness(self.integrator, self.world))
        if self.controller is not None:
            object.__setattr__(self, "controller", as_controller(self.controller))

    @property
    def acting(self) -> Controller:
        """Return the controller of a model that has one."""
        if self.controller is None:
            raise InputError("this model has no controller: it contains only the physics")
        return self.controller

    @property
    def period(self) -> float:
        return self.dt * self.substeps

    @property
    def physics(self) -> SimulationModel:
        """Return the model without its controller: the input of ``physics``, common to all controllers."""
        return replace(self, controller=None)

    def parameter(self, path: str) -> Scalar:
        """Return a parameter of the world, or of the controller: ``"controller.kp"``, ``"controller.gait.period"``."""
        name, _, rest = path.partition(".")
        return look_up(self.controller, rest, name) if name == "controller" else self.world.parameter(path)

    def with_parameters(self, parameters: Mapping[str, Scalar]) -> SimulationModel:
        """Return an unchecked copy with the named parameters set; values may be traced."""
        model, of_world = self, {}
        for path, value in parameters.items():
            self.parameter(path)  # raises if there is none
            if path.startswith("controller."):
                model = replace(model, controller=replaced(model.controller, path.partition(".")[2], value))
            else:
                of_world[path] = value
        return replace(model, world=self.world.with_parameters(of_world))

    @cached_property
    def digest(self) -> str | None:
        """Return the digest with the robot's poses, which its own digest excludes: controllers use them."""
        own = digest_of(self)
        return None if own is None else digest_of((own, dict(self.world.robot.poses)))


@dataclass(frozen=True, kw_only=True)
class RunState:
    """The state between two ticks: the physical state, the forces of the last step, and both memories.

    Motor torques, forces, work and impulses may be omitted if they are not needed (``reduced``): they are then empty.
    Rows of many ticks have a leading time axis, many robots a leading robot axis.
    """

    tick: float  # number of ticks so far; time is a multiple of it, so that it does not drift
    tick_rest: float = 0.0  # remainder of the count: float32 represents integers up to 2^24, 4.7 h at 1 kHz
    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    motor: Float[ndarray, "nj"]  # torque of the motors [N m]
    forces: Float[ndarray, "ns 3"]  # on the spheres, world axes [N]
    work: Float[ndarray, "5"]  # since the start [J], as in ``step.Done``
    # of the ground on the feet since the start, world axes [N s]; if ticks do not divide the window of
    # ``recording.force_mean``, also ``rest_of_window`` before the end of the tick
    impulse: Float[ndarray, "m nf 3"]
    contact: dict[str, ndarray] = field(default_factory=dict)  # memory of the contact model
    memory: PyTree = ()  # memory of the controller
    objects: PyTree = ()  # free bodies, rows of thirteen: position, quaternion, (ω, v) in their own axes

    @property
    def count(self) -> Float[ndarray, "*n"]:
        """Return the number of ticks so far, in float64."""
        return np.asarray(self.tick, np.float64) + self.tick_rest


@dataclass(frozen=True)
class Inputs:
    """The inputs from outside that may change between ticks."""

    command: Command
    push: Float[ndarray, "wrenches"]  # wrench (n, f) on the base at its origin, world axes


def tick(model: SimulationModel, state: RunState, inputs: Inputs) -> tuple[RunState, JointCommand]:
    """Return (the whole state after a tick, the controller's command); omitted parts of a state count as zero."""
    robot = model.world.robot
    state = _whole(model.world, state)
    sensed = Sensed(q=state.q, v=state.v, forces=state.forces[: robot.nf], gravity=model.world.gravity)
    commanded, memory = model.acting(state.tick * model.period, robot, sensed, inputs.command, state.memory)
    command = commanded.broadcast(robot.nj)
    after = physics(model, state, _nan_unless_finite(command), inputs.push)
    return replace(after, memory=memory), command


def _nan_unless_finite(command: JointCommand) -> JointCommand:
    """Return NaN for a command that is not finite anywhere: a motor's limit would hide it instead of stopping the
    run.
    """
    total = sum(np.sum(getattr(command, f.name)) for f in fields(JointCommand))
    return replace(command, position=np.where(np.isfinite(total), command.position, np.nan))


def physics(
    model: SimulationModel, state: RunState, command: JointCommand, push: Float[ndarray, "wrenches"]
) -> RunState:
    """Return the state after the physics of one tick: the command is held while the robot moves."""
    state = _whole(model.world, state)

    def substep(k: float, moving: tuple[PyTree, ...]) -> tuple[PyTree, ...]:
        q, v, _, _, work, impulse, memory, objects = moving
        after, acted, done = integrate_step(
            model.integrator, model.world, State(q, v, memory, objects), command, push, model.dt
        )
        impulse = add_impulse(model, impulse, done.impulse, k)
        return after.q, after.v, acted.motor, acted.forces, work + done.work, impulse, after.memory, after.objects

    moving: tuple[PyTree, ...] = (
        state.q,
        state.v,
        state.motor,
        state.forces,
        state.work,
        np.stack([state.impulse[0]] * len(state.impulse)) if len(state.impulse) else state.impulse,
        state.contact,
        state.objects,
    )
    moved = substep(0.0, moving) if model.substeps == 1 else nptrace.repeat(model.substeps, substep, moving)
    q, v, motor, forces, work, impulse, contact, objects = moved
    more = state.tick_rest + 1.0
    count = state.tick + more
    return RunState(
        tick=count,
        tick_rest=more - (count - state.tick),  # zero where the sum is exact
        q=q,
        v=v,
        motor=motor,
        forces=forces,
        work=work,
        impulse=impulse,
        contact=contact,
        memory=state.memory,
        objects=objects,
    )


def add_impulse(model: SimulationModel, impulse: ndarray, done: Float[ndarray, "nf 3"], k: Scalar) -> ndarray:
    """Return the impulses after the k-th step of a tick, whose results are ``done``."""
    if not len(impulse):
        return impulse
    if len(impulse) == 1:
        return impulse + done
    before = np.clip(model.substeps - rest_of_window(model.period) / model.dt - k, 0.0, 1.0)  # fraction of the step
    return impulse + np.stack([done, before * done])


def rollout_tick(model: SimulationModel, state: RunState, inputs: Inputs, rows: Sequence[str] = ()) -> PyTree:
    """Return the state after a tick, with the parts present in the state before it; with ``rows``, also these.

    Args:
        rows: Quantities that a rollout keeps from a tick besides the next state: "command" and fields of ``RunState``.

    Returns:
        The next state, or with rows (the next state, a dictionary of the rows by name).
    """
    after, command = tick(model, state, inputs)
    handed_on = replace(after, **{name: x for name in _OPTIONAL if not len(x := getattr(state, name))})
    if not rows:
        return handed_on
    return handed_on, {name: command if name == "command" else getattr(after, name) for name in rows}


def counted_tick(model: SimulationModel, state: RunState, inputs: Inputs) -> tuple[RunState, Float[ndarray, "steps"]]:
    """Return the state after a tick, as ``rollout_tick``, and how often each of its steps was solved."""
    handed_on, rows = rollout_tick(model, state, inputs, ("command",))
    world = match_implicitness(model.integrator, model.world).in_limb_frames()

    def substep(at: State, _: PyTree) -> tuple[State, ndarray]:
        count = solutions(world, at, rows["command"], inputs.push, model.dt)
        after, *_ = integrate_step(model.integrator, model.world, at, rows["command"], inputs.push, model.dt)
        return after, np.multiply(1.0, count)

    start = State(state.q, state.v, state.contact, state.objects)
    _, counts = nptrace.scan(substep, start, np.zeros(model.substeps))
    return handed_on, counts


# -- states ------------------------------------------------------------------------------------------------------------
_OPTIONAL = ("motor", "forces", "work", "impulse")  # parts that a state may omit


def at_rest(world: World, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], memory: PyTree = ()) -> RunState:
    """Return the initial state of a run, without forces. Impulses are recorded only if given."""
    return RunState(
        tick=0.0,
        q=np.array(q, dtype=float),
        v=np.array(v, dtype=float),
        motor=np.zeros(world.robot.nj),
        forces=np.zeros((len(world.contacts), 3)),
        work=np.zeros(5),
        impulse=np.zeros((0, world.robot.nf, 3)),
        contact=world.start(q, v),
        memory=memory,
        objects=np.stack([body.start for body in world.objects]) if world.objects else (),
    )


def states_at_rest(model: SimulationModel, first: RunState, n: int, dtype: DTypeLike = np.float64) -> list[ndarray]:
    """Return the arrays of the initial states of n robots, each with a robot axis.

    Robots start equal, except for individual parts of their controller's memory.
    """
    own = replace(first, memory=model.acting.memory_of_robots(first.memory, np.arange(n)))
    found = []
    for of_one, of_all in zip(tree.flatten(first)[0], tree.flatten(own)[0]):
        shape = (n, *np.shape(of_one))
        if np.shape(of_all) not in (shape, shape[1:]):
            raise InputError(
                f"controller {model.acting.name}: memory_of_robots returned an array of shape {np.shape(of_all)}, but"
                f" must return {shape[1:]}, or {shape} where robots differ"
            )
        found.append(np.broadcast_to(np.asarray(of_all, dtype), shape))
    return found


def no_impulse(robot: Robot, period: float) -> Float[ndarray, "m nf 3"]:
    """Return the impulses before a run, for ticks of a period [s]."""
    return np.zeros((2 if rest_of_window(period) > 0.0 else 1, robot.nf, 3))


def reduced(state: RunState, *kept: str) -> RunState:
    """Return a state without motor torques, forces, work and impulses, except for named ones."""
    return replace(state, **{name: getattr(state, name)[:0] for name in _OPTIONAL if name not in kept})


def _whole(world: World, state: RunState) -> RunState:
    """Return a state with zeros for omitted parts, except impulses."""
    sizes = {"motor": world.robot.nj, "forces": (len(world.contacts), 3), "work": 5}
    left_out = {name: np.zeros(size) for name, size in sizes.items() if not len(getattr(state, name))}
    return replace(state, **left_out) if left_out else state


def repeated(arrays: PyTree, n: int, dtype: DTypeLike = np.float64) -> PyTree:
    """Return a pytree of one robot repeated for n robots, with a leading robot axis."""
    leaves, rebuild = tree.flatten(arrays)
    return rebuild([np.tile(np.asarray(x, dtype), (n, *(1,) * np.ndim(x))) for x in leaves])
