"""Grounds as surfaces to be drawn: heights on a mesh of places, with the risers of steps upright."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from footfall.contact.ground import Ground, Plane
from footfall.contact.heightfield import Heightfield
from footfall.contact.terrain import Patches, Steps

_EDGE = 1e-5  # [m] beside a riser


def heights(ground: Ground | None, x: ndarray, y: ndarray) -> ndarray:
    """Height of a ground at places [m], level without one; where it has a hole, a metre down."""
    match ground:
        case None:
            return np.zeros(np.broadcast(x, y).shape)
        case Patches():
            return heights(ground.ground, x, y)
        case Plane():
            n, p = ground.normal, ground.point
            return p[2] - (n[0] * (x - p[0]) + n[1] * (y - p[1])) / n[2]
        case Heightfield():
            z = np.asarray(ground.surface(x, y)[0])
        case Steps():
            z = np.broadcast_to(np.asarray(ground.height(x)), np.broadcast(x, y).shape)
        case _:  # of a user's own: the distance along the vertical is near enough for a picture
            x, y = np.broadcast_arrays(x, y)
            z = np.array([_vertical(ground, a, b) for a, b in zip(x.ravel(), y.ravel())]).reshape(x.shape)
    return np.where(np.isfinite(z), z, -1.0)


def level_under(ground: Ground | None, place: Sequence[float] | ndarray) -> float:
    """Height of the ground at one place (x, y) [m]."""
    return float(heights(ground, np.array([place[0]]), np.array([place[1]]))[0])


def lines_along_x(ground: Ground | None, low: float, high: float, step: float) -> ndarray:
    """Places along x where a mesh of the ground is cut: evenly, and on both sides of every riser."""
    even = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    edges = risers(ground, even[0], even[-1])
    return np.unique(np.concatenate([even, edges - _EDGE, edges + _EDGE]))


def risers(ground: Ground | None, low: float, high: float) -> ndarray:
    """Places along x between two others where steps rise or fall [m]."""
    while isinstance(ground, Patches):
        ground = ground.ground
    if not isinstance(ground, Steps):
        return np.zeros(0)
    edges = ground.start + ground.tread * np.flatnonzero(np.diff(ground.levels))
    return edges[(edges > low) & (edges < high)]


def is_level(ground: Ground | None) -> bool:
    """Whether a coarse mesh shows all of it."""
    while isinstance(ground, Patches):
        ground = ground.ground
    return ground is None or isinstance(ground, Plane)


def _vertical(ground: Ground, x: float, y: float) -> float:
    return -float(ground.distance(np.array([x, y, 0.0])))


__all__ = ["heights", "is_level", "level_under", "lines_along_x", "risers"]
