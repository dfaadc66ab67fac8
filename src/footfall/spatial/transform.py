"""Poses (R, p) and their action on twists and wrenches: eqs. (4)-(8) of de Paula et al. 2024.

A pose ``X_AB`` holds R_AB and p_AB: a point is p_A = R_AB p_B + p_AB. The paper's motion transform X_A^B, which maps a
twist from A to B, is ``X_AB.to_child``; its transpose, which maps a wrench from B to A, is ``X_AB.wrench_to_parent``.
Twists are (ω, v), wrenches (n, f): angular part first. A dense 6x6 product costs three times as many operations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.spatial.vector import cross, skew
from nptrace.array_types import Float


@dataclass(frozen=True)
class Transform:
    """The pose X_AB of a frame B in a frame A."""

    R: Float[ndarray, "3 3"]
    p: Float[ndarray, "3"]

    @staticmethod
    def identity() -> Transform:
        return Transform(np.eye(3), np.zeros(3))

    def __matmul__(self, other: Transform) -> Transform:
        """Return X_AB @ X_BC = X_AC."""
        return Transform(self.R @ other.R, self.p + self.R @ other.p)

    def inverse(self) -> Transform:
        return Transform(self.R.T, -(self.R.T @ self.p))

    def point(self, p_B: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
        """Return a point given in B, in A."""
        return self.p + self.R @ p_B

    def to_child(self, twist_A: Float[ndarray, "6"]) -> Float[ndarray, "6"]:
        """Return X_A^B times a twist at the origin of A: the same motion at the origin of B in B's axes, eq. (4)."""
        omega, v = twist_A[:3], twist_A[3:]
        return np.concatenate([self.R.T @ omega, self.R.T @ (v + cross(omega, self.p))])

    def to_parent(self, twist_B: Float[ndarray, "6"]) -> Float[ndarray, "6"]:
        """Return the inverse of ``to_child``."""
        omega = self.R @ twist_B[:3]
        return np.concatenate([omega, self.R @ twist_B[3:] - cross(omega, self.p)])

    def wrench_to_parent(self, wrench_B: Float[ndarray, "6"]) -> Float[ndarray, "6"]:
        """Return (X_A^B)ᵀ times a wrench at the origin of B: the same wrench at the origin of A, eqs. (6)-(8)."""
        force = self.R @ wrench_B[3:]
        return np.concatenate([self.R @ wrench_B[:3] + cross(self.p, force), force])

    def wrench_to_child(self, wrench_A: Float[ndarray, "6"]) -> Float[ndarray, "6"]:
        """Return the inverse of ``wrench_to_parent``."""
        return np.concatenate([self.R.T @ (wrench_A[:3] - cross(self.p, wrench_A[3:])), self.R.T @ wrench_A[3:]])

    def motion_matrix(self) -> Float[ndarray, "6 6"]:
        """Return X_A^B as printed in eq. (5)."""
        R_BA = self.R.T
        return np.block([[R_BA, np.zeros((3, 3))], [-R_BA @ skew(self.p), R_BA]])

    def force_matrix(self) -> Float[ndarray, "6 6"]:
        """Return the force transform from A to B as printed in eq. (7)."""
        R_BA = self.R.T
        return np.block([[R_BA, -R_BA @ skew(self.p)], [np.zeros((3, 3)), R_BA]])
