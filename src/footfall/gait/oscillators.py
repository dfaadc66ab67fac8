"""Oscillators that give the legs their phases: a central pattern generator, as in section 6.2 of de Paula et al. 2024.

The paper does not say which kind it uses; phase oscillators after Kuramoto are the default here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.errors import InputError
from footfall.gait.pattern import Gait


@dataclass(frozen=True)
class Kuramoto:
    """Phase oscillators: θ̇_i = 2π f + Σ_j K sin(θ_j - θ_i - φ_ij), with φ_ij = -2π (d_j - d_i) for delays d.

    Phases are kept in cycles, θ / 2π. Every gait table locks from almost every start, at a rate of n K near the lock.
    """

    delays: tuple[float, ...]  # [cycles]
    frequency: float  # f [Hz]
    coupling: float = 4.0  # K [1/s]

    def __post_init__(self) -> None:
        values = (*self.delays, self.frequency, self.coupling)
        if not all(map(math.isfinite, values)):
            raise InputError(f"delays, frequency and coupling of oscillators must be finite, got {values}")
        if self.coupling < 0:
            raise InputError(f"coupling of oscillators must be 0 or more, got {self.coupling}")

    @staticmethod
    def of(gait: Gait, coupling: float = 4.0) -> Kuramoto:
        """The oscillators of a gait."""
        return Kuramoto(gait.delays, gait.frequency, coupling)

    def start(self) -> Float[ndarray, "n"]:
        """Locked phases [cycles] at time 0, when the first leg's stance begins."""
        cycles = -np.array(self.delays)
        return cycles - np.floor(cycles)

    def rates(self, phase: Float[ndarray, "n"]) -> Float[ndarray, "n"]:
        """dφ/dt [cycles/s]. A pair pulls its two members by opposite amounts, so each sine is taken once."""
        n, d = len(self.delays), self.delays
        pull = [0.0] * n
        for i in range(n):
            for j in range(i + 1, n):
                angle = 2.0 * np.pi * (phase[j] - phase[i] + (d[j] - d[i]))
                force = np.sin(angle)
                pull[i] = pull[i] + force
                pull[j] = pull[j] - force
        return np.stack([self.frequency + self.coupling / (2.0 * np.pi) * p for p in pull])

    def advance(self, phase: Float[ndarray, "n"], dt: float) -> Float[ndarray, "n"]:
        """Phases [cycles], in [0, 1), after dt [s] (explicit Euler: exact while locked)."""
        cycles = phase + dt * self.rates(phase)
        return cycles - np.floor(cycles)

    def error(self, phase: Float[ndarray, "n"]) -> Float[ndarray, "n"]:
        """How far each leg is from its place after the first leg [cycles], in [-1/2, 1/2]."""
        off = phase - phase[0] + (np.array(self.delays) - self.delays[0])
        return off - np.round(off)
