"""Ticks taken one by one from a Python program: ``Simulation.step``.

A tick is the same machine code as in a run. Its state stays in the code's memory between calls, no rows are kept, and a
few comparisons show that the run continues; if they are inconclusive, the tick is checked as in a run.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
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
from footfall.sim.running import Running, pressed_in
from footfall.sim.stopping import LEAN, LOW, Stop
from footfall.sim.tick import Inputs, RunState, SimulationModel
from footfall.sim.world import World
from nptrace._types import Given, PyTree
from nptrace.array_types import Float
from nptrace.frontend import tree
from nptrace.runtime.machine_callables import Native

if TYPE_CHECKING:
    from footfall.sim.recorder import Recorder
    from footfall.sim.simulation import Simulation

_LEANING = 0.5 * (1.0 - np.cos(LEAN)) - 1e-6  # x² + y² of the quaternion of a base that may lean too far
_SPEEDS = tuple(f.name for f in fields(Command))
_PARTS = tuple(f.name for f in fields(JointCommand))
_NUMBERS = (float, np.float64, int)
_MANY = 16  # number of ticks from which a run is faster than single ticks


@dataclass(frozen=True, eq=False)
class Relay(Controller):
    """Return given joint commands instead of following a velocity command."""

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
    """One compiled function of (state, inputs, ...) that is called repeatedly, with its state in its memory.

    Results are kept as flat arrays. Records are created from them on demand: for a large controller's memory that takes
    longer than the tick.
    """

    def __init__(self, function: Native, example: RunState, values: PyTree) -> None:
        self._resident = function.resident()
        self.inputs = self._resident.rest  # one array for every leaf after the state
        numbers = tree.flatten(values)[0]  # free ones of the model, which come last
        for view, number in zip(self.inputs[len(self.inputs) - len(numbers) :], numbers):
            view[...] = number
        self._read = tree.reader(example)
        self._parts: dict[str, StatePart] = {}
        at = 0
        for f in fields(RunState):
            self._parts[f.name] = part = StatePart.of(getattr(example, f.name), at)
            at = part.end
        self._size, self._physical = at, self._parts["impulse"].end
        self._joints = len(example.motor)
        self._zeros = np.zeros(self._physical)
        self._memory = self._parts["memory"]
        self._q = self._parts["q"].positions[0][0]
        first = sum(len(part.positions) for name, part in self._parts.items() if name not in ("memory", "objects"))
        self._memory_views = self._resident.first[first : first + len(self._memory.positions)]
        self._read_memory = tree.reader(example.memory)
        self.live_memory = self._memory.view(self._resident.state)  # state before the next, or the last, call
        self.live_row = self._memory.view(self._resident.out, rows=(1,))  # state after the last call
        self.result = self._flat = np.zeros(at)  # results of the last call, and the accepted ones
        self._state: RunState | None = None  # records made of the accepted results
        self.remember: Callable[[PyTree], PyTree] = _as_it_is
        self.command: Given = None  # command in its inputs
        self.pushed = False  # whether the inputs contain a push

    def begin(self, simulation: Simulation, memory: Callable[[PyTree], PyTree]) -> None:
        """Take the state of a simulation, at little cost if the last call returned it.

        Args:
            simulation: Simulation, whose state may have been written into.
            memory: Conversion of the simulation's memory to the function's.
        """
        if self.has_state_of(simulation):
            self._resident.go_on_from(self._flat)
            return
        state, leaves = simulation.state, list[PyTree]()
        self._read(replace(state, memory=memory(state.memory)), leaves)
        for view, leaf in zip(self._resident.first, leaves):
            view[...] = leaf

    def has_state_of(self, simulation: Simulation) -> bool:
        """Return whether the state of a simulation is the result of the last call."""
        return simulation._held is self or (simulation._held is None and simulation._state is self._state)

    def set_memory(self, memory: PyTree) -> None:
        """Set another memory of the controller."""
        leaves: list[PyTree] = []
        self._read_memory(memory, leaves)
        for view, leaf in zip(self._memory_views, leaves):
            view[...] = leaf

    def call(self) -> None:
        """Compute a tick; the state remains that before it."""
        self.result = self._resident()

    def accept(self, simulation: Simulation, remember: Callable[[PyTree], PyTree]) -> None:
        """Advance a simulation to the computed result; ``remember`` converts the function's memory to the
        simulation's.
        """
        self._flat, self._state, self.remember = self.result, None, remember
        simulation._held = self

    def copy_into(self, leaves: Sequence[ndarray]) -> None:
        """Write the accepted state, leaf by leaf, with the function's own memory."""
        positions = itertools.chain.from_iterable(part.positions for part in self._parts.values())
        for view, (position, shape) in zip(leaves, positions):
            view[...] = self._flat[position].reshape(shape)

    def row(self) -> Float[ndarray, "n"]:
        """Return the results of the last call with the joint command, for ``rows_of``."""
        if len(self.result) > self._size:
            return self.result.copy()
        return np.concatenate([self.result, *self.inputs[: len(_PARTS)]])

    def rows_of(self, rows: Float[ndarray, "rows n"]) -> tuple[RunState, JointCommand]:
        """Return states and joint commands of many rows, without the controller's memory."""
        parts = {name: part.view(rows, (len(rows),)) for name, part in self._parts.items() if name != "memory"}
        command = rows[:, self._size :].reshape(len(rows), len(_PARTS), self._joints)
        return RunState(**parts), JointCommand(*(command[:, k].copy() for k in range(len(_PARTS))))

    def part(self, name: str) -> PyTree:
        """Return a part of the accepted state; writing into it takes effect."""
        return self._parts[name].view(self._flat)

    @property
    def tick(self) -> float:
        return float(self._flat[0])

    def state(self) -> RunState:
        """Return the accepted state; writing into it takes effect."""
        if self._state is None:
            self._state = self.state_of(self._flat, self.remember)
        return self._state

    def state_of(self, flat: ndarray, remember: Callable[[PyTree], PyTree]) -> RunState:
        """Return the state stored in an array."""
        state: RunState = object.__new__(RunState)  # creates records like nptrace, but much faster
        values = state.__dict__
        for name, part in self._parts.items():
            values[name] = part.view(flat)
        values["tick"] = float(flat[0])
        values["memory"] = remember(values["memory"])
        return state

    def memory_before(self) -> PyTree:
        """Return a copy of the function's memory before the next, or the last, call."""
        return self._memory.view(self._resident.state.copy())

    def memory_after(self) -> PyTree:
        """Return the function's memory after the last call."""
        return self._memory.view(self.result)

    def memory_row(self) -> PyTree:
        """Return the function's memory after the last call, as one row of many."""
        return self._memory.view(self.result, rows=(1,))

    def q_of_result(self) -> Float[ndarray, "nq"]:
        """Return the configuration from the last call."""
        return self.result[self._q]

    @property
    def finite(self) -> bool:
        """Return whether the physical state from the last call is finite."""
        return bool(self.result[: self._physical] @ self._zeros == 0.0)


