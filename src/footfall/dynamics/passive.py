"""Passive joint torques: springs, viscous damping and dry friction.

Dry friction has one model throughout: Coulomb's, whose sign reverses linearly over ``stick_rate`` [rad/s], τ = -f
clip(q̇ / stick_rate, -1, 1). A joint creeps at ``stick_rate`` under a torque equal to f. Implicit steps evaluate it at
the final rate, piecewise (``sim.joints``), so that it may be this narrow; explicit steps and controllers with noisy
encoders use a wider one.
"""

import numpy as np
from numpy import ndarray

from footfall.kinematics.forward import joint_positions, joint_rates
from footfall.robot.model.description import Robot
from nptrace._types import Scalar
from nptrace.array_types import Float

STICK_RATE = 1e-4  # [rad/s]


def spring_torques(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nj"]:
    """Return the torques of the joint springs, -k (q - rest).

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].

    Returns:
        Torques [N m].
    """
    stiffness, rest = joint_values(robot, "stiffness"), joint_values(robot, "rest")
    return -stiffness * (joint_positions(robot, q) - rest)


def damping_torques(robot: Robot, v: Float[ndarray, "nv"]) -> Float[ndarray, "nj"]:
    """Return the torques of viscous friction in the joints, -b q̇.

    Args:
        robot: The robot.
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.

    Returns:
        Torques [N m].
    """
    return -joint_values(robot, "damping") * joint_rates(robot, v)


def friction_torques(robot: Robot, v: Float[ndarray, "nv"], stick_rate: float = STICK_RATE) -> Float[ndarray, "nj"]:
    """Return the torques of dry friction in the joints.

    Args:
        robot: The robot.
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.
        stick_rate: Joint velocity below which friction is proportional to the velocity [rad/s].

    Returns:
        Torques [N m].
    """
    return -joint_values(robot, "dry_friction") * friction_fraction(joint_rates(robot, v), stick_rate)


def friction_fraction(rates: Float[ndarray, "_"], stick_rate: Scalar = STICK_RATE) -> Float[ndarray, "_"]:
    """Return the fraction of its dry friction, from -1 to 1, that opposes a joint at each rate [rad/s]."""
    return np.clip(rates / stick_rate, -1, 1)


def joint_values(robot: Robot, key: str) -> Float[ndarray, "nj"]:
    """Return one number per moving joint, in the order of q: ``joint_values(robot, "damping")``."""
    return np.array([getattr(body.joint, key) for body in robot.tree.bodies[1:]])
