"""Kuramoto phase oscillators as a network, whose state is the phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.gait.oscillators.networks.interface import GaitTiming, landing
from footfall.gait.oscillators.phase_equations import Kuramoto
from nptrace.array_types import Float


@dataclass(frozen=True)
class KuramotoNetwork:
    """A network of Kuramoto oscillators, θ̇_i = 2π f + Σ_j K sin(θ_j - θ_i - φ_ij); it locks from almost every start."""

    coupling: float = 4.0  # K [1/s]

    def start(self, timing: GaitTiming) -> Float[ndarray, "n"]:
        return timing.first_phase

    def phase(self, state: Float[ndarray, "n"], timing: GaitTiming) -> Float[ndarray, "n"]:
        return state

    def advance(self, state: Float[ndarray, "n"], dt: float, timing: GaitTiming) -> Float[ndarray, "n"]:
        still = Kuramoto((0.0,) * len(timing.delays), 1.0, self.coupling)
        return still.advance(state, dt, timing.delays, 1.0 / timing.period)

    def touchdown(
        self, state: Float[ndarray, "n"], contact: Float[ndarray, "n"], timing: GaitTiming
    ) -> Float[ndarray, "n"]:
        return np.where(landing(state, contact, timing.duty), 0.0, state)
