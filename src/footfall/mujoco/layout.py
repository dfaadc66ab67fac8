"""Converters between footfall's coordinates and those of Pinocchio and MuJoCo.

| | q of the base | v of the base (its rates, component by component, are a) |
|---|---|---|
| footfall | position, quaternion w x y z | ω, velocity of the origin, both in base axes |
| Pinocchio | position, quaternion x y z w | velocity of the origin, ω, both in base axes |
| MuJoCo | position, quaternion w x y z | velocity of the origin in *world* axes, ω in base axes |

Joints follow in the order of ``robot.joint_names`` everywhere. Each velocity map is a matrix T, v_theirs = T v_ours, so
generalised forces go by τ_ours = Tᵀ τ_theirs and Jacobians by J_ours = J_theirs T. Our accelerations and Pinocchio's
are spatial, MuJoCo's are classical.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.robot.model.description import Robot

_XYZW = np.array([0, 1, 2, 4, 5, 6, 3])
_WXYZ = np.array([0, 1, 2, 6, 3, 4, 5])


# -- Pinocchio --------------------------------------------------------------------------------------------------------
def to_pinocchio_q(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nq"]:
    return np.concatenate([q[_XYZW], q[7:]]) if robot.floating else np.array(q)


def from_pinocchio_q(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nq"]:
    return np.concatenate([q[_WXYZ], q[7:]]) if robot.floating else np.array(q)


def pinocchio_map(robot: Robot) -> Float[ndarray, "nv nv"]:
    """Return T with v_pinocchio = T v: a permutation, the same for accelerations."""
    T = np.eye(robot.nv)
    if robot.floating:
        T[:6] = T[[3, 4, 5, 0, 1, 2]]
    return T


def to_pinocchio_v(robot: Robot, v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    """Also for accelerations: both sides differentiate the components."""
    return pinocchio_map(robot) @ v


def from_pinocchio_v(robot: Robot, v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    return pinocchio_map(robot).T @ v


def to_pinocchio_tau(robot: Robot, tau: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    return pinocchio_map(robot) @ tau


def from_pinocchio_tau(robot: Robot, tau: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    return pinocchio_map(robot).T @ tau


def from_pinocchio_jacobian(robot: Robot, J: Float[ndarray, "6 nv"]) -> Float[ndarray, "6 nv"]:
    """Rows (linear, angular) to (angular, linear), columns to ours."""
    return np.concatenate([J[3:], J[:3]]) @ pinocchio_map(robot)


def _rotation(quat: Float[ndarray, "4"]) -> Float[ndarray, "3 3"]:
    """R of a unit quaternion, by another formula than ``spatial.quaternion``: a referee shares nothing."""
    w, u = quat[0], quat[1:]
    turned = np.array([[0.0, -u[2], u[1]], [u[2], 0.0, -u[0]], [-u[1], u[0], 0.0]])
    return (w * w - u @ u) * np.eye(3) + 2.0 * np.outer(u, u) + 2.0 * w * turned


# -- MuJoCo -----------------------------------------------------------------------------------------------------------
def to_mujoco_q(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nq"]:
    return np.array(q)


def from_mujoco_q(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nq"]:
    return np.array(q)


def mujoco_map(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nv nv"]:
    """Return T(q) with v_mujoco = T v."""
    T = np.eye(robot.nv)
    if robot.floating:
        T[:6, :6] = 0.0
        T[:3, 3:6] = _rotation(q[3:7])
        T[3:6, :3] = np.eye(3)
    return T


def mujoco_map_rate(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    """Return dT/dt v: the linear velocity turns with the base, R (ω x v)."""
    out = np.zeros(robot.nv)
    if robot.floating:
        out[:3] = _rotation(q[3:7]) @ np.cross(v[:3], v[3:6])
    return out


def to_mujoco_v(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    return mujoco_map(robot, q) @ v


def from_mujoco_v(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    return mujoco_map(robot, q).T @ v  # T is orthogonal


def to_mujoco_a(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], a: Float[ndarray, "nv"]
) -> Float[ndarray, "nv"]:
    """From our spatial to their classical acceleration; ``v`` is ours."""
    return mujoco_map(robot, q) @ a + mujoco_map_rate(robot, q, v)


def from_mujoco_a(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], a: Float[ndarray, "nv"]
) -> Float[ndarray, "nv"]:
    """From their classical to our spatial acceleration; ``v`` is ours."""
    return mujoco_map(robot, q).T @ (a - mujoco_map_rate(robot, q, v))


def to_mujoco_tau(robot: Robot, q: Float[ndarray, "nq"], tau: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    return mujoco_map(robot, q) @ tau


def from_mujoco_tau(robot: Robot, q: Float[ndarray, "nq"], tau: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    return mujoco_map(robot, q).T @ tau


def from_mujoco_jacobian(
    robot: Robot, q: Float[ndarray, "nq"], linear: Float[ndarray, "3 nv"], angular: Float[ndarray, "3 nv"]
) -> Float[ndarray, "6 nv"]:
    return np.concatenate([angular, linear]) @ mujoco_map(robot, q)
