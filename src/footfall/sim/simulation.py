"""``Simulation``: a robot, a controller, a contact model and a ground, run and recorded.

    sim = ff.Simulation(robot, controller=ff.control.JointPD(gait=gait, kp=40, kd=1), dt=1e-3)
    rec = sim.run(10.0)

A run stops at the tick in which a number is no longer finite or the robot has fallen, and its recording states when and
why.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy import ndarray

from footfall import hints
from footfall.adapters import unadapted
from footfall.checks import is_number, positive_number
from footfall.contact.bodies import body_spheres
from footfall.contact.compliant import Compliant
from footfall.contact.free_bodies import FreeBody
from footfall.contact.ground import Ground, Plane
from footfall.contact.model import ContactModel, as_contact_model, named
from footfall.contact.points import spheres_of
from footfall.contact.terrain import named as ground_named
from footfall.control.interface import Command, Controller, JointCommand, Sensed, as_controller
from footfall.control.posture import with_stand
from footfall.draw.notebook import Summarised
from footfall.errors import FootfallError, InputError, unknown
from footfall.kinematics.closed_loops import check_closed
from footfall.recording.provenance import command_words, settings_of
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Foot
from footfall.sensing.emergency_stop import EmergencyStop
from footfall.sensing.sensors import Sensors
from footfall.sim.arguments import (
    FrozenAfterInit,
    check_contact_model,
    check_ground,
    check_robot,
    check_seed,
    check_sequence,
    substeps,
    vector,
    warn_damped_by_steps,
    warn_springs_damped_by_steps,
)
from footfall.sim.checkpoint import load_checkpoint, save_checkpoint
from footfall.sim.commanding import KEYS, Commands, command_at, warn_unfollowed
from footfall.sim.joints import JointModel
from footfall.sim.objects import ObjectState, check_objects, object_state, objects_and_solids
from footfall.sim.pushes import Push, check_pushes, mean_wrench, places_of, pushed_points
from footfall.sim.recorder import Energies, Recorder
from footfall.sim.rollouts import Backend, PythonBackend, make_backend
from footfall.sim.running import Progress, ProgressBar, Running
from footfall.sim.self_collision import colliding_pairs, watcher
from footfall.sim.start import check_clear, deepest, standing_controller, standing_start, start_state, wrap_with_sensors
from footfall.sim.step import check_integrator
from footfall.sim.stepping import ResidentTick, StepLoop
from footfall.sim.stopping import Collision, Divergence, Fall, Falls, Stop, StopDetector
from footfall.sim.tick import Inputs, RunState, SimulationModel, at_rest, no_impulse
from footfall.sim.world import World
from footfall.spatial.gravity import GRAVITY
from nptrace._types import Given, Json, PyTree
from nptrace.array_types import Float

_MOST_ROWS = 1e7  # largest recording: ten gigabytes, more than two hours at 1 kHz
_LOOKS_AHEAD = 101  # times of a run at which a command function is sampled


@hints.names_arguments("argument of Simulation", hints.SIMULATION)
@dataclass(repr=False)
class Simulation(FrozenAfterInit, Summarised):
    """A robot, a controller, a contact model and a ground, simulated over time.

    Every argument but the robot has a default. ``run`` returns a recording, and continues when called again; ``step``
    advances by controller ticks.

    ground: a ``Ground``, or a name such as "slope:5" (``contact.terrain.named``); the level plane unless given.
    controller: holds the stand unless given. dt: physics step [s]. integrator: see ``sim.step``. start: a pose's name,
    joint positions, or (q, v); unless given it stands on the ground. touching: further spheres that may touch, such as
    ``contact.trunk_corners(robot)``. collisions: True lets all links touch, "trunk,knees" parts (``contact.bodies``).
    compile_controller: False runs it in Python; None decides by tracing it. record_rate: rows per second, the
    controller's rate unless given. sensors: the sensors of the controller; the true state unless given
    (``sensing.sensors``). emergency_stop: a switch behind it (``sensing.emergency_stop``). command: a ``Command``, a
    function of time that returns one, or a ``Schedule``; unless given, the speed of the gait if the controller follows
    one, otherwise none. pushes: on the base or any link. self_collision: when links collide, "report" records an event,
    "stop" also ends the run, "force" pushes them apart. objects: free bodies beside the robot, ``FreeBox`` and
    ``FreeBall``; its feet, trunk and ``collisions`` touch them.
    """

    robot: Robot
    controller: Controller | None = None
    _: KW_ONLY
    contact: ContactModel | str | None = None
    ground: Ground | str | None = None
    dt: float = 1e-3
    integrator: str = "linearly_implicit"
    joints: JointModel = field(default_factory=JointModel)
    gravity: tuple[float, float, float] = GRAVITY
    start: Given = None
    command: Commands = None  # type: ignore[assignment]  # that of its gait
    pushes: Sequence[Push] = ()
    touching: Sequence[Foot] = ()
    collisions: bool | str | Sequence[str] = False
    stop_on_fall: bool = True
    compile_controller: bool | None = None
    record_rate: float | None = None
    seed: int = 0
    sensors: Sensors | None = None
    emergency_stop: EmergencyStop | None = None
    self_collision: str | None = None
    objects: Sequence[FreeBody] = ()

    def __post_init__(self) -> None:
        check_robot(self.robot)
        check_seed(self.seed)
        if not is_number(self.dt) or not 1e-7 <= self.dt <= 0.02:
            raise InputError(f"dt must lie between 1e-7 and 0.02 s, got {self.dt!r}")
        self.robot = with_stand(self.robot)
        gravity = vector(self.gravity)
        self.controller = self.controller or standing_controller(self.robot, self.dt, gravity)
        rate = as_controller(self.controller).rate
        if self.command is None:
            self.command = as_controller(self.controller).nominal_command(self.robot)
        if self.contact is None and self.integrator != "linearly_implicit":
            model: Given = Compliant.as_printed()  # explicit steps are unstable with more damping
        else:
            model = named(self.contact or "compliant") if isinstance(self.contact, str | None) else self.contact
        ground: Given = Plane() if self.ground is None else self.ground
        ground = ground_named(ground, self.seed) if isinstance(ground, str) else ground
        contact = as_contact_model(model)
        check_contact_model(model, self.dt)
        check_ground(ground)
        check_sequence("touching", self.touching, Foot)
        if not isinstance(self.joints, JointModel):
            raise InputError(f"joints must be a JointModel, got {type(self.joints).__name__}")
        check_integrator(self.integrator, contact, self.joints)
        warn_damped_by_steps(contact, self.integrator, self.robot, gravity, self.dt)
        warn_springs_damped_by_steps(self.robot, self.joints, self.integrator, self.dt)
        check_pushes(self.pushes, self.robot)
        self._places = places_of(self.pushes)
        touching = [*self.touching, *(body_spheres(self.robot, self.collisions) if self.collisions else ())]
        spheres, pushed = spheres_of(self.robot, touching), pushed_points(self.robot, self._places)
        pairs = colliding_pairs(self.robot, self.self_collision, ground)
        objects, solids = objects_and_solids(self.robot, self.objects, self.collisions, contact, self.integrator)
        world = World(
            robot=self.robot,
            ground=ground,
            contact=contact,
            joints=self.joints,
            gravity=gravity,
            spheres=spheres,
            pushed=pushed,
            pairs=pairs,
            objects=objects,
            solids=solids,
        )
        command_at(self.command, 0.0)
        self.watch = watcher(self.robot, self.self_collision)
        acting = wrap_with_sensors(self.controller, self.sensors, self.emergency_stop, world.gravity)
        self.model = SimulationModel(world, acting, self.integrator, self.dt, substeps(rate, self.dt))
        self._backend: Backend | None = None
        self._energies: Energies | None = None
        self._loop = StepLoop(self)
        self._held: ResidentTick | None = None  # holds the state, unless None
        self.provenance: dict[str, Json] = {}  # further entries of the recording's metadata
        self.stopped: Stop | None = None
        self.reset()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise hints.missing("a Simulation", name, dir(type(self)), hints.SIMULATION)

    def _summary(self) -> tuple[str, list[tuple[str, str]]]:
        world, stopped = self.model.world, self.stopped
        rows = [("controller", self.model.acting.name), ("contact", type(unadapted(world.contact)).__name__)]
        rows += [
            ("ground", type(unadapted(world.ground)).__name__),
            ("dt", f"{self.dt:g} s"),
            ("at", f"{self.time:g} s"),
        ]
        return f"'{self.robot.name}'", rows if stopped is None else [*rows, ("stopped", stopped.message)]

    def __getstate__(self) -> dict[str, PyTree]:
        """Return the state for copies and other processes, in which machine code is compiled again on first use."""
        left_out, _ = ("_advancing", "_loop", "_held"), self.state
        state = {name: value for name, value in self.__dict__.items() if name not in left_out}
        return {**state, "_backend": None, "_energies": None}

    def __setstate__(self, state: dict[str, PyTree]) -> None:
        self.__dict__.update(state)
        self._loop, self._held = StepLoop(self), None

    # -- state -------------------------------------------------------------------------------------------------------
    @hints.takes(hints.RESET)
    def reset(self) -> None:
        """Reset to the start."""
        q, v = start_state(self.robot, self._standing() if self.start is None else self.start)
        check_clear(self.model.world, q)
        check_objects(self.model.world, q)
        check_closed(self.robot, q)
        self.model.world.contact.check(self.robot, self.model.world.spheres, self.model.world.ground, q, v)
        self._falls = Falls.of(self.model.world, q) if self.robot.floating else None
        start = at_rest(self.model.world, q, v, self.model.acting.start(self.robot))
        self.state = dataclasses.replace(start, impulse=no_impulse(self.robot, self.model.period))
        self.stopped = None

    def _standing(self) -> Given:
        """Return the default start: the controller's stand, aligned with the ground."""
        ground, controller = self.model.world.ground, self.controller
        if controller is None or not (self.robot.floating and self.robot.nf):
            return None
        level = np.allclose(ground.frame(np.zeros(3)), np.eye(3)) and abs(float(ground.distance(np.zeros(3)))) < 1e-9
        level = level and deepest(self.model.world, start_state(self.robot, None)[0])[0] < 1e-3
        if level and as_controller(controller).posture(self.robot) is None:
            return None
        return standing_start(self.robot, controller, ground, gravity=self.model.world.gravity)

    @property
    def state(self) -> RunState:
        """Return the state: physical state, forces of the last step, and the memories of contact model and
        controller.
        """
        if self._held is not None:
            self._state, self._held = self._held.state(), None
        return self._state

    @state.setter
    def state(self, state: RunState) -> None:
        self._state, self._held = state, None

    def _part(self, name: str) -> PyTree:
        """Return a part of the state without creating the rest."""
        return getattr(self._state, name) if self._held is None else self._held.part(name)

    @property
    def time(self) -> float:
        held = self._held
        return float(self._state.tick if held is None else held.tick) * self.model.period

    @property
    def command_now(self) -> Command:
        """Return the command at the present time."""
        return command_at(self.command, self.time)

    def inputs_at(self, tick: float) -> Inputs:
        """Return the command and the pushes of a tick."""
        period = self.model.period
        push = mean_wrench(self.pushes, tick, period, self._places)
        return Inputs(command_at(self.command, tick * period), push)

    @property
    def q(self) -> Float[ndarray, "nq"]:
        """Return base position [m], base quaternion (w, x, y, z) and joint positions; may be assigned, as by
        ``set_state``.
        """
        return self._part("q")

    @q.setter
    def q(self, q: Given) -> None:
        self.set_state(q=q)

    @property
    def v(self) -> Float[ndarray, "nv"]:
        """Return angular and linear velocity of the base in its axes and joint rates; may be assigned, as by
        ``set_state``.
        """
        return self._part("v")

    @v.setter
    def v(self, v: Given) -> None:
        self.set_state(v=v)

    @hints.takes(hints.STATE)
    def set_state(self, q: Given = None, v: Given = None, *, restart_controller: bool = False) -> None:
        """Set the state; the time continues.

        A run that has stopped may continue. The memory of the contact model is reset.

        Args:
            q: Base position [m], base quaternion (w, x, y, z), joint positions; the name of a pose; or joint positions
                alone. Unchanged unless given.
            v: Angular and linear velocity of the base in base axes, joint rates. Unchanged unless given; zero if q is a
                pose or joint positions.
            restart_controller: Whether to reset the memory of the controller and its sensors. Otherwise, one that holds
                a position in the world, such as ``whole_body``, would return there.

        Raises:
            InputError: The state is not one of this robot, or inside the ground.
        """
        state, robot = self.state, self.robot
        whole = q is None or (not isinstance(q, str) and np.shape(q) == (robot.nq,))
        at, moving = (state.q if q is None else q, state.v) if whole else start_state(robot, q)
        at, moving = start_state(robot, (at, moving if v is None else v))
        world = self.model.world
        check_clear(world, at)
        check_objects(world, at)
        check_closed(robot, at)
        world.contact.check(robot, world.spheres, world.ground, at, moving)
        self._falls = Falls.of(world, at) if robot.floating else None
        new = at_rest(world, at, moving, self.model.acting.start(robot) if restart_controller else state.memory)
        self.state = dataclasses.replace(
            new, tick=state.tick, work=state.work, impulse=state.impulse, objects=state.objects
        )
        self.stopped = None

    def set_command(self, command: Commands | None = None, **parts: float) -> None:
        """Command another velocity or posture from now on.

        Args:
            command: A ``Command``, a function of time that returns one, or a ``Schedule``.
            parts: Alternatively, ``forward`` and ``sideways`` [m/s], ``turn`` [rad/s], ``height`` [m], ``roll`` and
                ``pitch`` [rad]; components that are not named keep their values.
        """
        if command is not None and parts:
            raise InputError("set_command takes a command or its components, not both")
        new = command if command is not None else dataclasses.replace(self.command_now, **_named_parts(parts))
        command_at(new, self.time)
        self.command = new

    @property
    def sensed(self) -> Sensed:
        """Return the input of the controller in the next tick: the true state, or the readings of the sensors."""
        return self._loop.sensed()

    def object(self, name: str) -> ObjectState:
        """Return the pose and velocity of a free body: ``sim.object("box").position``."""
        return object_state(self.model.world, self.state.objects, name)

    @property
    def backend(self) -> Backend:
        """Return the backend that rolls out its ticks, compiled on first use."""
        if self._backend is None:
            inputs = Inputs(self.command_now, np.zeros(6 + 6 * len(self._places)))
            self._backend = make_backend(self.model, self.state, inputs, self.compile_controller)
        return self._backend

    @property
    def compiled_backend(self) -> Backend | None:
        """Return the existing backend; None if nothing has been compiled."""
        return self._backend

    def use(self, backend: Backend, energies: Energies | None = None) -> None:
        """Use the compiled code of a simulation that differs from this one only in free parameters."""
        self._backend, self._energies = backend, self._energies if energies is None else energies

    @property
    def energies(self) -> Energies:
        """Return the kinetic and potential energy of rows; compiled on first use."""
        if self._energies is None:
            self._energies = Energies(self.model.world)
        return self._energies

    @property
    def controller_is_compiled(self) -> bool:
        return not isinstance(self.backend, PythonBackend)

    def checkpoint(self, path: str | Path) -> None:
        """Write the current state to a file, for ``resume``."""
        save_checkpoint(path, self.model, self.state)

    def resume(self, path: str | Path) -> None:
        """Continue from a checkpoint of the same simulation, bit for bit."""
        self.state = load_checkpoint(path, self.model, self.state)
        self.stopped = None

    def press_stop(self) -> None:
        """Press the emergency stop; it acts from the next tick on."""
        if self.emergency_stop is None:
            raise InputError("this simulation has no emergency stop: Simulation(..., emergency_stop=EmergencyStop())")
        self.state = dataclasses.replace(self.state, memory={**self.state.memory, "pressed": 1.0})

    # -- running -----------------------------------------------------------------------------------------------------
    @hints.takes(hints.RUN)
    def run(self, duration: float, path: str | Path | None = None, progress: Progress = False) -> Recording:
        """Simulate for ``duration`` seconds from here; the recording goes to ``path`` as it grows, if given. Rows
        are then not kept in memory: each column is read from the file on first use.

        ``progress``: True shows a bar; a function is called with ("simulating", ticks done, ticks in all).
        """
        running = self.begin(duration, path)
        try:
            with ProgressBar(progress, running.left) as bar:
                for count in running.advance():
                    bar(count)
        except BaseException as error:
            running.interrupted(error)
            raise
        return running.finish()

    def begin(self, duration: float, path: str | Path | None = None) -> Running:
        """Return a run of ``duration`` seconds that the caller advances: see ``Running``."""
        positive_number(duration, "the duration of a run")
        if self.stopped is not None:
            raise FootfallError(f"this simulation has stopped ({self.stopped.message}): reset() it")
        every = self.rows_every
        ahead = np.linspace(self.time, self.time + duration, _LOOKS_AHEAD)
        warn_unfollowed(self.model.acting, self.robot, self.command, ahead.tolist())
        if duration / self.model.period / every > _MOST_ROWS:
            raise InputError(
                f"a run of {duration:g} s would record more than {_MOST_ROWS:.0e} rows: lower record_rate, or run it in"
                " pieces"
            )
        ticks = max(1, round(duration / self.model.period))
        self._refresh()  # errors of the controller are raised before a file is created
        return Running(self, ticks, self.recorder(path, every, self.time + ticks * self.model.period))

    @hints.takes(hints.STEP)
    def step(
        self,
        command: JointCommand | Float[ndarray, "nj"] | int | None = None,
        n: int = 1,
        recorder: Recorder | None = None,
    ) -> bool:
        """Advance by n ticks of the controller (default 1): ``sim.step()``, ``sim.step(10)``, ``sim.step(torques)``.

        A tick lasts ``1 / controller.rate``: with the default 1 kHz and ``dt`` of 1 ms it is one step of the physics.
        Nothing is recorded unless a ``recorder`` is given; ``run`` is faster over many ticks. A joint command replaces
        the controller's, whose memory then stays unchanged; sensors and emergency stop still act.

        Args:
            command: a ``JointCommand``, or motor torques [N m], computed outside and held for the n ticks. The
                simulation's own controller acts unless given. An integer is taken as n.
            n: Number of ticks.
            recorder: Records the ticks, at a small cost: ``recorder = sim.recorder()`` before the loop,
                ``rec = recorder.finish()`` after it.

        Returns:
            Whether the run continues; if not, ``stopped`` gives the reason.

        Raises:
            FootfallError: The simulation had already stopped; ``reset`` or ``set_state`` let it continue.
        """
        if self.stopped is not None:
            raise FootfallError(f"this simulation has stopped ({self.stopped.message}): reset() it, or set_state()")
        if isinstance(command, int | np.integer) and not isinstance(command, bool) and n == 1:
            n, command = int(command), None
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise InputError(f"a simulation steps by a whole number of ticks, got {' '.join(repr(n).split())[:60]}")
        if command is not None:
            given = command if isinstance(command, JointCommand) else _torques(command, self.robot)
            self._loop.relayed(given, n, recorder)
        else:
            self._loop.own(n, recorder)
        return self.stopped is None

    def advance(self, ticks: int, recorder: Recorder | None = None) -> int:
        """Advance by a number of the controller's ticks, or until the run stops, and return their number.

        Only the state is kept, unless a ``recorder`` is given, which may be used in many calls.
        """
        if isinstance(ticks, bool) or not isinstance(ticks, int | np.integer) or ticks < 0:
            raise InputError(f"a simulation advances by a whole number of ticks, got {ticks!r}")
        self._refresh()
        before = self.state.tick
        for _ in Running(self, int(ticks), recorder).advance():
            pass
        return round(float(self.state.tick) - float(before))

    def _refresh(self) -> None:
        """Compile, unless there is machine code and everything that user-defined parts read is unchanged."""
        command_at(self.command, self.time)
        self._place_pushes()
        if self._backend is not None and self._backend.outdated:
            self._backend = None
        _ = self.backend

    def _place_pushes(self) -> None:
        """Make a model for pushes on links that were not pushed before."""
        check_pushes(self.pushes, self.robot)
        if not set(places_of(self.pushes)) <= set(self._places):  # a link that was not pushed before
            self._places = places_of(self.pushes)
            world = dataclasses.replace(self.model.world, pushed=pushed_points(self.robot, self._places))
            self.model, self._backend = dataclasses.replace(self.model, world=world), None

    def recorder(
        self,
        path: str | Path | None = None,
        every: int = 1,
        end: float = np.inf,
        on_rows: Callable[[dict[str, ndarray]], None] | None = None,
    ) -> Recorder:
        """Return a recorder of the run from now to the time ``end`` [s], in memory or in a file; see ``Recorder``."""
        meta = {
            "controller": self.model.acting.name,
            "controller_settings": settings_of(self.controller),
            "sensors": settings_of(self.sensors),
            "emergency_stop": settings_of(self.emergency_stop),
            "command": command_words(self.command),
            "seed": self.seed,
            **self.provenance,
        }
        recorder = Recorder(
            self.model, self.state, self.energies, meta, path, watch=self.watch, every=every, on_rows=on_rows
        )
        for push in self.pushes:
            if self.time - 1e-9 <= push.start < end:
                recorder.add_event(push.event)
        return recorder

    def stop_detectors(self) -> list[StopDetector]:
        """Return the detectors that end a run, in the order in which they are checked."""
        detectors: list[StopDetector] = [Divergence(self.model)]
        if self.stop_on_fall and self._falls is not None:
            detectors.append(Fall(self._falls))
        if self.self_collision == "stop" and self.watch is not None:
            detectors.append(Collision(self.watch))
        return detectors

    @property
    def lying(self) -> str | None:
        """Return a description if the robot has lain on the ground since the start and that counts as a fall."""
        return self._falls.words if self.stop_on_fall and self._falls is not None and self._falls.lying else None

    @property
    def rows_every(self) -> int:
        """Return the number of ticks from one recorded row to the next."""
        if self.record_rate is None:
            return 1
        highest = 1.0 / self.model.period
        if not is_number(self.record_rate) or not 0 < self.record_rate <= highest * (1 + 1e-9):
            raise InputError(
                f"the record rate must lie between 0 and the controller's {highest:.6g} Hz, got {self.record_rate}"
            )
        return max(1, round(highest / self.record_rate))


def _named_parts(parts: Mapping[str, Given]) -> dict[str, float]:
    for name in parts:
        if name not in KEYS:
            raise unknown("part of a command", name, KEYS, "a command has")
    return dict(parts)


def _torques(given: Given, robot: Robot) -> JointCommand:
    """Return a user's array of torques as a joint command."""
    if isinstance(given, Command):
        raise InputError("step takes a JointCommand or torques; set_command(forward=...) gives a velocity command")
    try:
        torque = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        torque = np.zeros(0)
    if torque.shape != (robot.nj,):
        raise InputError(
            f"step takes a JointCommand, {robot.nj} torques [N m] or a number of ticks, got"
            f" {' '.join(repr(given).split())[:60]}"
        )
    return JointCommand(torque=torque)


__all__ = ["Push", "Simulation", "Stop"]
