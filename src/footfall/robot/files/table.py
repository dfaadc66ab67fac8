"""Robots from TOML tables: the arguments of ``quadruped``, or a Denavit-Hartenberg table of a leg.

``footfall robots new mydog.toml`` writes an annotated one; every command accepts such a file as a robot.
A file has either a table ``[quadruped]`` or a table ``[leg]``, which is a left fore leg: the others are its mirror
images. Any number in it can be changed by its path on loading, as in sweeps: ``quadruped.segments.1``.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from footfall._io.toml_file import parse_toml, read_toml_text
from footfall.checks import is_number, number_from_zero, positive_number, three_numbers
from footfall.errors import FootfallError, InputError, ModelError, unknown
from footfall.robot.model import dh
from footfall.robot.model.description import Actuator, Foot, Joint, Link, Provenance, Robot
from footfall.robot.model.legs import LEGS, leg_vector
from footfall.robot.model.parametric import quadruped
from footfall.robot.model.shapes import box_inertia
from footfall.spatial.transform import Transform
from nptrace._types import Given

VERSION = 1
_TOP = ("version", "name", "quadruped", "trunk", "leg")


def is_table(path: Path) -> bool:
    """Return whether a TOML file describes a robot, rather than a run."""
    if path.suffix.lower() != ".toml" or not path.is_file():
        return False
    found = parse_toml(read_toml_text(path, "the file"), str(path))
    return "robot" not in found and bool({"quadruped", "leg"} & set(found))


def load_table(path: Path, changes: Mapping[str, Given] | None = None) -> Robot:
    """Read a robot from a TOML table.

    Args:
        path: The file.
        changes: Values by their path in the file, ``{"quadruped.trunk_mass": 7.0, "leg.rows.2.a": 0.12}``.

    Returns:
        The robot.
    """
    table = parse_toml(read_toml_text(path, "the robot's table"), str(path))
    for place, value in (changes or {}).items():
        table = _changed(table, place, value, path.name)
    try:
        return _robot(table, path)
    except FootfallError as error:
        raise ModelError(f"{path.name}: {error}") from None


def _robot(table: Mapping[str, Given], path: Path) -> Robot:
    for key in table:
        if key not in _TOP:
            raise unknown("key of a robot's table", key, _TOP, "it has")
    if table.get("version") != VERSION:
        raise InputError(f"this footfall reads version = {VERSION} of robots' tables, got {table.get('version')!r}")
    kinds = [kind for kind in ("quadruped", "leg") if kind in table]
    if len(kinds) != 1:
        raise InputError("a robot's table has either [quadruped] or [leg] (with [trunk])")
    name = table.get("name", path.stem)
    if not isinstance(name, str) or not name:
        raise InputError(f"the name of a robot is a string, got {name!r}")
    robot = _of_lengths(name, table) if kinds == ["quadruped"] else _of_dh(name, table)
    source = Provenance("chosen", f"the table {path.name}")
    return robot.replace(provenance={"*": source})


# -- the arguments of quadruped ----------------------------------------------------------------------------------------
def _numbers(value: Given) -> bool:
    return isinstance(value, list) and all(is_number(x) for x in value)


def _names(value: Given) -> bool:
    return isinstance(value, list) and all(isinstance(x, str) for x in value)


def _bounded(value: Given) -> bool:
    """Return a check for pairs of numbers, one of which may be infinite."""
    pairs = isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
    return pairs and all(type(x) in (int, float) and not math.isnan(x) for pair in value for x in pair)


_QUADRUPED: dict[str, tuple[Callable[[Given], bool], str]] = {
    "trunk_size": (_numbers, "three lengths [m]"),
    "trunk_mass": (is_number, "a mass [kg]"),
    "hips": (
        lambda x: _numbers(x) or (isinstance(x, dict) and all(map(_numbers, x.values()))),
        "three numbers [m], or these by leg",
    ),
    "axes": (_names, "names: roll, pitch, yaw"),
    "segments": (
        lambda x: isinstance(x, list) and all(is_number(each) or _numbers(each) for each in x),
        "lengths or vectors [m]",
    ),
    "segment_masses": (_numbers, "masses [kg]"),
    "thickness": (is_number, "a length [m]"),
    "shape": (lambda x: isinstance(x, str), "box or rod"),
    "spine": (_names, "names: roll, pitch, yaw"),
    "foot_radius": (is_number, "a length [m]"),
    "knees": (
        lambda x: isinstance(x, str) or (isinstance(x, dict) and all(isinstance(k, str) for k in x.values())),
        "behind or front, or these by leg",
    ),
    "crouch": (is_number, "a number between 0 and 1"),
    "limits": (_bounded, "pairs of angles [rad]"),
    "torque_limit": (lambda x: type(x) in (int, float) and x > 0, "a torque [N m]"),
    "damping": (is_number, "a number [N m s/rad]"),
    "armature": (is_number, "an inertia [kg m²]"),
}


def _of_lengths(name: str, table: Mapping[str, Given]) -> Robot:
    for key in ("trunk", "leg"):
        if key in table:
            raise InputError(f"[{key}] belongs to a Denavit-Hartenberg table: [quadruped] has its own keys")
    given = _table(table["quadruped"], "quadruped")
    for key, value in given.items():
        if key not in _QUADRUPED:
            raise unknown("key of [quadruped]", key, _QUADRUPED, "it has")
        fits, words = _QUADRUPED[key]
        if not fits(value):
            raise InputError(f"{key} of [quadruped] is {words}, got {value!r}")
    for key in ("damping", "armature"):
        number_from_zero(given.get(key, 0.0), f"{key} of [quadruped]")
    if "limits" in given:
        given["limits"] = [tuple(map(float, pair)) for pair in given["limits"]]
    return quadruped(name, **given)


# -- a Denavit-Hartenberg table ----------------------------------------------------------------------------------------
_LEG = ("mount", "convention", "foot_radius", "rows")
_ROW = ("theta", "d", "a", "alpha", "joint", "kind")
_LINK = ("mass", "size", "com", "lower", "upper", "torque", "damping", "armature")


def _of_dh(name: str, table: Mapping[str, Given]) -> Robot:
    if "trunk" not in table:
        raise InputError("a Denavit-Hartenberg table of a leg needs a [trunk] with mass and size")
    trunk, leg = _table(table["trunk"], "trunk"), _table(table["leg"], "leg")
    for where, own, known in (("trunk", trunk, ("mass", "size")), ("leg", leg, _LEG)):
        for key in own:
            if key not in known:
                raise unknown(f"key of [{where}]", key, known, "it has")
    mass, size = _box(trunk, "the trunk")
    mount = three_numbers(leg.get("mount", [0.5 * size[0], 0.5 * size[1], 0.0]), "mount of [leg]")
    convention = leg.get("convention", "standard")
    rows = leg.get("rows")
    if not isinstance(rows, list) or not rows:
        raise InputError("[leg] needs rows: [[leg.rows]] with theta, d, a, alpha and joint")
    rows = [_row(row, k) for k, row in enumerate(rows)]
    left = _chain(rows, convention)
    radius = number_from_zero(leg.get("foot_radius", 0.0), "foot_radius of [leg]")
    torques = {row["joint"]: float(row.get("torque", math.inf)) for row in rows if "joint" in row}
    links = [Link(name="trunk", mass=mass, inertia=box_inertia(mass, size), box=size)]
    joints, feet, motors = list[Joint](), list[Foot](), list[Actuator]()
    for foot, (_, side) in LEGS.items():
        more_links, more_joints, end = _mirrored(left, foot, leg_vector(foot, mount.tolist()), side)
        links, joints = links + more_links, joints + more_joints
        feet.append(Foot(name=foot, link=links[-1].name, position=end, radius=radius))
        motors += [Actuator(joint=f"{foot}_{joint}", torque_limit=most) for joint, most in torques.items()]
    return Robot(name=name, links=links, joints=joints, feet=feet, actuators=motors)


def _row(row: Given, k: int) -> dict[str, Given]:
    """Return a row of the file, checked."""
    what = f"row {k} of [leg]"
    found = _table(row, what)
    moving = "joint" in found
    known = (*_ROW, *_LINK) if moving else ("theta", "d", "a", "alpha")
    for key, value in found.items():
        if key not in known:
            raise unknown(f"key of {what}", key, known, "it has" if moving else "a row without a joint has")
        if key in ("joint", "kind"):
            if not isinstance(value, str) or not value:
                raise InputError(f"{key} of {what} must be a word, got {value!r}")
        elif key in ("size", "com"):
            three_numbers(value, f"{key} of {what}")
        elif key == "torque":
            if type(value) not in (int, float) or not value > 0:
                raise InputError(f"torque of {what} is a limit above zero [N m], got {value!r}")
        elif key in ("lower", "upper"):
            if type(value) not in (int, float) or math.isnan(value):
                raise InputError(f"{key} of {what} must be an angle [rad], got {value!r}")
        elif not is_number(value):
            raise InputError(f"{key} of {what} must be a finite number, got {value!r}")
    return found


def _chain(rows: list[dict[str, Given]], convention: Given) -> dh.Chain:
    """Return the left fore leg, with its joints named as in the file."""
    links, settings, made = dict[str, Link](), dict[str, dict[str, Given]](), []
    for k, row in enumerate(rows):
        made.append(dh.Row(**{key: value for key, value in row.items() if key in _ROW}))
        if "joint" in row:
            mass, size = _box(row, f"row {k} of [leg]")
            com = three_numbers(row.get("com", [0.0, 0.0, 0.0]), f"com of row {k} of [leg]")
            links[row["joint"]] = Link(name=row["joint"], mass=mass, com=com, inertia=box_inertia(mass, size), box=size)
            keys = ("lower", "upper", "damping", "armature")
            settings[row["joint"]] = {key: float(row[key]) for key in keys if key in row}
    return dh.chain(made, "trunk", links, Transform.identity(), settings, str(convention))


def _mirrored(left: dh.Chain, foot: str, origin: np.ndarray, side: int) -> tuple[list[Link], list[Joint], np.ndarray]:
    """Return links and joints of a leg, and the position of its foot on the last link.

    On the right y changes sign, and joints rotate in the same direction as on the left: a roll or yaw joint, whose
    mirror image rotates in the opposite direction, has its limits swapped.
    """
    mirror = np.array([1.0, side, 1.0])
    links = [dataclasses.replace(link, name=f"{foot}_{link.name}", com=mirror * link.com + 0.0) for link in left.links]
    joints = []
    for k, joint in enumerate(left.joints):
        turned = side < 0 and joint.kind == "revolute" and abs(joint.axis[1]) < 0.5
        low, high = (-joint.upper, -joint.lower) if turned else (joint.lower, joint.upper)
        axis = joint.axis
        if side < 0 and joint.kind == "revolute":  # its mirror image, rotating in the same direction as on the left
            axis = axis * np.array([1.0, -1.0, 1.0]) if turned else axis * np.array([-1.0, 1.0, -1.0])
        elif side < 0:
            axis = axis * mirror
        joints.append(
            dataclasses.replace(
                joint,
                name=f"{foot}_{joint.name}",
                parent="trunk" if k == 0 else f"{foot}_{joint.parent}",
                child=f"{foot}_{joint.child}",
                origin=mirror * joint.origin + (origin if k == 0 else 0.0),
                axis=axis + 0.0,
                lower=low,
                upper=high,
            )
        )
    return links, joints, mirror * left.X_LT.p + 0.0


def _box(table: Mapping[str, Given], what: str) -> tuple[float, tuple[float, float, float]]:
    for key in ("mass", "size"):
        if key not in table:
            raise InputError(f"{what} needs its {key}: mass [kg] and size, three lengths [m]")
    sides = three_numbers(table["size"], f"size of {what}")
    x, y, z = (positive_number(side, f"a length of {what}") for side in sides.tolist())
    return positive_number(table["mass"], f"mass of {what}"), (x, y, z)


def _table(value: Given, what: str) -> dict[str, Given]:
    if not isinstance(value, dict):
        raise InputError(f"{what} must be a table, got {value!r}")
    return dict(value)


# -- changes -----------------------------------------------------------------------------------------------------------
def _changed(table: dict[str, Given], place: str, value: Given, where: str) -> dict[str, Given]:
    """Return a table with the value at a path, ``quadruped.segments.1``, replaced; an argument may be new."""
    table = copy.deepcopy(table)
    here: Given = table
    *path, last = place.split(".")
    for key in path:
        here = _inside(here, key, place, where)
    if isinstance(here, list):
        here[_index(here, last, place, where)] = value
    elif isinstance(here, dict):
        here[last] = value  # whether such a key exists is checked with the rest
    else:
        raise InputError(f"{where} has no '{place}'")
    return table


def _inside(here: Given, key: str, place: str, where: str) -> Given:
    if isinstance(here, list):
        return here[_index(here, key, place, where)]
    if isinstance(here, dict) and key in here:
        return here[key]
    raise InputError(f"{where} has no '{place}': there is no '{key}'")


def _index(here: list[Given], key: str, place: str, where: str) -> int:
    if not key.isdigit() or int(key) >= len(here):
        raise InputError(f"{where} has no '{place}': a list of {len(here)} has the places 0 to {len(here) - 1}")
    return int(key)


# -- examples ----------------------------------------------------------------------------------------------------------
EXAMPLES = {
    "quadruped": """\
