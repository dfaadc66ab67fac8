"""Torques that joints make by themselves: springs, viscous damping and dry friction.

Dry friction is Coulomb's with the sign smoothed over ``stick_rate`` [rad/s]: tanh(q̇ / stick_rate).
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.kinematics.forward import joint_positions, joint_rates
from footfall.robot.description import Robot


def spring_torques(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nj"]:
    """-k (q - rest) at every joint [N m]."""
    stiffness, rest = joint_values(robot, "stiffness"), joint_values(robot, "rest")
    return -stiffness * (joint_positions(robot, q) - rest)


def damping_torques(robot: Robot, v: Float[ndarray, "nv"]) -> Float[ndarray, "nj"]:
    """-b q̇ at every joint [N m]."""
    return -joint_values(robot, "damping") * joint_rates(robot, v)


def friction_torques(robot: Robot, v: Float[ndarray, "nv"], stick_rate: float = 0.01) -> Float[ndarray, "nj"]:
    """Dry friction at every joint [N m]."""
    return -joint_values(robot, "dry_friction") * np.tanh(joint_rates(robot, v) / stick_rate)


def joint_values(robot: Robot, key: str) -> Float[ndarray, "nj"]:
    """One number a moving joint, in the order of q: ``joint_values(robot, "damping")``."""
    return np.array([getattr(body.joint, key) for body in robot.tree.bodies[1:]])
