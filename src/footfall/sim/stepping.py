"""Ticks that a Python program takes one by one: ``Simulation.step``.

A tick is the same machine code as in a run. Its state stays in the code's memory from one call to the next, no rows are
kept, and a few comparisons show that the run goes on; where these are in doubt the tick is checked as in a run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.contact.ground import Plane
from footfall.control.interface import Command, Controller, ControllerInfo, JointCommand, Sensed
from footfall.errors import FootfallError, InputError
from footfall.identity import digest_of
from footfall.robot.model.description import Robot
from footfall.sensing.emergency_stop import EmergencyStopWrapper
from footfall.sensing.sensors import SensorWrapper
from footfall.sim.commanding import command_at
from footfall.sim.pushes import mean_wrench
from footfall.sim.rollouts import Backend, NativeBackend, PythonBackend, TickBatch, check_world, rows_of
from footfall.sim.running import Running
from footfall.sim.stopping import LEAN, LOW, Stop
from footfall.sim.tick import Inputs, RunState, SimulationModel
from footfall.sim.world import World
from nptrace._types import Given, PyTree
from nptrace.frontend import tree
from nptrace.runtime.machine_callables import Native

if TYPE_CHECKING:
    from footfall.sim.recorder import Recorder
    from footfall.sim.simulation import Simulation

_LEANING = 0.5 * (1.0 - np.cos(LEAN)) - 1e-6  # x² + y² of the quaternion of a base that may lean too far
_SPEEDS = tuple(f.name for f in fields(Command))
_PARTS = tuple(f.name for f in fields(JointCommand))
_MANY = 16  # ticks of its own controller that are quicker as a run than one by one


@dataclass(frozen=True, eq=False)
class Relay(Controller):
    """Commands the joints what it is given in place of a velocity command: what was computed elsewhere."""

    rate: float

    info = ControllerInfo(follows_command=True)

    def start(self, robot: Robot) -> PyTree:
        """Return no memory."""
        return ()

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: PyTree, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        return command, memory


class ResidentTick:
    """One compiled function of (state, inputs, ...) that is called again and again, its state staying in its memory."""

    def __init__(self, function: Native, example: RunState, values: PyTree) -> None:
        self._resident = function.resident()
        self.inputs = self._resident.rest  # an array for every leaf of what follows the state
        numbers = tree.flatten(values)[0]  # free ones of the model, which come last
        for view, number in zip(self.inputs[len(self.inputs) - len(numbers) :], numbers):
            view[...] = number
        self._read = tree.reader(example)
        self._parts, at, self._physical = [], 0, 0
        for f in fields(RunState):
            leaves, make = tree.flatten(getattr(example, f.name))
            positions = []
            for shape in tree.shapes(leaves):
                positions.append((at, at + tree.size(shape), shape))
                at += tree.size(shape)
            self._parts.append((f.name, positions, make))
            self._physical = at if f.name == "impulse" else self._physical
        self._zeros = np.zeros(self._physical)
        self._last: RunState | None = None
        self._flat = np.zeros(0)
        self.command: Given = None  # the one in its inputs
        self.pushed = False  # whether they hold a push

    def __call__(
        self, state: RunState, memory: PyTree, remember: Callable[[PyTree], PyTree] = lambda memory: memory
    ) -> RunState:
        """Return the state after one call.

        Args:
            state: before it; what the last call returned costs nothing, even if it was written into.
            memory: the controller's, as the function has it.
            remember: makes the memory of the next state from that which the function returns.
        """
        resident = self._resident
        if state is self._last:
            resident.go_on_from(self._flat)
        else:
            leaves: list[PyTree] = []
            self._read(replace(state, memory=memory), leaves)
            for view, leaf in zip(resident.first, leaves):
                view[...] = leaf
        flat = resident()
        after: RunState = object.__new__(RunState)  # as nptrace makes records, in a fraction of its time
        values = after.__dict__
        for name, positions, make in self._parts:
            if make is _LEAF:
                begin, end, shape = positions[0]
                values[name] = flat[begin:end] if len(shape) == 1 else flat[begin:end].reshape(shape)
            else:
                values[name] = make([flat[begin:end].reshape(shape) for begin, end, shape in positions])
        values["tick"] = float(flat[0])
        values["memory"] = remember(values["memory"])
        self._last, self._flat = after, flat
        return after

    @property
    def memory_row(self) -> PyTree:
        """The memory that the last call returned, as one row of many."""
        _, positions, make = next(part for part in self._parts if part[0] == "memory")
        return make([self._flat[begin:end].reshape(1, *shape) for begin, end, shape in positions])

    @property
    def finite(self) -> bool:
        """Whether what the last call returned of the physical state is finite."""
        return bool(self._flat[: self._physical] @ self._zeros == 0.0)


_LEAF = tree.flatten(0.0)[1]  # how a leaf is rebuilt


class StepLoop:
    """State that a simulation keeps from one ``step`` to the next."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._own: tuple[Backend, ResidentTick] | None = None
        self._relay: tuple[SimulationModel, Backend, ResidentTick] | None = None  # beside the model it was made for
        self._perceive: tuple[SimulationModel, Callable[[RunState], Sensed]] | None = None
        self._height: Callable[[ndarray], float] | None = None

    # -- under the simulation's own controller -------------------------------------------------------------------------
    def own(self, ticks: int) -> None:
        """Take ticks under the simulation's own controller."""
        simulation = self.simulation
        backend = simulation.compiled_backend
        if backend is None or backend.outdated or simulation.pushes:
            simulation._refresh()
            backend = simulation.backend
        stepper = self._stepper_of(backend)
        if stepper is None or ticks > _MANY:
            simulation.advance(ticks)
            return
        for _ in range(ticks):
            if isinstance(backend, PythonBackend):
                self._tick_in_python(backend, stepper)
            else:
                self._tick(stepper)
            if simulation.stopped is not None:
                return

    def _stepper_of(self, backend: Backend) -> ResidentTick | None:
        if self._own is not None and self._own[0] is backend:
            return self._own[1]
        if not isinstance(backend, NativeBackend | PythonBackend) or not isinstance(backend.function, Native):
            return None
        state = self.simulation.state
        example = replace(state, memory=()) if isinstance(backend, PythonBackend) else state
        self._own = (backend, ResidentTick(backend.function, example, backend.values))
        return self._own[1]

    def _tick(self, stepper: ResidentTick) -> None:
        simulation = self.simulation
        before, acting = simulation.state, simulation.model.acting
        memory = acting.refresh_memory(before.memory)
        if memory is not before.memory:
            before = replace(before, memory=memory)
        if type(simulation.command) is not Command or simulation.command is not stepper.command:
            stepper.command, command = simulation.command, command_at(simulation.command, simulation.time)
            for view, key in zip(stepper.inputs, _SPEEDS):
                view[...] = getattr(command, key)
        self._push(stepper, len(_SPEEDS))
        after = stepper(before, memory)
        if not self._goes_on(stepper, after):
            simulation.advance(1)  # the same tick, with all that there is to say about it
            return
        if acting.logs:
            times = np.array([before.tick * simulation.model.period])
            acting.log_ticks(times, simulation.command_now, memory, stepper.memory_row)
        simulation.state = after

    def _tick_in_python(self, backend: PythonBackend, stepper: ResidentTick) -> None:
        simulation = self.simulation
        before = simulation.state
        try:
            command, memory = backend.command(before, simulation.command_now)
        except FootfallError as error:
            simulation.stopped = Stop(simulation.time, "error", str(error))
            return
        _write(stepper, command)
        self._push(stepper, len(_PARTS))
        self._take(before, stepper(before, (), lambda _: memory), stepper, command)

    # -- under joint commands from outside -----------------------------------------------------------------------------
    def relayed(self, command: JointCommand, ticks: int, recorder: Recorder | None = None) -> None:
        """Take ticks under a joint command that was computed elsewhere."""
        simulation = self.simulation
        if simulation.pushes:
            simulation._place_pushes()
        if self._relay is None or self._relay[0] is not simulation.model or self._relay[1].outdated:
            self._relay = self._make_relay(simulation.model)
        model, _, stepper = self._relay
        wrappers = _wrappers(model.acting)
        _write(stepper, command)
        for _ in range(ticks):
            before = simulation.state
            inner, memory = _split(before.memory, len(wrappers))
            self._push(stepper, len(_PARTS))
            after = stepper(before, memory, functools.partial(_join, depth=len(wrappers), inner=inner))
            self._take(before, after, stepper, command, recorder)
            if simulation.stopped is not None:
                return

    def _make_relay(self, model: SimulationModel) -> tuple[SimulationModel, Backend, ResidentTick]:
        """Compile the simulation with a relay in the place of its controller, behind the same sensors and stop."""
        simulation, relay, depth = self.simulation, self._relaying(model), len(_wrappers(model.acting))
        state = replace(simulation.state, memory=_split(simulation.state.memory, depth)[1])
        inputs = Inputs(JointCommand().broadcast(simulation.robot.nj), simulation.inputs_at(0.0).push)  # type: ignore[arg-type]
        backend = NativeBackend(relay, state, inputs)
        backend.closures = check_world(relay, state, inputs)
        assert isinstance(backend.function, Native)
        return model, backend, ResidentTick(backend.function, state, backend.values)

    def _relaying(self, model: SimulationModel) -> SimulationModel:
        """Return the model with a relay in place of its controller."""
        acting: Controller = Relay(model.acting.rate)
        for wrapper in reversed(_wrappers(model.acting)):
            acting = replace(wrapper, inner=acting)
        return replace(model, controller=acting)

    # -- what a controller would see -----------------------------------------------------------------------------------
    def sensed(self) -> Sensed:
        """Return what a controller would be shown in the next tick."""
        model, state = self.simulation.model, self.simulation.state
        wrappers = _wrappers(model.acting)
        if not any(isinstance(wrapper, SensorWrapper) for wrapper in wrappers):
            feet = model.world.robot.nf
            return Sensed(
                q=state.q.copy(), v=state.v.copy(), forces=state.forces[:feet].copy(), gravity=model.world.gravity
            )
        state = replace(state, memory=_split(state.memory, len(wrappers))[1])
        if self._perceive is None or self._perceive[0] is not model:
            function = compiling.compile(perceived, self._relaying(model), state, verify=False)
            self._perceive = (model, function)
        seen: Sensed = self._perceive[1](state)
        return replace(seen, gravity=model.world.gravity)

    # -- does the run go on? -------------------------------------------------------------------------------------------
    def _take(
        self,
        before: RunState,
        after: RunState,
        stepper: ResidentTick,
        command: JointCommand,
        recorder: Recorder | None = None,
    ) -> None:
        """Go on with the state after a tick, or with what a run would make of it."""
        simulation = self.simulation
        if self._goes_on(stepper, after):
            simulation.state = after
            if recorder is not None:
                inputs = simulation.inputs_at(float(np.round(before.tick)))
                recorder.hold(before, inputs, after, command.broadcast(simulation.robot.nj))
            return
        command = command.broadcast(simulation.robot.nj)
        for key in _PARTS:
            wrong = np.flatnonzero(~np.isfinite(getattr(command, key)))
            if len(wrong):
                joint = simulation.robot.joint_names[int(wrong[0])]
                raise InputError(f"step was given a {key} that is not finite at joint '{joint}'")
        states, commands = rows_of(simulation.model, before, [(after, command)])
        spans = [(0, simulation.inputs_at(float(np.round(before.tick))))]
        batch = TickBatch.of(before, spans, count=1, every=1, model=simulation.model)
        Running(simulation, 1, recorder).take(replace(batch, after=after, states=states, commands=commands), 0.0)

    def _goes_on(self, stepper: ResidentTick, state: RunState) -> bool:
        """Return whether a run certainly goes on after a tick; where it may not, its detectors decide."""
        simulation = self.simulation
        falls = simulation._falls if simulation.stop_on_fall else None
        if simulation.self_collision == "stop" or not stepper.finite:
            return False
        if falls is None:
            return True
        x, y = float(state.q[4]), float(state.q[5])
        if falls.lying or x * x + y * y > _LEANING:
            return False
        if self._height is None:
            self._height = _height_function(simulation.model.world)
        return bool(self._height(state.q[:3]) > LOW * falls.stands + 1e-9)

    def _push(self, stepper: ResidentTick, position: int) -> None:
        simulation = self.simulation
        if simulation.pushes or stepper.pushed:
            tick, period = float(np.round(simulation.state.tick)), simulation.model.period
            stepper.inputs[position][...] = mean_wrench(simulation.pushes, tick, period, simulation._places)
            stepper.pushed = bool(simulation.pushes)


