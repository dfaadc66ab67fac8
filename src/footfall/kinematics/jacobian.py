"""Jacobians of the feet by the support path: Algorithm 6, eqs. (B1)-(B3) of de Paula et al. 2024.

Rows are (angular, linear). Frames: ``foot`` has the axes of the foot's body, ``world`` those of the world, both at the
foot's centre; ``contact`` has the ground's axes at the point of the sphere nearest to the ground, eqs. (32)-(33).
"""

import sys
import types
from typing import NoReturn

import numpy as np
from numpy import ndarray

from footfall.errors import InputError, unknown
from footfall.hints import JACOBIAN
from footfall.kinematics.forward import body_velocities, joint_rates, joint_transforms, joint_twist, poses_in_base
from footfall.robot.model.description import Robot
from footfall.spatial import Transform, cross, cross_motion
from nptrace.array_types import Float

FRAMES = ("foot", "contact", "world")
_NORMAL = np.array([0.0, 0.0, 1.0])  # normal of the ground, in contact axes


def feet_jacobian(
    robot: Robot, q: Float[ndarray, "nq"], frame: str = "world", R_WC: Float[ndarray, "3 3"] | None = None
) -> Float[ndarray, "nf 6 nv"]:
    """Return the geometric Jacobians of the feet: the twist of foot k is J[k] v.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        frame: The axes of the twists.
        R_WC: Axes of the ground, normal last (contact frame only).

    Returns:
        J of shape (nf, 6, nv); angular before linear.
    """
    X = joint_transforms(robot, q)
    frames = _foot_frames(robot, X, frame, R_WC)
    blocks = []
    for i, X_BF, foot in zip(robot.tree.feet, frames, robot.feet):
        J = point_jacobian(robot, X, i, X_BF)
        if frame == "contact":  # from the sphere's centre to its lowest point: v - r ω x n
            J = Transform(np.eye(3), -foot.radius * _NORMAL).motion_matrix() @ J
        blocks.append(J)
    return np.stack(blocks) if blocks else np.zeros((0, 6, robot.nv))


def point_jacobian(robot: Robot, X: list[Transform], i: int, X_BF: Transform) -> Float[ndarray, "6 nv"]:
    """Return Algorithm 6 for one frame F on body i: every joint on the support path, passed outwards."""
    tree = robot.tree
    J = np.zeros((6, robot.nv))
    X_jF = X_BF
    for j in reversed(tree.support[i]):
        J[:, tree.dof(j)] = X_jF.to_child(joint_twist(robot, j, 1.0))
        X_jF = X[j] @ X_jF
    if robot.floating:
        J[:, :6] = X_jF.motion_matrix()
    return J


def _foot_frames(robot: Robot, X: list[Transform], frame: str, R_WC: ndarray | None) -> list[Transform]:
    """Return the pose of every foot's frame, at the centre of its sphere, in the foot's body."""
    if frame not in FRAMES:
        raise unknown("frame", frame, FRAMES)
    tree = robot.tree
    if frame == "foot":
        return [Transform(np.eye(3), p) for p in tree.foot_positions]
    poses = [X[0] @ X_0B for X_0B in poses_in_base(robot, X)]
    R_WF = np.eye(3) if R_WC is None or frame == "world" else R_WC
    return [Transform(poses[i].R.T @ R_WF, p) for i, p in zip(tree.feet, tree.foot_positions)]


def feet_bias_acceleration(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    frame: str = "world",
    R_WC: Float[ndarray, "3 3"] | None = None,
) -> Float[ndarray, "nf 6"]:
    """Return dJ/dt v, the acceleration of the foot frames while v is constant.

    ``world`` and ``contact`` axes do not rotate, ``foot`` axes do. The contact point stays below the foot's centre
    while the sphere rolls, so its centripetal term is that of the centre.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.
        frame: Axes of the contact frames: ``world``, ``contact`` or ``foot``.
        R_WC: Axes of the contact frame, normal last, for ``contact``; level ground unless given.

    Returns:
        Angular and linear acceleration of each foot [rad/s², m/s²].
    """
    X = joint_transforms(robot, q)
    V, A = body_velocities(robot, q, v), bias_accelerations(robot, X, v)
    rows = []
    for i, X_BF, foot in zip(robot.tree.feet, _foot_frames(robot, X, frame, R_WC), robot.feet):
        V_F, A_F = X_BF.to_child(V[i]), X_BF.to_child(A[i])
        if frame != "foot":  # from spatial (components in rotating axes) to axes at rest
            A_F = A_F + np.concatenate([np.zeros(3), cross(V_F[:3], V_F[3:])])
        if frame == "contact":
            A_F = A_F - np.concatenate([np.zeros(3), foot.radius * cross(A_F[:3], _NORMAL)])
        rows.append(A_F)
    return np.stack(rows) if rows else np.zeros((0, 6))


def bias_accelerations(robot: Robot, X: list[Transform], v: Float[ndarray, "nv"]) -> list[ndarray]:
    """Return spatial accelerations of the bodies when v is held constant: eq. (19) with a_0 = 0."""
    rates, tree = joint_rates(robot, v), robot.tree
    V, A = [v[:6] if robot.floating else np.zeros(6)], [np.zeros(6)]
    for i in range(1, len(X)):
        j, across = tree.parent[i], joint_twist(robot, i, rates[i - 1])
        V.append(X[i].to_child(V[j]) + across)
        A.append(X[i].to_child(A[j]) + cross_motion(V[i], across))
    return A


class _NotAFunction(types.ModuleType):
    """This module as an object with a helpful error, since people call it: ``ff.kinematics.jacobian(robot, q,
    name)``.
    """

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise InputError(f"ff.kinematics.jacobian is a module: call {JACOBIAN}")


sys.modules[__name__].__class__ = _NotAFunction
