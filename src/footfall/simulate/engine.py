"""What runs ticks: one compiled function, or a Python controller between compiled physics."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.control.interface import JointCommand, Sensed, runs_in_python
from footfall.errors import FootfallError, InputError, TraceError, TraceMismatch
from footfall.simulate.integrators import integrate_step
from footfall.simulate.step import State
from footfall.simulate.tick import Body, Carried, Inputs, Rig, physics, tick
from footfall.trace.tree import is_leaf

if TYPE_CHECKING:
    from footfall.trace.surroundings import Surroundings

_ASKED = (  # of a ground, and of a contact law
    "distance", "frame", "friction_at", "law", "normal", "modes", "linearised", "judged", "start", "respond",
)  # fmt: skip


@dataclass(frozen=True)
class Stop:
    """Why a run ended early."""

    time: float
    kind: str  # fell, diverged, error
    message: str


@dataclass(frozen=True)
class Rows:
    """Recorded ticks: every array has time first."""

    time: ndarray
    q: ndarray
    v: ndarray
    motor: ndarray
    forces: ndarray
    work: ndarray
    command: JointCommand
    memory: dict[str, ndarray] = field(default_factory=dict)  # of the contact model

    def __len__(self) -> int:
        return len(self.time)

    def state(self, row: int, before: Carried, period: float) -> Carried:
        """What was carried after the tick of a row; the controller's memory was not recorded and is an earlier one."""
        memory = {key: array[row] for key, array in self.memory.items()}
        body = Body(self.q[row], self.v[row], self.motor[row], self.forces[row], self.work[row], memory)
        return Carried(float(np.round(self.time[row] / period)), body, before.memory)

    def __getitem__(self, rows: slice | ndarray) -> Rows:
        own = {key: getattr(self, key)[rows] for key in ("time", "q", "v", "motor", "forces", "work")}
        asked = {f.name: getattr(self.command, f.name)[rows] for f in dataclasses.fields(JointCommand)}
        memory = {key: array[rows] for key, array in self.memory.items()}
        return Rows(**own, command=JointCommand(**asked), memory=memory)

    def finite(self) -> int:
        """How many rows, from the first, hold finite numbers only."""
        if not len(self):
            return 0
        good = np.ones(len(self), dtype=bool)
        asked = (getattr(self.command, f.name) for f in dataclasses.fields(JointCommand))
        for array in (self.q, self.v, self.motor, self.forces, *asked):
            good &= np.isfinite(np.reshape(array, (len(self), -1))).all(axis=1)
        bad = np.flatnonzero(~good)
        return int(bad[0]) if len(bad) else len(self)

    def culprit(self, row: int, rig: Rig) -> str:
        """What is not finite in a row, in words."""
        joints = rig.world.robot.joint_names
        for key in ("position", "velocity", "kp", "kd", "torque"):
            wrong = np.flatnonzero(~np.isfinite(getattr(self.command, key)[row]))
            if len(wrong):
                who = f"controller {_name(rig)} (tick {round(self.time[row] / rig.period) - 1})"
                return f"{who} asked for a {key} that is not finite at joint '{joints[wrong[0]]}'"
        base = self.q.shape[1] - len(joints)
        for name, array, start in (("position", self.q, base), ("rate", self.v, self.v.shape[1] - len(joints))):
            wrong = np.flatnonzero(~np.isfinite(array[row]))
            if len(wrong) and wrong[0] >= start:
                return f"the {name} of joint '{joints[wrong[0] - start]}'"
        return "the state of the base"


class Engine(Protocol):
    @property
    def outdated(self) -> bool: ...

    def roll(self, carried: Carried, inputs: Inputs, count: int, every: int) -> tuple[Carried, Rows, Stop | None]:
        """(state after ``count`` ticks, every ``every``-th tick, trouble that the controller made)."""
        ...


