"""The columns of a run: meaning, unit and shape of each standard column, and checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from footfall.control.command import Command
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from nptrace._types import Operand


class Standard(NamedTuple):
    """A standard column: the names of its dimensions after time, its unit, and its meaning."""

    dims: tuple[str, ...]
    unit: str
    meaning: str


STANDARD = {
    "time": Standard((), "s", "time"),
    "q": Standard(("coordinate",), "m, 1, rad", "base position, base quaternion w x y z, joint positions"),
    "v": Standard(("speed",), "rad/s, m/s, rad/s", "base angular and linear velocity in base axes, joint rates"),
    "command": Standard(
        ("part",),
        "m/s, m/s, rad/s, m, rad, rad",
        "commanded velocity and posture: forward, sideways, turn, height, roll, pitch",
    ),
    "command_position": Standard(("joint",), "rad", "commanded joint positions"),
    "command_velocity": Standard(("joint",), "rad/s", "commanded joint rates"),
    "command_torque": Standard(("joint",), "N m", "commanded feed-forward torque"),
    "torque": Standard(("joint",), "N m", "torque of the motors, as seen at the joints"),
    "rotor_position": Standard(("joint",), "rad", "angle of each motor's rotor behind its belt, as seen at the joint"),
    "rotor_velocity": Standard(("joint",), "rad/s", "rate of each motor's rotor behind its belt, as seen at the joint"),
    "brake": Standard(("joint",), "1", "whether the brake of each joint holds"),
    "force": Standard(("foot", "axis"), "N", "force of the ground on each foot in the last step, world axes"),
    "force_mean": Standard(("foot", "axis"), "N", "mean force of the ground on each foot over 10 ms, world axes"),
    "contact": Standard(("foot",), "1", "whether each foot touches the ground"),
    "kinetic": Standard((), "J", "kinetic energy, of rotors behind belts too"),
    "potential": Standard((), "J", "potential energy of gravity, joint springs and belts"),
    "work": Standard((), "J", "work of the motors since the start"),
    "spent": Standard((), "J", "positive work of the motors since the start: braking recovers nothing"),
    "contact_work": Standard((), "J", "work of the contact forces on the robot since the start"),
    "friction_work": Standard((), "J", "work of friction and damping in joints and belts on the robot since the start"),
    "self_distance": Standard((), "m", "least distance between two links of the robot, negative where they overlap"),
}
OBJECTS = {  # for free bodies, as many as a run has: position and quaternion; (ω, v) in their own axes
    "object_pose": "m, 1",
    "object_velocity": "rad/s, m/s",
}
PARTS = tuple(f.name for f in fields(Command))  # of a command
NEEDED = ("time", "q", "v")
_KINDS = {"b": "bool", "i": "int64", "u": "int64", "f": "float64"}


def unit_of(name: str) -> str:
    """Return the unit of a column; empty if none was given."""
    if name in STANDARD:
        return STANDARD[name].unit
    if name in OBJECTS:
        return OBJECTS[name]
    return "J" if name.endswith("_work") else ""


def sizes(robot: Robot) -> dict[str, int]:
    """Return the length of every named dimension."""
    return {
        "coordinate": robot.nq,
        "speed": robot.nv,
        "joint": robot.nj,
        "foot": robot.nf,
        "axis": 3,
        "part": len(PARTS),
    }


def dims_of(name: str, shape: tuple[int, ...], robot: Robot) -> tuple[str, ...]:
    """Return the names of the dimensions after time: standard ones by name, others by their sizes if only one
    matches.
    """
    if name in STANDARD:
        return STANDARD[name].dims
    known = {(robot.nj,): ("joint",), (robot.nf,): ("foot",), (3,): ("axis",), (robot.nf, 3): ("foot", "axis")}
    if shape in known and (shape != (3,) or robot.nj != 3):
        return known[shape]
    return tuple(f"{name}_{k}" for k in range(len(shape)))


def checked(columns: Mapping[str, Operand], robot: Robot, needed: tuple[str, ...] = NEEDED) -> dict[str, ndarray]:
    """Return the columns as arrays of float64, int64 or bool with a common length; raise an InputError that names
    one.
    """
    arrays: dict[str, ndarray] = {}
    for name in needed:
        if name not in columns:
            raise InputError(f"a recording needs the column '{name}': it has {', '.join(map(str, columns)) or 'none'}")
    extent = sizes(robot)
    for name, value in columns.items():
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii() or name.startswith("_"):
            raise InputError(f"a column's name must be a plain word, got {name!r}")
        array = np.asarray(value)
        if array.dtype.kind not in _KINDS or array.ndim == 0:
            raise InputError(f"column '{name}' must hold numbers along time, got {array.dtype} of shape {array.shape}")
        array = np.asarray(array != 0) if name == "contact" else array.astype(_KINDS[array.dtype.kind], copy=False)
        if name in STANDARD:
            shape = tuple(extent[d] for d in STANDARD[name].dims)
            if array.shape[1:] != shape:
                raise InputError(
                    f"column '{name}' of {robot.name} must have shape {_shape(shape)}, got {_shape(array.shape[1:])}"
                )
            if name != "contact":
                array = array.astype(float, copy=False)
        arrays[name] = array
    rows = len(arrays["time"])
    for name, array in arrays.items():
        if len(array) != rows:
            raise InputError(f"column '{name}' has {len(array)} rows, 'time' has {rows}")
    time = arrays["time"]
    if rows and not (np.isfinite(time).all() and time[0] >= 0 and (np.diff(time) >= 0).all()):
        raise InputError("the column 'time' must be finite, not negative, and must not decrease")
    return arrays


def _shape(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(["T", *map(str, shape)]) + ")"
