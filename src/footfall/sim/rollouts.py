"""Rollouts: some ticks of a robot and their selected rows, on one of four backends.

    batch = TickBatch.of(state, [(0, inputs)], count=100, every=10, model=model)
    done = make_backend(model, state, inputs, None).rollout(batch)
    done.after, done.states, done.commands

All repeat ``rollout_tick`` (``sim.tick``), compiled by ``compile_tick``.

| backend | what it runs |
|---|---|
| ``PythonBackend`` | a controller in Python, between the compiled physics of every tick |
| ``NativeBackend`` | the whole tick as machine code |
| ``LanesBackend`` | the ticks of many simulations at once, on the lanes of vector instructions |
| ``sim.gpu.CudaBackend`` | the ticks of thousands of robots on a GPU |

``Simulation`` and ``run_batched`` roll out batches of one robot. ``Batch`` and ``GpuBatch`` hold the states of all
their robots, and repeat the same tick on them.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

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
from footfall.sim.arguments import check_controller_result
from footfall.sim.equations_of_motion import State
from footfall.sim.step import integrate_step
from footfall.sim.stopping import Stop
from footfall.sim.tick import Inputs, RunState, SimulationModel, physics, rollout_tick
from nptrace import ownership
from nptrace._types import Given, Operand, PyTree
from nptrace.array_types import Float
from nptrace.frontend import tree
from nptrace.frontend.tree import is_leaf
from nptrace.ir.refusal import foreign, place_of
from nptrace.runtime import machine
from nptrace.runtime.callables import Function

if TYPE_CHECKING:
    from nptrace.verification.closure_state import ClosureState


# -- some ticks --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class TickBatch:
    """Some ticks of a run: their start, their inputs and, after the rollout, their results.

    ``states`` and ``commands`` are its rows: time is the first axis of every array, and the controller's memory is not
    kept.
    """

    # request
    before: RunState
    spans: Sequence[tuple[int, Inputs]]  # tick from which each set of inputs applies; the first from 0
    count: int
    every: int  # interval of rows, in ticks
    period: float  # [s]
    # result
    after: RunState
    states: RunState
    commands: JointCommand
    trouble: Stop | None = None  # trouble of the controller, after which there are no ticks

    @staticmethod
    def of(
        before: RunState, spans: Sequence[tuple[int, Inputs]], *, count: int, every: int, model: SimulationModel
    ) -> TickBatch:
        """Create a batch of ticks of a model, to be rolled out."""
        states, commands = rows_of(model, before, [])
        return TickBatch(
            before=before,
            spans=spans,
            count=count,
            every=every,
            period=model.period,
            after=before,
            states=states,
            commands=commands,
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.time)

    @property
    def time(self) -> Float[ndarray, "rows"]:
        """Return the end of every row's tick [s]."""
        return self.states.count * self.period

    @property
    def command(self) -> Command:
        """Return the user's command, which is the same throughout."""
        return self.spans[0][1].command

    def inputs_from(self, tick: int) -> Inputs:
        """Return the inputs of a tick, counted from the first of the batch."""
        return [inputs for start, inputs in self.spans if start <= tick][-1]

    def select(self, rows: slice | ndarray) -> TickBatch:
        """Return the batch with some of its rows."""
        states, commands = select_rows((self.states, self.commands), rows)
        return replace(self, states=states, commands=commands)

    def state_after(self, row: int) -> RunState:
        """Return the state after the tick of a row, with the controller's memory from before the batch."""
        leaves, rebuild = tree.flatten(self.states)
        state: RunState = rebuild([leaf[row] for leaf in leaves])
        return replace(state, tick=float(state.tick), memory=self.before.memory)

    def count_finite(self) -> int:
        """Return how many rows, from the first, are finite."""
        if not len(self):
            return 0
        good = np.ones(len(self), dtype=bool)
        commands = (getattr(self.commands, f.name) for f in fields(JointCommand))
        for array in (self.states.q, self.states.v, self.states.motor, self.states.forces, *commands):
            good &= np.isfinite(np.reshape(array, (len(self), -1))).all(axis=1)
        bad = np.flatnonzero(~good)
        return int(bad[0]) if len(bad) else len(self)

    def culprit(self, row: int, model: SimulationModel) -> str:
        """Return which quantity is not finite in a row, as text."""
        joints, q, v = model.world.robot.joint_names, self.states.q, self.states.v
        for key in ("position", "velocity", "kp", "kd", "torque"):
            wrong = np.flatnonzero(~np.isfinite(getattr(self.commands, key)[row]))
            if len(wrong):
                who = f"controller {model.acting.name} (tick {round(self.time[row] / model.period) - 1})"
                return f"{who} commanded a {key} that is not finite at joint '{joints[wrong[0]]}'"
        for name, array in (("position", q), ("rate", v)):
            wrong, first = np.flatnonzero(~np.isfinite(array[row])), array.shape[1] - len(joints)
            if len(wrong) and wrong[0] >= first:
                return f"the {name} of joint '{joints[wrong[0] - first]}'"
        return "the state of the base"


