"""Gravitational terms: Algorithm 3, eqs. (24)-(25) of de Paula et al. 2024.

Gravity enters as a fictitious upward acceleration of the base, a_0 = -(0, R_0W g).
"""

import numpy as np
from numpy import ndarray

from footfall.dynamics.propagate import joint_space_forces
from footfall.kinematics.forward import joint_transforms
from footfall.robot.model.description import Robot
from footfall.spatial import Transform, cross
from footfall.spatial.gravity import GRAVITY
from nptrace.array_types import Float


def gravity_terms(
    robot: Robot, q: Float[ndarray, "nq"], gravity: Float[ndarray, "3"] | tuple[float, float, float] = GRAVITY
) -> Float[ndarray, "nv"]:
    """Return g(q), the generalised forces that hold the robot against gravity.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        gravity: Acceleration of gravity in world axes [m/s²].

    Returns:
        g [N m, N].
    """
    X = joint_transforms(robot, q)
    return joint_space_forces(robot, X, gravity_wrenches(robot, X, gravity))


def gravity_wrenches(
    robot: Robot, X: list[Transform], gravity: Float[ndarray, "3"] | tuple[float, float, float]
) -> list[ndarray]:
    """Return the outward pass: f_i = I_i a_i with a_i = X a_j. Nothing rotates, so only the linear part is
    propagated.
    """
    tree = robot.tree
    a = [upward(X[0], gravity)]
    for i in range(1, len(X)):
        a.append(X[i].R.T @ a[tree.parent[i]])
    return [np.concatenate([cross(body.inertia.h, a[i]), body.inertia.m * a[i]]) for i, body in enumerate(tree.bodies)]


def upward(X_WB: Transform, gravity: Float[ndarray, "3"] | tuple[float, float, float]) -> Float[ndarray, "3"]:
    """Return -R_0W g: the acceleration of the base that acts like gravity, in base axes."""
    return -(X_WB.R.T @ np.asarray(gravity))
