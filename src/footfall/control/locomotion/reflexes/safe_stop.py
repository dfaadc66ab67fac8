"""Safe stop: when a fall cannot be averted the legs fold, softly, before the trunk hits the ground.

A fall is taken as certain once the trunk leans beyond ``LEAN``, or its capture point lies further outside of the feet
than any foot can be put, for longer than ``SURE``: pushed robots were seen to come back from 62 degrees, and from
capture points that were out of reach for a while. Then joints go towards a low crouch with weak springs, a part of
the motors' torque and strong damping; nothing is asked of the programs any more. It is final until the run restarts.
"""

from __future__ import annotations

import contextlib

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import JointCommand
from footfall.control.posture import standing_joints
from footfall.control.stand_gains import DAMPING
from footfall.errors import InputError
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.robot.model.description import Robot
from nptrace._types import Scalar

LEAN = np.radians(70.0)
FURTHEST = 0.85  # of the height, outside of the feet: they are put at most 0.7 from under their hips
SURE = 0.05  # [s]
CROUCHES = (0.4, 0.5, 0.6)  # height of the hips as a part of the stretched leg, the first that the limits allow
SPRING = 0.12  # of joints, per newton of weight [m/rad]; they are damped as in a stand
TORQUE = 0.3  # of the motors' limits


def doomed(upright: Scalar, inside: Scalar, height: Scalar) -> Scalar:
    """Whether a fall is certain: ``upright`` is the cosine of the lean, ``inside`` the capture point's margin [m]."""
    return (upright < np.cos(LEAN)) | (inside < -FURTHEST * height)


def folded(on: Scalar, certain: Scalar, time: Scalar, before: Scalar, dt: float) -> tuple[Scalar, Scalar]:
    """(how long the fall has been certain [s], 1 once the legs fold)."""
    time = np.where(certain & on, time + dt, 0.0)
    return time, np.where((time > SURE) & on, 1.0, before)


def crouch(robot: Robot, hip_height: float | None) -> Float[ndarray, "nj"]:
    """Joints of a low stand, as low as the robot's limits allow."""
    leg = leg_geometry(robot, robot.foot_names[0], nearly=True)
    for part in CROUCHES:
        with contextlib.suppress(InputError):
            return standing_joints(robot, part * leg.stretch + leg.radius)
    return standing_joints(robot, hip_height)


def fold(
    crouch: Float[ndarray, "nj"], q: Float[ndarray, "nj"], limits: Float[ndarray, "nj"], weight: float
) -> JointCommand:
    """The command of a robot that gives in."""
    most = TORQUE * limits
    torque = np.clip(SPRING * weight * (crouch - q), -most, most)
    return JointCommand(kd=DAMPING * weight, torque=torque)
