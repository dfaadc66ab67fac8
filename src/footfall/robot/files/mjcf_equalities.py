"""MJCF's <equality>: constraints between bodies and joints, checked for MuJoCo and read from its compiled model."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable

import numpy as np

from footfall.errors import ModelError
from footfall.robot.files.guard import label, numbers
from footfall.robot.model.loops import Loop
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.transform import Transform
from nptrace._types import Given

_MOST = 500
_CONNECT, _WELD, _JOINT = 0, 1, 2  # MuJoCo's numbers of equalities
_SITE = 6  # types of the constrained objects
_WORDS = ("name", "active", "body1", "body2", "site1", "site2", "joint1", "joint2")
_NUMBERS = {"anchor": (3, 3), "relpose": (7, 7), "polycoef": (1, 5)}
_KNOWN = {"connect": ("body", "site"), "weld": ("body", "site"), "joint": ("joint",)}


def passed_equalities(root: ET.Element, cleaned: ET.Element) -> tuple[ET.Element, list[str]]:
    """Return (the section for MuJoCo, remarks on ignored equalities): those of tendons, and of ignored elements."""
    section, left = ET.Element("equality"), []
    every = [tie for equality in root.findall("equality") for tie in equality]
    given = [tie for tie in every if tie.get("active", "true") != "false"]
    idle = [label(tie) for tie in every if tie.get("active", "true") == "false"]
    if len(every) > _MOST:
        raise ModelError(f"more than {_MOST} equalities")
    there = {element.get("name") for element in cleaned.iter() if element.tag == "body"}
    elsewhere = {body.get("name") for body in root.iter("body")} - there
    for number, tie in enumerate(given):
        ends = {tie.get(key) for key in ("body1", "body2")}
        if tie.tag not in _KNOWN or ends & elsewhere:
            left.append(label(tie))
            continue
        copy = ET.SubElement(section, tie.tag, name=tie.get("name") or f"equality{number}")
        for key in _WORDS[2:]:
            if key in tie.attrib:
                copy.set(key, tie.attrib[key])
        for key, count in _NUMBERS.items():
            if key in tie.attrib:
                numbers(tie.attrib[key], f"'{key}' of {label(tie)}", count)
                copy.set(key, tie.attrib[key])
    reported = [f"equalities ({', '.join(left)})"] if left else []
    return section, reported + ([f"equalities that are not active ({', '.join(idle)})"] if idle else [])


def read_loops(model: Given, links: Iterable[str], joints: Iterable[str], remarks: list[str]) -> list[Loop]:
    """Return the loops of a compiled model that concern the robot's own links and joints."""
    loops, left, held, links, joints = [], [], [], set(links), set(joints)
    for k in range(model.neq):
        loop = _loop(model, k)
        if int(model.eq_type[k]) == _JOINT and int(model.eq_obj2id[k]) < 0:
            held.append(f"'{model.jnt(int(model.eq_obj1id[k])).name}'")
        elif loop is None or not {loop.first, loop.second} <= (joints if loop.kind == "joint" else links):
            left.append(f"'{model.equality(k).name}'")
        else:
            loops.append(loop)
    if left:
        remarks.append(f"the equalities {', '.join(left)} connect the robot to objects outside it, and are left out")
    if held:
        word = "joint" if len(held) == 1 else "joints"
        remarks.append(f"equalities fix {word} {', '.join(held)} in place, and are left out")
    return loops


def _loop(model: Given, k: int) -> Loop | None:
    name, kind, data = model.equality(k).name, int(model.eq_type[k]), np.array(model.eq_data[k], dtype=float)
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    if not np.isfinite(data).all():
        raise ModelError(f"equality '{name}' has a value that is not finite")
    if kind == _JOINT:
        return _coupling(model, name, first, second, data[:5]) if second >= 0 else None
    if kind not in (_CONNECT, _WELD):
        return None
    if int(model.eq_objtype[k]) == _SITE:
        ends = [Transform(to_rotation(model.site_quat[s]), model.site_pos[s].copy()) for s in (first, second)]
        rotation = ends[0].R @ ends[1].R.T
        at, to = ends[0].p, ends[1].p
        first, second = (int(model.site_bodyid[s]) for s in (first, second))
    elif kind == _CONNECT:
        at, to, rotation = data[:3], data[3:6], np.eye(3)
    else:  # the anchor is given in the second body; its position in the first follows from the relative pose
        at, to, rotation = data[3:6], data[:3], to_rotation(data[6:10])
    return Loop(
        name=name,
        kind="point" if kind == _CONNECT else "frame",
        first=model.body(first).name,
        second=model.body(second).name,
        at=at,
        to=to,
        rotation=rotation,
    )


def _coupling(model: Given, name: str, first: int, second: int, polynomial: np.ndarray) -> Loop:
    """Return y - y_0 = p(x - x_0) about the joints' reference positions, expanded."""
    y_0, x_0 = (float(model.qpos0[model.jnt_qposadr[j]]) for j in (first, second))
    moved = np.polynomial.Polynomial(polynomial)(np.polynomial.Polynomial([-x_0, 1.0])) + y_0
    return Loop(
        name=name,
        kind="joint",
        first=model.jnt(first).name,
        second=model.jnt(second).name,
        coefficients=tuple(moved.coef.tolist()),
    )
