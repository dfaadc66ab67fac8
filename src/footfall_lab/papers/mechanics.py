"""Mechanics of a tree in world axes, independent of footfall's: the reference for printed equations.

Poses by Rodrigues' formula, velocities and accelerations point by point, Newton's and Euler's laws of every body, M and
the bias forces by columns of velocities. Slow, short, and without any code of the algorithms that it checks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

from footfall.robot.model.description import Robot
from nptrace.array_types import Float


def hat(a: ndarray) -> Float[ndarray, "3 3"]:
    """Return the cross product matrix of a: hat(a) @ b = a x b."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def turned(axis: ndarray, angle: float) -> Float[ndarray, "3 3"]:
    """Return a rotation by Rodrigues' formula."""
    K = hat(axis)
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def of_quaternion(q: ndarray) -> Float[ndarray, "3 3"]:
    """Return the rotation of a quaternion (w, x, y, z)."""
    K = hat(q[1:])
    return np.eye(3) + 2.0 * q[0] * K + 2.0 * K @ K


def off(found: ArrayLike, right: ArrayLike) -> float:
    """Return the largest difference, relative to the largest value."""
    a, b = np.asarray(found, float), np.asarray(right, float)
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-300))


@dataclass(frozen=True, kw_only=True)
class Mechanics:
    """A robot in one state: quantities of every body in world axes, about its origin."""

    robot: Robot
    R: list[ndarray]
    p: list[ndarray]
    turns: list[ndarray]  # (3, nv) per body: angular velocity by v
    moves: list[ndarray]  # (3, nv): velocity of its origin by v
    omega: list[ndarray]
    speed: list[ndarray]
    alpha: list[ndarray]  # angular acceleration for zero rates of v, without acceleration of the base's origin
    acceleration: list[ndarray]

    @staticmethod
    def of(robot: Robot, q: ndarray, v: ndarray) -> Mechanics:
        tree, nv, zero = robot.tree, robot.nv, np.zeros(3)
        R, p = [of_quaternion(q[3:7])], [q[:3]]
        first = np.zeros((2, 3, nv))
        first[0, :, :3] = first[1, :, 3:6] = R[0]
        turns, moves = [first[0]], [first[1]]
        omega, speed, alpha, acceleration = [R[0] @ v[:3]], [R[0] @ v[3:6]], [zero], [zero]
        for i, body in enumerate(tree.bodies[1:], start=1):
            k = tree.parent[i]
            slides = body.kind == "prismatic"
            angle, rate = q[7 + i - 1], v[6 + i - 1]
            hinge = R[k] @ body.X_PJ.R
            axis = hinge @ body.axis
            arm = R[k] @ body.X_PJ.p + (axis * angle if slides else 0.0)
            R.append(hinge if slides else hinge @ turned(body.axis, angle))
            p.append(p[k] + arm)
            column = np.zeros((3, nv))
            column[:, tree.dof(i)] = axis
            turns.append(turns[k] + (0.0 if slides else column))
            moves.append(moves[k] - hat(arm) @ turns[k] + (column if slides else 0.0))
            spin = np.zeros(3) if slides else axis * rate
            omega.append(omega[k] + spin)
            speed.append(speed[k] + np.cross(omega[k], arm) + (axis * rate if slides else 0.0))
            alpha.append(alpha[k] + np.cross(omega[k], spin))
            carried = np.cross(alpha[k], arm) + np.cross(omega[k], np.cross(omega[k], arm))
            acceleration.append(acceleration[k] + carried + (2.0 * np.cross(omega[k], axis * rate) if slides else 0.0))
        return Mechanics(
            robot=robot,
            R=R,
            p=p,
            turns=turns,
            moves=moves,
            omega=omega,
            speed=speed,
            alpha=alpha,
            acceleration=acceleration,
        )

    def point(self, body: int, r: ndarray) -> tuple[ndarray, ndarray]:
        """Return a point of a body and its velocity by v; ``r`` is in body axes."""
        arm = self.R[body] @ r
        return self.p[body] + arm, self.moves[body] - hat(arm) @ self.turns[body]

    def masses(self) -> list[tuple[float, ndarray, ndarray]]:
        """Return (mass, centre of mass, tensor about it in world axes) of every body."""
        found = []
        for body, R in zip(self.robot.tree.bodies, self.R):
            c, m = body.inertia.h / body.inertia.m, body.inertia.m
            found.append((m, c, R @ (body.inertia.I - m * (c @ c * np.eye(3) - np.outer(c, c))) @ R.T))
        return found

    @property
    def M(self) -> Float[ndarray, "nv nv"]:
        """Return the joint-space inertia matrix, without rotors."""
        total = np.zeros((self.robot.nv, self.robot.nv))
        for k, (m, c, tensor) in enumerate(self.masses()):
            J = self.point(k, c)[1]
            total += m * J.T @ J + self.turns[k].T @ tensor @ self.turns[k]
        return total

    @property
    def c(self) -> Float[ndarray, "nv"]:
        """Return the velocity-dependent bias forces, for the classical acceleration of the base."""
        total = np.zeros(self.robot.nv)
        for k, (m, c, tensor) in enumerate(self.masses()):
            arm, w, dw = self.R[k] @ c, self.omega[k], self.alpha[k]
            a = self.acceleration[k] + np.cross(dw, arm) + np.cross(w, np.cross(w, arm))
            total += self.point(k, c)[1].T @ (m * a) + self.turns[k].T @ (tensor @ dw + np.cross(w, tensor @ w))
        return total

    def G(self, gravity: tuple[float, float, float] | ndarray) -> Float[ndarray, "nv"]:
        """Return the forces that hold the weight."""
        total = np.zeros(self.robot.nv)
        for k, (m, c, _) in enumerate(self.masses()):
            total -= self.point(k, c)[1].T @ (m * np.asarray(gravity))
        return total
