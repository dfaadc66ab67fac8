"""Where an edge of a box, or a rod, lies across another box: as a plank lies on a trestle.

Corners do not see this: no corner of the one is over the other. The edge is a segment that touches within a radius. It
is followed through the slabs of the box (Ericson, Real-Time Collision Detection, 5.3.3): where it comes over the face
that it is nearest to, and where it leaves it, are the two points that bear it. Where edges cross with no face between
them the two are one, and the nearest to the box.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

_TINY = 1e-9
_AWAY = 2.0  # radii by which an end of an edge is raised: there a corner touches


def edge_directions(half: Float[ndarray, "3"], count: int = 1) -> list[int]:
    """The longest axes of a box along which it has edges; of a rod there is one."""
    order = [int(k) for k in np.argsort(-half, kind="stable")]
    return [k for k in order[:count] if half[k] > 0.0]


def facing_edge(
    half: Float[ndarray, "3"], along: int, which: int, toward: Float[ndarray, "3"]
) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"]]:
    """The ends of one of the two edges, along an axis, of the side that faces a point: all in the box's own axes."""
    v, w = (along + 1) % 3, (along + 2) % 3
    sides = [np.where(toward[k] < 0.0, -half[k], half[k]) for k in (v, w)]
    faces_w = np.abs(toward[w]) - half[w] >= np.abs(toward[v]) - half[v]
    sign = 1.0 - 2.0 * which
    place = np.zeros(3)
    place[v] = np.where(faces_w, sign * half[v], sides[0])
    place[w] = np.where(faces_w, sides[1], sign * half[w])
    end = np.zeros(3)
    end[along] = half[along]
    return place - end, place + end


def bearing_point(
    half: Float[ndarray, "3"], reach: float, radius: float, a: Float[ndarray, "3"], b: Float[ndarray, "3"], last: bool
) -> Any:
    """Where on the segment a-b, from 0 to 1, a box about the origin bears it: the first such place, or the ``last``.

    ``reach``: the distance at which they touch; ``radius`` of the segment, by which the place is within the face.
    """
    d = b - a
    slope = np.where(d < 0.0, np.minimum(d, -_TINY), np.maximum(d, _TINY))
    middle, width = -a / slope, 1.0 / np.abs(slope)
    wide = (half + reach) * width
    inner = np.maximum(half - radius, 0.0) * width
    low, high = _common(middle - wide, middle + wide)
    over = np.abs(a + 0.5 * (low + high) * d) - half
    most = np.maximum(np.maximum(over[0], over[1]), over[2])
    span = np.where(over >= most, wide, inner)  # across the face that it is nearest to there is no need to be within it
    low, high = _common(middle - span, middle + span)
    t = np.where(low > high, 0.5 * (low + high), high if last else low)
    # crossed edges: the distance is quadratic in t as long as it is one from an edge
    x = a + t * d
    out = np.maximum(np.abs(x) - half, 0.0)
    way = np.where(x < 0.0, -d, d)
    steep = np.sum(np.where(out > 0.0, way * way, 0.0))
    step = (out @ way) / (steep + _TINY * _TINY)
    edge = np.sum(np.where(out > 0.0, 1.0, 0.0)) > 1.5
    return np.clip(t - np.where(edge & (low > high), step, 0.0), 0.0, 1.0)


def raised(t: Any, length: float, radius: float) -> Any:
    """How far an edge's point is lifted near its ends [m], where its corners touch."""
    near = np.minimum(t, 1.0 - t) * (length / radius)
    return _AWAY * radius * (1.0 - np.minimum(near, 1.0))


def _common(first: Float[ndarray, "3"], last: Float[ndarray, "3"]) -> tuple[Any, Any]:
    """What intervals on three axes have in common with that from 0 to 1."""
    low = np.maximum(np.maximum(first[0], first[1]), np.maximum(first[2], 0.0))
    high = np.minimum(np.minimum(last[0], last[1]), np.minimum(last[2], 1.0))
    return low, high


__all__ = ["bearing_point", "edge_directions", "facing_edge", "raised"]
