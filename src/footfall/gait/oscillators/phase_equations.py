"""Phase oscillators for the legs: a central pattern generator, as in section 6.2 of de Paula et al. 2024.

The paper does not state which kind it uses; Kuramoto's phase oscillators are the default here. Hopf oscillators in
Cartesian form are those of Righetti and Ijspeert 2008, in polar form those of public code; the maps of Rulkov mentioned
in the DynaKat report are in a separate file. A phase [cycles] is a foot's phase in its cycle: stance from 0 to the
duty, then swing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.checks import number_from_zero
from footfall.errors import InputError, unknown
from footfall.gait.pattern import Gait
from nptrace._types import Scalar
from nptrace.array_types import Float


@dataclass(frozen=True)
class Kuramoto:
    """Kuramoto phase oscillators: θ̇_i = 2π f + Σ_j K sin(θ_j - θ_i - φ_ij), φ_ij = -2π (d_j - d_i) for delays d.

    Phases are kept in cycles, θ / 2π. Every gait table locks from almost every start, at a rate of n K near the lock.
    """

    delays: tuple[float, ...]  # [cycles]
    frequency: float  # f [Hz]
    coupling: float = 4.0  # K [1/s]

    def __post_init__(self) -> None:
        values = (*self.delays, self.frequency, self.coupling)
        if not all(map(math.isfinite, values)):
            raise InputError(f"delays, frequency and coupling of oscillators must be finite, got {values}")
        number_from_zero(self.coupling, "coupling of oscillators")

    @staticmethod
    def of(gait: Gait, coupling: float = 4.0) -> Kuramoto:
        """Create the oscillators of a gait."""
        return Kuramoto(gait.delays, gait.frequency, coupling)

    def start(self) -> Float[ndarray, "n"]:
        """Return the locked phases [cycles] at time 0, when the first leg's stance starts."""
        cycles = -np.array(self.delays)
        return cycles - np.floor(cycles)

    def rates(
        self,
        phase: Float[ndarray, "n"],
        delays: Sequence[Scalar] | Float[ndarray, "n"] | None = None,
        frequency: Scalar | None = None,
    ) -> Float[ndarray, "n"]:
        """Return dφ/dt [cycles/s]. Members of a pair are coupled by opposite amounts, so each sine is computed once.

        ``delays`` and ``frequency`` that differ from the oscillators' own may change over time, as in a transition
        between gaits.
        """
        n, d = len(self.delays), self.delays if delays is None else delays
        frequency = self.frequency if frequency is None else frequency
        pull = [0.0] * n
        for i in range(n):
            for j in range(i + 1, n):
                angle = 2.0 * np.pi * (phase[j] - phase[i] + (d[j] - d[i]))
                force = np.sin(angle)
                pull[i] = pull[i] + force
                pull[j] = pull[j] - force
        return np.stack([frequency + self.coupling / (2.0 * np.pi) * p for p in pull])

    def advance(
        self,
        phase: Float[ndarray, "n"],
        dt: float,
        delays: Sequence[Scalar] | Float[ndarray, "n"] | None = None,
        frequency: Scalar | None = None,
    ) -> Float[ndarray, "n"]:
        """Return the phases [cycles], in [0, 1), after dt [s] (explicit Euler: exact while locked)."""
        cycles = phase + dt * self.rates(phase, delays, frequency)
        return cycles - np.floor(cycles)

    def error(self, phase: Float[ndarray, "n"]) -> Float[ndarray, "n"]:
        """Return the error of each leg's offset from the first leg [cycles], in [-1/2, 1/2]."""
        off = phase - phase[0] + (np.array(self.delays) - self.delays[0])
        return off - np.round(off)


