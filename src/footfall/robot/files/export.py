"""Export of robots as URDF and MJCF text, with all digits of every number.

URDF keeps the links; the mass of a modelled rotor is added to the link that carries it. In MJCF every moving body has
one inertial for everything welded to it, since MuJoCo refuses inconsistent tensors even for links that do not move by
themselves; fixed links remain as frames.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from footfall.errors import InputError, unknown
from footfall.robot.files.draft import tensor_about_com
from footfall.robot.files.feet import POINT
from footfall.robot.files.urdf import UNLIMITED
from footfall.robot.model.description import Robot
from footfall.robot.model.loops import Loop
from footfall.robot.model.parts import Foot, Joint, Link
from footfall.robot.model.tree import Body
from footfall.spatial.gravity import GRAVITY
from footfall.spatial.inertia import Inertia
from footfall.spatial.quaternion import from_rotation
from footfall.spatial.transform import Transform
from nptrace._types import Given

FORMATS = {"urdf": ".urdf", "mjcf": ".xml"}
_FLAT = 1e-12  # relative rounding by which a flat body may violate the triangle inequality
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_urdf(robot: Robot) -> str:
    """Write a robot as URDF.

    A comment lists what URDF cannot express (armature, springs, poses, a fixed base).

    Args:
        robot: The robot.

    Returns:
        The text of the file.
    """
    root = ET.Element("robot", name=robot.name)
    _comment(root, _lost_in_urdf(robot))
    for link in robot.links:
        element = ET.SubElement(root, "link", name=link.name)
        _urdf_inertial(element, robot, link)
        for foot in (foot for foot in robot.feet if foot.link == link.name):
            collision = ET.SubElement(element, "collision", name=foot.name)
            rpy = "0 0 0" if foot.axis is None else _row(roll_pitch_yaw(_across(foot)))
            ET.SubElement(collision, "origin", xyz=_row(foot.position), rpy=rpy)
            solid = ET.SubElement(collision, "geometry")
            if foot.axis is None:
                ET.SubElement(solid, "sphere", radius=_text(max(foot.radius, POINT)))
            else:
                ET.SubElement(solid, "cylinder", radius=_text(foot.radius), length=_text(2.0 * _half_width(foot)))
        if link.box is not None:
            visual = ET.SubElement(element, "visual")
            ET.SubElement(visual, "origin", xyz=_row(link.com), rpy="0 0 0")
            ET.SubElement(ET.SubElement(visual, "geometry"), "box", size=_row(link.box))
    for joint in robot.joints:
        _urdf_joint(root, robot, joint)
    return _document(root)


def _urdf_inertial(element: ET.Element, robot: Robot, link: Link) -> None:
    mass, com, tensor = link.mass, link.com, link.inertia
    rotors = [joint for joint in robot.joints if joint.parent == link.name and joint.rotor is not None]
    if rotors and robot.rotors != "none":
        total = Inertia.about_com(mass, com, tensor)
        for joint in rotors:
            total = total + _rotor_inertia(joint)
        mass, com = total.m, total.h / total.m if total.m else total.h
        tensor = tensor_about_com(total.m, total.h, total.I) if total.m else total.I
    if mass == 0:
        return
    inertial = ET.SubElement(element, "inertial")
    ET.SubElement(inertial, "origin", xyz=_row(com), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=_text(mass))
    places = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    ET.SubElement(inertial, "inertia", {key: _text(tensor[place]) for key, place in places.items()})


def _rotor_inertia(joint: Joint) -> Inertia:
    """Return a rotor in the frame of the link that carries it."""
    rotor = joint.rotor
    assert rotor is not None
    axis = joint.X_PJ.R @ joint.axis
    along = np.outer(axis, axis)
    tensor = rotor.spin_inertia * along + rotor.transverse_inertia * (np.eye(3) - along)
    return Inertia.about_com(rotor.mass, rotor.position, tensor)


def _urdf_joint(root: ET.Element, robot: Robot, joint: Joint) -> None:
    element = ET.SubElement(root, "joint", name=joint.name, type=joint.kind)
    ET.SubElement(element, "parent", link=joint.parent)
    ET.SubElement(element, "child", link=joint.child)
    ET.SubElement(element, "origin", xyz=_row(joint.origin), rpy=_row(roll_pitch_yaw(joint.X_PJ.R)))
    if joint.kind == "fixed":
        return
    ET.SubElement(element, "axis", xyz=_row(joint.axis))
    for loop in (loop for loop in robot.loops if _is_mimic(loop) and loop.first == joint.name):
        offset, multiplier = (*loop.coefficients, 0.0)[:2]
        ET.SubElement(element, "mimic", joint=loop.second, multiplier=_text(multiplier), offset=_text(offset))
    actuator = next((a for a in robot.actuators if a.joint == joint.name), None)
    effort, speed = (actuator.torque_limit, actuator.speed_limit) if actuator else (math.inf, math.inf)
    bounds = {"lower": joint.lower, "upper": joint.upper, "effort": effort, "velocity": speed}
    limits = {key: _text(min(max(value, -UNLIMITED), UNLIMITED)) for key, value in bounds.items()}
    ET.SubElement(element, "limit", limits)
    if joint.damping or joint.dry_friction:
        ET.SubElement(element, "dynamics", damping=_text(joint.damping), friction=_text(joint.dry_friction))


def _lost_in_urdf(robot: Robot) -> str:
    lines = [f"{robot.name}, written by footfall; limits of {UNLIMITED:g} stand for none."]
    if not robot.floating:
        lines.append("The base is fixed: load it with floating=False.")
    for body in robot.tree.bodies[1:]:
        joint = body.joint
        assert joint is not None
        reported = {"armature": body.armature, "stiffness": joint.stiffness, "rest": joint.rest}
        kept = [f"{key} {_text(value)}" for key, value in reported.items() if value]
        if kept:
            lines.append(f"URDF cannot say of joint {joint.name}: {', '.join(kept)}")
    lines += [f"URDF cannot say that loop {loop.name} is closed." for loop in robot.loops if not _is_mimic(loop)]
    if robot.rotors == "exact" and any(body.spins for body in robot.tree.bodies):
        lines.append("URDF cannot say that rotors spin: their gyroscopic coupling is lost.")
    return "\n  ".join(lines)


def roll_pitch_yaw(R: ndarray) -> ndarray:
    """Return (roll, pitch, yaw) with R = Rz Ry Rx, to rounding also at pitch ±90°, where the roll is the remainder."""
    yaw = math.atan2(R[1, 0], R[0, 0])
    c, s = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return np.array([roll, pitch, yaw])


def to_mjcf(
    robot: Robot,
    ground: bool = False,
    options: Mapping[str, Given] | None = None,
    contact: Mapping[str, Given] | None = None,
) -> str:
    """Write a robot as MJCF.

    Free joint, joints with all their terms, motors, feet as spheres, wheels as cylinders, sites.

    Args:
        robot: The robot.
        ground: Add a plane, which only the feet touch.
        options: Attributes of ``<option>``: ``timestep``, ``integrator``, ``cone``, ...
        contact: Attributes of the geoms of feet and ground: ``friction``, ``solref``, ``condim``, ...

    Returns:
        The text of the file.
    """
    if robot.rotors == "exact" and any(body.spins for body in robot.tree.bodies):
        raise InputError(
            "MJCF cannot express spinning rotors (rotors='exact'): export robot.replace(rotors='armature')"
        )
    root = ET.Element("mujoco", model=robot.name)
    _comment(root, f"{robot.name}, written by footfall")
    ET.SubElement(root, "compiler", angle="radian", autolimits="true", fusestatic="false", inertiafromgeom="false")
    ET.SubElement(root, "option", _attributes({"gravity": GRAVITY, **(options or {})}))
    default = ET.SubElement(root, "default")
    touch = ET.SubElement(ET.SubElement(default, "default", {"class": "touch"}), "geom", _attributes(contact or {}))
    touch.set("mass", "0")
    world = ET.SubElement(root, "worldbody")
    if ground:
        ET.SubElement(
            world,
            "geom",
            {"name": "ground", "type": "plane", "size": "0 0 1", "class": "touch", "contype": "0", "conaffinity": "1"},
        )
    _MjcfBodies(robot).write(world)
    _mjcf_motors(root, robot)
    _mjcf_equalities(root, robot)
    if robot.poses:
        keys = ET.SubElement(root, "keyframe")
        for name in robot.poses:
            ET.SubElement(keys, "key", name=name, qpos=_row(robot.state(name)[0]))
    return _document(root)


class _MjcfBodies:
    """Write the tree of bodies.

    MuJoCo requires mass in every moving body: a massless one with one child becomes a further joint of that child.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot, self.tree = robot, robot.tree
        self.feet: dict[str, list[Foot]] = {}
        for foot in robot.feet:
            self.feet.setdefault(foot.link, []).append(foot)
        self.fixed: dict[str, list[Joint]] = {}
        for joint in robot.joints:
            if joint.kind == "fixed":
                self.fixed.setdefault(joint.parent, []).append(joint)

    def write(self, world: ET.Element) -> None:
        base = self.tree.bodies[0]
        if base.name == "world" and not self.robot.floating:  # MuJoCo's name for the fixed world
            self._links(world, "world")
            element = world
        else:
            element = ET.SubElement(world, "body", name=base.name)
            if self.robot.floating:
                ET.SubElement(element, "freejoint", name="floating_base")
            self._fill(element, base)
        for child in self.tree.children[0]:
            self._body(element, child, [], Transform.identity())

    def _body(self, above: ET.Element, i: int, before: list[tuple[Body, Transform]], X_AP: Transform) -> None:
        """Write body i under the element of a body A. ``before`` has massless bodies between, with their poses in P."""
        body = self.tree.bodies[i]
        back = body.X_PJ.inverse()
        joints = [*((b, back @ X_PB) for b, X_PB in before), (body, Transform.identity())]
        X_AB = X_AP @ body.X_PJ
        if body.inertia.m == 0:
            (child, *more) = self.tree.children[i]
            if more or any(f.link in self.feet and self.tree.frames[f.link][0] == i for f in self.robot.feet):
                raise InputError(f"MJCF cannot express a moving link without mass: give link '{body.name}' some")
            self._body(above, child, joints, X_AB)
            return
        element = ET.SubElement(above, "body", {"name": body.name, **_pose(X_AB)})
        for b, X_BJ in joints:
            self._joint(element, b, X_BJ)
        self._fill(element, body)
        for child in self.tree.children[i]:
            self._body(element, child, [], Transform.identity())

    def _joint(self, element: ET.Element, body: Body, X_BJ: Transform) -> None:
        joint = body.joint
        assert joint is not None
        attributes = {
            "name": joint.name,
            "type": "hinge" if joint.kind == "revolute" else "slide",
            "pos": _row(X_BJ.p),
            "axis": _row(X_BJ.R @ joint.axis),
        }
        if math.isinf(joint.lower) and math.isinf(joint.upper):
            attributes["limited"] = "false"
        else:
            lower, upper = max(joint.lower, -UNLIMITED), min(joint.upper, UNLIMITED)
            upper = upper if upper > lower else math.nextafter(lower, math.inf)  # MuJoCo requires a range
            attributes |= {"limited": "true", "range": _row([lower, upper])}
        terms = {
            "armature": body.armature,
            "damping": joint.damping,
            "frictionloss": joint.dry_friction,
            "stiffness": joint.stiffness,
            "springref": joint.rest,
        }
        attributes |= {key: _text(value) for key, value in terms.items() if value}
        ET.SubElement(element, "joint", attributes)

    def _fill(self, element: ET.Element, body: Body) -> None:
        inertia = body.inertia
        if inertia.m > 0:
            moments, R = _principal(body)
            ET.SubElement(
                element,
                "inertial",
                pos=_row(inertia.h / inertia.m),
                quat=_row(from_rotation(R)),
                mass=_text(inertia.m),
                diaginertia=_row(moments),
            )
        self._links(element, body.name)

    def _links(self, element: ET.Element, name: str) -> None:
        """Write the feet and the box of a link, and the links fixed to it, as frames."""
        for foot in self.feet.get(name, ()):
            place = {"name": foot.name, "pos": _row(foot.position)}
            shape = {"type": "sphere", "size": _text(max(foot.radius, POINT))}
            if foot.axis is not None:
                shape = {
                    "type": "cylinder",
                    "size": _row(np.array([foot.radius, _half_width(foot)])),
                    "quat": _row(from_rotation(_across(foot))),
                }
            ET.SubElement(element, "geom", {**place, **shape, "class": "touch", "contype": "1", "conaffinity": "0"})
            ET.SubElement(element, "site", {**place, "size": "0.001"})
        link = self.robot.link(name)
        if link.box is not None:
            ET.SubElement(
                element,
                "geom",
                type="box",
                pos=_row(link.com),
                size=_row(np.array(link.box) / 2),
                mass="0",
                contype="0",
                conaffinity="0",
                group="2",
            )
        for joint in self.fixed.get(name, ()):
            frame = ET.SubElement(element, "body", {"name": joint.child, **_pose(joint.X_PJ)})
            self._links(frame, joint.child)


