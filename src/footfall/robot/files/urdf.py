"""URDF, read by our own parser on the checked element tree.

MuJoCo's URDF reader fuses static links, drops the base, needs the meshes and accepts infinite masses; URDF is a small
format, so a separate parser is shorter than working around that. MuJoCo and Pinocchio then check the result
independently, and a URDF needs no optional package.
"""

from __future__ import annotations

import contextlib
import math
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
from numpy import ndarray

from footfall.errors import ModelError
from footfall.robot.files.draft import Draft, Shape
from footfall.robot.files.guard import (
    MOST_LINKS,
    MOST_VALUE,
    POINT_SIZE,
    Package,
    label,
    number,
    numbers,
    shown,
    unique,
)
from footfall.robot.model.loops import Loop
from footfall.robot.model.parts import Actuator, Joint, Link
from footfall.spatial.rotation import from_euler
from footfall.spatial.transform import Transform

UNLIMITED = 1e9  # a limit this large, or an effort or velocity of zero, means no limit
WHEEL_TURNS = 20.0  # a joint with limits this far apart rotates without limits, as wheels do and legs do not
_OF_GAZEBO = {"material", "mu1", "mu2", "visual"}  # friction is mentioned only for feet; colours are not needed
_KINDS = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed"}
_SIZES = {"sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}


def read_urdf(root: ET.Element, package: Package, repair: bool = False) -> Draft:
    """Return the draft of a ``<robot>`` element; ``repair``: accept impossible inertias."""
    where = package.model.name
    links, joints = root.findall("link"), root.findall("joint")
    if len(links) > MOST_LINKS or len(joints) > MOST_LINKS:
        raise ModelError(f"{where}: more than {MOST_LINKS} links")
    if any(child.tag.rpartition("}")[0].endswith("xacro") or child.tag.startswith("xacro:") for child in root.iter()):
        raise ModelError(
            f"{where}: this is a xacro template, which is a program and is not run here: expand it with"
            f" 'xacro {where} -o robot.urdf' (pip install xacro, or from ROS) and load robot.urdf"
        )
    if not links:
        raise ModelError(f"{where}: the robot has no links")
    for element in [*links, *joints]:
        if not (element.get("name") or "").strip():
            raise ModelError(f"{where}: a {element.tag} has no name")
    unique((element.attrib["name"] for element in links), "link", where)
    unique((element.attrib["name"] for element in joints), "joint", where)
    links, joints = _without_world(links, joints)
    draft = Draft(name=root.get("name") or package.model.stem, links=[], joints=[])
    welded = {tie.get("link") for j in joints if j.get("type") == "fixed" for tie in j.findall("child")}
    draft.links += [_link(link, link.get("name") in welded, draft, repair) for link in links]
    known = {link.name for link in draft.links}
    for element in joints:
        joint, actuator = _joint(element, known)
        draft.joints.append(joint)
        draft.actuators += [actuator] if actuator is not None else []
    draft.loops = _mimics(joints, draft)
    followers = {loop.first for loop in draft.loops}  # have no motor of their own
    draft.actuators = [actuator for actuator in draft.actuators if actuator.joint not in followers]
    draft.remarks += _left_out(root)
    colors = {m.get("name", ""): _color(m) for m in root.findall("material")}
    for element in links:
        draft.shapes[element.attrib["name"]] = _shapes(element, package, colors)
    for extra in root.findall("gazebo"):
        if extra.get("reference") in known:
            _add_friction(draft, extra)
    for texture in root.iter("texture"):
        package.find(texture.get("filename", ""), what="texture")
    return draft


def _mimics(joints: list[ET.Element], draft: Draft) -> list[Loop]:
    """Return <mimic> joints: q = multiplier times that of another joint, plus offset."""
    moving, loops = {joint.name for joint in draft.joints if joint.kind != "fixed"}, []
    for element in joints:
        owner = f"joint {shown(element.attrib['name'])}"
        mimic = _one(element, "mimic", owner)
        if mimic is None or element.attrib["name"] not in moving:
            continue
        leader = _needed(mimic, "joint", owner)
        if leader not in moving:
            raise ModelError(f"{owner} mimics {shown(leader)}, which is not a moving joint")
        line = (_value(mimic, "offset", owner, 0.0), _value(mimic, "multiplier", owner, 1.0))
        loops.append(
            Loop(
                name=f"{element.attrib['name']}_mimic",
                kind="joint",
                first=element.attrib["name"],
                second=leader,
                coefficients=line,
            )
        )
    return loops


def _left_out(root: ET.Element) -> list[str]:
    """Return what is ignored, as text, except drawings."""
    kinds = {"transmission": "transmissions", "ros2_control": "ros2_control", "sensor": "sensors"}
    left = [words for tag, words in kinds.items() if root.find(tag) is not None]
    inside = {"calibration": "calibrations", "safety_controller": "safety controllers"}
    left += [
        words for tag, words in inside.items() if any(joint.find(tag) is not None for joint in root.findall("joint"))
    ]
    reported = sorted({part.tag for extra in root.findall("gazebo") for part in extra} - _OF_GAZEBO)
    left += (
        [f"the contents of <gazebo> about {', '.join(shown(tag)[1:-1] for tag in reported[:8])}"] if reported else []
    )
    return [f"left out: {', '.join(left)}"] if left else []


def _add_friction(draft: Draft, extra: ET.Element) -> None:
    """Read the friction of a link in a <gazebo> element; invalid values are ignored."""
    for reported in extra.iter("mu1"):
        with contextlib.suppress(ModelError):
            value = number(reported.text or reported.get("value") or "", "<mu1>")
            draft.frictions.setdefault(extra.attrib["reference"], []).append(value)


def _without_world(links: list[ET.Element], joints: list[ET.Element]) -> tuple[list[ET.Element], list[ET.Element]]:
    """Return links and joints without a massless root on which the robot floats: such a ``floating`` joint is the
    base's.
    """
    children = {child.get("link") for joint in joints for child in joint.findall("child")}
    roots = [link for link in links if link.attrib["name"] not in children and link.find("inertial") is None]
    for root in roots:
        below = [j for j in joints for parent in j.findall("parent") if parent.get("link") == root.attrib["name"]]
        if len(below) == 1 and below[0].get("type") == "floating":
            return [link for link in links if link is not root], [joint for joint in joints if joint is not below[0]]
    return links, joints


def _one(element: ET.Element, tag: str, owner: str) -> ET.Element | None:
    found = element.findall(tag)
    if len(found) > 1:
        raise ModelError(f"{owner} has {len(found)} <{tag}> elements in one place: one is allowed")
    return found[0] if found else None


def _needed(element: ET.Element, key: str, owner: str) -> str:
    value = element.get(key)
    if value is None:
        raise ModelError(f"<{element.tag}> of {owner} lacks the attribute '{key}'")
    return value


def _value(element: ET.Element | None, key: str, owner: str, default: float) -> float:
    if element is None or key not in element.attrib:
        return default
    most = math.inf if element.tag == "limit" else MOST_VALUE
    return number(element.attrib[key], f"'{key}' in <{element.tag}> of {owner}", most)


def _pose(element: ET.Element, owner: str) -> Transform:
    """Return the pose of an ``<origin xyz rpy>``: fixed-axis roll, pitch, yaw, that is R = Rz Ry Rx."""
    origin = _one(element, "origin", owner)
    if origin is None:
        return Transform.identity()
    xyz = numbers(origin.get("xyz", "0 0 0"), f"'xyz' in <origin> of {owner}", 3)
    if "quat_xyzw" in origin.attrib:
        raise ModelError(f"<origin> of {owner} gives 'quat_xyzw': only 'rpy' is supported")
    roll, pitch, yaw = numbers(origin.get("rpy", "0 0 0"), f"'rpy' in <origin> of {owner}", 3)
    return Transform(from_euler(np.array([yaw, pitch, roll]), "zyx"), xyz)


def _link(element: ET.Element, welded: bool, draft: Draft, repair: bool) -> Link:
    name = element.attrib["name"]
    owner = f"link {shown(name)}"
    inertial = _one(element, "inertial", owner)
    if inertial is None:
        return Link.massless(name)
    mass_element, tensor_element = _one(inertial, "mass", owner), _one(inertial, "inertia", owner)
    if mass_element is None or tensor_element is None:
        raise ModelError(f"<inertial> of {owner} needs a <mass> and an <inertia>")
    X_LC = _pose(inertial, owner)
    mass = number(_needed(mass_element, "value", owner), f"mass of {owner}")
    xx, yy, zz = (number(_needed(tensor_element, key, owner), f"'{key}' of {owner}") for key in ("ixx", "iyy", "izz"))
    xy, xz, yz = (_value(tensor_element, key, owner, 0.0) for key in ("ixy", "ixz", "iyz"))
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if mass == 0 and not tensor.any():
        return Link.massless(name)
    if mass == 0 and not welded:
        raise ModelError(f"mass of {owner} must be positive, since it has an inertia; or remove its <inertial>")
    if mass == 0:
        draft.remarks.append(f"{owner} has an inertia but no mass: its inertia is ignored")
        return Link.massless(name)
    if repair and mass > 0 and np.linalg.eigvalsh(tensor)[0] < 0:
        draft.broken.append(name)
        tensor = mass * POINT_SIZE**2 * np.eye(3)
    return lenient_link(name, mass, X_LC.p, X_LC.R @ tensor @ X_LC.R.T)


def lenient_link(name: str, mass: float, com: ndarray, tensor: ndarray) -> Link:
    """Return a link whose tensor need not be physical by itself: files contain point masses and small dummy links.

    The bodies into which these links are welded are checked once the robot is complete.
    """
    tensor = (tensor + tensor.T) / 2
    if (
        mass > 0 and np.isfinite(tensor).all() and np.abs(tensor).max() <= mass * POINT_SIZE**2
    ):  # or rounding; Link refuses a zero tensor; this one is below the rounding of any body
        return Link(name=name, mass=mass, com=com, inertia=mass * POINT_SIZE**2 * np.eye(3), as_published=True)
    a, b, c = np.linalg.eigvalsh(tensor) if np.isfinite(tensor).all() else (0.0, 0.0, 0.0)
    return Link(name=name, mass=mass, com=com, inertia=tensor, as_published=bool(c <= 0 or a + b < c))


def _joint(element: ET.Element, links: set[str]) -> tuple[Joint, Actuator | None]:
    name, kind = element.attrib["name"], element.get("type")
    owner = f"joint {shown(name)}"
    if kind not in _KINDS:
        raise ModelError(f"{owner} has the type {shown(kind)}: choose {', '.join(_KINDS)}")
    ends = {}
    for end in ("parent", "child"):
        tie = _one(element, end, owner)
        if tie is None:
            raise ModelError(f"{owner} lacks its <{end}>")
        ends[end] = _needed(tie, "link", owner)
        if ends[end] not in links:
            raise ModelError(f"{end} of {owner} is the unknown link {shown(ends[end])}")
    X_PJ = _pose(element, owner)
    if kind == "fixed":
        return Joint(
            name=name, kind="fixed", parent=ends["parent"], child=ends["child"], origin=X_PJ.p, rotation=X_PJ.R
        ), None
    tie = _one(element, "axis", owner)
    axis = numbers(_needed(tie, "xyz", owner), f"axis of {owner}", 3) if tie is not None else np.array([1.0, 0.0, 0.0])
    limit, dynamics = _one(element, "limit", owner), _one(element, "dynamics", owner)
    lower, upper = _range(limit, owner) if kind != "continuous" else (-math.inf, math.inf)
    lower, upper = joint_range(_KINDS[kind], lower, upper)
    joint = Joint(
        name=name,
        kind=_KINDS[kind],
        parent=ends["parent"],
        child=ends["child"],
        origin=X_PJ.p,
        rotation=X_PJ.R,
        axis=axis,
        lower=lower,
        upper=upper,
        damping=_value(dynamics, "damping", owner, 0.0),
        dry_friction=_value(dynamics, "friction", owner, 0.0),
    )
    effort, speed = _value(limit, "effort", owner, 0.0), _value(limit, "velocity", owner, 0.0)
    if effort < 0 or speed < 0:
        raise ModelError(f"<limit> of {owner} is negative: effort {effort:g}, velocity {speed:g}")
    effort, speed = (math.inf if x == 0 or x >= UNLIMITED else x for x in (effort, speed))
    return joint, Actuator(joint=name, torque_limit=effort, speed_limit=speed)


def _range(limit: ET.Element | None, owner: str) -> tuple[float, float]:
    """Return lower and upper limit; without either the joint is continuous, with one the other is 0, as in URDF."""
    if limit is None or not {"lower", "upper"} & set(limit.attrib):
        return -math.inf, math.inf
    lower, upper = _value(limit, "lower", owner, 0.0), _value(limit, "upper", owner, 0.0)
    return lower, upper


def joint_range(kind: str, lower: float, upper: float) -> tuple[float, float]:
    """Return limits, with those that mean none removed: huge numbers, and tens of revolutions."""
    if kind == "revolute" and upper - lower >= WHEEL_TURNS * 2.0 * math.pi:
        return -math.inf, math.inf
    return -math.inf if lower <= -UNLIMITED else lower, math.inf if upper >= UNLIMITED else upper


def _color(material: ET.Element | None) -> tuple[int, int, int] | None:
    """Return the colour of a <material>; invalid ones are ignored, since colours are only for display."""
    element = material.find("color") if material is not None else None
    try:
        given = [float(x) for x in element.get("rgba", "").split()[:3]] if element is not None else []
    except ValueError:
        return None
    if len(given) != 3 or not all(math.isfinite(x) for x in given):
        return None
    r, g, b = (round(255 * min(max(x, 0.0), 1.0)) for x in given)
    return r, g, b


def _shapes(link: ET.Element, package: Package, colors: dict[str, tuple[int, int, int] | None]) -> list[Shape]:
    shapes = []
    for element in [*link.findall("collision"), *link.findall("visual")]:
        owner = f"<{element.tag}> of {label(link)}"
        geometry = _one(element, "geometry", owner)
        X_LS = _pose(element, owner)
        for solid in geometry if geometry is not None else ():
            shape = _shape(solid, X_LS, element.get("name", ""), owner, package, element.tag == "visual")
            if shape is not None:
                material = element.find("material")
                named = colors.get(material.get("name", "")) if material is not None else None
                shapes.append(replace(shape, color=_color(material) or named))
    return shapes


def _shape(solid: ET.Element, X_LS: Transform, name: str, owner: str, package: Package, visual: bool) -> Shape | None:
    if solid.tag == "mesh":
        file = package.find(_needed(solid, "filename", owner))
        scale = numbers(solid.get("scale", "1 1 1"), f"mesh scale in {owner}", (1, 3))
        if len(scale) == 2:
            return None
        called = (file.stem,) if file is not None else ()
        return Shape(
            kind="mesh", X_LS=X_LS, size=scale * np.ones(3), name=name, mesh=file, visual=visual, called=called
        )
    if solid.tag == "box":
        size = numbers(_needed(solid, "size", owner), f"box size in {owner}", 3) / 2
    elif solid.tag in _SIZES:
        size = np.array([number(_needed(solid, key, owner), f"'{key}' in {owner}") for key in _SIZES[solid.tag]])
        size = size * np.array([1.0, 0.5])[: len(size)]
    else:
        return None
    if (size < 0).any():
        raise ModelError(f"{owner} has a negative size")
    return Shape(kind=solid.tag, X_LS=X_LS, size=size, name=name, mesh=None, visual=visual)
