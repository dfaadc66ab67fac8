"""Rollouts: n ticks of a robot, and the rows that are kept of them, on one of four backends."""

from __future__ import annotations

import copy
import dataclasses
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy import ndarray
from numpy.typing import DTypeLike

from footfall import compiling
from footfall.adapters import Adapter, unadapted
from footfall.contact.force_law import ForceLaw
from footfall.contact.model import ContactModel
from footfall.contact.stick_slip import StickSlip
from footfall.control.interface import Command, JointCommand, Sensed
from footfall.errors import FootfallError, InputError, TraceError, TraceMismatch, callers_level
from footfall.sim.equations_of_motion import State
from footfall.sim.step import integrate_step
from footfall.sim.stopping import Stop
from footfall.sim.tick import Inputs, RunState, SimulationModel, at_rest, no_impulse, physics, tick
from nptrace import ownership
from nptrace._types import Given, PyTree, Scalar
from nptrace.frontend import tree
from nptrace.frontend.tree import is_leaf
from nptrace.ir.refusal import foreign, place_of
from nptrace.runtime import machine

if TYPE_CHECKING:
    from nptrace.verification.closure_state import ClosureState


# -- ticks and their rows ----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Rows:
    """States and commands of ticks, time first in every array; the controller's memory is not kept."""

    state: RunState
    command: JointCommand
    period: float  # [s]

    def __len__(self) -> int:
        return len(self.time)

    @property
    def time(self) -> ndarray:
        """At the end of every tick [s]."""
        return np.asarray(self.state.tick) * self.period

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        """Rows that follow each other; at least one part."""
        if len(parts) == 1:
            return parts[0]
        leaves, rebuild = zip(*(tree.flatten((part.state, part.command)) for part in parts))
        state, command = rebuild[0]([np.concatenate(column) for column in zip(*leaves)])
        return Rows(state, command, parts[0].period)

    def __getitem__(self, rows: slice | ndarray) -> Rows:
        leaves, rebuild = tree.flatten((self.state, self.command))
        state, command = rebuild([leaf[rows] for leaf in leaves])
        return Rows(state, command, self.period)

    def state_after(self, row: int, before: RunState) -> RunState:
        """The state after the tick of a row, with the controller's memory of an earlier one."""
        leaves, rebuild = tree.flatten(self.state)
        state: RunState = rebuild([leaf[row] for leaf in leaves])
        return replace(state, tick=float(state.tick), memory=before.memory)

    def finite(self) -> int:
        """How many rows, from the first, hold finite numbers only."""
        if not len(self):
            return 0
        good = np.ones(len(self), dtype=bool)
        commands = (getattr(self.command, f.name) for f in fields(JointCommand))
        for array in (self.state.q, self.state.v, self.state.motor, self.state.forces, *commands):
            good &= np.isfinite(np.reshape(array, (len(self), -1))).all(axis=1)
        bad = np.flatnonzero(~good)
        return int(bad[0]) if len(bad) else len(self)

    def culprit(self, row: int, model: SimulationModel) -> str:
        """What is not finite in a row, in words."""
        joints, q, v = model.world.robot.joint_names, self.state.q, self.state.v
        for key in ("position", "velocity", "kp", "kd", "torque"):
            wrong = np.flatnonzero(~np.isfinite(getattr(self.command, key)[row]))
            if len(wrong):
                who = f"controller {model.acting.name} (tick {round(self.time[row] / model.period) - 1})"
                return f"{who} asked for a {key} that is not finite at joint '{joints[wrong[0]]}'"
        for name, array in (("position", q), ("rate", v)):
            wrong, first = np.flatnonzero(~np.isfinite(array[row])), array.shape[1] - len(joints)
            if len(wrong) and wrong[0] >= first:
                return f"the {name} of joint '{joints[wrong[0] - first]}'"
        return "the state of the base"