# A quadruped from lengths and masses. Every command takes this file in place of a robot's name:
#   footfall verify {file}
#   footfall simulate {file} --controller whole_body --speed 0.3
#   footfall export {file} urdf --out models
# SI units. x is forward, y left, z up. What is left out keeps its usual value.
version = 1
name = "{name}"

[quadruped]
trunk_size = [0.40, 0.20, 0.10]           # box [m]
trunk_mass = 6.0                          # [kg]
axes = ["roll", "pitch", "pitch"]         # of the joints of a leg, from the trunk outwards: roll, pitch, yaw; 2 to 4
segments = [[0.0, 0.06, 0.0], 0.20, 0.20] # what each joint carries: a length straight down, or a vector of the left
                                          # fore leg [m]
segment_masses = [0.5, 0.6, 0.15]         # [kg]
thickness = 0.03                          # of the segments [m]
shape = "box"                             # of the segments: box or rod
# hips = [0.20, 0.10, 0.0]                # first joint of the left fore leg [m]; the trunk's corner unless given
# spine = ["pitch"]                       # joints that cut the trunk: roll, pitch, yaw; any number
foot_radius = 0.02                        # [m]
knees = "behind"                          # or front; or by leg: {{LF = "behind", RF = "behind", LH = "front", ...}}
crouch = 0.85                             # height of the hips when standing, as a fraction of the stretched leg
limits = [[-0.8, 0.8], [-2.0, 2.0], [-2.6, 2.6]]  # of each joint [rad]
torque_limit = 20.0                       # of every joint [N m]
damping = 0.01                            # of every joint [N m s/rad]
armature = 0.005                          # of every joint [kg m^2]
""",
    "dh": """\
