"""A simulation in a thread, in real time, which executes requests between steps.

A commanding client must keep responding: while ``present`` is false, the velocity command is zero. After a short
silence, as of a busy browser, the command resumes; after a longer one it is discarded.
"""

from __future__ import annotations

import contextlib
import math
import queue
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from footfall.contact.ground import Ground
from footfall.contact.model import named as contact_named
from footfall.control import posture
from footfall.control.interface import Command, as_controller
from footfall.control.joint.joint_pd import Hold
from footfall.control.joint.plan_follower import take_over_plan
from footfall.control.locomotion.locomotion import COMMAND_LIMITS
from footfall.control.named import COMMAND_CONTROLLERS, GAIT_CONTROLLERS, PLAN, SAMPLING
from footfall.errors import FootfallError, InputError
from footfall.gait import pattern
from footfall.robot import library
from footfall.robot.model.description import Pose, Robot
from footfall.robot.model.spine import OWN
from footfall.sim.pushes import Push
from footfall.sim.recorder import Recorder
from footfall.sim.run_options import RunOptions, page_choices, page_options
from footfall.sim.runfile import is_policy, plan
from footfall.sim.sampling import Sampling
from footfall.sim.simulation import Simulation
from footfall.view.history import PlotHistory
from footfall.view.safe_text import file_stem
from nptrace._types import Given

FRAME = 1.0 / 30.0  # [s] of wall time between frames
_LOOK = 0.01  # [s] of simulated time between checks of the command
_PUSH = 0.15  # [s], duration of a push
_FORGIVEN = 2.0  # [s] of silence after which a command is discarded
_SAID = 10.0  # [s], how long an error is shown
# requests per frame: more do not come from a person
_MOST_WAITING = {"reset": 1, "step": 8, "push": 4, "record": 1, "take": 1}
_GOAL_SPEED = 0.5  # [m/s], speed towards a goal
MOST_WEIGHT = 5.0  # largest weight of a task's term
_ASLEEP = 0.1  # [s] between checks while no browser is connected
STILL = ("hold", "lqr", PLAN)  # controllers without a gait
_BROUGHT = ("controller", "ground", "contact")  # choices that may be user-defined objects
_LONGEST_PLAN = 300  # characters of a plan
_PLANNED = 120.0  # [s], duration of walks in a plan
_FITTING = {"spined": "balance", "dynakat": "pd"}  # robots that fall under the default controller


def fitting_controller(robot: Robot) -> str:
    """Return the default controller for a robot: one that follows commands if it has the four feet for it."""
    if not robot.floating or not set(pattern.LEGS) <= set(robot.foot_names):
        return "hold"
    return _FITTING.get(robot.name, COMMAND_CONTROLLERS[-1])


def with_stand(robot: Robot) -> Robot:
    """Return the robot with a standing pose: its own, feet below the hips, or all joints at zero.

    Without feet, its base is held in the air.
    """
    if not robot.nj and not robot.nf:
        raise InputError(f"robot '{robot.name}' has neither joints nor feet: there is nothing to move")
    if robot.floating and not robot.nf:
        robot = robot.replace(floating=False)
    robot = posture.with_stand(robot)
    if "stand" in robot.poses:
        return robot
    q, _ = robot.state()
    pose = Pose(q[robot.nq - robot.nj :], float(q[2]) if robot.floating else 0.0)
    return robot.replace(poses={**robot.poses, "stand": pose})


