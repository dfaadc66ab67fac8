"""Stability margins against tipping: support polygon and its margins, ZMP, capture point.

The Wide Stability Margin is that of the DynaKat report, after Kimura, Fukuoka, Cohen 2007: the distance of the
projected centre of mass from the nearest side of the polygon of the feet. Erratum: the report refers to contact points;
the margin is defined over the projections of *all four* feet, in contact or not ("wide"); alongside it, this module has
the margin of the support polygon, of the feet in contact alone. The energy margin is that of Messuri and Klein 1985.

Margins are positive inside and negative outside. The ground is level; points are given by x and y [m].
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from footfall.errors import InputError
from footfall.spatial.gravity import STANDARD
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float


# -- polygons ----------------------------------------------------------------------------------------------------------
def support_polygon(points: Float[ndarray, "n d"] | Sequence[Operand]) -> Float[ndarray, "m 2"]:
    """Return the convex hull of points projected onto the ground (Andrew's monotone chain).

    Args:
        points: Points [m].

    Returns:
        Corners, anticlockwise; fewer than three if they lie on a line.
    """
    if not len(points):
        return np.zeros((0, 2))
    array = np.asarray(points, dtype=float).reshape(len(points), -1)
    if array.shape[1] < 2 or not np.isfinite(array).all():
        raise InputError(f"points of a support polygon must be finite, with x and y, got {array.tolist()}")
    unique = sorted({(float(p[0]), float(p[1])) for p in array})
    if len(unique) < 3:
        return np.array(unique).reshape(-1, 2)
    scale = max(math.hypot(*np.ptp(np.array(unique), axis=0)), 1e-300) ** 2

    def chain(ordered: list[tuple[float, float]]) -> list[tuple[float, float]]:
        out: list[tuple[float, float]] = []
        for p in ordered:
            while len(out) > 1 and _cross(out[-2], out[-1], p) <= 1e-12 * scale:
                out.pop()
            out.append(p)
        return out[:-1]

    return np.array(chain(unique) + chain(unique[::-1]))


def polygon_margin(polygon: Float[ndarray, "m 2"], point: Float[ndarray, "2"]) -> float:
    """Return the distance of a point from the nearest side of a polygon.

    Args:
        polygon: Corners, anticlockwise [m].
        point: x and y [m].

    Returns:
        Positive inside, negative outside [m]; never positive for a line, minus infinity without corners.
    """
    x, y = float(point[0]), float(point[1])
    corners = [tuple(map(float, p)) for p in polygon]
    if not corners:
        return -math.inf
    if len(corners) == 1:
        return -math.hypot(x - corners[0][0], y - corners[0][1])
    sides = list(zip(corners, corners[1:] + corners[:1])) if len(corners) > 2 else [(corners[0], corners[1])]
    nearest = min(_distance_to_side(a, b, (x, y)) for a, b in sides)
    area = sum(a[0] * b[1] - b[0] * a[1] for a, b in sides)  # twice the area; negative for corners in clockwise order
    inside = len(corners) > 2 and area != 0 and all(area * _cross(a, b, (x, y)) >= 0 for a, b in sides)
    return nearest if inside else -nearest


def static_margin(feet: Float[ndarray, "n 3"], contact: Sequence[Scalar], center: Float[ndarray, "3"]) -> float:
    """Return the static stability margin: that of the projected centre of mass in the support polygon.

    Args:
        feet: Positions of the feet [m].
        contact: 1 for each foot in contact.
        center: Position of the centre of mass [m].

    Returns:
        Margin [m].
    """
    return polygon_margin(support_polygon(_touching(feet, contact)), center[:2])


def wide_stability_margin(feet: Float[ndarray, "n 3"], center: Float[ndarray, "3"]) -> float:
    """Return the wide stability margin, that of the centre of mass in the polygon of all feet, in contact or not.

    Args:
        feet: Positions of the feet [m].
        center: Position of the centre of mass [m].

    Returns:
        Margin [m].
    """
    return polygon_margin(support_polygon(feet), center[:2])


def energy_margin(
    feet: Float[ndarray, "n 3"],
    contact: Sequence[Scalar],
    center: Float[ndarray, "3"],
    mass: float,
    gravity: float = STANDARD,
) -> float:
    """Return the energy stability margin: the least energy that tips the robot over a side of its support polygon.

    Messuri and Klein 1985. The centre of mass rotates about the side, at the distance r, and must rise from its height
    h above the side to r.

    Args:
        feet: Positions of the feet [m].
        contact: 1 for each foot in contact.
        center: Position of the centre of mass [m].
        mass: Mass of the robot [kg].
        gravity: Magnitude of gravity [m/s²].

    Returns:
        Energy [J]; negative if the centre of mass is outside; at most zero with one or two feet.
    """
    touching = _touching(feet, contact)
    polygon = support_polygon(touching)
    if len(polygon) < 2:
        return 0.0 if len(polygon) and polygon_margin(polygon, center[:2]) == 0 else -math.inf
    level = {(float(p[0]), float(p[1])): float(p[2]) for p in touching}
    corners = [(float(p[0]), float(p[1])) for p in polygon]
    sides = list(zip(corners, corners[1:] + corners[:1])) if len(corners) > 2 else [(corners[0], corners[1])]
    inside = polygon_margin(polygon, center[:2]) >= 0
    rises = []
    for a, b in sides:
        p, q = np.array([*a, level[a]]), np.array([*b, level[b]])
        along = (q - p) / np.linalg.norm(q - p)
        arm = (center - p) - along * ((center - p) @ along)
        up = np.array([0.0, 0.0, 1.0]) - along * along[2]  # the steepest path over the side
        rises.append(mass * gravity * (float(np.linalg.norm(arm)) * float(np.linalg.norm(up)) - float(arm[2])))
    if inside and len(corners) > 2:
        return min(rises)
    beyond = [rise for rise, (a, b) in zip(rises, sides) if len(corners) < 3 or _cross(a, b, center) < 0]
    return -max(beyond)


# -- points ------------------------------------------------------------------------------------------------------------
def center_of_pressure(points: Float[ndarray, "n 3"], forces: Float[ndarray, "n 3"]) -> Float[ndarray, "2"]:
    """Return the centre of pressure.

    Args:
        points: Contact points [m].
        forces: Forces of the ground [N].

    Returns:
        x and y [m]; NaN without normal force.
    """
    normal = forces[:, 2]
    total = float(normal.sum())
    return points[:, :2].T @ normal / total if total > 0 else np.full(2, np.nan)


def zero_moment_point(
    center: Float[ndarray, "3"],
    acceleration: Float[ndarray, "3"],
    momentum_rate: Float[ndarray, "3"] | None = None,
    mass: float = 1.0,
    gravity: float = STANDARD,
) -> Float[ndarray, "2"]:
    """Return the zero moment point on the ground z = 0.

    x = c_x - (c_z c̈_x + L̇_y / m) / (c̈_z + g), y = c_y - (c_z c̈_y - L̇_x / m) / (c̈_z + g).

    Args:
        center: Position of the centre of mass [m].
        acceleration: Acceleration of the centre of mass [m/s²].
        momentum_rate: L̇ about the centre of mass [N m]; zero unless given.
        mass: Mass of the robot [kg].
        gravity: Magnitude of gravity [m/s²].

    Returns:
        x and y [m]; NaN in flight.
    """
    L = np.zeros(3) if momentum_rate is None else np.asarray(momentum_rate)
    lift = acceleration[2] + gravity
    if lift <= 1e-9 * gravity:
        return np.full(2, np.nan)
    return np.array(
        [
            center[0] - (center[2] * acceleration[0] + L[1] / mass) / lift,
            center[1] - (center[2] * acceleration[1] - L[0] / mass) / lift,
        ]
    )


def capture_point(
    center: Float[ndarray, "3"], velocity: Float[ndarray, "3"], gravity: float = STANDARD
) -> Float[ndarray, "2"]:
    """Return the capture point, where the robot must step to come to rest.

    c + ċ √(z / g), for a linear inverted pendulum.

    Args:
        center: Position of the centre of mass [m].
        velocity: Velocity of the centre of mass [m/s].
        gravity: Magnitude of gravity [m/s²].

    Returns:
        x and y [m].
    """
    if center[2] <= 0:
        raise InputError(f"a capture point needs a centre of mass above the ground, got {float(center[2])} m")
    return center[:2] + velocity[:2] * math.sqrt(center[2] / gravity)


# -- pieces ------------------------------------------------------------------------------------------------------------
def _touching(feet: Float[ndarray, "n 3"], contact: Sequence[Scalar]) -> Float[ndarray, "m 3"]:
    array = np.asarray(feet, dtype=float)
    if len(contact) != len(array):
        raise InputError(f"contact needs one value per foot: {len(array)} feet, got {len(contact)}")
    return array[np.asarray(contact, dtype=bool)]


def _cross(a: Sequence[float], b: Sequence[float], p: Operand) -> float:
    """Return twice the area of the triangle a, b, p: positive where p is to the left of the line from a to b."""
    return (b[0] - a[0]) * (float(p[1]) - a[1]) - (b[1] - a[1]) * (float(p[0]) - a[0])


def _distance_to_side(a: Sequence[float], b: Sequence[float], p: Sequence[float]) -> float:
    dx, dy = b[0] - a[0], b[1] - a[1]
    along = min(max(((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / (dx * dx + dy * dy), 0.0), 1.0)
    return math.hypot(p[0] - a[0] - along * dx, p[1] - a[1] - along * dy)
