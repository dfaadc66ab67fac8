"""One configuration for every robot: constants are those of the Mini Cheetah's size, and others scale with the robot.

Dynamic similarity (Alexander & Jayes 1983): of two robots that differ by a length alone, lengths scale with the height
of the trunk, times and speeds with its root, forces with the mass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

from footfall.robot.model.description import Robot

HEIGHT, MASS = 0.28601890993604734, 8.912  # of the Mini Cheetah that stands [m], and of all of it [kg]
_DIGITS = 6  # so that the Mini Cheetah is exactly 1, however its mass is summed
Range = tuple[float, float]


@dataclass(frozen=True)
class Size:
    """How a robot compares with the Mini Cheetah."""

    length: float
    mass: float

    @staticmethod
    def of(robot: Robot) -> Size:
        return Size(round(robot.poses["stand"].height / HEIGHT, _DIGITS), round(robot.mass / MASS, _DIGITS))

    @property
    def time(self) -> float:
        return sqrt(self.length)

    @property
    def speed(self) -> float:
        return sqrt(self.length)

    @property
    def impulse(self) -> float:
        return self.mass * self.speed

    @property
    def power(self) -> float:
        return self.mass * self.speed

    def commands(self, ranges: Mapping[str, Range]) -> dict[str, Range]:
        """Ranges of forward, sideways [m/s] and turn [rad/s] of a robot of this size."""
        factor = {"forward": self.speed, "sideways": self.speed, "turn": 1.0 / self.time}
        return {key: (factor[key] * low, factor[key] * high) for key, (low, high) in ranges.items()}
