"""Momentum of the whole robot and its matrix (the slides: the base rows of the dynamics are its rate).

Momentum about the centre of mass, in world axes, angular part first: k = A(q) v.
"""

import numpy as np
from numpy import ndarray

from footfall.dynamics.coriolis_matrix import body_jacobians
from footfall.kinematics.forward import body_poses, body_velocities, center_of_mass
from footfall.robot.model.description import Robot
from footfall.spatial import Transform
from nptrace.array_types import Float


def momentum(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "6"]:
    """Return the centroidal momentum, body by body.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates [rad/s or m/s].

    Returns:
        (angular momentum about the centre of mass [N m s], linear momentum [N s]) in world axes.
    """
    V = body_velocities(robot, q, v)
    total = np.zeros(6)
    for i, (body, X_CB) in enumerate(zip(robot.tree.bodies, _poses_about_com(robot, q))):
        own = body.inertia.times(V[i])
        for spin in body.spins:
            own = own + np.concatenate([spin.momentum * v[robot.tree.dof(spin.joint)], np.zeros(3)])
        total = total + X_CB.wrench_to_parent(own)
    return total


def momentum_matrix(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "6 nv"]:
    """Return the centroidal momentum matrix (CMM) A(q), with momentum = A v.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].

    Returns:
        A: angular before linear momentum, in world axes.
    """
    J, _ = body_jacobians(robot, q, np.zeros(robot.nv))
    A = np.zeros((6, robot.nv))
    for i, (body, X_CB) in enumerate(zip(robot.tree.bodies, _poses_about_com(robot, q))):
        own = body.inertia.matrix() @ J[i]
        for spin in body.spins:
            column = np.zeros((6, robot.nv))
            column[:3, robot.tree.dof(spin.joint)] = spin.momentum
            own = own + column
        A = A + X_CB.motion_matrix().T @ own
    return A


def _poses_about_com(robot: Robot, q: ndarray) -> list[Transform]:
    """Return poses of the bodies in a frame at the centre of mass with world axes."""
    com = center_of_mass(robot, q)
    return [Transform(X_WB.R, X_WB.p - com) for X_WB in body_poses(robot, q)]
