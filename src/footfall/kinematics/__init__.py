"""Poses and velocities of bodies and feet, Jacobians, and inverse kinematics."""

from typing import NoReturn

from footfall import hints
from footfall.kinematics.closed_loops import closed_joints, loop_error
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
from footfall.kinematics.frames import frame_jacobian, frame_names, frame_pose, frame_velocity
from footfall.kinematics.inverse import Inverse, inverse
from footfall.kinematics.iterative.ccd import ccd_chain, ccd_leg
from footfall.kinematics.iterative.chain_rate import resolved_rate_chain
from footfall.kinematics.iterative.fabrik import fabrik
from footfall.kinematics.iterative.fabrik_chain import fabrik_chain
from footfall.kinematics.iterative.fabrik_leg import contact_angle, fabrik_leg
from footfall.kinematics.iterative.numerical_leg import numerical_leg
from footfall.kinematics.iterative.resolved_rate import leg_rates, manipulability, resolved_rate_leg
from footfall.kinematics.iterative.whole_body_inverse import WholeBodyInverse, com_jacobian, whole_body_inverse
from footfall.kinematics.jacobian import feet_bias_acceleration, feet_jacobian
from footfall.kinematics.leg_chain import LegChain, foot_jacobian, foot_position, leg_chain

__all__ = [
    "Inverse",
    "LegChain",
    "WholeBodyInverse",
    "base_pose",
    "body_poses",
    "body_velocities",
    "ccd_chain",
    "ccd_leg",
    "center_of_mass",
    "closed_joints",
    "com_jacobian",
    "contact_angle",
    "fabrik",
    "fabrik_chain",
    "fabrik_leg",
    "feet_bias_acceleration",
    "feet_jacobian",
    "foot_jacobian",
    "foot_position",
    "foot_positions",
    "foot_velocities",
    "frame_jacobian",
    "frame_names",
    "frame_pose",
    "frame_velocity",
    "inverse",
    "joint_positions",
    "joint_rates",
    "joint_transforms",
    "leg_chain",
    "leg_rates",
    "loop_error",
    "manipulability",
    "numerical_leg",
    "resolved_rate_chain",
    "resolved_rate_leg",
    "whole_body_inverse",
]


def __getattr__(name: str) -> NoReturn:
    raise hints.missing("footfall.kinematics", name, __all__, hints.KINEMATICS)


def __dir__() -> list[str]:
    return sorted(__all__)
