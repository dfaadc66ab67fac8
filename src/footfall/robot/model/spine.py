"""Spines: which joints belong to one, and its five kinds.

- ``rigid``: the joints are welded where the robot stands;
- ``passive``: a spring and a damper, and a motor without torque;
- ``lockable``: like ``passive``, with a brake of any strength instead of the motor, opened by a controller;
- ``actuated``: a motor that drives the joint directly;
- ``series_elastic``: a motor, its rotor's inertia, and a spring between it and the joint (Pratt and Williamson 1995).
  The joint ``X`` becomes two about one axis: ``X`` is the motor's, ``X_spring`` the spring's.

Every algorithm treats them like any other joints: a spine has no separate equations of motion.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from footfall.checks import one_or_more_names, positive_number
from footfall.errors import InputError, unknown
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Actuator, Joint, Link
from footfall.robot.model.placement import standing_pose

KINDS = ("rigid", "passive", "lockable", "actuated", "series_elastic")
SPRUNG = ("passive", "lockable", "series_elastic")  # kinds with springs
OWN = "own"  # the robot's spine unchanged
SPRING = "_spring"  # suffix of the name of a series spring's joint
DAMPING = 0.01  # [s], damping over stiffness: a spring of rubber or steel in a hinge
ROTOR = 0.05  # [kg m²], rotor inertia of a motor at the joint: chosen


def spine_joints(robot: Robot) -> tuple[str, ...]:
    """Return the names of the spine joints: those that carry several feet.

    Args:
        robot: The robot.

    Returns:
        Names in the order of q.
    """
    tree = robot.tree
    carried = [sum(1 for body in tree.feet if j in tree.support[body]) for j in range(1, robot.nj + 1)]
    return tuple(name for name, feet in zip(robot.joint_names, carried) if feet > 1)


def with_spine(
    robot: Robot,
    kind: str,
    stiffness: float = 800.0,
    damping: float | None = None,
    torque_limit: float | None = None,
    armature: float = ROTOR,
    joints: Sequence[str] | None = None,
) -> Robot:
    """Return the robot with another spine.

    Args:
        robot: A robot with joints between its fore and hind legs: ``spined``, ``quadruped(spine=("pitch", "pitch"))``.
        kind: One of ``KINDS``.
        stiffness: Stiffness of every spring [N m/rad].
        damping: Damping of every spring [N m s/rad]; a hundredth of a second times the stiffness unless given.
        torque_limit: Limit of the motors [N m]; their present one unless given.
        armature: Inertia of a series-elastic motor at the joint [kg m²].
        joints: Names of the spine's joints; those that carry several feet unless given.

    Returns:
        The changed robot.
    """
    if not isinstance(robot, Robot):
        raise InputError(f"with_spine takes a Robot, such as ff.load(...), got {type(robot).__name__}")
    if kind not in KINDS:
        raise unknown("kind of spine", kind, KINDS)
    found = spine_joints(robot) if joints is None else one_or_more_names(joints, "joints of a spine")
    for name in found:
        if name not in robot.joint_names:
            raise unknown("spine joint", name, robot.joint_names, f"robot '{robot.name}' has")
    if not found:
        raise InputError(f"robot '{robot.name}' has no spine: no joint carries several of its feet")
    k = positive_number(stiffness, "stiffness of a spine")
    b = DAMPING * k if damping is None else damping
    if kind == "rigid":
        return _welded(robot, found)
    limit = {"passive": 0.0, "lockable": math.inf}.get(kind, torque_limit)
    springs = kind in ("passive", "lockable")
    changed = [
        dataclasses.replace(j, stiffness=k, damping=b) if springs and j.name in found else j for j in robot.joints
    ]
    made = robot.replace(joints=changed, actuators=_motors(robot, found, limit))
    if kind == "series_elastic":
        return _in_series(made, found, k, b, positive_number(armature, "armature of a spine"))
    return made


def named_spine(robot: Robot, text: str | None) -> Robot:
    """Return the robot with the spine that a text names.

    Args:
        robot: The robot.
        text: ``KIND``, or ``KIND:STIFFNESS`` [N m/rad]; None or ``own`` leaves the robot's.

    Returns:
        The changed robot.
    """
    if text in (None, OWN):
        return robot
    kind, colon, stiffness = str(text).partition(":")
    if kind not in KINDS:
        raise unknown("kind of spine", kind, (OWN, *KINDS))
    if not colon:
        return with_spine(robot, kind)
    if kind not in SPRUNG:
        raise InputError(f"a spine that is {kind} has no spring: leave out the stiffness of {text!r}")
    try:
        k = float(stiffness)
    except ValueError:
        raise InputError(f"a spine is KIND:STIFFNESS, as in passive:800 [N m/rad], got {text!r}") from None
    return with_spine(robot, kind, stiffness=k)


def _motors(robot: Robot, joints: Sequence[str], limit: float | None) -> list[Actuator]:
    """Return the robot's actuators with another limit at some joints, and new ones where they have none."""
    driven = {actuator.joint for actuator in robot.actuators}
    kept = [
        a if limit is None or a.joint not in joints else dataclasses.replace(a, torque_limit=limit)
        for a in robot.actuators
    ]
    return kept + [
        Actuator(joint=j, torque_limit=math.inf if limit is None else limit) for j in joints if j not in driven
    ]


