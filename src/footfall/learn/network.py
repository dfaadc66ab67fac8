"""Small networks in plain NumPy: gradients by hand, Adam, and running means of what goes in.

The forward pass is ``control.learned.network.layers_of``, the same that walks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from numpy import ndarray

Weights = list[tuple[ndarray, ndarray]]  # (W, b) of every layer


def orthogonal(sizes: Sequence[int], rng: np.random.Generator, last: float, dtype: type = np.float32) -> Weights:
    """Layers of given sizes with orthogonal columns of length √2, the last one's of length ``last``; no offsets."""
    layers: Weights = []
    for k, (a, b) in enumerate(pairwise(sizes)):
        Q, R = np.linalg.qr(rng.normal(size=(max(a, b), min(a, b))))
        Q = Q * np.sign(np.diag(R))
        gain = last if k == len(sizes) - 2 else np.sqrt(2.0)
        layers.append(((gain * (Q if a >= b else Q.T)).astype(dtype), np.zeros(b, dtype)))
    return layers


def steepness(given: ndarray, activation: str) -> ndarray:
    """The derivative of an activation, from what it gave."""
    if activation == "tanh":
        return 1.0 - given * given
    return np.minimum(given + 1.0, 1.0) if activation == "elu" else (given > 0.0).astype(given.dtype)


def backward(
    weights: Weights, given: Sequence[ndarray], slope: Float[ndarray, "n out"], activation: str = "tanh"
) -> list[ndarray]:
    """Gradients by W and b of every layer, from what each layer gave and the slope of a loss by the last."""
    gradients: list[ndarray] = []
    ones = np.ones(len(slope), slope.dtype)  # a product adds rows up faster than a sum over the first axis
    for k in range(len(weights) - 1, -1, -1):
        gradients[:0] = [given[k].T @ slope, ones @ slope]
        if k:
            slope = slope @ weights[k][0].T
            slope *= steepness(given[k], activation)
    return gradients


@dataclass
class Adam:
    """Adam (Kingma & Ba 2015) on arrays that are changed in place; gradients longer than ``longest`` are shortened."""

    parameters: list[ndarray]
    longest: float = 1.0
    decay: tuple[float, float] = (0.9, 0.999)
    steps: int = 0
    means: list[ndarray] = field(default_factory=list)
    squares: list[ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.means = [np.zeros_like(p) for p in self.parameters]
        self.squares = [np.zeros_like(p) for p in self.parameters]

    def step(self, gradients: Sequence[ndarray], rate: float) -> None:
        self.steps += 1
        length = float(np.sqrt(sum(float(np.sum(g * g)) for g in gradients)))
        shorter = min(1.0, self.longest / (length + 1e-8))
        b1, b2 = self.decay
        size = rate * np.sqrt(1.0 - b2**self.steps) / (1.0 - b1**self.steps)
        for p, g, m, s in zip(self.parameters, gradients, self.means, self.squares):
            g = (shorter * g).astype(p.dtype, copy=False)
            m += (1.0 - b1) * (g - m)
            s += (1.0 - b2) * (g * g - s)
            p -= (size * m / (np.sqrt(s) + 1e-8)).astype(p.dtype, copy=False)


class Normaliser:
    """Running mean and variance of the numbers that a network sees (Chan, Golub & LeVeque 1983)."""

    def __init__(self, size: int) -> None:
        self.count, self.mean, self.square = 0.0, np.zeros(size), np.zeros(size)

    def update(self, rows: Float[ndarray, "n size"]) -> None:
        rows = rows.reshape(-1, rows.shape[-1])
        mean, new = rows.mean(axis=0, dtype=float), float(len(rows))
        away, total = mean - self.mean, self.count + new
        self.square += rows.var(axis=0, dtype=float) * new + away * away * self.count * new / total
        self.mean = self.mean + away * new / total
        self.count = total

    @property
    def spread(self) -> Float[ndarray, "size"]:
        """Standard deviations, none below 0.01: a number that never moves is left alone."""
        return np.sqrt(np.maximum(self.square / max(self.count, 1.0), 1e-4))

    def __call__(self, rows: ndarray) -> ndarray:
        return ((rows - self.mean) / self.spread).astype(np.float32)