Rows = tuple[RunState, JointCommand]  # with time first in every array


def rows_of(model: SimulationModel, like: RunState, kept: Sequence[tuple[RunState, JointCommand]]) -> Rows:
    """Return separately kept states and commands as rows; there may be none."""
    count, example = len(kept), (replace(like, memory=()), JointCommand().broadcast(model.world.robot.nj))
    leaves, rebuild = tree.flatten(example)
    read = tree.reader(example)
    flat: list[list[ndarray]] = []
    for state, command in kept:
        row: list[ndarray] = []
        flat.append(row)
        read((replace(state, memory=()), command), row)
    columns = zip(*flat)
    stacked = [np.array(column, dtype=float) for column in columns] or [np.zeros((0, *np.shape(x))) for x in leaves]
    states, commands = rebuild([x.reshape(count, *np.shape(leaf)) for x, leaf in zip(stacked, leaves)])
    return states, commands


def select_rows(rows: PyTree, which: slice | ndarray) -> PyTree:
    """Return some rows of a pytree of arrays with time first."""
    leaves, rebuild = tree.flatten(rows)
    return rebuild([leaf[which] for leaf in leaves])


def join_rows(pieces: Sequence[PyTree], axis: int = 0) -> PyTree:
    """Return consecutive rows joined; at least one piece."""
    if len(pieces) == 1:
        return pieces[0]
    leaves, rebuild = zip(*map(tree.flatten, pieces))
    return rebuild[0]([np.concatenate(column, axis=axis) for column in zip(*leaves)])


# -- compiling ---------------------------------------------------------------------------------------------------------
def compile_tick(
    model: SimulationModel, state: RunState, inputs: Inputs, rows: Sequence[str] = (), **options: Any
) -> Function:
    """Return ``rollout_tick`` of a model as machine code; ``options`` are those of ``ff.compile``."""
    selected: dict[str, Any] = {"rows": tuple(rows)} if rows else {}
    return compiling.compile(rollout_tick, model, state, inputs, verify=False, **selected, **options)


def compile_physics(
    model: SimulationModel, state: RunState, command: JointCommand, push: ndarray, free: Sequence[str] = ()
) -> Function:
    """Return the physics of a tick as machine code, common to all controllers."""
    return compiling.compile(physics, model.physics, state, command, push, free=free, verify=False)


def make_backend(model: SimulationModel, state: RunState, inputs: Inputs, compiled: bool | None) -> Backend:
    """Compile the controller with the physics if it can be traced.

    Args:
        compiled: True requires it, False runs the controller in Python, None decides by tracing.
    """
    of_world = check_world(model, state, inputs)
    backend: Backend
    if compiled is False or not model.acting.info.traceable:
        backend = PythonBackend(model, state, inputs)
        backend.closures = of_world
        return backend
    try:
        of_controller = check_controller(model, state, inputs)
        backend = NativeBackend(model, state, inputs, ground_inputs(model))
        backend.closures = (*of_world, *of_controller)
    except TraceError as error:
        if compiled:
            raise
        backend = PythonBackend(model, state, inputs)  # errors of the ground or the contact model are raised here too
        backend.closures = of_world
        warnings.warn(
            f"controller {model.acting.name} runs in Python at {1 / model.period:g} Hz: {error}",
            stacklevel=callers_level(),
        )
    return backend


def ground_inputs(model: SimulationModel) -> tuple[str, ...]:
    """Return the numbers of the ground that stay inputs if compiling is slow; none for a user-defined ground."""
    if not model.acting.info.long_to_compile:
        return ()
    return tuple(f"ground.{name}" for name in model.world.ground.free)


