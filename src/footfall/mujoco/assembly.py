"""A robot as a list of separate parts, nothing merged: the input of independent reference models.

``robot.tree`` welds links behind fixed joints and folds rotors into inertias. A reference model built from the tree
would share its mistakes, so this list contains links, joints and rotors as described; the reference models do their own
welding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Joint
from nptrace._types import PyTree
from nptrace.array_types import Float


@dataclass(frozen=True, kw_only=True)
class Part:
    """A link or a rotor, and its attachment to an earlier part (``parent``; -1 is the world).

    ``motion`` is free, fixed, revolute or prismatic; ``joint`` names the robot's joint that moves it, at ``gear`` times
    that joint's rate (1 for a link, the gear of its motor for a rotor of mode ``exact``).
    """

    name: str
    parent: int
    motion: str
    rotation: Float[ndarray, "3 3"]
    origin: Float[ndarray, "3"]
    axis: Float[ndarray, "3"]
    mass: float
    com: Float[ndarray, "3"]
    inertia: Float[ndarray, "3 3"]
    armature: float = 0.0
    joint: str = ""
    gear: float = 1.0


def parts_of(robot: Robot) -> list[Part]:
    """Return all links and rotors, every part after the one that carries it, limb by limb."""
    hanging: dict[str, list[Joint]] = {}
    for joint in robot.joints:
        hanging.setdefault(joint.parent, []).append(joint)
    moved = {joint.child for joint in robot.joints}
    root = next(link.name for link in robot.links if link.name not in moved)
    parts: list[Part] = []

    def add_link(name: str, carrier: int, joint: Joint | None) -> None:
        link = robot.link(name)
        if joint is None:
            rotation, origin, axis = np.eye(3), np.zeros(3), np.array([0.0, 0.0, 1.0])
            motion, armature, label = ("free" if robot.floating else "fixed"), 0.0, ""
        else:
            rotation, origin, axis = joint.X_PJ.R, joint.origin, joint.axis
            motion, armature, label = joint.kind, joint.armature + _reflected(robot, joint), joint.name
        if motion == "fixed":
            label = ""
        index = len(parts)
        parts.append(
            Part(
                name=name,
                parent=carrier,
                motion=motion,
                rotation=rotation,
                origin=origin,
                axis=axis,
                mass=link.mass,
                com=link.com,
                inertia=link.inertia,
                armature=armature,
                joint=label,
            )
        )
        for below in hanging.get(name, ()):
            if below.kind != "fixed" and below.rotor is not None and robot.rotors != "none":
                parts.append(_rotor(robot, below, index))
            add_link(below.child, index, below)

    add_link(root, -1, None)
    return parts


def welded(parts: list[Part]) -> list[Part]:
    """Return the parts with the mass of fixed parts moved to their carriers; massless frames remain.

    This uses pseudo-inertias, the 4x4 second moments of (x, y, z, 1), which a pose T transforms to T P Tᵀ.
    """
    moments = [_pseudo_inertia(part) for part in parts]
    for k in reversed(range(len(parts))):
        if parts[k].motion == "fixed" and parts[k].parent >= 0:
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = parts[k].rotation, parts[k].origin
            moments[parts[k].parent] = moments[parts[k].parent] + T @ moments[k] @ T.T
            moments[k] = np.zeros((4, 4))
    return [replace(part, **_inertia_of(P)) for part, P in zip(parts, moments)]


def _pseudo_inertia(part: Part) -> Float[ndarray, "4 4"]:
    second = 0.5 * np.trace(part.inertia) * np.eye(3) - part.inertia + part.mass * np.outer(part.com, part.com)
    h = part.mass * part.com[:, None]
    return np.block([[second, h], [h.T, np.array([[part.mass]])]])


def _inertia_of(P: Float[ndarray, "4 4"]) -> dict[str, PyTree]:
    mass = float(P[3, 3])
    com = P[:3, 3] / mass if mass > 0 else np.zeros(3)
    second = P[:3, :3] - mass * np.outer(com, com)
    return {"mass": mass, "com": com, "inertia": np.trace(second) * np.eye(3) - second}


def _reflected(robot: Robot, joint: Joint) -> float:
    """Return the inertia that a rotor adds to its joint when it is not a separate body."""
    if robot.rotors != "armature" or joint.rotor is None or joint.kind == "fixed":
        return 0.0
    return joint.rotor.gear**2 * joint.rotor.spin_inertia


def _rotor(robot: Robot, joint: Joint, carrier: int) -> Part:
    """Return a rotor on the parent of its joint: welded there, or (``exact``) rotating about the joint's axis."""
    rotor = joint.rotor
    assert rotor is not None
    along = np.outer(joint.axis, joint.axis)
    tensor = rotor.spin_inertia * along + rotor.transverse_inertia * (np.eye(3) - along)
    turning = robot.rotors == "exact"
    return Part(
        name=f"{joint.name} rotor",
        parent=carrier,
        motion="revolute" if turning else "fixed",
        rotation=joint.X_PJ.R,
        origin=rotor.position,
        axis=joint.axis,
        mass=rotor.mass,
        com=np.zeros(3),
        inertia=tensor,
        joint=joint.name if turning else "",
        gear=rotor.gear,
    )


def spring_energy(robot: Robot, q: Float[ndarray, "nq"]) -> float:
    """Return energy in the joints' springs [J]. The reference models have none: springs are not part of M and bias."""
    position = dict(zip(robot.joint_names, q[len(q) - robot.nj :]))
    springs = [(joint.stiffness, position[joint.name] - joint.rest) for joint in robot.joints if joint.kind != "fixed"]
    return float(sum(0.5 * stiffness * stretch**2 for stiffness, stretch in springs))
