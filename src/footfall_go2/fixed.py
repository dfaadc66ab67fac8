"""Messages of fixed size as flat lists of numbers, packed and unpacked in one call, with checksum.

A message that is built field by field costs about a millisecond in Python, half of a 500 Hz tick. All fields of these
types have four bytes or less, so that their serialization (plain CDR) is determined by alignment alone. The checksum is
taken over the C structure, where every nested structure is padded to its own alignment as well.
"""

from __future__ import annotations

import struct
import typing
import zlib
from collections.abc import Sequence
from typing import ClassVar

import cyclonedds.idl as idl
from cyclonedds.idl import types

from nptrace._types import Foreign

_CODES = {
    "byte": "B",
    "uint8": "B",
    "int8": "b",
    "uint16": "H",
    "int16": "h",
    "uint32": "I",
    "int32": "i",
    "float32": "f",
}
_LITTLE = b"\x00\x01\x00\x00"  # encapsulation of plain CDR, little-endian
_BIG_KINDS, _LITTLE_KINDS = (0, 6), (1, 7)  # of XCDR 1 and 2: identical where no field has eight bytes
_REVERSED = bytes(int(f"{k:08b}"[::-1], 2) for k in range(256))


def fixed(kind: Foreign) -> Foreign:
    """Decorate a message type: instances store all numbers in order in ``values`` instead of fields.

    ``values`` is None if the received bytes are not a message of this type.
    """
    kind.layout = Layout(kind)
    kind.blank = classmethod(_blank)
    kind.serialize = _serialize
    kind.deserialize = classmethod(_deserialize)
    kind.checksum = _checksum
    kind.get = _get
    kind.set = _set
    return kind


def _blank(kind: Foreign) -> Foreign:
    """Return a message of zeros."""
    message: Foreign = object.__new__(kind)
    message.values = list(kind.layout.zeros)
    return message


def _serialize(message: Foreign, *_: object, **__: object) -> bytes:
    return _LITTLE + message.layout.wire["<"].pack(*message.values)


def _deserialize(kind: Foreign, /, data: bytes, *_: object, **__: object) -> Foreign:
    message: Foreign = object.__new__(kind)
    known = len(data) > 4 and data[0] == 0 and data[1] in _LITTLE_KINDS + _BIG_KINDS
    wire = kind.layout.wire["<" if known and data[1] in _LITTLE_KINDS else ">"]
    message.values = list(wire.unpack_from(data, 4)) if known and len(data) >= 4 + wire.size else None
    return message


def _checksum(message: Foreign) -> int:
    """Return the checksum over the C structure without its last word, which stores the checksum."""
    return crc32(message.layout.memory.pack(*message.values)[:-4])


def _get(message: Foreign, name: str) -> list[float]:
    """Return all numbers of a field, such as ``motor_state.q``."""
    return [message.values[k] for k in message.layout.places[name]]


def _set(message: Foreign, name: str, numbers: Sequence[float]) -> None:
    """Set the first numbers of a field."""
    values = message.values
    for k, number in zip(message.layout.places[name], numbers):
        values[k] = number


def crc32(data: bytes) -> int:
    """Return the CRC-32 with polynomial 0x04C11DB7 over 32-bit words, highest bit first, initialised with ones.

    zlib uses the reflected form: the bits of every byte, and of the result, are reversed.
    """
    words = struct.unpack(f"<{len(data) // 4}I", data)
    mirrored = struct.pack(f">{len(words)}I", *words).translate(_REVERSED)
    return int(f"{zlib.crc32(mirrored) ^ 0xFFFFFFFF:032b}"[::-1], 2)


class Layout:
    """The layout of the numbers of a type: in the flat list by name, serialized, and in memory."""

    def __init__(self, kind: type) -> None:
        self.places: dict[str, list[int]] = {}
        self.codes: list[str] = []
        self._walk(kind, "")
        self.zeros = tuple(0.0 if code == "f" else 0 for code in self.codes)
        wire = _aligned(_flat(kind, nested=False))
        self.wire = {order: struct.Struct(order + wire) for order in "<>"}
        self.memory = struct.Struct("<" + _aligned(_flat(kind, nested=True)))

    def _walk(self, kind: type, path: str) -> None:
        for name, inner, count in _fields(kind):
            own = f"{path}{name}"
            for _ in range(count):
                if isinstance(inner, str):
                    self.places.setdefault(own, []).append(len(self.codes))
                    self.codes.append(inner)
                else:
                    self._walk(inner, f"{own}.")


def _fields(kind: type) -> list[tuple[str, Foreign, int]]:
    """Yield (name, code or nested type, count) of every field."""
    found = []
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        if typing.get_origin(hint) is ClassVar or name.startswith("_"):
            continue
        inner: Foreign = hint
        count = 1
        for note in getattr(hint, "__metadata__", ()):
            if isinstance(note, types.array):
                inner, count = note.subtype, note.length
        if not isinstance(inner, type) or not issubclass(inner, idl.IdlStruct):
            names: tuple[Foreign, ...] = getattr(inner, "__metadata__", (inner,))
            inner = _CODES[names[0]]
        found.append((name, inner, count))
    return found


def _flat(kind: type, nested: bool) -> list[tuple[str, int]]:
    """Return (code, alignment before it) of every number; with ``nested`` also ("", alignment) after structures."""
    found: list[tuple[str, int]] = []
    for _, inner, count in _fields(kind):
        for _ in range(count):
            found += [(inner, struct.calcsize(inner))] if isinstance(inner, str) else _flat(inner, nested)
    most = max(step for _, step in found)
    return [("", most), *found, ("", most)] if nested else found


def _aligned(codes: list[tuple[str, int]]) -> str:
    """Return a format for ``struct`` with explicit padding."""
    size, text = 0, ""
    for code, step in codes:
        gap = -size % step
        text += f"{gap}x" * bool(gap) + code
        size += gap + (struct.calcsize(code) if code else 0)
    return text


__all__ = ["Layout", "crc32", "fixed"]
