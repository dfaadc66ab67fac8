"""States and commands as plain C structures, for controllers and robots in other processes.

All numbers have eight bytes, little-endian, so that nothing is padded. For n joints and f feet:

    struct state   { uint64_t count; double time, position[n], velocity[n], torque[n], attitude[4], gyro[3],
                     acceleration[3], foot_load[f]; };
    struct command { uint64_t count; double position[n], velocity[n], kp[n], kd[n], torque[n]; };
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from footfall.control.interface import Inertial, JointCommand
from footfall.hardware.connection import RobotState
from footfall.robot.model.description import Robot

_COMMAND = ("position", "velocity", "kp", "kd", "torque")


@dataclass(frozen=True)
class Structs:
    """Convert between bytes and the states and commands of one robot."""

    robot: Robot

    @property
    def state_size(self) -> int:
        return 8 * (2 + 3 * self.robot.nj + 10 + self.robot.nf)

    @property
    def command_size(self) -> int:
        return 8 * (1 + 5 * self.robot.nj)

    def pack_state(self, state: RobotState, count: int) -> bytes:
        parts = (state.position, state.velocity, state.torque, state.attitude, state.imu.gyro, state.imu.acceleration)
        numbers = np.concatenate([[state.time], *parts, state.foot_load]).astype("<f8")
        return np.array([count], "<u8").tobytes() + numbers.tobytes()

    def state(self, data: bytes) -> tuple[int, RobotState]:
        """Return (count, state)."""
        n, numbers = self.robot.nj, np.frombuffer(data, "<f8", offset=8)
        time, q, v, torque, attitude, gyro, pull, load = np.split(numbers, np.cumsum([1, n, n, n, 4, 3, 3]))
        imu = Inertial(pull.copy(), gyro.copy())
        found = RobotState(
            time=float(time[0]),
            position=q.copy(),
            velocity=v.copy(),
            torque=torque.copy(),
            attitude=attitude.copy(),
            imu=imu,
            foot_load=load.copy(),
        )
        return int(np.frombuffer(data, "<u8", 1)[0]), found

    def pack_command(self, command: JointCommand, count: int) -> bytes:
        command = command.broadcast(self.robot.nj)
        numbers = np.concatenate([getattr(command, key) for key in _COMMAND]).astype("<f8")
        return np.array([count], "<u8").tobytes() + numbers.tobytes()

    def command(self, data: bytes) -> tuple[int, JointCommand]:
        """Return (count, command)."""
        rows = np.frombuffer(data, "<f8", offset=8).reshape(5, self.robot.nj).copy()
        return int(np.frombuffer(data, "<u8", 1)[0]), JointCommand(**dict(zip(_COMMAND, rows)))


assert {f.name for f in dataclasses.fields(JointCommand)} == set(_COMMAND)

__all__ = ["Structs"]
