"""The program in the robot's computer: one owner of the motors at a time, input validation, a watchdog.

The owner is the ``sport`` mode or, once that has been released, the sender of low-level commands. Commands that are
late, not finite or far out of range are refused and counted; without commands the joints are damped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import numpy as np

from footfall.control.interface import JointCommand, Sensed
from footfall.hardware.connection import Watchdog, damping
from footfall.hardware.limits import Bounds
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, Gravity
from footfall_go2.sport import BAD_PARAMETER, NOT_KNOWN, NOT_READY, OK, VERSION, Sport
from nptrace._types import PyTree

PATIENCE = 0.05  # [s] without a command after which the joints are damped
NAME = "normal"  # name of the sport mode in the motion switcher
SERVICES = ("sport", "motion_switcher")


class Firmware:
    """Requests and commands in, joint commands out; independent of DDS."""

    def __init__(
        self,
        robot: Robot,
        rate: float,
        compile: Callable[..., PyTree],
        gravity: Gravity = GRAVITY,
        patience: float = PATIENCE,
    ) -> None:
        self.robot, self.gravity = robot, gravity
        self.sport = Sport(robot, rate, compile, gravity)
        self.bounds, self.patience = Bounds.of(robot, gravity), patience
        self.reset()

    def reset(self) -> None:
        """Return to the state after power-on."""
        self.watchdog = Watchdog(self.patience)
        self.counts: Counter[str] = Counter()  # commands by outcome
        self.released, self._releasing = False, False
        self._low: JointCommand | None = None
        self._stamp = -np.inf
        self.damped = False  # true without commands
        self.sport.reset()

    def begin(self, mode: str, sensed: Sensed) -> None:
        """Set the initial mode: ``balance``, ``down``, or ``released`` for a low-level program."""
        self.released = mode == "released"
        if not self.released:
            self.sport.begin(mode, 0.0, sensed)

    # -- input ---------------------------------------------------------------------------------------------------------
    def call(self, service: str, number: int, parameter: str, now: float, sensed: Sensed) -> tuple[int, str]:
        """Return (code, answer) of a call of a service."""
        if service == "motion_switcher":
            return self._switch(number, parameter, now, sensed)
        if self.released and number != 1:
            return NOT_READY, ""
        return self.sport.call(number, parameter, now, sensed)

    def _switch(self, number: int, parameter: str, now: float, sensed: Sensed) -> tuple[int, str]:
        if number == 1:
            return OK, VERSION
        if number == 1001:
            return OK, json.dumps({"form": "0", "name": "" if self.released else NAME})
        if number == 1002:
            return self._select(parameter, now, sensed), ""
        if number == 1003:
            self._releasing = not self.released  # after lying down, if it is about to
            return OK, ""
        return NOT_KNOWN, ""

    def _select(self, parameter: str, now: float, sensed: Sensed) -> int:
        try:
            name = json.loads(parameter or "{}")["name"]
        except (ValueError, TypeError, KeyError, RecursionError):
            return BAD_PARAMETER
        if name not in (NAME, "ai", "mcf", "sport_mode"):
            return BAD_PARAMETER
        if self.released:
            self._forget()
            self.released = False
            self.sport.begin("down", now, sensed)
        self._releasing = False
        return OK

    def _forget(self) -> None:
        """Forget the last sender of commands: the next one may use another clock."""
        self._low, self._stamp = None, -np.inf

    def command(self, command: JointCommand, now: float, stamp: float = 0.0, damaged: bool = False) -> str:
        """Take a low-level command and return its outcome: ``taken``, or why not.

        ``stamp`` is its sending time [s] by the sender's clock: a command older than the last one is refused, unless
        none was received for ``patience``. After that, a clock that was set back, or another sender, is accepted.
        """
        became = self._command_state(command, now, stamp, damaged)
        self.counts[became] += 1
        if became == "taken":
            self._low, self._stamp = command, stamp
            self.watchdog.feed(now)
        return became

    def _command_state(self, command: JointCommand, now: float, stamp: float, damaged: bool) -> str:
        if damaged:
            return "bad checksum"
        if stamp < self._stamp and not self.watchdog.silent(now):
            return "out of order"
        if not self.released:
            return "sport mode is active"
        return self.bounds.wrong(command) or "taken"

    # -- a tick --------------------------------------------------------------------------------------------------------
    def tick(self, now: float, sensed: Sensed) -> JointCommand:
        """Return the current command to the motors."""
        if self._releasing and not self.sport.busy:
            self._forget()
            self.released, self._releasing = True, False
        if not self.released:
            return self.sport.command(now, sensed)
        self.damped = self._low is None or self.watchdog.starved(now)
        if self.damped or self._low is None:
            return damping(self.robot, self.gravity)
        return self._low


__all__ = ["PATIENCE", "SERVICES", "Bounds", "Firmware"]
