"""A robot as in its model file, before its feet are found and its legs put in order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall.errors import ModelError, unknown
from footfall.robot.files.guard import MOST_DEPTH, MOST_LINKS
from footfall.robot.model.loops import Loop
from footfall.robot.model.parts import Actuator, Joint, Link
from footfall.spatial.rotation import about_axis
from footfall.spatial.transform import Transform
from nptrace._types import Given

STANDS = ("stand", "standing", "home", "nominal", "default", "ready")  # names of the standing pose in files
FACINGS = {"x": 0.0, "-x": math.pi, "y": -math.pi / 2, "-y": math.pi / 2}  # [rad] that rotate each of them to x
FACING = "faces_x"  # name of the link that rotates a robot


def stand_of(poses: Mapping[str, Given]) -> str | None:
    """Return the name of the standing pose, if there is one."""
    by_name = {name.lower(): name for name in reversed(list(poses))}
    return next((by_name[word] for word in STANDS if word in by_name), None)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A collision (or, failing that, visual) shape on a link; ``size`` as in the file, ``mesh`` for meshes."""

    kind: str  # sphere, capsule, cylinder, box, ellipsoid, mesh, other
    X_LS: Transform
    size: ndarray  # sphere (r), capsule and cylinder (r, half length), box and ellipsoid half lengths; mesh: scale
    name: str = ""
    mesh: Path | None = None
    visual: bool = False
    color: tuple[int, int, int] | None = None  # colour of a visual shape, if the file gives one
    called: tuple[str, ...] = ()  # other names in the file: its mesh, its default class


@dataclass(kw_only=True)
class Draft:
    """Links, joints and shapes in the order of the file."""

    name: str
    links: list[Link]
    joints: list[Joint]
    shapes: dict[str, list[Shape]] = field(default_factory=dict)
    sites: dict[str, list[tuple[str, ndarray]]] = field(default_factory=dict)  # link -> named points on it [m]
    actuators: list[Actuator] = field(default_factory=list)
    poses: dict[str, tuple[dict[str, float], float]] = field(default_factory=dict)  # joint -> position; height
    floating: bool = True
    # link -> friction coefficients of shapes that collide
    frictions: dict[str, list[float]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)  # for a warning
    loops: list[Loop] = field(default_factory=list)
    # links with impossible inertia that were read in order to repair them
    broken: list[str] = field(default_factory=list)

    def check(self, where: str) -> None:
        """Raise unless it is a single tree of reasonable size; ``Robot`` finds some faults only by deep recursion."""
        if len(self.links) > MOST_LINKS or len(self.joints) > MOST_LINKS:
            raise ModelError(f"{where}: more than {MOST_LINKS} links")
        parent: dict[str, str] = {}
        for joint in self.joints:
            if joint.child in parent:
                raise ModelError(f"{where}: link '{joint.child}' is the child of two joints, '{joint.name}' the second")
            parent[joint.child] = joint.parent
        for link in parent:
            length, at = 0, link
            while at in parent and length <= MOST_DEPTH:
                at, length = parent[at], length + 1
            if length > MOST_DEPTH:
                raise ModelError(f"{where}: link '{link}' is part of a loop or of a chain of over {MOST_DEPTH} joints")
        roots = [link.name for link in self.links if link.name not in parent]
        if len(roots) > 1:
            first = ", ".join(roots[:8])
            raise ModelError(
                f"{where}: the robot has {len(roots)} roots, {first}: join them into one tree, or choose the robot's"
                " root with root=NAME (--root NAME)"
            )

    def only(self, root: str) -> Draft:
        """Return the part of the draft below one of the roots."""
        moved = {joint.child for joint in self.joints}
        roots = [link.name for link in self.links if link.name not in moved]
        if root not in roots:
            raise unknown("root", root, roots)
        children, kept = self.children(), [root]
        for link in kept:  # grows during the loop; a link that comes twice is refused later
            kept += [joint.child for joint in children[link] if joint.child not in kept]
        inside = set(kept)
        joints = [joint for joint in self.joints if joint.parent in inside]
        names = {joint.name for joint in joints}
        tied = [loop for loop in self.loops if {loop.first, loop.second} <= (names if loop.kind == "joint" else inside)]
        return replace(
            self,
            links=[link for link in self.links if link.name in inside],
            joints=joints,
            actuators=[actuator for actuator in self.actuators if actuator.joint in names],
            loops=tied,
        )

    def facing(self, axis: str) -> Draft:
        """Return the robot rotated so that an axis of its base becomes x: welded to a frame that faces that way."""
        weld = Joint(
            name=f"{FACING}_joint",
            kind="fixed",
            parent=FACING,
            child=self.root(),
            rotation=about_axis(np.array([0.0, 0.0, 1.0]), FACINGS[axis]),
        )
        return replace(self, links=[Link.massless(FACING), *self.links], joints=[weld, *self.joints])

    def root(self) -> str:
        moved = {joint.child for joint in self.joints}
        return next(link.name for link in self.links if link.name not in moved)

    def children(self) -> dict[str, list[Joint]]:
        children: dict[str, list[Joint]] = {link.name: [] for link in self.links}
        for joint in self.joints:
            children[joint.parent].append(joint)
        return children

    def placements(self, at: dict[str, float] | None = None) -> dict[str, Transform]:
        """Return every link's pose in the root link's frame, with the joints at given positions, or all at zero."""
        children, root = self.children(), self.root()
        placed = {root: Transform.identity()}
        waiting = [root]
        for link in waiting:  # grows during the loop
            for joint in children[link]:
                moved = joint.displacement((at or {}).get(joint.name, 0.0))
                placed[joint.child] = placed[link] @ Transform(joint.rotation, joint.origin) @ moved
                waiting.append(joint.child)
        return placed


def tensor_about_com(m: float, h: ndarray, second: ndarray) -> ndarray:
    """Return the tensor about the centre of mass from (m, h, I) about the frame's origin."""
    com = h / m
    return second - m * ((com @ com) * np.eye(3) - np.outer(com, com))
