"""The input of a controller: states, forces and readings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.spatial.gravity import GRAVITY, Gravity
from footfall.spatial.quaternion import to_rotation
from nptrace.array_types import Float


@dataclass(frozen=True)
class Inertial:
    """The readings of an IMU, in its axes: specific force [m/s²] (g upwards at rest) and angular velocity [rad/s]."""

    acceleration: Float[ndarray, "3"]
    gyro: Float[ndarray, "3"]


@dataclass(frozen=True, kw_only=True)
class Sensed:
    """What a controller receives: state and foot forces, true values unless the simulation has sensors."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    forces: Float[ndarray, "nf 3"]  # forces on the feet, world axes [N]
    imu: Inertial | None = None  # with sensors only
    # forces on the feet, base axes [N]: as measured, with sensors only
    foot_force: Float[ndarray, "nf 3"] | None = None
    gravity: Gravity = GRAVITY  # gravity at the robot, world axes [m/s²]: known, not measured
    contact: Float[ndarray, "nf"] | None = None  # the contact mode, 1 for a stance foot: with an estimator only

    @property
    def gyro(self) -> Float[ndarray, "3"]:
        """Return the angular velocity [rad/s]: the IMU's, or without one that of the base in its own axes."""
        if self.imu is not None:
            return self.imu.gyro
        return self.v[:3] if self._floating else np.zeros(3)

    @property
    def acceleration(self) -> Float[ndarray, "3"]:
        """Return the specific force [m/s²]: the IMU's reading, or without an IMU that of a base at constant
        velocity.
        """
        if self.imu is not None:
            return self.imu.acceleration
        up = np.zeros(3) - np.array(self.gravity)
        return to_rotation(self.q[3:7]).T @ up if self._floating else up

    @property
    def _floating(self) -> bool:
        return self.q.shape[0] == self.v.shape[0] + 1