def _across(foot: Foot) -> ndarray:
    """Return the axes of a foot's shape in its link: those of the link, or for a wheel with z along its axle."""
    if foot.axis is None:
        return np.eye(3)
    z = np.array(foot.axis)
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _half_width(foot: Foot) -> float:
    """Return half the width of a wheel [m]: its tyre is round, and as wide as it is thick."""
    return max(foot.tyre, 0.1 * foot.radius)


def _principal(body: Body) -> tuple[ndarray, ndarray]:
    """Return principal moments of a body and their axes; raise for those that MuJoCo refuses."""
    inertia = body.inertia
    (a, b, c), R = np.linalg.eigh(tensor_about_com(inertia.m, inertia.h, inertia.I))
    if a <= 0 or a + b < c * (1 - _FLAT):
        raise InputError(
            f"MuJoCo refuses body '{body.name}': principal moments {a:.4g}, {b:.4g}, {c:.4g} kg m² are not realisable"
        )
    return np.array([a, b, min(c, a + b)]), R if np.linalg.det(R) > 0 else -R


def _mjcf_motors(root: ET.Element, robot: Robot) -> None:
    if not robot.actuators:
        return
    motors = ET.SubElement(root, "actuator")
    for actuator in robot.actuators:
        motor = ET.SubElement(motors, "motor", name=actuator.joint, joint=actuator.joint)
        if math.isfinite(actuator.torque_limit) and actuator.torque_limit > 0:
            motor.set("ctrlrange", _row([-actuator.torque_limit, actuator.torque_limit]))


