"""Collisions between links of a robot: links as spheres and capsules, and the distances between them.

A link with a box becomes a row of capsules along its longest side, as thick as its shortest; a link without one becomes
capsules from its joint to the next joints and feet; a foot is a sphere. Neighbours in the tree are excluded, and so are
pairs that overlap in the stand: such simple shapes overlap where links are close by design.

    watch = SelfCollision.of(robot)
    watch.distances(q)                # [m] of every pair, negative where they overlap; may be traced

Distances are monitored, without forces unless ``self_collision="force"``: then links that are likely to collide push
each other apart (``contact.pairs``), in the compiled step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.contact.bodies import part_of
from footfall.contact.ground import Ground
from footfall.contact.pairs import Capsule, Pair, squared_distance
from footfall.errors import InputError, unknown
from footfall.identity import digest_of
from footfall.kinematics.forward import joint_transforms, poses_in_base
from footfall.robot.model.description import Robot
from nptrace._types import Scalar
from nptrace.array_types import Float

MODES = ("report", "stop", "force")
_THIN = 0.02  # radius of a link without a box and a foot [m]
_SHORT = 0.01  # shorter segments make no capsule [m]
_MOST = 5  # capsules side by side in one box
_TINY = 1e-12  # [m²]


@dataclass(frozen=True, eq=False)
class SelfCollision:
    """Collision shapes of a robot's links, and the pairs of them that may touch."""

    robot: Robot
    shapes: tuple[Capsule, ...]
    pairs: tuple[tuple[int, int], ...]

    @staticmethod
    def of(robot: Robot, shapes: tuple[Capsule, ...] | None = None) -> SelfCollision:
        """Return all pairs of shapes that are not neighbours and do not overlap in the standing pose."""
        shapes = capsules_of(robot) if shapes is None else tuple(shapes)
        parent = robot.tree.parent
        apart = [
            (i, j)
            for (i, one), (j, other) in combinations(enumerate(shapes), 2)
            if one.body != other.body and parent[one.body] != other.body and parent[other.body] != one.body
        ]
        watch = SelfCollision(robot, shapes, tuple(apart))
        q, _ = robot.state("stand" if "stand" in robot.poses else None)
        free = np.asarray(watch.distances(q)) > 0.0
        return replace(watch, pairs=tuple(pair for pair, wanted in zip(apart, free) if wanted))

    def distances(self, q: Float[ndarray, "nq"]) -> Float[ndarray, "pairs"]:
        """Return the distance of the surfaces of every pair [m]."""
        poses = poses_in_base(self.robot, joint_transforms(self.robot, q))
        ends = [(poses[s.body].point(s.a), poses[s.body].point(s.b)) for s in self.shapes]
        found = [
            np.sqrt(squared_distance(*ends[i], *ends[j]) + _TINY * _TINY)
            - (self.shapes[i].radius + self.shapes[j].radius)
            for i, j in self.pairs
        ]
        return np.stack(found) if found else np.zeros(0)

    # -- a constant of compiled functions ----------------------------------------------------------------------------
    def parameter(self, path: str) -> Scalar:
        return self.robot.parameter(path)

    def with_parameters(self, parameters: Mapping[str, Scalar]) -> SelfCollision:
        return replace(self, robot=self.robot.with_parameters(parameters))

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)


class Watcher:
    """Find the nearest pair in every row of a run, by compiled code."""

    def __init__(self, watch: SelfCollision) -> None:
        if not watch.pairs:
            raise InputError(f"robot '{watch.robot.name}' has no two links that could collide: it needs boxes or legs")
        self.watch = watch
        q, _ = watch.robot.state(None)
        self.compiled = compiling.compile(pair_distances, watch, q, target="batch")

    def nearest(self, q: Float[ndarray, "rows nq"]) -> tuple[Float[ndarray, "rows"], ndarray]:
        """Return (smallest distance [m], its pair) in every row."""
        found: ndarray = np.asarray(self.compiled(q))
        pair = np.argmin(found, axis=1)
        return found[np.arange(len(q)), pair], pair

    def first(self, q: Float[ndarray, "rows nq"]) -> int | None:
        """Return the first row in which two links overlap."""
        met = np.flatnonzero(self.nearest(q)[0] <= 0.0) if len(q) else np.zeros(0, dtype=int)
        return int(met[0]) if len(met) else None

    def words(self, q: Float[ndarray, "nq"]) -> str:
        """Return the names of the nearest two."""
        i, j = self.watch.pairs[int(self.nearest(q[None])[1][0])]
        return f"'{self.watch.shapes[i].name}' and '{self.watch.shapes[j].name}'"


