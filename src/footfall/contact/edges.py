"""Contact of an edge of a box, or a rod, across another box, as of a plank on a trestle.

Corners cannot detect this: no corner of one is over the other. The edge is a segment that touches within a radius. It
is clipped to the slabs of the box (Ericson, Real-Time Collision Detection, 5.3.3): the points where it enters and
leaves the nearest face support it. Where edges cross with no face between them, the two points coincide at the point
nearest to the box.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from nptrace._types import Operand, Scalar
from nptrace.array_types import Float

_TINY = 1e-9
_STEEP = 10.0  # inverse of the slope from which an edge is supported by the side of a face and no longer by the face
_AWAY = 2.0  # radii by which an end of an edge is raised: a corner touches there


def edge_directions(half: Float[ndarray, "3"], count: int = 1) -> list[int]:
    """Return the longest axes of a box along which it has edges; a rod has one."""
    order = [int(k) for k in np.argsort(-half, kind="stable")]
    return [k for k in order[:count] if half[k] > 0.0]


def facing_edge(
    half: Float[ndarray, "3"], along: int, which: int, toward: Float[ndarray, "3"]
) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"]]:
    """Return the ends of one of the two edges along an axis on the side facing a point, in the box's axes."""
    v, w = (along + 1) % 3, (along + 2) % 3
    sides = [np.where(toward[k] < 0.0, -half[k], half[k]) for k in (v, w)]
    faces_w = np.abs(toward[w]) - half[w] >= np.abs(toward[v]) - half[v]
    sign = 1.0 - 2.0 * which
    position = np.zeros(3)
    position[v] = np.where(faces_w, sign * half[v], sides[0])
    position[w] = np.where(faces_w, sides[1], sign * half[w])
    end = np.zeros(3)
    end[along] = half[along]
    return position - end, position + end


def bearing_point(
    half: Float[ndarray, "3"], reach: float, radius: float, a: Float[ndarray, "3"], b: Float[ndarray, "3"], last: bool
) -> Operand:
    """Return where on the segment a-b, from 0 to 1, a box about the origin supports it: the first point, or the
    ``last``.

    ``reach``: the distance at which they touch; ``radius`` of the segment, by which the point must lie inside the face.
    """
    return _last(half, reach, radius, a, b) if last else 1.0 - _last(half, reach, radius, b, a)


def _last(
    half: Float[ndarray, "3"], reach: float, radius: float, a: Float[ndarray, "3"], b: Float[ndarray, "3"]
) -> Scalar:
    d = b - a
    slope = np.where(d < 0.0, np.minimum(d, -_TINY), np.maximum(d, _TINY))
    middle, width = -a / slope, 1.0 / np.abs(slope)
    wide, within = (half + reach) * width, np.maximum(half - radius, 0.0)
    low, high = _common(middle - wide, middle + wide)
    near = 0.5 * (low + high)
    x = a + near * d
    over = np.abs(x) - half
    most = np.maximum(np.maximum(over[0], over[1]), over[2])
    normal = over >= most  # axis of the nearest face, along which the point need not lie inside the box
    span = np.where(normal, wide, within * width)
    low, high = _common(middle - span, middle + span)
    leaves = np.where((middle + span <= high) & ~normal, 1.0, 0.0)  # the side of the face that it crosses
    # edges that cross beside the face: nearest to the line where the two nearest sides meet
    least = np.minimum(np.minimum(over[0], over[1]), over[2])
    way = np.where(over > least, np.where(x < 0.0, -d, d), 0.0)
    crossed = near - (over @ way) / (way @ way + _TINY * _TINY)
    t = np.where(low > high, crossed, high + _downward(half, within, a, d, high, leaves, normal))
    return np.clip(t, 0.0, 1.0)


def _downward(
    half: Float[ndarray, "3"],
    within: Float[ndarray, "3"],
    a: Float[ndarray, "3"],
    d: Float[ndarray, "3"],
    high: Scalar,
    leaves: Float[ndarray, "3"],
    normal: ndarray,
) -> Scalar:
    """Return how much further an edge that slopes down over the side of a face is nearest to that side; little if
    flat.
    """
    aside = leaves @ (d * d)
    to_side = (leaves @ ((half - within) * np.abs(d))) / (aside + _TINY * _TINY)
    x = a + (high + to_side) * d
    gap = np.sum(np.where(normal, np.maximum(np.abs(x) - half, 0.0), 0.0))
    down = -np.sum(np.where(normal, np.where(x < 0.0, -d, d), 0.0))
    share = np.clip(_STEEP * down / (np.sqrt(aside) + _TINY), 0.0, 1.0) * np.sum(leaves)
    return share * (to_side + gap * down / (down * down + aside + _TINY * _TINY))


def raised(t: float, length: float, radius: float) -> float:
    """Return how far an edge's point is raised near its ends [m], where its corners touch."""
    near = np.minimum(t, 1.0 - t) * (length / radius)
    return _AWAY * radius * (1.0 - np.minimum(near, 1.0))


def _common(first: Float[ndarray, "3"], last: Float[ndarray, "3"]) -> tuple[Scalar, Scalar]:
    """Return the intersection of intervals on three axes with [0, 1]."""
    low = np.maximum(np.maximum(first[0], first[1]), np.maximum(first[2], 0.0))
    high = np.minimum(np.minimum(last[0], last[1]), np.minimum(last[2], 1.0))
    return low, high


__all__ = ["bearing_point", "edge_directions", "facing_edge", "raised"]
