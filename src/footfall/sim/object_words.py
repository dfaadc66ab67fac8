"""Free bodies as text, for the command line and run files.

    box size=0.3,0.3,0.2 mass=1 position=0.8,0,0.1 friction=0.4; ball radius=0.1 mass=0.4 position=0,1,0.1

In a run file each is a table with the same keys:

    [[objects]]
    kind = "box"
    size = [0.3, 0.3, 0.2]
    mass = 1.0
    position = [0.8, 0.0, 0.1]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from footfall.contact.free_bodies import FreeBall, FreeBody, FreeBox
from footfall.errors import InputError, unknown
from nptrace._types import Given, Operand

KINDS: dict[str, type[FreeBody]] = {"box": FreeBox, "ball": FreeBall}
_NEEDED = {"box": ("size", "mass", "position"), "ball": ("radius", "mass", "position")}
_THREE = ("size", "position", "velocity", "omega")
_NOT_IN_WORDS = ("rotation",)  # nine numbers: yaw is used instead


def parse_objects(text: str | None) -> list[FreeBody]:
    """Parse the free bodies in a text, separated by ``;``."""
    return [_made(part) for part in (text or "").split(";") if part.strip()]


def in_words(tables: Given) -> str:
    """Return the tables of a run file as such a text; a text is returned unchanged."""
    if isinstance(tables, str):
        return tables
    if not isinstance(tables, list) or not tables or not all(isinstance(table, Mapping) for table in tables):
        raise InputError('objects of a run file are tables [[objects]] with a kind = "box" or "ball"')
    return "; ".join(_words(table) for table in tables)


def _words(table: Mapping[str, Given]) -> str:
    if "kind" not in table:
        raise InputError('an object of a run file needs a kind = "box" or "ball"')
    pairs = [f"{key}={_value(key, value)}" for key, value in table.items() if key != "kind"]
    return " ".join([str(table["kind"]), *pairs])


def _value(key: str, value: Given) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(_value(key, each) for each in value)
    text = repr(value) if isinstance(value, float) else str(value)
    if not text or any(character in text for character in " ;=,\t\n"):
        raise InputError(f"{key} of an object is a number, three numbers or a word, got {value!r}")
    return text


def _made(part: str) -> FreeBody:
    kind, *pairs = part.split()
    if kind not in KINDS:
        raise unknown("kind of object", kind, KINDS)
    known = tuple(field.name for field in dataclasses.fields(KINDS[kind]) if field.name not in _NOT_IN_WORDS)
    fields: dict[str, Given] = {}
    for pair in pairs:
        key, given, value = pair.partition("=")
        if key not in known:
            raise unknown(f"parameter of a {kind}", key, known)
        if not given or key in fields:
            raise InputError(f"an object has {key}=VALUE twice, got {part.strip()!r}")
        fields[key] = _read(key, value)
    for key in _NEEDED[kind]:
        if key not in fields:
            raise InputError(f"a {kind} needs {', '.join(_NEEDED[kind])}: {key} is missing in {part.strip()!r}")
    return KINDS[kind](**fields)


def _read(key: str, text: str) -> Operand:
    if key == "name":
        return text
    if key == "hollow":
        if text not in ("yes", "no"):
            raise InputError(f"hollow of a ball is yes or no, got {text!r}")
        return text == "yes"
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != (3 if key in _THREE else 1):
        wanted = "three numbers with commas" if key in _THREE else "a number"
        raise InputError(f"{key} of an object must be {wanted}, got {text!r}")
    return numbers if key in _THREE else numbers[0]


__all__ = ["KINDS", "in_words", "parse_objects"]
