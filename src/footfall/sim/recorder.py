"""The recorder: from the rows of rollouts to a recording, in memory, or in a file that grows during the run.

If a run is written to a file, only the last rows are in memory.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.adapters import unadapted
from footfall.contact.model import contact_settings
from footfall.control.interface import Command, JointCommand
from footfall.dynamics.energy import kinetic_energy, potential_energy
from footfall.errors import FootfallError, InputError
from footfall.recording.force_mean import ForceMeans
from footfall.recording.object_form import object_forms
from footfall.recording.provenance import revisions
from footfall.recording.recording import Recording, versions
from footfall.recording.recording_writer import Event, RecordingWriter
from footfall.recording.stored_columns import StoredColumns
from footfall.recording.tables import TABLES
from footfall.robot.model.description import Robot
from footfall.sim.joints import BRAKE, JOINT_MEMORY, ROTOR
from footfall.sim.motors import overheating
from footfall.sim.rollouts import TickBatch
from footfall.sim.self_collision import Watcher
from footfall.sim.stopping import Stop
from footfall.sim.tick import Inputs, RunState, SimulationModel
from footfall.sim.world import World
from nptrace._types import Given
from nptrace.array_types import Float

if TYPE_CHECKING:
    from footfall.sim.commanding import Commands
    from footfall.sim.simulation import Simulation
    from footfall.sim.stepping import ResidentTick

_HELD = 200  # ticks


@dataclass(frozen=True)
class HeldTicks:
    """Ticks of a Python loop whose rows are not yet made: consecutive ticks under one command."""

    source: ResidentTick
    before: RunState
    command: Commands
    inputs: Inputs
    rows: list[Float[ndarray, "n"]]

    def same(self, simulation: Simulation) -> bool:
        """Return whether the next tick of a simulation has the same command."""
        if type(simulation.command) is Command and simulation.command is self.command:
            return True
        return simulation.command_now == self.inputs.command


class Recorder:
    """Collects the rows of a run from a state on: ``Simulation.recorder`` makes one.

    watch: detects collisions between links. every: ticks between rows. on_rows: called with the columns of new rows,
    which are then kept only for a file.
    """

    def __init__(
        self,
        model: SimulationModel,
        state: RunState,
        energies: Energies,
        meta: Mapping[str, Given],
        path: str | Path | None = None,
        *,
        watch: Watcher | None = None,
        every: int = 1,
        on_rows: Callable[[dict[str, ndarray]], None] | None = None,
    ) -> None:
        self.model, self.robot, self.energies, self.watch = model, model.world.robot, energies, watch
        self.every, self.on_rows = every, on_rows
        self.time = float(state.tick) * model.period  # time up to which there are rows [s]
        self.meta = {**_meta(model), **meta, "start_time": self.time, "fell": False, "diverged": False}
        self.meta |= {"versions": dict(versions()), "git": revisions()}
        self.blocks: list[dict[str, ndarray]] = []
        self.rows = 0  # so far
        self.wall_seconds = 0.0  # time spent stepping; not in the file, so that equal runs give equal files
        self.events: list[Event] = []
        if path is not None and Path(path).suffix in TABLES:
            raise InputError(f"a run is recorded to an .mcap file: run it, then rec.save({str(path)!r})")
        self.writer = RecordingWriter(path, self.robot, self.meta) if path is not None else None
        # not a pipe: its rows can be read back, and are not kept in memory
        self.stored = path is not None and Path(path).is_file()
        self._new_events: list[Event] = []
        self._work_before = state.work
        self._means = ForceMeans(self.time, state.impulse, model.period)
        self._misses = float(state.contact["misses"]) if "misses" in state.contact else 0.0
        if set(state.contact) - set(JOINT_MEMORY):
            self.meta["contact_misses"] = 0
        self._met, self._squares = False, np.zeros(self.robot.nj)
        self._held: HeldTicks | None = None  # taken one by one by a Python loop
        self._logs = [(log, len(log)) for log in model.acting.logs]

    def add(self, batch: TickBatch, stop: Stop | None, time: float) -> None:
        """Keep the rows of a batch up to a time, and new log entries of the controller.

        Rows may be denser than those recorded: mean forces use them all. The last row before a stop is kept, and an
        event states why the run stopped.
        """
        self.flush()
        self.time = time
        means = self._means.add(batch.time, batch.states.impulse)
        if self.every > 1 and len(batch):
            whole = np.round(batch.time / self.model.period) % self.every == 0
            whole[-1] |= stop is not None
            batch, means = batch.select(np.flatnonzero(whole)), means[whole]
        self._add_log(np.inf if stop is None else stop.time)
        if stop is not None:
            self._new_events.append(Event(stop.time, stop.kind, stop.message))
            self.events.append(self._new_events[-1])
            self.meta.update(
                stopped=stop.message, stop_time=stop.time, fell=stop.kind == "fell", diverged=stop.kind == "diverged"
            )
            if self.writer is not None:
                self.writer.meta.update(self.meta)
        if not len(batch):
            if self.writer is not None and self._new_events:
                self.writer.append({}, self._new_events)
                self._new_events = []
            return
        columns = self._columns(batch, means)
        self._report_misses(columns)
        self._report_meetings(columns)
        self._squares, self.rows = self._squares + np.sum(batch.states.motor**2, axis=0), self.rows + len(batch)
        if self.on_rows is not None:
            self.on_rows(columns)
        elif self.stored:
            self.blocks = [columns]
        else:
            self.blocks.append(columns)
        if self.writer is not None:
            self.writer.append(columns, self._new_events)
        self._new_events = []

    def hold(self, simulation: Simulation, source: ResidentTick, row: Float[ndarray, "n"]) -> None:
        """Keep the next tick of a Python loop; rows are made of many at once.

        Args:
            simulation: The simulation, in the state before the tick.
            source: The object that computed the tick.
            row: Its result, and the joint command.
        """
        held = self._held
        if held is not None and (len(held.rows) >= _HELD or held.source is not source or not held.same(simulation)):
            self.flush()
            held = None
        if held is None:
            inputs = simulation.inputs_at(float(np.round(simulation.state.tick)))
            held = self._held = HeldTicks(source, simulation.state, simulation.command, inputs, [])
        held.rows.append(row)

    def flush(self) -> None:
        """Make rows of the ticks held so far."""
        held, self._held = self._held, None
        if held is None:
            return
        states, commands = held.source.rows_of(np.array(held.rows))
        batch = TickBatch.of(held.before, [(0, held.inputs)], count=len(held.rows), every=1, model=self.model)
        batch = dataclasses.replace(batch, states=states, commands=commands)
        after = batch.state_after(-1)
        self.add(dataclasses.replace(batch, after=after), None, float(after.tick) * self.model.period)

    def add_never_stood(self, stop: Stop) -> None:
        """Record at the end that the robot has lain on the ground from the start: the run itself continued."""
        self.add_event(Event(stop.time, stop.kind, stop.message))
        self.meta.update(stopped=stop.message, fell=True)
        if self.writer is not None:
            self.writer.meta.update(self.meta)
            self.writer.append({}, self._new_events)
            self._new_events = []

    def add_event(self, event: Event) -> None:
        """Keep an event; it is written with the next rows."""
        self._new_events.append(event)
        self.events.append(event)

    def _add_log(self, until: float) -> None:
        """Make events of new entries (time, words) of a controller's ``log``; those after a stop are dropped."""
        for k, (log, heard) in enumerate(self._logs):
            for time, words in log[heard if heard <= len(log) else 0 :]:  # a new start empties the log
                if time <= until:
                    self.add_event(Event(float(time), "controller", str(words)))
            self._logs[k] = (log, len(log))

    def _report_meetings(self, columns: dict[str, ndarray]) -> None:
        """Record an event when links of the robot start to overlap."""
        watch = self.watch
        if watch is None:
            return
        near = columns["self_distance"] <= 0.0
        for row in np.flatnonzero(near & ~np.append(self._met, near[:-1])):
            met = f"{watch.words(columns['q'][row])} met"
            self.add_event(Event(float(columns["time"][row]), "self_collision", met))
        self._met = bool(near[-1])

    def _report_heat(self) -> None:
        """Record an event for a motor that exceeded its continuous torque."""
        if self.rows and (hot := overheating(self.robot, self._squares / self.rows)) is not None:
            self.add_event(Event(self.time, "warning", hot))
            if self.writer is not None:
                self.writer.append({}, self._new_events)

    def _report_misses(self, columns: dict[str, ndarray]) -> None:
        """Record an event when a contact model first missed its tolerance, and at the end how often."""
        if "contact_misses" not in columns or columns["contact_misses"][-1] <= self._misses:
            return
        if self.meta["contact_misses"] == 0:
            row = int(np.flatnonzero(columns["contact_misses"] > self._misses)[0])
            self._new_events.append(Event(float(columns["time"][row]), "warning", self.model.world.contact.missed))
            self.events.append(self._new_events[-1])
        self.meta["contact_misses"] += int(columns["contact_misses"][-1] - self._misses)
        self._misses = columns["contact_misses"][-1]
        if self.writer is not None:
            self.writer.meta.update(self.meta)

    def _columns(self, batch: TickBatch, means: Float[ndarray, "T nf 3"]) -> dict[str, ndarray]:
        """Return the columns of the rows of a batch."""
        state, feet = batch.states, self.robot.nf
        kinetic, potential = self.energies(state.q, state.v)
        if (belt := self.model.world.joints.belt) is not None:
            robot, (position, rate) = self.robot, (state.contact[key] for key in ROTOR)
            positions, rates = state.q[:, robot.nq - robot.nj :], state.v[:, robot.nv - robot.nj :]
            kinetic = kinetic + belt.kinetic(robot, rates, rate)
            potential = potential + belt.elastic(position - positions, rate - rates, self.model.dt)
        columns = {
            **columns_of(state, batch.commands, self.model.period, means, self._work_before),
            "command": np.tile(dataclasses.astuple(batch.command), (len(batch), 1)).astype(float),
            "kinetic": kinetic,
            "potential": potential,
        }
        if state.contact:
            columns |= self.model.world.contact.columns(state.contact, feet)
            columns |= {key: state.contact[key] for key in ROTOR if key in state.contact}
            if BRAKE in state.contact:
                columns[BRAKE] = (state.contact[BRAKE] > 0.0).astype(float)
        if self.watch is not None:
            columns["self_distance"] = self.watch.nearest(state.q)[0]
        spheres = len(self.model.world.spheres)
        if spheres > feet:
            columns["body_force"] = state.forces[:, feet:spheres].sum(axis=1)
        if self.model.world.objects:
            columns |= {"object_pose": state.objects[:, :, :7], "object_velocity": state.objects[:, :, 7:]}
        return columns

    def finish(self) -> Recording:
        """Return the recording; close its file."""
        self.flush()
        self._report_heat()
        if self.writer is not None:
            self.writer.close()
        columns: MutableMapping[str, ndarray]
        if self.stored and self.writer is not None and self.writer.rows:
            columns, self.blocks = StoredColumns(self.writer), []
        elif self.blocks:
            columns = {key: np.concatenate([block[key] for block in self.blocks]) for key in self.blocks[0]}
        else:
            columns = {"time": np.zeros(0), "q": np.zeros((0, self.robot.nq)), "v": np.zeros((0, self.robot.nv))}
        return Recording(self.robot, columns, self.events, {**self.meta, "wall_seconds": self.wall_seconds})

    def interrupted(self, error: BaseException) -> None:
        """Close the file so that the recorded part can be read; the error propagates."""
        if self.writer is not None:
            self.writer.meta["interrupted"] = f"{type(error).__name__}: {error}".strip(": ")
            with contextlib.suppress(FootfallError, OSError):
                self.writer.close()


