"""Free bodies beside a robot: boxes and balls that can be pushed, rolled or carried.

    box, ball = ff.FreeBox((0.3, 0.2, 0.2), 2.0, (0.6, 0.0, 0.1)), ff.FreeBall(0.1, 0.5, (1.0, 0.0, 0.1))
    sim = ff.Simulation(robot, objects=[box, ball])

A free body is a robot of one link without joints: it has the mass matrix, the bias and the step of a base. It touches
its surroundings with spheres (a ball is one; a box has one at each slightly rounded corner), and is a ``Solid`` for the
spheres of others. So every contact is between a sphere and a surface, like that of a foot with the ground. Edges that
cross, with no corner of either near, touch by spheres that slide along them (``sim.objects``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy import ndarray

from footfall.checks import checked_number, three_numbers
from footfall.contact.boxes import from_box
from footfall.contact.ground import Ground, checked_friction
from footfall.contact.pairs import frame_about
from footfall.contact.points import Sphere
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Link, name_of
from footfall.spatial import Transform
from footfall.spatial.quaternion import from_rotation
from footfall.spatial.rotation import about_axis
from nptrace._types import Given, Operand, Scalar
from nptrace.array_types import Float

_TINY = 1e-9  # [m]
# limits [m, m/s, rad/s]: beyond, squares lose the digits that a robot needs
_MOST = {"position": 1e6, "velocity": 1e4, "omega": 1e4}
# rounding of a box's corners: the radius [m], and at most this fraction of its shortest side
_ROUND, _ROUND_SHARE = 2e-3, 0.05


@dataclass(frozen=True, eq=False)
class Solid:
    """A box, or the set of points within ``radius`` [m] of one; of a segment (capsule) or a point (ball), too.

    ``half`` are half its side lengths [m], ``X_BS`` is its pose in the frame of body ``body``.
    """

    name: str
    body: int
    half: Float[ndarray, "3"]
    radius: float
    X_BS: Transform

    def nearest(self, x: Float[ndarray, "3"]) -> tuple[Scalar, Float[ndarray, "3"]]:
        """Return (signed distance of a point, outward direction), in the solid's axes."""
        if (self.half > 0.0).all():
            distance, way = from_box(self.half, x)
            return distance - self.radius, way
        out = x - np.clip(x, -self.half, self.half)
        away = np.sqrt(out @ out + _TINY * _TINY)
        return away - self.radius, out / away


def rounding(half: Float[ndarray, "3"]) -> float:
    """Return the radius [m] of a box's corners and edges, where they touch."""
    return min(_ROUND, 2.0 * _ROUND_SHARE * float(half.min()))


