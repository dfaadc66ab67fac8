"""Stance path of a foot: a line, pressed into the ground as half a sine; Hyun, Seok, Lee, Kim, IJRR 33(11), 2014."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from nptrace.array_types import Float


def position(
    s: Float[ndarray, "..."], half_stride: float, depth: float
) -> tuple[Float[ndarray, "..."], Float[ndarray, "..."]]:
    """Return (x, z) [m] at s, 0 at touchdown and 1 at lift-off: x = L (1 - 2 s), z = -δ cos(π x / 2 L).

    The cosine is written as sin(π s), which it equals, which avoids a division for a stride of zero (stepping in
    place).
    """
    x = half_stride - 2.0 * half_stride * s
    return x, -depth * np.sin(np.pi * s)


def rate(
    s: Float[ndarray, "..."], half_stride: float, depth: float
) -> tuple[Float[ndarray, "..."], Float[ndarray, "..."]]:
    """Return (dx/ds, dz/ds) [m]."""
    return -2.0 * half_stride + 0.0 * s, -np.pi * depth * np.cos(np.pi * s)
