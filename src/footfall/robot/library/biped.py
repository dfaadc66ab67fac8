"""The biped of the lecture slides on floating-base robots. They print no numbers; all are chosen.

With ``feet="points"``: legs of three joints (roll, pitch, knee), as much as a point foot needs. With ``feet="flat"``: a
yaw joint at the hip and an ankle with pitch and roll besides, six joints a leg, and soles of 0.20 m by 0.10 m: as much
as a foot that lies on the ground needs to be put anywhere.
"""

from __future__ import annotations

import numpy as np

from footfall.errors import unknown
from footfall.robot.model.description import Foot, Joint, Link, Provenance, Robot
from footfall.robot.model.parts import FlatFoot
from footfall.robot.model.placement import standing_pose

FEET = ("points", "flat")
SOLE = (0.20, 0.10)  # length and width [m]
_HALF_WIDTH, _THIGH, _SHANK, _ANKLE = 0.1, 0.4, 0.4, 0.06  # [m]; the ankle's axes over the sole
_BENT = (-0.35, 0.7, -0.35)  # [rad]: pitch, knee and ankle of the stand
_X, _Y, _Z = np.eye(3)


def biped(feet: str = "points") -> Robot:
    """A torso on two legs: 12 degrees of freedom on points, 18 on soles."""
    if feet not in FEET:
        raise unknown("feet of the biped", feet, FEET)
    links = [Link("torso", 20.0, 0.2 * _Z, np.diag([0.8, 0.7, 0.3]), box=(0.2, 0.3, 0.4))]
    joints: list[Joint] = []
    ends: list[Foot] = []
    for side, sign in (("L", 1.0), ("R", -1.0)):
        root, at = "torso", sign * _HALF_WIDTH * _Y
        if feet == "flat":
            links.append(Link(f"{side}_yaw_link", 0.5, np.zeros(3), 1e-3 * np.eye(3)))
            joints.append(Joint(f"{side}_yaw", "revolute", "torso", f"{side}_yaw_link", origin=at, axis=_Z))
            root, at = f"{side}_yaw_link", np.zeros(3)
        links += [
            Link(f"{side}_hip_link", 1.0, np.zeros(3), 2e-3 * np.eye(3)),
            Link(f"{side}_thigh", 2.5, np.array([0.0, 0.0, -0.18]), np.diag([0.03, 0.03, 4e-3])),
            Link(f"{side}_shank", 1.4, np.array([0.0, 0.0, -0.19]), np.diag([0.018, 0.018, 1e-3])),
        ]
        joints += [
            Joint(f"{side}_roll", "revolute", root, f"{side}_hip_link", origin=at, axis=_X),
            Joint(f"{side}_pitch", "revolute", f"{side}_hip_link", f"{side}_thigh", axis=_Y),
            Joint(f"{side}_knee", "revolute", f"{side}_thigh", f"{side}_shank", origin=-_THIGH * _Z, axis=_Y),
        ]
        ends.append(Foot(side, f"{side}_shank", -_SHANK * _Z))
        if feet == "flat":
            ends[-1] = _sole(side, links, joints)
    robot = Robot("biped", links, joints, ends, provenance={"*": Provenance("chosen", "the slides print no numbers")})
    pitch, knee, ankle = _BENT
    leg = (0.0, 0.0, pitch, knee, ankle, 0.0) if feet == "flat" else (0.0, pitch, knee)
    return robot.replace(poses={"stand": standing_pose(robot, leg * 2)})


def _sole(side: str, links: list[Link], joints: list[Joint]) -> FlatFoot:
    """An ankle of two joints and a foot whose sole lies below it; the foot's point is the middle of the sole."""
    links += [
        Link(f"{side}_ankle_link", 0.3, np.zeros(3), 4e-4 * np.eye(3)),
        Link(f"{side}_foot", 0.8, np.array([0.02, 0.0, -0.04]), np.diag([8e-4, 2.8e-3, 3.2e-3]), box=(*SOLE, 0.03)),
    ]
    joints += [
        Joint(f"{side}_ankle", "revolute", f"{side}_shank", f"{side}_ankle_link", origin=-_SHANK * _Z, axis=_Y),
        Joint(f"{side}_ankle_roll", "revolute", f"{side}_ankle_link", f"{side}_foot", axis=_X),
    ]
    return FlatFoot(side, f"{side}_foot", np.array([0.02, 0.0, -_ANKLE]), sole=SOLE)
