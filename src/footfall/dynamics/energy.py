"""Kinetic and potential energy [J] (the lecture slides: T = vᵀ M v / 2)."""

import numpy as np
from numpy import ndarray

from footfall.kinematics.forward import body_velocities, center_of_mass, joint_positions, joint_rates
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY
from nptrace.array_types import Float


def kinetic_energy(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> float:
    """Return the kinetic energy: the sum over the bodies of Vᵀ I V / 2, plus the energy of rotors.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates [rad/s or m/s].

    Returns:
        Energy [J].
    """
    V, rates = body_velocities(robot, q, v), joint_rates(robot, v)
    total = 0.0
    for i, body in enumerate(robot.tree.bodies):
        total = total + 0.5 * (V[i] @ body.inertia.times(V[i]))
        if i:
            total = total + 0.5 * body.armature * rates[i - 1] ** 2
        for spin in body.spins:
            total = total + (spin.momentum @ V[i, :3]) * rates[spin.joint - 1]
    return total


def potential_energy(
    robot: Robot, q: Float[ndarray, "nq"], gravity: Float[ndarray, "3"] | tuple[float, float, float] = GRAVITY
) -> float:
    """Return the potential energy of gravity (zero at the world's origin) and of joint springs.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        gravity: Acceleration of gravity in world axes [m/s²].

    Returns:
        Energy [J].
    """
    height = -robot.mass * (np.asarray(gravity) @ center_of_mass(robot, q))
    springs = 0.0
    for body, position in zip(robot.tree.bodies[1:], joint_positions(robot, q)):
        if body.joint is not None and not _is_none(body.joint.stiffness):
            springs = springs + 0.5 * body.joint.stiffness * (position - body.joint.rest) ** 2
    return height + springs


def _is_none(stiffness: object) -> bool:
    """Return whether there is no spring; a traced stiffness counts as one."""
    return type(stiffness) is float and stiffness == 0.0
