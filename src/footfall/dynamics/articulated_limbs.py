"""Limbs without contact, folded into the base as articulated bodies (Featherstone 2008, section 7.3).

The effect of an arm on the robot that carries it is a 6x6 inertia and a wrench at the base, independent of contacts
elsewhere. So the arm needs no rows in M: the base is solved with these, and the arm's joints follow. The field of
accelerations with zero generalised acceleration (``velocity_terms``) is the reference, so that only deviations from it
are solved for. Sums are accumulated product by product, so that each is one fused operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

from footfall.dynamics.base_parameters import base_parameters
from footfall.dynamics.gravity_terms import upward
from footfall.dynamics.velocity_terms import point_acceleration_matrix
from footfall.kinematics.forward import joint_positions, joint_rates, joint_transforms, joint_twist
from footfall.robot.model.description import Robot
from footfall.spatial import Inertia, Transform, cross, skew
from footfall.spatial.rotation import about_axis, coordinate_axis
from footfall.spatial.vector import symmetric
from nptrace.array_types import Float

_Matrix = Float[ndarray, "3 3"]


@dataclass(frozen=True)
class Articulated:
    """An inertia that need not be that of a rigid body: n = A α + B a, f = Bᵀ α + C a; A and C are symmetric."""

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
        """Return the inertia minus U Kᵀ: as seen through a joint that gives way."""
        return Articulated(
            symmetric(self.A - np.outer(U[:3], K[:3])),
            self.B - np.outer(U[:3], K[3:]),
            symmetric(self.C - np.outer(U[3:], K[3:])),
        )

    def rotated(self, R: _Matrix, about: int | None = None, onto: Articulated | None = None) -> Articulated:
        """Return the inertia in other axes; ``about`` is the coordinate axis of R, if known, ``onto`` an inertia to
        add it to.
        """
        own = (self.A, self.B, self.C)
        if about is None or onto is None:
            A, B, C = (R @ block @ R.T for block in own)
        else:
            A, B, C = (_rotated(R, block, about, start) for block, start in zip(own, (onto.A, onto.B, onto.C)))
        return Articulated(symmetric(A), B, symmetric(C))

    def moved(self, p: Float[ndarray, "3"]) -> Articulated:
        """Return the inertia about another origin, from which this one is at p."""
        P, A, B = skew(p).T, self.A, self.B
        for k in range(3):
            B = B + np.outer(P[k], self.C[k])
        for k in range(3):
            A = A + np.outer(P[k], self.B[:, k])
        for k in range(3):
            A = A + np.outer(B[:, k], P[k])
        return Articulated(symmetric(A), B, self.C)

    def matrix(self) -> Float[ndarray, "6 6"]:
        return np.block([[self.A, self.B], [self.B.T, self.C]])


@dataclass(frozen=True, kw_only=True)
class FoldedLimbs:
    """Limbs as seen by their base, and the map back to their joints; empty if there are none."""

    robot: Robot
    X: list[Transform]
    bodies: Sequence[int]
    inertia: Float[ndarray, "6 6"]  # at the base's origin, in its axes
    wrench: Float[ndarray, "6"]  # needed to move the limbs while the base does not accelerate
    # acceleration of every joint as a function of its parent's, in its own axes; for a leaf, in its parent's
    gains: dict[int, Float[ndarray, "6"]]
    own: dict[int, float]  # its constant term

    def folded(self, M: ndarray, force: ndarray) -> tuple[Float[ndarray, "nv nv"], Float[ndarray, "nv"]]:
        """Return the equations of the robot with its limbs folded into its base; rows of their joints read a = 0."""
        if not self.bodies:
            return M, force
        rows = [self.robot.tree.dof(i) for i in self.bodies]
        M, force = M + np.zeros_like(M), force + np.zeros_like(force)
        M[:6, :6], force[:6] = M[:6, :6] + self.inertia, force[:6] - self.wrench
        for row in rows:
            M[row, row], force[row] = 1.0, 0.0
        return M, force

    def unfolded(self, a: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
        """Return all accelerations, from those of the base and of the other limbs."""
        tree, moves, a = self.robot.tree, {0: a[:6]}, a + np.zeros_like(a) if self.bodies else a
        for i in self.bodies:
            found, moving = self.own[i], moves[tree.parent[i]]
            if tree.children[i]:
                R_BP = self.X[i].R.T
                moving = np.concatenate([R_BP @ moving[:3], R_BP @ _plus_cross(moving[3:], moving[:3], self.X[i].p)])
            for gain, component in zip(self.gains[i], moving):
                found = found - gain * component
            moves[i] = moving + joint_twist(self.robot, i, found)
            a[tree.dof(i)] = found
        return a


def free_limbs(robot: Robot, touching: Sequence[int]) -> tuple[int, ...]:
    """Return the bodies of limbs on a floating base without contact, root to leaves."""
    tree = robot.tree
    if not robot.floating or robot.loops or any(body.spins for body in tree.bodies):
        return ()
    limbs = [tree.subtree[i] for i in tree.children[0]]
    return tuple(sorted(i for limb in limbs if not set(limb) & set(touching) for i in limb))


def without_inertia(robot: Robot, bodies: Sequence[int]) -> Robot:
    """Return the robot with some bodies reduced to kinematics, for algorithms that traverse its tree."""
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
    """Return limbs whose joints are driven by ``force`` and add ``armature``; the base's unknown is its classical
    acceleration.

    Masses on a joint's axis count as its parent's (``base_parameters``), the base's included.
    """
    tree, nothing = robot.tree, np.zeros(6)
    if not bodies:
        return FoldedLimbs(robot=robot, X=[], bodies=(), inertia=np.zeros((6, 6)), wrench=nothing, gains={}, own={})
    X, angles, fixed = joint_transforms(robot, q), joint_positions(robot, q), base_parameters(tree)
    wrench = {0: nothing, **_wrenches(robot, X, bodies, fixed, v, gravity)}
    inertia = {i: Articulated.of(fixed[i] if i else Inertia.zero()) for i in (0, *bodies)}
    gains, own = {}, {}
    for i in reversed(bodies):
        j, S = tree.parent[i], joint_twist(robot, i, 1.0)
        U = inertia[i].times(S)
        reciprocal = 1.0 / (S @ U + armature[i - 1])
        applied = force[tree.dof(i)] - S @ wrench[i]
        own[i] = applied * reciprocal
        if tree.children[i]:
            gains[i] = U * reciprocal
            inertia[j] = _onto_parent(robot, i, X[i], angles[i - 1], inertia[i].less(U, gains[i]), inertia[j])
        else:  # a rigid body is shifted more cheaply than an articulated one, and nothing below waits for a
            U_P = _wrench_onto_parent(X[i], U, nothing)
            gains[i] = U_P * reciprocal
            inertia[j] = (inertia[j] + Articulated.of(fixed[i].to_parent(X[i]))).less(U_P, gains[i])
        wrench[j] = _wrench_onto_parent(X[i], wrench[i] + U * own[i], wrench[j])
    return FoldedLimbs(
        robot=robot, X=X, bodies=tuple(bodies), inertia=inertia[0].matrix(), wrench=wrench[0], gains=gains, own=own
    )


def _wrenches(
    robot: Robot,
    X: list[Transform],
    bodies: Sequence[int],
    fixed: list[Inertia],
    v: Float[ndarray, "nv"],
    gravity: Float[ndarray, "3"] | tuple[float, float, float],
) -> dict[int, Float[ndarray, "6"]]:
    """Return the wrench of every body under the prescribed accelerations alone: eqs. (19)-(20), gravity as in (24)."""
    tree, rates, found = robot.tree, joint_rates(robot, v), {}
    omega, alpha, a = {0: v[:3]}, {0: np.zeros(3)}, {0: upward(X[0], gravity)}
    B = {0: point_acceleration_matrix(omega[0], alpha[0])}
    for i in bodies:
        j, R_BP, body = tree.parent[i], X[i].R.T, tree.bodies[i]
        carried, moving = R_BP @ omega[j], body.axis * rates[i - 1]
        omega[i], alpha[i], a[i] = carried, R_BP @ alpha[j], R_BP @ _plus_product(a[j], B[j], X[i].p)
        if body.kind == "revolute":
            omega[i], alpha[i] = carried + moving, alpha[i] + cross(carried, moving)
        else:
            a[i] = a[i] + 2.0 * cross(carried, moving)
        B[i] = _point_acceleration_matrix(omega[i], alpha[i])
        m, h, J = fixed[i].m, fixed[i].h, fixed[i].J
        n = cross(h, a[i])
        for k in range(3):
            n = _plus_cross(n, J[k], B[i][:, k])  # for all k: axial(B J)
        found[i] = np.concatenate([n, m * a[i] + B[i] @ h])
    return found


def _point_acceleration_matrix(w: Float[ndarray, "3"], alpha: Float[ndarray, "3"]) -> _Matrix:
    """Compute ``point_acceleration_matrix``, each entry from the one across the diagonal: no product is needed
    twice.
    """
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, zx, yz = w[0] * w[1] - alpha[2], w[2] * w[0] - alpha[1], w[1] * w[2] - alpha[0]
    twice = 2.0 * alpha
    return np.array([[-(yy + zz), xy, zx + twice[1]], [xy + twice[2], -(xx + zz), yz], [zx, yz + twice[0], -(xx + yy)]])


def _onto_parent(
    robot: Robot, i: int, X: Transform, angle: float, inertia: Articulated, parent: Articulated
) -> Articulated:
    """Return the parent with the inertia seen through joint i, whose rotation comes first, since it has zeros."""
    body, nothing = robot.tree.bodies[i], Articulated.of(Inertia.zero())
    about = coordinate_axis(body.axis)
    if body.kind != "revolute" or about is None:
        return parent + inertia.rotated(X.R).moved(X.p)
    R_JB = about_axis(body.axis, angle)
    if _is_zero(X.p) and _is_identity(body.X_PJ.R):
        return inertia.rotated(R_JB, about, parent)
    return parent + inertia.rotated(R_JB, about, nothing).rotated(body.X_PJ.R).moved(X.p)


def _wrench_onto_parent(X: Transform, wrench: Float[ndarray, "6"], parent: Float[ndarray, "6"]) -> Float[ndarray, "6"]:
    """Return the parent's wrench plus that of a child."""
    n = _plus_product(parent[:3], X.R, wrench[:3])
    if _is_zero(X.p):
        return np.concatenate([n, _plus_product(parent[3:], X.R, wrench[3:])])
    f = X.R @ wrench[3:]
    return np.concatenate([_plus_cross(n, X.p, f), parent[3:] + f])