def rows_of(model: SimulationModel, kept: list[tuple[RunState, JointCommand]]) -> Rows:
    """Rows of states and commands that were kept one by one; there may be none."""
    robot, count = model.world.robot, len(kept)
    start = at_rest(model.world, np.zeros(robot.nq), np.zeros(robot.nv))
    like = replace(start, impulse=no_impulse(robot, model.period)), JointCommand().broadcast(robot.nj)
    leaves, rebuild = tree.flatten(like)
    read = tree.reader(like)
    flat: list[list[ndarray]] = []
    for state, command in kept:
        row: list[ndarray] = []
        flat.append(row)
        read((replace(state, memory=()), command), row)
    columns = zip(*flat)
    stacked = [np.array(column, dtype=float) for column in columns] or [np.zeros((0, *np.shape(x))) for x in leaves]
    state, command = rebuild([x.reshape(count, *np.shape(leaf)) for x, leaf in zip(stacked, leaves)])
    return Rows(state, command, model.period)


Rolled = tuple[RunState, Rows, Stop | None]  # as an engine gives it


@dataclass(frozen=True)
class Ask:
    """Ticks that are to be computed, and every how many of them a row is kept."""

    before: RunState
    spans: Sequence[tuple[int, Inputs]]  # from which tick of them on which inputs hold; the first from 0 on
    count: int
    every: int

    @property
    def command(self) -> Command:
        return self.spans[0][1].command

    def inputs_from(self, tick: int) -> Inputs:
        return [inputs for start, inputs in self.spans if start <= tick][-1]


# -- backends: one compiled function, or a Python controller between compiled physics ----------------------------------
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
    if compiled is False or not model.acting.info.traceable:
        engine = PythonEngine(model, state, inputs)
        engine.around = of_world
        return engine
    try:
        of_controller = check_controller(model, state, inputs)
        engine = CompiledEngine(model, state, inputs, ground_inputs(model))
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


def ground_inputs(model: SimulationModel) -> tuple[str, ...]:
    """Numbers of the ground that stay inputs where compiling takes long; of a user's own ground all are constants."""
    if not model.acting.info.long_to_compile:
        return ()
    return tuple(f"ground.{name}" for name in model.world.ground.free)


def native_lanes(model: SimulationModel, dtype: DTypeLike = np.float64) -> int | None:
    """Robots in a vector of the processor where a program is long: twice as many spill its registers, and wait for the
    slowest of twice as many solvers. None leaves the width to be measured, or to $NPTRACE_LANES."""
    if not model.acting.info.long_to_compile or "NPTRACE_LANES" in os.environ:
        return None
    return machine.host().vector_bits // (8 * np.dtype(dtype).itemsize)


def check_world(model: SimulationModel, state: RunState, inputs: Inputs) -> tuple[ClosureState, ...]:
    """Take a step twice in NumPy on a user's own ground or contact law: hidden state raises TraceMismatch.

    Returns what the compiled step takes for constant; nothing where both are ours.
    """
    world = model.world
    ground, law = unadapted(world.ground), unadapted(world.contact)
    parts = ((ground, [ground.distance, ground.frame, ground.friction_at]), (law, _methods_of(world.contact)))
    users = [(type(part).__name__, methods) for part, methods in parts if not _is_ours(part)]
    if not users:
        return ()
    from nptrace.verification.closure_state import ClosureState
    from nptrace.verification.effects import effect_of

    def step() -> ndarray:
        before, command = (
            State(state.q, state.v, state.contact, state.objects),
            JointCommand().broadcast(world.robot.nj),
        )
        with np.errstate(all="ignore"):
            after, acted, _ = integrate_step(model.integrator, world, before, command, inputs.push, model.dt)
        return np.concatenate([after.v, np.ravel(acted.forces)])

    for owner, methods in users:
        ClosureState(methods).refuse_iterators(owner)
    first = step()
    kept = [ClosureState(methods) for _, methods in users]  # what it computes once and keeps is no hidden state
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
        return [contact.get(name, None) for name in ("modes", "start", "respond")]
    found: list[PyTree] = [contact.modes, contact.start, contact.respond]
    if isinstance(contact, ForceLaw):
        found += [contact.law, contact.linearised, contact.update_modes]
    return [*found, contact.normal] if isinstance(contact, StickSlip) else found


def _is_ours(part: object) -> bool:
    return ownership.is_unmodified(type(part))


