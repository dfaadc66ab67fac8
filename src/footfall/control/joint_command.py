"""The command of a controller to the joints, valid until its next tick."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.errors import InputError
from footfall.hints import JOINT_COMMAND, names_arguments
from nptrace._types import Given
from nptrace.array_types import Float


@names_arguments("part of a JointCommand", JOINT_COMMAND)
@dataclass(frozen=True)
class JointCommand:
    """A command to the joints: τ = kp (position - q) + kd (velocity - q̇) + torque, held until the next tick.

    Every field is one number for all joints, or one per joint.

    It contains gains rather than only a torque, so that the integrator can treat the feedback implicitly.
    """

    position: Float[ndarray, "nj"] | float = 0.0  # [rad]
    velocity: Float[ndarray, "nj"] | float = 0.0  # [rad/s]
    kp: Float[ndarray, "nj"] | float = 0.0  # [N m/rad]
    kd: Float[ndarray, "nj"] | float = 0.0  # [N m s/rad]
    torque: Float[ndarray, "nj"] | float = 0.0  # [N m]

    def broadcast(self, joints: int) -> JointCommand:
        """Return the command with every field as an array of one number per joint."""
        return JointCommand(
            *(_broadcast(getattr(self, key), joints, key) for key in ("position", "velocity", "kp", "kd", "torque"))
        )


def _broadcast(value: Given, joints: int, key: str) -> ndarray:
    if type(value) is ndarray and value.dtype == float and value.shape == (joints,):
        return value
    if isinstance(value, (list, tuple)):
        value = np.array(value)  # includes traced values
    elif hasattr(value, "__array__") and not isinstance(value, (ndarray, np.generic)):
        value = np.asarray(value)  # a tensor of a machine-learning framework
    if isinstance(value, (str, bytes)) or getattr(value, "dtype", np.dtype(float)).kind not in "fiubO":
        shown = " ".join(repr(value).split())[:60]
        raise InputError(f"{key} of a JointCommand must be one real number or {joints} of them, got {shown}")
    if np.shape(value) == (joints,):
        return value
    if value is None or isinstance(value, (Mapping, set)):
        raise InputError(
            f"{key} of a JointCommand must be one number or {joints} of them in the order of robot.joint_names, got"
            f" {' '.join(repr(value).split())[:60]}"
        )
    if np.shape(value) != ():
        raise InputError(f"{key} of a JointCommand must be one number or {joints} of them, got shape {np.shape(value)}")
    return value * np.ones(joints)
