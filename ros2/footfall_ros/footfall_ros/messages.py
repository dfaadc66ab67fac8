"""Messages from dictionaries: real ones where ROS is installed, plain DDS ones where it is not."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from footfall.hardware.ros2_messages import PARTS

_ZEROS = {"string": "", "bool": False}


def filled(message: Any, values: Mapping[str, Any]) -> Any:
    """Set the fields of a ROS message, and of the messages in it, by their names; the others keep their defaults."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            filled(getattr(message, name), value)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            kind = _element(message, name)
            setattr(message, name, [filled(kind(), each) for each in value])
        else:
            setattr(message, name, value)
    return message


def _element(message: Any, name: str) -> Callable[[], Any]:
    """Return the class of a sequence's messages, by the name that ROS gives its type: ``sequence<pkg/Name>``."""
    kind = message.get_fields_and_field_types()[name].partition("<")[2].rstrip(">")
    return imported(kind)


def imported(kind: str) -> Any:
    """Return the class of a message, such as ``sensor_msgs/JointState``, of an installed ROS."""
    package, _, name = kind.partition("/")
    return getattr(importlib.import_module(f"{package}.msg"), name)


def built(kind: str, values: Mapping[str, Any], make: Callable[[str, dict[str, Any]], Any]) -> Any:
    """Return a message with all its fields, made from the inside out by ``make(kind, fields)``; others are zero."""
    fields: dict[str, Any] = {}
    for line in PARTS[kind].splitlines():
        of, name, *default = line.split()
        inner, _, many = of.partition("[")
        value = values.get(name)
        if many and inner in PARTS:
            fields[name] = [built(inner, each, make) for each in value or []]
        elif many:
            size = many.rstrip("]")
            fields[name] = list(value) if value is not None else [0.0] * int(size or 0)
        elif inner in PARTS:
            fields[name] = built(inner, value or {}, make)
        else:
            zero = _ZEROS.get(inner, type(0 if inner.startswith(("int", "uint")) else 0.0)(*map(float, default)))
            fields[name] = zero if value is None else value
    unknown = set(values) - set(fields)
    if unknown:
        raise ValueError(f"{kind} has no field {', '.join(sorted(unknown))}")
    return make(kind, fields)