def check_controller(model: SimulationModel, state: RunState, inputs: Inputs) -> tuple[ClosureState, ...]:
    """Trace a user's controller twice and replay it against NumPy: hidden state raises TraceMismatch.

    Returns what the compiled controller takes for constant; nothing for one of ours, which nobody changes.
    """
    if _is_ours(model.controller) and model.digest is not None:
        return ()
    from nptrace.frontend.tracer import verify
    from nptrace.verification.closure_state import ClosureState

    robot = model.world.robot

    def controller(t: float, sensed: Sensed, command: PyTree, memory: PyTree) -> PyTree:
        answer, after = _answer(_traced(model, t, sensed, command, memory), model)
        if _form(after) != _form(memory):
            raise TraceError(
                f"its memory changes its form from {_form(memory)} to {_form(after)}: give what it begins with, as in"
                " @ff.controller(rate=..., memory=...)"
            )
        return answer.broadcast(robot.nj), after

    sensed = Sensed(q=state.q, v=state.v, forces=state.forces[: robot.nf])
    controller.__name__ = model.acting.name
    subject = unadapted(model.acting)
    verify(controller, 0.1, sensed, inputs.command, state.memory, subject=subject)
    return (ClosureState(subject),)


def _traced(model: SimulationModel, *arguments: PyTree) -> PyTree:
    """What a controller returns for symbols; one that raises is told to run in Python, which says when and what."""
    t, sensed, command, memory = arguments
    sensed = dataclasses.replace(sensed, gravity=model.world.gravity)  # a constant of the run
    try:
        return model.acting(t, model.world.robot, sensed, command, memory)
    except FootfallError:
        raise
    except Exception as error:
        raise TraceError(foreign(error) or f"it raised {type(error).__name__}: {error}{place_of(error)}") from error


def _answer(answer: PyTree, model: SimulationModel, where: str = "") -> tuple[JointCommand, PyTree]:
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


def _form(nest: PyTree) -> PyTree:
    """A pytree of arrays with every array's shape, or a number, in its place."""
    if isinstance(nest, dict):
        return {key: _form(nest[key]) for key in sorted(nest, key=str)}
    if isinstance(nest, (list, tuple)):
        return [_form(part) for part in nest]
    if dataclasses.is_dataclass(nest) and not isinstance(nest, type):
        return {f.name: _form(getattr(nest, f.name)) for f in dataclasses.fields(nest)}
    return np.shape(nest) if is_leaf(nest) else type(nest).__name__


class _ParametricEngine:
    """Machine code whose ``free`` parameters are inputs: one function for every model that differs in these alone."""

    around: tuple[ClosureState, ...] = ()  # what a user's controller, ground and contact law reach, as compiled

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
        state = replace(state, memory=self.model.acting.refresh_memory(state.memory))
        after, (seen, commands) = self.function.roll(count, state, inputs, *self.values, every=every)
        times = (seen.tick - 1.0) * self.model.period  # when the controller was called
        self.model.acting.log_ticks(times, inputs.command, state.memory, seen.memory)
        return after, Rows(replace(seen, memory=()), commands, self.model.period), None


def _contact_horizon(*arguments: PyTree) -> Scalar:
    from footfall.sim.contact_horizon import ContactHorizon  # which linearises simulations

    return ContactHorizon(*arguments)


class PythonEngine(_ParametricEngine):
    """The controller in Python at its own rate, the physics between its ticks compiled."""

    def __init__(self, model: SimulationModel, state: RunState, inputs: Inputs, free: Sequence[str] = ()) -> None:
        super().__init__(model, free)
        command, alone = JointCommand().broadcast(model.world.robot.nj), model.physics
        still = replace(state, memory=())  # the controller's, which may hold anything
        self.physics = compiling.compile(physics, alone, still, command, inputs.push, free=free, verify=False)

    def _take(self, model: SimulationModel) -> None:
        super()._take(model)
        model.acting.set_horizon(_contact_horizon)
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

    def command(self, state: RunState, inputs: Inputs) -> tuple[JointCommand, PyTree]:
        """One tick of the controller, with everything it may do wrong turned into one sentence."""
        model, time = self.model, float(state.tick) * self.model.period
        where = f"controller {model.acting.name} at {time:.4f} s (tick {int(state.tick)})"
        robot = model.world.robot
        try:
            q, v, forces = state.q.copy(), state.v.copy(), state.forces[: robot.nf].copy()  # may be written into
            sensed = Sensed(q=q, v=v, forces=forces, gravity=model.world.gravity)
            answer = model.acting(time, robot, sensed, inputs.command, state.memory)
        except Exception as error:
            raise FootfallError(f"{where} raised {type(error).__name__}: {error}") from error
        command, memory = _answer(answer, model, where)
        try:
            command = command.broadcast(robot.nj)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        for f in dataclasses.fields(JointCommand):
            value = np.asarray(getattr(command, f.name), dtype=float)
            if not np.isfinite(value).all():
                joint = robot.joint_names[int(np.flatnonzero(~np.isfinite(value))[0])]
                raise InputError(f"{where} asked for a {f.name} that is not finite at joint '{joint}'")
        return command, memory


