"""Control a robot through a connection: preflight checks, soft start, walk, sit down; damp when in doubt.

Phases: ``up`` from the measured pose with gains that grow, ``walk`` under the controller, ``down``, ``damp``. Missing
or stale states, a state out of limits, a command that is not finite, a failing controller and the stop key lead to
``damp``. However ``run`` ends, even by an exception in the controller, the last command damps.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray

from footfall.checks import number_from_zero, positive_number
from footfall.control.interface import Command, Controller, JointCommand, Sensed, as_controller
from footfall.control.posture import standing_joints
from footfall.errors import FootfallError, InputError
from footfall.hardware.connection import Connection, RobotState, Watchdog, damping, is_newer
from footfall.hardware.glide import Glide, glide, lying_joints
from footfall.hardware.limits import SafetyLimits, is_finite
from nptrace._types import Json

PATIENCE = 0.05  # [s] without a new state after which the robot is damped
RAMP = 0.5  # [s] in which gains grow, and in which the controller takes over
SETTLE = 1.0  # [s] of standing still before it sits down
LAST_WORDS = 0.3  # [s] of damping that is sent at the end
_SLOWEST = 0.01  # of our clock, at which the robot's own must advance
_MOVES = 0.25  # of a joint's torque limit: a command that changes by as much moves some joint, if only by rounding


@dataclass(frozen=True)
class DriveRow:
    """One tick, for a recording."""

    time: float
    state: RobotState
    sensed: Sensed  # as seen by the controller; before it takes over, the raw state
    command: JointCommand
    phase: str


@dataclass(kw_only=True)
class Driver:
    """The loop that controls a robot.

    ``wanted`` is the velocity command by the time since the controller took over [s], ``duration`` [s] that of walking.

    ``stop`` is called every tick: it returns "" to continue, "end" to sit down, "damp" to damp at once.
    """

    connection: Connection
    controller: Controller
    wanted: Callable[[float], Command] = lambda t: Command()
    duration: float = 10.0
    stop: Callable[[], str] = lambda: ""
    on_row: Callable[[DriveRow], None] = lambda row: None
    say: Callable[[str], None] = lambda words: None
    limits: SafetyLimits | None = None
    patience: float = PATIENCE
    seconds: float = 0.0  # since the first tick
    cut: int = 0  # number of commands clipped to the limits
    unseen: int = 0  # number of ticks without a new state
    frozen: int = 0  # ticks whose state was not newer than the last
    reason: str = ""  # reason for damping, if any
    phases: list[tuple[float, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.robot, self.period = self.connection.robot, self.connection.clock.period
        self.limits = self.limits or SafetyLimits(self.robot)
        self.duration = number_from_zero(self.duration, "the duration of a drive [s]")
        self.patience = positive_number(self.patience, "the patience of a drive [s]")
        ratio = 1.0 / (self.controller.rate * self.period)
        self._every = round(ratio)
        if self._every < 1 or abs(ratio - self._every) > 1e-6 * ratio:
            raise InputError(
                f"the controller's {self.controller.rate:g} Hz must divide the robot's {1.0 / self.period:g} Hz"
            )
        self._glide: Glide | None = None
        self._repeats = False
        self._phase, self._ticks = "", 0  # ticks of the clock, including skipped ones
        self._damp = damping(self.robot)
        self._at_last_motion: tuple[ndarray, ndarray] | None = None  # joint positions, and torques commanded there
        self._asked = 0.0  # largest change since then, as a fraction of a joint's torque limit

    # -- the loop ----------------------------------------------------------------------------------------------------
    def run(self) -> str:
        """Run the drive; return "" if it succeeded, otherwise why the robot was damped."""
        try:
            return self._loop()
        finally:
            with contextlib.suppress(FootfallError):  # the connection is lost: the robot damps by itself
                self.connection.write(self._damp)

    def _loop(self) -> str:
        assert self.limits is not None
        watchdog, state = Watchdog(self.patience), None
        watchdog.feed(0.0)
        left = None
        while left is None or left > 0:
            self._ticks += self.connection.clock.wait()
            self.seconds = self._ticks * self.period
            new = self.connection.read()
            if new is not None and (words := self.limits.misshapen(new)):
                new = None
                if self._phase != "damp":
                    self._give_up(words)
            self._repeats = new is not None and not self._is_newer(new, state)
            if self._repeats:  # the robot continues to send, but measures nothing new
                new = None
                self.frozen += 1
            self.unseen += new is None
            if new is not None:
                state, self._accepted = new, self.seconds
                watchdog.feed(self.seconds)
            if state is None and not watchdog.starved(self.seconds):
                continue
            if self._phase != "damp":
                self._check_state(state, watchdog.starved(self.seconds))
            command = self._command(state)
            self.connection.write(command)
            if state is not None:
                self._note_motion(state, command)
                self.on_row(DriveRow(self.seconds, state, self._seen or state.sensed(), command, self._phase))
            if self._phase == "damp":
                left = (LAST_WORDS if left is None else left) - self.period
        return self.reason

    def _is_newer(self, new: RobotState, last: RobotState | None) -> bool:
        """Return whether a state is new: its clock, its sensors, and its joints if they move, have changed."""
        if last is None or not np.isfinite(new.time):
            return True
        if new.time - last.time < _SLOWEST * (self.seconds - self._accepted):
            return False
        held = self._at_last_motion
        stands_still = held is not None and np.array_equal(new.position, held[0]) and self._asked > _MOVES
        return is_newer(new, last) and not stands_still

    def _note_motion(self, state: RobotState, command: JointCommand) -> None:
        """Track the largest change of the commanded torques since a joint last moved."""
        assert self.limits is not None
        asked = command.kp * (command.position - state.position) - command.kd * state.velocity + command.torque
        held = self._at_last_motion
        if held is None or self._phase == "damp" or not np.array_equal(state.position, held[0]):
            self._at_last_motion, self._asked = (np.array(state.position), asked), 0.0
        else:
            self._asked = max(self._asked, float(np.max(np.abs(asked - held[1]) / self.limits.torque, initial=0.0)))

    def _enter(self, phase: str) -> None:
        self._phase, self._since = phase, self.seconds
        self.phases.append((self.seconds, phase))
        self.say(
            {
                "up": "standing up",
                "walk": "the controller takes over",
                "settle": "standing still",
                "down": "sitting down",
            }.get(phase, f"damping: {self.reason or 'it lies'}")
        )

    def _give_up(self, reason: str) -> None:
        self.reason = reason
        self._enter("damp")

    def _check_state(self, state: RobotState | None, stale: bool) -> None:
        """Check whether to damp, otherwise advance the phase."""
        assert self.limits is not None
        requested = self.stop()
        if stale or state is None:
            words = "no new state: its clock or its sensors stand still" if self._repeats else "no state of the robot"
            return self._give_up(f"{words} for {1e3 * self.patience:.0f} ms")
        if requested == "damp":
            return self._give_up("emergency stop")
        if words := self.limits.wrong(state):
            return self._give_up(words)
        passed = self.seconds - self._since if self._phase else 0.0
        if not self._phase:
            self._rise(state)
        elif self._phase == "up" and self._glide is not None and self.seconds > self._glide.end + 0.3:
            self._take_over()
        elif self._phase == "walk" and (requested == "end" or passed > self.duration):
            self._enter("settle")
        elif (self._phase == "settle" and passed > SETTLE) or (self._phase == "up" and requested == "end"):
            self._sink(state)
        elif self._phase == "down" and self._glide is not None and self.seconds > self._glide.end + 0.2:
            self._enter("damp")
        return None

    def _rise(self, state: RobotState) -> None:
        """Return the glide from the measured pose, via folded legs unless they are already stretched."""
        stand = standing_joints(self.robot)
        low = float(np.abs(state.position - stand).max()) > 0.3
        way = [state.position, lying_joints(self.robot), stand] if low else [state.position, stand]
        self._glide = glide(self.robot, self.seconds, way, 1.0, RAMP)
        self._enter("up")

    def _take_over(self) -> None:
        try:
            self._memory, self._taken = self.controller.start(self.robot), self._ticks
        except Exception as error:
            return self._give_up(f"the controller failed: {_words(error)}")
        self._requested: JointCommand | None = None
        self._called = 0
        return self._enter("walk")

    def _sink(self, state: RobotState) -> None:
        self._glide = glide(self.robot, self.seconds, [state.position, lying_joints(self.robot)], 1.5)
        self._enter("down")

    # -- a command ---------------------------------------------------------------------------------------------------
    _seen: Sensed | None = None
    _accepted = 0.0  # when the last state came that was new

    def _command(self, state: RobotState | None) -> JointCommand:
        assert self.limits is not None
        self._seen = None
        if self._phase == "damp" or state is None:
            return self._damp
        if self._phase in ("walk", "settle"):
            command = self._controlled(state)
        else:
            assert self._glide is not None
            command = self._glide.command(self.seconds)
        if command is None or not is_finite(command):
            if self._phase != "damp":
                self._give_up("the controller returned numbers that are not finite")
            return self._damp
        command, cut = self.limits.cut(command)
        self.cut += cut
        return command

    def _controlled(self, state: RobotState) -> JointCommand | None:
        """Return the controller's command, faded in from the held stand."""
        tick = self._ticks - self._taken
        t = tick * self.period
        if tick // self._every > self._called // self._every or self._requested is None:
            try:
                wanted = self.wanted(t) if self._phase == "walk" else Command()
                requested, self._memory = self.controller(t, self.robot, state.sensed(), wanted, self._memory)
                self._requested, self._called = _as_floats(requested.broadcast(self.robot.nj)), tick
            except Exception as error:  # whatever the controller does wrong, the robot must not keep its last command
                self._give_up(f"the controller failed: {_words(error)}")
                return None
        estimates = as_controller(self.controller).estimates
        self._seen = None if estimates is None else estimates.seen
        part = min(1.0, t / RAMP)
        assert self._glide is not None
        return self._requested if part >= 1.0 else _faded(self._glide.command(self._glide.end), self._requested, part)

    def report(self) -> dict[str, Json]:
        """Return counts, and the phases with their times."""
        return {
            "seconds": self.seconds,
            "damped": self.reason,
            "cut": self.cut,
            "unseen": self.unseen,
            "frozen": self.frozen,
            "phases": [[round(t, 4), phase] for t, phase in self.phases],
            "clock": self.connection.clock.report(),
        }


def _as_floats(command: JointCommand) -> JointCommand:
    """Return the command with arrays of floats: a controller may return arrays of objects."""
    parts = (command.position, command.velocity, command.kp, command.kd, command.torque)
    return JointCommand(*(np.asarray(part, dtype=float) for part in parts))


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, FootfallError) else f"{type(error).__name__}: {error}"


def _faded(one: JointCommand, other: JointCommand, part: float) -> JointCommand:
    """Return the command whose torque is (1 - part) of one plus part of the other."""
    kp = (1 - part) * one.kp + part * other.kp
    kd = (1 - part) * one.kd + part * other.kd
    push = (1 - part) * one.kp * one.position + part * other.kp * other.position
    drag = (1 - part) * one.kd * one.velocity + part * other.kd * other.velocity
    torque = (1 - part) * one.torque + part * other.torque
    return JointCommand(push / np.maximum(kp, 1e-9), drag / np.maximum(kd, 1e-9), kp, kd, torque)


__all__ = ["DriveRow", "Driver"]