@dataclass(frozen=True)
class StatePart:
    """The position of a part of a state in a flat array, and how to rebuild it."""

    positions: list[tuple[slice, tuple[int, ...]]]  # of every leaf, and its shape
    make: Callable[[list[ndarray]], PyTree]
    end: int

    @staticmethod
    def of(example: PyTree, at: int) -> StatePart:
        """Return the part with the structure of an example, starting at a position."""
        leaves, make = tree.flatten(example)
        positions = []
        for shape in tree.shapes(leaves):
            positions.append((slice(at, at + tree.size(shape)), shape))
            at += tree.size(shape)
        return StatePart(positions, make, at)

    def view(self, flat: Float[ndarray, "*n"], rows: tuple[int, ...] = ()) -> PyTree:
        """Return the part as views of the array; ``rows`` are leading axes, existing or new ones of length 1."""
        if rows:
            return self.make([flat[..., position].reshape(rows + shape) for position, shape in self.positions])
        return self.make(
            [flat[position] if len(shape) == 1 else flat[position].reshape(shape) for position, shape in self.positions]
        )


def _as_it_is(memory: PyTree) -> PyTree:
    return memory


def _nothing(memory: PyTree) -> PyTree:
    return ()


class StepLoop:
    """State that a simulation keeps from one ``step`` to the next."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._own: tuple[Backend, ResidentTick] | None = None
        # besides the model for which it was made
        self._relay: tuple[SimulationModel, Backend, ResidentTick] | None = None
        self._perceive: Perceive | None = None
        self._height: Callable[[ndarray], float] | None = None

    # -- under the simulation's own controller -------------------------------------------------------------------------
    def own(self, ticks: int, recorder: Recorder | None = None) -> None:
        """Take ticks under the simulation's own controller."""
        simulation = self.simulation
        backend = simulation.compiled_backend
        if backend is None or backend.outdated or simulation.pushes:
            simulation._refresh()
            backend = simulation.backend
        stepper = self._stepper_of(backend)
        if stepper is None or ticks > _MANY:
            simulation.advance(ticks, recorder)
            return
        for _ in range(ticks):
            if isinstance(backend, PythonBackend):
                self._tick_in_python(backend, stepper, recorder)
            else:
                self._tick(stepper, recorder)
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

    def _tick(self, stepper: ResidentTick, recorder: Recorder | None) -> None:
        simulation = self.simulation
        acting = simulation.model.acting
        stepper.begin(simulation, _as_it_is)
        ours = simulation.model.digest is not None  # others might keep references to what they receive
        memory = stepper.live_memory if ours else stepper.memory_before()
        refreshed = acting.refresh_memory(memory)
        if refreshed is not memory:
            stepper.set_memory(refreshed)
        command = simulation.command
        if type(command) is not Command or command is not stepper.command:
            stepper.command, command = command, command_at(command, simulation.time)
            for view, key in zip(stepper.inputs, _SPEEDS):
                view[...] = getattr(command, key)
        self._push(stepper, len(_SPEEDS))
        stepper.call()
        if not self._goes_on(stepper):
            simulation.advance(1, recorder)  # the tick again, with all of its results
            return
        if acting.logs:
            memory, row = stepper.live_memory, stepper.live_row
            if not ours:
                memory, row = stepper.memory_before(), stepper.memory_row()
            acting.log_ticks(np.array([simulation.time]), command, memory, row)
        if recorder is not None:
            self._keep(recorder, stepper, _as_it_is)
        stepper.accept(simulation, _as_it_is)

    def _tick_in_python(self, backend: PythonBackend, stepper: ResidentTick, recorder: Recorder | None) -> None:
        simulation = self.simulation
        try:
            command, memory = backend.command(simulation.state, simulation.command_now)
        except FootfallError as error:
            simulation.stopped = Stop(simulation.time, "error", str(error))
            return
        stepper.begin(simulation, _nothing)
        _write(stepper, command)
        self._push(stepper, len(_PARTS))
        self._take(stepper, command, lambda _: memory, recorder)

    # -- under joint commands from outside -----------------------------------------------------------------------------
    def relayed(self, command: JointCommand, ticks: int, recorder: Recorder | None = None) -> None:
        """Take ticks under an external joint command."""
        simulation = self.simulation
        if simulation.pushes:
            simulation._place_pushes()
        if self._relay is None or self._relay[0] is not simulation.model or self._relay[1].outdated:
            self._relay = self._make_relay(simulation.model)
        model, _, stepper = self._relay
        depth = len(_wrappers(model.acting))
        _write(stepper, command)
        for _ in range(ticks):
            if stepper.has_state_of(simulation):
                remember = stepper.remember
            else:
                remember = functools.partial(_join, depth=depth, inner=_split(simulation.state.memory, depth)[0])
            stepper.begin(simulation, lambda memory: _split(memory, depth)[1])
            self._push(stepper, len(_PARTS))
            self._take(stepper, command, remember, recorder)
            if simulation.stopped is not None:
                return

    def _make_relay(self, model: SimulationModel) -> tuple[SimulationModel, Backend, ResidentTick]:
        """Compile the simulation with a relay instead of its controller, behind the same sensors and stop."""
        simulation, relay, depth = self.simulation, self._relaying(model), len(_wrappers(model.acting))
        state = replace(simulation.state, memory=_split(simulation.state.memory, depth)[1])
        inputs = Inputs(JointCommand().broadcast(simulation.robot.nj), simulation.inputs_at(0.0).push)  # type: ignore[arg-type]
        backend = NativeBackend(relay, state, inputs)
        backend.closures = check_world(relay, state, inputs)
        assert isinstance(backend.function, Native)
        return model, backend, ResidentTick(backend.function, state, backend.values)

    def _relaying(self, model: SimulationModel) -> SimulationModel:
        """Return the model with a relay instead of its controller."""
        acting: Controller = Relay(model.acting.rate)
        for wrapper in reversed(_wrappers(model.acting)):
            acting = replace(wrapper, inner=acting)
        return replace(model, controller=acting)

    # -- what a controller would see -----------------------------------------------------------------------------------
    def sensed(self) -> Sensed:
        """Return the input of a controller in the next tick."""
        simulation = self.simulation
        model, wrappers = simulation.model, _wrappers(simulation.model.acting)
        if not any(isinstance(wrapper, SensorWrapper) for wrapper in wrappers):
            forces = simulation._part("forces")[: model.world.robot.nf]
            return Sensed(
                q=simulation.q.copy(), v=simulation.v.copy(), forces=forces.copy(), gravity=model.world.gravity
            )
        if self._perceive is None or self._perceive.model is not model:
            self._perceive = Perceive(model, self._relaying(model), self._sensors_state(), len(wrappers))
        return self._perceive(simulation, self._relay[2] if self._relay is not None else None)

    def _sensors_state(self) -> RunState:
        """Return the state with the memory of the sensors alone."""
        state = self.simulation.state
        return replace(state, memory=_split(state.memory, len(_wrappers(self.simulation.model.acting)))[1])

    # -- does the run go on? -------------------------------------------------------------------------------------------
    def _take(
        self,
        stepper: ResidentTick,
        command: JointCommand,
        remember: Callable[[PyTree], PyTree],
        recorder: Recorder | None = None,
    ) -> None:
        """Compute a tick and continue with its result, or as a run would."""
        simulation = self.simulation
        stepper.call()
        if self._goes_on(stepper):
            if recorder is not None:
                self._keep(recorder, stepper, remember)
            stepper.accept(simulation, remember)
            return
        before, after = simulation.state, stepper.state_of(stepper.result, remember)
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

    def _keep(self, recorder: Recorder, stepper: ResidentTick, remember: Callable[[PyTree], PyTree]) -> None:
        """Record the computed tick, and an emergency stop pressed in it."""
        simulation = self.simulation
        recorder.hold(simulation, stepper, stepper.row())
        if simulation.emergency_stop is None:
            return
        event = pressed_in(simulation, simulation.state.memory, remember(stepper.memory_after()), 1)
        if event is not None:
            recorder.add_event(event)

    def _goes_on(self, stepper: ResidentTick) -> bool:
        """Return whether a run certainly continues after a tick; otherwise its detectors decide."""
        simulation = self.simulation
        falls = simulation._falls if simulation.stop_on_fall else None
        if simulation.self_collision == "stop" or not stepper.finite:
            return False
        if falls is None:
            return True
        q = stepper.q_of_result()
        x, y = float(q[4]), float(q[5])
        if falls.lying or x * x + y * y > _LEANING:
            return False
        if self._height is None:
            self._height = _height_function(simulation.model.world)
        return bool(self._height(q[:3]) > LOW * falls.stands + 1e-9)

    def _push(self, stepper: ResidentTick, position: int) -> None:
        simulation = self.simulation
        if simulation.pushes or stepper.pushed:
            period = simulation.model.period
            tick = float(np.round(simulation.time / period))
            stepper.inputs[position][...] = mean_wrench(simulation.pushes, tick, period, simulation._places)
            stepper.pushed = bool(simulation.pushes)