@dataclass(kw_only=True)
class SimulationThread:
    """Run one simulation after another in a thread.

    given: user-defined additions to the menus, by name: controllers, grounds, contact models, or a whole simulation,
    which runs unchanged while it is selected in all menus. present: whether the commanding client still responds.
    watched: whether any browser is connected; otherwise the simulation pauses. Called in the thread: ``on_frame`` after
    every frame, ``on_change`` after a new simulation was created and ``on_refused`` if that failed, ``on_recorded``
    with the file of a recording that a change has ended.
    """

    choice: RunOptions = field(default_factory=page_options)
    own: Robot | None = None  # a robot that is not in the library, under its own name
    given: Mapping[str, Given] = field(default_factory=dict)
    simulation: Simulation | None = None
    present: Callable[[], bool] = lambda: True
    watched: Callable[[], bool] = lambda: True
    on_frame: Callable[[], None] = lambda: None
    on_change: Callable[[], None] = lambda: None
    on_refused: Callable[[], None] = lambda: None
    on_recorded: Callable[[Path], None] = lambda path: None

    def __post_init__(self) -> None:
        self.own = with_stand(self.own) if self.own is not None else None
        self._first = self.choice
        self._commanded = False  # by a person: until then a user's simulation follows its own command
        self._own_command = Command() if self.simulation is None else self.simulation.command
        self.command = Command()
        self.goal: np.ndarray | None = None  # goal to walk to [m]
        self.paused, self.pace = False, 1.0
        self.message, self._reported = "", 0.0  # the last error in one sentence, and its time
        self.silent, self._heard = False, time.monotonic()  # whether the commanding client does not respond
        self.real_time = 0.0  # simulated over wall time
        self.history = PlotHistory()
        self.recording: Path | None = None
        self._todo: queue.SimpleQueue[tuple[str, Callable[[], None]]] = queue.SimpleQueue()
        self._waiting: Counter[str] = Counter()  # number of requests, by kind
        self._requested: dict[str, Any] = {}  # pending choices: the last of a kind counts
        self._asking = threading.Lock()
        self._stop = threading.Event()
        self._last, self._owed = time.monotonic(), 0.0
        self._speeds = [(time.monotonic(), 0.0)]
        self._folder = tempfile.TemporaryDirectory(prefix="footfall-view-")
        self.sim = self._made(self.choice)
        self._changed_over = False  # the simulation started with another gait
        self._begin()
        self._thread = threading.Thread(target=self._run, name="footfall-view", daemon=True)

    # -- for other threads ---------------------------------------------------------------------------------------------
    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)
        if self.recording is not None:
            self.recorder.finish()
        self._folder.cleanup()

    def do(self, what: Callable[[], None], kind: str = "") -> None:
        """Request an action between two steps; of each named kind, only a sensible number is accepted."""
        with self._asking:
            if self._waiting[kind] >= _MOST_WAITING.get(kind, math.inf):
                return
            self._waiting[kind] += 1
        self._todo.put((kind, what))

    def set_command(self, **values: Given) -> None:
        """Change parts of the velocity command: ``set_command(forward=0.4)``."""
        self._commanded = True
        known = {key: clipped(key, value, self.sim) for key, value in values.items() if key in vars(COMMAND_LIMITS)}
        self.command = replace(self.command, **known)

    def names(self, key: str) -> tuple[str, ...]:
        """Return the entries of a menu, user-defined ones first."""
        known, first = page_choices()[key], getattr(self._first, key)
        if key == "robot" and self.own is not None:
            first = self.own.name
        return known if first in known and key != "robot" else (first, *(name for name in known if name != first))

    def choose(self, key: str, name: Given) -> None:
        """Choose another robot, gait, controller, contact model or ground; unknown names are ignored, a plan is text.

        Choices made while a simulation is being created are then applied together.
        """
        known = key in page_choices() and name in self.names(key)
        if known or (key == "plan" and isinstance(name, str) and 0 < len(name) <= _LONGEST_PLAN):
            requested = {key: name} | ({"controller": self._fitting(name), "spine": OWN} if key == "robot" else {})
            with self._asking:
                self._requested |= requested

    @property
    def wanted(self) -> RunOptions:
        """Return the choice that will be simulated once all requests are executed."""
        with self._asking:
            return replace(self.choice, **self._requested)

    @property
    def planner(self) -> Sampling | None:
        """The sampling planner that controls the robot; None under another controller."""
        controller = self.sim.controller
        return controller if isinstance(controller, Sampling) else None

    def set_weight(self, name: str, value: Given) -> None:
        """Change the weight of a term of the task; an unknown name is ignored."""
        planner = self.planner
        known = planner is not None and name in planner.weights
        if planner is not None and known and isinstance(value, int | float) and math.isfinite(value):
            planner.weights[name] = min(max(float(value), 0.0), MOST_WEIGHT)

    def set_goal(self, place: Given) -> None:
        """Walk to a goal [m] under a sampling planner; None removes it."""
        self.goal = None if place is None else np.nan_to_num(np.asarray(place, dtype=float)[:2])

    def reset(self) -> None:
        self.do(self._reset, "reset")

    def step(self) -> None:
        """Advance by one frame while paused."""
        self.do(lambda: self._advance(_LOOK), "step")

    def push(self, speed: float = 0.5) -> None:
        """Push the trunk to its right, with the impulse that changes the robot's speed by ``speed`` [m/s]."""
        self.do(lambda: self._push(speed), "push")

    def record(self) -> None:
        """Start a recording."""
        self.do(self._record, "record")

    def take(self, receive: Callable[[Path], None]) -> None:
        """End the recording and return its file."""
        self.do(lambda: self._take(receive), "take")

    @property
    def status(self) -> str:
        """Return the present status as text."""
        if self.message and time.monotonic() - self._reported < _SAID:
            return self.message
        if self.sim.stopped is not None:
            return f"{self.sim.stopped.message}: reset to continue"
        if self.silent:
            return "no response from the browser: standing still"
        return "paused" if self.paused else "running"

    # -- in the thread -------------------------------------------------------------------------------------------------
    def _run(self) -> None:
        while not self._stop.is_set():
            began, watched = time.monotonic(), self.watched()
            try:
                self._frame(watched)
            except FootfallError as error:
                self._say(str(error))
            except Exception as error:  # an internal error: it is shown, and the user can reset or choose again
                traceback.print_exc(file=sys.stderr)
                self._say(f"{type(error).__name__}: {error}; paused")
                self.paused = True
            if watched:
                with contextlib.suppress(RuntimeError):  # the page may be closing
                    self.on_frame()
            self._stop.wait(max(0.002, (FRAME if watched else _ASLEEP) - (time.monotonic() - began)))

    def _say(self, message: str) -> None:
        self.message, self._reported = message, time.monotonic()

    def _frame(self, watched: bool = True) -> None:
        for _ in range(self._todo.qsize()):  # later requests are for the next frame
            kind, what = self._todo.get()
            with self._asking:
                self._waiting[kind] -= 1
            what()
        with self._asking:
            requested, self._requested = self._requested, {}
        if requested:
            self._change(replace(self.choice, **requested))
        self._heed()
        now, span = time.monotonic(), 0.0
        if watched and not self.paused and self.sim.stopped is None:
            self._owed = min(self._owed + (now - self._last) * self.pace, 2.0 * FRAME)
            span, self._owed = self._owed, 0.0
            began = self.sim.time
            self._advance(span)
            self._owed = max(0.0, span - (self.sim.time - began))
        self._last = now
        self._speeds = [*self._speeds[-40:], (now, self.sim.time)]
        (t0, s0), (t1, s1) = self._speeds[0], self._speeds[-1]
        self.real_time = max(0.0, (s1 - s0) / (t1 - t0)) if t1 > t0 else 0.0

    def _heed(self) -> None:
        """Set the simulation's command, or zero if the commanding client does not respond."""
        if self.sim is self.simulation and not self._commanded:
            self.sim.command = self._own_command
            return
        self.silent = self.command != Command() and not self.present()
        now = time.monotonic()
        if not self.silent:
            self._heard = now
        elif now - self._heard > _FORGIVEN:
            self.command = Command()
        self.sim.command = Command() if self.silent else self.command
        if self.goal is not None and self.planner is not None and not self.silent:
            self.sim.command = _towards(self.goal, self.sim.q)

    def _advance(self, seconds: float) -> None:
        """Advance the simulation in pieces, by less if the machine is too slow."""
        period, until = self.sim.model.period, time.monotonic() + 3.0 * FRAME
        ticks = round(seconds / period)
        while ticks > 0 and self.sim.stopped is None and time.monotonic() < until:
            self._heed()
            ticks -= self.sim.advance(min(ticks, max(1, int(_LOOK / period))), self.recorder)

    def _robot(self, name: str) -> Robot:
        return self.own if self.own is not None and name == self.own.name else library.load(name)

    def _fitting(self, name: str) -> str:
        return fitting_controller(self._robot(name))

    def _made(self, choice: RunOptions, then: str | None = None, after: Simulation | None = None) -> Simulation:
        """Create the simulation of a choice; ``then`` is a gait to change to, and when; ``after`` has a plan to
        continue.
        """
        robot, rhythmic, planned = (
            self._robot(choice.robot),
            choice.controller in GAIT_CONTROLLERS,
            choice.controller == PLAN,
        )
        if self.simulation is not None and choice == self._first:
            _ = self.simulation.backend
            self._commanded = False
            return self.simulation
        brought = {key: self.given[name] for key in _BROUGHT if (name := getattr(choice, key)) in self.given}
        own = brought.pop("controller", None)
        gaitless = choice.controller == SAMPLING and choice.task not in ("walk", "climb")
        still = gaitless or choice.controller in STILL or is_policy(choice.controller) or own is not None
        options = replace(
            choice,
            **{key: getattr(RunOptions, key) for key in brought},
            gait=None if still else choice.gait,
            then=then,
            plan=choice.plan if planned else None,
            task=choice.task if choice.controller == SAMPLING else None,
            duration=_PLANNED if planned else RunOptions.duration,
            oscillator=choice.oscillator if rhythmic else None,
            touchdown=rhythmic,
        )
        if own is not None or robot.floating:
            sim = plan(robot, options, own=own).simulation
            if brought:
                sim = replace(sim, start=None, **brought)
            if after is not None:
                sim = replace(sim, controller=take_over_plan(sim.controller, after.controller, after.time))
        else:
            kp = 5.0 * robot.mass
            hold = Hold("stand", kp, 0.1 * kp)
            sim = Simulation(robot, hold, contact=contact_named(choice.contact), start=robot.state("stand"))
        _ = sim.backend  # compiled now, so that errors appear here
        sim.command = Command()
        return sim

    def _begin(self) -> None:
        """Reset the display: the simulation is at its start."""
        self.recorder = self._recorder()
        self.history.clear()
        self.message, self._last, self._owed = "", time.monotonic(), 0.0
        self._speeds = [(time.monotonic(), self.sim.time)]

    def _change(self, choice: RunOptions) -> None:
        """Switch to another simulation; if only the gait changed, the robot continues from its present state."""
        if choice == self.choice:
            return
        self._say("preparing …")
        self.on_frame()
        old, before = self.sim, self.choice
        alike = replace(before, gait=choice.gait) == choice and old.stopped is None
        replans = choice.controller == PLAN and old.stopped is None and replace(before, plan=choice.plan) == choice
        replans = replans and ";" not in str(choice.plan)  # a sequence of plans starts with the first of them, standing
        goes_on = (alike and choice.controller in (*COMMAND_CONTROLLERS, *GAIT_CONTROLLERS)) or replans
        # its steps continue into those of the other gait
        changes = goes_on and choice.controller in GAIT_CONTROLLERS
        try:
            then = f"{choice.gait}:{old.time:g}" if changes else None
            made = self._made(before if changes else choice, then, old if replans else None)
        except FootfallError as error:
            self._say(str(error))
            self._last = time.monotonic()
            self.on_refused()
            return
        self._hand_over()
        self.sim, self._changed_over = made, changes or replans
        if goes_on:
            assert self.sim.controller is not None
            memory = self.sim.controller.start(self.sim.robot)
            if changes:
                memory = {key: old.state.memory.get(key, value) for key, value in memory.items()}
            self.sim.state = replace(old.state, memory=memory)
        else:
            self.command = Command()
        self.choice = choice
        self._begin()
        self.on_change()

    def _reset(self) -> None:
        self._hand_over()
        self.command = Command()
        if self._changed_over:  # without repeating the change of gait
            self.sim, self._changed_over = self._made(self.choice), False
        self.sim.pushes = ()
        self._commanded = False
        self.sim.reset()
        self._begin()
        self.on_change()

    def _push(self, speed: float) -> None:
        if not self.sim.robot.floating or self.sim.stopped is not None:
            return
        force = self.sim.robot.mass * speed / _PUSH
        right = -_left_of(self.sim.q)
        push = Push(start=self.sim.time, duration=_PUSH, force=(float(force * right[0]), float(force * right[1]), 0.0))
        self.sim.pushes = (*self.sim.pushes[-3:], push)
        self.recorder.add_event(push.event)

    def _record(self) -> None:
        self._finish_recording()
        path = Path(self._folder.name) / f"{file_stem(self.sim.robot.name)}-{time.strftime('%H%M%S')}.mcap"
        self.recorder = self._recorder(path)
        self.recording = path  # reported once it has started

    def _recorder(self, path: Path | None = None) -> Recorder:
        """Return a recorder for the plots, and for a file if there is one."""
        return self.sim.recorder(path, on_rows=lambda columns: self.history.add(self.sim, columns))

    def _finish_recording(self) -> Path | None:
        path, self.recording = self.recording, None
        if path is not None:
            self.recorder.finish()
            self.recorder = self._recorder()
        return path

    def _hand_over(self) -> None:
        """End a recording with its simulation; nothing is lost."""
        self._take(self.on_recorded)

    def _take(self, receive: Callable[[Path], None]) -> None:
        if (path := self._finish_recording()) is not None:
            receive(path)
            path.unlink(missing_ok=True)  # the receiver has read it

    @property
    def ground(self) -> Ground | None:
        return self.sim.model.world.ground