def _welded(robot: Robot, joints: Sequence[str]) -> Robot:
    """Return fixed joints in place of some, at the angles of the robot's stand, or zero."""
    stand = robot.poses.get("stand")
    angles = dict(zip(robot.joint_names, np.zeros(robot.nj) if stand is None else stand.joints))
    fixed = [_fixed(j, float(angles[j.name])) if j.name in joints else j for j in robot.joints]
    left = [k for k, name in enumerate(robot.joint_names) if name not in joints]
    poses = {name: dataclasses.replace(pose, joints=pose.joints[left]) for name, pose in robot.poses.items()}
    motors = [a for a in robot.actuators if a.joint not in joints]
    return robot.replace(joints=fixed, actuators=motors, poses=poses)


def _fixed(joint: Joint, angle: float) -> Joint:
    moved = joint.displacement(angle)
    return Joint(
        name=joint.name,
        kind="fixed",
        parent=joint.parent,
        child=joint.child,
        origin=joint.origin + joint.rotation @ moved.p,
        rotation=joint.rotation @ moved.R,
        axis=joint.axis,
    )


def _in_series(robot: Robot, joints: Sequence[str], stiffness: float, damping: float, armature: float) -> Robot:
    """Return a motor's joint, a frame that rotates with its rotor, and a spring's joint, in place of each of some
    joints.
    """
    links, made = list(robot.links), []
    for joint in robot.joints:
        if joint.name not in joints:
            made.append(joint)
            continue
        rotor = f"{joint.name}_rotor"
        links.append(Link.massless(rotor))
        made += [
            dataclasses.replace(joint, child=rotor, armature=joint.armature + armature),
            Joint(
                name=joint.name + SPRING,
                kind=joint.kind,
                parent=rotor,
                child=joint.child,
                axis=joint.axis,
                damping=damping,
                stiffness=stiffness,
            ),
        ]
    sprung = [joint.name + SPRING for joint in made if joint.name in joints]
    idle = [Actuator(joint=name, torque_limit=0.0) for name in sprung]
    stands = {name: dict(zip(robot.joint_names, pose.joints)) for name, pose in robot.poses.items()}
    bare = robot.replace(links=links, joints=made, actuators=[*robot.actuators, *idle], poses={})
    poses = {
        name: standing_pose(bare, [angles.get(j, 0.0) for j in bare.joint_names]) for name, angles in stands.items()
    }
    return bare.replace(poses=poses)


__all__ = ["KINDS", "named_spine", "spine_joints", "with_spine"]
