"""Drives with the CiA 402 profile (IEC 61800-7-201), like XiLing's: state machine, modes, units, brake.

A drive shows its state in bits of the status word, and changes it by commands in bits of the control word.
``ServoDrive`` is that table with a brake; ``Cia402Connection`` controls the joints of a ``Connection`` through one
drive per joint: every write is a control word, a mode and a target, every read is converted from the drives' units.

    >>> from footfall.hardware.cia402 import ServoDrive, ControlCommand
    >>> drive = ServoDrive()
    >>> for command in (ControlCommand.SHUTDOWN, ControlCommand.SWITCH_ON, ControlCommand.ENABLE_OPERATION):
    ...     _ = drive.control(command.value)
    >>> drive.state.name
    'OPERATION_ENABLED'

``ethercat`` transmits these words on a bus; it has been tested with simulated drives alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from footfall.checks import is_number, positive_number
from footfall.control.interface import JointCommand
from footfall.errors import InputError, unknown
from footfall.hardware.clock import Clock
from footfall.hardware.connection import Connection, RobotState
from footfall.hardware.simulated import SimulatedRobot
from footfall.robot.model.description import Robot


class DriveState(Enum):
    """States, with (mask, value) of the status word: table 30 of the profile."""

    NOT_READY_TO_SWITCH_ON = (0x4F, 0x00)
    SWITCH_ON_DISABLED = (0x4F, 0x40)
    READY_TO_SWITCH_ON = (0x6F, 0x21)
    SWITCHED_ON = (0x6F, 0x23)
    OPERATION_ENABLED = (0x6F, 0x27)
    QUICK_STOP_ACTIVE = (0x6F, 0x07)
    FAULT_REACTION_ACTIVE = (0x4F, 0x0F)
    FAULT = (0x4F, 0x08)


class ControlCommand(Enum):
    """Commands, with a control word for each: bits 0 switch on, 1 voltage, 2 no quick stop, 3 enable, 7 reset."""

    SHUTDOWN = 0x06
    SWITCH_ON = 0x07
    ENABLE_OPERATION = 0x0F
    DISABLE_VOLTAGE = 0x00
    QUICK_STOP = 0x02
    FAULT_RESET = 0x80


class Mode(Enum):
    """Supported modes of operation (object 0x6060)."""

    PROFILE_POSITION = 1
    PROFILE_VELOCITY = 3
    PROFILE_TORQUE = 4


_S = DriveState
TRANSITIONS: dict[tuple[DriveState, ControlCommand], DriveState] = {
    (_S.SWITCH_ON_DISABLED, ControlCommand.SHUTDOWN): _S.READY_TO_SWITCH_ON,  # transition 2
    (_S.READY_TO_SWITCH_ON, ControlCommand.SWITCH_ON): _S.SWITCHED_ON,  # transition 3
    (_S.READY_TO_SWITCH_ON, ControlCommand.ENABLE_OPERATION): _S.OPERATION_ENABLED,  # transitions 3 and 4
    (_S.READY_TO_SWITCH_ON, ControlCommand.QUICK_STOP): _S.SWITCH_ON_DISABLED,  # transition 7
    (_S.READY_TO_SWITCH_ON, ControlCommand.DISABLE_VOLTAGE): _S.SWITCH_ON_DISABLED,  # transition 7
    (_S.SWITCHED_ON, ControlCommand.ENABLE_OPERATION): _S.OPERATION_ENABLED,  # transition 4
    (_S.SWITCHED_ON, ControlCommand.SHUTDOWN): _S.READY_TO_SWITCH_ON,  # transition 6
    (_S.SWITCHED_ON, ControlCommand.QUICK_STOP): _S.SWITCH_ON_DISABLED,  # transition 10
    (_S.SWITCHED_ON, ControlCommand.DISABLE_VOLTAGE): _S.SWITCH_ON_DISABLED,  # transition 10
    (_S.OPERATION_ENABLED, ControlCommand.SWITCH_ON): _S.SWITCHED_ON,  # transition 5
    (_S.OPERATION_ENABLED, ControlCommand.SHUTDOWN): _S.READY_TO_SWITCH_ON,  # transition 8
    (_S.OPERATION_ENABLED, ControlCommand.DISABLE_VOLTAGE): _S.SWITCH_ON_DISABLED,  # transition 9
    (_S.OPERATION_ENABLED, ControlCommand.QUICK_STOP): _S.QUICK_STOP_ACTIVE,  # transition 11
    (_S.QUICK_STOP_ACTIVE, ControlCommand.DISABLE_VOLTAGE): _S.SWITCH_ON_DISABLED,  # transition 12
    (_S.QUICK_STOP_ACTIVE, ControlCommand.ENABLE_OPERATION): _S.OPERATION_ENABLED,  # transition 16
    (_S.FAULT, ControlCommand.FAULT_RESET): _S.SWITCH_ON_DISABLED,  # transition 15
}
VOLTAGE, BRAKE_RELEASED = 1 << 4, 1 << 14  # bits of the status word; the latter is manufacturer-specific: chosen here


def command_of(word: int, before: int = 0) -> ControlCommand | None:
    """Return the command that a control word gives; a reset is a rising edge of bit 7, which is otherwise ignored.

    Args:
        word: Control word.
        before: The control word before it.

    Returns:
        The command; none for a word in which bit 7 stays set.
    """
    if word & 0x80:
        return None if before & 0x80 else ControlCommand.FAULT_RESET
    if not word & 0x02:
        return ControlCommand.DISABLE_VOLTAGE
    if not word & 0x04:
        return ControlCommand.QUICK_STOP
    if not word & 0x01:
        return ControlCommand.SHUTDOWN
    return ControlCommand.ENABLE_OPERATION if word & 0x08 else ControlCommand.SWITCH_ON


def state_of(status: int) -> DriveState:
    """Return the state that a status word shows.

    Args:
        status: Status word.

    Returns:
        The state.
    """
    for state in DriveState:
        mask, value = state.value
        if status & mask == value:
            return state
    raise InputError(f"the status word {status:#06x} shows no state of CiA 402")


@dataclass(kw_only=True)
class ServoDrive:
    """One drive: its state, its mode and target, and a brake that holds unless operation is enabled.

    The drive counts in increments, ``counts`` per radian; targets of torque are thousandths of ``rated`` [N m].
    ``release``: time that the brake takes to open [s], during which the joint is still held.
    """

    counts: float = 65536.0 / (2.0 * np.pi)
    rated: float = 40.0
    release: float = 0.05
    state: DriveState = DriveState.SWITCH_ON_DISABLED
    mode: Mode = Mode.PROFILE_POSITION
    target: int = 0
    enabled_for: float = field(default=0.0)  # [s]
    _word: int = 0

    def __post_init__(self) -> None:
        for key in ("counts", "rated"):
            positive_number(getattr(self, key), f"{key} of a drive")
        if not is_number(self.release) or self.release < 0.0:
            raise InputError(f"release of a drive must be 0 or more, got {self.release!r}")

    @property
    def status(self) -> int:
        """Return the status word."""
        powered = self.state not in (DriveState.NOT_READY_TO_SWITCH_ON, DriveState.SWITCH_ON_DISABLED)
        return self.state.value[1] | (VOLTAGE if powered else 0) | (0 if self.braked else BRAKE_RELEASED)

    @property
    def opens_brake(self) -> bool:
        """Return whether the drive powers the brake, which then opens."""
        return self.state in (DriveState.OPERATION_ENABLED, DriveState.QUICK_STOP_ACTIVE)

    @property
    def braked(self) -> bool:
        """Return whether the brake holds the joint."""
        return not self.opens_brake or self.enabled_for < self.release

    def control(self, word: int, mode: Mode | int | None = None, target: int = 0) -> int:
        """Take a control word, a mode and a target in increments; return the status word."""
        command, self._word = command_of(word, self._word), word
        if command is not None:
            later = TRANSITIONS.get((self.state, command), self.state)
            if later is DriveState.OPERATION_ENABLED and self.state is not DriveState.QUICK_STOP_ACTIVE:
                self.enabled_for = self.enabled_for if self.state is later else 0.0
            self.state = later
        if mode is not None:
            try:
                self.mode = Mode(mode)
            except ValueError:
                raise unknown("mode of operation", str(mode), [str(known.value) for known in Mode]) from None
        self.target = int(target)
        return self.status

    def fail(self) -> None:
        """Enter a fault: the drive reacts, and then is off with its brake closed."""
        self.state = DriveState.FAULT_REACTION_ACTIVE

    def lose_power(self) -> None:
        """Lose power: the brake closes."""
        self.state, self._word = DriveState.NOT_READY_TO_SWITCH_ON, 0

    def advance(self, dt: float) -> None:
        """Advance time: a start-up and a fault reaction end by themselves (transitions 1 and 14)."""
        if self.state is DriveState.NOT_READY_TO_SWITCH_ON:
            self.state = DriveState.SWITCH_ON_DISABLED
        elif self.state is DriveState.FAULT_REACTION_ACTIVE:
            self.state = DriveState.FAULT
        elif self.state is DriveState.OPERATION_ENABLED:
            self.enabled_for += dt


class Cia402Connection:
    """Joints driven through one drive each, in front of another connection, such as a simulated robot.

    Commands become targets of a mode in whole increments. Position and velocity are tracked by the drives' own gains
    ``kp`` [N m/rad] and ``kd`` [N m s/rad], torque is given as it is. A joint whose drive is not enabled is held by its
    brake: by that of a ``SimulatedRobot`` whose joints have brakes, otherwise by its motor as a stiff damper. While a
    brake opens, the drive holds the position at which it was enabled.
    """

    def __init__(
        self,
        inner: Connection,
        mode: Mode,
        drives: Sequence[ServoDrive] | None = None,
        kp: float = 100.0,
        kd: float = 2.0,
    ) -> None:
        self.inner, self.mode, self.kp, self.kd = inner, Mode(mode), kp, kd
        self.drives = [ServoDrive() for _ in range(inner.robot.nj)] if drives is None else list(drives)
        if len(self.drives) != inner.robot.nj:
            raise InputError(f"'{inner.robot.name}' has {inner.robot.nj} joints, got {len(self.drives)} drives")
        self._held: RobotState | None = None
        self._brakes = inner if isinstance(inner, SimulatedRobot) and inner.has_brakes else None
        self._enabled_at = np.zeros(inner.robot.nj)  # positions at which drives were enabled
        if self._brakes is not None:
            self._brakes.set_brakes([not drive.opens_brake for drive in self.drives])

    @property
    def robot(self) -> Robot:
        return self.inner.robot

    @property
    def clock(self) -> Clock:
        return self.inner.clock

    @property
    def states(self) -> list[DriveState]:
        """Return the state of every drive."""
        return [drive.state for drive in self.drives]

    def enable(self) -> bool:
        """Send the next control word towards operation to every drive; return whether all are enabled."""
        words = {
            DriveState.SWITCH_ON_DISABLED: ControlCommand.SHUTDOWN,
            DriveState.READY_TO_SWITCH_ON: ControlCommand.SWITCH_ON,
            DriveState.SWITCHED_ON: ControlCommand.ENABLE_OPERATION,
            DriveState.FAULT: ControlCommand.FAULT_RESET,
        }
        for drive in self.drives:
            if drive.state in words:
                drive.control(words[drive.state].value)
        return all(state is DriveState.OPERATION_ENABLED for state in self.states)

    def disable(self) -> None:
        """Remove the voltage from every drive: the brakes close."""
        for drive in self.drives:
            drive.control(ControlCommand.DISABLE_VOLTAGE.value)

    def read(self) -> RobotState | None:
        state = self.inner.read()
        if state is None:
            return None
        for drive in self.drives:
            drive.advance(self.clock.period)
        self._held = state
        counts, rated = (np.array([getattr(drive, key) for drive in self.drives]) for key in ("counts", "rated"))
        return RobotState(
            time=state.time,
            position=np.round(state.position * counts) / counts,
            velocity=np.round(state.velocity * counts) / counts,
            torque=np.round(1e3 * state.torque / rated) * rated / 1e3,
            attitude=state.attitude,
            imu=state.imu,
            foot_load=state.foot_load,
        )

    def write(self, command: JointCommand) -> None:
        """Set every drive's target; gains of the command are ignored in favour of the drives', since no bus
        transmits them.
        """
        n, asked = self.robot.nj, command.broadcast(self.robot.nj)
        angles, rates, torques = (np.asarray(x, float) for x in (asked.position, asked.velocity, asked.torque))
        position, velocity, kp, kd, torque = (np.zeros(n) for _ in range(5))
        for k, drive in enumerate(self.drives):
            wanted = {
                Mode.PROFILE_POSITION: angles[k] * drive.counts,
                Mode.PROFILE_VELOCITY: rates[k] * drive.counts,
                Mode.PROFILE_TORQUE: 1e3 * torques[k] / drive.rated,
            }[self.mode]
            word = ControlCommand.ENABLE_OPERATION.value if drive.state is DriveState.OPERATION_ENABLED else drive._word
            drive.control(word, self.mode, round(float(wanted)))
            if not drive.opens_brake and self._held is not None:
                self._enabled_at[k] = self._held.position[k]
            if self._brakes is not None and drive.state is not DriveState.QUICK_STOP_ACTIVE and drive.braked:
                position[k] = self._enabled_at[k]
                kp[k], kd[k] = (self.kp, self.kd) if drive.opens_brake else (0.0, 0.0)
            elif drive.braked or drive.state is DriveState.QUICK_STOP_ACTIVE:
                kd[k] = BRAKE
            elif self.mode is Mode.PROFILE_POSITION:
                position[k], kp[k], kd[k] = drive.target / drive.counts, self.kp, self.kd
            elif self.mode is Mode.PROFILE_VELOCITY:
                velocity[k], kd[k] = drive.target / drive.counts, self.kd
            else:
                torque[k] = drive.target * drive.rated / 1e3
        if self._brakes is not None:
            self._brakes.set_brakes([not drive.opens_brake for drive in self.drives])
        self.inner.write(JointCommand(position=position, velocity=velocity, kp=kp, kd=kd, torque=torque))

    def close(self) -> None:
        self.disable()
        self.inner.close()


BRAKE = 1e6  # damping of a closed brake [N m s/rad]


__all__ = [
    "BRAKE",
    "TRANSITIONS",
    "Cia402Connection",
    "ControlCommand",
    "DriveState",
    "Mode",
    "ServoDrive",
    "command_of",
    "state_of",
]
