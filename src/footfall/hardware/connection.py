"""The interface between a controller and a remote robot: read its state, write a command, keep time.

A controller's program uses a ``Connection``. It is the same for a simulation, a robot on DDS, a replayed recording, and
another process behind a pipe or shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy import ndarray

from footfall.control.interface import Inertial, JointCommand, Sensed
from footfall.control.stand_gains import DAMPING, supported_weight
from footfall.hardware.clock import Clock
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, Gravity
from footfall.spatial.quaternion import to_rotation
from nptrace.array_types import Float


@dataclass(frozen=True, kw_only=True)
class RobotState:
    """The state that a robot reports, in footfall's order of joints and feet; its position is not known.

    ``foot_load``: foot loads [N], NaN without a sensor.
    """

    time: float  # time of the robot's clock [s]
    position: Float[ndarray, "nj"]  # [rad]
    velocity: Float[ndarray, "nj"]  # [rad/s]
    torque: Float[ndarray, "nj"]  # [N m]
    attitude: Float[ndarray, "4"]  # the IMU's estimate, as w x y z
    imu: Inertial
    foot_load: Float[ndarray, "nf"]

    @property
    def finite(self) -> bool:
        """Return whether all values except the foot loads are finite."""
        imu = (self.imu.acceleration, self.imu.gyro)
        parts = (self.position, self.velocity, self.torque, self.attitude, *imu)
        return bool(np.isfinite(self.time) and all(np.isfinite(part).all() for part in parts))

    def sensed(self, gravity: Gravity = GRAVITY) -> Sensed:
        """Return the state as a controller sees it: the base at the origin and at rest, since no sensor measures its
        motion.
        """
        R_WB = to_rotation(self.attitude)
        forces_B = np.outer(self.foot_load, R_WB[2])  # forces along the vertical, in base axes
        q = np.concatenate([np.zeros(3), self.attitude, self.position])
        v = np.concatenate([self.imu.gyro, np.zeros(3), self.velocity])
        return Sensed(q=q, v=v, forces=forces_B @ R_WB.T, imu=self.imu, foot_force=forces_B, gravity=gravity)


@runtime_checkable
class Connection(Protocol):
    """The base class of connections to a robot, real or simulated."""

    @property
    def robot(self) -> Robot: ...

    @property
    def clock(self) -> Clock:
        """Return the clock that paces the control loop."""
        ...

    def read(self) -> RobotState | None:
        """Return the newest state that has not been read before, or None."""
        ...

    def write(self, command: JointCommand) -> None:
        """Send a command; the robot holds it until the next one, or until a timeout."""
        ...

    def close(self) -> None: ...


STILL = 0.1  # [rad/s]: a faster joint must have a different position in the next state


def is_newer(state: RobotState, last: RobotState | None) -> bool:
    """Return whether a state was measured after another one, not merely sent again.

    The robot's own clock has to have advanced (one that is not finite is left to the limits). While joints are reported
    to move, neither they nor the IMU may repeat bit for bit what they measured before.
    """
    if last is None or not np.isfinite(state.time):
        return True
    if state.time <= last.time:
        return False
    if not np.max(np.abs(state.velocity), initial=0.0) > STILL:
        return True
    joints = ((state.position, last.position), (state.velocity, last.velocity))
    imu = ((state.imu.gyro, last.imu.gyro), (state.imu.acceleration, last.imu.acceleration))
    return not any(all(np.array_equal(new, old) for new, old in pairs) for pairs in (joints, imu))


def damping(robot: Robot, gravity: Gravity = GRAVITY) -> JointCommand:
    """Return the damping command, under which the robot sinks down: both sides use it when communication is lost."""
    return JointCommand(kd=float(DAMPING * supported_weight(robot, gravity))).broadcast(robot.nj)


@dataclass
class Watchdog:
    """Detect that nothing was received for longer than ``patience`` [s]."""

    patience: float
    last: float = field(default=-np.inf)
    barked: int = 0  # how often silence started

    def feed(self, now: float) -> None:
        self.last = now
        self._missing = False

    def silent(self, now: float) -> bool:
        """Return whether states have been missing for too long, without counting it."""
        return now - self.last > self.patience

    def starved(self, now: float) -> bool:
        missing = self.silent(now)
        self.barked += missing and not self._missing
        self._missing = missing
        return missing

    _missing: bool = False


__all__ = ["Connection", "RobotState", "Watchdog", "damping", "is_newer"]
