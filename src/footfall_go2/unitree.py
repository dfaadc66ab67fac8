"""Conversion between footfall's states and commands and Go2's messages: motor order, "no command", checksums.

Motors go FR, FL, RR, RL, each hip, thigh, calf; feet likewise. Any robot with four legs of three joints can use them;
its joints keep their zeros and directions.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy import ndarray

from footfall.control.interface import Inertial, JointCommand
from footfall.control.posture import own_joints
from footfall.errors import InputError
from footfall.hardware.connection import RobotState
from footfall.hardware.limits import UNIT
from footfall.robot.model.description import Robot
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import to_euler
from footfall_go2.messages import LowCmd, LowState, WirelessController
from nptrace._types import Foreign
from nptrace.array_types import Float

LEGS = ("RF", "LF", "RH", "LH")  # in the order of the messages
NO_POSITION, NO_VELOCITY = 2.146e9, 16000.0  # "no command"
ON = 1  # mode of a motor that follows its command
_HEAD, _LEVEL = (0xFE, 0xEF), 0xFF
_FIELDS = ("q", "dq", "tau", "kp", "kd")
_MOST_LOAD = 32767


class Wiring:
    """The mapping from a robot's joints and feet to positions in a message."""

    def __init__(self, robot: Robot) -> None:
        missing = [leg for leg in LEGS if leg not in robot.foot_names]
        if missing or robot.nj != 12 or not robot.floating:
            raise InputError(
                f"Go2's messages are for a floating robot with four legs of three joints, which '{robot.name}' is not"
            )
        self.robot = robot
        self.feet = np.array([robot.foot_names.index(leg) for leg in LEGS])
        self.joints = np.concatenate([own_joints(robot, int(k)) for k in self.feet]).astype(int)
        if sorted(self.joints) != list(range(12)):
            raise InputError(f"the legs of robot '{robot.name}' do not have three joints each")
        self.motor_of = np.argsort(self.joints)
        self.place_of = np.argsort(self.feet)

    # -- states --------------------------------------------------------------------------------------------------------
    def fill(self, message: Foreign, state: RobotState, remote: bytes = bytes(40)) -> None:
        """Write a state into a ``LowState``, checksum included."""
        message.set("tick", [round(state.time * 1e3) & 0xFFFFFFFF])
        fill_imu(message, state)
        message.set("motor_state.q", state.position[self.joints].tolist())
        message.set("motor_state.dq", state.velocity[self.joints].tolist())
        message.set("motor_state.tau_est", state.torque[self.joints].tolist())
        loads = self.loads(state.foot_load)
        message.set("foot_force", loads)
        message.set("foot_force_est", loads)
        message.set("wireless_remote", remote)
        message.set("crc", [message.checksum()])

    def loads(self, load: Float[ndarray, "nf"]) -> list[int]:
        """Return the loads of the feet [N], as integers in the order of the messages; empty without sensors."""
        return np.clip(np.nan_to_num(load[self.feet]), 0, _MOST_LOAD).astype(int).tolist()

    def state(self, message: Foreign, loads: bool = True) -> RobotState:
        """Return the state in a ``LowState``; ``loads`` False if its feet do not measure newtons."""
        position, velocity, torque = (
            np.array(message.get(f"motor_state.{key}")[:12])[self.motor_of] for key in ("q", "dq", "tau_est")
        )
        quat = np.array(message.get("imu_state.quaternion"))
        length = float(np.sqrt(quat @ quat))
        imu = Inertial(np.array(message.get("imu_state.accelerometer")), np.array(message.get("imu_state.gyroscope")))
        force = np.array(message.get("foot_force"), dtype=float)[self.place_of]
        return RobotState(
            time=message.get("tick")[0] * 1e-3,
            position=position,
            velocity=velocity,
            torque=torque,
            attitude=quat / length if abs(length - 1.0) < UNIT else quat,  # float32; the limits check others
            imu=imu,
            foot_load=force if loads else np.full(4, np.nan),
        )

    # -- commands ------------------------------------------------------------------------------------------------------
    def write(self, message: Foreign, command: JointCommand) -> None:
        """Write a command into a ``LowCmd``, checksum included."""
        for key, value in zip(_FIELDS, (command.position, command.velocity, command.torque, command.kp, command.kd)):
            message.set(f"motor_cmd.{key}", np.asarray(value)[self.joints].tolist())
        message.set("crc", [message.checksum()])

    def command(self, message: Foreign) -> JointCommand:
        """Return the command in a ``LowCmd``; a motor that is off, or without position or velocity command, is free."""
        q, dq, tau, kp, kd = (np.array(message.get(f"motor_cmd.{key}")[:12])[self.motor_of] for key in _FIELDS)
        on = np.array(message.get("motor_cmd.mode")[:12])[self.motor_of] == ON
        no_q, no_dq = q >= 0.99 * NO_POSITION, dq >= 0.99 * NO_VELOCITY
        return JointCommand(
            np.where(no_q, 0.0, q),
            np.where(no_dq, 0.0, dq),
            np.where(on & ~no_q, kp, 0.0),
            np.where(on & ~no_dq, kd, 0.0),
            np.where(on, tau, 0.0),
        )


def fill_imu(message: Foreign, state: RobotState) -> None:
    """Fill in the IMU of a ``LowState`` or ``SportModeState``."""
    message.set("imu_state.quaternion", state.attitude.tolist())
    message.set("imu_state.gyroscope", state.imu.gyro.tolist())
    message.set("imu_state.accelerometer", state.imu.acceleration.tolist())
    message.set("imu_state.rpy", to_euler(to_rotation(state.attitude), "zyx")[::-1].tolist())


def blank_state() -> Foreign:
    """Return a ``LowState`` with its constant fields."""
    message = LowState.blank()
    message.set("head", _HEAD)
    message.set("level_flag", [_LEVEL])
    message.set("motor_state.mode", [ON] * 12)
    message.set("motor_state.temperature", [30] * 12)
    message.set("bms_state.soc", [90])
    message.set("power_v", [28.0])
    return message


def blank_command() -> Foreign:
    """Return a ``LowCmd`` with its constant fields."""
    message = LowCmd.blank()
    message.set("head", _HEAD)
    message.set("level_flag", [_LEVEL])
    message.set("motor_cmd.mode", [ON] * 20)
    message.set("motor_cmd.q", [NO_POSITION] * 20)
    message.set("motor_cmd.dq", [NO_VELOCITY] * 20)
    return message


def remote_bytes(stick: Foreign) -> bytes:
    """Return a ``WirelessController`` as the forty bytes in a ``LowState``."""
    lx, ly, rx, ry, keys = stick.values
    data = struct.pack("<2BH", 0x55, 0x51, keys) + struct.pack("<5f", lx, rx, ry, 0.0, ly)
    return data.ljust(40, b"\0")


def resting_stick() -> Foreign:
    """Return a remote at rest."""
    return WirelessController.blank()


__all__ = ["LEGS", "Wiring", "blank_command", "blank_state", "fill_imu", "remote_bytes", "resting_stick"]
