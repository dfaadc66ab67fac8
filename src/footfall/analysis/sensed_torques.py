"""Joint torques of a robot from its IMU, encoders and foot forces, named as future work by Yan et al. 2021."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from footfall.dynamics.inverse_dynamics import inverse_dynamics
from footfall.dynamics.passive import STICK_RATE, damping_torques, friction_torques, spring_torques
from footfall.errors import InputError
from footfall.kinematics.jacobian import feet_jacobian
from footfall.robot.model.description import Robot
from footfall.spatial import cross
from nptrace.array_types import Float


class SensedTorques(NamedTuple):
    """Joint torques [N m] from measurements, and the unexplained wrench on the base [N m, N]."""

    motor: Float[ndarray, "nj"]
    unexplained: Float[ndarray, "6"]


def joint_torques_from_sensors(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    joint_acceleration: Float[ndarray, "nj"],
    imu_acceleration: Float[ndarray, "3"],
    imu_gyro_rate: Float[ndarray, "3"],
    foot_forces: Float[ndarray, "nf 3"],
    imu_position: Float[ndarray, "3"] | tuple[float, float, float] = (0.0, 0.0, 0.0),
    imu_rotation: Float[ndarray, "3 3"] | None = None,
    ground_axes: Float[ndarray, "3 3"] | None = None,
    stick_rate: float = STICK_RATE,
) -> SensedTorques:
    """Return motor torques from onboard measurements, by inverse dynamics.

    Plain NumPy that can be compiled. Position and linear velocity of the base are not used.

    Args:
        robot: The robot.
        q: Joint angles from encoders [rad], attitude from the IMU.
        v: Joint velocities from encoders [rad/s], angular velocity from the IMU.
        joint_acceleration: Joint accelerations [rad/s²].
        imu_acceleration: Specific force at the IMU, in its axes [m/s²]; it contains gravity.
        imu_gyro_rate: Angular acceleration in the axes of the IMU [rad/s²].
        foot_forces: Forces of the ground, world axes, at the lowest point of each foot [N].
        imu_position: Position of the IMU on the base [m].
        imu_rotation: Rotation of the IMU on the base.
        ground_axes: Axes of the ground, normal last; level unless given.
        stick_rate: Stick rate of dry friction [rad/s].

    Returns:
        Torques of the motors [N m], and the residual wrench on the base.
    """
    if not robot.floating:
        raise InputError(f"robot '{robot.name}' has a fixed base: its torques need no IMU; use inverse_dynamics")
    R_BI = np.eye(3) if imu_rotation is None else imu_rotation
    omega, alpha, p = v[:3], R_BI @ imu_gyro_rate, np.asarray(imu_position)
    at_origin = R_BI @ imu_acceleration - cross(alpha, p) - cross(omega, cross(omega, p))
    still = np.concatenate([omega, np.zeros(3), v[6:]])  # in a frame that moves with the base's origin
    a = np.concatenate([alpha, at_origin, joint_acceleration])
    needed = inverse_dynamics(robot, q, still, a, (0.0, 0.0, 0.0)) - foot_terms(robot, q, foot_forces, ground_axes)
    passive = spring_torques(robot, q) + damping_torques(robot, v) + friction_torques(robot, v, stick_rate)
    return SensedTorques(needed[6:] - passive, needed[:6])


def foot_terms(
    robot: Robot,
    q: Float[ndarray, "nq"],
    forces: Float[ndarray, "nf 3"],
    ground_axes: Float[ndarray, "3 3"] | None = None,
) -> Float[ndarray, "nv"]:
    """Return Jᵀ f [N m, N] for foot forces in world axes [N], applied where the spheres meet the ground."""
    R_WC = np.eye(3) if ground_axes is None else ground_axes
    J = feet_jacobian(robot, q, "contact", R_WC)
    return sum((J[k, 3:].T @ (R_WC.T @ forces[k]) for k in range(robot.nf)), start=np.zeros(robot.nv))


__all__ = ["SensedTorques", "foot_terms", "joint_torques_from_sensors"]
