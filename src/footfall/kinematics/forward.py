"""Forward kinematics: Algorithm 1 and eqs. (9)-(18) of de Paula et al. 2024.

Poses of bodies in their parents (``joint_transforms``), in the base and in the world, twists of bodies, feet.
"""

import math
import sys
import types
from typing import NoReturn

import numpy as np
from numpy import ndarray

import nptrace
from footfall.errors import InputError
from footfall.hints import FORWARD
from footfall.robot.model.description import Robot
from footfall.spatial import Transform, cross
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import about_axis
from nptrace.array_types import Float


def check_robot(robot: Robot) -> None:
    """Raise an error for an argument that is not a robot, such as q or a name."""
    if not hasattr(robot, "nq"):
        hint = f": ff.load({robot!r}) makes one" if isinstance(robot, str) else ""
        raise InputError(
            f"functions of kinematics and dynamics take a Robot first, then q: got {type(robot).__name__}{hint}"
        )


def check_shape(robot: Robot, **arrays: tuple[ndarray, int]) -> None:
    """Raise for an array of the wrong length, naming it."""
    for name, (array, size) in arrays.items():
        if np.shape(array) != (size,):
            raise InputError(f"{name} of robot '{robot.name}' must have shape ({size},), got {np.shape(array)}")


def joint_positions(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nj"]:
    """Return the joint positions of a configuration.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].

    Returns:
        The last nj entries of q.
    """
    return q[robot.nq - robot.nj :]


def joint_rates(robot: Robot, v: Float[ndarray, "nv"]) -> Float[ndarray, "nj"]:
    """Return the joint velocities of a velocity.

    Args:
        robot: The robot.
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.

    Returns:
        The last nj entries of v.
    """
    return v[robot.nv - robot.nj :]


def base_pose(robot: Robot, q: Float[ndarray, "nq"]) -> Transform:
    """Return the pose X_WB of the base, eq. (14); a fixed base is the world.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].

    Returns:
        Rotation and position.
    """
    if not robot.floating:
        return Transform.identity()
    _check_quaternion(robot, q)
    return Transform(to_rotation(q[3:7]), q[:3])


def _check_quaternion(robot: Robot, q: Float[ndarray, "nq"]) -> None:
    """Raise for a quaternion that is not a rotation, such as four zeros; small deviations are perturbations."""
    if nptrace.is_tracing() or np.ndim(q) != 1:
        return  # numbers of a trace are unknown
    length = math.sqrt(sum(x * x for x in np.asarray(q[3:7], dtype=float).tolist()))
    if not 0.75 <= length <= 1.25:
        raise InputError(f"the quaternion (w, x, y, z) in q of robot '{robot.name}' has length {length:.3g}, not 1")


def base_twist(robot: Robot, v: Float[ndarray, "nv"]) -> Float[ndarray, "6"]:
    """Return (ω, v) of the base in base axes."""
    return v[:6] if robot.floating else np.zeros(6)


def joint_transforms(robot: Robot, q: Float[ndarray, "nq"]) -> list[Transform]:
    """Return the pose X_PB of every body in its parent, eqs. (9)-(11).

    Each is the constant offset, followed by the motion of the joint.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].

    Returns:
        One transform per body; the first is the base in the world.
    """
    check_robot(robot)
    check_shape(robot, q=(q, robot.nq))
    X = [base_pose(robot, q)]
    for body, angle in zip(robot.tree.bodies[1:], joint_positions(robot, q)):
        R_PJ, p_PJ = body.X_PJ.R, body.X_PJ.p
        if body.kind == "revolute":
            X.append(Transform(R_PJ @ about_axis(body.axis, angle), p_PJ))
        else:
            X.append(Transform(R_PJ, p_PJ + (R_PJ @ body.axis) * angle))
    return X


def poses_in_base(robot: Robot, X: list[Transform]) -> list[Transform]:
    """Return X_0B of every body, eq. (12)."""
    poses = [Transform.identity()]
    for i in range(1, len(X)):
        poses.append(poses[robot.tree.parent[i]] @ X[i])
    return poses


def body_poses(robot: Robot, q: Float[ndarray, "nq"]) -> list[Transform]:
    """Return the pose X_WB of every body (forward kinematics), eq. (15).

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].

    Returns:
        A list of transforms, the base first.
    """
    X = joint_transforms(robot, q)
    return [X[0] @ X_0B for X_0B in poses_in_base(robot, X)]


def joint_twist(robot: Robot, i: int, rate: float) -> Float[ndarray, "6"]:
    """Return S_i q̇_i, the twist across joint i in the axes of body i."""
    body = robot.tree.bodies[i]
    along = body.axis * rate
    return np.concatenate([along, np.zeros(3)] if body.kind == "revolute" else [np.zeros(3), along])


def base_joint_twists(robot: Robot) -> dict[int, Float[ndarray, "6"]]:
    """Return the twist of every joint on a floating base, in the base's axes about its origin, by column of v."""
    twists = {}
    for i, body in enumerate(robot.tree.bodies):
        if robot.floating and robot.tree.parent[i] == 0:
            axis = body.X_PJ.R @ body.axis
            parts = [axis, cross(body.X_PJ.p, axis)] if body.kind == "revolute" else [np.zeros(3), axis]
            twists[robot.tree.dof(i)] = np.concatenate(parts)
    return twists


def body_velocities(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nb 6"]:
    """Return the twist of every body at its own origin in its own axes: Algorithm 1, eq. (13).

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates [rad/s or m/s].

    Returns:
        A list of (ω, v) [rad/s, m/s], the base first.
    """
    check_shape(robot, v=(v, robot.nv))
    X, rates = joint_transforms(robot, q), joint_rates(robot, v)
    V = [base_twist(robot, v)]
    for i in range(1, len(X)):
        V.append(X[i].to_child(V[robot.tree.parent[i]]) + joint_twist(robot, i, rates[i - 1]))
    return np.stack(V)


def foot_positions(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nf 3"]:
    """Return the centres of the feet in the world, eqs. (16)-(18).

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].

    Returns:
        One row a foot [m].
    """
    poses = body_poses(robot, q)
    tree = robot.tree
    return _stacked([poses[i].point(p) for i, p in zip(tree.feet, tree.foot_positions)], (3,))


def foot_velocities(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nf 6"]:
    """Return the twists of the foot frames in *world* axes, eq. (37).

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates [rad/s or m/s].

    Returns:
        One row (ω, v) per foot [rad/s, m/s].
    """
    poses, V, tree = body_poses(robot, q), body_velocities(robot, q, v), robot.tree
    return _stacked(
        [
            np.concatenate([poses[i].R @ V[i, :3], poses[i].R @ (V[i, 3:] + cross(V[i, :3], p))])
            for i, p in zip(tree.feet, tree.foot_positions)
        ],
        (6,),
    )


def center_of_mass(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "3"]:
    """Return the centre of mass of the whole robot in the world.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].

    Returns:
        Position [m].
    """
    moment = sum(
        body.inertia.m * X_WB.p + X_WB.R @ body.inertia.h for body, X_WB in zip(robot.tree.bodies, body_poses(robot, q))
    )
    return moment / robot.mass


def _stacked(rows: list[ndarray], shape: tuple[int, ...]) -> ndarray:
    return np.stack(rows) if rows else np.zeros((0, *shape))


class _NotAFunction(types.ModuleType):
    """This module as an object with a helpful error, since people call it: ``ff.kinematics.forward(robot, q)``."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise InputError(f"ff.kinematics.forward is a module: call {FORWARD}")


sys.modules[__name__].__class__ = _NotAFunction
