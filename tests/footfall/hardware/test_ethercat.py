"""Drives on an EtherCAT bus whose master and devices are simulated: mapping, cycles, and what goes wrong."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from footfall.hardware.cia402 import ControlCommand, DriveState, Mode, ServoDrive
from footfall.hardware.ethercat import INPUTS, OPERATIONAL, OUTPUTS, EthercatDrives, EthercatError

# objects as published, with the format of each; a device serves whatever is mapped on it
FORMATS = {0x6040: "H", 0x6060: "b", 0x607A: "i", 0x60FF: "i", 0x6071: "h"} | {
    0x6041: "H", 0x6061: "b", 0x6064: "i", 0x606C: "i", 0x6077: "h",
}  # fmt: skip


class Device:
    """A drive on the bus: it interprets the bytes of a cycle by the mapping that was written to it."""

    def __init__(self) -> None:
        self.drive, self.objects, self.output, self.input = ServoDrive(), {}, b"", b""

    def sdo_write(self, index: int, subindex: int, data: bytes) -> None:
        self.objects[index, subindex] = int.from_bytes(data, "little")

    def mapped(self, sync: int) -> list[int]:
        mapping = self.objects[sync, 1]
        entries = [self.objects[mapping, k + 1] for k in range(self.objects[mapping, 0])]
        assert all(struct.calcsize(FORMATS[entry >> 16]) * 8 == entry & 0xFF for entry in entries)
        return [entry >> 16 for entry in entries]

    def cycle(self) -> None:
        keys = self.mapped(0x1C12)
        given = dict(zip(keys, struct.unpack("<" + "".join(FORMATS[key] for key in keys), self.output)))
        mode = Mode(given[0x6060])
        place = {Mode.PROFILE_POSITION: 0x607A, Mode.PROFILE_VELOCITY: 0x60FF, Mode.PROFILE_TORQUE: 0x6071}[mode]
        status = self.drive.control(given[0x6040], mode, given[place])
        self.drive.advance(1e-3)
        moved = self.drive.target if self.drive.state is DriveState.OPERATION_ENABLED else 0
        read = {0x6041: status, 0x6061: mode.value, 0x6064: moved, 0x606C: -moved, 0x6077: 7}
        keys = self.mapped(0x1C13)
        self.input = struct.pack("<" + "".join(FORMATS[key] for key in keys), *(read[key] for key in keys))


class Bus:
    """A simulated bus with the part of pysoem's Master that is used."""

    def __init__(self, count: int = 3, silent: int = 0, stuck: bool = False) -> None:
        self.slaves, self.silent, self.stuck = [Device() for _ in range(count)], silent, stuck
        self.expected_wkc, self.state, self.closed, self.opened = 3 * count, 2, False, ""

    def open(self, interface: str) -> None:
        if interface == "nowhere":
            raise ConnectionError("no such interface")
        self.opened = interface

    def config_init(self) -> int:
        return len(self.slaves) or -1

    def config_map(self) -> int:
        for k, device in enumerate(self.slaves):
            device.config_func(k)
        return 1

    def state_check(self, expected: int, timeout: int) -> int:
        return 4 if self.stuck else expected

    def write_state(self) -> None:
        pass

    def send_processdata(self) -> None:
        for device in self.slaves:
            device.cycle()

    def receive_processdata(self, timeout: int) -> int:
        return self.expected_wkc - self.silent

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("mode", Mode)
def test_drives_are_enabled_and_receive_their_targets_over_the_bus(mode: Mode) -> None:
    bus = Bus()
    drives = EthercatDrives("eth1", 3, bus)
    assert bus.state == OPERATIONAL
    targets = [100, -20000, 30000]
    for word in (ControlCommand.SHUTDOWN, ControlCommand.SWITCH_ON, ControlCommand.ENABLE_OPERATION):
        found = drives.exchange([word.value] * 3, mode, targets)
    assert {reading.state for reading in found} == {DriveState.OPERATION_ENABLED}
    assert [reading.position for reading in found] == targets
    assert [reading.velocity for reading in found] == [-target for target in targets]
    assert {(reading.mode, reading.torque) for reading in found} == {(mode.value, 7)}
    drives.close()
    assert bus.closed
    assert {device.drive.state for device in bus.slaves} == {DriveState.SWITCH_ON_DISABLED}


@pytest.mark.parametrize("mode", Mode)
def test_targets_beyond_what_an_object_holds_are_limited(mode: Mode) -> None:
    bus = Bus(2)
    drives = EthercatDrives("eth1", 2, bus)
    most = 2**15 - 1 if mode is Mode.PROFILE_TORQUE else 2**31 - 1
    drives.exchange([0x06] * 2, mode, [10**12, -(10**12)])
    assert [device.drive.target for device in bus.slaves] == [most, -most]


def test_a_bus_that_fails_is_reported_and_closed() -> None:
    for bus, name, message in (
        (Bus(2), "eth1", "2 devices answer on 'eth1', and 3 drives are expected"),
        (Bus(0), "eth1", "0 devices answer"),
        (Bus(3, stuck=True), "eth1", "do not become operational"),
    ):
        with pytest.raises(EthercatError, match=message):
            EthercatDrives(name, 3, bus)
        assert bus.closed
    with pytest.raises(EthercatError, match="cannot open the network interface 'nowhere'"):
        EthercatDrives("nowhere", 3, Bus())
    bus = Bus()
    drives = EthercatDrives("eth1", 3, bus)
    bus.silent = 3
    with pytest.raises(EthercatError, match="answered 6 times, expected 9"):
        drives.exchange([0] * 3, Mode.PROFILE_TORQUE, [0] * 3)


def test_pysoem_has_what_is_used_of_it() -> None:
    pysoem = pytest.importorskip("pysoem")
    used = {name for name in vars(Bus) if not name.startswith("_")} | {"slaves", "state", "expected_wkc"}
    assert used <= set(dir(pysoem.Master()))
    assert {"sdo_write", "output", "input", "config_func"} <= set(dir(pysoem.CdefSlave))
    assert np.unique([entry >> 16 for entry in (*OUTPUTS, *INPUTS)]).size == 10
