"""Bias forces from composite bodies: what Algorithms 2 and 3 of de Paula et al. 2024 give, for less once M is made.

With zero generalised acceleration the point r of body i accelerates by a_i + B_i r, B = α̃ + ω̃ ω̃
(``velocity_terms``). From body to body B changes only by what the joint between them does,

    B_i = B_j + Δ_i,   Δ_i = (ω_j + ω_i)~ (ω_i - ω_j)~     (Coriolis and centripetal: 2 ω_j x u x r + u x u x r)

so the whole subtree of joint i carries Δ_i about that joint, whatever its own joints do. Composite bodies, of which M
is made (Algorithm 5), therefore tell the wrench that the subtree needs on account of it,

    f = Δ_i h,   n = axial(Δ_i J)

and the torque of joint i is that of its composite body in the field of its parent, plus the wrenches of the joints
behind it. Gravity is an acceleration of the base, as in eq. (24). The base's unknown is its classical acceleration.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.dynamics.gravity_terms import upward
from footfall.dynamics.velocity_terms import point_acceleration_matrix
from footfall.kinematics.forward import base_twist, check_shape, joint_rates
from footfall.robot.model.description import Robot
from footfall.spatial import Inertia, Transform, cross, skew

_Matrix = Float[ndarray, "3 3"]


def composite_bias(
    robot: Robot,
    X: list[Transform],
    composite: list[Inertia],
    v: Float[ndarray, "nv"],
    gravity: Float[ndarray, "3"] | tuple[float, float, float],
    still: Collection[int] = (),
) -> Float[ndarray, "nv"]:
    """Return c + g of ``forward_dynamics.bias_forces`` with ``classical=True``, given the composite bodies.

    still: bodies whose axes are known not to turn in their parents', see ``parallel_joints``.
    """
    check_shape(robot, v=(v, robot.nv))
    tree, rates = robot.tree, joint_rates(robot, v)
    omega, a = [base_twist(robot, v)[:3]], [upward(X[0], gravity)]
    B = [point_acceleration_matrix(omega[0], np.zeros(3))]
    before = [B[0]]  # B of the parent, in a body's axes
    own = [np.zeros(6)]  # wrench of the subtree on account of its first joint's rate
    for i in range(1, len(X)):
        j, R_BP, body = tree.parent[i], X[i].R.T, tree.bodies[i]
        carried, moving = R_BP @ omega[j], body.axis * rates[i - 1]
        a.append(R_BP @ (a[j] + B[j] @ X[i].p))
        before.append(_rotated(B[j], carried, X[i].R, i in still))
        if body.kind == "revolute":
            omega.append(carried + moving)
            change = skew(carried + omega[i]) @ skew(moving)
            B.append(before[i] + change)
            own.append(_in_field(np.zeros(3), change, composite[i]))
        else:
            coriolis = 2.0 * cross(carried, moving)
            omega.append(carried)
            a[i] = a[i] + coriolis
            B.append(before[i])
            own.append(_in_field(coriolis, np.zeros((3, 3)), composite[i]))
    behind, bias = _gyroscopic(robot, omega, B, rates)
    for i in reversed(range(1, len(X))):
        j, body = tree.parent[i], tree.bodies[i]
        needs = behind[i] + _in_field(a[i], before[i], composite[i])
        bias[tree.dof(i)] = bias[tree.dof(i)] + body.axis @ (needs[:3] if body.kind == "revolute" else needs[3:])
        behind[j] = behind[j] + X[i].wrench_to_parent(behind[i] + own[i])
    if robot.floating:
        bias[:6] = behind[0] + _in_field(a[0], B[0], composite[0])
    return bias


def _gyroscopic(
    robot: Robot, omega: list[ndarray], B: list[_Matrix], rates: Float[ndarray, "nj"]
) -> tuple[list[ndarray], Float[ndarray, "nv"]]:
    """(wrench on every body, generalised forces) that exact rotors need; zero without them."""
    tree, bias = robot.tree, np.zeros(robot.nv)
    wrenches: list[ndarray] = [np.zeros(6)] * len(omega)
    for i, body in enumerate(tree.bodies):
        for spin in body.spins:
            torque = cross(omega[i], spin.momentum) * rates[spin.joint - 1]
            wrenches[i] = wrenches[i] + np.concatenate([torque, np.zeros(3)])
            bias[tree.dof(spin.joint)] = spin.momentum @ (0.5 * _axial(B[i]))
    return wrenches, bias


def _rotated(B: _Matrix, omega: Float[ndarray, "3"], R: _Matrix, shared: bool) -> _Matrix:
    """Rᵀ B R; where R is not constant, B is made again from what it is made of."""
    return R.T @ B @ R if shared else point_acceleration_matrix(omega, R.T @ (0.5 * _axial(B)))


def _in_field(a: Float[ndarray, "3"], B: _Matrix, body: Inertia) -> Float[ndarray, "6"]:
    """The wrench of a body whose points accelerate by a + B r."""
    return np.concatenate([cross(body.h, a) + _axial(B @ body.J), body.m * a + B @ body.h])


def _axial(B: _Matrix) -> Float[ndarray, "3"]:
    """Twice the vector of the skew-symmetric part of B."""
    return np.array([B[2, 1] - B[1, 2], B[0, 2] - B[2, 0], B[1, 0] - B[0, 1]])