class Perceive:
    """Compute the sensor readings of a model repeatedly, from given states."""

    def __init__(self, model: SimulationModel, relaying: SimulationModel, state: RunState, depth: int) -> None:
        function = compiling.compile(perceived, relaying, state, verify=False)
        assert isinstance(function, Native)
        self.model, self._depth, self._resident = model, depth, function.resident()
        self._read, self._leaves = tree.reader(state), self._resident.first
        self._seen = StatePart.of(perceived(relaying, state), 0)

    def __call__(self, simulation: Simulation, stepper: ResidentTick | None) -> Sensed:
        """Return the present readings of a simulation's sensors; ``stepper`` may hold its state."""
        if stepper is not None and simulation._held is stepper:
            stepper.copy_into(self._leaves)
        else:
            state, leaves = simulation.state, list[PyTree]()
            self._read(replace(state, memory=_split(state.memory, self._depth)[1]), leaves)
            for view, leaf in zip(self._leaves, leaves):
                view[...] = leaf
        seen: Sensed = self._seen.view(self._resident())
        object.__setattr__(seen, "gravity", self.model.world.gravity)
        return seen


def perceived(model: SimulationModel, state: RunState) -> Sensed:
    """Return the sensor readings of a model for a state."""
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
        if type(value) in _NUMBERS or (
            type(value) is ndarray and value.shape == view.shape and value.dtype == view.dtype
        ):
            view[...] = value
        else:  # checked, with a message if it is wrong
            whole = whole or command.broadcast(len(view))
            view[...] = getattr(whole, key)


