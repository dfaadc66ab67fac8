"""Bias forces from composite bodies: the result of Algorithms 2 and 3 of de Paula et al. 2024, at lower cost given M.

With zero generalised acceleration the point r of body i accelerates by a_i + B_i r, B = α̃ + ω̃ ω̃
(``velocity_terms``). From body to body, B changes only by the motion of the joint between them,

    B_i = B_j + Δ_i,   Δ_i = (ω_j + ω_i)~ (ω_i - ω_j)~     (Coriolis and centripetal: 2 ω_j x u x r + u x u x r)

so the whole subtree of joint i carries Δ_i about that joint, whatever its own joints do. Composite bodies, from which M
is made (Algorithm 5), therefore give the wrench that the subtree needs for it,

    f = Δ_i h,   n = axial(Δ_i J)

and the torque of joint i is that of its composite body in the field of its parent, plus the wrenches of the joints
below it. Gravity is an acceleration of the base, as in eq. (24). The base's unknown is its classical acceleration.

A step may use the rates at its midpoint (``Swing``): Euler steps that evaluate these forces at the initial rates drive
every body outwards, and a tumbling robot with loose joints gains 2 % of energy in five seconds. The rate of a joint at
the midpoint is its initial rate plus half a step of the acceleration that it would have alone while its parent
continues: its torque, minus the torque that its composite body needs in the field of its parent, over its own inertia.
That field is computed in the outward pass anyway; only the wrenches of the joints below are needed once more, at the
initial rates. Joints that act on one another accelerate differently: the step checks these rates against the
accelerations that it finds (``sim.equations_of_motion``).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.dynamics.gravity_terms import upward
from footfall.dynamics.velocity_terms import point_acceleration_matrix
from footfall.kinematics.forward import base_twist, check_shape, joint_rates
from footfall.robot.model.description import Robot
from footfall.robot.model.tree import Body
from footfall.spatial import Inertia, Transform, cross, skew
from nptrace._types import Scalar
from nptrace.array_types import Float

_Matrix = Float[ndarray, "3 3"]


@dataclass(frozen=True)
class Swing:
    """Torques and gains that determine the joint rates at the midpoint of a step."""

    torques: Float[ndarray, "nj"]  # at the start of the step [N m]
    gain: Float[ndarray, "nj"]  # half a step over the inertia of each joint alone; 0: the rate is constant


def composite_bias(
    robot: Robot,
    X: list[Transform],
    composite: list[Inertia],
    v: Float[ndarray, "nv"],
    gravity: Float[ndarray, "3"] | tuple[float, float, float],
    still: Collection[int] = (),
    swing: Swing | None = None,
) -> Float[ndarray, "nv"]:
    """Return c + g of ``forward_dynamics.bias_forces`` with ``classical=True``, given the composite bodies.

    still: bodies whose axes are known not to rotate in their parents', see ``parallel_joints``. swing: use the joint
    rates at the midpoint of a step instead of those of ``v``.
    """
    return bias_and_swing(robot, X, composite, v, gravity, still, swing)[0]


def bias_and_swing(
    robot: Robot,
    X: list[Transform],
    composite: list[Inertia],
    v: Float[ndarray, "nv"],
    gravity: Float[ndarray, "3"] | tuple[float, float, float],
    still: Collection[int] = (),
    swing: Swing | None = None,
) -> tuple[Float[ndarray, "nv"], Float[ndarray, "nj"]]:
    """Return (``composite_bias``, by how much the joint rates used differ from those of ``v``)."""
    check_shape(robot, v=(v, robot.nv))
    tree, rates, swung = robot.tree, list(joint_rates(robot, v)), np.zeros(robot.nj)
    behind_at_start = [] if swing is None else _behind(robot, X, composite, v)
    omega, a = [base_twist(robot, v)[:3]], [upward(X[0], gravity)]
    B = [point_acceleration_matrix(omega[0], np.zeros(3))]
    before = [B[0]]  # B of the parent, in the body's axes
    own = [np.zeros(6)]  # wrench of the subtree due to its first joint's rate
    field = [_in_field(a[0], B[0], composite[0])]  # wrench of every composite body in the field of its parent
    for i in range(1, len(X)):
        j, R_BP, body = tree.parent[i], X[i].R.T, tree.bodies[i]
        carried = R_BP @ omega[j]
        a.append(R_BP @ (a[j] + B[j] @ X[i].p))
        before.append(_rotated(B[j], carried, X[i].R, i in still))
        field.append(_in_field(a[i], before[i], composite[i]))
        if swing is not None:
            needed = _along(body, field[i] + behind_at_start[i])
            swung[i - 1] = swing.gain[i - 1] * (swing.torques[i - 1] - needed)
            rates[i - 1] = rates[i - 1] + swung[i - 1]
        omega_i, change, coriolis = _moved(body, carried, rates[i - 1])
        omega.append(omega_i)
        a[i] = a[i] + coriolis
        B.append(before[i] + change)
        own.append(_in_field(coriolis, change, composite[i]))
    behind, bias = _gyroscopic(robot, omega, B, np.array(rates))
    for i in reversed(range(1, len(X))):
        j = tree.parent[i]
        bias[tree.dof(i)] = bias[tree.dof(i)] + _along(tree.bodies[i], behind[i] + field[i])
        behind[j] = behind[j] + X[i].wrench_to_parent(behind[i] + own[i])
    if robot.floating:
        bias[:6] = behind[0] + field[0]
    return bias, swung


def _moved(
    body: Body, carried: Float[ndarray, "3"], rate: Scalar
) -> tuple[Float[ndarray, "3"], _Matrix, Float[ndarray, "3"]]:
    """Return (angular velocity of a body; what its joint adds to B and a of its parent's field)."""
    moving = body.axis * rate
    if body.kind == "revolute":
        omega = carried + moving
        return omega, skew(carried + omega) @ skew(moving), np.zeros(3)
    return carried, np.zeros((3, 3)), 2.0 * cross(carried, moving)


def _behind(
    robot: Robot, X: list[Transform], composite: list[Inertia], v: Float[ndarray, "nv"]
) -> list[Float[ndarray, "6"]]:
    """Return the wrench of every subtree due to the rates of the joints below its first one."""
    tree, rates = robot.tree, joint_rates(robot, v)
    omega, own, behind = [base_twist(robot, v)[:3]], [np.zeros(6)], [np.zeros(6)] * len(X)
    for i in range(1, len(X)):
        omega_i, change, coriolis = _moved(tree.bodies[i], X[i].R.T @ omega[tree.parent[i]], rates[i - 1])
        omega.append(omega_i)
        own.append(_in_field(coriolis, change, composite[i]))
    for i in reversed(range(1, len(X))):
        j = tree.parent[i]
        behind[j] = behind[j] + X[i].wrench_to_parent(behind[i] + own[i])
    return behind


def _along(body: Body, wrench: Float[ndarray, "6"]) -> Scalar:
    """Return the component of a wrench along the axis of a joint."""
    return body.axis @ (wrench[:3] if body.kind == "revolute" else wrench[3:])


def _gyroscopic(
    robot: Robot, omega: list[ndarray], B: list[_Matrix], rates: Float[ndarray, "nj"]
) -> tuple[list[ndarray], Float[ndarray, "nv"]]:
    """Return (wrench on every body, generalised forces) due to exact rotors; zero without them."""
    tree, bias = robot.tree, np.zeros(robot.nv)
    wrenches: list[ndarray] = [np.zeros(6)] * len(omega)
    for i, body in enumerate(tree.bodies):
        for spin in body.spins:
            torque = cross(omega[i], spin.momentum) * rates[spin.joint - 1]
            wrenches[i] = wrenches[i] + np.concatenate([torque, np.zeros(3)])
            bias[tree.dof(spin.joint)] = spin.momentum @ (0.5 * _axial(B[i]))
    return wrenches, bias


def _rotated(B: _Matrix, omega: Float[ndarray, "3"], R: _Matrix, shared: bool) -> _Matrix:
    """Return Rᵀ B R; if R is not constant, B is recomputed from its factors."""
    return R.T @ B @ R if shared else point_acceleration_matrix(omega, R.T @ (0.5 * _axial(B)))


def _in_field(a: Float[ndarray, "3"], B: _Matrix, body: Inertia) -> Float[ndarray, "6"]:
    """Return the wrench of a body whose points accelerate by a + B r."""
    return np.concatenate([cross(body.h, a) + _axial(B @ body.J), body.m * a + B @ body.h])


def _axial(B: _Matrix) -> Float[ndarray, "3"]:
    """Return twice the axial vector of the skew-symmetric part of B."""
    return np.array([B[2, 1] - B[1, 2], B[0, 2] - B[2, 0], B[1, 0] - B[0, 1]])
