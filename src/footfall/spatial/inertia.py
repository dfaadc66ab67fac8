"""Rigid-body inertia as (m, h, J): the mass and its first and second moments, ∫dm, ∫r dm, ∫r rᵀ dm, in a link's frame.

The usual tensor is I = tr(J) 1 - J. J moves between frames with fewer operations than I (no trace terms), and a mass
distribution exists if and only if [[J, h], [hᵀ, m]] is positive semidefinite.

Erratum of eq. (21) of de Paula et al. 2024: the block-diagonal matrix printed there holds only with the frame at the
centre of mass. Link frames sit at joints, so the first moment h = m c stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.spatial.transform import Transform
from footfall.spatial.vector import cross, skew, symmetric
from nptrace.array_types import Float


@dataclass(frozen=True)
class Inertia:
    """Mass [kg], first moment [kg m] and second moment [kg m²] about the origin of a frame, in its axes."""

    m: float
    h: Float[ndarray, "3"]
    J: Float[ndarray, "3 3"]

    @staticmethod
    def zero() -> Inertia:
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))

    @staticmethod
    def about_com(mass: float, com: Float[ndarray, "3"], tensor: Float[ndarray, "3 3"]) -> Inertia:
        """Create it from the centre of mass and the inertia tensor about it (parallel axes)."""
        return Inertia(mass, mass * com, 0.5 * np.trace(tensor) * np.eye(3) - tensor + mass * np.outer(com, com))

    @property
    def I(self) -> Float[ndarray, "3 3"]:  # noqa: E743 the letter of the papers
        """Return the inertia tensor about the origin [kg m²]."""
        J = self.J
        x, y, z = J[0, 0], J[1, 1], J[2, 2]
        return np.array([[y + z, -J[0, 1], -J[0, 2]], [-J[1, 0], z + x, -J[1, 2]], [-J[2, 0], -J[2, 1], x + y]])

    def __add__(self, other: Inertia) -> Inertia:
        """Combine two rigidly joined bodies, both given in the same frame."""
        return Inertia(self.m + other.m, self.h + other.h, self.J + other.J)

    def to_parent(self, X_AB: Transform) -> Inertia:
        """Return (X_A^B)ᵀ I X_A^B: the inertia of a body given in B, about the origin of A in A's axes."""
        R, p = X_AB.R, X_AB.p
        h = R @ self.h
        moved = np.outer(p, h) + np.outer(h, p) + self.m * np.outer(p, p)
        J = symmetric(R @ self.J @ R.T)
        J[2, 2] = np.trace(self.J) - J[0, 0] - J[1, 1]  # a rotation preserves the trace: fewer operations
        return Inertia(self.m, h + self.m * p, J + symmetric(moved))

    def times(self, twist: Float[ndarray, "6"]) -> Float[ndarray, "6"]:
        """Return I V: momentum of a twist, or wrench of a spatial acceleration."""
        omega, v = twist[:3], twist[3:]
        return np.concatenate([self.I @ omega + cross(self.h, v), self.m * v + cross(omega, self.h)])

    def matrix(self) -> Float[ndarray, "6 6"]:
        """Return the full 6x6 matrix: eq. (21) for any frame."""
        return np.block([[self.I, skew(self.h)], [-skew(self.h), self.m * np.eye(3)]])
