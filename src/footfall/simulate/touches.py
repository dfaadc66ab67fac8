"""What free bodies may meet: spheres that meet surfaces, and edges that lie across boxes.

A ball against a surface is one sphere; boxes, and links and boxes, meet each other with the corners of both, and with
the edges along the longest side of each, the two that face the other (``contact.edges``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.boxes import Box, Boxes
from footfall.contact.edges import bearing_point, edge_directions, facing_edge, raised
from footfall.contact.free_bodies import FreeBall, FreeBody, Solid, rounding
from footfall.contact.ground import Ground
from footfall.contact.points import Sphere
from footfall.spatial import Transform
from footfall.spatial.rotation import about_axis

ROBOT, GROUND = -1, -2


@dataclass(frozen=True)
class Edge:
    """One of the two edges of a solid, along an axis, that face what it lies across, and its first or last bearing."""

    along: int
    which: int
    last: bool
    has_corners: bool  # which touch at the ends of the edge, so that it need not


@dataclass(frozen=True)
class Touch:
    """A sphere, or an edge, that may meet a surface; ``owner`` and ``other``: free bodies by number, ROBOT, GROUND."""

    name: str
    owner: int
    sphere: int  # among the owner's; of an edge of the robot: among its solids
    other: int
    solid: int = 0  # among the other's; of an edge on the ground: among its boxes
    edge: Edge | None = None


def touches_of(
    objects: Sequence[FreeBody], spheres: Sequence[Sphere], solids: Sequence[Solid], ground: Ground, robot: str
) -> tuple[Touch, ...]:
    """All that may meet: bodies the ground, the robot's spheres and solids, and each other."""
    found, solid_bodies = [], {solid.body for solid in solids}
    for k, body in enumerate(objects):
        found += [Touch(f"{body.name} on the ground", k, i, GROUND) for i in range(len(body.spheres))]
        for i, sphere in enumerate(spheres):
            if not (isinstance(body, FreeBall) and sphere.body in solid_bodies):
                found.append(Touch(f"{robot} {sphere.name} on {body.name}", ROBOT, i, k))
        for s, solid in enumerate(solids):
            found += [Touch(f"{body.name} on {robot} {solid.name}", k, i, ROBOT, s) for i in range(len(body.spheres))]
    for k, body in enumerate(objects):
        for j, other in enumerate(objects):
            both = not isinstance(body, FreeBall) and not isinstance(other, FreeBall)
            one = isinstance(body, FreeBall) and (not isinstance(other, FreeBall) or k < j)
            if k != j and (both or one):
                found += [Touch(f"{body.name} on {other.name}", k, i, j) for i in range(len(body.spheres))]
    return (*found, *_edge_touches(objects, spheres, solids, ground, robot))


def _edge_touches(
    objects: Sequence[FreeBody], spheres: Sequence[Sphere], solids: Sequence[Solid], ground: Ground, robot: str
) -> Iterator[Touch]:
    boxes = [(k, body) for k, body in enumerate(objects) if not isinstance(body, FreeBall)]
    cornered = {sphere.body for sphere in spheres}
    for k, body in boxes:
        for j, other in boxes:
            for edge in _edges(body.solid.half) if j != k else ():
                yield Touch(f"{body.name} across {other.name}", k, 0, j, 0, edge)
        for s, solid in ((s, solid) for s, solid in enumerate(solids) if (solid.half > 0.0).any()):
            for edge in _edges(body.solid.half):
                yield Touch(f"{body.name} across {robot} {solid.name}", k, 0, ROBOT, s, edge)
            for edge in _edges(solid.half, has_corners=solid.body in cornered):
                yield Touch(f"{robot} {solid.name} across {body.name}", ROBOT, s, k, 0, edge)
        for g in range(len(ground.boxes) if isinstance(ground, Boxes) else 0):
            for edge in _edges(body.solid.half, count=2):  # the ground's own edges touch nothing
                yield Touch(f"{body.name} across box {g} of the ground", k, 0, GROUND, g, edge)


def _edges(half: Float[ndarray, "3"], count: int = 1, has_corners: bool = True) -> list[Edge]:
    beside = 2 if (half > 0.0).sum() > 1 else 1  # a rod has one edge
    return [
        Edge(along, which, last, has_corners)
        for along in edge_directions(half, count)
        for which in range(beside)
        for last in (False, True)
    ]


def edge_sphere(
    edge: Edge, own: Solid, X_WA: Transform, other: Solid, X_WO: Transform
) -> tuple[Float[ndarray, "3"], float, float]:
    """(centre in the axes of the edge's solid, radius, how far it is raised [m]) of the sphere by which it touches."""
    radius = own.radius or rounding(own.half)
    half = own.half if own.radius else own.half - radius
    X_OA = X_WO.inverse() @ X_WA
    nearest = np.clip(X_OA.p, -other.half, other.half)
    a, b = facing_edge(half, edge.along, edge.which, X_OA.R.T @ (nearest - X_OA.p))
    ends = X_OA.point(a), X_OA.point(b)
    t = bearing_point(other.half, radius + other.radius, radius, *ends, edge.last)
    up = raised(t, 2.0 * float(half[edge.along]), radius) if edge.has_corners else 0.0
    return a + t * (b - a), radius, up


def ground_solid(box: Box) -> tuple[Solid, Transform]:
    """A box of the ground, and where it is."""
    R = about_axis(np.array([0.0, 0.0, 1.0]), box.yaw)
    return Solid("", 0, 0.5 * box.size, 0.0, Transform.identity()), Transform(R, box.center)


__all__ = ["GROUND", "ROBOT", "Edge", "Touch", "edge_sphere", "ground_solid", "touches_of"]