def _towards(goal: np.ndarray, q: np.ndarray) -> Command:
    """Return the command to walk to a goal, slower near it."""
    left = _left_of(q)
    ahead, away = np.array([left[1], -left[0]]), goal - q[:2]
    far = float(np.hypot(*away))
    if far < 0.05:
        return Command()
    fast = _GOAL_SPEED * min(1.0, far / 0.4) / far
    turn = math.atan2(float(away @ left), float(away @ ahead)) if far > 0.4 else 0.0
    return Command(
        forward=fast * float(away @ ahead), sideways=0.5 * fast * float(away @ left), turn=min(max(turn, -0.8), 0.8)
    )


def _left_of(q: np.ndarray) -> np.ndarray:
    """Return the robot's left, horizontally."""
    w, x, y, z = q[3:7]
    yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return np.array([-math.sin(yaw), math.cos(yaw)])


def limit(key: str, sim: Simulation | None = None) -> float:
    """Return the limit of one component of a command for a simulation's controller; the default if undefined."""
    known = None if sim is None or sim.controller is None else as_controller(sim.controller).command_limits(sim.robot)
    most = (known or {}).get(key)
    return float(most) if most is not None and math.isfinite(most) else float(getattr(COMMAND_LIMITS, key))


def clipped(key: str, value: Given, sim: Simulation | None = None) -> float:
    """Return a number of a command clipped to its limits; zero if it is invalid."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):  # an integer may be too large for a float
        return 0.0
    most = limit(key, sim)
    return min(max(number, -most), most) if math.isfinite(number) else 0.0


__all__ = ["SimulationThread", "clipped", "fitting_controller"]
