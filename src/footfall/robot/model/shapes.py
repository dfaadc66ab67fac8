"""Inertia tensors of simple solids [kg m²] about the centre of mass: boxes (Adak et al.), rods, cylinders, capsules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from footfall.checks import positive_number
from footfall.errors import InputError
from footfall.spatial.vector import symmetric
from nptrace.array_types import Float


def tensor(
    ixx: float, iyy: float, izz: float, ixy: float = 0.0, ixz: float = 0.0, iyz: float = 0.0
) -> Float[ndarray, "3 3"]:
    """Return the matrix of six moments [kg m²]; off-diagonals are matrix elements, ixy = -∫ x y dm."""
    return symmetric(np.array([[ixx, ixy, ixz], [0.0, iyy, iyz], [0.0, 0.0, izz]]))


def mirrored(inertia: Float[ndarray, "3 3"]) -> Float[ndarray, "3 3"]:
    """Return the tensor of the body's mirror image across the plane y = 0: ixy and iyz change sign."""
    flip = np.diag([1.0, -1.0, 1.0])
    return np.asarray(flip @ inertia @ flip)


def box_inertia(mass: float, size: Sequence[float]) -> Float[ndarray, "3 3"]:
    """Return a solid box: ``mass`` [kg], ``size`` = lengths along x, y, z [m]."""
    m = positive_number(mass, "mass of a box")
    if len(size) != 3:
        raise InputError(f"a box has three lengths along x, y, z, got {len(size)}")
    x, y, z = (positive_number(s, "size of a box") for s in size)
    return np.diag([m / 12 * (y * y + z * z), m / 12 * (x * x + z * z), m / 12 * (x * x + y * y)])


def cylinder_inertia(mass: float, radius: float, length: float, axis: str = "z") -> Float[ndarray, "3 3"]:
    """Return a solid cylinder of ``radius`` and ``length`` [m] along ``axis``; a thin one is a rod."""
    m, r, h = (positive_number(value, "mass, radius and length of a cylinder") for value in (mass, radius, length))
    return _along(axis, m / 2 * r * r, m / 12 * (3 * r * r + h * h))


def capsule_inertia(mass: float, radius: float, length: float, axis: str = "z") -> Float[ndarray, "3 3"]:
    """Return a cylinder of ``length`` [m] between its two half-spheres of ``radius`` [m], of one density throughout."""
    m, r, h = (positive_number(value, "mass, radius and length of a capsule") for value in (mass, radius, length))
    tube = m * h / (h + 4 / 3 * r)
    ball = m - tube  # both halves together
    # a half-sphere's centre of mass lies 3r/8 beyond its flat face; its own transverse moment there is 83/320 m r²
    across = tube / 12 * (3 * r * r + h * h) + ball * (83 / 320 * r * r + (h / 2 + 3 / 8 * r) ** 2)
    return _along(axis, tube / 2 * r * r + ball * 2 / 5 * r * r, across)


def rod_inertia(mass: float, length: float, radius: float | None = None, axis: str = "z") -> Float[ndarray, "3 3"]:
    """Return a slender round rod; unless given, its ``radius`` is a twentieth of its ``length`` [m]."""
    return cylinder_inertia(mass, length / 20 if radius is None else radius, length, axis)


def _along(axis: str, spin: float, across: float) -> Float[ndarray, "3 3"]:
    if axis not in ("x", "y", "z"):
        raise InputError(f"unknown axis '{axis}': choose x, y, z")
    return np.diag([spin if letter == axis else across for letter in "xyz"])
