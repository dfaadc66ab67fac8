"""Driving on wheels at the ends of legs: wheels follow the commanded speed, legs carry the trunk and keep it level.

Wheels are velocity servos: a wheel at y to the left of the middle rolls at v - ω y, so that different speeds on both
sides steer. Sideways skidding and steps resist this, so the error is integrated. Legs keep their feet below the hips by
closed-form inverse kinematics and PD with the weight fed forward, lengthened or shortened to level the trunk: when one
axle has climbed a step, the other legs extend.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, Controller, ControllerInfo, JointCommand, Sensed, check_rate
from footfall.control.joint.joint_pd import check_gain
from footfall.control.posture import standing_joints
from footfall.control.stand_gains import stand_gains
from footfall.errors import InputError
from footfall.gait.pattern import LEGS
from footfall.kinematics.leg_chain import LegChain, foot_jacobian, foot_position, leg_chain
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import knee_direction, leg_inverse
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import weight_of
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Scalar
from nptrace.array_types import Float

_MAX_SPEED, _MAX_YAW_RATE = 3.0, 1.5  # [m/s], [rad/s]
_MAX_COMMAND_RATE = (1.5, 3.0)  # [m/s²], [rad/s²]: how fast the command is followed
# [1/s], [m/s, rad/s]: integral gain and limit of the errors in speed and turn rate
_SLIP_INTEGRAL_GAIN, _MAX_SLIP = (1.0, 20.0), (0.5, 15.0)
_SLIP_GAIN = (0.0, 2.0)  # proportional gain of the errors in speed and turn rate
_LEG_TRAVEL_FRACTION = 0.35  # fraction of the standing height by which legs may change their length
_LEVEL_DECAY_RATE = 0.3  # [1/s], rate at which unequal legs become equal again


@dataclass(frozen=True, kw_only=True)
class Wheels(Controller):
    """Velocity control of a robot with a wheel at the end of each leg.

    kp, kd: gains of the legs' joints; twice the standing gains unless given. wheel_kd: damping of the wheels [N m
    s/rad]; scales with weight and wheel unless given. level: rate at which legs level the trunk [1/s].
    """

    kp: float | None = None  # [N m/rad]
    kd: float | None = None  # [N m s/rad]
    wheel_kd: float | None = None
    level: float = 3.0
    hip_height: float | None = None  # [m]; the robot's stand unless given
    rate: float = 1000.0  # [Hz]

    info = ControllerInfo(follows_command=True)

    def __post_init__(self) -> None:
        check_rate(self.rate)
        for key in ("kp", "kd", "wheel_kd", "level", "hip_height"):
            if getattr(self, key) is not None:
                check_gain(getattr(self, key), f"{key} of Wheels", ())

    def start(self, robot: Robot) -> dict[str, ndarray]:
        """Return the smoothed command, the correction of the wheel speeds for it [m/s, rad/s], and by how much each
        leg is shortened [m].
        """
        _rollers(robot, self.hip_height)
        return {"velocity": np.zeros(2), "slip": np.zeros(2), "shorter": np.zeros(4)}

    def posture(self, robot: Robot) -> Float[ndarray, "nj"]:
        return standing_joints(robot, self.hip_height)

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        rollers, dt = _rollers(robot, self.hip_height), 1.0 / self.rate
        velocity_command = np.stack(
            [np.clip(command.forward, -_MAX_SPEED, _MAX_SPEED), np.clip(command.turn, -_MAX_YAW_RATE, _MAX_YAW_RATE)]
        )
        max_change = dt * np.array(_MAX_COMMAND_RATE)
        velocity = memory["velocity"] + np.clip(velocity_command - memory["velocity"], -max_change, max_change)
        R, omega = to_rotation(sensed.q[3:7]), sensed.v[:3]
        velocity_error = velocity - np.stack([sensed.v[3], omega[2]])
        slip = np.clip(
            memory["slip"] + dt * np.array(_SLIP_INTEGRAL_GAIN) * velocity_error, -np.array(_MAX_SLIP), _MAX_SLIP
        )
        speed, turn = velocity + slip + np.array(_SLIP_GAIN) * velocity_error
        shorter = self._levelled(rollers, R, omega, memory["shorter"], dt)
        carried = R.T @ np.array([0.0, 0.0, weight_of(robot.mass, sensed.gravity) / len(rollers)])
        kp, kd = stand_gains(robot)
        kp, kd = 2.0 * kp if self.kp is None else self.kp, 2.0 * kd if self.kd is None else self.kd
        position, rates, torque = (np.array(x) for x in (_rest_targets(robot), np.zeros(robot.nj), np.zeros(robot.nj)))
        kps, kds = kp * np.ones(robot.nj), kd * np.ones(robot.nj)
        for k, roller in enumerate(rollers):
            foot_target = np.array(roller.position) + np.stack([0.0, 0.0, shorter[k] + command.height * -1.0])
            joints = leg_inverse(robot, roller.leg.name, foot_target, roller.knee, nearly=True).joints
            _, J = foot_jacobian(roller.leg, [sensed.q[7 + j] for j in roller.leg.joints])
            for i, j in enumerate(roller.leg.joints):
                position[j], torque[j] = joints[i], -(J[:, i] @ carried)
            ground_speed = speed - turn * roller.position[1]
            rates[roller.wheel] = roller.sense * ground_speed / roller.radius
            kps[roller.wheel] = 0.0
            kds[roller.wheel] = _wheel_gain(robot, roller.radius) if self.wheel_kd is None else self.wheel_kd
        after = {"velocity": velocity, "slip": slip, "shorter": shorter}
        return JointCommand(position, rates, kps, kds, torque), after

    def _levelled(
        self,
        rollers: tuple[_Roller, ...],
        R: Float[ndarray, "3 3"],
        omega: Float[ndarray, "3"],
        shorter: Float[ndarray, "4"],
        dt: float,
    ) -> Float[ndarray, "4"]:
        """Shorten legs below hips that are too high, and lengthen the others."""
        changed = []
        for k, roller in enumerate(rollers):
            x, y, z = roller.position
            height_error = R[2, 0] * x + R[2, 1] * y
            rising = omega[0] * y - omega[1] * x
            max_travel = _LEG_TRAVEL_FRACTION * -z
            rate = self.level * (height_error + 0.1 * rising) - _LEVEL_DECAY_RATE * shorter[k]
            changed.append(np.clip(shorter[k] + dt * rate, -max_travel, max_travel))
        return np.stack(changed)


@dataclass(frozen=True, kw_only=True)
class _Roller:
    """A wheel and its leg."""

    leg: LegChain
    knee: int
    wheel: int  # index of its joint
    sense: float  # 1 if a positive rate rolls forward
    radius: float
    position: tuple[float, float, float]  # position of its centre in the stand, in the carrier's frame


@lru_cache(maxsize=64)
def _rollers(robot: Robot, hip_height: float | None) -> tuple[_Roller, ...]:
    tree, found = robot.tree, []
    missing = [leg for leg in LEGS if leg not in robot.foot_names]
    still = [foot.name for k, foot in enumerate(robot.feet) if foot.axis is None or not tree.is_wheel(k)]
    if missing or still or not robot.floating:
        raise InputError(
            f"rolling needs a floating robot with wheels at its four feet {', '.join(LEGS)}: load robot"
            f" '{robot.name}' with lock_wheels=False, if it has some"
        )
    joints = standing_joints(robot, hip_height)
    for name in LEGS:
        index, leg = robot.foot_index(name), leg_chain(robot, name)
        angles = [float(joints[j]) for j in leg.joints]
        geometry, wheel = leg_geometry(robot, name, nearly=True), tree.feet[index]
        forward = _forward(robot, leg, angles, wheel)
        position = foot_position(leg, angles)
        found.append(
            _Roller(
                leg=leg,
                knee=knee_direction(geometry, np.array(angles)),
                wheel=wheel - 1,
                sense=forward,
                radius=robot.feet[index].radius,
                position=(float(position[0]), float(position[1]), float(position[2])),
            )
        )
    return tuple(found)


def _forward(robot: Robot, leg: LegChain, angles: list[float], wheel: int) -> float:
    """Return 1 if a positive rate of the wheel's joint rolls the robot forward, otherwise -1."""
    from footfall.robot.model.placement import body_poses

    q = robot.state()[0]
    for j, angle in zip(leg.joints, angles):
        q[7 + j] = angle
    axis = body_poses(robot, q)[wheel].R @ robot.tree.bodies[wheel].axis
    return 1.0 if axis[1] > 0 else -1.0  # an upward x axis is forward


def _wheel_gain(robot: Robot, radius: float) -> float:
    """Return the gain [N m s/rad] at which a wheel 1 m/s too slow pushes with a quarter of the robot's weight."""
    return 0.25 * weight_of(robot.mass) * radius * radius


def _rest_targets(robot: Robot) -> list[Scalar]:
    stand = robot.poses.get("stand")
    return [0.0] * robot.nj if stand is None else [float(angle) for angle in stand.joints]
