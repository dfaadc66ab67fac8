"""Collisions between two links of a robot: capsules, their nearest points, and the contact point between them.

A pair has the same contact model as a sphere on the ground. Its velocity is that of one link's point relative to the
other's, so that equal and opposite forces act on both links, and none on the robot as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

from footfall.contact.points import ContactPoint, point_jacobian
from footfall.robot.model.description import Robot
from footfall.spatial import Transform
from nptrace._types import Scalar
from nptrace.array_types import Float

_TINY = 1e-12  # [m²]


@dataclass(frozen=True, eq=False)
class Capsule:
    """All points within ``radius`` [m] of the segment from ``a`` to ``b`` [m], fixed to a body; a sphere if a = b."""

    name: str
    body: int
    a: Float[ndarray, "3"]
    b: Float[ndarray, "3"]
    radius: float


@dataclass(frozen=True, eq=False)
class Pair:
    """Two capsules that may collide, and the coefficient of friction between them."""

    one: Capsule
    other: Capsule
    friction: float = 0.8

    @property
    def name(self) -> str:
        return f"{self.one.name} and {self.other.name}"

    def moved(self, place: Callable[[int, ndarray], ndarray]) -> Pair:
        """Return the pair with the points of bodies given in other frames."""
        one, other = (replace(c, a=place(c.body, c.a), b=place(c.body, c.b)) for c in (self.one, self.other))
        return replace(self, one=one, other=other)


def nearest(a: ndarray, b: ndarray, c: ndarray, d: ndarray) -> tuple[Scalar, Scalar]:
    """Return where on the segments a-b and c-d, from 0 to 1, they are nearest (Ericson, Real-Time Collision Detection,
    5.1.9).

    Branch-free: for a point on one segment, the nearest on the other is a clamped projection, and one more projection
    back suffices, also for parallel segments and points.
    """
    u, w, r = b - a, d - c, a - c
    uu, ww, uw = u @ u + _TINY, w @ w + _TINY, u @ w
    ur, wr = u @ r, w @ r
    s = np.clip((uw * wr - ur * ww) / np.maximum(uu * ww - uw * uw, _TINY * _TINY), 0.0, 1.0)
    t = np.clip((uw * s + wr) / ww, 0.0, 1.0)
    return np.clip((uw * t - ur) / uu, 0.0, 1.0), t


def squared_distance(a: ndarray, b: ndarray, c: ndarray, d: ndarray) -> Scalar:
    """Return the smallest squared distance [m²] between the segments a-b and c-d."""
    s, t = nearest(a, b, c, d)
    gap = (a - c) + s * (b - a) - t * (d - c)
    return gap @ gap


def pair_points(robot: Robot, poses: list[Transform], pairs: Sequence[Pair]) -> list[ContactPoint]:
    """Return every pair as a contact point, its normal towards the first link; ``poses`` are the bodies' in base
    axes.
    """
    points = []
    for pair in pairs:
        one, other = pair.one, pair.other
        a, b = (poses[one.body].point(end) for end in (one.a, one.b))
        c, d = (poses[other.body].point(end) for end in (other.a, other.b))
        s, t = nearest(a, b, c, d)
        foot = c + t * (d - c)
        gap = a + s * (b - a) - foot
        length = np.sqrt(gap @ gap + _TINY * _TINY)
        n = gap * (1.0 / length)
        distance = length - (one.radius + other.radius)
        at = foot + (other.radius + 0.5 * distance) * n
        J = point_jacobian(robot, poses, one.body, at) - point_jacobian(robot, poses, other.body, at)
        support = robot.tree.support
        dofs = sorted(robot.tree.dof(j) for j in set(support[one.body]) ^ set(support[other.body]))
        points.append(
            ContactPoint(
                distance=distance, J=J, R_BC=frame_about(n), friction=pair.friction, dofs=tuple(dofs), couples=True
            )
        )
    return points


def frame_about(n: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
    """Return axes with a normal last (Duff et al. 2017, "Building an orthonormal basis, revisited")."""
    sign = np.where(n[2] < 0.0, -1.0, 1.0)
    k = -1.0 / (sign + n[2])
    mixed = n[0] * n[1] * k
    x = np.stack([1.0 + sign * n[0] * n[0] * k, sign * mixed, -sign * n[0]])
    y = np.stack([mixed, sign + n[1] * n[1] * k, -n[1]])
    return np.stack([x, y, n], axis=1)
