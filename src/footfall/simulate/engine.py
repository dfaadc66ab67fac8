"""What runs ticks: one compiled function, or a Python controller between compiled physics."""

from __future__ import annotations

import copy
import dataclasses
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy import ndarray
from numpy.typing import DTypeLike

from footfall import compiling
from footfall.contact.force_law import ForceLaw
from footfall.contact.ground import Plane
from footfall.contact.model import ContactModel
from footfall.contact.stick_slip import StickSlip
from footfall.contact.terrain import Steps
from footfall.control.interface import JointCommand, Sensed
from footfall.errors import FootfallError, InputError, TraceError, TraceMismatch, callers_level
from footfall.nests import Given, Nest, Scalar
from footfall.seams import Adapter, unadapted
from footfall.simulate.integrators import integrate_step
from footfall.simulate.rows import Rows, rows_of
from footfall.simulate.step import State
from footfall.simulate.stop import Stop
from footfall.simulate.tick import Inputs, RunState, SimulationModel, physics, tick
from footfall.trace.face.tree import is_leaf
from footfall.trace.graph.refusal import foreign, place_of
from footfall.trace.runtime import machine

if TYPE_CHECKING:
    from footfall.trace.verification.surroundings import Surroundings


class Engine(Protocol):
    @property
    def outdated(self) -> bool: ...

    def roll(self, state: RunState, inputs: Inputs, count: int, every: int) -> tuple[RunState, Rows, Stop | None]:
        """(state after ``count`` ticks, every ``every``-th tick, trouble that the controller made)."""
        ...


def make_engine(model: SimulationModel, state: RunState, inputs: Inputs, compiled: bool | None) -> Engine:
    """Compile the controller with the physics if it can be traced (``compiled`` None: find out; True: insist)."""
    of_world = check_world(model, state, inputs)
    engine: CompiledEngine | PythonEngine
    if compiled is False or not model.acting.traceable:
        engine = PythonEngine(model, state, inputs)
        engine.around = of_world
        return engine
    try:
        of_controller = check_controller(model, state, inputs)
        engine = CompiledEngine(model, state, inputs, kept_free(model))
        engine.around = (*of_world, *of_controller)
    except TraceError as error:
        if compiled:
            raise
        engine = PythonEngine(model, state, inputs)  # what ails the ground or the contact law ails it too: raised
        engine.around = of_world
        warnings.warn(
            f"controller {model.acting.name} runs in Python at {1 / model.period:g} Hz: {error}",
            stacklevel=callers_level(),
        )
    return engine


def kept_free(model: SimulationModel) -> tuple[str, ...]:
    """Numbers of the ground that stay inputs where compiling takes long; of a user's own ground all are constants."""
    numbers: dict[type, tuple[str, ...]] = {Plane: ("friction",), Steps: ("levels", "start", "friction")}
    if not model.acting.long_to_compile:
        return ()
    return tuple(f"ground.{name}" for name in numbers.get(type(model.world.ground), ()))


def native_lanes(model: SimulationModel, dtype: DTypeLike = np.float64) -> int | None:
    """Robots in a vector of the processor where a program is long: twice as many spill its registers, and wait for the
    slowest of twice as many solvers. None leaves the width to be measured, or to $FOOTFALL_LANES."""
    if not model.acting.long_to_compile or "FOOTFALL_LANES" in os.environ:
        return None
    return machine.host().vector_bits // (8 * np.dtype(dtype).itemsize)


def check_world(model: SimulationModel, state: RunState, inputs: Inputs) -> tuple[Surroundings, ...]:
    """Take a step twice in NumPy on a user's own ground or contact law: hidden state raises TraceMismatch.

    Returns what the compiled step takes for constant; nothing where both are ours.
    """
    world = model.world
    ground, law = world.ground, unadapted(world.contact)
    parts = ((ground, [ground.distance, ground.frame, ground.friction_at]), (law, _methods_of(world.contact)))
    users = [(type(part).__name__, methods) for part, methods in parts if not _is_ours(part)]
    if not users:
        return ()
    from footfall.trace.verification.effects import effect_of
    from footfall.trace.verification.surroundings import Surroundings

    def step() -> ndarray:
        before, command = State(state.q, state.v, state.contact, state.objects), JointCommand().spread(world.robot.nj)
        with np.errstate(all="ignore"):
            after, acted, _ = integrate_step(model.integrator, world, before, command, inputs.push, model.dt)
        return np.concatenate([after.v, np.ravel(acted.forces)])

    for owner, methods in users:
        Surroundings(methods).refuse_iterators(owner)
    first = step()
    kept = [Surroundings(methods) for _, methods in users]  # what it computes once and keeps is no hidden state
    second: list[ndarray] = []
    effect = effect_of(lambda: second.append(step()))
    for (owner, _), around in zip(users, kept):
        if (name := around.changed()) is not None:
            around.restore()
            raise TraceMismatch(f"{owner} changes {name} in every step, which compiled code would not do")
    if effect or not np.array_equal(first, second[0], equal_nan=True):
        names = " or ".join(owner for owner, _ in users)
        raise TraceMismatch(f"{names} {effect or 'keeps hidden state'}, which compiled code would not do")
    return tuple(kept)


