"""Vectors, rotations, poses, twists, wrenches and inertias: the basis of every algorithm."""

from footfall.spatial import quaternion, rotation, screw
from footfall.spatial.inertia import Inertia
from footfall.spatial.motion import cross_force, cross_force_matrix, cross_motion, cross_motion_matrix
from footfall.spatial.transform import Transform
from footfall.spatial.vector import cross, skew, symmetric

__all__ = [
    "Inertia",
    "Transform",
    "cross",
    "cross_force",
    "cross_force_matrix",
    "cross_motion",
    "cross_motion_matrix",
    "quaternion",
    "rotation",
    "screw",
    "skew",
    "symmetric",
]


def __dir__() -> list[str]:
    return sorted(__all__)
