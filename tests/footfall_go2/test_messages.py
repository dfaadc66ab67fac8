"""Go2's messages: their bytes against cyclonedds' own serialiser, their checksum against long division."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rigs import go2

from footfall.control.interface import Inertial, JointCommand
from footfall.hardware.connection import RobotState
from footfall.robot import library

pytest.importorskip("cyclonedds", reason="the robot's messages need cyclonedds: pip install 'footfall[dds]'")
from cyclonedds.idl import IdlStruct

from footfall.hardware.dds import ros2
from footfall_go2 import messages
from footfall_go2.fixed import crc32
from footfall_go2.unitree import NO_POSITION, NO_VELOCITY, Wiring, blank_command, blank_state

FIXED = [messages.LowCmd, messages.LowState, messages.SportModeState, messages.WirelessController]


def divided(data: bytes) -> int:
    """The remainder of the words, highest bit first, by the polynomial: bit by bit."""
    register = 0xFFFFFFFF
    for k in range(0, len(data), 4):
        register ^= int.from_bytes(data[k : k + 4], "little")
        for _ in range(32):
            register = (register << 1) ^ 0x04C11DB7 if register & 0x80000000 else register << 1
            register &= 0xFFFFFFFF
    return register


@given(st.binary(max_size=64))
def test_checksum_is_the_remainder_of_the_words(data):
    data += bytes(-len(data) % 4)
    assert crc32(data) == divided(data)


def filled(kind, rng):
    """The same random message twice: as numbers, and field by field."""
    message = kind.blank()
    for k, code in enumerate(kind.layout.codes):
        message.values[k] = float(np.float32(rng.normal())) if code == "f" else int(rng.integers(0, 100))
    numbers = iter(message.values)

    def build(kind):
        from footfall_go2.fixed import _fields

        fields = []
        for _, inner, count in _fields(kind):
            items = [next(numbers) if isinstance(inner, str) else build(inner) for _ in range(count)]
            fields.append(items if count > 1 else items[0])
        return kind(*fields)

    return message, build(kind)


@pytest.mark.parametrize("kind", FIXED, ids=lambda kind: kind.__name__)
def test_bytes_are_those_of_the_dds_library(kind):
    message, whole = filled(kind, np.random.default_rng(3))
    data = message.serialize()
    usual = IdlStruct.serialize(whole)
    assert usual[4 : len(data)] == data[4:]
    assert kind.deserialize(usual).values == message.values


def test_sizes_are_those_over_which_the_maker_takes_checksums():
    assert messages.LowCmd.layout.memory.size == 812
    assert messages.LowState.layout.memory.size == 1180


@pytest.mark.parametrize("kind", FIXED, ids=lambda kind: kind.__name__)
@given(data=st.binary(max_size=40))
def test_bytes_that_are_no_message_are_told_apart(kind, data):
    found = kind.deserialize(data).values
    assert found is None or len(data) >= 4 + kind.layout.wire["<"].size


@pytest.mark.parametrize("robot", [go2(), library.load("mini_cheetah")], ids=lambda robot: robot.name)
def test_states_and_commands_survive_the_messages(robot):
    rng, wiring = np.random.default_rng(1), Wiring(robot)
    quat = rng.normal(size=4)
    position, velocity, torque = rng.normal(size=(3, 12))
    state = RobotState(
        time=1.234,
        position=position,
        velocity=velocity,
        torque=torque,
        attitude=quat / np.linalg.norm(quat),
        imu=Inertial(*rng.normal(size=(2, 3))),
        foot_load=np.array([1.0, 20.0, 300.0, 4000.0]),
    )
    message = blank_state()
    wiring.fill(message, state)
    assert message.get("crc") == [message.checksum()]
    back = wiring.state(messages.LowState.deserialize(message.serialize()))
    for key in ("position", "velocity", "torque", "attitude", "foot_load", "time"):
        assert getattr(back, key) == pytest.approx(getattr(state, key), rel=1e-6), key
    assert back.imu.gyro == pytest.approx(state.imu.gyro, rel=1e-6)
    command = JointCommand(*rng.uniform(0.1, 5.0, size=(5, 12)))
    sent = blank_command()
    wiring.write(sent, command)
    got = wiring.command(messages.LowCmd.deserialize(sent.serialize()))
    for key in ("position", "velocity", "kp", "kd", "torque"):
        assert getattr(got, key) == pytest.approx(getattr(command, key), rel=1e-6), key
    first = robot.joint_names.index(next(name for name in robot.joint_names if name.startswith(("FR", "RF"))))
    assert message.get("motor_state.q")[0] == pytest.approx(state.position[first], rel=1e-6)


def test_values_that_mean_no_command_leave_a_joint_free():
    wiring, message = Wiring(go2()), blank_command()
    message.set("motor_cmd.kp", [60.0] * 12)
    message.set("motor_cmd.kd", [5.0] * 12)
    assert message.get("motor_cmd.q")[0] == NO_POSITION
    assert message.get("motor_cmd.dq")[0] == NO_VELOCITY
    free = wiring.command(message)
    assert not free.kp.any()
    assert not free.kd.any()
    message.set("motor_cmd.q", [0.5] * 12)
    message.set("motor_cmd.mode", [0])  # the first motor, FR's hip, is off
    held = wiring.command(message)
    assert np.flatnonzero(held.kp == 0).tolist() == [go2().joint_names.index("FR_hip_joint")]


def test_ros_messages_read_back_by_the_dds_library():
    from footfall.hardware import ros2_messages as ros

    data = ros.joint_state(1_500_000_007, ("a", "longer name"), [1.0, 2.0], [3.0, 4.0], [])
    got = ros2.JointState.deserialize(data)
    assert (got.header.stamp.sec, got.header.stamp.nanosec) == (1, 500_000_007)
    assert got.name == ["a", "longer name"]
    assert list(got.position) == [1.0, 2.0]
    assert list(got.effort) == []
    odometry = ros2.Odometry.deserialize(ros.odometry(0, np.arange(1.0, 8.0), np.arange(10.0, 16.0)))
    assert odometry.pose.pose.orientation.w == 4.0
    assert odometry.twist.twist.linear.x == 13.0
    assert odometry.child_frame_id == "base_link"
