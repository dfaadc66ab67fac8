"""Coordinates of the base: quaternion, Euler angles (de Paula 2024, Adak 2021), virtual joints (lecture slides).

footfall's own state is q = (p_WB, quat_WB, joints), v = (ω, v of the base in base axes, joint rates). The papers use
Euler angles ξ; with E(ξ) of ``spatial.rotation`` the velocities are related by v = N dx/dt, N = diag(E, R_BW, 1), for
x = (ξ, p_WB, joints). E is singular at a middle angle of ±90°: ``to_euler_coordinates`` raises within 0.5° of it.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy import ndarray

from footfall.errors import InputError, unknown
from footfall.kinematics.forward import base_pose
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Joint, Link
from footfall.spatial import rotation
from footfall.spatial.quaternion import conjugate, from_rotation, multiply, rate, rotated, rotation_vector, to_rotation
from nptrace.array_types import Float

_SINGULAR = np.radians(0.5)


# -- the quaternion state --------------------------------------------------------------------------------------------
def configuration_rate(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nq"]:
    """Return dq/dt.

    Erratum of eq. (42) of de Paula 2024: the position's rate is R_WB v, not v, if v is in base axes.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates [rad/s or m/s].

    Returns:
        dq/dt: velocity of the base in world axes, rate of its quaternion, joint rates.
    """
    if not robot.floating:
        return v
    return np.concatenate([to_rotation(q[3:7]) @ v[3:6], rate(q[3:7], v[:3]), v[6:]])


def integrate(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], dt: float) -> Float[ndarray, "nq"]:
    """Return q after moving for dt with constant v, in *initial* base axes for the position.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates [rad/s or m/s].
        dt: Time [s].

    Returns:
        q, its quaternion of unit length.
    """
    if not robot.floating:
        return q + dt * v
    p = q[:3] + dt * (to_rotation(q[3:7]) @ v[3:6])
    return np.concatenate([p, rotated(q[3:7], dt * v[:3]), q[7:] + dt * v[6:]])


def difference(robot: Robot, q_from: Float[ndarray, "nq"], q_to: Float[ndarray, "nq"]) -> Float[ndarray, "nv"]:
    """Return the velocity that takes one configuration to another in one second, as ``integrate`` does.

    Args:
        robot: The robot.
        q_from: Configuration at the start.
        q_to: Configuration at the end.

    Returns:
        Velocity.
    """
    if not robot.floating:
        return q_to - q_from
    turn = rotation_vector(multiply(conjugate(q_from[3:7]), q_to[3:7]))
    return np.concatenate([turn, to_rotation(q_from[3:7]).T @ (q_to[:3] - q_from[:3]), q_to[7:] - q_from[7:]])


# -- Euler angles ----------------------------------------------------------------------------------------------------
def to_euler_coordinates(robot: Robot, q: Float[ndarray, "nq"], order: str = "zyx") -> Float[ndarray, "nv"]:
    """Return x = (ξ, p_WB, joints), eq. (39) of de Paula et al. 2024."""
    _check(robot, order)
    angles = rotation.to_euler(to_rotation(q[3:7]), order)
    if abs(abs(float(angles[1])) - np.pi / 2) < _SINGULAR:
        raise InputError(
            f"the middle Euler angle is {np.degrees(float(angles[1])):.2f} deg, where {order} angles are singular:"
            " use the quaternion state, or the other order of angles"
        )
    return np.concatenate([angles, q[:3], q[7:]])


def from_euler_coordinates(robot: Robot, x: Float[ndarray, "nv"], order: str = "zyx") -> Float[ndarray, "nq"]:
    """Return q of x = (ξ, p_WB, joints)."""
    _check(robot, order)
    return np.concatenate([x[3:6], from_rotation(rotation.from_euler(x[:3], order)), x[6:]])


def euler_velocity_map(robot: Robot, x: Float[ndarray, "nv"], order: str = "zyx") -> Float[ndarray, "nv nv"]:
    """Return N with v = N dx/dt: eqs. (41)-(42) of de Paula et al. 2024 corrected, the block diag(E, R_BW, 1)."""
    _check(robot, order)
    N = np.eye(robot.nv)
    N[:3, :3] = rotation.euler_rates_to_body(x[:3], order)
    N[3:6, 3:6] = rotation.from_euler(x[:3], order).T
    return N


def _check(robot: Robot, order: str) -> None:
    if order not in rotation.EULER_ORDERS:
        raise unknown("order of Euler angles", order, rotation.EULER_ORDERS)
    if not robot.floating:
        raise InputError(f"robot '{robot.name}' has a fixed base and no Euler angles")


# -- virtual joints --------------------------------------------------------------------------------------------------
def with_virtual_joints(robot: Robot, order: str = "zyx") -> Robot:
    """Return the robot on a fixed base, connected by three virtual prismatic and three virtual revolute joints.

    Its q is (p_WB, ξ, joints) with Euler angles ξ, singularity included.

    Args:
        robot: The robot.
        order: Order of the Euler angles: ``zyx`` or ``xyz``.

    Returns:
        Robot with a fixed base.
    """
    _check(robot, order)
    root = robot.tree.bodies[0].name
    axes = dict(zip("xyz", np.eye(3)))
    steps = [("prismatic", letter) for letter in "xyz"] + [("revolute", letter) for letter in order]
    names = ["virtual_world", *(f"virtual_link_{k}" for k in range(5)), root]
    links = [Link.massless(name) for name in names[:-1]]
    joints = [
        Joint(
            name=f"virtual_{'slide' if kind == 'prismatic' else 'turn'}_{letter}",
            kind=kind,
            parent=names[k],
            child=names[k + 1],
            axis=axes[letter],
        )
        for k, (kind, letter) in enumerate(steps)
    ]
    return dataclasses.replace(
        robot,
        name=f"{robot.name} on virtual joints",
        links=(*links, *robot.links),
        joints=(*joints, *robot.joints),
        floating=False,
        poses={},
    )


def to_virtual_coordinates(robot: Robot, q: Float[ndarray, "nq"], order: str = "zyx") -> Float[ndarray, "nv"]:
    """Return q of ``with_virtual_joints(robot, order)`` for a state of the floating robot."""
    x = to_euler_coordinates(robot, q, order)
    return np.concatenate([x[3:6], x[:3], x[6:]])


def virtual_velocity_map(robot: Robot, q: Float[ndarray, "nq"], order: str = "zyx") -> Float[ndarray, "nv nv"]:
    """Return N with v = N dx/dt for the rates of the virtual joints."""
    X_WB = base_pose(robot, q)
    N = np.eye(robot.nv)
    N[:6, :6] = 0.0
    N[:3, 3:6] = rotation.euler_rates_to_body(rotation.to_euler(X_WB.R, order), order)
    N[3:6, :3] = X_WB.R.T
    return N
