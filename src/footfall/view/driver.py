"""A simulation that runs in a thread, beside the clock, and carries out requests between two steps.

Whoever gives commands must be heard: while ``present`` says that nobody is there, the velocity command is zero. A short
silence is forgiven, as of a browser that is busy; after a longer one the command is forgotten.
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

FRAME = 1.0 / 30.0  # [s] of wall time between pictures
_LOOK = 0.01  # [s] of simulated time between looks at the command
_PUSH = 0.15  # [s] that a push lasts
_FORGIVEN = 2.0  # [s] of silence after which a command is forgotten
_SAID = 10.0  # [s] that a refusal is shown
_MOST_WAITING = {"reset": 1, "step": 8, "push": 4, "record": 1, "take": 1}  # a frame: more is no person's doing
_GOAL_SPEED = 0.5  # [m/s] towards a place
MOST_WEIGHT = 5.0  # of a term of a task
_ASLEEP = 0.1  # [s] between looks while nobody watches
STILL = ("hold", "lqr", PLAN)  # controllers that take no gait
_BROUGHT = ("controller", "ground", "contact")  # choices that may be objects of a user's own
_LONGEST_PLAN = 300  # characters
_PLANNED = 120.0  # [s] that a walk of a plan goes on
_FITTING = {"spined": "balance", "dynakat": "pd"}  # robots that the default controller does not keep on their feet


def fitting_controller(robot: Robot) -> str:
    """The controller that a robot is first shown with: on command where it has the four feet for it."""
    if not robot.floating or not set(pattern.LEGS) <= set(robot.foot_names):
        return "hold"
    return _FITTING.get(robot.name, COMMAND_CONTROLLERS[-1])


def with_stand(robot: Robot) -> Robot:
    """A robot that knows how to stand: its own pose, else feet under the hips, else all joints at zero.

    One without feet has its base held in the air.
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
    """Runs one simulation after another in a thread of its own.

    given: what a user brings beside what the menus know, by the name that a menu shows: controllers, grounds, contact
    models, or a whole simulation, which is run as it is while all the menus say so.
    present: whether whoever gave the command is still there. watched: whether anybody is there at all; while nobody is,
    time stands still. Called in the thread: ``on_frame`` after every frame, ``on_change`` after another simulation was
    made and ``on_refused`` if it could not be, ``on_recorded`` with the file of a recording that a change has ended.
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
        self.goal: np.ndarray | None = None  # a place to walk to [m]
        self.paused, self.pace = False, 1.0
        self.message, self._reported = "", 0.0  # what last went wrong, in one sentence, and when
        self.silent, self._heard = False, time.monotonic()  # whoever gave the command does not answer
        self.real_time = 0.0  # simulated over wall time
        self.history = PlotHistory()
        self.recording: Path | None = None
        self._todo: queue.SimpleQueue[tuple[str, Callable[[], None]]] = queue.SimpleQueue()
        self._waiting: Counter[str] = Counter()  # of what is to be done, by kind
        self._requested: dict[str, Any] = {}  # choices that are not made yet: the last of a kind counts
        self._asking = threading.Lock()
        self._stop = threading.Event()
        self._last, self._owed = time.monotonic(), 0.0
        self._speeds = [(time.monotonic(), 0.0)]
        self._folder = tempfile.TemporaryDirectory(prefix="footfall-view-")
        self.sim = self._made(self.choice)
        self._changed_over = False  # the simulation began with another gait
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
        """Have something done between two steps; of a kind that is named, no more than is sensible at once."""
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
        """Return the entries of a menu: what a user brought first."""
        known, first = page_choices()[key], getattr(self._first, key)
        if key == "robot" and self.own is not None:
            first = self.own.name
        return known if first in known and key != "robot" else (first, *(name for name in known if name != first))

    def choose(self, key: str, name: Given) -> None:
        """Another robot, gait, controller, contact model or ground; an unknown name is ignored, a plan is words.

        What was asked for while another simulation was being made is made at once, not one after another.
        """
        known = key in page_choices() and name in self.names(key)
        if known or (key == "plan" and isinstance(name, str) and 0 < len(name) <= _LONGEST_PLAN):
            requested = {key: name} | ({"controller": self._fitting(name), "spine": OWN} if key == "robot" else {})
            with self._asking:
                self._requested |= requested

    @property
    def wanted(self) -> RunOptions:
        """Return what is simulated once all that was requested is made."""
        with self._asking:
            return replace(self.choice, **self._requested)

    @property
    def planner(self) -> Sampling | None:
        """The sampling planner that controls the robot; None under another controller."""
        controller = self.sim.controller
        return controller if isinstance(controller, Sampling) else None

    def set_weight(self, name: str, value: Given) -> None:
        """Change the weight of a term of the task; a name that is none is ignored."""
        planner = self.planner
        known = planner is not None and name in planner.weights
        if planner is not None and known and isinstance(value, int | float) and math.isfinite(value):
            planner.weights[name] = min(max(float(value), 0.0), MOST_WEIGHT)

    def set_goal(self, place: Given) -> None:
        """Walk to a place [m] under a sampling planner; nowhere with None."""
        self.goal = None if place is None else np.nan_to_num(np.asarray(place, dtype=float)[:2])

    def reset(self) -> None:
        self.do(self._reset, "reset")

    def step(self) -> None:
        """One look's worth of time, while paused."""
        self.do(lambda: self._advance(_LOOK), "step")

    def push(self, speed: float = 0.5) -> None:
        """Push the trunk to its right, as hard as would change the robot's speed by ``speed`` [m/s]."""
        self.do(lambda: self._push(speed), "push")

    def record(self) -> None:
        """Start a recording."""
        self.do(self._record, "record")

    def take(self, receive: Callable[[Path], None]) -> None:
        """End the recording and hand over its file."""
        self.do(lambda: self._take(receive), "take")

    @property
    def status(self) -> str:
        """Return what it is doing, in a word or a sentence."""
        if self.message and time.monotonic() - self._reported < _SAID:
            return self.message
        if self.sim.stopped is not None:
            return f"{self.sim.stopped.message}: reset to go on"
        if self.silent:
            return "no answer from the browser: standing still"
        return "paused" if self.paused else "running"

    # -- in the thread -------------------------------------------------------------------------------------------------
    def _run(self) -> None:
        while not self._stop.is_set():
            began, watched = time.monotonic(), self.watched()
            try:
                self._frame(watched)
            except FootfallError as error:
                self._say(str(error))
            except Exception as error:  # a defect of ours: it is said, and whoever watches can reset or choose again
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
        for _ in range(self._todo.qsize()):  # what comes meanwhile is for the next frame
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
        """Give the simulation its command, or zero if nobody is there to have given it."""
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
        """Some simulated time, in pieces; less when the machine is too slow for it."""
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
        """A simulation of a choice; ``then`` is a gait to change to, and when; ``after`` has a plan to take over."""
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
        _ = sim.backend  # compiled now: what is wrong shows here
        sim.command = Command()
        return sim

    def _begin(self) -> None:
        """A simulation is at its start: nothing of the last one is shown any more."""
        self.recorder = self._recorder()
        self.history.clear()
        self.message, self._last, self._owed = "", time.monotonic(), 0.0
        self._speeds = [(time.monotonic(), self.sim.time)]

    def _change(self, choice: RunOptions) -> None:
        """Another simulation; if only the gait changed the robot goes on from where it is."""
        if choice == self.choice:
            return
        self._say("preparing …")
        self.on_frame()
        old, before = self.sim, self.choice
        alike = replace(before, gait=choice.gait) == choice and old.stopped is None
        replans = choice.controller == PLAN and old.stopped is None and replace(before, plan=choice.plan) == choice
        replans = replans and ";" not in str(choice.plan)  # a plan of several begins with the first of them, standing
        goes_on = (alike and choice.controller in (*COMMAND_CONTROLLERS, *GAIT_CONTROLLERS)) or replans
        # its own steps go over into those of the other gait
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
        if self._changed_over:  # not the change of gait again
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
        self.recording = path  # said when it has begun

    def _recorder(self, path: Path | None = None) -> Recorder:
        """Shows all that happens in the plots, and keeps it in a file if there is one."""
        return self.sim.recorder(path, on_rows=lambda columns: self.history.add(self.sim, columns))

    def _finish_recording(self) -> Path | None:
        path, self.recording = self.recording, None
        if path is not None:
            self.recorder.finish()
            self.recorder = self._recorder()
        return path

    def _hand_over(self) -> None:
        """A recording ends because its simulation does: nothing of it is lost."""
        self._take(self.on_recorded)

    def _take(self, receive: Callable[[Path], None]) -> None:
        if (path := self._finish_recording()) is not None:
            receive(path)
            path.unlink(missing_ok=True)  # whoever receives it has read it

    @property
    def ground(self) -> Ground | None:
        return self.sim.model.world.ground


def _towards(goal: np.ndarray, q: np.ndarray) -> Command:
    """Return the command to walk to a place, slower near it."""
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
    """The robot's left, on the level."""
    w, x, y, z = q[3:7]
    yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return np.array([-math.sin(yaw), math.cos(yaw)])


def limit(key: str, sim: Simulation | None = None) -> float:
    """The most of one part of a command that a simulation's controller follows; the usual one where it does not say."""
    known = None if sim is None or sim.controller is None else as_controller(sim.controller).command_limits(sim.robot)
    most = (known or {}).get(key)
    return float(most) if most is not None and math.isfinite(most) else float(getattr(COMMAND_LIMITS, key))


def clipped(key: str, value: Given, sim: Simulation | None = None) -> float:
    """A number of a command within its limits; junk is zero."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):  # a whole number may be too large for a float
        return 0.0
    most = limit(key, sim)
    return min(max(number, -most), most) if math.isfinite(number) else 0.0


__all__ = ["SimulationThread", "clipped", "fitting_controller"]