def watcher(robot: Robot, mode: str | None) -> Watcher | None:
    """Return the monitor of a robot in a simulation with ``self_collision=mode``."""
    if mode is not None and mode not in MODES:
        raise unknown("self_collision", str(mode), MODES)
    if mode in (None, "force"):
        return None
    return Watcher(SelfCollision.of(robot))


def pair_distances(watch: SelfCollision, q: Float[ndarray, "nq"]) -> Float[ndarray, "pairs"]:
    """Call ``watch.distances``, as a function to compile."""
    return watch.distances(q)


def colliding_pairs(robot: Robot, mode: str | None, ground: Ground) -> tuple[Pair, ...]:
    """Return the pairs that ``self_collision="force"`` pushes apart: last links of legs with each other and with the
    trunk. Collisions between legs involve these; all monitored pairs would be ten times as many.
    """
    if mode != "force":
        return ()
    friction = float(ground.friction_at(np.zeros(3)))  # friction of the ground, since links have none
    watch = SelfCollision.of(robot)
    parts = [part_of(robot, shape.body) for shape in watch.shapes]
    is_foot = [(shape.a == shape.b).all() for shape in watch.shapes]  # inside the shank that ends in it
    chosen = [
        (i, j)
        for i, j in watch.pairs
        if {parts[i], parts[j]} <= {"trunk", "shanks"} and "shanks" in (parts[i], parts[j])
        if not (is_foot[i] or is_foot[j])
    ]
    if not chosen:
        raise InputError(f"robot '{robot.name}' has no two links that could collide: it needs boxes or legs")
    return tuple(Pair(watch.shapes[i], watch.shapes[j], friction) for i, j in chosen)


def capsules_of(robot: Robot) -> tuple[Capsule, ...]:
    """Return the shapes of every link, and a sphere for every foot: see the module docstring."""
    shapes: list[Capsule] = []
    for link in robot.links:
        body, X_BL = robot.tree.frames[link.name]
        if link.box is not None:
            for a, b, radius in _in_box(np.array(link.box)):
                shapes.append(Capsule(link.name, body, X_BL.point(link.com + a), X_BL.point(link.com + b), radius))
        elif link.name == robot.tree.bodies[body].name:
            shapes += _along(robot, body, link.name)
    for foot, body, p in zip(robot.feet, robot.tree.feet, robot.tree.foot_positions):
        shapes.append(Capsule(f"foot {foot.name}", body, p, p, foot.radius))
    return tuple(shapes)


def _in_box(box: Float[ndarray, "3"]) -> list[tuple[ndarray, ndarray, float]]:
    """Return (ends, radius) of capsules side by side that fill a box about its centre, along its longest side."""
    short, middle, long = np.argsort(box, kind="stable")
    radius = 0.5 * float(box[short])
    count = min(_MOST, int(np.ceil(box[middle] / box[short] - 1e-9)))
    along, aside = np.zeros(3), np.zeros(3)
    along[long], aside[middle] = 0.5 * box[long] - radius, 0.5 * box[middle] - radius
    return [
        (x * aside - along, x * aside + along, radius) for x in (np.linspace(-1, 1, count) if count > 1 else (0.0,))
    ]


def _along(robot: Robot, body: int, name: str) -> list[Capsule]:
    """Return capsules from a body's joint to the joints and feet that it carries."""
    tree = robot.tree
    ends = [child.X_PJ.p for child in tree.bodies[1:] if child.parent == body] if body else []
    radius = min((foot.radius for foot in robot.feet), default=_THIN) or _THIN
    ends += [p for foot_body, p in zip(tree.feet, tree.foot_positions) if foot_body == body]
    return [Capsule(name, body, np.zeros(3), end, radius) for end in ends if np.linalg.norm(end) > _SHORT]
