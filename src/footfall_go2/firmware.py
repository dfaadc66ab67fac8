"""The program in the robot's own computer: one owner of the motors at a time, checks of what comes in, a watchdog.

The owner is the ``sport`` mode or, once it has been released, whoever sends low-level commands. Commands that are late,
not finite or out of all proportion are refused and counted; when none comes the joints are damped.
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
NAME = "normal"  # of the sport mode, as the motion switcher has it
SERVICES = ("sport", "motion_switcher")


class Firmware:
    """Requests and commands in, joint commands out; knows nothing of DDS."""

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
        """As it was switched on."""
        self.watchdog = Watchdog(self.patience)
        self.counts: Counter[str] = Counter()  # of commands, by what became of them
        self.released, self._releasing = False, False
        self._low: JointCommand | None = None
        self._stamp = -np.inf
        self.damped = False  # because nobody commands it
        self.sport.reset()

    def begin(self, mode: str, sensed: Sensed) -> None:
        """At the start: ``balance``, ``down``, or ``released`` for a low-level program."""
        self.released = mode == "released"
        if not self.released:
            self.sport.begin(mode, 0.0, sensed)

    # -- what comes in ---------------------------------------------------------------------------------------------
    def call(self, service: str, number: int, parameter: str, now: float, sensed: Sensed) -> tuple[int, str]:
        """(code, answer) of a call of a service."""
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
            self._releasing = not self.released  # once it has lain down, if it is about to
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
        """Whoever commanded it commands it no more: the next one may go by another clock."""
        self._low, self._stamp = None, -np.inf

    def command(self, command: JointCommand, now: float, stamp: float = 0.0, damaged: bool = False) -> str:
        """Take a low-level command; what became of it: ``taken``, or why not.

        ``stamp`` is when it was sent [s], by its sender's clock: one that is older than the last one is refused, until
        nothing has been heard for ``patience``. A clock that was set back, or another sender, is obeyed after that.
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

    # -- a tick ------------------------------------------------------------------------------------------------------
    def tick(self, now: float, sensed: Sensed) -> JointCommand:
        """Return the command to the motors now."""
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
