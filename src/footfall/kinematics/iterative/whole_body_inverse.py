"""Whole-body inverse kinematics: feet, trunk and centre of mass together, by Levenberg-Marquardt.

It uses exact Jacobians and an active set: a joint that would leave its limits is held there and the others are solved
again. The feet have the largest weights, so that conflicts are resolved at the expense of the trunk and the centre of
mass. Numbers only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.errors import InputError
from footfall.kinematics.forward import body_poses, center_of_mass, foot_positions
from footfall.kinematics.inverse import posture_of, targets_of
from footfall.kinematics.jacobian import feet_jacobian
from footfall.robot.model.description import Robot
from footfall.spatial import quaternion
from footfall.spatial.rotation import is_rotation
from footfall.spatial.vector import cross
from nptrace._types import Given, Operand
from nptrace.array_types import Float

FEET_WEIGHT = 10.0
LEVER = 0.3  # [m]: weight of a radian of the trunk relative to a metre


@dataclass(frozen=True, eq=False, kw_only=True)
class WholeBodyInverse:
    """A posture of the whole body, and the remaining error of each target."""

    q: Float[ndarray, "nq"]
    feet: tuple[str, ...]
    foot_residual: Float[ndarray, "n"]  # [m]
    trunk_position_residual: float  # [m]; 0 if not given
    trunk_rotation_residual: float  # [rad]
    com_residual: float  # [m]
    reached: bool  # all of them within the tolerance
    iterations: int


def whole_body_inverse(
    robot: Robot,
    targets: Operand,
    *,
    trunk_position: Given = None,
    trunk_rotation: Given = None,
    com: Given = None,
    q: Float[ndarray, "nq"] | None = None,
    tolerance: float = 1e-7,
    iterations: int = 100,
) -> WholeBodyInverse:
    """Solve for a whole posture, base and joints, given feet, base and centre of mass in the world.

    Args:
        robot: A robot with a floating base.
        targets: Centres of feet [m]: an array (nf, 3), or ``{foot: (x, y, z)}`` for some of them.
        trunk_position: Position of the base's origin [m]; a coordinate that is NaN is free.
        trunk_rotation: R_WB of the base; None leaves it free.
        com: Centre of mass of the whole robot [m]; a coordinate that is NaN is free: ``(x, y, nan)`` puts it over a
            point.
        q: Initial configuration; free coordinates stay near it.
        tolerance: Tolerance [m]; divided by LEVER for the trunk's rotation [rad].
        iterations: Maximum number of iterations.

    Returns:
        The configuration, and the error of each target (``WholeBodyInverse``).
    """
    if not robot.floating:
        raise InputError(f"robot '{robot.name}' has a fixed base: use inverse, which moves only the legs")
    q = posture_of(robot, q)
    feet = targets_of(robot, targets)
    wishes = _Wishes(
        robot, feet, _coordinates(trunk_position, "trunk_position"), _rotation(trunk_rotation), _coordinates(com, "com")
    )
    lower, upper = (np.array([getattr(b.joint, k) for b in robot.tree.bodies[1:]]) for k in ("lower", "upper"))
    q = np.concatenate([q[:7], np.clip(q[7:], lower, upper)])
    miss, effort, used = wishes.misses(q), 1e-4, 0
    while used < iterations and wishes.worst(miss) > tolerance and effort < 1e8:
        used += 1
        J, w = wishes.jacobian(q), wishes.weights
        moved = _step(robot, q, J * w[:, None], miss * w, effort, lower, upper)
        left = wishes.misses(moved)
        if np.sum((left * w) ** 2) < np.sum((miss * w) ** 2):
            if np.abs(moved - q).max() < 1e-14:
                break
            q, miss, effort = moved, left, max(0.1 * effort, 1e-14)
        else:
            effort *= 8.0
    return wishes.result(q, miss, tolerance, used)


@dataclass(frozen=True, eq=False)
class _Wishes:
    robot: Robot
    feet: Mapping[str, ndarray]
    position: ndarray
    rotation: ndarray | None
    com: ndarray

    @property
    def weights(self) -> Float[ndarray, "m"]:
        feet = np.full(3 * len(self.feet), FEET_WEIGHT)
        rotation = np.full(0 if self.rotation is None else 3, LEVER)
        return np.concatenate([feet, np.ones(len(_given(self.position))), rotation, np.ones(len(_given(self.com)))])

    def misses(self, q: ndarray) -> Float[ndarray, "m"]:
        """Return desired minus actual values: feet, trunk position, its rotation in its own axes, centre of mass."""
        now = foot_positions(self.robot, q)
        rows = [p - now[self.robot.foot_index(foot)] for foot, p in self.feet.items()]
        X_WB = body_poses(self.robot, q)[0]
        rows.append((self.position - X_WB.p)[_given(self.position)])
        if self.rotation is not None:
            rows.append(quaternion.rotation_vector(quaternion.from_rotation(X_WB.R.T @ self.rotation)))
        rows.append((self.com - center_of_mass(self.robot, q))[_given(self.com)])
        return np.concatenate(rows)

    def jacobian(self, q: ndarray) -> Float[ndarray, "m nv"]:
        J = feet_jacobian(self.robot, q)
        rows = [J[self.robot.foot_index(foot), 3:] for foot in self.feet]
        nv = self.robot.nv
        position, rotation = np.zeros((3, nv)), np.zeros((3, nv))
        position[:, 3:6] = body_poses(self.robot, q)[0].R
        rotation[:, :3] = np.eye(3)
        rows.append(position[_given(self.position)])
        if self.rotation is not None:
            rows.append(rotation)
        rows.append(com_jacobian(self.robot, q)[_given(self.com)])
        return np.concatenate(rows)

    def parts(self, miss: ndarray) -> tuple[ndarray, float, float, float]:
        n, p = 3 * len(self.feet), len(_given(self.position))
        r = 0 if self.rotation is None else 3
        feet = np.sqrt(np.sum(miss[:n].reshape(-1, 3) ** 2, axis=1))
        return feet, _length(miss[n : n + p]), _length(miss[n + p : n + p + r]), _length(miss[n + p + r :])

    def worst(self, miss: ndarray) -> float:
        feet, position, rotation, com = self.parts(miss)
        return max([*feet, position, LEVER * rotation, com])

    def result(self, q: ndarray, miss: ndarray, tolerance: float, used: int) -> WholeBodyInverse:
        feet, position, rotation, com = self.parts(miss)
        return WholeBodyInverse(
            q=q,
            feet=tuple(self.feet),
            foot_residual=feet,
            trunk_position_residual=position,
            trunk_rotation_residual=rotation,
            com_residual=com,
            reached=self.worst(miss) <= tolerance,
            iterations=used,
        )


def com_jacobian(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "3 nv"]:
    """Return the Jacobian of the centre of mass: its velocity in world axes is J v.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].

    Returns:
        J, in m per unit of v.
    """
    tree, poses = robot.tree, body_poses(robot, q)
    masses = np.array([body.inertia.m for body in tree.bodies])
    moments = np.stack([body.inertia.m * X.p + X.R @ body.inertia.h for body, X in zip(tree.bodies, poses)])
    J = np.zeros((3, robot.nv))
    for j in range(1, len(tree.bodies)):
        below = list(tree.subtree[j])
        axis = poses[j].R @ tree.bodies[j].axis
        m, h = masses[below].sum(), moments[below].sum(axis=0)
        J[:, tree.dof(j)] = cross(axis, h - m * poses[j].p) if tree.bodies[j].kind == "revolute" else m * axis
    if robot.floating:
        X, m, h = poses[0], masses.sum(), moments.sum(axis=0)
        for k in range(3):
            J[:, k], J[:, 3 + k] = cross(X.R[:, k], h - m * X.p), m * X.R[:, k]
    return J / robot.mass


def _step(
    robot: Robot, q: ndarray, J: ndarray, miss: ndarray, effort: float, lower: ndarray, upper: ndarray
) -> ndarray:
    """Return q after one damped step; joints that would leave their limits are held there, and the rest is solved
    again.
    """
    free = np.ones(robot.nv)
    for _ in range(robot.nj + 1):
        J_free = J * free
        step = free * np.linalg.solve(J_free.T @ J_free + effort * np.eye(robot.nv), J_free.T @ miss)
        joints = q[7:] + step[6:]
        out = ((joints < lower) | (joints > upper)) & (free[6:] > 0)
        at_edge = out & ((q[7:] <= lower) | (q[7:] >= upper))
        if not at_edge.any():
            break
        free[6:][at_edge] = 0.0
    position = q[:3] + body_poses(robot, q)[0].R @ step[3:6]
    return np.concatenate([position, quaternion.rotated(q[3:7], step[:3]), np.clip(joints, lower, upper)])


def _given(wish: ndarray) -> ndarray:
    return np.flatnonzero(np.isfinite(wish))


def _length(x: ndarray) -> float:
    return float(np.sqrt(x @ x))


def _coordinates(wish: Given, what: str) -> ndarray:
    if wish is None:
        return np.full(3, np.nan)
    wish = np.asarray(wish, dtype=float)
    if wish.shape != (3,) or np.isinf(wish).any():
        raise InputError(f"{what} must be three numbers, NaN for free components, got {wish.tolist()}")
    return wish


def _rotation(wish: Given) -> ndarray | None:
    if wish is None:
        return None
    R = np.asarray(wish, dtype=float)
    if R.shape != (3, 3) or not np.isfinite(R).all() or not is_rotation(R):
        raise InputError(f"trunk_rotation must be a rotation matrix, got {R.tolist()}")
    return R
