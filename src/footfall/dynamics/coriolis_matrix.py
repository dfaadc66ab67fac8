"""The Coriolis *matrix* C(q, v) with C v = c(q, v) and dM/dt - 2 C skew-symmetric (erratum of the slides: not M - 2 C).

Body by body, with V = J v in the body's own axes: M = Σ Jᵀ I J, and

    C = Σ Jᵀ (I dJ/dt + B J),   B = -[[L̃, p̃], [p̃, 0]],   (L, p) = I V.

B V = V ⊛ I V, and B is skew-symmetric, which makes dM/dt - 2 C = Σ (dJ/dt)ᵀ I J - Jᵀ I dJ/dt - 2 Jᵀ B J skew too.
"""

import numpy as np
from numpy import ndarray

from footfall.kinematics.forward import check_shape, joint_rates, joint_transforms, joint_twist
from footfall.robot.model.description import Robot
from footfall.spatial import cross_motion_matrix, skew
from nptrace.array_types import Float


def body_jacobians(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]
) -> tuple[list[ndarray], list[ndarray]]:
    """Return (J, dJ/dt), each 6 x nv, of every body: V_i = J_i v at the body's origin in its axes."""
    check_shape(robot, v=(v, robot.nv))
    tree, X, rates = robot.tree, joint_transforms(robot, q), joint_rates(robot, v)
    base = np.zeros((6, robot.nv))
    if robot.floating:
        base[:, :6] = np.eye(6)
    J, rate_J = [base], [np.zeros((6, robot.nv))]
    for i in range(1, len(X)):
        j, X_ij = tree.parent[i], X[i].motion_matrix()
        here = np.zeros((6, robot.nv))
        here[:, tree.dof(i)] = joint_twist(robot, i, 1.0)
        carried = X_ij @ J[j]
        J.append(carried + here)
        # the child rotates relative to its parent: dX/dt = -(S q̇) * X
        rate_J.append(X_ij @ rate_J[j] - cross_motion_matrix(joint_twist(robot, i, rates[i - 1])) @ carried)
    return J, rate_J


def coriolis_matrix(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nv nv"]:
    """Return the Coriolis matrix C(q, v) for spatial accelerations: M a + C v + g = τ.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates [rad/s or m/s].

    Returns:
        C; dM/dt - 2 C is skew-symmetric.
    """
    tree, rates = robot.tree, joint_rates(robot, v)
    J, rate_J = body_jacobians(robot, q, v)
    C = np.zeros((robot.nv, robot.nv))
    for i, body in enumerate(tree.bodies):
        momentum = body.inertia.times(J[i] @ v)
        p = skew(momentum[3:])
        B = -np.block([[skew(momentum[:3]), p], [p, np.zeros((3, 3))]])
        C = C + J[i].T @ (body.inertia.matrix() @ rate_J[i] + B @ J[i])
        for spin in body.spins:  # exact rotors: angular momentum fixed in the body, proportional to a joint's rate
            k, turning, rate_turning = tree.dof(spin.joint), J[i][:3], rate_J[i][:3]
            C = C - turning.T @ skew(spin.momentum * rates[spin.joint - 1]) @ turning
            row = np.zeros((robot.nv, 1))
            row[k, 0] = 1.0
            C = C + row @ (spin.momentum @ rate_turning)[None, :]
    return C