def make_engine(rig: Rig, carried: Carried, inputs: Inputs, compiled: bool | None) -> Engine:
    """Compile the controller with the physics if it can be traced (``compiled`` None: find out; True: insist)."""
    of_world = check_world(rig, carried, inputs)
    engine: CompiledEngine | PythonEngine
    if compiled is False or runs_in_python(rig.controller):
        engine = PythonEngine(rig, carried, inputs)
        engine.around = of_world
        return engine
    try:
        of_controller = check_controller(rig, carried, inputs)
        engine = CompiledEngine(rig, carried, inputs)
        engine.around = (*of_world, *of_controller)
    except TraceError as error:
        if compiled:
            raise
        engine = PythonEngine(rig, carried, inputs)  # what ails the ground or the contact law ails it too: raised
        engine.around = of_world
        warnings.warn(f"controller {_name(rig)} runs in Python at {1 / rig.period:g} Hz: {error}", stacklevel=3)
    return engine


def check_world(rig: Rig, carried: Carried, inputs: Inputs) -> tuple[Surroundings, ...]:
    """Take a step twice in NumPy on a user's own ground or contact law: hidden state raises TraceMismatch.

    Returns what the compiled step takes for constant; nothing where both are ours.
    """
    world, body = rig.world, carried.body
    users = [part for part in (world.ground, world.contact) if not type(part).__module__.startswith("footfall.")]
    if not users:
        return ()
    from footfall.trace.effects import effect_of

    def step() -> ndarray:
        state, command = State(body.q, body.v, body.memory), JointCommand().spread(world.robot.nj)
        with np.errstate(all="ignore"):
            after, acted, _ = integrate_step(rig.integrator, world, state, command, inputs.push, rig.dt)
        return np.concatenate([after.v, np.ravel(acted.forces)])

    for part in users:
        _reached(part).refuse_iterators(type(part).__name__)
    first = step()
    kept = [_reached(part) for part in users]  # what it computes once and keeps is no hidden state
    second: list[ndarray] = []
    effect = effect_of(lambda: second.append(step()))
    for part, around in zip(users, kept):
        if (name := around.changed()) is not None:
            around.restore()
            raise TraceMismatch(f"{type(part).__name__} changes {name} in every step, which compiled code would not do")
    if effect or not np.array_equal(first, second[0], equal_nan=True):
        names = " or ".join(type(part).__name__ for part in users)
        raise TraceMismatch(f"{names} {effect or 'keeps hidden state'}, which compiled code would not do")
    return tuple(kept)


def _reached(part: Any) -> Surroundings:
    """What the methods of a ground or a contact law reach."""
    from footfall.trace.surroundings import Surroundings

    return Surroundings([getattr(part, key) for key in _ASKED if hasattr(part, key)])


def check_controller(rig: Rig, carried: Carried, inputs: Inputs) -> tuple[Surroundings, ...]:
    """Trace a user's controller twice and replay it against NumPy: hidden state raises TraceMismatch.

    Returns what the compiled controller takes for constant; nothing for one of ours, which nobody changes.
    """
    if type(rig.controller).__module__.startswith("footfall.") and rig.digest is not None:
        return ()
    from footfall.trace.surroundings import Surroundings
    from footfall.trace.tracer import verify

    robot, body = rig.world.robot, carried.body

    def controller(t: float, sensed: Sensed, command: Any, memory: Any) -> Any:
        asked, after = _answer(_traced(rig, t, sensed, command, memory), rig)
        if _form(after) != _form(memory):
            raise TraceError(f"its memory changes its form from {_form(memory)} to {_form(after)}")
        return asked.spread(robot.nj), after

    sensed = Sensed(body.q, body.v, body.forces[: robot.nf])
    controller.__name__ = _name(rig)
    verify(controller, 0.1, sensed, inputs.command, carried.memory, subject=rig.controller)
    return (Surroundings(rig.controller),)