def _is_zero(p: Float[ndarray, "3"]) -> bool:
    """Return whether joints are known to share an origin: constants of a trace are plain arrays."""
    return type(p) is ndarray and not bool(p.any())


def _is_identity(R: _Matrix) -> bool:
    return type(R) is ndarray and bool((R == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))).all())


def _plus_product(x: Float[ndarray, "3"], A: _Matrix, b: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
    """Return x + A b."""
    return x + A[:, 0] * b[0] + A[:, 1] * b[1] + A[:, 2] * b[2]


def _plus_cross(x: Float[ndarray, "3"], a: Float[ndarray, "3"], b: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
    """Return x + a x b."""
    ahead, behind = [1, 2, 0], [2, 0, 1]
    return x + a[ahead] * b[behind] - a[behind] * b[ahead]


def _rotated(R: _Matrix, A: _Matrix, about: int, start: _Matrix) -> _Matrix:
    """Return start + R A Rᵀ for a rotation about a coordinate axis, with half the operations, as for a plane tensor."""
    i, j, k = (about + 1) % 3, (about + 2) % 3, about
    c, s = R[i, i], R[j, i]
    apart, mixed = A[i, i] - A[j, j], A[i, j] + A[j, i]
    x, y = s * apart + c * mixed, c * apart - s * mixed
    out = start + np.zeros((3, 3))
    out[k, k] = start[k, k] + A[k, k]
    # c² + s² = 1, so that no product is needed twice
    out[i, i], out[j, j] = start[i, i] + (A[j, j] + c * y), start[j, j] + (A[j, j] + s * x)
    out[i, j], out[j, i] = start[i, j] + (A[i, j] + s * y), start[j, i] + (c * x - A[i, j])
    out[i, k], out[j, k] = start[i, k] + c * A[i, k] - s * A[j, k], start[j, k] + s * A[i, k] + c * A[j, k]
    out[k, i], out[k, j] = start[k, i] + c * A[k, i] - s * A[k, j], start[k, j] + s * A[k, i] + c * A[k, j]
    return out
