"""Continuous transitions between gaits: delays, duty, period, stride and height all change smoothly.

The oscillators perform the transition: their delays, frequency and duty are blended over time, and the phases follow,
since the coupling pulls them to the current delays. (The DynaKat report: "a gradual change into another gait".)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.errors import InputError
from footfall.gait import stance, swing
from footfall.gait.oscillators.networks import GaitTiming
from footfall.gait.oscillators.phase_equations import Kuramoto
from footfall.gait.pattern import Gait
from nptrace import select, smoothstep
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float


@dataclass(frozen=True)
class Transition:
    """A transition from the gait ``first`` to ``second`` that starts at ``begin`` and lasts ``duration`` [s].

    Knees must bend the same way in both.
    """

    first: Gait
    second: Gait
    begin: float = 4.0
    duration: float = 2.0

    def __post_init__(self) -> None:
        for gait in (self.first, self.second):
            if not isinstance(gait, Gait):
                raise InputError(f"a transition needs two Gaits, such as gait.trot(), got {type(gait).__name__}")
        for key, least in (("begin", 0.0), ("duration", 1e-3)):
            value = getattr(self, key)
            if not isinstance(value, (int, float)) or not np.isfinite(value) or value < least:
                raise InputError(f"{key} of a transition must be at least {least:g} s, got {value!r}")
        if self.first.knees != self.second.knees:
            raise InputError(
                f"knees cannot change direction while walking: gait '{self.first.name}' has {self.first.knees},"
                f" '{self.second.name}' has {self.second.knees}"
            )

    def blend_at(self, t: Scalar) -> Scalar:
        """Return the blending factor: 0 before, 1 after, rising smoothly between."""
        return smoothstep((t - self.begin) / self.duration)

    def blend(self, key: str, t: Scalar) -> Scalar:
        """Return a parameter of the blended gaits at time t, such as ``duty`` or ``half_stride``."""
        return self.between(key, self.blend_at(t))

    def between(self, key: str, blend: Scalar) -> Operand:
        """Return a parameter of a blend of both gaits."""
        a, b = getattr(self.first, key), getattr(self.second, key)
        return a + (b - a) * blend

    def delays(self, t: Scalar) -> list[Scalar]:
        """Return the delays at time t [cycles]: each leg takes the shorter direction around its cycle."""
        return self.delays_between(self.blend_at(t))

    def delays_between(self, blend: Scalar) -> list[Scalar]:
        changes = [b - a - round(b - a) for a, b in zip(self.first.delays, self.second.delays)]
        return [a + change * blend for a, change in zip(self.first.delays, changes)]

    def timing(self, t: Scalar) -> GaitTiming:
        """Return the timing of the oscillators at time t."""
        return self.timing_between(self.blend_at(t))

    def timing_between(self, blend: Scalar) -> GaitTiming:
        return GaitTiming(self.delays_between(blend), self.between("duty", blend), self.between("period", blend))

    def advance(self, phase: Float[ndarray, "4"], t: Operand, dt: float, coupling: float = 4.0) -> Float[ndarray, "4"]:
        """Return the phases [cycles] a time dt [s] later, by Kuramoto's oscillators."""
        oscillators = Kuramoto.of(self.first, coupling)
        return oscillators.advance(phase, dt, self.delays(t), 1.0 / self.blend("period", t))

    def foot_offset(self, phase: Float[ndarray, "4"], t: Scalar) -> tuple[Float[ndarray, "4"], Float[ndarray, "4"]]:
        """Return offsets (x, z) [m] of the feet from their positions below the hips, for the blended gait."""
        return self.offset_between(phase, self.blend_at(t))

    def offset_between(
        self, phase: Float[ndarray, "4"], blend: Operand, extra_clearance: Operand = 0.0
    ) -> tuple[Float[ndarray, "4"], Float[ndarray, "4"]]:
        """Return the offsets of a blend of the two gaits; ``extra_clearance`` [m] is added to the height of swings."""
        duty, L, height = (self.between(key, blend) for key in ("duty", "half_stride", "height"))
        x_stance, z_stance = stance.position(phase / duty, L, self.between("depth", blend))
        x_swing, z_swing = swing.NORMALISED.position(np.clip((phase - duty) / (1.0 - duty), 0.0, 1.0))
        down = phase < duty
        return select(down, x_stance, L * x_swing), select(down, z_stance, (height + extra_clearance) * z_swing)
