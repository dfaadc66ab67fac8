"""Collision spheres: spheres, capsules and boxes of a robot's links as spheres that may touch the ground.

    ff.Simulation(robot, collisions=True)               # every link
    ff.Simulation(robot, collisions="trunk,knees")      # parts, or links by name ("*_calf")

A capsule becomes its two ends, a box its eight corners: on ground that curves less than they do, these touch first. A
slender box is treated as a capsule, and in a leg also one that is half as wide as long. Shapes come from the model
file; a robot without one gets the boxes of its trunk and a ball at every leg joint. For each body only the outermost
spheres are kept. Shanks selected by name also have spheres between their ends, where they may meet the edges of risers.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

import numpy as np
from numpy import ndarray

from footfall.errors import FootfallError, InputError, unknown
from footfall.robot.files.draft import Shape
from footfall.robot.files.feet import points_of
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Foot
from nptrace.array_types import Float

# the bodies that support more than one leg; a leg's first bodies, those between, its last
PARTS = ("trunk", "hips", "knees", "shanks")
SLACK = 5e-3  # [m], tolerance by which the remaining spheres may reach less far than all of them
_THIN = 0.02  # radius of a joint of a robot with point feet [m]
_SLENDER, _SLENDER_LEG = 0.2, 0.5  # fraction of its length: a box up to this width is treated as a capsule
_DIRECTIONS = 400

Ball = tuple[Float[ndarray, "3"], float]  # centre, radius [m]


def body_spheres(robot: Robot, which: bool | str | Iterable[str] = True, slack: float = SLACK) -> list[Foot]:
    """Return the contact spheres of a robot's links.

    Args:
        robot: The robot.
        which: True for all links; or part names (``trunk``, ``hips``, ``knees``, ``shanks``) and names of links, which
            may contain ``*``, in a sequence or separated by commas.
        slack: Omit spheres without which the link reaches less far by at most this [m].

    Returns:
        Spheres, without those of the feet.
    """
    wanted = bodies_of(robot, which)
    by_name = not isinstance(which, bool) and PARTS[3] in _names(which)
    found: list[Foot] = shank_spheres(robot) if by_name else []
    for body in range(len(robot.tree.bodies)):
        if body not in wanted:
            continue
        name = robot.tree.bodies[body].name
        kept = _furthest(_balls(robot, body), _feet(robot, body), slack)
        found += [
            Foot(name=f"{name}_{k}", link=name, position=centre, radius=radius)
            for k, (centre, radius) in enumerate(kept)
        ]
    if not found:
        raise InputError(
            f"robot '{robot.name}' has no shapes there that could collide: pass contact spheres (touching=...)"
        )
    return found


def part_of(robot: Robot, body: int) -> str:
    """Return which of ``PARTS`` a body belongs to, by its position in its leg."""
    tree = robot.tree
    feet = [foot for foot in tree.feet if foot in tree.subtree[body]]
    if len(feet) != 1:
        return PARTS[0]
    leg = [j for j in tree.support[feet[0]] if sum(j in tree.support[foot] for foot in tree.feet) == 1]
    if body == leg[-1]:
        return PARTS[3]
    return PARTS[1] if body == leg[0] else PARTS[2]


def bodies_of(robot: Robot, which: bool | str | Iterable[str]) -> set[int]:
    """Return the selected bodies."""
    tree = robot.tree
    if which is True:
        return set(range(len(tree.bodies)))
    if not isinstance(which, str) and not isinstance(which, (list, tuple)):
        raise InputError(f"collisions must be True, or parts and links by name, got {which!r}")
    links, found = [link.name for link in robot.links], set()
    for name in _names(which):
        bodies = {tree.frames[link][0] for link in fnmatch.filter(links, name)}
        if name in PARTS:
            bodies = {body for body in range(len(tree.bodies)) if part_of(robot, body) == name}
        elif not bodies:
            raise unknown("part that collides", name, (*PARTS, *links))
        found |= bodies
    return found


def _names(which: str | Iterable[str]) -> list[str]:
    return [str(name).strip() for name in (which.split(",") if isinstance(which, str) else which)]


# -- shapes of bodies --------------------------------------------------------------------------------------------------
def _balls(robot: Robot, body: int) -> list[Ball]:
    """Return all balls of a body, in its frame."""
    shapes, of_trunk, found = file_shapes(robot), part_of(robot, body) == PARTS[0], []
    if not shapes:
        return _own_balls(robot, body, of_trunk)
    for link in (link.name for link in robot.links if robot.tree.frames[link.name][0] == body):
        for shape in shapes.get(link, ()):
            X_BS = robot.tree.frames[link][1] @ shape.X_LS
            balls = balls_of(shape, _SLENDER if of_trunk else _SLENDER_LEG)
            found += [(X_BS.point(centre), radius) for centre, radius in balls]
    return found


def _own_balls(robot: Robot, body: int, of_trunk: bool) -> list[Ball]:
    """Return balls of a robot without a file: corners of the trunk's boxes, otherwise the joints of a body."""
    tree, found = robot.tree, []
    for link in robot.links:
        at, X_BL = tree.frames[link.name]
        if at == body and of_trunk and link.box is not None:
            corners = _of_box(np.array(link.box) / 2, 0.0)
            found += [(X_BL.point(link.com + corner), radius) for corner, radius in corners]
    radius = min((foot.radius for foot in robot.feet), default=_THIN) or _THIN
    return found or [(child.X_PJ.p, radius) for child in tree.bodies[1:] if child.parent == body]


