"""The interface of networks of oscillators: what a gait asks of one, and what a controller reads from it.

A network keeps its state, an array, in the controller's memory. The beat that it should take, delays, duty and period,
comes with every call, so that it may change from tick to tick: a transition between gaits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.gait.pattern import Gait
from nptrace._types import PyTree, Scalar

LATEST_LIFT = 0.5  # fraction of a swing before which a touch is that of a foot that lifts off


@dataclass(frozen=True)
class GaitTiming:
    """Phase offsets, duty factor and period that a gait prescribes for oscillators; numbers, or traced ones."""

    delays: Sequence[Scalar]  # of LF, RF, LH, RH [cycles]
    duty: Scalar
    period: Scalar  # [s]

    @staticmethod
    def of(gait: Gait) -> GaitTiming:
        return GaitTiming(gait.delays, gait.duty, gait.period)

    @property
    def first_phase(self) -> Float[ndarray, "n"]:
        """Phases [cycles] at time 0, when the first leg's stance begins."""
        cycles = -np.array(self.delays)
        return cycles - np.floor(cycles)


@runtime_checkable
class Network(Protocol):
    """The base class of oscillator networks, one coupled oscillator per leg.

    A phase [cycles] below the duty factor is stance.
    """

    def start(self, timing: GaitTiming) -> PyTree:
        """The state, locked to the beat, when the first leg's stance begins."""
        ...

    def phase(self, state: PyTree, timing: GaitTiming) -> Float[ndarray, "n"]:
        """Phases [cycles] in [0, 1)."""
        ...

    def advance(self, state: PyTree, dt: float, timing: GaitTiming) -> PyTree:
        """The state after dt [s]."""
        ...

    def touchdown(self, state: PyTree, contact: Float[ndarray, "n"], timing: GaitTiming) -> PyTree:
        """Return the state after a foot has landed early (``contact`` is 1 or 0): its stance begins at once."""
        ...


def landing(phase: Float[ndarray, "n"], contact: Float[ndarray, "n"], duty: Scalar) -> Float[ndarray, "n"]:
    """Which feet end their swing early: they touch, and no longer because they lift off."""
    return (phase > duty + LATEST_LIFT * (1.0 - duty)) & (contact > 0.5)


def pulls(phase: Float[ndarray, "n"], delays: Sequence[Scalar]) -> Float[ndarray, "n"]:
    """Σ_j sin 2π(φ_j - φ_i + d_j - d_i): which way, and how strongly, the others pull each leg to its place."""
    n = len(delays)
    total = [0.0 * phase[i] for i in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            force = np.sin(2.0 * np.pi * (phase[j] - phase[i] + (delays[j] - delays[i])))
            total[i] = total[i] + force
            total[j] = total[j] - force
    return np.stack(total)