def columns_of(
    state: RunState,
    command: JointCommand,
    period: float,
    force_mean: Float[ndarray, "T nf 3"],
    work_before: ndarray | float = 0.0,
) -> dict[str, ndarray]:
    """Return the columns that every recording has: states and commands with time first in every array.

    Args:
        period: Length of a tick [s].
        force_mean: Mean forces on the feet [N].
        work_before: Work before the first row, which is subtracted [J].
    """
    work, feet = state.work - work_before, force_mean.shape[1]
    return {
        "time": state.count * period,
        "q": state.q,
        "v": state.v,
        "command_position": command.position,
        "command_torque": command.torque,
        "torque": state.motor,
        "force": state.forces[:, :feet],
        "force_mean": force_mean,
        "contact": np.linalg.norm(state.forces[:, :feet], axis=2) > 0,
        "work": work[:, 0],
        "friction_work": work[:, 1],
        "contact_work": work[:, 2],
        "push_work": work[:, 3],
        "spent": work[:, 4],
    }


class Energies:
    """(kinetic, potential) energy [J] of rows of a run, compiled; ``free`` parameters of the robot are inputs."""

    def __init__(self, world: World, free: Sequence[str] = ()) -> None:
        self.free, robot = tuple(free), _without_unused_springs(world)
        self.function = compiling.compile(energies, robot, target="batch", gravity=world.gravity, free=self.free)
        self._take(robot)

    def like(self, world: World) -> Energies:
        """Return the energies of another robot by the same machine code."""
        other = copy.copy(self)
        other._take(_without_unused_springs(world))
        return other

    def _take(self, robot: Robot) -> None:
        self.values = {path: np.asarray(robot.parameter(path)) for path in self.free}

    def __call__(self, q: Float[ndarray, "N nq"], v: Float[ndarray, "N nv"]) -> tuple[ndarray, ndarray]:
        values = {path: np.broadcast_to(x, (len(q), *x.shape)) for path, x in self.values.items()}
        return self.function(q, v, values) if self.free else self.function(q, v)


def energies(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], gravity: tuple[float, float, float]
) -> tuple[float, float]:
    """Return (kinetic, potential) energy [J]."""
    return kinetic_energy(robot, q, v), potential_energy(robot, q, gravity)


def _meta(model: SimulationModel) -> dict[str, Given]:
    world, contact = model.world, unadapted(model.world.contact)
    return {
        **({"objects": object_forms(world.objects)} if world.objects else {}),
        "robot": world.robot.name,
        "rate": 1.0 / model.period,
        "contact": type(contact).__name__,
        "contact_settings": contact_settings(contact),
        "ground": type(unadapted(world.ground)).__name__,
        "ground_form": world.ground.to_json(),
        "dt": model.dt,
        "integrator": model.integrator,
        "gravity": list(world.gravity),
        "stick_rate": float(world.joints.reversal(model.integrator == "linearly_implicit")),
    }


def _without_unused_springs(world: World) -> Robot:
    """Return the robot without springs that a run ignores."""
    if world.joints.springs:
        return world.robot
    return world.robot.replace({f"{joint.name}.stiffness": 0.0 for joint in world.robot.joints if joint.stiffness})
