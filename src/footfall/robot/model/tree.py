"""The robot as seen by algorithms: moving bodies numbered root to leaves, section 2.2 of de Paula et al. 2024.

Body 0 is the base; body i is connected to body parent[i] < i by joint i, which has one degree of freedom. Links behind
fixed joints and modelled rotors are welded to the body that carries them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.errors import ModelError
from footfall.spatial.inertia import Inertia
from footfall.spatial.transform import Transform
from nptrace.array_types import Float

if TYPE_CHECKING:
    from footfall.robot.model.description import Robot
    from footfall.robot.model.parts import Joint

_CENTRED = 1e-4  # [m], by which a wheel may be off its axis
_PARALLEL = 1e-14  # 1 minus the cosine between two axes that count as parallel


@dataclass(frozen=True)
class Spin:
    """A rotor of mode ``exact``: carried by this body, geared to joint ``joint`` (a body number).

    ``momentum`` is gear J axis: its angular momentum in the body's axes for a joint rate of 1 rad/s [kg m²].
    """

    joint: int
    momentum: Float[ndarray, "3"]


@dataclass(frozen=True, kw_only=True)
class Body:
    """A moving body and its joint; body 0 has none."""

    name: str
    parent: int
    joint: Joint | None
    kind: str  # kind of the joint: revolute or prismatic; base for body 0
    axis: Float[ndarray, "3"]  # axis of the joint, in the body's axes; zero for body 0
    X_PJ: Transform  # the joint's frame at zero, in the parent body's frame
    inertia: Inertia
    armature: float
    spins: tuple[Spin, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Bodies and the index sets of the paper."""

    bodies: tuple[Body, ...]
    parent: tuple[int, ...]  # λ; parent[0] = -1
    pred: tuple[int, ...]  # PRED(i), i = 1 ..
    succ: tuple[int, ...]  # SUCC(i)
    support: tuple[tuple[int, ...], ...]  # κ(i): joints between the root and body i, root first
    children: tuple[tuple[int, ...], ...]  # μ(i)
    subtree: tuple[tuple[int, ...], ...]  # ν(i), i itself included
    feet: tuple[int, ...]  # φ(k)
    foot_positions: tuple[ndarray, ...]  # the feet's centres in their bodies' frames
    frames: dict[str, tuple[int, Transform]]  # for every link: its body, and its pose in that body's frame
    joint_names: tuple[str, ...]
    base_dof: int  # 6 with a floating base, otherwise 0

    def dof(self, body: int) -> int:
        """Return the index of joint ``body`` in v."""
        return self.base_dof + body - 1

    def leg_of(self, foot: int) -> list[int]:
        """Return the joints (body numbers) that move one foot and no other, root first; a wheel's joint does not
        move it.
        """
        body = self.feet[foot]
        moved = [j for j in self.support[body] if sum(j in self.support[other] for other in self.feet) == 1]
        return moved[:-1] if len(moved) > 1 and self.is_wheel(foot) else moved

    def is_wheel(self, foot: int) -> bool:
        """Return whether a foot rotates about its own centre."""
        body, p = self.bodies[self.feet[foot]], self.foot_positions[foot]
        off = p - (p @ body.axis) * body.axis
        return body.kind == "revolute" and float(off @ off) < _CENTRED**2

    def parallel_joints(self) -> dict[int, float]:
        """Pair every revolute joint with the axis of its parent's joint: 1 if parallel, or -1 if opposite."""
        senses = {}
        for i, body in enumerate(self.bodies):
            if body.kind == "revolute" and self.bodies[body.parent].kind == "revolute":
                cosine = float(self.bodies[body.parent].axis @ (body.X_PJ.R @ body.axis))
                if abs(cosine) > 1.0 - _PARALLEL:
                    senses[i] = float(np.sign(cosine))
        return senses

    @staticmethod
    def of(robot: Robot) -> Tree:
        """Number the bodies depth first, in the order in which the joints are listed, and fuse fixed links."""
        children = _children(robot)
        root = _root(robot, children)
        masses = {link.name: link for link in robot.links}
        frames: dict[str, tuple[int, Transform]] = {}
        carried: list[tuple[str, int, Joint | None, Transform]] = []  # (name, parent body, joint, X_PJ)
        welded: list[list[Inertia]] = []
        spinning: list[list[tuple[str, ndarray]]] = []
        armatures: list[float] = []

        def visit(link_name: str, body: int, X_BL: Transform) -> None:
            frames[link_name] = (body, X_BL)
            link = masses[link_name]
            welded[body].append(Inertia.about_com(link.mass, link.com, link.inertia).to_parent(X_BL))
            for joint in children.get(link_name, ()):
                X_BJ = X_BL @ joint.X_PJ
                if joint.kind == "fixed":
                    visit(joint.child, body, X_BJ)
                    continue
                armatures.append(joint.armature + _rotor(robot, joint, body, X_BL, X_BJ, welded, spinning))
                carried.append((joint.child, body, joint, X_BJ))
                welded.append([])
                spinning.append([])
                visit(joint.child, len(carried) - 1, Transform.identity())

        carried.append((root, -1, None, Transform.identity()))
        welded.append([])
        spinning.append([])
        armatures.append(0.0)
        visit(root, 0, Transform.identity())
        if len(frames) < len(robot.links):
            lost = next(link.name for link in robot.links if link.name not in frames)
            raise ModelError(f"link '{lost}' is part of a loop: its joints lead back to itself, and not to '{root}'")
        number = {joint.name: i for i, (_, _, joint, _) in enumerate(carried) if joint is not None}
        bodies = tuple(
            Body(
                name=name,
                parent=parent,
                joint=joint,
                kind="base" if joint is None else joint.kind,
                axis=np.zeros(3) if joint is None else joint.axis,
                X_PJ=X_PJ,
                inertia=_total(welded[i]),
                armature=armatures[i],
                spins=tuple(Spin(number[j], momentum) for j, momentum in spinning[i]),
            )
            for i, (name, parent, joint, X_PJ) in enumerate(carried)
        )
        return _indexed(robot, bodies, frames)


