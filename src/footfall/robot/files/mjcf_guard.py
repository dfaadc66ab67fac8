"""A sanitised copy of MJCF for MuJoCo: includes resolved inside the package, and only elements that dynamics needs.

MuJoCo's reader follows ``../`` paths, replicates elements without limit, and accepts infinite masses. It is given a
copy with a small set of elements and attributes, with every number checked. Meshes are removed: a mesh geom becomes a
small massless sphere in its place, and is remembered as a possible foot.
"""

from __future__ import annotations

import copy
import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np
from numpy import ndarray

from footfall.errors import ModelError
from footfall.robot.files.feet import is_foot_name
from footfall.robot.files.guard import (
    MOST_DEPTH,
    MOST_ELEMENTS,
    MOST_LINKS,
    MOST_VALUE,
    Package,
    label,
    numbers,
    parse_xml,
    read_bytes,
    shown,
)
from footfall.robot.files.mjcf_equalities import passed_equalities
from footfall.spatial.gravity import GRAVITY

ACTUATORS = ("motor", "position", "velocity", "intvelocity", "general")
_MOST_INCLUDES = 50
# MuJoCo's time grows with the squares of these
_MOST = {
    "body": MOST_LINKS,
    "geom": 5000,
    "site": 5000,
    "default": 500,
    "key": 200,
    "joint": 6 * MOST_LINKS,
    "motor": MOST_LINKS,
}
_WORD = None  # an attribute that is not a number
_Counts = dict[str, "tuple[int, int] | None"]
_TURN: _Counts = {"quat": (4, 4), "axisangle": (4, 4), "xyaxes": (6, 6), "zaxis": (3, 3), "euler": (3, 3)}
_ACTUATOR: _Counts = {
    "name": _WORD,
    "class": _WORD,
    "joint": _WORD,
    "jointinparent": _WORD,
    "ctrllimited": _WORD,
    "forcelimited": _WORD,
    "ctrlrange": (2, 2),
    "forcerange": (2, 2),
    "gear": (1, 6),
}
_PASSED: dict[str, _Counts] = {
    "compiler": {
        "angle": _WORD,
        "autolimits": _WORD,
        "eulerseq": _WORD,
        "inertiafromgeom": _WORD,
        "balanceinertia": _WORD,
        "boundmass": (1, 1),
        "boundinertia": (1, 1),
        "settotalmass": (1, 1),
        "inertiagrouprange": (2, 2),
    },
    "default": {"class": _WORD},
    "worldbody": {},
    "body": {"name": _WORD, "childclass": _WORD, "pos": (3, 3), **_TURN},
    "frame": {"name": _WORD, "childclass": _WORD, "pos": (3, 3), **_TURN},
    "inertial": {"pos": (3, 3), "mass": (1, 1), "diaginertia": (3, 3), "fullinertia": (6, 6), **_TURN},
    "freejoint": {"name": _WORD},
    "joint": {
        "name": _WORD,
        "class": _WORD,
        "type": _WORD,
        "limited": _WORD,
        "actuatorfrclimited": _WORD,
        "pos": (3, 3),
        "axis": (3, 3),
        "range": (2, 2),
        "ref": (1, 1),
        "springref": (1, 1),
        "damping": (1, 1),
        "stiffness": (1, 1),
        "frictionloss": (1, 1),
        "armature": (1, 1),
        "actuatorfrcrange": (2, 2),
        "springdamper": (2, 2),
    },
    "geom": {
        "name": _WORD,
        "class": _WORD,
        "type": _WORD,
        "size": (1, 3),
        "pos": (3, 3),
        "fromto": (6, 6),
        "mass": (1, 1),
        "density": (1, 1),
        "shellinertia": _WORD,
        "contype": (1, 1),
        "conaffinity": (1, 1),
        "group": (1, 1),
        "friction": (1, 3),
        **_TURN,
    },
    "site": {
        "name": _WORD,
        "class": _WORD,
        "type": _WORD,
        "size": (1, 3),
        "pos": (3, 3),
        "fromto": (6, 6),
        **_TURN,
    },
    "actuator": {},
    **dict.fromkeys(ACTUATORS, _ACTUATOR),
    "keyframe": {},
    "key": {"name": _WORD, "qpos": (0, 8 * MOST_LINKS)},
}
_INSIDE = {
    "mujoco": ("compiler", "default", "worldbody", "actuator", "keyframe"),
    "default": ("default", "joint", "geom", "site", *ACTUATORS),
    "worldbody": ("body", "frame", "geom"),
    "body": ("body", "frame", "geom", "site", "joint", "freejoint", "inertial"),
    "frame": ("body", "frame", "geom", "site", "joint", "freejoint"),
    "actuator": ACTUATORS,
    "keyframe": ("key",),
}
_REFUSED = {
    "replicate": "repeats its content",
    "composite": "makes many bodies",
    "flexcomp": "is not rigid",
    "attach": "attaches another model",
    "plugin": "needs a plugin",
}
_WHOLE = ("contype", "conaffinity", "group")  # MuJoCo reads these as 32-bit integers
_MESHLIKE = ("mesh", "hfield", "sdf")
_PLACEHOLDER = {"type": "sphere", "size": "0.001", "mass": "0"}