@dataclass(frozen=True, eq=False)
class PlacedSolid(Ground):
    """A solid placed in the world, as a ground for the spheres of others."""

    solid: Solid
    X_WS: Transform
    ground: Ground  # whose friction applies where the solid defines none

    def _nearest(self, p_W: Float[ndarray, "3"]) -> tuple[Operand, Float[ndarray, "3"]]:
        return self.solid.nearest(self.X_WS.R.T @ (p_W - self.X_WS.p))

    def distance(self, p_W: Float[ndarray, "3"]) -> float:
        return self._nearest(p_W)[0]

    def frame(self, p_W: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
        return frame_about(self.X_WS.R @ self._nearest(p_W)[1])

    def friction_at(self, p_W: Float[ndarray, "3"]) -> float:
        return self.ground.friction_at(p_W)


@dataclass(frozen=True, eq=False, kw_only=True)
class FreeBody:
    """Properties common to all free bodies: mass [kg], position of the centre at the start [m], and others.

    yaw [rad] about the vertical, or ``rotation`` (3 by 3); velocity [m/s] in world axes; omega [rad/s] in its own axes.
    friction: between it and anything else, that of the ground unless given; of two free bodies the lower one counts.
    """

    yaw: float = 0.0
    rotation: Given = None
    velocity: Given = (0.0, 0.0, 0.0)
    omega: Given = (0.0, 0.0, 0.0)
    friction: float | None = None
    name: str = ""

    # the initial state is not part of the description
    NOT_IN_DIGEST = ("position", "yaw", "rotation", "velocity", "omega", "name")

    def _checked(self, mass: float, position: Float[ndarray, "3"]) -> None:
        kind = type(self).__name__
        positions = {"position": position, "velocity": self.velocity, "omega": self.omega}
        values: dict[str, Given] = {key: three_numbers(value, f"{key} of a {kind}") for key, value in positions.items()}
        for key, most in _MOST.items():
            if np.abs(values[key]).max() > most:
                raise InputError(f"{key} of a {kind} must lie within ±{most:g}, got {values[key].tolist()}")
        values["mass"] = checked_number(mass, f"mass of a {kind}", 0.0, above=True)
        values["yaw"] = checked_number(self.yaw, f"yaw of a {kind}", -1e3, 1e3)
        values["name"] = name_of(self.name, f"a {kind}") if self.name else ""
        if self.friction is not None:
            values["friction"] = checked_friction(self.friction)
        if self.rotation is not None:
            try:
                R = np.array(self.rotation, dtype=float)
            except (TypeError, ValueError):
                R = np.zeros(0)
            if R.shape != (3, 3) or not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0:
                raise InputError(f"rotation of a {kind} must be a rotation matrix, 3 by 3")
            values["rotation"] = R
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def _start(self, position: Float[ndarray, "3"]) -> Float[ndarray, "13"]:
        R = about_axis(np.array([0.0, 0.0, 1.0]), self.yaw) if self.rotation is None else self.rotation
        return np.concatenate([position, from_rotation(R), self.omega, R.T @ self.velocity])

    @property
    def start(self) -> Float[ndarray, "13"]:
        """Return the initial position [m], quaternion (w, x, y, z), and twist (ω, v) in its own axes."""
        raise NotImplementedError

    @property
    def robot(self) -> Robot:
        """Return the body as a robot without joints."""
        raise NotImplementedError

    @property
    def spheres(self) -> tuple[Sphere, ...]:
        """Return its contact spheres."""
        raise NotImplementedError

    @property
    def solid(self) -> Solid:
        """Return the solid that the spheres of others touch."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class FreeBox(FreeBody):
    """A box with sides ``size`` [m] that moves freely, of uniform density."""

    size: Float[ndarray, "3"]
    mass: float
    position: Float[ndarray, "3"]

    def __post_init__(self) -> None:
        self._checked(self.mass, self.position)
        size = three_numbers(self.size, "size of a FreeBox")
        if (size <= 0).any():
            raise InputError(f"sides of a FreeBox must be positive, got {size.tolist()}")
        object.__setattr__(self, "size", size)

    @property
    def start(self) -> Float[ndarray, "13"]:
        return self._start(self.position)

    @cached_property
    def robot(self) -> Robot:
        square = self.size**2
        inertia = self.mass / 12.0 * np.diag(square.sum() - square)
        return Robot(
            name=self.name or "box",
            links=[Link(name="box", mass=self.mass, inertia=inertia, box=tuple(self.size.tolist()))],
        )

    @cached_property
    def spheres(self) -> tuple[Sphere, ...]:
        radius = rounding(0.5 * self.size)
        signs = [np.array([x, y, z]) for x in (1, -1) for y in (1, -1) for z in (-1, 1)]
        return tuple(
            Sphere(name=f"corner {k}", body=0, center=(0.5 * self.size - radius) * sign, radius=radius)
            for k, sign in enumerate(signs)
        )

    @cached_property
    def solid(self) -> Solid:
        return Solid(self.name, 0, 0.5 * self.size, 0.0, Transform.identity())


@dataclass(frozen=True, eq=False, kw_only=True)
class FreeBall(FreeBody):
    """A ball of ``radius`` [m] that moves freely, of uniform density or ``hollow``."""

    radius: float
    mass: float
    position: Float[ndarray, "3"]
    hollow: bool = False

    def __post_init__(self) -> None:
        self._checked(self.mass, self.position)
        object.__setattr__(self, "radius", checked_number(self.radius, "radius of a FreeBall", 0.0, above=True))
        if not isinstance(self.hollow, bool | np.bool_):
            raise InputError(f"hollow of a FreeBall must be True or False, got {self.hollow!r}")

    @property
    def start(self) -> Float[ndarray, "13"]:
        return self._start(self.position)

    @cached_property
    def robot(self) -> Robot:
        inertia = (2 / 3 if self.hollow else 2 / 5) * self.mass * self.radius**2 * np.eye(3)
        return Robot(name=self.name or "ball", links=[Link(name="ball", mass=self.mass, inertia=inertia)])

    @cached_property
    def spheres(self) -> tuple[Sphere, ...]:
        return (Sphere(name="ball", body=0, center=np.zeros(3), radius=self.radius),)

    @cached_property
    def solid(self) -> Solid:
        return Solid(self.name, 0, np.zeros(3), self.radius, Transform.identity())


__all__ = ["FreeBall", "FreeBody", "FreeBox", "PlacedSolid", "Solid", "rounding"]
