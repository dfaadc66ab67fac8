"""Just enough of mesh files (STL, OBJ, Collada) to fit a sphere to a foot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall.errors import ModelError
from footfall.robot.files.guard import read_bytes
from footfall.robot.files.mesh_files import read_mesh, stl_corners

_SNUG = 1.1  # radius over half of the longest side of the bounding box: 1 for a ball and for half of one
_GOOD_FIT = 0.1  # root mean square distance of the vertices from the sphere, over its radius


def vertices(path: Path) -> ndarray | None:
    """The different vertices of an STL, OBJ or Collada file, (n, 3); None when it cannot be read."""
    kind = path.suffix.lower()
    points: ndarray | None = None
    try:
        if kind == ".stl":
            points = _corners(read_bytes(path))
        elif kind == ".obj":
            points = _lines(read_bytes(path), b"v")
        elif kind == ".dae":
            points = np.concatenate([mesh.vertices for mesh in read_mesh(path)])
    except ModelError:
        return None
    if points is None or len(points) < 4 or not np.isfinite(points).all() or np.abs(points).max() > 1e6:
        return None
    return np.unique(points, axis=0)


def _corners(data: bytes) -> ndarray | None:
    try:
        return stl_corners(data)
    except ValueError:
        return None


def _lines(data: bytes, keyword: bytes) -> ndarray | None:
    rows = [words[1:4] for words in map(bytes.split, data.splitlines()) if words and words[0] == keyword]
    try:
        return np.array([[float(x) for x in row] for row in rows]).reshape(-1, 3)
    except ValueError:
        return None


def fit_sphere(points: ndarray) -> tuple[ndarray, float, float | None]:
    """Centre and radius of a sphere for a foot, and the root mean square distance of the points from it [m]: least
    squares when the points lie on one, else the largest that stays within the bounding box around its centre, and None.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2
    moved = points - middle
    system = np.column_stack([2 * moved, np.ones(len(points))])
    solution, *_ = np.linalg.lstsq(system, (moved**2).sum(axis=1), rcond=None)
    square = float(solution[3] + solution[:3] @ solution[:3])
    if square > 0:
        centre, radius = solution[:3], float(np.sqrt(square))
        residual = np.linalg.norm(moved - centre, axis=1) - radius
        # the corners of a box lie on a sphere too, one that is larger than the box
        inside = radius <= _SNUG * float((high - low).max()) / 2 and bool((np.abs(centre) <= (high - low)).all())
        off = float(np.sqrt((residual**2).mean()))
        if inside and off < _GOOD_FIT * radius:
            return centre + middle, radius, off
    return middle, float((high - low).min() / 2), None
