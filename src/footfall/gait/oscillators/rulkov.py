"""Spiking neurons as two-dimensional maps: Rulkov 2001 (chaotic bursts) and Rulkov 2002 (regular bursts and spikes).

The DynaKat report names them as the chaotic alternative to Kuramoto's oscillators. A map has no intrinsic time: the
user defines the duration of a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.errors import InputError
from nptrace._types import Scalar
from nptrace.array_types import Float


@dataclass(frozen=True)
class Rulkov:
    """A Rulkov neuron: x' = f(x, y), y' = y - μ (x - σ), a fast and a slow variable.

    Chaotic (2001): f = α / (1 + x²) + y, with σ = -1 usual; bursts come the faster the larger α (about 4.1 to 4.5).
    Regular (2002): f = α / (1 - x) + y for x <= 0, α + y for 0 < x < α + y if the previous x was <= 0, else -1; and
    y' = y - μ (x + 1) + μ σ. Silent for α 4, σ -0.01; single spikes for σ 0.01; bursts for α 6, σ -0.1.

    The state is (x, y, previous x), one row each, with any number of columns.
    """

    alpha: float = 4.3
    sigma: float = -1.0
    mu: float = 0.001
    chaotic: bool = True

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.alpha, self.sigma, self.mu))) or self.mu <= 0:
            given = f"{self.alpha}, {self.sigma}, {self.mu}"
            raise InputError(f"a Rulkov map needs finite alpha and sigma and a positive mu, got {given}")

    def start(self, x: Float[ndarray, "n"], y: Float[ndarray, "n"]) -> Float[ndarray, "3 n"]:
        """Return a state with the previous x equal to x."""
        return np.stack([x, y, x])

    def step(self, state: Float[ndarray, "3 n"], drive: Scalar = 0.0) -> Float[ndarray, "3 n"]:
        """Return the next state. ``drive`` is added to y in the fast map and to σ in the slow one, for coupling."""
        x, y, before = state[0], state[1], state[2]
        pushed = y + drive
        if self.chaotic:
            fast = self.alpha / (1.0 + x * x) + pushed
            slow = y - self.mu * (x - self.sigma - drive)
        else:
            rising = self.alpha / (1.0 - np.minimum(x, 0.0)) + pushed
            top = self.alpha + pushed
            fast = np.where(x <= 0.0, rising, np.where((x < top) & (before <= 0.0), top, -1.0))
            slow = y - self.mu * (x + 1.0 - self.sigma - drive)
        return np.stack([fast, slow, x])


def diffusive(x: Float[ndarray, "n"], strengths: Float[ndarray, "n n"]) -> Float[ndarray, "n"]:
    """Return drives Σ_j g_ij (x_j - x_i) of coupled neurons: electrical coupling."""
    return strengths @ x - np.sum(strengths, axis=1) * x
