"""Speed feedback on the stride: the commanded speed sets it, and the speed error is integrated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.control.interface import Sensed
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float


@dataclass(frozen=True)
class Strider:
    """A gait at one time, as pacing needs it: nominal speed [m/s], period [s], and the longest step in units of its
    stride.
    """

    speed: Scalar
    period: Scalar
    max_strides: Scalar

    def strides(
        self,
        speed_goal: Scalar,
        strides_des: Scalar,
        sensed: Sensed,
        memory: Float[ndarray, "2"],
        ramp: Scalar,
        rate: Scalar,
        dt: float,
    ) -> tuple[Operand, Float[ndarray, "2"]]:
        """Return (strides to take, memory): ``strides_des`` plus an integral of the error from ``speed_goal`` [m/s], at
        ``rate`` [1/s].

        The memory is the mean speed of the trunk over a cycle [m/s], and the addition to the stride.
        """
        R = to_rotation(sensed.q[3:7])
        velocity = R @ sensed.v[3:6]
        forward_speed = (R[0, 0] * velocity[0] + R[1, 0] * velocity[1]) / np.sqrt(
            R[0, 0] * R[0, 0] + R[1, 0] * R[1, 0] + 1e-12
        )
        mean = memory[0] + dt / self.period * (forward_speed - memory[0])
        integral = memory[1] + dt * rate * ramp * (ramp * speed_goal - mean) / self.speed
        # anti-windup: an integral that the legs cannot follow stays constant
        integral = np.clip(strides_des + integral, -self.max_strides, self.max_strides) - strides_des
        return np.clip(strides_des + memory[1], -self.max_strides, self.max_strides), np.stack([mean, integral])
