"""The sphere that stands for a foot's shape, and how sure that is: vertices of meshes count, not where a shape's origin
happens to be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall.robot.files.draft import Shape
from footfall.robot.files.mesh import fit_sphere, vertices

POINT = 1e-6  # [m] a sphere as small as this stands for a point, which files cannot say
STATED_RADIUS = 0.02  # [m] of a mesh that cannot be read
AT_PLACE = "(as thick as its vertices, at the place that the file calls a foot)"
_LEVEL = 0.05  # sine of a tilt that counts as none
_ROUND = 0.05  # of its radius: by how much a wheel may be out of round


@dataclass(frozen=True)
class Axis:
    """The joint that moves a shape: a point on its axis, and its direction, in the shape's frame."""

    point: ndarray
    direction: ndarray

    def away(self, points: ndarray) -> ndarray:
        """From the axis to points, at right angles to it."""
        arms = points - self.point
        return np.asarray(arms - np.outer(arms @ self.direction, self.direction))


@dataclass(frozen=True)
class Ball:
    """A sphere in the shape's frame, and how it was chosen, in words."""

    centre: ndarray
    radius: float
    how: str
    tyre: float = 0.0  # of a wheel: from the middle of its tyre to its tread


def radius_of(sphere: Shape) -> float:
    return float(sphere.size[0]) if sphere.size[0] > POINT else 0.0


def extent(shape: Shape, direction: ndarray) -> float:
    """How far a shape reaches from its origin along a direction in its own axes [m]."""
    d, size = direction, shape.size
    if shape.kind == "mesh":
        points = points_of(shape)
        return float((points @ d).max()) if points is not None else 0.0
    if not size.size:
        return 0.0
    if shape.kind == "sphere":
        return float(size[0])
    if shape.kind == "capsule":
        return float(size[0] + size[1] * abs(d[2]))
    if shape.kind == "cylinder":
        return float(size[0] * np.hypot(d[0], d[1]) + size[1] * abs(d[2]))
    if shape.kind == "ellipsoid":
        return float(np.linalg.norm(size * d))
    return float(np.abs(d) @ size) if len(size) == 3 else 0.0


def reach(shape: Shape, axis: Axis) -> float:
    """How far a shape reaches from the axis of the joint that moves it [m]."""
    if shape.kind == "mesh":
        points = points_of(shape)
        return float(np.linalg.norm(axis.away(points), axis=1).max()) if points is not None else 0.0
    out = axis.away(np.zeros((1, 3)))[0]
    length = float(np.linalg.norm(out))
    return length + (extent(shape, out / length) if length > 0 else extent(shape, np.array([0.0, 0.0, -1.0])))


def wheel(shape: Shape, axis: Axis) -> Ball | None:
    """The ball of a wheel: a shape that is round about the axis of its own joint, as large as the wheel; else None."""
    if shape.kind == "mesh":
        points = points_of(shape)
        if points is None:
            return None
        along = (points - axis.point) @ axis.direction
        arms = axis.away(points)
        radius = float(np.linalg.norm(arms, axis=1).max())
        across = np.linalg.svd(np.eye(3) - np.outer(axis.direction, axis.direction))[0][:, :2]
        low, high = (arms @ across).min(axis=0), (arms @ across).max(axis=0)
        if radius <= 0 or max(np.abs(high - radius).max(), np.abs(low + radius).max()) > _ROUND * radius:
            return None
        middle, half = 0.5 * (along.min() + along.max()), 0.5 * float(along.max() - along.min())
        said = f"a wheel of radius {radius:.4g} m (its vertices are round about its axis)"
    elif shape.kind in ("cylinder", "sphere") and shape.size.size:
        radius, middle = float(shape.size[0]), float(-axis.point @ axis.direction)
        half = float(shape.size[-1])
        off = float(np.linalg.norm(axis.away(np.zeros((1, 3)))))
        level = shape.kind == "sphere" or abs(axis.direction[2]) > 1.0 - _LEVEL
        if radius <= 0 or off > _ROUND * radius or not level:
            return None
        said = f"a wheel of radius {radius:.4g} m (a {shape.kind} about its axis)"
    else:
        return None
    return Ball(axis.point + middle * axis.direction, radius, said, min(half, 0.5 * radius))