def _is_mimic(loop: Loop) -> bool:
    return loop.kind == "joint" and not any(loop.coefficients[2:])


def _mjcf_equalities(root: ET.Element, robot: Robot) -> None:
    """Write loops between sites, which define their ends independently of the zero posture."""
    section = ET.SubElement(root, "equality") if robot.loops else root
    for loop in robot.loops:
        if loop.kind == "joint":
            if len(loop.coefficients) > 5:
                raise InputError(
                    f"MJCF cannot express loop '{loop.name}': its polynomial has more than five coefficients"
                )
            ET.SubElement(
                section,
                "joint",
                name=loop.name,
                joint1=loop.first,
                joint2=loop.second,
                polycoef=_row([*loop.coefficients, 0.0, 0.0, 0.0, 0.0][:5]),
            )
            continue
        ends = []
        for link, p, R in ((loop.first, loop.at, np.eye(3)), (loop.second, loop.to, loop.rotation.T)):
            body = next(element for element in root.iter("body") if element.get("name") == link)
            ends.append(f"{loop.name} on {link}")
            ET.SubElement(body, "site", {"name": ends[-1], "size": "0.001", **_pose(Transform(R, p))})
        ET.SubElement(
            section, "connect" if loop.kind == "point" else "weld", name=loop.name, site1=ends[0], site2=ends[1]
        )


