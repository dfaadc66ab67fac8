"""Quadratic velocity terms: Algorithm 2, eqs. (19)-(23) of de Paula et al. 2024.

As printed the trunk starts with a_0 = (0, -ω x v): its *classical* acceleration is zero, so the unknown that belongs to
these terms is the trunk's classical acceleration, and no linear velocity enters. With ``classical=False`` (the
default) they belong to the spatial acceleration, the rate of the components of v.

With zero generalised acceleration the point r of a body accelerates by a + B r, with a the classical acceleration of
its origin and B = α̃ + ω̃ ω̃. Summed over the body's mass that is eq. (20):

    f = ∫ (a + B r) dm     = m a + B h
    n = ∫ r x (a + B r) dm = h x a + axial(B J)

and eq. (19) between bodies becomes a_i = R (a_j + B_j p). The spatial form as printed is in ``inverse_dynamics``.
"""

import numpy as np
from numpy import ndarray

from footfall.dynamics.propagate import joint_space_forces
from footfall.kinematics.forward import base_twist, check_shape, joint_rates, joint_transforms
from footfall.robot.model.description import Robot
from footfall.spatial import Transform, cross
from nptrace.array_types import Float


def velocity_terms(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], classical: bool = False
) -> Float[ndarray, "nv"]:
    """Return c(q, v), the Coriolis and centrifugal forces: those that keep v constant without gravity.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates [rad/s or m/s].
        classical: Classical of the acceleration of the base's origin, not of the rate of the components of v.

    Returns:
        c [N m, N].
    """
    X = joint_transforms(robot, q)
    wrenches, spin_torques = velocity_wrenches(robot, X, v, classical)
    return joint_space_forces(robot, X, wrenches) + spin_torques


def velocity_wrenches(
    robot: Robot,
    X: list[Transform],
    v: Float[ndarray, "nv"],
    classical: bool = False,
    a_0: Float[ndarray, "3"] | None = None,
) -> tuple[list[ndarray], Float[ndarray, "nv"]]:
    """Return the outward pass: (wrench that every body needs, torque that exact rotors need at their joints).

    a_0: additional acceleration of the whole robot in base axes [m/s²], used for gravity in eq. (24).
    """
    check_shape(robot, v=(v, robot.nv))
    tree, rates = robot.tree, joint_rates(robot, v)
    V_0 = base_twist(robot, v)
    omega, alpha = [V_0[:3]], [np.zeros(3)]
    a = [np.zeros(3) if a_0 is None else a_0]
    if not classical:
        a[0] = a[0] + cross(V_0[:3], V_0[3:])
    B = [point_acceleration_matrix(omega[0], alpha[0])]
    for i in range(1, len(X)):
        j, R_BP, body = tree.parent[i], X[i].R.T, tree.bodies[i]
        carried, moving = R_BP @ omega[j], body.axis * rates[i - 1]
        a_i = R_BP @ (a[j] + B[j] @ X[i].p)
        if body.kind == "revolute":
            omega.append(carried + moving)
            alpha.append(R_BP @ alpha[j] + cross(carried, moving))
            a.append(a_i)
        else:
            omega.append(carried)
            alpha.append(R_BP @ alpha[j])
            a.append(a_i + 2.0 * cross(carried, moving))
        B.append(point_acceleration_matrix(omega[i], alpha[i]))
    wrenches, spin_torques = [], np.zeros(robot.nv)
    for i, body in enumerate(tree.bodies):
        m, h, BJ = body.inertia.m, body.inertia.h, B[i] @ body.inertia.J
        n = cross(h, a[i]) + np.array([BJ[2, 1] - BJ[1, 2], BJ[0, 2] - BJ[2, 0], BJ[1, 0] - BJ[0, 1]])
        for spin in body.spins:
            n = n + cross(omega[i], spin.momentum) * rates[spin.joint - 1]
            spin_torques[tree.dof(spin.joint)] = spin.momentum @ alpha[i]
        wrenches.append(np.concatenate([n, m * a[i] + B[i] @ h]))
    return wrenches, spin_torques


def point_acceleration_matrix(w: Float[ndarray, "3"], alpha: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
    """Return B = α̃ + ω̃ ω̃."""
    xx, yy, zz, xy, xz, yz = w[0] * w[0], w[1] * w[1], w[2] * w[2], w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return np.array(
        [
            [-(yy + zz), xy - alpha[2], xz + alpha[1]],
            [xy + alpha[2], -(xx + zz), yz - alpha[0]],
            [xz - alpha[1], yz + alpha[0], -(xx + yy)],
        ]
    )
