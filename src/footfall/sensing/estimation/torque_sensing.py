"""Joint torques from IMU, encoders and foot sensors, tick by tick, by the screw dynamics of Yan et al. 2021.

Accelerations are differences of readings, and differences of noise are large: every reading first passes the same
causal low-pass filter, so that all have equal delays and stay consistent. Stance feet are detected; forces on the
others are noise and are ignored. The torques then follow from eq. (19), with the moment that a spherical foot adds to
the paper's spherical joint. Plain NumPy, can be compiled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.checks import checked_number
from footfall.control.interface import Sensed, check_rate
from footfall.dynamics.formalisms.screw_system import screw_inverse_dynamics
from footfall.errors import InputError
from footfall.kinematics.jacobian import feet_jacobian
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import Gravity, weight_of
from footfall.spatial.quaternion import to_rotation
from nptrace._types import PyTree
from nptrace.array_types import Float

_LEAST = 0.05  # fraction of the weight, on a stance foot


@dataclass(frozen=True)
class LowPass:
    """Second-order Butterworth filter of ``cutoff`` [Hz] by the bilinear transform, for samples at ``rate`` [Hz]."""

    cutoff: float
    rate: float

    def __post_init__(self) -> None:
        check_rate(self.rate)
        checked_number(self.cutoff, "cutoff of a low pass [Hz]", 1e-3, 0.49 * self.rate)

    def start(self, count: int) -> dict[str, PyTree]:
        return {"before": np.zeros((4, count)), "begun": 0.0}

    def __call__(
        self, x: Float[ndarray, "n"], memory: dict[str, PyTree]
    ) -> tuple[Float[ndarray, "n"], dict[str, PyTree]]:
        """Return (the filtered sample, memory), from rest at the first sample."""
        k = math.tan(math.pi * self.cutoff / self.rate)
        scale = 1.0 / (1.0 + math.sqrt(2.0) * k + k * k)
        b, a_1, a_2 = k * k * scale, 2.0 * (k * k - 1.0) * scale, (1.0 - math.sqrt(2.0) * k + k * k) * scale
        x_1, x_2, y_1, y_2 = (np.where(memory["begun"] > 0.5, memory["before"][j], x) for j in range(4))
        y = b * (x + 2.0 * x_1 + x_2) - a_1 * y_1 - a_2 * y_2
        return y, {"before": np.stack([x, x_1, y, y_1]), "begun": 1.0}


@dataclass(frozen=True)
class TorqueSensing:
    """Joint torques computed from sensor readings at ``rate`` [Hz], filtered at ``cutoff`` [Hz].

    A foot with more than ``stands_from`` [N], or a twentieth of the weight, counts as in contact, unless an estimator
    decides.

        sensing = TorqueSensing(rate=1000.0)
        memory = sensing.start(robot)
        torques, memory = sensing(robot, sensed, memory)   # every tick, with sensors
    """

    rate: float = 1000.0
    cutoff: float = 40.0
    stands_from: float | None = None

    def __post_init__(self) -> None:
        LowPass(self.cutoff, self.rate)
        if self.stands_from is not None:
            checked_number(self.stands_from, "stands_from of TorqueSensing [N]", 0.0, 1e6)

    def start(self, robot: Robot) -> dict[str, PyTree]:
        if not robot.floating:
            raise InputError(f"robot '{robot.name}' has a fixed base: its torques need no IMU; use inverse_dynamics")
        count = 6 + 2 * robot.nj + 3 * robot.nf
        return {"filter": LowPass(self.cutoff, self.rate).start(count), "last": np.zeros(count), "begun": 0.0}

    def __call__(
        self, robot: Robot, sensed: Sensed, memory: dict[str, PyTree]
    ) -> tuple[Float[ndarray, "nj"], dict[str, PyTree]]:
        """Return (torques delayed by about the filter's delay, memory)."""
        nj = robot.nj
        readings = [sensed.gyro, sensed.v[6:], sensed.acceleration, sensed.q[7:], sensed.forces.reshape(-1)]
        y, kept = LowPass(self.cutoff, self.rate)(np.concatenate(readings), memory["filter"])
        last = np.where(memory["begun"] > 0.5, memory["last"], y)
        rates, change = y[: 3 + nj], (y - last)[: 3 + nj] * self.rate
        specific, joints = y[3 + nj : 6 + nj], y[6 + nj : 6 + 2 * nj]
        forces = y[6 + 2 * nj :].reshape(robot.nf, 3)
        least = _LEAST * weight_of(robot.mass, sensed.gravity) if self.stands_from is None else self.stands_from
        mode = np.where(forces[:, 2] > least, 1.0, 0.0) if sensed.contact is None else sensed.contact
        q = np.concatenate([sensed.q[:7], joints])
        # in a frame that moves with the base: its linear velocity, which is not measured, causes no forces
        v = np.concatenate([rates[:3], np.zeros(3), rates[3:]])
        base = np.concatenate([change[:3], specific + to_rotation(sensed.q[3:7]).T @ np.array(sensed.gravity)])
        torques = sensed_torques(robot, q, v, base, change[3:], mode[:, None] * forces, sensed.gravity)
        return torques, {"filter": kept, "last": y, "begun": 1.0}


def sensed_torques(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    base: Float[ndarray, "6"],
    joints: Float[ndarray, "nj"],
    forces: Float[ndarray, "nf 3"],
    gravity: Gravity | Float[ndarray, "3"],
) -> Float[ndarray, "nj"]:
    """Solve eq. (19) for accelerations of base and joints, and forces at the lowest points of the feet, world axes
    [N].
    """
    at_centers = screw_inverse_dynamics(robot, q, v, joints, forces, base, gravity=gravity).torques
    lower = feet_jacobian(robot, q, "contact", np.eye(3)) - feet_jacobian(robot, q, "world")
    return at_centers - sum((lower[k, 3:, 6:].T @ forces[k] for k in range(robot.nf)), start=np.zeros(robot.nj))
