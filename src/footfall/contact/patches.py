"""A ground whose friction varies over the plane."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy import ndarray

from footfall.checks import checked_number
from footfall.contact.ground import Ground, as_ground, numbers_of
from footfall.errors import InputError
from nptrace import lookup
from nptrace._types import Json
from nptrace.array_types import Float


@dataclass(frozen=True, eq=False)
class Patches(Ground):
    """A ground with a coefficient of friction for each cell of a grid, ``spacing`` [m] wide, x first.

    Cell (0, 0) begins at ``corner`` (x, y) [m]; beyond the grid, the nearest cell applies. "ground.friction" may
    be a free parameter: the whole grid.
    """

    ground: Ground
    friction: Float[ndarray, "nx ny"]
    spacing: float = 1.0
    corner: Float[ndarray, "2"] = field(default_factory=lambda: np.zeros(2))

    kind = "patches"

    def __post_init__(self) -> None:
        try:
            friction, corner = np.array(self.friction, dtype=float), np.array(self.corner, dtype=float)
        except (TypeError, ValueError) as error:
            raise InputError("friction of patches must be a grid of numbers, their corner two numbers") from error
        if friction.ndim != 2 or not friction.size:
            raise InputError(f"friction of patches must be a grid of numbers, got shape {friction.shape}")
        wrong = np.argwhere(~(np.isfinite(friction) & (friction >= 0)))
        if len(wrong):
            i, j = wrong[0]
            raise InputError(f"friction of patch ({i}, {j}) must be finite and not negative, got {friction[i, j]}")
        if corner.shape != (2,) or not np.isfinite(corner).all():
            raise InputError(f"the corner of patches must be two finite numbers, got {self.corner!r}")
        object.__setattr__(self, "ground", as_ground(self.ground))
        spacing = checked_number(self.spacing, "spacing of patches", 0.0, above=True)
        friction.setflags(write=False)
        for key, value in (("friction", friction), ("corner", corner), ("spacing", spacing)):
            object.__setattr__(self, key, value)

    def distance(self, p_W: Float[ndarray, "3"]) -> float:
        return self.ground.distance(p_W)

    def frame(self, p_W: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
        return self.ground.frame(p_W)

    def friction_at(self, p_W: Float[ndarray, "3"]) -> float:
        at = ((p_W[k] - self.corner[k]) / self.spacing for k in range(2))
        return lookup(self.friction, *at)

    def for_radius(self, radius: float) -> Ground:
        inner = self.ground.for_radius(radius)
        return self if inner is self.ground else replace(self, ground=inner)

    def distances(self, points: Float[ndarray, "n 3"]) -> Float[ndarray, "n"]:
        return self.ground.distances(points)

    @property
    def flat(self) -> bool:
        return self.ground.flat

    def heights_at(self, x: ndarray, y: ndarray) -> ndarray:
        return self.ground.heights_at(x, y)

    def risers(self, low: float, high: float) -> ndarray:
        return self.ground.risers(low, high)

    def to_json(self) -> dict[str, Json] | None:
        inner = self.ground.to_json()
        return None if inner is None else {"kind": self.kind, **numbers_of(self), "ground": inner}

    @classmethod
    def from_json(cls, fields: dict[str, Json]) -> Patches:
        from footfall.contact.terrain import from_json

        return cls(**{**fields, "ground": from_json(fields.get("ground"))})


__all__ = ["Patches"]
