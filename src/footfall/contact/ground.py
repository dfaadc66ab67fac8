"""Grounds: the surface under a point, its normal and its friction; and the plane.

A ground is one file: a class that evaluates points, and defines how it is drawn, stored in files, placed in a MuJoCo
model and named on the command line. ``terrain.KINDS`` lists the classes.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy import ndarray

from footfall.adapters import Adapter, has_members
from footfall.checks import checked_number, three_numbers
from footfall.errors import InputError
from footfall.hints import GROUND, names_arguments
from footfall.spatial import cross, quaternion
from nptrace._types import Given, Json
from nptrace.array_types import Float

if TYPE_CHECKING:
    from mujoco import MjsGeom, MjSpec

_HOLE = -1.0  # [m], depth at which a hole is drawn


class Ground(ABC):
    """A surface that robots stand on.

    A simulation uses ``distance``, ``frame`` and ``friction_at``; a user-defined class needs only these.
    The rest has defaults: the surface is drawn by its distance, is not stored in files, and has no MuJoCo form.
    """

    kind: ClassVar[str | None] = None  # name in files; a ground without it is not stored
    spellings: ClassVar[tuple[str, ...]] = ()  # names on the command line
    examples: ClassVar[tuple[str, ...]] = ()  # examples of these names, offered on the web page
    free: ClassVar[tuple[str, ...]] = ()  # numbers that stay inputs of programs that are slow to compile

    @abstractmethod
    def distance(self, p_W: Float[ndarray, "3"]) -> float:
        """Return the signed distance of a point from the surface [m], positive above it."""

    @abstractmethod
    def frame(self, p_W: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
        """Return R_WC, the axes of the contact frame under a point, the normal last."""

    @abstractmethod
    def friction_at(self, p_W: Float[ndarray, "3"]) -> float:
        """Return the coefficient of sliding friction under a point."""

    def for_radius(self, radius: float) -> Ground:
        """Return the ground for spheres of a radius [m]; most grounds return themselves."""
        return self

    def distances(self, points: Float[ndarray, "n 3"]) -> Float[ndarray, "n"]:
        """Return the distances of many points [m]."""
        return np.array([self.distance(p) for p in points])

    # -- drawing -----------------------------------------------------------------------------------------------------
    @property
    def flat(self) -> bool:
        """Return whether a coarse mesh shows all of the surface."""
        return False

    def heights_at(self, x: ndarray, y: ndarray) -> ndarray:
        """Return the height of the surface at many positions [m] for drawing; by default from its distance."""
        x, y = np.broadcast_arrays(x, y)
        z = np.array([-float(self.distance(np.array([a, b, 0.0]))) for a, b in zip(x.ravel(), y.ravel())])
        return drawn_heights(z.reshape(x.shape))

    def risers(self, low: float, high: float) -> ndarray:
        """Return the positions along x between two others where the surface is vertical [m]."""
        return np.zeros(0)

    # -- files -------------------------------------------------------------------------------------------------------
    def to_json(self) -> dict[str, Json] | None:
        """Return the ground as plain JSON, enough to draw it or run on it again; None if it has no such form."""
        return None if self.kind is None else {"kind": self.kind} | numbers_of(self)

    @classmethod
    def from_json(cls, fields: dict[str, Json]) -> Ground:
        """Return the ground of unchecked fields of ``to_json``."""
        return cls(**fields)

    @classmethod
    def from_name(cls, name: str, seed: int, friction: float) -> Ground | None:
        """Return the ground of a name on the command line, None if the name is not of this kind."""
        return None

    # -- MuJoCo ------------------------------------------------------------------------------------------------------
    def to_mujoco(self, mj: ModuleType, spec: MjSpec, geom: MjsGeom) -> None:
        """Add this ground to a MuJoCo model, in place of its ground geom."""
        raise InputError(
            "MuJoCo supports a plane, a heightfield or steps with one friction coefficient; the ground is a"
            f" {type(self).__name__}"
        )


@dataclass(frozen=True, eq=False)
class AdaptedGround(Adapter, Ground):
    """A user-defined ground that is not a ``Ground``, with the defaults of one."""

    adapted: Given

    def distance(self, p_W: Float[ndarray, "3"]) -> float:
        return self.adapted.distance(p_W)

    def frame(self, p_W: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
        return self.adapted.frame(p_W)

    def friction_at(self, p_W: Float[ndarray, "3"]) -> float:
        return self.adapted.friction_at(p_W)


def as_ground(given: Given) -> Ground:
    """Return a ground unchanged, or a user-defined one with the defaults of ``Ground``; raise if a member is
    missing.
    """
    if isinstance(given, Ground):
        return given
    if isinstance(given, type):
        raise InputError(f"a ground must be an object, such as {given.__name__}(...), got its class")
    if not has_members(given, "distance", "frame", "friction_at"):
        raise InputError(
            f"a ground needs distance and frame and friction_at, which {type(given).__name__} lacks; heights of a"
            " grid are a contact.Heightfield(heights, spacing)"
        )
    return AdaptedGround(given)


@names_arguments("argument of Plane", GROUND)
@dataclass(frozen=True, eq=False)
class Plane(Ground):
    """A plane through ``point`` [m] with the given ``normal``; eq. (31) of de Paula et al. 2024 holds for any plane."""

    friction: float = 0.8
    normal: Float[ndarray, "3"] = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    point: Float[ndarray, "3"] = field(default_factory=lambda: np.zeros(3))

    kind = "plane"
    spellings = ("plane", "slope:D")
    examples = ("plane", "slope:5", "slope:10")
    free = ("friction",)

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
        """Return R_WC: x along the plane in the world's x-z plane, uphill or downhill; the normal last."""
        normal = self.normal
        forward = np.array([1.0, 0.0, 0.0]) - normal[0] * normal
        forward = forward / np.sqrt(forward @ forward)
        return np.stack([forward, cross(normal, forward), normal], axis=1)

    @staticmethod
    def slope(degrees: float, friction: float = 0.8) -> Plane:
        """Return a plane through the origin that rises along +x by an angle [degrees]."""
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

    def distances(self, points: Float[ndarray, "n 3"]) -> Float[ndarray, "n"]:
        return np.asarray((points - self.point) @ self.normal)

    @property
    def flat(self) -> bool:
        return True

    def heights_at(self, x: ndarray, y: ndarray) -> ndarray:
        n, p = self.normal, self.point
        return p[2] - (n[0] * (x - p[0]) + n[1] * (y - p[1])) / n[2]

    @classmethod
    def from_name(cls, name: str, seed: int, friction: float) -> Plane | None:
        if name == "plane":
            return cls(friction)
        if name.partition(":")[0] == "slope":
            return cls.slope(one_size(name, "an angle in degrees, as in slope:5"), friction)
        return None

    def to_mujoco(self, mj: ModuleType, spec: MjSpec, geom: MjsGeom) -> None:
        geom.pos, geom.quat = self.point, quaternion.from_rotation(self.axes)