def perceived(model: SimulationModel, state: RunState) -> Sensed:
    """Return what the sensors of a model show of a state."""
    robot, memory = model.world.robot, state.memory
    sensed = Sensed(q=state.q, v=state.v, forces=state.forces[: robot.nf], gravity=model.world.gravity)
    for wrapper in _wrappers(model.acting):
        if isinstance(wrapper, SensorWrapper):
            sensed, _ = wrapper.read(robot, sensed, memory)
        memory = memory["inner"]
    return sensed


def _write(stepper: ResidentTick, command: JointCommand) -> None:
    """Write a joint command into a stepper's inputs."""
    whole: JointCommand | None = None
    for view, key in zip(stepper.inputs, _PARTS):
        value = getattr(command, key)
        if type(value) is float or (type(value) is ndarray and value.shape == view.shape and value.dtype == view.dtype):
            view[...] = value
        else:  # checked, and in words if it is wrong
            whole = whole or command.broadcast(len(view))
            view[...] = getattr(whole, key)


def _wrappers(acting: Controller) -> list[SensorWrapper | EmergencyStopWrapper]:
    """Return what a simulation has put around its controller, the outermost first."""
    found: list[SensorWrapper | EmergencyStopWrapper] = []
    while isinstance(acting, SensorWrapper | EmergencyStopWrapper):
        found.append(acting)
        acting = acting.wrapped
    return found


def _split(memory: PyTree, depth: int) -> tuple[PyTree, PyTree]:
    """Return (the memory of the controller inside so many wrappers, the wrappers' with nothing in its place)."""
    if not depth:
        return memory, ()
    inner, rest = _split(memory["inner"], depth - 1)
    return inner, {**memory, "inner": rest}


def _join(memory: PyTree, depth: int, inner: PyTree) -> PyTree:
    """Return the memory that ``_split`` took apart."""
    return {**memory, "inner": _join(memory["inner"], depth - 1, inner)} if depth else inner


def _height_function(world: World) -> Callable[[ndarray], float]:
    """Return the ground's distance as a quick function: of a plane it is one, of others of ours it is compiled."""
    ground = world.ground
    if isinstance(ground, Plane) or digest_of(ground) is None:
        return lambda p: float(ground.distance(p))
    function: Callable[[ndarray], float] = compiling.compile(_height, ground, np.zeros(3), verify=False)
    return function


def _height(ground: Given, p: ndarray) -> Given:
    return ground.distance(p)
