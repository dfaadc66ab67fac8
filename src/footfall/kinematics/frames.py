"""Named frames of any link: pose, velocity and Jacobian, like those of the feet (``kinematics.jacobian``).

A frame is that of a link, by its name, or a foot's centre in the axes of its link; ``trunk`` and ``base`` exist for
every robot, and other spellings of feet are accepted (FL, rear_left_foot); ``point`` [m] moves its origin, in the
frame's axes. Rows of twists and Jacobians are (angular, linear). ``reference`` is as in Pinocchio, in capitals or not:

| ``reference`` | the velocity of which point | in which axes |
|---|---|---|
| ``local_world_aligned`` | the frame's origin | the world's |
| ``local`` | the frame's origin | the frame's own |
| ``world`` | the point of the body at the world's origin: a spatial velocity | the world's |
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from footfall.errors import InputError, unknown
from footfall.kinematics.forward import body_velocities, check_shape, joint_transforms, poses_in_base
from footfall.kinematics.jacobian import point_jacobian
from footfall.robot.model.description import Robot
from footfall.robot.model.legs import foot_of
from footfall.spatial import Transform, cross
from nptrace.array_types import Float

REFERENCES = ("local_world_aligned", "local", "world")


def frame_names(robot: Robot) -> tuple[str, ...]:
    """Return the names of all frames of a robot: its links and feet.

    Args:
        robot: The robot.

    Returns:
        Names, for ``frame_pose`` and ``frame_jacobian``.
    """
    return (*robot.tree.frames, *(name for name in robot.foot_names if name not in robot.tree.frames))


def frame_in_body(robot: Robot, name: str, point: Sequence[float] | ndarray = (0.0, 0.0, 0.0)) -> tuple[int, Transform]:
    """Return (the body that carries a frame, the frame's pose in that body)."""
    if not isinstance(name, str):
        raise InputError(f"a frame is the name of a link or foot, such as {robot.trunk!r}, got {type(name).__name__}")
    if isinstance(point, str):
        raise InputError(f"the point of a frame is three numbers [m], got {point!r}: did you mean reference={point!r}?")
    tree, offset = robot.tree, np.asarray(point, dtype=float)
    if offset.shape != (3,):
        raise InputError(f"the point of a frame must be three numbers x, y, z [m], got shape {offset.shape}")
    foot = name if name in robot.foot_names else foot_of(name)
    if name not in tree.frames and foot not in robot.foot_names:
        name = {"base": tree.bodies[0].name, "trunk": robot.trunk}.get(name, name)
    if name in tree.frames:
        body, X_BL = tree.frames[name]
    elif foot in robot.foot_names:
        k = robot.foot_names.index(foot)
        body, X_BL = tree.feet[k], Transform(tree.frames[robot.feet[k].link][1].R, tree.foot_positions[k])
    else:
        raise unknown(f"link or foot of robot '{robot.name}'", name, frame_names(robot))
    return body, Transform(X_BL.R, X_BL.point(offset))


def frame_pose(
    robot: Robot, q: Float[ndarray, "nq"], name: str, point: Sequence[float] | ndarray = (0.0, 0.0, 0.0)
) -> Transform:
    """Return the pose X_WF of a link or foot.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        name: Name of the link or foot.
        point: Point of its frame [m]; its origin unless given.

    Returns:
        ``.p`` is the origin in the world [m], ``.R`` has the axes as columns.
    """
    body, X_BF = frame_in_body(robot, name, point)
    X = joint_transforms(robot, q)
    return X[0] @ poses_in_base(robot, X)[body] @ X_BF


def frame_velocity(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    name: str,
    point: Sequence[float] | ndarray = (0.0, 0.0, 0.0),
    reference: str = "local_world_aligned",
) -> Float[ndarray, "6"]:
    """Return the twist (ω, v) of a link or foot.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates [rad/s or m/s].
        name: Name of the link or foot.
        point: Point of its frame [m]; its origin unless given.
        reference: ``local_world_aligned``, ``local`` or ``world``.

    Returns:
        Angular [rad/s], then linear velocity [m/s].
    """
    reference = _checked_reference(reference)
    body, X_BF = frame_in_body(robot, name, point)
    V_F = X_BF.to_child(body_velocities(robot, q, v)[body])
    if reference == "local":
        return V_F
    X_WF = frame_pose(robot, q, name, point)
    omega, velocity = X_WF.R @ V_F[:3], X_WF.R @ V_F[3:]
    return np.concatenate([omega, velocity + cross(X_WF.p, omega) if reference == "world" else velocity])


def frame_jacobian(
    robot: Robot,
    q: Float[ndarray, "nq"],
    name: str,
    point: Sequence[float] | ndarray = (0.0, 0.0, 0.0),
    reference: str = "local_world_aligned",
) -> Float[ndarray, "6 nv"]:
    """Return the Jacobian of a link or foot, V = J v. A wrench (n, f) on it is the generalised force Jᵀ (n, f).

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        name: Name of the link or foot.
        point: Point of its frame [m]; its origin unless given.
        reference: ``local_world_aligned``, ``local`` or ``world``.

    Returns:
        Rows for the angular, then for the linear velocity; columns in the order of v.
    """
    reference = _checked_reference(reference)
    check_shape(robot, q=(q, robot.nq))
    body, X_BF = frame_in_body(robot, name, point)
    X = joint_transforms(robot, q)
    if reference != "local":
        X_WB = X[0] @ poses_in_base(robot, X)[body]
        origin = X_BF.p if reference == "local_world_aligned" else -(X_WB.R.T @ X_WB.p)
        X_BF = Transform(X_WB.R.T, origin)
    return point_jacobian(robot, X, body, X_BF)


def _checked_reference(reference: str) -> str:
    lower = str(reference).rpartition(".")[2].lower()  # Pinocchio's ReferenceFrame.LOCAL as text
    if lower not in REFERENCES:
        raise unknown("reference of a frame", reference, REFERENCES)
    return lower
