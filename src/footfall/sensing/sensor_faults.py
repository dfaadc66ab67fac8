"""Sensor faults: no reading, a frozen one, one stuck at a value, an offset; from a time on, for some time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.checks import checked_number, positive_number
from footfall.errors import InputError, unknown
from nptrace._types import Scalar
from nptrace.array_types import Float

KINDS = ("missing", "frozen", "stuck", "bias")
SENSORS = ("acceleration", "gyro", "attitude", "position", "velocity", "force")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A sensor fault: ``Sensors(faults=(Fault("gyro", "missing", start=2.0, duration=0.1),))``.

    missing: NaN; frozen: the last good sample; stuck: at ``value``; bias: ``value`` is added, in the sensor's unit.
    start and duration [s]. axes: which of the sensor's numbers (the force on foot k has 3 k to 3 k + 2), all unless
    given.
    """

    sensor: str
    kind: str = "missing"
    start: float = 0.0
    duration: float = np.inf
    value: float = 0.0
    axes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.sensor not in SENSORS:
            raise unknown("sensor of a fault", self.sensor, SENSORS)
        if self.kind not in KINDS:
            raise unknown("kind of fault", self.kind, KINDS)
        for key in ("start", "value"):
            least = 0.0 if key == "start" else -np.inf
            object.__setattr__(self, key, float(checked_number(getattr(self, key), f"{key} of a fault", least)))
        if self.duration != np.inf:
            positive_number(self.duration, "the duration of a fault")
        if self.axes is not None:
            object.__setattr__(self, "axes", tuple(int(k) for k in self.axes))

    def check(self, size: int) -> None:
        """Raise for an axis that a sensor of ``size`` numbers lacks."""
        if self.axes is not None and not all(0 <= k < size for k in self.axes):
            raise InputError(f"the {self.sensor} sensor has the axes 0 to {size - 1}, a fault names {list(self.axes)}")

    def apply(self, sample: Float[ndarray, "n"], t: Scalar, held: Float[ndarray, "n"]) -> tuple[ndarray, ndarray]:
        """Return (the reading at time t, the sample held from now on)."""
        acts = (t > self.start - 1e-9) & (t < self.start + self.duration - 1e-9)
        wrong = {"missing": np.nan * np.ones(len(sample)), "frozen": held, "bias": sample + self.value}.get(
            self.kind, self.value * np.ones(len(sample))
        )
        hit = np.ones(len(sample))
        if self.axes is not None:
            hit = np.array([float(k in self.axes) for k in range(len(sample))])
        return np.where(acts & (hit > 0.5), wrong, sample), np.where(acts, held, sample)


__all__ = ["KINDS", "SENSORS", "Fault"]
