"""The high-level service of a quadruped, implemented by ``Locomotion``: stand up and down, balance, move, lean.

Numbers of calls and modes are those of Go2's ``sport`` service. Unknown calls are refused at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from footfall.checks import is_number
from footfall.control.interface import Command, JointCommand, Sensed
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.named import schedule
from footfall.control.posture import standing_joints
from footfall.hardware.connection import damping
from footfall.hardware.glide import Glide, glide, lying_joints
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import Gravity
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Json, PyTree

OK, NOT_KNOWN, BAD_PARAMETER, NOT_READY = 0, 3203, 3204, 4202  # return codes
HOLD = 1.0  # [s] for which a velocity is kept unless it is renewed
VERSION = "1.0.0.1"
_LEVELS = {-1: 1.0 / 3.0, 0: 2.0 / 3.0, 1: 1.0}  # speeds as fractions of Locomotion's maximum
_GAITS = {1: "trot", 2: "walk"}
_UPRIGHT = 0.5  # least cosine of the tilt from which it stands up
MODES = {"balance": 1, "walk": 3, "down": 5, "up": 6, "damp": 7}  # as in the state message


class Sport:
    """The behaviour of the robot without a low-level program; ``compile``: compile its plan to machine code."""

    def __init__(self, robot: Robot, rate: float, compile: Callable[..., PyTree], gravity: Gravity) -> None:
        self.robot, self.gravity = robot, gravity
        self.locomotion = Locomotion(rate=rate)
        self.locomotion.prepare(robot, compile, gravity)
        self.stand, self.lie = standing_joints(robot), lying_joints(robot)
        self.reset()
        self._calls: dict[int, Callable[[float, Json], int]] = {
            1001: lambda now, data: self._enter("damp"),
            1002: self._balance,
            1003: self._stop,
            1004: self._up,
            1005: self._down,
            1006: self._up,
            1007: self._euler,
            1008: self._move,
            1011: self._switch_gait,
            1013: self._height,
            1015: self._speed_level,
            1027: self._switch_joystick,
            1028: self._balance,
            1061: lambda now, data: self._pace(2),
            1062: lambda now, data: self._pace(1),
        }

    def reset(self) -> None:
        """Return to the state after power-on."""
        self.mode, self.busy = "damp", False  # busy: standing up or lying down
        self._glide: Glide | None = None
        self._memory: PyTree = None
        self._command, self._until = Command(), -np.inf  # a velocity and its time of expiry
        self._posture = Command()  # lean and height
        self._level, self._gait = 1, 1
        self.joystick = True

    # -- calls ---------------------------------------------------------------------------------------------------------
    def call(self, number: int, parameter: str, now: float, sensed: Sensed) -> tuple[int, str]:
        """Return (code, answer) of a call with its parameter as JSON."""
        if number == 1:
            return OK, VERSION
        if number == 2055:
            return OK, json.dumps({"data": False})  # it does not get up by itself
        if number not in self._calls:
            return NOT_KNOWN, ""
        try:
            data = json.loads(parameter or "{}")
            self._sensed = sensed
            return self._calls[number](now, data), ""
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
            return BAD_PARAMETER, ""

    def begin(self, mode: str, now: float, sensed: Sensed) -> None:
        """Take control, standing (``balance``) or lying (``down``)."""
        self._sensed = sensed
        if mode == "balance":
            self._balance(now, {})
        else:
            self._glide = glide(self.robot, now, [sensed.q[7:], self.lie], 0.1, gravity=self.gravity)
            self._enter(mode)

    def _enter(self, mode: str) -> int:
        self.mode, self.busy = mode, mode in ("up", "down")
        self._command = Command()
        if mode != "balance":
            self._posture = Command()
        return OK

    def _balance(self, now: float, data: object) -> int:
        if self.mode in ("down", "damp") and self._low():
            return self._up(now, data)
        if self.mode != "balance":
            self._memory = self.locomotion.start(self.robot)
        self._posture = Command()
        return self._enter("balance")

    def _low(self) -> bool:
        return bool(np.abs(self._sensed.q[7:] - self.stand).max() > 0.3)

    def _up(self, now: float, data: object) -> int:
        if float(to_rotation(self._sensed.q[3:7])[2, 2]) < _UPRIGHT:
            return NOT_READY
        if self.mode in ("up", "balance") and not self._low():
            return OK
        way = [self._sensed.q[7:], self.lie, self.stand] if self._low() else [self._sensed.q[7:], self.stand]
        self._glide = glide(self.robot, now, way, 0.8, gravity=self.gravity)
        return self._enter("up")

    def _down(self, now: float, data: object) -> int:
        if self.mode == "down":
            return OK
        self._glide = glide(self.robot, now, [self._sensed.q[7:], self.lie], 1.2, gravity=self.gravity)
        return self._enter("down")

    def _stop(self, now: float, data: object) -> int:
        self._command, self._until = Command(), -np.inf
        return OK

    def _euler(self, now: float, data: Json) -> int:
        roll, pitch, yaw = (_given(data[key]) for key in "xyz")
        if yaw != 0.0:  # Locomotion can turn the robot, but not the trunk over its feet
            return BAD_PARAMETER
        self._posture = replace(self._posture, roll=roll, pitch=pitch)
        return OK

    def _height(self, now: float, data: Json) -> int:
        self._posture = replace(self._posture, height=_given(data["data"]))
        return OK

    def _move(self, now: float, data: Json) -> int:
        x, y, turn = (_given(data[key]) for key in "xyz")
        return self.move(now, x, y, turn)

    def move(self, now: float, x: float, y: float, turn: float) -> int:
        """Walk at a velocity [m/s, m/s, rad/s] for ``HOLD``; standing robots only."""
        if self.mode not in ("up", "balance") or self.busy:
            return NOT_READY
        if self.mode == "up":
            self._memory = self.locomotion.start(self.robot)
            self._enter("balance")
        part = _LEVELS[self._level]
        limits = self.locomotion.command_limits(self.robot)
        most = {key: part * limits[key] for key in ("forward", "sideways", "turn")}
        self._command = Command(**{key: float(np.clip(v, -most[key], most[key])) for key, v in zip(most, (x, y, turn))})
        self._until = now + HOLD
        return OK

    def _switch_gait(self, now: float, data: Json) -> int:
        number = int(_given(data["data"]))
        return self._stop(now, data) if number == 0 else self._pace(number)

    def _pace(self, number: int) -> int:
        if number not in _GAITS:
            return BAD_PARAMETER
        self._gait = number
        self.locomotion.switch(schedule(_GAITS[number]))
        return OK

    def _speed_level(self, now: float, data: Json) -> int:
        level = int(_given(data["data"]))
        if level not in _LEVELS:
            return BAD_PARAMETER
        self._level = level
        return OK

    def _switch_joystick(self, now: float, data: Json) -> int:
        if not isinstance(data["data"], bool):
            return BAD_PARAMETER
        self.joystick = data["data"]
        return OK

    # -- a tick --------------------------------------------------------------------------------------------------------
    def command(self, now: float, sensed: Sensed) -> JointCommand:
        """Return the current command to the motors."""
        self.busy = self.busy and self._glide is not None and now < self._glide.end
        if self.mode == "damp" or (self.mode != "balance" and self._glide is None):
            return damping(self.robot, self.gravity)
        if self.mode != "balance":
            assert self._glide is not None
            return self._glide.command(now)
        command_now = self._command if now <= self._until else Command()
        wanted = replace(
            self._posture, forward=command_now.forward, sideways=command_now.sideways, turn=command_now.turn
        )
        joint_command, self._memory = self.locomotion(now, self.robot, sensed, wanted, self._memory)
        return joint_command.broadcast(self.robot.nj)

    def number(self, now: float) -> int:
        """Return the mode as in the state message."""
        walking = self.mode == "balance" and now <= self._until and self._command != Command()
        return MODES["walk" if walking else self.mode]

    @property
    def gait(self) -> int:
        return self._gait


def _given(value: Json) -> float:
    """Return a parameter as a finite number, or None; booleans and strings are not numbers."""
    if isinstance(value, bool) or not is_number(value):
        raise ValueError
    return float(value)


__all__ = ["HOLD", "OK", "Sport"]