@dataclass
class MeshAsset:
    """A mesh asset: its file, if it exists, and its scale."""

    file: Path | None
    scale: ndarray


@dataclass(kw_only=True)
class CleanMjcf:
    """A copy for MuJoCo, and what was removed from it."""

    root: ET.Element
    meshes: dict[str, MeshAsset] = field(default_factory=dict)  # name of a geom -> its mesh
    weighed: set[str] = field(default_factory=set)  # bodies whose mass would come from a mesh
    invented: set[str] = field(default_factory=set)  # names that the file does not define
    called: dict[str, tuple[str, ...]] = field(default_factory=dict)  # name of a geom -> its mesh and its class
    frictions: set[str] = field(default_factory=set)  # geoms whose friction is defined in the file
    remarks: list[str] = field(default_factory=list)


def clean(root: ET.Element, package: Package) -> CleanMjcf:
    """Return the sanitised copy of a ``<mujoco>`` element; raise for anything dangerous or unsupported."""
    where = package.model.name
    root = _included(root, package)
    _check_size(root, where)
    result = CleanMjcf(root=ET.Element("mujoco", model=root.get("model", package.model.stem)))
    assets = _meshes(root, package)
    for section in root:
        if section.tag in _INSIDE["mujoco"]:
            result.root.append(_passed(section))
    check_texts(result.root, where)
    geoms = _Geoms(root, result, assets)
    geoms.replace()
    _name_all(result)
    equalities, unknown = passed_equalities(root, result.root)
    check_texts(equalities, where)
    result.root.append(equalities)
    left = [*left_out(root), *unknown]
    if left:
        verb = "is" if left == ["gravity compensation"] else "are"
        result.remarks.append(f"{', '.join(left)} {verb} left out")
    result.remarks += other_gravity(root)
    result.called = {geom.attrib["name"]: words for geom, words, _ in geoms.words}
    result.frictions = {geom.attrib["name"] for geom, _, stated in geoms.words if stated}
    return result


# -- includes and sizes ----------------------------------------------------------------------------------------------
def _included(root: ET.Element, package: Package) -> ET.Element:
    """Return the tree with every ``<include>`` replaced by the content of its file, each at most once."""
    root = copy.deepcopy(root)
    seen = {package.model}
    waiting = [(root, package.model.parent)]
    while waiting:
        element, folder = waiting.pop()
        children: list[ET.Element] = []
        for child in element:
            if child.tag != "include":
                children.append(child)
                waiting.append((child, folder))
                continue
            file = _include_file(child.get("file", ""), folder, package)
            if file in seen or len(seen) > _MOST_INCLUDES:
                raise ModelError(
                    f"{package.model.name}: include {shown(child.get('file'))} comes twice, or there are too many"
                    " includes"
                )
            seen.add(file)
            inner = parse_xml(read_bytes(file), file.name)
            holder = ET.Element("holder")
            holder.extend(inner)
            waiting.append((holder, file.parent))
            children.append(holder)
        element[:] = children
    _unpack(root)
    return root


def _include_file(reference: str, folder: Path, package: Package) -> Path:
    for base in (package.model.parent, folder):
        file = package.find(reference, base, "include")
        if file is not None:
            package.missing.pop(reference, None)
            return file
    raise ModelError(f"{package.model.name}: the included file {shown(reference)} was not found")


def _unpack(root: ET.Element) -> None:
    """Replace container elements by their content, inner ones first."""
    for element in reversed(list(root.iter())):
        if any(child.tag == "holder" for child in element):
            element[:] = [c for child in element for c in (child if child.tag == "holder" else (child,))]


def _check_size(root: ET.Element, where: str) -> None:
    count = 0
    kinds = dict.fromkeys(_MOST, 0)
    waiting = [(root, 1)]
    while waiting:
        element, depth = waiting.pop()
        count += 1
        if element.tag in kinds:
            kinds[element.tag] += 1
            if kinds[element.tag] > _MOST[element.tag]:
                raise ModelError(
                    f"{where}: more than {_MOST[element.tag]} <{element.tag}> elements, including those of included"
                    " files"
                )
        if depth > MOST_DEPTH:
            raise ModelError(
                f"{where}: elements are nested more than {MOST_DEPTH} deep, including those of included files"
            )
        if count > MOST_ELEMENTS:
            raise ModelError(f"{where}: more than {MOST_ELEMENTS} elements, including those of included files")
        waiting += [(child, depth + 1) for child in element]


