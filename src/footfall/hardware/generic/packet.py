"""Packets of the generic protocol: a header, a payload, a checksum. All numbers are little-endian.

    offset  size  what
    0       4     "FFR1"
    4       2     version of the protocol: 1
    6       2     kind: 1 hello, 2 description, 3 state, 4 command, 5 bye
    8       4     length of the payload
    12      4     layout: CRC-32 of the names of joints and feet, so that no number reaches the wrong joint; 0 in hello
    16      4     flags of a state: 1 a client commands, 2 the watchdog damps, 4 the last command was clipped,
                    8 the motors have no power
    20      4     zero
    24      n     payload
    24 + n  4     CRC-32 of all before

A description is JSON; states and commands are the structures of ``structs``, which start with their sequence number.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from footfall.hardware.structs import Structs
from footfall.robot.model.description import Robot
from nptrace._types import Json

VERSION = 1
HELLO, DESCRIPTION, STATE, COMMAND, BYE = 1, 2, 3, 4, 5
COMMANDED, DAMPED, CLIPPED, UNPOWERED = 1, 2, 4, 8
MOST_BYTES = 60_000  # largest packet that UDP carries
_MAGIC = b"FFR1"
_HEADER = struct.Struct("<4sHHIIII")
_CHECKSUM = struct.Struct("<I")


@dataclass(frozen=True, kw_only=True)
class Packet:
    """One packet, as it was sent."""

    kind: int
    layout: int = 0
    flags: int = 0
    payload: bytes = b""

    def pack(self) -> bytes:
        head = _HEADER.pack(_MAGIC, VERSION, self.kind, len(self.payload), self.layout, self.flags, 0)
        return head + self.payload + _CHECKSUM.pack(zlib.crc32(head + self.payload))


def unpack(data: bytes) -> Packet | str:
    """Return a packet, or a short description of its fault."""
    if not _HEADER.size + _CHECKSUM.size <= len(data) <= MOST_BYTES:
        return "no packet"
    magic, version, kind, length, layout, flags, _ = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        return "no packet"
    if version != VERSION:
        return "other version"
    if len(data) != _HEADER.size + length + _CHECKSUM.size:
        return "wrong length"
    if _CHECKSUM.unpack_from(data, len(data) - _CHECKSUM.size)[0] != zlib.crc32(data[: -_CHECKSUM.size]):
        return "bad checksum"
    return Packet(kind=kind, layout=layout, flags=flags, payload=data[_HEADER.size : -_CHECKSUM.size])


def layout_of(joints: Sequence[str], feet: Sequence[str]) -> int:
    """Return the number that identifies the order of joints and feet."""
    return zlib.crc32("\n".join((*joints, "", *feet)).encode())


def description(
    robot: Robot, rate: float, watchdog: float, stand: Sequence[float], gains: tuple[float, float]
) -> bytes:
    """Return the robot's description of itself, as JSON."""
    limits = {motor.joint: motor.torque_limit for motor in robot.actuators}
    kinds = {joint.name: joint for joint in robot.joints}
    joints: list[Json] = []
    for k, name in enumerate(robot.joint_names):
        joint = kinds[name]
        joints.append(
            {
                "name": name,
                "unit": "m" if joint.kind == "prismatic" else "rad",
                "lower": _bounded(joint.lower),
                "upper": _bounded(joint.upper),
                "torque": _bounded(limits.get(name, float("inf"))),
                "stand": float(stand[k]),
            }
        )
    said = {
        "robot": robot.name,
        "version": VERSION,
        "joints": joints,
        "feet": list(robot.foot_names),
        "layout": layout_of(robot.joint_names, robot.foot_names),
        "rate": rate,
        "watchdog": watchdog,
        "kp": gains[0],
        "kd": gains[1],
        "state_bytes": Structs(robot).state_size,
        "command_bytes": Structs(robot).command_size,
    }
    return json.dumps(said).encode()


def _bounded(value: float) -> float | None:
    """Return a limit, or None for infinity, which JSON lacks."""
    return float(value) if abs(value) < 1e9 else None


__all__ = [
    "BYE",
    "CLIPPED",
    "COMMAND",
    "COMMANDED",
    "DAMPED",
    "DESCRIPTION",
    "HELLO",
    "STATE",
    "UNPOWERED",
    "VERSION",
    "Packet",
    "description",
    "layout_of",
    "unpack",
]
