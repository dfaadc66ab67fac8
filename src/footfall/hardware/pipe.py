"""A robot or a controller behind standard input and output: structures of ``hardware.structs``, in sequence.

``PipeConnection`` is a robot in another process. ``ProcessController`` is a controller in another process, such as one
in C: it reads a state and answers with a command, in step with the simulation.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import select
import subprocess
import time
from collections.abc import Sequence

import numpy as np

from footfall.control.interface import Command, Inertial, JointCommand, Sensed, check_rate
from footfall.errors import FootfallError, InputError
from footfall.hardware.clock import Clock, RealTime
from footfall.hardware.connection import RobotState
from footfall.hardware.structs import Structs
from footfall.kinematics.forward import joint_positions, joint_rates
from footfall.robot.model.description import Robot
from nptrace._types import PyTree


class PipeBroken(FootfallError):
    """The process at the other end has exited, or sends nothing."""


class Inlet:
    """Read whole structures from a file descriptor."""

    def __init__(self, descriptor: int, size: int) -> None:
        self.descriptor, self.size, self._rest = descriptor, size, b""

    def newest(self) -> bytes | None:
        """Return the last whole structure received, without waiting; raise PipeBroken at the end."""
        found = None
        while select.select([self.descriptor], [], [], 0.0)[0]:
            self._fill()
        while len(self._rest) >= self.size:
            found, self._rest = self._rest[: self.size], self._rest[self.size :]
        return found

    def next(self, timeout: float) -> bytes:
        """Wait for the next structure and return it."""
        end = time.monotonic() + timeout
        while len(self._rest) < self.size:
            if not select.select([self.descriptor], [], [], max(0.0, end - time.monotonic()))[0]:
                raise PipeBroken(f"the process at the other end sent nothing for {timeout:g} s")
            self._fill()
        found, self._rest = self._rest[: self.size], self._rest[self.size :]
        return found

    def line(self, timeout: float) -> str:
        """Wait for the next line and return it."""
        end = time.monotonic() + timeout
        while b"\n" not in self._rest:
            if not select.select([self.descriptor], [], [], max(0.0, end - time.monotonic()))[0]:
                raise PipeBroken(f"the process at the other end sent nothing for {timeout:g} s")
            self._fill()
        found, _, self._rest = self._rest.partition(b"\n")
        return found.decode("ascii", "replace")

    def _fill(self) -> None:
        data = os.read(self.descriptor, 1 << 16)
        if not data:
            raise PipeBroken("the process at the other end has closed its pipe")
        self._rest += data


def send(descriptor: int, data: bytes) -> None:
    """Send all bytes; raise PipeBroken if the other end is closed."""
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        raise PipeBroken("the process at the other end has closed its pipe") from None


class PipeConnection:
    """A connection that reads states from one file descriptor and writes commands to another, such as 0 and 1."""

    def __init__(
        self, robot: Robot, states: int, commands: int, clock: Clock | None = None, rate: float = 500.0
    ) -> None:
        self.robot, self._structs = robot, Structs(robot)
        self._inlet, self._out = Inlet(states, self._structs.state_size), commands
        self.clock: Clock = clock if clock is not None else RealTime(period=1.0 / rate, patience=1.0 / rate)
        self._count = 0

    def read(self) -> RobotState | None:
        data = self._inlet.newest()
        return None if data is None else self._structs.state(data)[1]

    def write(self, command: JointCommand) -> None:
        self._count += 1
        send(self._out, self._structs.pack_command(command, self._count))

    def close(self) -> None:
        pass


class ProcessController:
    """A controller in another program, which reads states from its standard input and writes commands.

    ``patience`` [s]: a run fails if the program does not answer within this time. ``lines``: the program was written by
    ``footfall export ROBOT locomotion`` (``locomotion_main.c``): it gets q, v, the forces on the feet and the command
    (forward, sideways, turn, height, roll, pitch) as a line of numbers, and answers with one: position, velocity, kp,
    kd, torque.
    """

    def __init__(self, program: Sequence[str], rate: float = 500.0, patience: float = 2.0, lines: bool = False) -> None:
        check_rate(rate)
        if not program:
            raise InputError("a controller in another process needs the name of its program")
        self.program, self.rate, self.patience, self.lines = tuple(program), rate, patience, lines
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, robot: Robot) -> dict[str, PyTree]:
        self.close()
        self._structs = Structs(robot)
        try:
            self._process = subprocess.Popen(self.program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        except OSError as error:
            raise InputError(f"cannot start the controller {self.program[0]}: {error.strerror}") from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._outlet = self._process.stdin.fileno()
        self._inlet = Inlet(self._process.stdout.fileno(), self._structs.command_size)
        return {"count": 0.0}

    def prepare(self, *_: object) -> None:
        """Do nothing; marks a controller that runs between compiled steps."""

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        if self.lines:
            return self._by_lines(robot, sensed, command), memory
        load = np.linalg.norm(sensed.forces if sensed.foot_force is None else sensed.foot_force, axis=1)
        attitude = sensed.q[3:7] if robot.floating else np.array([1.0, 0.0, 0.0, 0.0])
        state = RobotState(
            time=t,
            position=joint_positions(robot, sensed.q),
            velocity=joint_rates(robot, sensed.v),
            torque=np.zeros(robot.nj),
            attitude=attitude,
            imu=Inertial(sensed.acceleration, sensed.gyro),
            foot_load=load,
        )
        count = int(memory["count"]) + 1
        send(self._outlet, self._structs.pack_state(state, count))
        answered, requested = self._structs.command(self._inlet.next(self.patience))
        if answered != count:
            raise PipeBroken(f"the controller {self.program[0]} answered state {answered} when it was sent {count}")
        return requested, {"count": float(count)}

    def _by_lines(self, robot: Robot, sensed: Sensed, command: Command) -> JointCommand:
        told = np.concatenate([sensed.q, sensed.v, np.ravel(sensed.forces), dataclasses.astuple(command)])
        send(self._outlet, (" ".join(float(x).hex() for x in told) + "\n").encode())
        line = self._inlet.line(self.patience)
        try:
            rows = np.array([float(x) for x in line.split()]).reshape(5, robot.nj)
        except ValueError:
            raise PipeBroken(
                f"the controller {self.program[0]} answered {line[:40]!r}, not {5 * robot.nj} numbers"
            ) from None
        return JointCommand(*rows)

    def close(self) -> None:
        """End the program if it runs."""
        if self._process is not None:
            for pipe in filter(None, (self._process.stdin, self._process.stdout)):
                with contextlib.suppress(OSError):
                    pipe.close()
            try:
                self._process.wait(1.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def __del__(self) -> None:
        self.close()


__all__ = ["Inlet", "PipeBroken", "PipeConnection", "ProcessController", "send"]
