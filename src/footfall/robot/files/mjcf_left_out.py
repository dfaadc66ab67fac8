"""What an MJCF file says that a robot here has no place for, in words: one line at load names it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np

from footfall.gravity import GRAVITY
from footfall.robot.files.feet import is_foot_name
from footfall.robot.files.guard import numbers, shown

ACTUATORS = ("motor", "position", "velocity", "intvelocity", "general")
_SECTIONS = {"tendon": "tendons", "deformable": "deformable bodies", "extension": "plugins"}
_CONTACT = ("condim", "gap", "margin", "priority", "solimp", "solmix", "solref")  # of geoms: contact laws here differ
_LIMIT = ("margin", "solimpfriction", "solimplimit", "solreffriction", "solreflimit")  # of joints: stops are stiff here
_SERVO = ("biasprm", "dampratio", "gainprm", "kp", "kv")  # of actuators: controllers bring their own gains
_DYNAMIC = ("dynprm", "dyntype", "actdim", "timeconst")  # of actuators: torques act at once
_ODD = ("adhesion", "cylinder", "damper", "muscle", "plugin")  # kinds of actuators that no motor here is
_OPTIONS = ("timestep", "integrator", "cone", "impratio", "wind", "density", "viscosity", "magnetic", "o_solref")
_LISTED = 8  # names of one kind


def left_out(root: ET.Element) -> list[str]:
    """What is not taken over: contact and servo parameters, tendons, sensors, contact pairs, options, ..."""
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
        said = sorted({key for element in elements for key in element.attrib if key in keys})
        left += [f"{words} ({', '.join(said)})"] if said else []
    sections = {"actuator": _ODD, "sensor": None, "contact": None}
    for section, kinds in sections.items():
        found = {e.tag for s in root.findall(section) for e in s if kinds is None or e.tag in kinds}
        if found:
            names = sorted(found)
            more = f" and {len(names) - _LISTED} more kinds" if len(names) > _LISTED else ""
            left.append(f"{_plural(section)} ({', '.join(names[:_LISTED])}{more})")
    left += _idle_sites(root)
    moved = sorted({key for frame in root.iter("key") for key in frame.attrib if key in ("act", "ctrl", "qvel")})
    return left + ([f"what keyframes say of {', '.join(moved)}"] if moved else [])


def _defaults_of_ties(root: ET.Element) -> list[ET.Element]:
    return [tie for default in root.iter("default") for tie in default.findall("equality")]


def _idle_sites(root: ET.Element) -> list[str]:
    """Sites that say nothing here: no foot, no end of a loop, nothing that has a shape or body of the same name."""
    ends = {e.get(key) for section in root.findall("equality") for e in section for key in ("site1", "site2")}
    known = ends | {e.get("name") for tag in ("geom", "body") for e in root.iter(tag)}
    names = [site.get("name", "") for site in root.iter("site")]
    idle = sorted({name for name in names if name and name not in known and not is_foot_name(name)})
    more = f" and {len(idle) - _LISTED} more" if len(idle) > _LISTED else ""
    return [f"sites ({', '.join(map(shown, idle[:_LISTED]))}{more})"] if idle else []


def other_gravity(root: ET.Element) -> list[str]:
    """Remarks on gravity that is not the usual one."""
    given = [option.attrib["gravity"] for option in root.findall("option") if "gravity" in option.attrib]
    odd = [text for text in given if not np.allclose(numbers(text, "'gravity' of <option>", 3), GRAVITY)]
    return [f"gravity {shown(text)} is left out: Simulation(..., gravity=...) sets it" for text in odd]


def _plural(section: str) -> str:
    return {"actuator": "actuators", "sensor": "sensors", "contact": "contact lists"}[section]