def touchdown_reset(
    phase: Float[ndarray, "n"], duty: float, contact: Float[ndarray, "n"], earliest: float = 0.5
) -> Float[ndarray, "n"]:
    """Return phases in which every swing foot in contact has started its stance.

    Args:
        phase: Phases in [0, 1).
        duty: Duty factor.
        contact: 1 for each foot in contact.
        earliest: Fraction of the swing before which contact is ignored: the foot is just lifting off.

    Returns:
        Phases.
    """
    late = phase > duty + earliest * (1.0 - duty)
    return np.where(late & (contact > 0.5), 0.0, phase)


# Couplings k_ij of Cartesian Hopf oscillators, rows and columns LF, RF, LH, RH. The trot's is in public code; the
# others are general knowledge. The walk locks slowly, and not from every start.
HOPF_COUPLINGS: dict[str, tuple[tuple[float, ...], ...]] = {
    "trot": ((0, -1, -1, 1), (-1, 0, 1, -1), (-1, 1, 0, -1), (1, -1, -1, 0)),
    "pace": ((0, -1, 1, -1), (-1, 0, -1, 1), (1, -1, 0, -1), (-1, 1, -1, 0)),
    "bound": ((0, 1, -1, -1), (1, 0, -1, -1), (-1, -1, 0, 1), (-1, -1, 1, 0)),
    "walk": ((0, -1, 1, -1), (-1, 0, -1, 1), (-1, 1, 0, -1), (1, -1, -1, 0)),
}


@dataclass(frozen=True, kw_only=True)
class Hopf:
    """Hopf oscillators in Cartesian form: Righetti and Ijspeert 2008. The state is x and y, one row each.

    ẋ = α (μ - r²) x - ω y, ẏ = β (μ - r²) y + ω x + Σ_j k_ij y_j, with ω = π / (D T) where y > 0 (stance) and
    π / ((1 - D) T) where y < 0 (swing), blended over 1 / b. The coupling stretches the period a little.
    """

    couplings: tuple[tuple[float, ...], ...]
    duty: float
    period: float  # [s]
    alpha: float = 100.0  # [1/s]
    beta: float = 100.0  # [1/s]
    mu: float = 1.0  # square of the amplitude
    sharpness: float = 50.0  # b

    @staticmethod
    def of(gait: Gait) -> Hopf:
        """Create the oscillators of a trot, pace, bound or walk."""
        if gait.name not in HOPF_COUPLINGS:
            raise unknown("gait of Hopf oscillators", gait.name, HOPF_COUPLINGS, "choose from")
        return Hopf(couplings=HOPF_COUPLINGS[gait.name], duty=gait.duty, period=gait.period)

    def start(self, phase: Float[ndarray, "n"]) -> Float[ndarray, "2 n"]:
        """Return the state on the limit cycle at the given phases [cycles]."""
        angle = stance_angle(phase, self.duty)
        return np.sqrt(self.mu) * np.stack([np.cos(angle), np.sin(angle)])

    def rates(self, state: Float[ndarray, "2 n"]) -> Float[ndarray, "2 n"]:
        """Return d(x, y)/dt."""
        x, y = state[0], state[1]
        stance, swing = math.pi / (self.duty * self.period), math.pi / ((1.0 - self.duty) * self.period)
        # 1 / (1 + exp(-b y)) without overflow
        omega = 0.5 * (stance + swing) + 0.5 * (stance - swing) * np.tanh(0.5 * self.sharpness * y)
        excess = self.mu - (x * x + y * y)
        pull = np.stack([sum((k * y[j] for j, k in enumerate(row)), start=0.0 * y[0]) for row in self.couplings])
        return np.stack([self.alpha * excess * x - omega * y, self.beta * excess * y + omega * x + pull])

    def advance(self, state: Float[ndarray, "2 n"], dt: float) -> Float[ndarray, "2 n"]:
        """Return the state after dt [s], by Heun's method."""
        first = self.rates(state)
        return state + 0.5 * dt * (first + self.rates(state + dt * first))

    def phase(self, state: Float[ndarray, "2 n"]) -> Float[ndarray, "n"]:
        """Return the phases [cycles]: stance while y > 0."""
        return phase_of_stance_angle(np.arctan2(state[1], state[0]), self.duty)


