"""Hopf oscillators as a network: Righetti and Ijspeert 2008, with a coupling that locks every gait.

Their coupling Σ_j k_ij y_j needs a table per gait and has no walk that locks from every start (``oscillators.Hopf`` has
it as published). Here the other oscillators speed up or slow down an oscillator on its limit cycle, in proportion to
its error in time: time offsets are constant when stance and swing run at different speeds, angles are not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.gait.oscillators.networks.interface import GaitTiming, landing, pulls
from footfall.gait.oscillators.phase_equations import phase_of_stance_angle, stance_angle
from nptrace._types import Scalar
from nptrace.array_types import Float


@dataclass(frozen=True)
class HopfNetwork:
    """Coupled Hopf oscillators, ẋ = α (μ - r²) x - ω y, ẏ = α (μ - r²) y + ω x; stance while y > 0.

    The state is x and y, one row each.

    ω = π / (D T) in stance, π / ((1 - D) T) in swing, times 1 + T K / 2π Σ_j r_j sin 2π(φ_j - φ_i + d_j - d_i).
    """

    coupling: float = 4.0  # K [1/s]
    alpha: float = 50.0  # [1/s]
    mu: float = 1.0  # square of the amplitude

    def start(self, timing: GaitTiming) -> Float[ndarray, "2 n"]:
        angle = stance_angle(timing.first_phase, timing.duty)
        return math.sqrt(self.mu) * np.stack([np.cos(angle), np.sin(angle)])

    def phase(self, state: Float[ndarray, "2 n"], timing: GaitTiming) -> Float[ndarray, "n"]:
        return phase_of_stance_angle(np.arctan2(state[1], state[0]), timing.duty)

    def rates(self, state: Float[ndarray, "2 n"], timing: GaitTiming) -> Float[ndarray, "2 n"]:
        """Return d(x, y)/dt."""
        x, y = state[0], state[1]
        square = x * x + y * y
        pull = self.coupling / (2.0 * np.pi) * pulls(self.phase(state, timing), timing.delays)
        # fraction of a cycle that half a revolution takes
        half: Scalar = np.where(y > 0.0, timing.duty, 1.0 - timing.duty)
        omega = math.pi * (1.0 / timing.period + pull) / half
        back = self.alpha * (self.mu - square)
        return np.stack([back * x - omega * y, back * y + omega * x])

    def advance(self, state: Float[ndarray, "2 n"], dt: float, timing: GaitTiming) -> Float[ndarray, "2 n"]:
        """Advance by Heun's method."""
        first = self.rates(state, timing)
        return state + 0.5 * dt * (first + self.rates(state + dt * first, timing))

    def touchdown(
        self, state: Float[ndarray, "2 n"], contact: Float[ndarray, "n"], timing: GaitTiming
    ) -> Float[ndarray, "2 n"]:
        lands = landing(self.phase(state, timing), contact, timing.duty)
        r = np.sqrt(state[0] * state[0] + state[1] * state[1])
        return np.stack([np.where(lands, r, state[0]), np.where(lands, 0.0, state[1])])
