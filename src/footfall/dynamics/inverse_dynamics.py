"""Inverse dynamics: the recursive Newton-Euler algorithm in spatial form, eqs. (19)-(25) of de Paula et al. 2024.

It shares only the inward pass with the separate terms: their sum M a + c + g is checked by an independent outward pass.
"""

import numpy as np
from numpy import ndarray

from footfall.dynamics.propagate import joint_space_forces
from footfall.kinematics.forward import base_twist, check_shape, joint_rates, joint_transforms, joint_twist
from footfall.robot.model.description import Robot
from footfall.spatial import cross, cross_force, cross_motion
from footfall.spatial.gravity import GRAVITY
from nptrace.array_types import Float


def inverse_dynamics(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    a: Float[ndarray, "nv"],
    gravity: Float[ndarray, "3"] | tuple[float, float, float] = GRAVITY,
) -> Float[ndarray, "nv"]:
    """Return the generalised forces of given accelerations, by the recursive Newton-Euler algorithm (RNEA).

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates [rad/s or m/s].
        a: Accelerations dv/dt; the base's is spatial.
        gravity: Acceleration of gravity in world axes [m/s²].

    Returns:
        τ [N m, N]: the wrench (n, f) on the base in base axes, then the joints.
    """
    check_shape(robot, v=(v, robot.nv), a=(a, robot.nv))
    tree, X = robot.tree, joint_transforms(robot, q)
    rates, accelerations = joint_rates(robot, v), joint_rates(robot, a)
    upward = np.concatenate([np.zeros(3), -(X[0].R.T @ np.asarray(gravity))])
    V, A = [base_twist(robot, v)], [base_twist(robot, a) + upward]
    for i in range(1, len(X)):
        j, across = tree.parent[i], joint_twist(robot, i, rates[i - 1])
        V.append(X[i].to_child(V[j]) + across)
        A.append(X[i].to_child(A[j]) + joint_twist(robot, i, accelerations[i - 1]) + cross_motion(V[i], across))
    wrenches = [
        body.inertia.times(A[i]) + cross_force(V[i], body.inertia.times(V[i])) for i, body in enumerate(tree.bodies)
    ]
    torques = np.zeros(robot.nv)
    for i, body in enumerate(tree.bodies):
        if i:
            torques[tree.dof(i)] = body.armature * accelerations[i - 1]
    for i, body in enumerate(tree.bodies):
        for spin in body.spins:  # a rotor's angular momentum is momentum * rate, fixed in its carrier
            k = spin.joint
            turned = spin.momentum * accelerations[k - 1] + cross(V[i][:3], spin.momentum * rates[k - 1])
            wrenches[i] = wrenches[i] + np.concatenate([turned, np.zeros(3)])
            torques[tree.dof(k)] = torques[tree.dof(k)] + spin.momentum @ A[i][:3]
    return joint_space_forces(robot, X, wrenches) + torques
