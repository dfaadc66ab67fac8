"""DDS types from text definitions: one line per field, ``float32[3] gyroscope``, nested types by name.

Every type is final and numbered in order, like those of ROS 2 and of Go2. Eight-bit fields become ``byte``: its
encoding is that of ``uint8``, but participants of cyclonedds 0.10 crash on the type objects that version 11 creates for
the latter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cyclonedds.idl import annotations as annotate
from cyclonedds.idl import make_idl_struct, types

from nptrace._types import Foreign

_PLAIN = {
    "uint8": types.byte,
    "int8": types.int8,
    "uint16": types.uint16,
    "int16": types.int16,
    "uint32": types.uint32,
    "int32": types.int32,
    "int64": types.int64,
    "float32": types.float32,
    "float64": types.float64,
    "bool": bool,
    "string": str,
}
_FIELD = re.compile(r"([\w/]+)(\[(\d*)\])? (\w+)")
_array: Foreign = types.array
_sequence: Foreign = types.sequence


def declared(definitions: Mapping[str, str], prefix: str = "") -> dict[str, Foreign]:
    """Return the types of definitions by name; ``pkg/Name`` is ``pkg::msg::dds_::Name_`` on the wire."""
    made: dict[str, Foreign] = {}
    for name in definitions:
        _declare(name, definitions, prefix, made)
    return made


def _declare(name: str, definitions: Mapping[str, str], prefix: str, made: dict[str, Foreign]) -> Foreign:
    if name in _PLAIN:
        return _PLAIN[name]
    if name not in made:
        fields: dict[str, Foreign] = {}
        for line in definitions[name].splitlines():
            found = _FIELD.match(line)
            assert found is not None, line
            kind, many, count, field = found.groups()
            inner = _declare(kind, definitions, prefix, made)
            if many:
                inner = _array[inner, int(count)] if count else _sequence[inner]
            fields[field] = inner
        package, _, own = (prefix + name).rpartition("/")
        struct = make_idl_struct(own, f"{package}.msg.dds_.{own}_", fields)
        made[name] = annotate.final(annotate.autoid("sequential")(struct))
    return made[name]


__all__ = ["declared"]
