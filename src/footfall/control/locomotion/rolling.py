"""Wheels at the ends of legs, within the whole-body QP (Bjelonic et al. 2019, "Keep rollin'").

The contact point of the wheel, r = -radius n below its centre, does not accelerate: along the wheel its centre moves at
wheel speed times radius, and sideways it sticks. Its Jacobian J_c = J - r~ J_turn has a column for the wheel's joint,
so that contact forces act on the wheels' motors and the QP finds their torques like those of the legs. A leg with a
wheel has one redundant joint: it can roll back and forth below the trunk, and this motion keeps the posture. The robot
drives forwards with all wheels in contact; to turn or to move sideways it steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy import ndarray

from footfall.control.posture import standing_state
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.robot.model.placement import body_poses
from footfall.spatial import skew
from nptrace._types import Scalar
from nptrace.array_types import Float

MAX_ROLLING_SPEED = 3.0  # [m/s], top speed of a robot on wheels
_SLIP_DAMPING = 40.0  # [1/s] at which a wheel's contact point stops slipping
_WHEEL_GAIN = 60.0  # [1/s] at which wheels reach the speed of the robot
_LEG_STIFFNESS_SCALE = 2.5  # multiple of the usual stiffness with which legs keep their wheels below the hips


@dataclass(frozen=True)
class Wheel:
    """A driven wheel at the end of a leg."""

    joint: int  # index in ``robot.joint_names``
    sense: float  # 1 if a positive rate rolls forward, otherwise -1
    radius: float


@lru_cache(maxsize=64)
def wheels_of(robot: Robot) -> tuple[Wheel, ...]:
    """Return the wheels of the first four feet; none if they are feet."""
    tree, feet = robot.tree, robot.feet[:4]
    turning = [foot.axis is not None and tree.is_wheel(k) for k, foot in enumerate(feet)]
    if not any(turning):
        return ()
    if not all(turning):
        raise InputError(
            f"robot '{robot.name}' has wheels at only some of its feet: locomotion needs wheels at all feet or none"
        )
    poses = body_poses(robot, standing_state(robot)[0])
    found = []
    for body, foot in zip(tree.feet, feet):
        axis = poses[body].R @ tree.bodies[body].axis
        found.append(Wheel(body - 1, 1.0 if axis[1] > 0 else -1.0, foot.radius))  # an upward x axis is forward
    return tuple(found)


@dataclass(frozen=True)
class Rolling:
    """Jacobian and bias of each foot's contact point, and its desired acceleration during contact."""

    J: Float[ndarray, "4 3 nv"]
    rate_J: Float[ndarray, "4 3"]
    stops: Float[ndarray, "4 3"]


def rolling(
    wheels: tuple[Wheel, ...],
    J: ndarray,
    J_turn: ndarray,
    rate: ndarray,
    rate_turn: ndarray,
    v: Float[ndarray, "nv"],
    normal: Float[ndarray, "3"],
    down: Float[ndarray, "4"],
) -> Rolling:
    """Return the contact points of wheels in contact, and the centres of the others."""
    points, rates, stops = [], [], []
    for k, wheel in enumerate(wheels):
        contact_offset = skew(wheel.radius * normal)  # -r~
        J_contact = J[k] + contact_offset @ J_turn[k]
        in_stance = down[k] > 0.5
        stops.append(np.where(in_stance, -_SLIP_DAMPING * (J_contact @ v), 0.0))
        points.append(np.where(in_stance, J_contact, J[k]))
        rates.append(np.where(in_stance, rate[k] + contact_offset @ rate_turn[k], rate[k]))
    return Rolling(np.stack(points), np.stack(rates), np.stack(stops))


def wheel_posture(
    wheels: tuple[Wheel, ...], posture: Float[ndarray, "nj"], v: Float[ndarray, "nv"], speed: Scalar
) -> Float[ndarray, "nj"]:
    """Return desired accelerations of the joints: wheels follow the speed of the robot [m/s], legs stay below it."""
    accelerations = _LEG_STIFFNESS_SCALE * posture
    for wheel in wheels:
        rate = wheel.sense * speed / wheel.radius
        accelerations[wheel.joint] = _WHEEL_GAIN * (rate - v[6 + wheel.joint])
    return accelerations


def without_forward(heading: Float[ndarray, "3 3"], velocity: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
    """Return the component of a velocity that wheels cannot roll: all but that along the heading."""
    ahead = heading[:, 0]
    return velocity - (ahead @ velocity) * ahead
