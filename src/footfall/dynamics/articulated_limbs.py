"""Limbs that touch nothing, folded into the base as articulated bodies (Featherstone 2008, section 7.3).

What an arm does to the robot that carries it is a 6x6 inertia and a wrench at the base, whatever touches the rest. So
the arm needs no rows in M: the base is solved with these, and the arm's joints follow. The field of accelerations with
zero generalised acceleration (``velocity_terms``) is the reference, so that only what departs from it is solved for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.dynamics.base_parameters import base_parameters
from footfall.dynamics.gravity_terms import upward
from footfall.dynamics.velocity_terms import point_acceleration_matrix
from footfall.kinematics.forward import joint_positions, joint_rates, joint_transforms, joint_twist
from footfall.robot.model.description import Robot
from footfall.spatial import Inertia, Transform, cross, skew
from footfall.spatial.rotation import about_axis, coordinate_axis
from footfall.spatial.vector import symmetric

_Matrix = Float[ndarray, "3 3"]


@dataclass(frozen=True)
class Articulated:
    """An inertia that need not be rigid: n = A α + B a, f = Bᵀ α + C a; A and C are symmetric."""

    A: _Matrix
    B: _Matrix
    C: _Matrix

    @staticmethod
    def of(body: Inertia) -> Articulated:
        return Articulated(body.I, skew(body.h), body.m * np.eye(3))

    def __add__(self, other: Articulated) -> Articulated:
        return Articulated(self.A + other.A, self.B + other.B, self.C + other.C)

    def times(self, twist: Float[ndarray, "6"]) -> Float[ndarray, "6"]:
        alpha, a = twist[:3], twist[3:]
        return np.concatenate([self.A @ alpha + self.B @ a, self.B.T @ alpha + self.C @ a])

    def less(self, U: Float[ndarray, "6"], K: Float[ndarray, "6"]) -> Articulated:
        """Less U Kᵀ: what is felt through a joint that gives way."""
        return Articulated(
            symmetric(self.A - np.outer(U[:3], K[:3])), self.B - np.outer(U[:3], K[3:]),
            symmetric(self.C - np.outer(U[3:], K[3:])),
        )  # fmt: skip

    def turned(self, R: _Matrix, about: int | None = None) -> Articulated:
        """In other axes; ``about`` which coordinate axis R turns, if it is known."""
        A, B, C = (_turned(R, block, about) for block in (self.A, self.B, self.C))
        return Articulated(symmetric(A), B, symmetric(C))

    def moved(self, p: Float[ndarray, "3"]) -> Articulated:
        """About another origin, from which this one is at p."""
        P = skew(p)
        B = self.B + P @ self.C
        return Articulated(symmetric(self.A + P @ self.B.T + B @ P.T), B, self.C)

    def matrix(self) -> Float[ndarray, "6 6"]:
        return np.block([[self.A, self.B], [self.B.T, self.C]])


@dataclass(frozen=True)
class FoldedLimbs:
    """Limbs as their base feels them, and the way back to their joints; empty if there are none."""

    robot: Robot
    X: list[Transform]
    bodies: Sequence[int]
    inertia: Float[ndarray, "6 6"]  # at the base's origin, in its axes
    wrench: Float[ndarray, "6"]  # that it takes to move the limbs while the base does not accelerate
    gains: dict[int, Float[ndarray, "6"]]  # of every joint's acceleration, by that of its parent
    own: dict[int, float]  # the rest of it

    def folded(self, M: ndarray, force: ndarray) -> tuple[Float[ndarray, "nv nv"], Float[ndarray, "nv"]]:
        """The equations of the robot with its limbs as a part of its base; rows of their joints say a = 0."""
        if not self.bodies:
            return M, force
        rows = [self.robot.tree.dof(i) for i in self.bodies]
        M, force = M + np.zeros_like(M), force + np.zeros_like(force)
        M[:6, :6], force[:6] = M[:6, :6] + self.inertia, force[:6] - self.wrench
        for row in rows:
            M[row, row], force[row] = 1.0, 0.0
        return M, force

    def unfolded(self, a: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
        """All accelerations, from those of the base and of the other limbs."""
        tree, moves, a = self.robot.tree, {0: a[:6]}, a + np.zeros_like(a) if self.bodies else a
        for i in self.bodies:
            carried = self.X[i].to_child(moves[tree.parent[i]])
            found = self.own[i] - self.gains[i] @ carried
            moves[i] = carried + joint_twist(self.robot, i, found)
            a[tree.dof(i)] = found
        return a


def free_limbs(robot: Robot, touching: Sequence[int]) -> tuple[int, ...]:
    """The bodies of limbs on a floating base that hold none of the bodies that touch, root to leaves."""
    tree = robot.tree
    if not robot.floating or robot.loops or any(body.spins for body in tree.bodies):
        return ()
    limbs = [tree.subtree[i] for i in tree.children[0]]
    return tuple(sorted(i for limb in limbs if not set(limb) & set(touching) for i in limb))


def without_inertia(robot: Robot, bodies: Sequence[int]) -> Robot:
    """The robot with nothing but the kinematics of some bodies, for algorithms that walk its tree."""
    if not bodies:
        return robot
    left = tuple(
        replace(body, inertia=Inertia.zero()) if i in bodies else body for i, body in enumerate(robot.tree.bodies)
    )
    return robot.with_tree(replace(robot.tree, bodies=left))


def folded_limbs(
    robot: Robot,
    bodies: Sequence[int],
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    force: Float[ndarray, "nv"],
    armature: Float[ndarray, "nj"],
    gravity: Float[ndarray, "3"] | tuple[float, float, float],
) -> FoldedLimbs:
    """Limbs whose joints feel ``force`` and add ``armature``; the base's unknown is its classical acceleration.

    Masses on a joint's axis count as its parent's (``base_parameters``), the base's included.
    """
    tree, nothing = robot.tree, np.zeros(6)
    if not bodies:
        return FoldedLimbs(robot, [], (), np.zeros((6, 6)), nothing, {}, {})
    X, angles, fixed = joint_transforms(robot, q), joint_positions(robot, q), base_parameters(tree)
    wrench = {0: nothing, **_wrenches(robot, X, bodies, fixed, v, gravity)}
    inertia = {i: Articulated.of(fixed[i] if i else Inertia.zero()) for i in (0, *bodies)}
    gains, own = {}, {}
    for i in reversed(bodies):
        j, S = tree.parent[i], joint_twist(robot, i, 1.0)
        U = inertia[i].times(S)
        reciprocal = 1.0 / (S @ U + armature[i - 1])
        gains[i] = U * reciprocal
        asked = force[tree.dof(i)] - S @ wrench[i]
        own[i] = asked * reciprocal
        inertia[j] = inertia[j] + _in_parent(robot, i, X[i], angles[i - 1], inertia[i].less(U, gains[i]))
        wrench[j] = wrench[j] + X[i].wrench_to_parent(wrench[i] + U * own[i])
    return FoldedLimbs(robot, X, tuple(bodies), inertia[0].matrix(), wrench[0], gains, own)


def _wrenches(
    robot: Robot, X: list[Transform], bodies: Sequence[int], fixed: list[Inertia], v: Float[ndarray, "nv"],
    gravity: Float[ndarray, "3"] | tuple[float, float, float],
) -> dict[int, Float[ndarray, "6"]]:  # fmt: skip
    """What every body needs while nothing accelerates but what has to: eqs. (19)-(20), gravity as eq. (24) has it."""
    tree, rates, found = robot.tree, joint_rates(robot, v), {}
    omega, alpha, a = {0: v[:3]}, {0: np.zeros(3)}, {0: upward(X[0], gravity)}
    B = {0: point_acceleration_matrix(omega[0], alpha[0])}
    for i in bodies:
        j, R_BP, body = tree.parent[i], X[i].R.T, tree.bodies[i]
        carried, moving = R_BP @ omega[j], body.axis * rates[i - 1]
        omega[i], alpha[i], a[i] = carried, R_BP @ alpha[j], R_BP @ (a[j] + B[j] @ X[i].p)
        if body.kind == "revolute":
            omega[i], alpha[i] = carried + moving, alpha[i] + cross(carried, moving)
        else:
            a[i] = a[i] + 2.0 * cross(carried, moving)
        B[i] = point_acceleration_matrix(omega[i], alpha[i])
        BJ, m, h = B[i] @ fixed[i].J, fixed[i].m, fixed[i].h
        n = cross(h, a[i]) + np.array([BJ[2, 1] - BJ[1, 2], BJ[0, 2] - BJ[2, 0], BJ[1, 0] - BJ[0, 1]])
        found[i] = np.concatenate([n, m * a[i] + B[i] @ h])
    return found


def _in_parent(robot: Robot, i: int, X: Transform, angle: float, inertia: Articulated) -> Articulated:
    """What is felt through joint i, in the frame of its parent: the joint's turn first, since it has zeros."""
    body = robot.tree.bodies[i]
    about = coordinate_axis(body.axis)
    if body.kind != "revolute" or about is None:
        return inertia.turned(X.R).moved(X.p)
    return inertia.turned(about_axis(body.axis, angle), about).turned(body.X_PJ.R).moved(X.p)


def _turned(R: _Matrix, A: _Matrix, about: int | None) -> _Matrix:
    """R A Rᵀ; about a coordinate axis with half as many operations, as of a plane tensor."""
    if about is None:
        return R @ A @ R.T
    i, j, k = (about + 1) % 3, (about + 2) % 3, about
    c, s = R[i, i], R[j, i]
    apart, mixed = A[i, i] - A[j, j], A[i, j] + A[j, i]
    x, y = s * apart + c * mixed, c * apart - s * mixed
    out = A + np.zeros((3, 3))
    out[i, i], out[j, j] = A[j, j] + c * y, A[j, j] + s * x  # c² + s² = 1, so that no product is wanted twice
    out[i, j], out[j, i] = A[i, j] + s * y, c * x - A[i, j]
    out[i, k], out[j, k] = c * A[i, k] - s * A[j, k], s * A[i, k] + c * A[j, k]
    out[k, i], out[k, j] = c * A[k, i] - s * A[k, j], s * A[k, i] + c * A[k, j]
    return out