@dataclass(frozen=True, kw_only=True)
class PolarHopf:
    """Hopf oscillators in polar form; swing while sin θ > 0. The state is r and θ [rad], one row each.

    ṙ = α (μ - r²) r, θ̇_i = ω + Σ_j r_j w sin(θ_j - θ_i - φ_ij), ω = π / ((1 - D) T) in swing, π / (D T) in stance. The
    coupling keeps the gait's offsets in angle, not in time: both agree for a duty of 1/2, and otherwise only for legs
    in phase. Measured from random starts: trot, pace and pronk lock, bound within 0.01 cycles, the walk within 0.13.
    """

    delays: tuple[float, ...]
    duty: float
    period: float  # [s]
    alpha: float = 50.0  # [1/s]
    mu: float = 1.0  # square of the amplitude
    coupling: float = 1.0  # w [1/s]

    @staticmethod
    def of(gait: Gait, coupling: float = 1.0) -> PolarHopf:
        """Create the oscillators of any gait."""
        return PolarHopf(delays=gait.delays, duty=gait.duty, period=gait.period, coupling=coupling)

    def start(self, phase: Float[ndarray, "n"]) -> Float[ndarray, "2 n"]:
        """Return the state on the limit cycle at the given phases [cycles]."""
        angle = stance_angle(phase, self.duty) + math.pi
        return np.stack([math.sqrt(self.mu) + 0.0 * angle, angle])

    def rates(self, state: Float[ndarray, "2 n"]) -> Float[ndarray, "2 n"]:
        """Return d(r, θ)/dt."""
        r, theta = state[0], state[1]
        n, d, pull = len(self.delays), self.delays, [0.0 * theta[0]] * len(self.delays)
        for i in range(n):
            for j in range(i + 1, n):
                force = self.coupling * np.sin(theta[j] - theta[i] + 2.0 * math.pi * (d[j] - d[i]))
                pull[i] = pull[i] + r[j] * force
                pull[j] = pull[j] - r[i] * force
        stance, swing = math.pi / (self.duty * self.period), math.pi / ((1.0 - self.duty) * self.period)
        omega = np.where(np.sin(theta) > 0.0, swing, stance)
        return np.stack([self.alpha * (self.mu - r * r) * r, omega + np.stack(pull)])

    def advance(self, state: Float[ndarray, "2 n"], dt: float) -> Float[ndarray, "2 n"]:
        """Return the state after dt [s] (explicit Euler: the speed jumps between stance and swing), θ in [0, 2π)."""
        after = state + dt * self.rates(state)
        turns = np.floor(after[1] * (0.5 / math.pi))
        return np.stack([after[0], after[1] - 2.0 * math.pi * turns])

    def phase(self, state: Float[ndarray, "2 n"]) -> Float[ndarray, "n"]:
        """Return the phases [cycles]: swing while sin θ > 0."""
        return phase_of_stance_angle(state[1] - math.pi, self.duty)


def stance_angle(phase: Float[ndarray, "n"], duty: Scalar) -> Float[ndarray, "n"]:
    """Return an angle [rad] in [0, π) in stance and in [π, 2π) in swing, linear in each."""
    return math.pi * np.where(phase < duty, phase / duty, 1.0 + (phase - duty) / (1.0 - duty))


def phase_of_stance_angle(angle: Float[ndarray, "n"], duty: Scalar) -> Float[ndarray, "n"]:
    """Return the phase [cycles] of such an angle."""
    turns = angle * (0.5 / math.pi)
    halves = 2.0 * (turns - np.floor(turns))  # [0, 1) stance, [1, 2) swing
    return np.where(halves < 1.0, duty * halves, duty + (1.0 - duty) * (halves - 1.0))