def stated(shape: Shape, down: ndarray, axis: Axis | None, sites: list[ndarray]) -> Ball:
    """A ball for a shape that is none; ``down`` is the robot's, ``sites`` are places that the file calls feet, both in
    the shape's frame."""
    if shape.kind == "mesh":
        return _of_mesh(shape, axis, sites)
    if not shape.size.size:
        return _ball(np.zeros(3), STATED_RADIUS, shape, "(its size is not known)")
    if shape.kind == "capsule":
        centre = shape.size[1] * _sign(down) * np.array([0.0, 0.0, 1.0])
        return _ball(centre, float(shape.size[0]), shape, "(its lower end)")
    if shape.kind == "ellipsoid":
        radius = float(shape.size.min())
        lowest = shape.size**2 * down / np.linalg.norm(shape.size * down)
        return _ball(lowest - radius * down, radius, shape, "(its lowest place)")
    half = shape.size if shape.kind != "cylinder" else shape.size[[0, 0, 1]]
    radius = float(half.min())
    room = half - radius  # where the centre of such a sphere may be
    centre = room * _sign(down)
    if shape.kind == "cylinder" and room[0] > 0:  # a disc: the place on its rim
        across = np.array([down[0], down[1], 0.0])
        length = float(np.linalg.norm(across))
        centre = room[0] * across / length if length > _LEVEL else np.zeros(3)
    return _ball(centre, radius, shape, "(its lowest place)")


def _of_mesh(shape: Shape, axis: Axis | None, sites: list[ndarray]) -> Ball:
    """Least squares where the vertices lie on a sphere; else as thick as the mesh, at a place that the file calls a
    foot, or at the end that is furthest from the joint that moves it."""
    points = points_of(shape)
    if points is None:
        return _ball(np.zeros(3), STATED_RADIUS, shape, "(its mesh cannot be read)")
    centre, radius, off = fit_sphere(points)
    if off is not None:
        return _ball(centre, radius, shape, f"(fitted to its vertices, which lie within {1e3 * off:.2g} mm of it)")
    low, high = points.min(axis=0) - radius, points.max(axis=0) + radius
    for place in sites:
        if (place >= low).all() and (place <= high).all():
            return _ball(place, radius, shape, AT_PLACE)
    if axis is None:
        return _ball(centre, radius, shape, "(fitted to its vertices, which lie on no sphere)")
    arms = axis.away(points)
    far = int(np.linalg.norm(arms, axis=1).argmax())
    length = float(np.linalg.norm(arms[far]))
    along = (points - axis.point) @ axis.direction
    middle = axis.point + 0.5 * (along.min() + along.max()) * axis.direction
    end = middle + arms[far] * (1.0 - min(radius / length, 1.0) if length > 0 else 1.0)
    return _ball(end, radius, shape, "(as thick as its vertices, at their end furthest from the joint)")


def _ball(centre: ndarray, radius: float, shape: Shape, how: str) -> Ball:
    article = "an" if shape.kind == "ellipsoid" else "a"
    return Ball(centre, radius, f"{article} {shape.kind}, taken as a sphere of radius {radius:.4g} m {how}")


def points_of(shape: Shape) -> ndarray | None:
    """The vertices of a mesh at its scale, in the shape's frame; None when they cannot be read."""
    if shape.mesh is None:
        return None
    try:
        written = shape.mesh.stat()
    except OSError:
        return None
    points = _read(shape.mesh, written.st_mtime_ns, written.st_size)
    return points * shape.size if points is not None else None


@lru_cache(maxsize=32)
def _read(path: Path, written: int, size: int) -> ndarray | None:
    """The vertices of a file as it was written then."""
    return vertices(path)


def _sign(direction: ndarray) -> ndarray:
    """-1, 0 or 1 a component; 0 for what is next to level, where neither side is lower."""
    return np.where(np.abs(direction) < _LEVEL, 0.0, np.sign(direction))


__all__ = [
    "AT_PLACE",
    "POINT",
    "STATED_RADIUS",
    "Axis",
    "Ball",
    "extent",
    "points_of",
    "radius_of",
    "reach",
    "stated",
    "wheel",
]