def checked_friction(value: Given) -> float:
    """Return a coefficient of friction; raise if it is not valid."""
    return checked_number(value, "friction", 0.0)


def one_size(name: str, needs: str) -> float:
    """Return the number behind the colon in the name of a ground."""
    kind, *sizes = name.split(":")
    (size,) = sizes_in(sizes, 1, f"{kind} needs {needs}, got {name!r}")
    return size


def sizes_in(texts: list[str], count: int | None, otherwise: str) -> list[float]:
    """Return the finite numbers in texts, or raise with the sentence ``otherwise``."""
    try:
        found = [float(text) for text in texts]
    except ValueError:
        raise InputError(otherwise) from None
    if (count is not None and len(found) != count) or not np.isfinite(found).all():
        raise InputError(otherwise)
    return found


def numbers_of(record: Given) -> dict[str, Json]:
    """Return the fields of a dataclass that are numbers or arrays of numbers, as JSON."""
    fields: Mapping[str, Given] = {f.name: getattr(record, f.name) for f in dataclasses.fields(record)}
    return {
        key: value.tolist() if isinstance(value, ndarray) else value
        for key, value in fields.items()
        if isinstance(value, (ndarray, bool, int, float))
    }


def drawn_heights(z: ndarray) -> ndarray:
    """Return heights with holes drawn a metre down."""
    return np.where(np.isfinite(z), z, _HOLE)


__all__ = ["AdaptedGround", "Ground", "Plane", "as_ground", "checked_friction"]
