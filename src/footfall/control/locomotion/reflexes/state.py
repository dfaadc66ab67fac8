"""The memory of reflexes from one tick to the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.control.locomotion.reflexes.switches import NAMES, Reflexes
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float


@dataclass(frozen=True, kw_only=True)
class ReflexMemory:
    """Part of a plan's memory; logs are made from ``acting``."""

    enabled: Float[ndarray, "9"]  # switches, in the order of NAMES
    acting: Float[ndarray, "9 4"]  # 1 where a reflex acts on a leg; those of the trunk act on all legs
    late_for: Float[ndarray, "4"]  # how long a foot has been late [s]
    slipping_for: Float[ndarray, "4"]  # how long a loaded foot has been sliding [s]
    friction: float  # friction that the controller assumes
    blocked_for: Float[ndarray, "4"]  # how long an obstacle has been in a foot's way [s]
    repeat_left: Float[ndarray, "4"]  # time left of a swing restarted after a stumble [s]
    repeat_time: Float[ndarray, "4"]  # total duration of the restarted swing [s]
    extra_clearance: Float[ndarray, "4"]  # additional clearance [m]
    alarm: Scalar  # time left of a sidestep [s]
    falling_for: Scalar  # how long a fall has been certain [s]
    folded: Scalar  # 1 once the legs fold
    unevenness: Scalar  # mean square of touchdown heights relative to the expected ground [m²]
    gear: Scalar  # gear of the gaits by speed

    @staticmethod
    def at_start(reflexes: Reflexes, friction: float) -> ReflexMemory:
        none = np.zeros(4)
        return ReflexMemory(
            enabled=reflexes.numbers(),
            acting=np.zeros((len(NAMES), 4)),
            late_for=none,
            slipping_for=none,
            friction=friction,
            blocked_for=none,
            repeat_left=none,
            repeat_time=none,
            extra_clearance=none,
            alarm=0.0,
            falling_for=0.0,
            folded=0.0,
            unevenness=0.0,
            gear=0.0,
        )

    def has(self, name: str) -> Operand:
        return self.enabled[NAMES.index(name)] > 0.5


def acting(legs: dict[str, PyTree], trunk: dict[str, PyTree], gear: Scalar) -> Float[ndarray, "9 4"]:
    """Return which reflex acts on which leg, in the order of NAMES; the last row is the gear of the gaits by speed."""
    ones = np.ones(4)
    rows = {name: np.where(which, 1.0, 0.0) for name, which in legs.items()}
    rows |= {name: np.where(which, 1.0, 0.0) * ones for name, which in trunk.items()}
    rows["speed_gait"] = gear * ones
    return np.stack([rows[name] for name in NAMES])


def is_acting(memory: ReflexMemory, name: str, value: Operand, threshold: float) -> Operand:
    """Return whether a response acts: from a threshold on, until the value falls to half of it."""
    before = memory.acting[NAMES.index(name), 0] > 0.5
    return memory.has(name) & (value > np.where(before, 0.5 * threshold, threshold))