def native_lanes(model: SimulationModel, dtype: DTypeLike = np.float64) -> int | None:
    """Return how many robots fit a vector of the processor, for a long program.

    Twice as many spill its registers, and wait for the slowest of twice as many solvers. None means a measured width,
    or $NPTRACE_LANES.
    """
    if not model.acting.info.long_to_compile or "NPTRACE_LANES" in os.environ:
        return None
    return machine.host().vector_bits // (8 * np.dtype(dtype).itemsize)


def check_world(model: SimulationModel, state: RunState, inputs: Inputs) -> tuple[ClosureState, ...]:
    """Take a step twice in NumPy on a user's ground or contact model: hidden state raises TraceMismatch.

    Returns the constants of the compiled step; none if both are footfall's.
    """
    world = model.world
    ground, contact = unadapted(world.ground), unadapted(world.contact)
    parts = ((ground, [ground.distance, ground.frame, ground.friction_at]), (contact, _methods_of(world.contact)))
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
    kept = [ClosureState(methods) for _, methods in users]  # a cached result is not hidden state
    second: list[ndarray] = []
    effect = effect_of(lambda: second.append(step()))
    for (owner, _), closure in zip(users, kept):
        if (name := closure.changed()) is not None:
            closure.restore()
            raise TraceMismatch(f"{owner} changes {name} in every step, unlike compiled code")
    if effect or not np.array_equal(first, second[0], equal_nan=True):
        names = " or ".join(owner for owner, _ in users)
        raise TraceMismatch(f"{names} {effect or 'keeps hidden state'}, which compiled code would not do")
    return tuple(kept)