def _children(robot: Robot) -> dict[str, list[Joint]]:
    names = {link.name for link in robot.links}
    children: dict[str, list[Joint]] = {}
    parent_of: dict[str, str] = {}
    for joint in robot.joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in names:
                raise ModelError(
                    f"{end} of joint '{joint.name}' is the unknown link '{link}': links are {', '.join(sorted(names))}"
                )
        if joint.child in parent_of:
            raise ModelError(
                f"link '{joint.child}' is the child of two joints, '{parent_of[joint.child]}' and '{joint.name}'"
            )
        parent_of[joint.child] = joint.name
        children.setdefault(joint.parent, []).append(joint)
    return children


def _root(robot: Robot, children: dict[str, list[Joint]]) -> str:
    moved = {joint.child for joints in children.values() for joint in joints}
    roots = [link.name for link in robot.links if link.name not in moved]
    if not roots:
        raise ModelError(
            f"robot '{robot.name}' has no root: every link is the child of a joint, so the joints form a loop"
        )
    if len(roots) > 1:
        raise ModelError(f"robot '{robot.name}' has {len(roots)} roots, {', '.join(roots)}: join them into one tree")
    return roots[0]


def _rotor(
    robot: Robot,
    joint: Joint,
    body: int,
    X_BL: Transform,
    X_BJ: Transform,
    welded: list[list[Inertia]],
    spinning: list[list[tuple[str, ndarray]]],
) -> float:
    """Weld the rotor of a joint to the body that carries it; return the reflected inertia at the joint."""
    rotor = joint.rotor
    if rotor is None or robot.rotors == "none":
        return 0.0
    axis = X_BJ.R @ joint.axis
    along = np.outer(axis, axis)
    tensor = rotor.spin_inertia * along + rotor.transverse_inertia * (np.eye(3) - along)
    welded[body].append(Inertia.about_com(rotor.mass, X_BL.point(rotor.position), tensor))
    if robot.rotors == "exact":
        spinning[body].append((joint.name, rotor.gear * rotor.spin_inertia * axis))
    return rotor.gear**2 * rotor.spin_inertia


def _total(parts: list[Inertia]) -> Inertia:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _indexed(robot: Robot, bodies: tuple[Body, ...], frames: dict[str, tuple[int, Transform]]) -> Tree:
    n = len(bodies)
    parent = tuple(body.parent for body in bodies)
    support: list[tuple[int, ...]] = [()]
    for i in range(1, n):
        support.append((*support[parent[i]], i))
    hanging: list[list[int]] = [[] for _ in range(n)]
    for k in range(1, n):
        hanging[parent[k]].append(k)
    children = tuple(map(tuple, hanging))
    below: list[list[int]] = [[i] for i in range(n)]
    for k in range(1, n):
        for i in (0, *support[k][:-1]):
            below[i].append(k)
    subtree = tuple(map(tuple, below))
    feet, positions = [], []
    for foot in robot.feet:
        if foot.link in frames:  # an unknown link is reported by Robot, which has the message for it
            body, X_BL = frames[foot.link]
            feet.append(body)
            positions.append(X_BL.point(foot.position))
    return Tree(
        bodies=bodies,
        parent=parent,
        pred=parent[1:],
        succ=tuple(range(1, n)),
        support=tuple(support),
        children=children,
        subtree=subtree,
        feet=tuple(feet),
        foot_positions=tuple(positions),
        frames=frames,
        joint_names=tuple(body.joint.name for body in bodies if body.joint is not None),
        base_dof=6 if robot.floating else 0,
    )
