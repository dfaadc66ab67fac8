"""Closed loop on the stride: the commanded speed sets it, and what the trunk's own speed lacks is added in time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import Sensed
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Scalar


@dataclass(frozen=True)
class Strider:
    """What pacing needs of a gait at a moment: nominal speed [m/s], period [s], and the most strides that its legs
    can take, in strides of its own."""

    speed: Scalar
    period: Scalar
    most: Scalar

    def strides(
        self,
        goal: Scalar,
        wanted: Scalar,
        sensed: Sensed,
        memory: Float[ndarray, "2"],
        ramp: Scalar,
        rate: Scalar,
        dt: float,
    ) -> tuple[Scalar, Float[ndarray, "2"]]:
        """(strides to take, memory): those ``wanted``, and an integral of what the speed lacks of ``goal`` [m/s], at
        ``rate`` [1/s].

        The memory is the speed of the trunk, a cycle's mean [m/s], and what is added to the stride.
        """
        R = to_rotation(sensed.q[3:7])
        velocity = R @ sensed.v[3:6]
        ahead = (R[0, 0] * velocity[0] + R[1, 0] * velocity[1]) / np.sqrt(R[0, 0] * R[0, 0] + R[1, 0] * R[1, 0] + 1e-12)
        mean = memory[0] + dt / self.period * (ahead - memory[0])
        lack = memory[1] + dt * rate * ramp * (ramp * goal - mean) / self.speed
        lack = np.clip(wanted + lack, -self.most, self.most) - wanted  # an integral that the legs cannot follow stays
        return np.clip(wanted + memory[1], -self.most, self.most), np.stack([mean, lack])
