"""Where bodies and feet are, how they move, and how joints make them move."""

from footfall.kinematics.forward import (
    base_pose,
    body_poses,
    body_velocities,
    center_of_mass,
    foot_positions,
    foot_velocities,
    joint_positions,
    joint_rates,
    joint_transforms,
)
from footfall.kinematics.jacobian import feet_bias_acceleration, feet_jacobian

__all__ = [
    "base_pose", "body_poses", "body_velocities", "center_of_mass", "feet_bias_acceleration", "feet_jacobian",
    "foot_positions", "foot_velocities", "joint_positions", "joint_rates", "joint_transforms",
]  # fmt: skip