# -- backend: SIMD lanes -----------------------------------------------------------------------------------------------
_CHUNK = 32  # simulations whose rows are in memory at once, the controller's memory among them


class LanesEngine(CompiledEngine):
    """The whole tick as one function of many simulations that differ in ``free`` numbers, state and inputs alone."""

    target = "batch"

    def roll(self, state: RunState, inputs: Inputs, count: int, every: int) -> Rolled:
        return rollout_lanes([self], [Ask(state, [(0, inputs)], count, every)])[0]

    def one_tick(self, state: RunState, inputs: Inputs) -> RunState:
        values = [stacked([v]) for v in self.values]
        after, _ = self.function(stacked([state]), stacked([inputs]), *values)
        found: RunState = _members(after, 1)[0]
        return found


def rollout_lanes(engines: Sequence[LanesEngine], asks: Sequence[Ask]) -> list[Rolled]:
    """What each asks for; all of them share one function, and ask for as many ticks and rows."""
    found: list[Rolled] = []
    for start in range(0, len(asks), _CHUNK):
        part = slice(start, start + _CHUNK)
        found += _rolled(engines[part], asks[part])
    return found


def _rolled(engines: Sequence[LanesEngine], asks: Sequence[Ask]) -> list[Rolled]:
    count, every = asks[0].count, asks[0].every
    before = [replace(a.before, memory=e.model.acting.refresh_memory(a.before.memory)) for e, a in zip(engines, asks)]
    values = [stacked(some) for some in zip(*(engine.values for engine in engines))]
    after, found_rows = stacked(before), []
    starts = sorted({start for ask in asks for start, _ in ask.spans})
    for start, end in zip(starts, [*starts[1:], count]):  # one's push comes or goes: the others do not notice
        inputs = stacked([ask.inputs_from(start) for ask in asks])
        after, rows_of_span = engines[0].function.roll(end - start, after, inputs, *values, every=every)
        found_rows.append(rows_of_span)
    seen, commands = _joined(found_rows)
    found: list[Rolled] = []
    parts = zip(_members(after, len(asks)), _members(seen, len(asks)), _members(commands, len(asks)))
    for engine, ask, first, (last, rows, asked) in zip(engines, asks, before, parts):
        period = engine.model.period
        times = (rows.tick - 1.0) * period  # when the controller was called
        engine.model.acting.log_ticks(times, ask.command, first.memory, rows.memory)
        found.append((last, Rows(replace(rows, memory=()), asked, period), None))
    return found


def stacked(nests: Sequence[Scalar]) -> Scalar:
    """Nests of the same form as one, with an axis for them first in every array."""
    leaves, rebuild = zip(*map(tree.flatten, nests))
    return rebuild[0]([np.stack([np.asarray(x, float) for x in column]) for column in zip(*leaves)])


def _joined(nests: Sequence[Scalar]) -> Scalar:
    """Rows of many simulations that follow each other, behind the simulations' axis."""
    if len(nests) == 1:
        return nests[0]
    leaves, rebuild = zip(*map(tree.flatten, nests))
    return rebuild[0]([np.concatenate(column, axis=1) for column in zip(*leaves)])


def _members(nest: PyTree, count: int) -> list[Scalar]:
    """The other way round."""
    leaves, rebuild = tree.flatten(nest)
    return [rebuild([leaf[k] for leaf in leaves]) for k in range(count)]
