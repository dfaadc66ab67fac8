"""Rulkov's bursting neurons as a network: a leg is in stance while its neuron bursts and swings while it is silent.

The regular map of Rulkov 2002 bursts between two known values of its slow variable: a burst starts where the fast map
loses its fixed point, y = 1 - 2 √α, and ends where the spike's reset, x = -1, falls into the basin of rest, y = -1 -
α/2. So y, which falls in a burst and rises in a silence, gives a neuron's phase in its cycle, and the rates of y in the
two set duty and period. Coupling speeds up or slows down y (a slow synapse); a foot that lands early triggers its
neuron's burst. Spikes make y a staircase: legs follow it through a filter, as muscles do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.checks import number_from_zero
from footfall.gait.oscillators.networks.interface import GaitTiming, landing, pulls
from footfall.gait.oscillators.rulkov import Rulkov
from nptrace._types import Scalar
from nptrace.array_types import Float

ALPHA, SIGMA = 6.0, -0.1  # some 30 spikes per burst: y is nearly linear
_MAP_INTERVAL = 1e-3  # [s], longest duration of a step of the map
_SILENT_STEPS = 14.0  # steps without a spike that end a burst: within one there are at most 13 (measured)
# steps of a burst and of a silence: a / μ + b (measured for α 6, σ -0.1, μ from 0.0005 to 0.004)
_BURST, _SILENCE = (0.126, 0.0), (0.165, 40.0)
_SLOWEST, _QUICKEST = 1e-4, 6e-3  # μ
_FOLLOW_RATE = 12.0  # [1/s], how fast legs follow their neurons
_TOUCHDOWN_KICK = 0.01  # of y beyond the start of the burst


@dataclass(frozen=True)
class RulkovNetwork:
    """A network of Rulkov neurons, one per leg.

    Rows of the state: x, y, the previous x, steps since a spike, and the phase of the leg [cycles].
    """

    coupling: float = 4.0  # [1/s]

    def __post_init__(self) -> None:
        number_from_zero(self.coupling, "coupling of neurons")

    def start(self, timing: GaitTiming) -> Float[ndarray, "5 n"]:
        phase = timing.first_phase
        bursts, y = phase < timing.duty, _slow(phase, timing.duty)
        rest = 0.5 * (1.0 + y - np.sqrt(np.maximum((1.0 - y) * (1.0 - y) - 4.0 * ALPHA, 0.0)))
        x = np.where(bursts, -1.0, rest)
        return np.stack([x, y, x, np.where(bursts, 0.0, 2.0 * _SILENT_STEPS), phase])

    def phase(self, state: Float[ndarray, "5 n"], timing: GaitTiming) -> Float[ndarray, "n"]:
        return state[4]

    def bursting(self, state: Float[ndarray, "5 n"]) -> Float[ndarray, "n"]:
        """Return which neurons are in a burst."""
        return state[3] < _SILENT_STEPS

    def advance(self, state: Float[ndarray, "5 n"], dt: float, timing: GaitTiming) -> Float[ndarray, "5 n"]:
        steps = max(1, math.ceil(dt / _MAP_INTERVAL - 1e-9))
        for _ in range(steps):
            state = self._step(state, dt / steps, timing)
        return state

    def _step(self, state: Float[ndarray, "5 n"], dt: float, timing: GaitTiming) -> Float[ndarray, "5 n"]:
        bursts, own = self.bursting(state), state[4]
        pull = self.coupling * timing.period / (2.0 * np.pi) * pulls(own, timing.delays)
        cycle = timing.period / dt  # in steps
        mu = np.where(bursts, _speed(_BURST, timing.duty * cycle), _speed(_SILENCE, (1.0 - timing.duty) * cycle))
        mu = np.clip(mu * np.clip(1.0 + pull, 0.3, 2.0), _SLOWEST, _QUICKEST)
        x, y, before, quiet = state[0], state[1], state[2], state[3]
        fired = _fire(x, y, before)
        slow = y - mu * (x + 1.0 - SIGMA)
        neuron_phase = _phase_of(slow, bursts, timing.duty)
        phase_error = neuron_phase - own
        phase_error = phase_error - np.round(phase_error)
        # legs never run backwards
        leg = own + dt * np.maximum((1.0 + pull) / timing.period + _FOLLOW_RATE * phase_error, 0.0)
        return np.stack([fired, slow, x, np.where(fired > 0.0, 0.0, quiet + 1.0), leg - np.floor(leg)])

    def touchdown(
        self, state: Float[ndarray, "5 n"], contact: Float[ndarray, "n"], timing: GaitTiming
    ) -> Float[ndarray, "5 n"]:
        lands = landing(state[4], contact, timing.duty) & (~self.bursting(state))
        kicked = (-1.0, _BEGIN + _TOUCHDOWN_KICK, -1.0, 0.0, 0.0)
        return np.stack([np.where(lands, to, row) for to, row in zip(kicked, state)])


_BEGIN, _END = 1.0 - 2.0 * math.sqrt(ALPHA), -1.0 - 0.5 * ALPHA  # start and end of a burst, in y


def _fire(x: Scalar, y: Scalar, before: Scalar) -> Scalar:
    """Apply the fast map in a step with a separate μ: the map of ``Rulkov`` without its slow variable."""
    return Rulkov(ALPHA, SIGMA, chaotic=False).step(np.stack([x, y, before]))[0]


def _speed(measured: tuple[float, float], steps: Scalar) -> Scalar:
    """Return μ for a burst or a silence of a given number of steps."""
    a, b = measured
    return a / np.maximum(steps - b, 5.0)


def _slow(phase: Scalar, duty: Scalar) -> Scalar:
    """Return y of a neuron at a phase: falling in stance, rising in swing."""
    fraction = np.where(phase < duty, 1.0 - phase / duty, (phase - duty) / (1.0 - duty))
    return _END + fraction * (_BEGIN - _END)


def _phase_of(y: Scalar, bursts: Scalar, duty: Scalar) -> Scalar:
    """Return the phase for y."""
    fraction = np.clip((y - _END) / (_BEGIN - _END), 0.0, 1.0)
    return np.where(bursts, duty * (1.0 - fraction), duty + (1.0 - duty) * fraction)
