"""The ground: where it is under a point, which way it faces, and how rough it is to a sliding foot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.checks import checked_number, three_numbers
from footfall.errors import InputError
from footfall.nests import Given
from footfall.spatial import cross


@runtime_checkable
class Ground(Protocol):
    """A surface that answers for every point near it."""

    def distance(self, p_W: Float[ndarray, "3"]) -> float:
        """Signed distance of a point from the surface [m], positive above it."""
        ...

    def frame(self, p_W: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
        """R_WC: axes of the contact frame under a point, the normal last."""
        ...

    def friction_at(self, p_W: Float[ndarray, "3"]) -> float:
        """Coefficient of sliding friction under a point."""
        ...


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane through ``point`` [m] with the given ``normal``; eq. (31) of de Paula et al. 2024 holds for any plane."""

    friction: float = 0.8
    normal: Float[ndarray, "3"] = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    point: Float[ndarray, "3"] = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        mu = checked_friction(self.friction)
        normal = three_numbers(self.normal, "the normal of the plane")
        point = three_numbers(self.point, "the point of the plane")
        length = float(np.sqrt(normal @ normal))
        if length < 1e-9 or normal[2] / length < 1e-3:
            raise InputError(f"the normal of the plane must point upwards, got {normal.tolist()}")
        for key, value in (("friction", mu), ("normal", normal / length), ("point", point)):
            object.__setattr__(self, key, value)

    @property
    def axes(self) -> Float[ndarray, "3 3"]:
        """R_WC: x along the plane in the world's x-z plane, uphill or downhill; the normal last."""
        normal = self.normal
        forward = np.array([1.0, 0.0, 0.0]) - normal[0] * normal
        forward = forward / np.sqrt(forward @ forward)
        return np.stack([forward, cross(normal, forward), normal], axis=1)

    @staticmethod
    def slope(degrees: float, friction: float = 0.8) -> Plane:
        """A plane through the origin that rises along +x."""
        if not np.isfinite(degrees) or abs(degrees) >= 80:
            raise InputError(f"a slope must lie between -80 and 80 degrees, got {degrees}")
        angle = np.radians(degrees)
        return Plane(friction, np.array([-np.sin(angle), 0.0, np.cos(angle)]))

    def distance(self, p_W: Float[ndarray, "3"]) -> float:
        return self.normal @ (p_W - self.point)

    def frame(self, p_W: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
        return self.axes

    def friction_at(self, p_W: Float[ndarray, "3"]) -> float:
        return self.friction


def checked_friction(value: Given) -> float:
    """A coefficient of friction, or an InputError."""
    return checked_number(value, "friction", 0.0)
