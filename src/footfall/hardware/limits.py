"""Safety limits of a robot: a state outside them causes damping; commands are clipped to theirs."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from footfall.checks import number_from_zero, positive_number
from footfall.control.interface import JointCommand
from footfall.control.locomotion.whole_body import torque_bounds
from footfall.control.stand_gains import supported_weight
from footfall.errors import InputError
from footfall.hardware.connection import RobotState
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, Gravity
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Scalar

UNIT = 0.01  # tolerance of an attitude quaternion's length


@dataclass(frozen=True)
class Bounds:
    """The largest sensible command to any joint."""

    kp: float  # [N m/rad]
    kd: float  # [N m s/rad]
    torque: Scalar  # [N m], one per joint
    position: float = 4.0 * np.pi  # [rad]
    velocity: float = 100.0  # [rad/s]

    @staticmethod
    def of(robot: Robot, gravity: Gravity = GRAVITY) -> Bounds:
        """Return bounds in proportion to the robot's weight."""
        weight = float(supported_weight(robot, gravity))
        return Bounds(3.5 * weight, 0.35 * weight, 2.0 * torque_bounds(robot))

    def wrong(self, command: JointCommand) -> str:
        """Return a short description of what is wrong with a command; empty if nothing is."""
        for f in fields(JointCommand):
            value = np.asarray(getattr(command, f.name))
            if not np.isfinite(value).all():
                return "not finite"
            if (np.abs(value) > getattr(self, f.name)).any():
                return f"{f.name} out of bounds"
        return "negative gain" if np.min(command.kp) < 0 or np.min(command.kd) < 0 else ""


class SafetyLimits:
    """Safety limits of a robot during a drive.

    ``tilt`` of the trunk [rad], ``beyond`` the joint limits [rad], and ``fast``, a multiple of the joint speed limits.
    """

    def __init__(self, robot: Robot, tilt: float = np.radians(50.0), beyond: float = 0.15, fast: float = 1.2) -> None:
        self.robot, self.beyond = robot, number_from_zero(beyond, "the way beyond joint limits [rad]")
        self.fast = positive_number(fast, "the multiple of the joint speed limits")
        self.tilt = positive_number(tilt, "the tilt of the trunk [rad]")
        if self.tilt > np.pi:
            raise InputError(f"the tilt of the trunk must be at most pi rad, got {self.tilt:g}: use np.radians(...)")
        joints = [body.joint for body in robot.tree.bodies[1:] if body.joint is not None]
        speeds = {a.joint: a.speed_limit for a in robot.actuators}
        self.lower = np.array([joint.lower for joint in joints])
        self.upper = np.array([joint.upper for joint in joints])
        self.speed = np.array([speeds.get(joint.name, np.inf) for joint in joints])
        self.torque, self.bounds = torque_bounds(robot), Bounds.of(robot)

    def wrong(self, state: RobotState) -> str:
        """Return why a robot in this state must be damped; empty if it need not be."""
        if words := self.misshapen(state):
            return words
        if not state.finite:
            return "the robot's state is not finite"
        length = math.hypot(*state.attitude)
        if not abs(length - 1.0) < UNIT:
            return f"the trunk's attitude is not a unit quaternion: its length is {length:.3g}"
        lean = float(np.arccos(np.clip(to_rotation(state.attitude)[2, 2], -1.0, 1.0)))
        if lean > self.tilt:
            return f"the trunk leans by {np.degrees(lean):.0f} degrees"
        out = np.maximum(self.lower - state.position, state.position - self.upper)
        if out[worst := int(np.argmax(out))] > self.beyond:
            return f"joint '{self.robot.joint_names[worst]}' is {out[worst]:.2f} rad beyond its limit"
        over = np.abs(state.velocity) - self.fast * self.speed
        if over[worst := int(np.argmax(over))] > 0:
            return f"joint '{self.robot.joint_names[worst]}' turns at {state.velocity[worst]:.1f} rad/s"
        return ""

    def misshapen(self, state: RobotState) -> str:
        """Return the quantity of a state with the wrong number of values for the robot; empty if there is none."""
        joints = {"positions": state.position, "velocities": state.velocity, "torques": state.torque}
        parts = [(name, numbers, self.robot.nj) for name, numbers in joints.items()]
        parts += [("attitude", state.attitude, 4), ("gyro", state.imu.gyro, 3)]
        for name, numbers, count in [*parts, ("acceleration", state.imu.acceleration, 3)]:
            if np.shape(numbers) != (count,) or np.asarray(numbers).dtype.kind not in "fiu":
                return f"the {name} of the robot's state must be {count} numbers"
        return ""

    def cut(self, command: JointCommand) -> tuple[JointCommand, bool]:
        """Return (the command within the robot's limits, whether anything was clipped)."""
        command = command.broadcast(self.robot.nj)
        position = np.where(command.kp > 0, np.clip(command.position, self.lower, self.upper), command.position)
        kept = JointCommand(
            position,
            np.clip(command.velocity, -self.speed, self.speed),
            np.clip(command.kp, 0.0, self.bounds.kp),
            np.clip(command.kd, 0.0, self.bounds.kd),
            np.clip(command.torque, -self.torque, self.torque),
        )
        same = all(
            np.array_equal(getattr(kept, key), getattr(command, key))
            for key in ("position", "velocity", "kp", "kd", "torque")
        )
        return kept, not same


def is_finite(command: JointCommand) -> bool:
    """Return whether every number of a command is finite."""
    parts = (command.position, command.velocity, command.kp, command.kd, command.torque)
    return all(bool(np.isfinite(part).all()) for part in parts)


__all__ = ["Bounds", "SafetyLimits", "is_finite"]