def _traced(rig: Rig, *arguments: Any) -> Any:
    """What a controller returns for symbols; one that raises is told to run in Python, which says when and what."""
    t, sensed, command, memory = arguments
    sensed = dataclasses.replace(sensed, gravity=rig.world.gravity)  # a constant of the run
    try:
        return rig.controller(t, rig.world.robot, sensed, command, memory)
    except FootfallError:
        raise
    except Exception as error:
        raise TraceError(f"it raised {type(error).__name__}: {error}") from error


def _answer(answer: Any, rig: Rig, where: str = "") -> tuple[JointCommand, Any]:
    """What a controller returned, if it is what it must be."""
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[0], JointCommand):
        where = where or f"controller {_name(rig)}"
        raise InputError(f"{where} must return (JointCommand, memory), got {type(answer).__name__}")
    return answer


def _form(nest: Any) -> Any:
    """A nest of arrays with every array's shape, or a number, in its place."""
    if isinstance(nest, dict):
        return {key: _form(nest[key]) for key in sorted(nest, key=str)}
    if isinstance(nest, (list, tuple)):
        return [_form(part) for part in nest]
    if dataclasses.is_dataclass(nest) and not isinstance(nest, type):
        return {f.name: _form(getattr(nest, f.name)) for f in dataclasses.fields(nest)}
    return np.shape(nest) if is_leaf(nest) else type(nest).__name__


def _name(rig: Rig) -> str:
    """A user's function by its own name, whatever sensors and switches the simulation has put before it."""
    controller = rig.controller
    while type(controller).__module__.startswith("footfall.simulate.") and hasattr(controller, "inner"):
        controller = controller.inner
    return getattr(getattr(controller, "function", None), "__name__", type(controller).__name__)


def _renewed(controller: Any, memory: Any) -> Any:
    """The memory with what a user has changed of the controller since: compiled code does not see that."""
    if hasattr(controller, "renewed"):
        return controller.renewed(memory)
    inner = getattr(controller, "inner", None)
    if inner is None:
        return memory
    if not _keeps_inner(memory):
        return _renewed(inner, memory)
    return {**memory, "inner": _renewed(inner, memory["inner"])}


def _keeps_inner(memory: Any) -> bool:
    """Whether a wrapper has a memory of its own beside that of the controller in it."""
    return isinstance(memory, dict) and "inner" in memory


def _observed(controller: Any, times: ndarray, inputs: Inputs, before: Any, rows: Any) -> None:
    """Let a controller log what happened while it ran as machine code."""
    while not hasattr(controller, "observe"):
        controller = getattr(controller, "inner", None)
        if controller is None:
            return
        if _keeps_inner(before):
            before, rows = before["inner"], rows["inner"]
    controller.observe(times, inputs.command, before, rows)


class _Freely:
    """Machine code whose ``free`` parameters are inputs: one function for every rig that differs in these alone."""

    around: tuple[Surroundings, ...] = ()  # what a user's controller, ground and contact law reach, as compiled

    def __init__(self, rig: Rig, free: Sequence[str]) -> None:
        self.free = tuple(free)
        self._take(rig)

    @property
    def outdated(self) -> bool:
        """Whether anything that a user's own part reads (a global, a dict, a gain) has been changed since."""
        return any(around.changed() is not None for around in self.around)

    def like(self, rig: Rig) -> Any:
        """The same machine code with the numbers of another rig."""
        other = copy.copy(self)
        other._take(rig)
        return other

    def _take(self, rig: Rig) -> None:
        self.rig = rig
        self.values = ({path: rig.parameter(path) for path in self.free},) if self.free else ()


class CompiledEngine(_Freely):
    """The whole tick as one function."""

    def __init__(self, rig: Rig, carried: Carried, inputs: Inputs, free: Sequence[str] = ()) -> None:
        super().__init__(rig, free)
        self.function = compiling.compile(tick, rig, carried, inputs, free=free, verify=False)

    def roll(self, carried: Carried, inputs: Inputs, count: int, every: int) -> tuple[Carried, Rows, Stop | None]:
        carried = dataclasses.replace(carried, memory=_renewed(self.rig.controller, carried.memory))
        after, (seen, asked) = self.function.roll(count, carried, inputs, *self.values, every=every)
        body = seen.body
        time = seen.tick * self.rig.period
        _observed(self.rig.controller, time - self.rig.period, inputs, carried.memory, seen.memory)
        rows = Rows(time, body.q, body.v, body.motor, body.forces, body.work, asked, body.memory)
        return after, rows, None


