"""A robot and its controller in shared memory, such as a file in /dev/shm, without copies through the kernel.

The file holds a state and a command (``hardware.structs``), each preceded by a counter that is odd during a write and
grows by two with each. A reader that finds it odd, or changed, reads again.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import numpy as np

from footfall.control.interface import JointCommand
from footfall.errors import FootfallError, InputError
from footfall.hardware.clock import Clock, RealTime
from footfall.hardware.connection import RobotState
from footfall.hardware.structs import Structs
from footfall.robot.model.description import Robot

_TRIES = 1000


class _Place:
    """One structure in the memory."""

    def __init__(self, memory: mmap.mmap, offset: int, size: int) -> None:
        self._memory, self._offset, self._size = memory, offset, size
        self._turn = np.frombuffer(memory, "<u8", 1, offset)
        self._seen = 0

    def put(self, data: bytes) -> None:
        self._turn[0] |= np.uint64(1)
        start = self._offset + 8
        self._memory[start : start + self._size] = data
        self._turn[0] += np.uint64(1)

    def take(self) -> bytes | None:
        """Return what was written since the last call; None if nothing was."""
        for _ in range(_TRIES):
            before = int(self._turn[0])
            if before == self._seen:
                return None
            if before % 2:
                continue
            start = self._offset + 8
            data = bytes(self._memory[start : start + self._size])
            if int(self._turn[0]) == before:
                self._seen = before
                return data
        return None  # the writer has stopped in the middle of a write


class _Shared:
    def __init__(self, path: str | Path, robot: Robot, create: bool) -> None:
        structs = self._structs = Structs(robot)
        size = 16 + structs.state_size + structs.command_size
        flags = os.O_RDWR | (os.O_CREAT | os.O_TRUNC if create else 0)
        try:
            descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise InputError(f"cannot open the shared memory {path}: {error.strerror}") from None
        try:
            if create:
                os.ftruncate(descriptor, size)
            elif os.fstat(descriptor).st_size != size:
                raise FootfallError(
                    f"the shared memory {path} has {os.fstat(descriptor).st_size} bytes, not the {size} of a robot with"
                    f" {robot.nj} joints and {robot.nf} feet"
                )
            memory = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
        self._state = _Place(memory, 0, structs.state_size)
        self._command = _Place(memory, 8 + structs.state_size, structs.command_size)
        self._count = 0


class SharedConnection(_Shared):
    """The controller's side of a connection by shared memory; the robot's side creates the memory."""

    def __init__(self, path: str | Path, robot: Robot, clock: Clock | None = None, rate: float = 500.0) -> None:
        super().__init__(path, robot, create=False)
        self.robot = robot
        self.clock: Clock = clock if clock is not None else RealTime(period=1.0 / rate, patience=1.0 / rate)

    def read(self) -> RobotState | None:
        data = self._state.take()
        return None if data is None else self._structs.state(data)[1]

    def write(self, command: JointCommand) -> None:
        self._count += 1
        self._command.put(self._structs.pack_command(command, self._count))

    def close(self) -> None:
        pass


class SharedRobot(_Shared):
    """The robot's side of a connection by shared memory: writes states, reads commands."""

    def __init__(self, path: str | Path, robot: Robot) -> None:
        super().__init__(path, robot, create=True)

    def say(self, state: RobotState) -> None:
        self._count += 1
        self._state.put(self._structs.pack_state(state, self._count))

    def hear(self) -> JointCommand | None:
        """Return the command written since the last call, if any."""
        data = self._command.take()
        return None if data is None else self._structs.command(data)[1]


__all__ = ["SharedConnection", "SharedRobot"]
