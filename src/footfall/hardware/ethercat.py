"""CiA 402 drives on an EtherCAT bus, through pysoem: control words and targets out, status words and readings in.

Every cycle exchanges one record a drive, which ``EthercatDrives`` maps (objects of IEC 61800-7-201):

    to the drive     0x6040 control word, 0x6060 mode, 0x607A position, 0x60FF velocity, 0x6071 torque
    from the drive   0x6041 status word, 0x6061 mode, 0x6064 position, 0x606C velocity, 0x6077 torque

It has never run on a bus: it was tested with drives simulated by ``ServoDrive``, in place of pysoem's master. Start
with one drive, without a load.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from footfall.errors import FootfallError, need_extra
from footfall.hardware.cia402 import DriveState, Mode, state_of

OUTPUT, INPUT = struct.Struct("<Hbiih"), struct.Struct("<Hbiih")
OUTPUTS = (0x60400010, 0x60600008, 0x607A0020, 0x60FF0020, 0x60710010)  # index, subindex, bits
INPUTS = (0x60410010, 0x60610008, 0x60640020, 0x606C0020, 0x60770010)
SAFE_OPERATIONAL, OPERATIONAL, INIT = 4, 8, 1  # states of a device on the bus
TIMEOUT = 2000  # [us], for the answer to a cycle
_STARTING = 200  # cycles in which the devices must become operational


class EthercatError(FootfallError):
    """A bus that does not do what it should."""


@dataclass(frozen=True, kw_only=True)
class DriveReading:
    """Values that a drive reports in a cycle, in the units of the drive."""

    status: int  # status word
    mode: int
    position: int  # [increments]
    velocity: int  # [increments/s]
    torque: int  # [thousandths of the rated torque]

    @property
    def state(self) -> DriveState:
        """Return the state that the status word shows."""
        return state_of(self.status)


class EthercatDrives:
    """Drives on the bus of a network interface, in the order in which they are connected.

    ``master``: for tests, in place of pysoem's.
    """

    def __init__(self, interface: str, count: int, master: Any = None) -> None:
        if master is None:
            need_extra("pysoem", "ethercat", "drives on an EtherCAT bus")
            import pysoem

            master = pysoem.Master()
        self.master = master
        try:
            self.master.open(interface)
        except ConnectionError as error:
            raise EthercatError(
                f"cannot open the network interface '{interface}': {error} (it needs the right to raw sockets)"
            ) from error
        try:
            found = self.master.config_init()
            if found != count:
                raise EthercatError(f"{max(found, 0)} devices answer on '{interface}', and {count} drives are expected")
            for device in self.master.slaves:
                device.config_func = partial(_map, device)
            self.master.config_map()
            self._start()
        except BaseException:
            self.master.close()
            raise

    @property
    def count(self) -> int:
        return len(self.master.slaves)

    def exchange(self, words: Sequence[int], mode: Mode, targets: Sequence[int]) -> list[DriveReading]:
        """Exchange one cycle with every drive.

        Args:
            words: Control word of every drive.
            mode: Mode of operation of all of them.
            targets: Target of every drive: increments, increments per second, or thousandths of the rated torque.

        Returns:
            What the drives report.
        """
        for device, word, target in zip(self.master.slaves, words, targets, strict=True):
            device.output = OUTPUT.pack(word, mode.value, *_placed(mode, target))
        self._cycle()
        return [DriveReading(**dict(zip(_READ, INPUT.unpack(device.input)))) for device in self.master.slaves]

    def close(self) -> None:
        """Remove the voltage from every drive and leave the bus; brakes close."""
        try:
            self.exchange([0] * self.count, Mode.PROFILE_TORQUE, [0] * self.count)
            self.master.state = INIT
            self.master.write_state()
        finally:
            self.master.close()

    def _start(self) -> None:
        """Make the devices operational; drives are disabled meanwhile."""
        self.master.state_check(SAFE_OPERATIONAL, 50_000)
        for device in self.master.slaves:
            device.output = OUTPUT.pack(0, Mode.PROFILE_TORQUE.value, 0, 0, 0)
        self.master.state = OPERATIONAL
        self.master.write_state()
        for _ in range(_STARTING):
            self.master.send_processdata()
            self.master.receive_processdata(TIMEOUT)
            if self.master.state_check(OPERATIONAL, TIMEOUT) == OPERATIONAL:
                return
        raise EthercatError("the devices on the bus do not become operational: check their wiring and their errors")

    def _cycle(self) -> None:
        self.master.send_processdata()
        answered = self.master.receive_processdata(TIMEOUT)
        if answered < self.master.expected_wkc:
            raise EthercatError(
                f"a cycle of the bus was answered {answered} times, expected {self.master.expected_wkc}: a drive is"
                " silent, so stop the robot"
            )


def _map(device: Any, *_: int) -> None:
    """Map the objects of a cycle on one drive: pysoem calls this on its way to the state safe-operational."""
    for sync, mapping, objects in ((0x1C12, 0x1600, OUTPUTS), (0x1C13, 0x1A00, INPUTS)):
        device.sdo_write(sync, 0, b"\x00")
        device.sdo_write(mapping, 0, b"\x00")
        for k, entry in enumerate(objects):
            device.sdo_write(mapping, k + 1, struct.pack("<I", entry))
        device.sdo_write(mapping, 0, bytes([len(objects)]))
        device.sdo_write(sync, 1, struct.pack("<H", mapping))
        device.sdo_write(sync, 0, b"\x01")


_READ = ("status", "mode", "position", "velocity", "torque")


def _placed(mode: Mode, target: int) -> tuple[int, int, int]:
    """Return a target as (position, velocity, torque), limited to what these hold."""
    place = {Mode.PROFILE_POSITION: 0, Mode.PROFILE_VELOCITY: 1, Mode.PROFILE_TORQUE: 2}[mode]
    most = 2**15 - 1 if place == 2 else 2**31 - 1
    targets = [0, 0, 0]
    targets[place] = max(-most, min(most, int(target)))
    return targets[0], targets[1], targets[2]


__all__ = ["DriveReading", "EthercatDrives", "EthercatError"]