# -- what is passed on -----------------------------------------------------------------------------------------------
def _passed(element: ET.Element, owner: str = "") -> ET.Element:
    """Return a copy with the known attributes, checked, and the known children."""
    result = ET.Element(element.tag)
    what = label(element) + (f" in {owner}" if owner and not element.get("name") else "")
    for key, counts in _PASSED[element.tag].items():
        if key not in element.attrib:
            continue
        text = element.attrib[key]
        if counts is not None:
            values = numbers(text, f"'{key}' of {what}", counts, math.inf if key.endswith("range") else MOST_VALUE)
            if key in _WHOLE and not (np.abs(values) < 2**31).all():
                raise ModelError(f"'{key}' of {what} is out of range: {shown(text)}")
            if element.tag == "inertial" and key == "mass" and values[0] < 0:
                raise ModelError(f"mass of {what} must be positive, got {shown(text)}")
        result.set(key, text)
    if element.tag == "inertial" and "mass" not in element.attrib:
        raise ModelError(f"{what} lacks the attribute 'mass'")
    for child in element:
        if child.tag in _REFUSED:
            raise ModelError(f"{what} holds <{child.tag}>, which {_REFUSED[child.tag]}: not supported")
        if child.tag == "body" and child.get("mocap") == "true":
            continue
        if child.tag == "geom" and not owner and element.tag in ("worldbody", "frame"):
            continue  # belongs to the scene
        if child.tag in _INSIDE.get(element.tag, ()):
            if element.tag == "actuator" and not {"joint", "jointinparent"} & set(child.attrib):
                continue  # drives a tendon or a site
            result.append(_passed(child, what if element.tag == "body" else owner))
    return result


def _name_all(result: CleanMjcf) -> None:
    """Name unnamed elements: messages and results refer to elements by name."""
    kinds = (("body",), ("joint", "freejoint"), ("geom",), ACTUATORS)
    for tags, word in zip(kinds, ("body", "joint", "geom", "actuator")):
        elements = [e for section in result.root if section.tag != "default" for e in section.iter() if e.tag in tags]
        taken = {e.get("name") for e in elements}
        for number, element in enumerate(elements):
            if not element.get("name"):
                name = next(n for n in (f"{word}{number}{'_' * k}" for k in range(len(taken) + 1)) if n not in taken)
                element.set("name", name)
                result.invented.add(name)


# -- meshes ----------------------------------------------------------------------------------------------------------
def _meshes(root: ET.Element, package: Package) -> dict[str, MeshAsset]:
    """Return mesh assets by name. Every file referenced is checked to lie in the package, read or not."""
    folders = {"mesh": "", "texture": "", "hfield": "", "skin": "", "model": ""}
    strip = False
    for compiler in root.findall("compiler"):
        both = compiler.get("assetdir")
        folders["mesh"] = folders["hfield"] = compiler.get("meshdir", both or folders["mesh"])
        folders["texture"] = compiler.get("texturedir", both or folders["texture"])
        strip = compiler.get("strippath", str(strip)).lower() == "true"
    scales = {"main": "1 1 1"}
    for default in root.findall("default"):
        _collect_scales(default, "main", scales)
    found: dict[str, MeshAsset] = {}
    for element in (e for assets in root.findall("asset") for e in assets):
        files = {key: value for key, value in element.attrib.items() if key.startswith("file")}
        for key, reference in files.items():
            folder = folders.get(element.tag, "")
            package.find(reference, what=element.tag) if folder and _is_rooted(reference) else None
            name = PurePosixPath(reference.replace("\\", "/")).name if strip else reference
            path = package.find(f"{folder.rstrip('/')}/{name}" if folder else name, what=element.tag)
            if element.tag == "mesh" and key == "file":
                scale = numbers(
                    element.get("scale") or scales.get(element.get("class") or "main", "1 1 1"),
                    f"'scale' of {label(element)}",
                    (3, 3),
                )
                plain = not {"refpos", "refquat"} & set(element.attrib)
                found[element.get("name") or PurePosixPath(name).stem] = MeshAsset(path if plain else None, scale)
    return found


