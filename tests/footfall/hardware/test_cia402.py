"""CiA 402: every state by every control word, beside the published table; joints driven through drives."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.control.interface import JointCommand
from footfall.errors import InputError
from footfall.hardware.cia402 import (
    BRAKE_RELEASED,
    Cia402Connection,
    ControlCommand,
    DriveState,
    Mode,
    ServoDrive,
    state_of,
)
from footfall.hardware.simulated import SimulatedRobot

# IEC 61800-7-201, as printed: commands by mask and value of the control word, ...
COMMANDS = {
    "shutdown": (0x87, 0x06),
    "switch on": (0x8F, 0x07),
    "enable operation": (0x8F, 0x0F),
    "disable voltage": (0x82, 0x00),
    "quick stop": (0x86, 0x02),
}
# ... and transitions by number; 5 is "disable operation", the word of "switch on"; 3 goes on to 4 where bit 3 is set
PUBLISHED = {
    2: ("SWITCH_ON_DISABLED", "shutdown", "READY_TO_SWITCH_ON"),
    3: ("READY_TO_SWITCH_ON", "switch on", "SWITCHED_ON"),
    4: ("SWITCHED_ON", "enable operation", "OPERATION_ENABLED"),
    5: ("OPERATION_ENABLED", "switch on", "SWITCHED_ON"),
    6: ("SWITCHED_ON", "shutdown", "READY_TO_SWITCH_ON"),
    7: ("READY_TO_SWITCH_ON", "disable voltage", "SWITCH_ON_DISABLED"),
    8: ("OPERATION_ENABLED", "shutdown", "READY_TO_SWITCH_ON"),
    9: ("OPERATION_ENABLED", "disable voltage", "SWITCH_ON_DISABLED"),
    10: ("SWITCHED_ON", "disable voltage", "SWITCH_ON_DISABLED"),
    11: ("OPERATION_ENABLED", "quick stop", "QUICK_STOP_ACTIVE"),
    12: ("QUICK_STOP_ACTIVE", "disable voltage", "SWITCH_ON_DISABLED"),
    16: ("QUICK_STOP_ACTIVE", "enable operation", "OPERATION_ENABLED"),
}
STATUS = {  # xxxx xxxx x0xx 0000 and so on, with what is x set to zero
    "NOT_READY_TO_SWITCH_ON": 0x00,
    "SWITCH_ON_DISABLED": 0x40,
    "READY_TO_SWITCH_ON": 0x21,
    "SWITCHED_ON": 0x23,
    "OPERATION_ENABLED": 0x27,
    "QUICK_STOP_ACTIVE": 0x07,
    "FAULT_REACTION_ACTIVE": 0x0F,
    "FAULT": 0x08,
}


def expected(state: str, word: int, before: int) -> str:
    """Return the state after a control word by the published table."""
    if word & 0x80:
        return "SWITCH_ON_DISABLED" if state == "FAULT" and not before & 0x80 else state
    said = {name for name, (mask, value) in COMMANDS.items() if word & mask == value}
    for start, command, end in PUBLISHED.values():
        if start == state and command in said:
            return end
    if state in ("READY_TO_SWITCH_ON", "SWITCHED_ON") and "quick stop" in said:
        return "SWITCH_ON_DISABLED"  # 7 and 10 are made by quick stop, too
    return "OPERATION_ENABLED" if state == "READY_TO_SWITCH_ON" and "enable operation" in said else state


@pytest.mark.parametrize("state", list(DriveState), ids=lambda state: state.name)
def test_every_control_word_in_every_state_is_the_published_transition(state: DriveState) -> None:
    for word in range(256):
        for before in (0x00, 0x80):
            drive = ServoDrive(state=state)
            drive._word = before
            drive.control(word)
            assert drive.state.name == expected(state.name, word, before), hex(word)


def test_the_status_word_shows_every_state_as_published() -> None:
    assert {state.name: state.value[1] for state in DriveState} == STATUS
    for state in DriveState:
        assert state_of(ServoDrive(state=state).status) is state
        for more in (0x10, 0x80, 0x200, 0x4000):  # voltage, warning, remote, the maker's own
            assert state_of(state.value[1] | more) is state
    with pytest.raises(InputError, match="shows no state"):
        state_of(0x6E)


def test_the_brake_opens_after_its_delay_and_closes_on_faults_and_power_loss() -> None:
    for end in (
        ServoDrive.fail,
        ServoDrive.lose_power,
        lambda drive: drive.control(ControlCommand.DISABLE_VOLTAGE.value),
    ):
        drive = ServoDrive(release=0.05)
        for command in (ControlCommand.SHUTDOWN, ControlCommand.SWITCH_ON, ControlCommand.ENABLE_OPERATION):
            assert drive.braked
            drive.control(command.value)
        assert drive.braked
        for _ in range(49):
            drive.advance(1e-3)
        assert drive.braked
        drive.advance(2e-3)
        assert not drive.braked
        assert drive.status & BRAKE_RELEASED
        end(drive)
        assert drive.braked
        assert not drive.status & BRAKE_RELEASED


def test_a_fault_ends_in_fault_and_a_rising_reset_alone_leaves_it() -> None:
    drive = ServoDrive(state=DriveState.OPERATION_ENABLED)
    drive.fail()
    drive.advance(1e-3)
    assert drive.state is DriveState.FAULT
    drive.control(0x0F)
    assert drive.state is DriveState.FAULT
    drive.control(0x80)
    assert drive.state is DriveState.SWITCH_ON_DISABLED
    drive.state = DriveState.FAULT
    drive.control(0x80)
    assert drive.state is DriveState.FAULT


@pytest.mark.parametrize("mode", Mode)
def test_joints_follow_their_drives_in_every_mode(mode: Mode) -> None:
    robot = ff.load("xiling")
    q, v = robot.state("stand")
    stand, q[2] = q[7:].copy(), 3.0  # in the air, where nothing pulls
    inner = SimulatedRobot(robot, 1000.0, gravity=(0.0, 0.0, 0.0), start=(q, v))
    connection = Cia402Connection(inner, mode, kp=400.0, kd=20.0)
    n = robot.nj
    command = JointCommand(position=stand + 0.1, velocity=np.full(n, 0.3), torque=np.full(n, 2.0)).broadcast(n)
    for _ in range(5):
        connection.write(command)
        connection.clock.wait()
        connection.read()
        ready = connection.enable()
    assert ready
    assert np.abs(inner.state.position - stand).max() < 0.02  # the brakes are not open yet
    for _ in range(800):
        connection.write(command)
        connection.clock.wait()
        state = connection.read()
    if mode is Mode.PROFILE_POSITION:
        np.testing.assert_allclose(state.position, stand + 0.1, atol=0.01)
    elif mode is Mode.PROFILE_VELOCITY:
        assert np.median(np.abs(state.velocity - 0.3)) < 0.05
    else:
        np.testing.assert_allclose(state.torque, 2.0, atol=0.05)
    counts = connection.drives[0].counts
    np.testing.assert_allclose(state.position * counts, np.round(state.position * counts), atol=1e-6)
    connection.disable()
    for _ in range(300):
        connection.write(command)
        connection.clock.wait()
        state = connection.read()
    assert np.abs(state.velocity).max() < 0.05
    assert set(connection.states) == {DriveState.SWITCH_ON_DISABLED}


def test_what_makes_no_drive_is_refused() -> None:
    with pytest.raises(InputError, match="counts of a drive"):
        ServoDrive(counts=0.0)
    with pytest.raises(InputError, match="release"):
        ServoDrive(release=-1.0)
    with pytest.raises(InputError, match="mode of operation"):
        ServoDrive().control(0x06, 9)
    inner = SimulatedRobot(ff.load("xiling"), 1000.0)
    with pytest.raises(InputError, match="12 joints, got 1 drives"):
        Cia402Connection(inner, Mode.PROFILE_TORQUE, [ServoDrive()])


def test_drives_of_joints_with_brakes_hold_by_them_and_let_go_without_a_drop() -> None:
    """A standing XiLing: drives off, enabled, off by power loss; brakes alone carry it when drives are off."""
    robot = ff.load("xiling")
    inner = SimulatedRobot(robot, 1000.0, joints=ff.sim.JointModel(brake=ff.sim.Brake(400.0, release=0.05)))
    connection = Cia402Connection(inner, Mode.PROFILE_POSITION, kp=2000.0, kd=40.0)
    stand = JointCommand(position=inner.state.position.copy())
    heights = []

    def run(seconds: float) -> None:
        for _ in range(round(1000 * seconds)):
            connection.read()
            connection.write(stand)
            connection.clock.wait()
            heights.append(inner.body.q[2])

    run(0.2)
    assert inner.braked.all()
    assert (inner.state.torque == 0.0).all()
    while not connection.enable():
        pass
    run(0.04)
    assert inner.braked.all()  # they open slowly, and the drives hold meanwhile
    run(0.3)
    assert not inner.braked.any()
    assert np.abs(inner.state.torque).max() > 10.0
    for drive in connection.drives:
        drive.lose_power()
    run(0.3)
    assert inner.braked.all()
    assert (inner.state.torque == 0.0).all()
    assert np.ptp(heights) < 0.02
    assert np.abs(inner.body.v).max() < 1e-3


def test_power_and_brakes_can_be_set_only_where_there_are_some() -> None:
    inner = SimulatedRobot(ff.load("xiling"), 1000.0)
    assert inner.powered
    assert not inner.braked.any()
    with pytest.raises(InputError, match="have no brakes"):
        inner.set_brakes(True)
    with pytest.raises(InputError, match="cannot lose power"):
        inner.set_power(False)
