"""A recording in place of a robot: a controller receives what was measured, and its commands can be compared.

Its commands have no effect: the robot moves as recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.control.interface import Inertial, JointCommand
from footfall.errors import InputError
from footfall.hardware.connection import RobotState
from nptrace._types import Json
from nptrace.array_types import Float

if TYPE_CHECKING:
    from footfall.recording.recording import Recording

_NEEDED = ("q", "v", "torque", "gyro", "acceleration")


class Replay:
    """A connection that replays a recording of ``footfall drive`` with its sensor readings."""

    def __init__(self, recording: Recording) -> None:
        missing = [name for name in _NEEDED if name not in recording]
        if missing:
            raise InputError(f"a recording to replay needs the column '{missing[0]}': 'footfall drive' records it")
        if len(recording) < 2:
            raise InputError("a recording to replay needs two rows at least")
        self.robot, self.recording = recording.robot, recording
        self.clock = self
        self.period = round(float(np.median(np.diff(recording.time))), 9)  # without the rounding of times
        self._times = recording.columns.get("robot_time", recording.time)
        self._columns = {name: recording[name] for name in _NEEDED}
        self.row, self._fresh = -1, False
        self.written: list[JointCommand] = []

    @property
    def ended(self) -> bool:
        return self.row >= len(self.recording) - 1

    # -- the clock: the next row, until there are no more
    def now(self) -> float:
        return float(self.recording.time[max(self.row, 0)])

    def wait(self) -> int:
        if self.ended:
            return 1
        self.row, self._fresh = self.row + 1, True
        if self.row == 0:
            return 1
        return max(1, round(float(self.recording.time[self.row] - self.recording.time[self.row - 1]) / self.period))

    def report(self) -> dict[str, Json]:
        return {}

    # -- the robot
    def read(self) -> RobotState | None:
        if not self._fresh:
            return None
        self._fresh, k, base = False, self.row, self.robot.nq - self.robot.nj
        q, v, torque, gyro, pull = (self._columns[name][k] for name in _NEEDED)
        load = np.full(self.robot.nf, np.nan)
        attitude = q[3:7] if self.robot.floating else np.array([1.0, 0.0, 0.0, 0.0])
        return RobotState(
            time=float(self._times[k]),
            position=q[base:],
            velocity=v[self.robot.nv - self.robot.nj :],
            torque=torque,
            attitude=attitude,
            imu=Inertial(pull, gyro),
            foot_load=load,
        )

    def write(self, command: JointCommand) -> None:
        self.written.append(command)

    def close(self) -> None:
        pass

    @property
    def torques(self) -> Float[ndarray, "T nj"]:
        """Return the feedforward torques of the last command [N m]."""
        return np.array([command.torque for command in self.written])


__all__ = ["Replay"]