def _methods_of(contact: ContactModel) -> list[Given]:
    """The methods of a contact model that a step calls."""
    if isinstance(contact, Adapter):
        return [contact.own(name, None) for name in ("modes", "start", "respond")]
    found: list[Nest] = [contact.modes, contact.start, contact.respond]
    if isinstance(contact, ForceLaw):
        found += [contact.law, contact.linearised, contact.judged]
    return [*found, contact.normal] if isinstance(contact, StickSlip) else found


def _is_ours(part: object) -> bool:
    return type(part).__module__.startswith("footfall.")


def check_controller(model: SimulationModel, state: RunState, inputs: Inputs) -> tuple[Surroundings, ...]:
    """Trace a user's controller twice and replay it against NumPy: hidden state raises TraceMismatch.

    Returns what the compiled controller takes for constant; nothing for one of ours, which nobody changes.
    """
    if _is_ours(model.controller) and model.digest is not None:
        return ()
    from footfall.trace.tracer import verify
    from footfall.trace.verification.surroundings import Surroundings

    robot = model.world.robot

    def controller(t: float, sensed: Sensed, command: Nest, memory: Nest) -> Nest:
        answer, after = _answer(_traced(model, t, sensed, command, memory), model)
        if _form(after) != _form(memory):
            raise TraceError(
                f"its memory changes its form from {_form(memory)} to {_form(after)}: give what it begins with, as in"
                " @ff.controller(rate=..., memory=...)"
            )
        return answer.spread(robot.nj), after

    sensed = Sensed(state.q, state.v, state.forces[: robot.nf])
    controller.__name__ = model.acting.name
    subject = unadapted(model.acting)
    verify(controller, 0.1, sensed, inputs.command, state.memory, subject=subject)
    return (Surroundings(subject),)


def _traced(model: SimulationModel, *arguments: Nest) -> Nest:
    """What a controller returns for symbols; one that raises is told to run in Python, which says when and what."""
    t, sensed, command, memory = arguments
    sensed = dataclasses.replace(sensed, gravity=model.world.gravity)  # a constant of the run
    try:
        return model.acting(t, model.world.robot, sensed, command, memory)
    except FootfallError:
        raise
    except Exception as error:
        raise TraceError(foreign(error) or f"it raised {type(error).__name__}: {error}{place_of(error)}") from error


def _answer(answer: Nest, model: SimulationModel, where: str = "") -> tuple[JointCommand, Nest]:
    """What a controller returned, if it is what it must be."""
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[0], JointCommand):
        where, got = where or f"controller {model.acting.name}", type(answer).__name__
        if isinstance(answer, tuple):
            got = f"({', '.join(type(part).__name__ for part in answer)})"
        if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], JointCommand):
            got += ": the other way round"
        if isinstance(answer, JointCommand):
            got += " alone: return command, memory"
        raise InputError(f"{where} must return (JointCommand, memory), got {got}")
    return answer


def _form(nest: Nest) -> Nest:
    """A nest of arrays with every array's shape, or a number, in its place."""
    if isinstance(nest, dict):
        return {key: _form(nest[key]) for key in sorted(nest, key=str)}
    if isinstance(nest, (list, tuple)):
        return [_form(part) for part in nest]
    if dataclasses.is_dataclass(nest) and not isinstance(nest, type):
        return {f.name: _form(getattr(nest, f.name)) for f in dataclasses.fields(nest)}
    return np.shape(nest) if is_leaf(nest) else type(nest).__name__


class _ParametricEngine:
    """Machine code whose ``free`` parameters are inputs: one function for every model that differs in these alone."""

    around: tuple[Surroundings, ...] = ()  # what a user's controller, ground and contact law reach, as compiled

    def __init__(self, model: SimulationModel, free: Sequence[str]) -> None:
        self.free = tuple(free)
        self._take(model)

    @property
    def outdated(self) -> bool:
        """Whether anything that a user's own part reads (a global, a dict, a gain) has been changed since."""
        return any(around.changed() is not None for around in self.around)

    def like(self, model: SimulationModel, values: Mapping[str, Given] | None = None) -> Self:
        """The same machine code for another model: with the numbers that it has, or with those that are given."""
        other = copy.copy(self)
        other._take(model)
        if values is not None:
            other.values = ({path: values[path] for path in self.free},)
        return other

    def _take(self, model: SimulationModel) -> None:
        self.model = model
        self.values = ({path: model.parameter(path) for path in self.free},) if self.free else ()