def _wrappers(acting: Controller) -> list[SensorWrapper | EmergencyStopWrapper]:
    """Return the wrappers of a simulation's controller, outermost first."""
    found: list[SensorWrapper | EmergencyStopWrapper] = []
    while isinstance(acting, SensorWrapper | EmergencyStopWrapper):
        found.append(acting)
        acting = acting.wrapped
    return found


def _split(memory: PyTree, depth: int) -> tuple[PyTree, PyTree]:
    """Return (the memory of the controller inside a number of wrappers, the wrappers' memory with it removed)."""
    if not depth:
        return memory, ()
    inner, rest = _split(memory["inner"], depth - 1)
    return inner, {**memory, "inner": rest}


def _join(memory: PyTree, depth: int, inner: PyTree) -> PyTree:
    """Return the memory recombined from ``_split``."""
    return {**memory, "inner": _join(memory["inner"], depth - 1, inner)} if depth else inner


def _height_function(world: World) -> Callable[[ndarray], float]:
    """Return the ground's distance as a fast function: a plane's directly, others of footfall compiled."""
    ground = world.ground
    if isinstance(ground, Plane) or digest_of(ground) is None:
        return lambda p: float(ground.distance(p))
    function: Callable[[ndarray], float] = compiling.compile(_height, ground, np.zeros(3), verify=False)
    return function


def _height(ground: Given, p: ndarray) -> Given:
    return ground.distance(p)