def file_shapes(robot: Robot) -> dict[str, list[Shape]]:
    """Return the collision shapes by link; none for a robot without a file, or whose file no longer exists."""
    if robot.model_file is None:
        return {}
    from footfall.robot.files.urdf_mjcf import draft_of

    try:
        draft, _ = draft_of(robot)
    except (FootfallError, OSError):
        return {}
    return {link: solid for link, shapes in draft.shapes.items() if (solid := [s for s in shapes if not s.visual])}


def balls_of(shape: Shape, slender: float = _SLENDER) -> list[Ball]:
    """Return the balls that represent a shape, in its frame; none for a mesh that cannot be read."""
    size, along = shape.size, np.array([0.0, 0.0, 1.0])
    if shape.kind == "mesh":
        points = points_of(shape)
        if points is None:
            return []
        low, high = points.min(axis=0), points.max(axis=0)
        return [(0.5 * (low + high) + centre, radius) for centre, radius in _of_box(0.5 * (high - low), slender)]
    if not size.size or shape.kind not in ("sphere", "capsule", "cylinder", "ellipsoid", "box"):
        return []
    if shape.kind == "sphere":
        return [(np.zeros(3), float(size[0]))]
    if shape.kind in ("box", "ellipsoid"):
        return _of_box(size if shape.kind == "box" else size / np.sqrt(3.0), slender)
    radius, half = float(size[0]), float(size[1])
    if shape.kind == "cylinder":
        if half <= radius:  # a disc: a ball between its thickness and its width
            return [(np.zeros(3), 0.5 * (radius + half))]
        half = half - radius
    return [(-half * along, radius), (half * along, radius)]


def _of_box(half: Float[ndarray, "3"], slender: float) -> list[Ball]:
    """Return the corners of a box about its centre, or the ends of the capsule for a slender one."""
    _, middle, long = np.argsort(half, kind="stable")
    if half[middle] <= slender * half[long]:
        end = np.zeros(3)
        end[long] = half[long] - half[middle]
        return [(-end, float(half[middle])), (end, float(half[middle]))]
    return [(half * np.array([x, y, z]), 0.0) for x in (1, -1) for y in (1, -1) for z in (-1, 1)]


def _feet(robot: Robot, body: int) -> list[Ball]:
    tree = robot.tree
    return [(p, foot.radius) for foot, at, p in zip(robot.feet, tree.feet, tree.foot_positions) if at == body]


def _furthest(balls: list[Ball], feet: list[Ball], slack: float) -> list[Ball]:
    """Return the fewest balls that, with the feet, reach within a tolerance as far as all of them in every
    direction.
    """
    if not balls:
        return []
    k = np.arange(_DIRECTIONS) + 0.5  # a Fibonacci spiral over the sphere
    z, turn = 1.0 - 2.0 * k / _DIRECTIONS, k * np.pi * (3.0 - np.sqrt(5.0))
    width = np.sqrt(1.0 - z * z)
    ways = np.stack([width * np.cos(turn), width * np.sin(turn), z])
    reach = np.array([centre @ ways + radius for centre, radius in balls])
    all_of_it = reach.max(axis=0)
    have = np.max([centre @ ways + radius for centre, radius in feet], axis=0) if feet else np.full(len(z), -np.inf)
    kept: list[int] = []
    while (all_of_it - have).max() > slack:
        worst = int(np.argmax(all_of_it - have))
        kept.append(int(np.argmax(reach[:, worst])))
        have = np.maximum(have, reach[kept[-1]])
    return [balls[i] for i in sorted(kept)]


# -- shanks that meet edges: balls in a row between the last joint of a leg and its foot ------------------------------
# On level ground a knee and a foot touch before anything between them. The edge of a riser touches in between: with
# balls four radii apart, one of 90 degrees comes less than a radius past the line from knee to foot before two of them
# support it.
APART = 4.0  # approximate distance between neighbours, in radii
_THIN_SHANK = 0.02  # radius of the shank of a robot with point feet [m]


def shank_spheres(robot: Robot) -> list[Foot]:
    """Return spheres between knee and foot of every leg, as thick as the foot, about ``APART`` radii apart; at least
    one.
    """
    found, tree = [], robot.tree
    length = max((float(np.linalg.norm(p)) for p in tree.foot_positions), default=0.0)
    radius = min((foot.radius for foot in robot.feet), default=_THIN_SHANK) or _THIN
    count = max(1, round(length / (APART * radius)) - 1)  # the same for all legs
    for foot, body, end in zip(robot.feet, tree.feet, tree.foot_positions):
        name = tree.bodies[body].name
        thick = foot.radius or _THIN_SHANK
        found += [
            Foot(name=f"{foot.name}_shank_{k}", link=name, position=end * (k + 1) / (count + 1), radius=thick)
            for k in range(count)
        ]
    return found