def write(robot: Robot, format: str, folder: str | Path, **settings: Any) -> Path:
    """Write ``<folder>/<robot's name>.urdf`` or ``.xml``; returns the path. ``settings`` are those of ``to_mjcf``."""
    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    text = to_urdf(robot) if format == "urdf" else to_mjcf(robot, **settings)
    path = Path(folder) / (re.sub(r"[^\w.-]+", "_", robot.name).lstrip(".") + FORMATS[format])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _pose(X: Transform) -> dict[str, str]:
    reported = {}
    if X.p.any():
        reported["pos"] = _row(X.p)
    if (np.eye(3) != X.R).any():
        reported["quat"] = _row(from_rotation(X.R))
    return reported


def _attributes(values: Mapping[str, Given]) -> dict[str, str]:
    return {key: value if isinstance(value, str) else _row(np.atleast_1d(value)) for key, value in values.items()}


def _text(value: float) -> str:
    """Return a number with all its digits; integers without a point, -0 as 0."""
    value = float(value) + 0.0
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _row(values: Given) -> str:
    return " ".join(_text(value) for value in values)


def _comment(element: ET.Element, text: str) -> None:
    element.append(ET.Comment(f" {re.sub('-(?=-|$)', '- ', text)} "))


def _document(root: ET.Element) -> str:
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    if found := _NOT_XML.search(text):
        raise InputError(f"a name contains the character {found[0]!r}, which XML cannot hold")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'