# A quadruped whose legs are given by a Denavit-Hartenberg table. Every command takes this file as a robot:
#   footfall verify {file}
#   footfall simulate {file} --speed 0.2
#   footfall derive {file} forward_kinematics --leg LF
# SI units, angles in radians. x is forward, y left, z up.
version = 1
name = "{name}"

[trunk]
mass = 1.5                     # [kg]
size = [0.30, 0.12, 0.06]      # box [m]

[leg]                          # the left fore leg; the others are its mirror images
mount = [0.14, 0.05, 0.0]      # where its table starts on the trunk [m]
convention = "standard"        # a row is Rz(theta) Tz(d) Tx(a) Rx(alpha); modified: Rx(alpha) Tx(a) Rz(theta) Tz(d)
foot_radius = 0.01             # of the sphere at the last frame [m]

[[leg.rows]]                   # rows without a joint are constant
alpha = 1.5707963267948966

[[leg.rows]]
theta = -1.5707963267948966

[[leg.rows]]
joint = "hip"                  # theta varies (d, with kind = "prismatic")
d = -0.03
alpha = 1.5707963267948966
mass = 0.20                    # of the joint's link, a box, in axes parallel to the trunk's when all joints are zero
size = [0.04, 0.03, 0.04]
com = [0.0, 0.015, 0.0]        # centre of mass from the joint [m]
lower = -1.6
upper = 1.6
torque = 3.1                   # limit of its motor [N m]

[[leg.rows]]
joint = "abad"
a = 0.10
alpha = -1.5707963267948966
mass = 0.15
size = [0.03, 0.02, 0.10]
com = [0.0, 0.0, -0.05]
lower = -0.8
upper = 0.8
torque = 3.1

[[leg.rows]]
joint = "knee"
a = 0.125
mass = 0.15
size = [0.025, 0.02, 0.125]
com = [0.0, 0.0, -0.0625]
lower = -2.4
upper = 2.4
torque = 3.1
""",
}


def example(kind: str, path: Path) -> str:
    """Return the text of an annotated table for a file: ``quadruped`` or ``dh``."""
    if kind not in EXAMPLES:
        raise unknown("kind of table", kind, EXAMPLES)
    name = "".join(letter if letter.isalnum() or letter in "_-" else "_" for letter in path.stem) or "robot"
    return EXAMPLES[kind].format(name=name, file=path.name)


__all__ = ["EXAMPLES", "VERSION", "example", "is_table", "load_table"]
