"""Links of a robot as solids for free bodies: the shapes of its model file, or its own boxes and rods."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy import ndarray

from footfall.contact.bodies import PARTS, bodies_of, file_shapes, part_of
from footfall.contact.free_bodies import Solid
from footfall.contact.pairs import frame_about
from footfall.robot.files.draft import Shape
from footfall.robot.files.feet import points_of
from footfall.robot.model.description import Robot
from footfall.spatial import Transform

_THIN = 0.02  # radius of a rod of a robot with point feet [m]
_SHORT = 0.01  # [m]: shorter segments are not rods


def link_solids(robot: Robot, which: bool | str | Iterable[str] = PARTS[0]) -> tuple[Solid, ...]:
    """Return the solids of bodies by part or name, as in ``contact.bodies``; a body may have none."""
    shapes, found = file_shapes(robot), []
    for body in sorted(bodies_of(robot, which)):
        found += _of_file(robot, body, shapes) if shapes else _own(robot, body)
    return tuple(found)


def _of_file(robot: Robot, body: int, shapes: dict[str, list[Shape]]) -> list[Solid]:
    found = []
    for link in (link.name for link in robot.links if robot.tree.frames[link.name][0] == body):
        for shape in shapes.get(link, ()):
            solid = _solid(shape)
            if solid is not None:
                half, radius, X_SM = solid
                found.append(Solid(link, body, half, radius, robot.tree.frames[link][1] @ shape.X_LS @ X_SM))
    return found


def _solid(shape: Shape) -> tuple[ndarray, float, Transform] | None:
    """Return (half sides, radius, position of its middle) of a shape in a file; a mesh is its bounding box."""
    size, middle = shape.size, Transform.identity()
    match shape.kind:
        case "sphere":
            return np.zeros(3), float(size[0]), middle
        case "capsule":
            return np.array([0.0, 0.0, size[1]]), float(size[0]), middle
        case "box":
            return np.array(size, dtype=float), 0.0, middle
        case "ellipsoid":
            return np.array(size) / np.sqrt(3.0), 0.0, middle
        case "cylinder":
            radius, half = float(size[0]), float(size[1])
            thick = min(radius, half)  # a rod is a capsule, a disc a plate with round edges
            flat = 0.0 if half >= radius else (radius - thick) / np.sqrt(2.0)
            return np.array([flat, flat, half - thick]), thick, middle
        case "mesh" if (points := points_of(shape)) is not None:
            low, high = points.min(axis=0), points.max(axis=0)
            return 0.5 * (high - low), 0.0, Transform(np.eye(3), 0.5 * (low + high))
    return None


def _own(robot: Robot, body: int) -> list[Solid]:
    """Return solids of a robot without a file: the boxes of its trunk, otherwise rods between joints and feet."""
    tree, found = robot.tree, []
    if part_of(robot, body) == PARTS[0]:
        for link in robot.links:
            at, X_BL = tree.frames[link.name]
            if at == body and link.box is not None:
                middle = Transform(X_BL.R, X_BL.point(link.com))
                found.append(Solid(link.name, body, 0.5 * np.array(link.box), 0.0, middle))
        return found
    ends = [child.X_PJ.p for child in tree.bodies[1:] if child.parent == body]
    ends += [p for foot, p in zip(tree.feet, tree.foot_positions) if foot == body]
    radius = min((foot.radius for foot in robot.feet), default=_THIN) or _THIN
    for end in ends:
        length = float(np.sqrt(end @ end))
        if length > _SHORT:
            middle = Transform(frame_about(end / length), 0.5 * end)
            found.append(Solid(tree.bodies[body].name, body, np.array([0.0, 0.0, 0.5 * length]), radius, middle))
    return found