class PythonEngine(_Freely):
    """The controller in Python at its own rate, the physics between its ticks compiled."""

    def __init__(self, rig: Rig, carried: Carried, inputs: Inputs, free: Sequence[str] = ()) -> None:
        super().__init__(rig, free)
        command, alone = JointCommand().spread(rig.world.robot.nj), rig.physics
        self.physics = compiling.compile(physics, alone, carried.body, command, inputs.push, free=free, verify=False)

    def _take(self, rig: Rig) -> None:
        super()._take(rig)
        if hasattr(rig.controller, "prepare"):  # controllers do not import the compiler: they are handed it
            rig.controller.prepare(rig.world.robot, compiling.compile, rig.world.gravity)

    def roll(self, carried: Carried, inputs: Inputs, count: int, every: int) -> tuple[Carried, Rows, Stop | None]:
        kept: list[tuple[float, Body, JointCommand]] = []
        trouble = None
        for k in range(count):
            time = float(carried.tick) * self.rig.period
            try:
                asked, memory = self._ask(time, carried, inputs)
            except FootfallError as error:
                trouble = Stop(time, "error", str(error))
                break
            body = self.physics(carried.body, asked, inputs.push, *self.values)
            carried = Carried(carried.tick + 1.0, body, memory)
            if (k + 1) % every == 0:
                kept.append((float(carried.tick) * self.rig.period, body, asked))
        return carried, self._rows(kept), trouble

    def _ask(self, time: float, carried: Carried, inputs: Inputs) -> tuple[JointCommand, Any]:
        """One tick of the controller, with everything it may do wrong turned into one sentence."""
        rig, body = self.rig, carried.body
        where = f"controller {_name(rig)} at {time:.4f} s (tick {int(carried.tick)})"
        robot = rig.world.robot
        try:
            seen = (body.q.copy(), body.v.copy(), body.forces[: robot.nf].copy())  # may be written into
            sensed = Sensed(*seen, gravity=rig.world.gravity)
            answer = rig.controller(time, robot, sensed, inputs.command, carried.memory)
        except Exception as error:
            raise FootfallError(f"{where} raised {type(error).__name__}: {error}") from error
        asked, memory = _answer(answer, rig, where)
        try:
            asked = asked.spread(robot.nj)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        for f in dataclasses.fields(JointCommand):
            value = np.asarray(getattr(asked, f.name), dtype=float)
            if not np.isfinite(value).all():
                joint = robot.joint_names[int(np.flatnonzero(~np.isfinite(value))[0])]
                raise InputError(f"{where} asked for a {f.name} that is not finite at joint '{joint}'")
        return asked, memory

    def _rows(self, kept: list[tuple[float, Body, JointCommand]]) -> Rows:
        robot, spheres = self.rig.world.robot, len(self.rig.world.spheres)
        shapes = {"q": (robot.nq,), "v": (robot.nv,), "motor": (robot.nj,), "forces": (spheres, 3), "work": (5,)}
        own = {
            key: np.array([getattr(body, key) for _, body, _ in kept]).reshape(len(kept), *shape)
            for key, shape in shapes.items()
        }
        asked = {
            f.name: np.array([getattr(c, f.name) for _, _, c in kept]).reshape(len(kept), robot.nj)
            for f in dataclasses.fields(JointCommand)
        }
        memory = {
            key: np.array([body.memory[key] for _, body, _ in kept]).reshape(len(kept), *np.shape(first))
            for key, first in self.rig.world.contact.start(self.rig.world.spheres).items()
        }
        return Rows(np.array([t for t, _, _ in kept]), **own, command=JointCommand(**asked), memory=memory)
