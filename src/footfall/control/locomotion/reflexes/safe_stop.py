"""Safe stop: once the robot has fallen, the legs fold softly instead of thrashing.

A fall is certain once the trunk leans beyond ``FALL_LEAN`` for longer than ``FALL_CONFIRM_TIME``; no weaker criterion
is reliable. A capture point out of reach is not sufficient: between a third and all of the robots stopped by it walk on
without a safe stop, and no threshold on lean, its rate, height or capture point distinguishes falls from recoveries
more than some 30 ms ahead (docs/research/reflexes.md). Then joints move towards a low crouch with weak springs, a
fraction of the motors' torque and strong damping, and no more QPs are solved. The stop is final until the run restarts.
"""

from __future__ import annotations

import contextlib

import numpy as np
from numpy import ndarray

from footfall.control.interface import JointCommand
from footfall.control.posture import standing_joints
from footfall.control.stand_gains import DAMPING
from footfall.errors import InputError
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.robot.model.description import Robot
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float

FALL_LEAN = np.radians(75.0)  # as in the definition of a fall in a simulation
FALL_CONFIRM_TIME = 0.05  # [s]
# heights of the hips as fractions of the stretched leg; the first within the limits is used
CROUCH_HEIGHTS = (0.4, 0.5, 0.6)
CROUCH_STIFFNESS = 0.12  # stiffness of joints, per newton of weight [m/rad]; damping as in a stand
CROUCH_TORQUE = 0.3  # fraction of the motors' limits


def fall_is_certain(upright: Scalar) -> Scalar:
    """Return whether a fall is certain; ``upright`` is the cosine of the lean."""
    return upright < np.cos(FALL_LEAN)


def update_folding(
    enabled: Operand, certain: Operand, time: Operand, before: Operand, dt: float
) -> tuple[Operand, Operand]:
    """Return (how long the fall has been certain [s], 1 once the legs fold)."""
    time = np.where(certain & enabled, time + dt, 0.0)
    return time, np.where((time > FALL_CONFIRM_TIME) & enabled, 1.0, before)


def crouch(robot: Robot, hip_height: float | None) -> Float[ndarray, "nj"]:
    """Return joints of a stand as low as the robot's limits permit."""
    leg = leg_geometry(robot, robot.foot_names[0], nearly=True)
    for part in CROUCH_HEIGHTS:
        with contextlib.suppress(InputError):
            return standing_joints(robot, part * leg.stretch + leg.radius)
    return standing_joints(robot, hip_height)


def fold(
    crouch: Float[ndarray, "nj"], q: Float[ndarray, "nj"], limits: Float[ndarray, "nj"], weight: float
) -> JointCommand:
    """Return the command that folds the legs."""
    max_torque = CROUCH_TORQUE * limits
    torque = np.clip(CROUCH_STIFFNESS * weight * (crouch - q), -max_torque, max_torque)
    return JointCommand(kd=DAMPING * weight, torque=torque)