def _collect_scales(default: ET.Element, name: str, scales: dict[str, str], above: str = "1 1 1") -> None:
    """Return the mesh scale of every default class; nested classes inherit unspecified values."""
    for mesh in default.findall("mesh"):
        above = mesh.get("scale", above)
    scales[name] = above
    for child in default.findall("default"):
        _collect_scales(child, child.get("class", ""), scales, above)


def _is_rooted(reference: str) -> bool:
    return reference.startswith(("/", "\\", "~")) or ":" in reference


class _Geoms:
    """Replace mesh geoms by placeholders. Whether a geom is a mesh may be defined in its default class only."""

    def __init__(self, root: ET.Element, result: CleanMjcf, assets: dict[str, MeshAsset]) -> None:
        self.original, self.result, self.assets = root, result, assets
        self.defaults: dict[str, dict[str, str]] = {"main": {}}
        for default in root.findall("default"):
            self._collect(default, "main", {})
        self.from_geoms = any(c.get("inertiafromgeom") == "true" for c in root.findall("compiler"))
        self.number = 0
        self.words: list[tuple[ET.Element, tuple[str, ...], bool]] = []

    def _collect(self, default: ET.Element, name: str, above: dict[str, str]) -> None:
        own = dict(above)
        for geom in default.findall("geom"):
            own |= geom.attrib
        self.defaults[name] = own
        for child in default.findall("default"):
            self._collect(child, child.get("class", ""), own)

    def replace(self) -> None:
        originals = (geom for world in self.original.findall("worldbody") for geom in _geoms(world, None, None))
        copies = (geom for world in self.result.root.findall("worldbody") for geom in _geoms(world, None, None))
        for (geom, _, childclass), (placed, body, _) in zip(list(originals), list(copies), strict=True):
            reported = {**self.defaults.get(geom.get("class") or childclass or "main", {}), **geom.attrib}
            words = (reported.get("mesh", ""), geom.get("class", ""))
            self.words.append((placed, tuple(word for word in words if word), "friction" in reported))
            if "mesh" in reported or reported.get("type") in _MESHLIKE:
                self._replace(placed, body, reported)

    def _replace(self, placed: ET.Element, body: ET.Element | None, reported: dict[str, str]) -> None:
        for key in ("fromto", "size", "density", "shellinertia"):
            placed.attrib.pop(key, None)
        placed.attrib |= _PLACEHOLDER
        if not placed.get("name"):
            self.number += 1
            placed.set("name", f"mesh geom {self.number}")
            self.result.invented.add(placed.attrib["name"])
        self.result.meshes[placed.attrib["name"]] = self.assets.get(
            reported.get("mesh", ""), MeshAsset(None, np.ones(3))
        )
        if body is None or (body.find("inertial") is not None and not self.from_geoms):
            return
        if _nonzero(reported.get("mass", reported.get("density", "1000"))):
            if not body.get("name"):
                self.number += 1
                body.set("name", f"unnamed body {self.number}")
            self.result.weighed.add(body.attrib["name"])
            # so that MuJoCo accepts it: such a body is refused later, if it belongs to the robot
            placed.set("mass", "1")


def _geoms(
    element: ET.Element, body: ET.Element | None, childclass: str | None
) -> Iterator[tuple[ET.Element, ET.Element | None, str | None]]:
    """Yield every geom below an element with its body and the class that applies there."""
    for child in element:
        if child.tag == "geom" and body is not None:
            yield child, body, childclass
        elif child.tag == "frame" or (child.tag == "body" and child.get("mocap") != "true"):
            yield from _geoms(child, child if child.tag == "body" else body, child.get("childclass") or childclass)


def _nonzero(text: str) -> bool:
    try:
        return float(text) != 0
    except ValueError:
        return True


# -- what an MJCF file says that a robot here has no place for, in words: one line at load names it -------------------
_SECTIONS = {"tendon": "tendons", "deformable": "deformable bodies", "extension": "plugins"}
# for geoms: contact models differ here
_CONTACT = ("condim", "gap", "margin", "priority", "solimp", "solmix", "solref")
# for joints: stops are stiff here
_LIMIT = ("margin", "solimpfriction", "solimplimit", "solreffriction", "solreflimit")
_SERVO = ("biasprm", "dampratio", "gainprm", "kp", "kv")  # for actuators: controllers set the gains
_DYNAMIC = ("dynprm", "dyntype", "actdim", "timeconst")  # for actuators: torques act at once
_ODD = ("adhesion", "cylinder", "damper", "muscle", "plugin")  # kinds of actuators that are not motors here
_OPTIONS = ("timestep", "integrator", "cone", "impratio", "wind", "density", "viscosity", "magnetic", "o_solref")
_LISTED = 8  # names listed per kind


