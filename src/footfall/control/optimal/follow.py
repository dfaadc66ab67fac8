"""Follow an optimised trajectory: its torques, and its gains on the deviation of the robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

import nptrace
from footfall.control.interface import Command, Controller, JointCommand, Sensed
from footfall.control.optimal.trajectory import Trajectory
from footfall.dynamics.coordinates import difference
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from nptrace.array_types import Float


@dataclass(frozen=True, kw_only=True)
class Follow(Controller):
    """Knot k at k / rate seconds: u_k + K_k (deviation from x_k) within the limits; without gains open loop.

    After the last knot its torques and gains remain.
    """

    x: Float[ndarray, "K nx"]
    u: Float[ndarray, "N nj"]
    gains: Float[ndarray, "N flat"]  # each matrix in row order
    limits: Float[ndarray, "nj"]  # limits of the torques [N m]
    damping: float  # joint damping with which the trajectory was optimised [N m s/rad]
    rate: float  # knots per second

    @staticmethod
    def of(trajectory: Trajectory, limits: ndarray, damping: float, rate: float, feedback: bool = True) -> Follow:
        gains = trajectory.gains if feedback else np.zeros_like(trajectory.gains)
        return Follow(
            x=np.array(trajectory.x),
            u=np.array(trajectory.u),
            gains=gains.reshape(len(gains), -1),
            limits=limits,
            damping=damping,
            rate=rate,
        )

    def start(self, robot: Robot) -> dict[str, ndarray]:
        if self.x.shape[1] != robot.nq + robot.nv or self.u.shape[1] != robot.nj:
            raise InputError(f"this trajectory was made for a robot other than '{robot.name}'")
        return {}

    def posture(self, robot: Robot) -> Float[ndarray, "nj"]:
        return self.x[0, robot.nq - robot.nj : robot.nq]

    def command_limits(self, robot: Robot) -> dict[str, float]:
        """Return an empty dictionary: it follows its trajectory."""
        return {}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        knot = t * self.rate + 0.5  # half a knot, against rounding
        x, u = _row(self.x, knot), _row(self.u, knot)
        if not self.gains.any():
            torque = u
        else:
            deviation = np.concatenate([difference(robot, x[: robot.nq], sensed.q), sensed.v - x[robot.nq :]])
            torque = u + _row(self.gains, knot).reshape(robot.nj, 2 * robot.nv) @ deviation
        return JointCommand(kd=self.damping, torque=np.clip(torque, -self.limits, self.limits)), memory


def _row(table: ndarray, at: float) -> ndarray:
    return np.stack([nptrace.lookup(table, at, float(j)) for j in range(table.shape[1])])
