"""The interface of oscillator networks, between gaits and controllers.

A network keeps its state, an array, in the controller's memory. Its timing (delays, duty and period) is an argument of
every call, so that it may change from tick to tick, as in a transition between gaits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy import ndarray

from footfall.gait.pattern import Gait
from nptrace._types import PyTree, Scalar
from nptrace.array_types import Float

LATEST_LIFT = 0.5  # fraction of a swing before which a contact is that of a foot lifting off


@dataclass(frozen=True)
class GaitTiming:
    """Phase offsets, duty factor and period that a gait prescribes for oscillators; numbers, or traced ones."""

    delays: Sequence[Scalar]  # delays of LF, RF, LH, RH [cycles]
    duty: Scalar
    period: Scalar  # [s]

    @staticmethod
    def of(gait: Gait) -> GaitTiming:
        return GaitTiming(gait.delays, gait.duty, gait.period)

    @property
    def first_phase(self) -> Float[ndarray, "n"]:
        """Return the phases [cycles] at time 0, when the first leg's stance starts."""
        cycles = -np.array(self.delays)
        return cycles - np.floor(cycles)


@runtime_checkable
class Network(Protocol):
    """The base class of oscillator networks, one coupled oscillator per leg.

    A phase [cycles] below the duty factor is stance.
    """

    def start(self, timing: GaitTiming) -> PyTree:
        """Return the state, locked to the timing, when the first leg's stance starts."""
        ...

    def phase(self, state: PyTree, timing: GaitTiming) -> Float[ndarray, "n"]:
        """Return the phases [cycles] in [0, 1)."""
        ...

    def advance(self, state: PyTree, dt: float, timing: GaitTiming) -> PyTree:
        """Return the state after dt [s]."""
        ...

    def touchdown(self, state: PyTree, contact: Float[ndarray, "n"], timing: GaitTiming) -> PyTree:
        """Return the state after a foot has landed early (``contact`` is 1 or 0): its stance starts at once."""
        ...


def landing(phase: Float[ndarray, "n"], contact: Float[ndarray, "n"], duty: Scalar) -> Float[ndarray, "n"]:
    """Return which feet end their swing early: those in contact, unless they are still lifting off."""
    return (phase > duty + LATEST_LIFT * (1.0 - duty)) & (contact > 0.5)


def pulls(phase: Float[ndarray, "n"], delays: Sequence[Scalar]) -> Float[ndarray, "n"]:
    """Return Σ_j sin 2π(φ_j - φ_i + d_j - d_i): the direction and strength of the coupling on each leg."""
    n = len(delays)
    total = [0.0 * phase[i] for i in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            force = np.sin(2.0 * np.pi * (phase[j] - phase[i] + (delays[j] - delays[i])))
            total[i] = total[i] + force
            total[j] = total[j] - force
    return np.stack(total)
