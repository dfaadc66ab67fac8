"""Structures around an exported C function: named inputs, parameters, memory and outputs.

The header documents units, frames, the order of joints and feet, the rate, and the initial memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

from footfall.robot.model.description import Robot
from nptrace.codegen.c_emitter import CEmitter, identifier
from nptrace.codegen.c_source import CFunction
from nptrace.frontend import tree

_ROLES = {"input": "in", "output": "out"}  # names of arguments, not of functions, one of which is ``output``
# the first part of a label: the same structure before and after a tick
_Field = tuple[Any, ...]  # (group, member, shape), and descriptions for the header
KEPT = {"memory": "memory_after", "state": "after"}


@dataclass(frozen=True, kw_only=True)
class Calling:
    """Facts for the caller of an exported function: descriptions by label, initial memory or state, parameters,
    rate.
    """

    words: Mapping[str, str]
    notes: str
    rate: float | None = None  # [Hz]
    # values by label: of the memory or state, of the parameters
    start: Mapping[str, ndarray] = field(default_factory=dict)
    joints: Sequence[str] = ()
    feet: Sequence[str] = ()


def calling(
    robot: Robot, rate: float | None = None, start: Mapping[str, ndarray] | None = None, notes: str = ""
) -> Calling:
    """Describe the arrays of a robot's functions.

    Args:
        robot: The robot.
        rate: Calls per second [Hz], if there is a rate.
        start: Numbers before the first call, by label.
        notes: Further lines for the header.

    Returns:
        Descriptions of the known labels, and notes for the header.
    """
    joints, feet = robot.joint_names, [foot.name for foot in robot.feet]
    pose = "base position in world axes [m], unit quaternion (w, x, y, z) from base to world axes, " * robot.floating
    twist = "angular velocity [rad/s], then linear velocity [m/s] of the base, both in base axes, " * robot.floating
    words = {
        "time": "time since the start [s]",
        "t": "time since the start [s]",
        "heights": "height of the ground at the places that the policy sees, against where the trunk would stand [m]",
        "q": f"{pose}joint positions [rad; m of a sliding joint]",
        "v": f"{twist}joint velocities [rad/s; m/s]",
        "forces": "force of the ground on each foot, world axes, z up [N]",
        "push": "moment [N m], then force [N] on the base at its origin, world axes",
        "position": "target of each joint [rad]",
        "velocity": "target of each joint [rad/s]",
        "kp": "stiffness of each joint [N m/rad]",
        "kd": "damping of each joint [N m s/rad]",
        "torque": "feedforward of each joint [N m]; motor: torque + kp (position - q) + kd (velocity - v)",
        "motor": "torque of each motor in the last step [N m]",
        "tick": "ticks since the start",
        "joints": "joint positions [rad]",
        "feet": "position of each foot in the frame of the body that carries its leg [m]",
        "x": "state of the block: q, then v",
        "u": "joint torques [N m]",
        "command": "forward, sideways (left) [m/s], turn (left) [rad/s], height above nominal [m], roll, pitch [rad]",
    }
    lines = [f"Robot {robot.name}. SI units; x forward, y left, z up."]
    if robot.floating:
        lines.append("Quaternions are (w, x, y, z); velocities of the base are in base axes, angular before linear.")
    lines += _listed("Joints, in the order of every array of joints", joints)
    if feet:
        lines += _listed("Feet, in the order of every array of feet", feet)
    if rate is not None:
        lines.append(f"Call it {rate:g} times a second ({1 / rate:g} s apart).")
    return Calling(
        words=words,
        notes="\n".join([*lines, *notes.splitlines()]),
        rate=rate,
        start=start or {},
        joints=joints,
        feet=feet,
    )


def _listed(title: str, names: Sequence[str]) -> list[str]:
    lines, text = [], f"{title}: "
    for k, name in enumerate(names):
        word = f"{k} {name}" + ("," if k + 1 < len(names) else ".")
        if len(text) + len(word) > 96:
            lines.append(text.rstrip())
            text = "    "
        text += word + " "
    return [*lines, text.rstrip()]


def words_of(labels: Sequence[str], about: Calling) -> dict[str, str]:
    """Return a description of each array, by its label or the last part of it; arrays without one are omitted."""
    commands = sum(label.startswith("command.") for label in labels) > 1  # the command to the joints, not the user's
    found = {label: about.words.get(label) or about.words.get(label.rpartition(".")[2], "") for label in labels}
    return {label: word for label, word in found.items() if word and not (label == "command" and commands)}


def structures(
    function: CFunction, arguments: Sequence[str], outputs: Sequence[str], about: Calling
) -> tuple[str, str]:
    """Return declarations for the header and definitions for the source.

    Args:
        function: The function with one argument for each array.
        arguments: Label of each input, such as ``memory.phase``.
        outputs: Label of each output.
        about: Facts for the caller.

    Returns:
        Text for the header, text for the source.
    """
    name, kind = function.name, function.kind
    words = words_of([*arguments, *outputs], about)
    inputs = [(*each, words.get(label, "")) for each, label in zip(_fields(function.ins, arguments), arguments)]
    results = [(*each, words.get(label, "")) for each, label in zip(_fields(function.outs, outputs), outputs)]
    kept = next((key for key in KEPT if any(label.split(".")[0] == key for label in arguments)), None)
    groups = {
        "parameters": [f for f in inputs if f[0] == "parameters"],
        "input": [f for f in inputs if f[0] not in ("parameters", kept)],
        kept or "memory": [f for f in inputs if f[0] == kept],
        "output": [f for f in results if kept is None or f[0] != KEPT[kept]],
    }
    groups = {key: fields for key, fields in groups.items() if any(tree.size(shape) for _, _, shape, _ in fields)}
    text = ["\n/* The same with structures. */\n"]
    for group, fields in groups.items():
        members = [_member(kind, member, shape, word) for _, member, shape, word in fields if tree.size(shape)]
        text.append(f"typedef struct {{\n{''.join(members)}}} {name}_{group};\n")
    works = ([f"    {kind} numbers[{function.work}];\n"] if function.work else []) + (
        [f"    {name}_{kept} next;\n"] if kept in groups else []
    )
    if works:
        text.append(f"typedef struct {{ /* contents irrelevant before and after */\n{''.join(works)}}} {name}_work;\n")
    if about.rate is not None:
        text.append(f"#define {name.upper()}_RATE {about.rate!r} /* calls a second */\n")
    constants, source = [], []
    for group, first in (("parameters", "defaults"), (kept or "memory", "start")):
        if group in groups and all(_label(group, f) in about.start for f in groups[group]):
            when = "which the program has been tested with" if first == "defaults" else "before the first call"
            constants.append(f"extern const {name}_{group} {name}_{first}; /* {when} */\n")
            source.append(_initial(function, f"{name}_{group}", f"{name}_{first}", group, groups[group], about))
    for what, names in (("joints", about.joints), ("feet", about.feet)):
        if names:
            constants.append(f"extern const char *const {name}_{what}[{len(names)}]; /* their names, in order */\n")
            quoted = ", ".join('"' + x.replace("\\", "").replace('"', "") + '"' for x in names)
            source.append(f"const char *const {name}_{what}[{len(names)}] = {{{quoted}}};\n")
    signature = _signature(name, groups, kept, bool(works))
    text += [*constants, f"{signature};\n"]
    source.append(f"{signature}\n{{\n{_call(function, arguments, outputs, kept, groups)}}}\n")
    return "".join(text), "\n" + "\n".join(source)


def _fields(shapes: Sequence[tuple[str, tuple[int, ...]]], labels: Sequence[str]) -> list[_Field]:
    """Return (group, member, shape) of every array."""
    out: list[_Field] = []
    for (_, shape), label in zip(shapes, labels):
        group, _, rest = label.partition(".")
        grouped = group in ("parameters", "joint", *KEPT, *KEPT.values())
        member = identifier(
            (rest or "numbers") if grouped else label, [m for g, m, _ in out if g == group or not grouped]
        )
        out.append((group, member, shape))
    return out


def _label(group: str, fields: _Field) -> str:
    return f"{group}.{fields[1]}"


def _member(kind: str, member: str, shape: tuple[int, ...], word: str) -> str:
    size = f"[{tree.size(shape)}]" if shape else ""
    rows = f"{' x '.join(map(str, shape))}, row by row" if len(shape) > 1 else ""
    note = "; ".join(x for x in (rows, word) if x)
    return f"    {kind} {member}{size};" + (f" /* {note} */" if note else "") + "\n"


def _initial(function: CFunction, of: str, name: str, group: str, fields: Sequence[_Field], about: Calling) -> str:
    e, lines = CEmitter(function.dtype, fused=False), []
    for each in fields:
        numbers = [e.const(float(x)) for x in np.ravel(about.start[_label(group, each)])]
        if not numbers:
            continue
        rows = [", ".join(numbers[k : k + 6]) for k in range(0, len(numbers), 6)]
        joined = ",\n     ".join(rows)
        lines.append(f"    {{{joined}}}" if each[2] else f"    {joined}")
    return f"const {of} {name} = {{\n" + ",\n".join(lines) + "\n};\n"


def _signature(name: str, groups: Mapping[str, Sequence[_Field]], kept: str | None, work: bool) -> str:
    parts = []
    for group in groups:
        const = "const " if group in ("parameters", "input") else ""
        parts.append(f"{const}{name}_{group} *{_ROLES.get(group, group)}")
    return f"void {name}_tick({', '.join([*parts, *([f'{name}_work *work'] if work else [])])})"


def _call(
    function: CFunction,
    arguments: Sequence[str],
    outputs: Sequence[str],
    kept: str | None,
    groups: Mapping[str, Sequence[_Field]],
) -> str:
    given = []
    for fields, labels, way in ((function.ins, arguments, "input"), (function.outs, outputs, "output")):
        for (_, shape), (group, member, _) in zip(fields, _fields(fields, labels)):
            if not tree.size(shape):
                continue
            owner = group if group == "parameters" or (way == "input" and group == kept) else _ROLES[way]
            if way == "output" and kept is not None and group == KEPT[kept]:
                owner = "work->next"
            access = f"{owner}.{member}" if "." in owner or "->" in owner else f"{owner}->{member}"
            given.append(access if shape else f"&{access}")
    lines = [f"    {function.name}({', '.join([*given, *(['work->numbers'] if function.work else [])])});\n"]
    if kept in groups:
        lines.append(f"    *{kept} = work->next;\n")
    return "".join(lines)
