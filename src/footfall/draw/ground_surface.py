"""Cut the surface of a ground into a mesh for drawing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from footfall.contact.ground import Ground

_EDGE = 1e-5  # [m] beside a riser


def height_under(ground: Ground | None, point: Sequence[float] | ndarray) -> float:
    """Return the height of the ground under a point [m], zero without a ground."""
    return 0.0 if ground is None else float(ground.heights_at(np.array([point[0]]), np.array([point[1]]))[0])


def lines_along_x(ground: Ground, low: float, high: float, step: float) -> ndarray:
    """Return where along x a mesh of the ground is cut: evenly, and on both sides of every riser."""
    even = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    edges = ground.risers(even[0], even[-1])
    return np.unique(np.concatenate([even, edges - _EDGE, edges + _EDGE]))


__all__ = ["height_under", "lines_along_x"]