class CompiledEngine(_ParametricEngine):
    """The whole tick as one function."""

    target = "native"

    def __init__(self, model: SimulationModel, state: RunState, inputs: Inputs, free: Sequence[str] = ()) -> None:
        super().__init__(model, free)
        lanes = native_lanes(model) if self.target == "batch" else None
        self.function = compiling.compile(
            tick, model, state, inputs, free=free, target=self.target, lanes=lanes, verify=False
        )

    def one_tick(self, state: RunState, inputs: Inputs) -> RunState:
        """The state after one tick, and nothing else."""
        after: RunState = self.function(state, inputs, *self.values)[0]
        return after

    def roll(self, state: RunState, inputs: Inputs, count: int, every: int) -> tuple[RunState, Rows, Stop | None]:
        state = replace(state, memory=self.model.acting.renewed(state.memory))
        after, (seen, commands) = self.function.roll(count, state, inputs, *self.values, every=every)
        times = (seen.tick - 1.0) * self.model.period  # when the controller was called
        self.model.acting.observe(times, inputs.command, state.memory, seen.memory)
        return after, Rows(replace(seen, memory=()), commands, self.model.period), None


def _contact_horizon(*arguments: Nest) -> Scalar:
    from footfall.simulate.contact_horizon import ContactHorizon  # which linearises simulations

    return ContactHorizon(*arguments)


class PythonEngine(_ParametricEngine):
    """The controller in Python at its own rate, the physics between its ticks compiled."""

    def __init__(self, model: SimulationModel, state: RunState, inputs: Inputs, free: Sequence[str] = ()) -> None:
        super().__init__(model, free)
        command, alone = JointCommand().spread(model.world.robot.nj), model.physics
        still = replace(state, memory=())  # the controller's, which may hold anything
        self.physics = compiling.compile(physics, alone, still, command, inputs.push, free=free, verify=False)

    def _take(self, model: SimulationModel) -> None:
        super()._take(model)
        model.acting.take_step(_contact_horizon)
        model.acting.prepare(model.world.robot, compiling.compile, model.world.gravity)  # which it does not import

    def roll(self, state: RunState, inputs: Inputs, count: int, every: int) -> tuple[RunState, Rows, Stop | None]:
        kept: list[tuple[RunState, JointCommand]] = []
        trouble = None
        for k in range(count):
            try:
                command, memory = self.command(state, inputs)
            except FootfallError as error:
                trouble = Stop(float(state.tick) * self.model.period, "error", str(error))
                break
            state = replace(self.moved(state, command, inputs), tick=state.tick + 1.0, memory=memory)
            if (k + 1) % every == 0:
                kept.append((state, command))
        return state, rows_of(self.model, kept), trouble

    def moved(self, state: RunState, command: JointCommand, inputs: Inputs) -> RunState:
        """The state after the physics of a tick, but for its number and the controller's memory."""
        return self.physics(replace(state, memory=()), command, inputs.push, *self.values)

    def command(self, state: RunState, inputs: Inputs) -> tuple[JointCommand, Nest]:
        """One tick of the controller, with everything it may do wrong turned into one sentence."""
        model, time = self.model, float(state.tick) * self.model.period
        where = f"controller {model.acting.name} at {time:.4f} s (tick {int(state.tick)})"
        robot = model.world.robot
        try:
            seen = (state.q.copy(), state.v.copy(), state.forces[: robot.nf].copy())  # may be written into
            sensed = Sensed(*seen, gravity=model.world.gravity)
            answer = model.acting(time, robot, sensed, inputs.command, state.memory)
        except Exception as error:
            raise FootfallError(f"{where} raised {type(error).__name__}: {error}") from error
        command, memory = _answer(answer, model, where)
        try:
            command = command.spread(robot.nj)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        for f in dataclasses.fields(JointCommand):
            value = np.asarray(getattr(command, f.name), dtype=float)
            if not np.isfinite(value).all():
                joint = robot.joint_names[int(np.flatnonzero(~np.isfinite(value))[0])]
                raise InputError(f"{where} asked for a {f.name} that is not finite at joint '{joint}'")
        return command, memory