def _methods_of(contact: ContactModel) -> list[Given]:
    """Return the methods of a contact model that a step calls."""
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

    Returns the constants of the compiled controller; none for footfall's, which do not change.
    """
    if _is_ours(model.controller) and model.digest is not None:
        return ()
    from nptrace.frontend.tracer import verify
    from nptrace.verification.closure_state import ClosureState

    robot = model.world.robot

    def controller(t: float, sensed: Sensed, command: PyTree, memory: PyTree) -> PyTree:
        commanded, after = check_controller_result(
            _traced(model, t, sensed, command, memory), f"controller {model.acting.name}"
        )
        if _form(after) != _form(memory):
            raise TraceError(
                f"its memory changes its structure from {_form(memory)} to {_form(after)}: give the initial"
                " memory, as in"
                " @ff.controller(rate=..., memory=...)"
            )
        return commanded.broadcast(robot.nj), after

    sensed = Sensed(q=state.q, v=state.v, forces=state.forces[: robot.nf])
    controller.__name__ = model.acting.name
    subject = unadapted(model.acting)
    try:
        verify(controller, 0.1, sensed, inputs.command, state.memory, subject=subject)
    except TraceMismatch as error:
        raise _changed_library(model.controller) or error from error
    return (ClosureState(subject),)


def _changed_library(controller: object) -> TraceMismatch | None:
    """Return why one of footfall's classes was taken for a user's: its code differs from its file."""
    kind = type(controller)
    name = ownership.modified(ownership.reached([kind.__module__])) if ownership.is_library(kind) else None
    if name is None:
        return None
    return TraceMismatch(
        f"{name} is no longer what its file contains: the file was changed after it was loaded, or it was replaced in"
        " this process. Start Python anew"
    )


def _traced(model: SimulationModel, *arguments: PyTree) -> PyTree:
    """Return the result of a controller for symbols; one that raises must run in Python, which reports the error."""
    t, sensed, command, memory = arguments
    sensed = dataclasses.replace(sensed, gravity=model.world.gravity)  # a constant of the run
    try:
        return model.acting(t, model.world.robot, sensed, command, memory)
    except FootfallError:
        raise
    except Exception as error:
        raise TraceError(foreign(error) or f"it raised {type(error).__name__}: {error}{place_of(error)}") from error


def _form(given: PyTree) -> PyTree:
    """Return a pytree of arrays with every array replaced by its shape."""
    if isinstance(given, dict):
        return {key: _form(given[key]) for key in sorted(given, key=str)}
    if isinstance(given, (list, tuple)):
        return [_form(each) for each in given]
    if dataclasses.is_dataclass(given) and not isinstance(given, type):
        return {f.name: _form(getattr(given, f.name)) for f in dataclasses.fields(given)}
    return np.shape(given) if is_leaf(given) else type(given).__name__


# -- backends ----------------------------------------------------------------------------------------------------------
class Backend(ABC):
    """A way to repeat the ticks of a model.

    ``free`` parameters of the model are inputs of its machine code, which therefore serves every model that differs in
    these alone (``like``).
    """

    repeatable = True  # repeated ticks give equal results

    def __init__(self, model: SimulationModel, free: Sequence[str]) -> None:
        self.free = tuple(free)
        self.closures: tuple[ClosureState, ...] = ()  # objects that user-defined parts refer to, as compiled
        self._take(model)

    @property
    def outdated(self) -> bool:
        """Return whether anything that a user-defined part reads (a global, a dict, a gain) has changed since."""
        return any(closure.changed() is not None for closure in self.closures)

    def like(self, model: SimulationModel, values: Mapping[str, Given] | None = None) -> Self:
        """Return the machine code for another model: with its numbers, or with given ones."""
        other = copy.copy(self)
        other._take(model)
        if values is not None:
            other.values = ({path: values[path] for path in self.free},)
        return other

    def _take(self, model: SimulationModel) -> None:
        self.model = model
        self.values = ({path: model.parameter(path) for path in self.free},) if self.free else ()

    @abstractmethod
    def tick(self, state: RunState, inputs: Inputs) -> tuple[RunState, JointCommand]:
        """Return (the state after one tick, the controller's command); nothing is logged."""

    def rollout(self, batch: TickBatch) -> TickBatch:
        """Return the batch with the results of its ticks."""
        state, rows, trouble = batch.before, list[Rows](), None
        for (start, inputs), end in zip(batch.spans, [*(start for start, _ in batch.spans[1:]), batch.count]):
            if trouble is None:
                state, some, trouble = self._roll(state, inputs, end - start, batch.every)
                rows.append(some)
        states, commands = join_rows(rows)
        return replace(batch, after=state, states=states, commands=commands, trouble=trouble)

    @abstractmethod
    def _roll(self, state: RunState, inputs: Inputs, count: int, every: int) -> tuple[RunState, Rows, Stop | None]:
        """Return (the state after ``count`` ticks, rows of every ``every``-th, trouble of the controller)."""


class NativeBackend(Backend):
    """The whole tick as one function in machine code."""

    target = "native"

    def __init__(self, model: SimulationModel, state: RunState, inputs: Inputs, free: Sequence[str] = ()) -> None:
        super().__init__(model, free)
        lanes = native_lanes(model) if self.target == "batch" else None
        self.function = compile_tick(model, state, inputs, ("command",), free=free, target=self.target, lanes=lanes)

    def tick(self, state: RunState, inputs: Inputs) -> tuple[RunState, JointCommand]:
        after, row = self.function(state, inputs, *self.values)
        return after, row["command"]

    def _roll(self, state: RunState, inputs: Inputs, count: int, every: int) -> tuple[RunState, Rows, Stop | None]:
        state = replace(state, memory=self.model.acting.refresh_memory(state.memory))
        after, (states, row) = self.function.roll(count, state, inputs, *self.values, every=every)
        self._log(inputs.command, state, states)
        return after, (replace(states, memory=()), row["command"]), None

    def _log(self, command: Command, before: RunState, states: RunState) -> None:
        """Let the controller log the events of compiled ticks."""
        times = (states.count - 1.0) * self.model.period  # when the controller was called
        self.model.acting.log_ticks(times, command, before.memory, states.memory)


def _contact_horizon(*arguments: PyTree) -> Operand:
    from footfall.sim.contact_horizon import ContactHorizon  # which linearises simulations

    return ContactHorizon(*arguments)


class PythonBackend(Backend):
    """The controller in Python at its own rate, the physics between its ticks compiled."""

    repeatable = False  # a controller in Python may have hidden state

    def __init__(self, model: SimulationModel, state: RunState, inputs: Inputs, free: Sequence[str] = ()) -> None:
        super().__init__(model, free)
        still = replace(state, memory=())  # memory of the controller, which may contain anything
        command = JointCommand().broadcast(model.world.robot.nj)
        self.function = compile_physics(model, still, command, inputs.push, free)

    def _take(self, model: SimulationModel) -> None:
        super()._take(model)
        model.acting.set_horizon(_contact_horizon)
        model.acting.prepare(model.world.robot, compiling.compile, model.world.gravity)  # which it does not import

    def tick(self, state: RunState, inputs: Inputs) -> tuple[RunState, JointCommand]:
        command, memory = self.command(state, inputs.command)
        after: RunState = self.function(replace(state, memory=()), command, inputs.push, *self.values)
        return replace(after, memory=memory), command

    def _roll(self, state: RunState, inputs: Inputs, count: int, every: int) -> tuple[RunState, Rows, Stop | None]:
        kept: list[tuple[RunState, JointCommand]] = []
        trouble, before = None, state
        for k in range(count):
            try:
                state, command = self.tick(state, inputs)
            except FootfallError as error:
                trouble = Stop(float(state.tick) * self.model.period, "error", str(error))
                break
            if (k + 1) % every == 0:
                kept.append((state, command))
        return state, rows_of(self.model, before, kept), trouble

    def command(self, state: RunState, commanded: Command) -> tuple[JointCommand, PyTree]:
        """Call the controller once; all its errors become one sentence."""
        model, time = self.model, float(state.tick) * self.model.period
        where = f"controller {model.acting.name} at {time:.4f} s (tick {int(state.tick)})"
        robot = model.world.robot
        try:
            q, v, forces = state.q.copy(), state.v.copy(), state.forces[: robot.nf].copy()  # may be modified in place
            sensed = Sensed(q=q, v=v, forces=forces, gravity=model.world.gravity)
            result = model.acting(time, robot, sensed, commanded, state.memory)
        except Exception as error:
            raise FootfallError(f"{where} raised {type(error).__name__}: {error}") from error
        command, memory = check_controller_result(result, where)
        try:
            command = command.broadcast(robot.nj)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        for f in dataclasses.fields(JointCommand):
            value = np.asarray(getattr(command, f.name), dtype=float)
            if not np.isfinite(value).all():
                joint = robot.joint_names[int(np.flatnonzero(~np.isfinite(value))[0])]
                raise InputError(f"{where} commanded a {f.name} that is not finite at joint '{joint}'")
        return command, memory


_CHUNK = 32  # simulations whose rows are in memory at once, including the controller's memory


class LanesBackend(NativeBackend):
    """The whole tick as one function of many simulations that differ only in ``free`` numbers, state and inputs."""

    target = "batch"

    def tick(self, state: RunState, inputs: Inputs) -> tuple[RunState, JointCommand]:
        values = [stack_trees([each]) for each in self.values]
        after, row = self.function(stack_trees([state]), stack_trees([inputs]), *values)
        return unstack_tree((after, row["command"]), 1)[0]

    def rollout(self, batch: TickBatch) -> TickBatch:
        return rollout_lanes([self], [batch])[0]


def rollout_lanes(backends: Sequence[LanesBackend], batches: Sequence[TickBatch]) -> list[TickBatch]:
    """Return every batch with the results of its ticks.

    All backends share one function, and all batches have as many ticks and rows.
    """
    found: list[TickBatch] = []
    for start in range(0, len(batches), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        found += _rollout_chunk(backends[chunk], batches[chunk])
    return found


def _rollout_chunk(backends: Sequence[LanesBackend], batches: Sequence[TickBatch]) -> list[TickBatch]:
    count, every = batches[0].count, batches[0].every
    before = [
        replace(batch.before, memory=backend.model.acting.refresh_memory(batch.before.memory))
        for backend, batch in zip(backends, batches)
    ]
    values = [stack_trees(some) for some in zip(*(backend.values for backend in backends))]
    after, rows = stack_trees(before), []
    starts = sorted({start for batch in batches for start, _ in batch.spans})
    # a push starts or ends for one of them: the others are not affected
    for start, end in zip(starts, [*starts[1:], count]):
        inputs = stack_trees([batch.inputs_from(start) for batch in batches])
        after, rows_of_span = backends[0].function.roll(end - start, after, inputs, *values, every=every)
        rows.append(rows_of_span)
    states, row = join_rows(rows, axis=1)
    found: list[TickBatch] = []
    members = unstack_tree((after, states, row["command"]), len(batches))
    for backend, batch, first, (last, seen, commands) in zip(backends, batches, before, members):
        backend._log(batch.command, first, seen)
        found.append(replace(batch, after=last, states=replace(seen, memory=()), commands=commands))
    return found


def stack_trees(trees: Sequence[Operand]) -> Operand:
    """Return pytrees of equal structure as one, with a leading axis in every array."""
    leaves, rebuild = zip(*map(tree.flatten, trees))
    return rebuild[0]([np.stack([np.asarray(x, float) for x in column]) for column in zip(*leaves)])


def unstack_tree(stacked: PyTree, count: int) -> list[Operand]:
    """Return the pytrees that ``stack_trees`` combined."""
    leaves, rebuild = tree.flatten(stacked)
    return [rebuild([leaf[k] for leaf in leaves]) for k in range(count)]