def left_out(root: ET.Element) -> list[str]:
    """Return what is ignored: contact and servo parameters, tendons, sensors, contact pairs, options, ..."""
    left = [words for tag, words in _SECTIONS.items() if any(len(s) for s in root.findall(tag))]
    mocap = sorted({body.get("name", "?") for body in root.iter("body") if body.get("mocap") == "true"})
    left += [f"mocap bodies ({', '.join(map(shown, mocap[:_LISTED]))})"] if mocap else []
    joints = list(root.iter("joint"))
    lifted = any(body.get("gravcomp", "0") not in ("0", "0.0") for body in root.iter("body"))
    if lifted or any(joint.get("actuatorgravcomp") == "true" for joint in joints):
        left.append("gravity compensation")
    ties = [tie for equality in root.findall("equality") for tie in equality]
    motors = [motor for tag in ACTUATORS for motor in root.iter(tag)]
    for words, keys, elements in (
        ("contact parameters", _CONTACT, list(root.iter("geom"))),
        ("fluid forces", ("fluidcoef", "fluidshape"), list(root.iter("geom"))),
        ("softness of joint limits and friction", _LIMIT, joints),
        ("softness of equalities", ("solimp", "solref", "torquescale"), [*ties, *_defaults_of_ties(root)]),
        ("servo gains", _SERVO, motors),
        ("dynamics of actuators", _DYNAMIC, motors),
        ("options", _OPTIONS, root.findall("option")),
    ):
        reported = sorted({key for element in elements for key in element.attrib if key in keys})
        left += [f"{words} ({', '.join(reported)})"] if reported else []
    sections = {"actuator": _ODD, "sensor": None, "contact": None}
    for section, kinds in sections.items():
        found = {e.tag for s in root.findall(section) for e in s if kinds is None or e.tag in kinds}
        if found:
            names = sorted(found)
            more = f" and {len(names) - _LISTED} more kinds" if len(names) > _LISTED else ""
            left.append(f"{_plural(section)} ({', '.join(names[:_LISTED])}{more})")
    left += _idle_sites(root)
    moved = sorted({key for frame in root.iter("key") for key in frame.attrib if key in ("act", "ctrl", "qvel")})
    return left + ([f"what keyframes contain about {', '.join(moved)}"] if moved else [])


def _defaults_of_ties(root: ET.Element) -> list[ET.Element]:
    return [tie for default in root.iter("default") for tie in default.findall("equality")]


def _idle_sites(root: ET.Element) -> list[str]:
    """Return sites without a function here: no foot, no end of a loop, no shape or body of that name."""
    ends = {e.get(key) for section in root.findall("equality") for e in section for key in ("site1", "site2")}
    known = ends | {e.get("name") for tag in ("geom", "body") for e in root.iter(tag)}
    names = [site.get("name", "") for site in root.iter("site")]
    idle = sorted({name for name in names if name and name not in known and not is_foot_name(name)})
    more = f" and {len(idle) - _LISTED} more" if len(idle) > _LISTED else ""
    return [f"sites ({', '.join(map(shown, idle[:_LISTED]))}{more})"] if idle else []


def other_gravity(root: ET.Element) -> list[str]:
    """Return remarks on gravity that differs from the default."""
    given = [option.attrib["gravity"] for option in root.findall("option") if "gravity" in option.attrib]
    odd = [text for text in given if not np.allclose(numbers(text, "'gravity' of <option>", 3), GRAVITY)]
    return [f"gravity {shown(text)} is left out: Simulation(..., gravity=...) sets it" for text in odd]


def _plural(section: str) -> str:
    return {"actuator": "actuators", "sensor": "sensors", "contact": "contact lists"}[section]


# -- the texts of an MJCF file that MuJoCo gets to see ----------------------------------------------------------------
# MuJoCo inserts an unknown class into its message twice, the second time as the format string, so that ``class="%s%s"``
# reads the stack and ``%n`` writes to it. So texts with a ``%`` and undefined classes are refused.
_CLASSES = ("class", "childclass")


def check_texts(root: ET.Element, where: str) -> None:
    """Raise for format characters and undefined classes in the copy for MuJoCo."""
    defined = {"main", *(default.get("class", "main") for default in root.iter("default"))}
    for element in root.iter():
        for key, text in element.attrib.items():
            if "%" in text:
                raise ModelError(f"{where}: '{key}' of {label(element)} holds a '%', which is not allowed in a model")
            if key in _CLASSES and element.tag != "default" and text not in defined:
                raise ModelError(
                    f"{where}: {label(element)} has the unknown default class name {shown(text)}:"
                    f" defined are {', '.join(sorted(defined)[:24])}"
                )
