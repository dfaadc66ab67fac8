"""The biped of the lecture slides on floating-base robots. The slides give no numbers; all are chosen.

With ``feet="points"``: legs of three joints (roll, pitch, knee), as needed for a point foot. With ``feet="flat"``:
additionally a yaw joint at the hip and an ankle with pitch and roll, six joints per leg, and soles of 0.20 m by 0.10 m:
as needed to place a flat foot anywhere.
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
    """Return a torso on two legs: 12 degrees of freedom with point feet, 18 with soles."""
    if feet not in FEET:
        raise unknown("feet of the biped", feet, FEET)
    links = [Link(name="torso", mass=20.0, com=0.2 * _Z, inertia=np.diag([0.8, 0.7, 0.3]), box=(0.2, 0.3, 0.4))]
    joints: list[Joint] = []
    ends: list[Foot] = []
    for side, sign in (("L", 1.0), ("R", -1.0)):
        root, at = "torso", sign * _HALF_WIDTH * _Y
        if feet == "flat":
            links.append(Link(name=f"{side}_yaw_link", mass=0.5, com=np.zeros(3), inertia=1e-3 * np.eye(3)))
            joints.append(
                Joint(name=f"{side}_yaw", kind="revolute", parent="torso", child=f"{side}_yaw_link", origin=at, axis=_Z)
            )
            root, at = f"{side}_yaw_link", np.zeros(3)
        links += [
            Link(name=f"{side}_hip_link", mass=1.0, com=np.zeros(3), inertia=2e-3 * np.eye(3)),
            Link(name=f"{side}_thigh", mass=2.5, com=np.array([0.0, 0.0, -0.18]), inertia=np.diag([0.03, 0.03, 4e-3])),
            Link(
                name=f"{side}_shank", mass=1.4, com=np.array([0.0, 0.0, -0.19]), inertia=np.diag([0.018, 0.018, 1e-3])
            ),
        ]
        joints += [
            Joint(name=f"{side}_roll", kind="revolute", parent=root, child=f"{side}_hip_link", origin=at, axis=_X),
            Joint(name=f"{side}_pitch", kind="revolute", parent=f"{side}_hip_link", child=f"{side}_thigh", axis=_Y),
            Joint(
                name=f"{side}_knee",
                kind="revolute",
                parent=f"{side}_thigh",
                child=f"{side}_shank",
                origin=-_THIGH * _Z,
                axis=_Y,
            ),
        ]
        ends.append(Foot(name=side, link=f"{side}_shank", position=-_SHANK * _Z))
        if feet == "flat":
            ends[-1] = _sole(side, links, joints)
    robot = Robot(
        name="biped",
        links=links,
        joints=joints,
        feet=ends,
        provenance={"*": Provenance("chosen", "the slides print no numbers")},
    )
    pitch, knee, ankle = _BENT
    leg = (0.0, 0.0, pitch, knee, ankle, 0.0) if feet == "flat" else (0.0, pitch, knee)
    return robot.replace(poses={"stand": standing_pose(robot, leg * 2)})


def _sole(side: str, links: list[Link], joints: list[Joint]) -> FlatFoot:
    """Add an ankle of two joints and a foot whose sole lies below it; the foot's point is the middle of the sole."""
    links += [
        Link(name=f"{side}_ankle_link", mass=0.3, com=np.zeros(3), inertia=4e-4 * np.eye(3)),
        Link(
            name=f"{side}_foot",
            mass=0.8,
            com=np.array([0.02, 0.0, -0.04]),
            inertia=np.diag([8e-4, 2.8e-3, 3.2e-3]),
            box=(*SOLE, 0.03),
        ),
    ]
    joints += [
        Joint(
            name=f"{side}_ankle",
            kind="revolute",
            parent=f"{side}_shank",
            child=f"{side}_ankle_link",
            origin=-_SHANK * _Z,
            axis=_Y,
        ),
        Joint(name=f"{side}_ankle_roll", kind="revolute", parent=f"{side}_ankle_link", child=f"{side}_foot", axis=_X),
    ]
    return FlatFoot(name=side, link=f"{side}_foot", position=np.array([0.02, 0.0, -_ANKLE]), sole=SOLE)
