"""A robot as JSON and back, without loss: equal digests, poses, provenance and notes.

Recordings contain their robot in this form, so that they open without its model file. The data is checked by the
constructors of all robots; nothing is evaluated. JSON has no infinities, so a joint without limits has ``"-inf"`` and
``"inf"``.
"""

from __future__ import annotations

import dataclasses
import json
import math
from typing import TypeVar

import numpy as np

from footfall._io.file_format import check_version
from footfall.errors import ModelError, unknown
from footfall.robot.model.description import Pose, Provenance, Robot
from footfall.robot.model.loops import Loop
from footfall.robot.model.parts import Actuator, FlatFoot, Foot, Joint, Link, Rotor
from nptrace._types import Given

FORMAT = 1
_NOT_KEPT = ("model_file",)  # a path on this machine, which an external file must not name
_SAME = 1e-12  # a unit vector that is normalised again may move its last bit
_Kind = TypeVar("_Kind")


def robot_to_json(robot: Robot) -> str:
    """Return the robot as one JSON object."""
    fields = {f.name: _plain(getattr(robot, f.name)) for f in dataclasses.fields(robot) if f.name not in _NOT_KEPT}
    return json.dumps({"format": FORMAT, **fields}, allow_nan=False)


def robot_from_json(text: str | bytes) -> Robot:
    """Return the robot of ``robot_to_json``."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"the robot is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise ModelError("the robot's JSON is not an object")
    check_version("the robot's JSON", data.pop("format", None), FORMAT, ModelError)
    fields = _known(Robot, data)
    for key, part in (
        ("links", _link),
        ("joints", _joint),
        ("feet", _foot),
        ("actuators", _actuator),
        ("loops", _loop),
    ):
        fields[key] = [part(entry) for entry in _sequence(fields.get(key, []), key)]
    for key, kind in (("poses", Pose), ("provenance", Provenance)):
        entries = fields.get(key, {})
        if not isinstance(entries, dict):
            raise ModelError(f"'{key}' of the robot's JSON must be an object, got {type(entries).__name__}")
        fields[key] = {name: _made(kind, entry) for name, entry in entries.items()}
    return _made(Robot, fields)


def _plain(value: Given) -> Given:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def _link(data: Given) -> Link:
    fields = _known(Link, data)
    if fields.get("mass") == 0:
        return Link.massless(fields.get("name", ""))
    if isinstance(fields.get("box"), list):
        fields["box"] = tuple(fields["box"])
    return _made(Link, fields)


def _joint(data: Given) -> Joint:
    fields = _known(Joint, data)
    if fields.get("rotor") is not None:
        fields["rotor"] = _made(Rotor, _known(Rotor, fields["rotor"]))
    joint = _made(Joint, fields)
    axis = np.array(fields.get("axis", joint.axis), dtype=float)
    if np.abs(axis - joint.axis).max() < _SAME:
        axis.setflags(write=False)
        object.__setattr__(joint, "axis", axis)
    return joint


def _foot(data: Given) -> Foot:
    kind = FlatFoot if isinstance(data, dict) and "sole" in data else Foot
    fields = _known(kind, data)
    if isinstance(fields.get("axis"), list):
        fields["axis"] = tuple(fields["axis"])
    return _made(kind, fields)


def _actuator(data: Given) -> Actuator:
    return _made(Actuator, _known(Actuator, data))


def _loop(data: Given) -> Loop:
    fields = _known(Loop, data)
    if isinstance(fields.get("coefficients"), list):
        fields["coefficients"] = tuple(fields["coefficients"])
    return _made(Loop, fields)


def _sequence(value: Given, key: str) -> list[Given]:
    if not isinstance(value, list):
        raise ModelError(f"'{key}' of the robot's JSON must be a list, got {type(value).__name__}")
    return value


def _known(kind: type, data: Given) -> dict[str, Given]:
    """Return the entries of a JSON object that is to become ``kind``; an unknown entry is an error."""
    if not isinstance(data, dict):
        raise ModelError(f"a {kind.__name__.lower()} of the robot's JSON must be an object, got {data!r}")
    names = [f.name for f in dataclasses.fields(kind) if f.name not in _NOT_KEPT]
    for key in data:
        if key not in names:
            raise ModelError(str(unknown(f"entry of a {kind.__name__.lower()}", key, names, "it has")))
    return dict(data)


def _made(kind: type[_Kind], fields: Given) -> _Kind:
    try:
        return kind(**fields)
    except (TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"a {kind.__name__.lower()} of the robot's JSON is malformed: {error}") from None
