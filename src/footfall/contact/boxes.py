"""Boxes that stand on a ground: feet and colliding links touch their sides, edges and corners.

    ground = contact.Boxes(contact.Plane(), [contact.Box((0.8, 0.0, 0.1), (0.3, 1.0, 0.2))])

The distance from one box is exact outside it. A sphere has one contact: where a box meets the ground or another box,
the corner is filled with a quarter circle, as in ``Steps``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.checks import checked_number, three_numbers
from footfall.contact.ground import Ground, as_ground, numbers_of
from footfall.contact.pairs import frame_about
from footfall.errors import InputError
from nptrace._types import Json, Operand, Scalar
from nptrace.array_types import Float

_TINY = 1e-9  # [m]


@dataclass(frozen=True, eq=False)
class Box:
    """A box on the ground: its centre and side lengths [m], and its ``yaw`` [rad]."""

    center: Float[ndarray, "3"]
    size: Float[ndarray, "3"]
    yaw: float = 0.0

    def __post_init__(self) -> None:
        center, size = three_numbers(self.center, "the centre of a box"), three_numbers(self.size, "sides of a box")
        if (size <= 0).any():
            raise InputError(f"sides of a box must be positive, got {size.tolist()}")
        yaw = checked_number(self.yaw, "yaw of a box", -1e3, 1e3)
        for key, value in (("center", center), ("size", size), ("yaw", yaw)):
            object.__setattr__(self, key, value)

    def nearest(self, p_W: Float[ndarray, "3"]) -> tuple[Scalar, Float[ndarray, "3"]]:
        """Return (signed distance, outward direction) from the box."""
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        distance, side = from_box(0.5 * self.size, R.T @ (p_W - self.center))
        return distance, R @ side


def from_box(half: Float[ndarray, "3"], x: Float[ndarray, "3"]) -> tuple[Scalar, Float[ndarray, "3"]]:
    """Return (signed distance of a point from a box about the origin, outward direction), in the box's axes."""
    over = np.abs(x) - half
    out = np.maximum(over, 0.0)
    away = np.sqrt(out @ out + _TINY * _TINY)
    most = np.maximum(np.maximum(over[0], over[1]), over[2])
    first, second = over[0] >= most, over[1] >= most  # the nearest side, from inside
    inner = np.stack(
        [np.where(first, 1.0, 0.0), np.where(~first & second, 1.0, 0.0), np.where(first | second, 0.0, 1.0)]
    )
    outside = most > 0.0
    side = np.where(x < 0.0, -1.0, 1.0) * np.where(outside, out / away, inner)
    return np.where(outside, away, most), side


@dataclass(frozen=True, eq=False)
class Boxes(Ground):
    """A ground with boxes on it, of the same friction; ``fillet`` [m] fills the corners between them."""

    ground: Ground
    boxes: Sequence[Box]
    fillet: float = 0.01

    kind = "boxes"

    def __post_init__(self) -> None:
        boxes = tuple(self.boxes)
        if not boxes or not all(isinstance(box, Box) for box in boxes):
            raise InputError(f"boxes on a ground must be a list of Box, got {self.boxes!r}")
        least = 0.5 * min(float(box.size.min()) for box in boxes)
        fillet = min(checked_number(self.fillet, "fillet of boxes", 0.0), least)
        object.__setattr__(self, "ground", as_ground(self.ground))
        object.__setattr__(self, "boxes", boxes)
        object.__setattr__(self, "fillet", fillet)

    def _nearest(self, p_W: Float[ndarray, "3"]) -> tuple[Operand, Float[ndarray, "3"]]:
        """Return (distance, outward vector of any length) from the rounded union of all surfaces, added one by one."""
        distance, way = self.ground.distance(p_W), self.ground.frame(p_W)[:, 2]
        for box in self.boxes:
            other, out = box.nearest(p_W)
            in_a, in_b = np.maximum(self.fillet - distance, 0.0), np.maximum(self.fillet - other, 0.0)
            cornered = (in_a > 0.0) & (in_b > 0.0)
            nearer = distance <= other
            mixed = in_a * way + in_b * out
            mixed = mixed / np.sqrt(mixed @ mixed + _TINY * _TINY)
            way = np.where(cornered, mixed, np.where(nearer, way, out))
            least = np.where(nearer, distance, other)
            distance = np.maximum(self.fillet, least) - np.sqrt(in_a * in_a + in_b * in_b + _TINY * _TINY)
        return distance, way

    def distance(self, p_W: Float[ndarray, "3"]) -> float:
        return self._nearest(p_W)[0]

    def frame(self, p_W: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
        _, way = self._nearest(p_W)
        return frame_about(way / np.sqrt(way @ way))

    def friction_at(self, p_W: Float[ndarray, "3"]) -> float:
        return self.ground.friction_at(p_W)

    def to_json(self) -> dict[str, Json] | None:
        inner = self.ground.to_json()
        boxes = [numbers_of(box) for box in self.boxes]
        return None if inner is None else {"kind": self.kind, "ground": inner, "boxes": boxes, **numbers_of(self)}

    @classmethod
    def from_json(cls, fields: dict[str, Json]) -> Boxes:
        from footfall.contact.terrain import from_json

        boxes = [Box(**box) for box in fields["boxes"]]
        return cls(**{**fields, "ground": from_json(fields.get("ground")), "boxes": boxes})


__all__ = ["Box", "Boxes"]
