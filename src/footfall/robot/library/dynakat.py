"""DynaKat: four joints per leg, from the Denavit-Hartenberg table of the DynaKat report (Table I, standard convention).

Erratum: the report's text suggests a roll joint followed by a planar chain, but its table makes joint 1 the hip
*pitch* (axis -y at zero) and joint 2 the *roll* (axis -x). The table is followed: hip, abad, knee, ankle.
"""

from __future__ import annotations

import math

import numpy as np

from footfall.errors import InputError
from footfall.robot.model import dh
from footfall.robot.model.description import Actuator, Link, Provenance, Robot
from footfall.robot.model.legs import LEGS, leg_vector
from footfall.robot.model.placement import standing_pose, two_link_angles
from footfall.robot.model.shapes import box_inertia
from footfall.spatial.transform import Transform

LEG_LAYOUTS = ("mirrored", "identical")

# Published lengths [m]: sideways from the hip's pitch axis to the roll axis, then from roll to knee to ankle to foot
OFFSET, THIGH, SHANK, FOOT = 0.030, 0.100, 0.075, 0.050

# Chosen: masses [kg], boxes [m], centres of mass [m] of a leg whose offset points to -y
TRUNK = (1.5, (0.30, 0.12, 0.06))
HIP_IN_TRUNK = (0.14, 0.05, 0.0)
LINKS = {
    "hip": (0.20, (0.04, 0.03, 0.04), (0.0, -0.015, 0.0)),
    "abad": (0.15, (0.03, 0.02, 0.10), (0.0, 0.0, -0.05)),
    "knee": (0.10, (0.025, 0.02, 0.075), (0.0, 0.0, -0.0375)),
    "ankle": (0.05, (0.02, 0.02, 0.05), (0.0, 0.0, -0.025)),
}
LIMIT = {"hip": 1.6, "abad": 0.8, "knee": 2.4, "ankle": 2.4}  # [rad], in both directions
TORQUE = 3.1  # [N m]
FOOT_RADIUS = 0.01
HIP_HEIGHT = 0.18  # height of the standing robot [m]


def table(leg: str = "RF", side: int = -1) -> list[dh.Row]:
    """Return Table I for one leg; ``side`` = -1 as printed (offset towards -y), +1 its mirror image."""
    right = math.pi / 2
    return [
        dh.Row(alpha=right),
        dh.Row(theta=-right),
        dh.Row(d=-side * OFFSET, alpha=right, joint=f"{leg}_hip"),
        dh.Row(a=THIGH, alpha=-right, joint=f"{leg}_abad"),
        dh.Row(a=SHANK, joint=f"{leg}_knee"),
        dh.Row(a=FOOT, joint=f"{leg}_ankle"),
        dh.Row(theta=right, alpha=right),
    ]


def dynakat(legs: str = "mirrored") -> Robot:
    """Return DynaKat: 22 degrees of freedom, 3.5 kg (the report gives no mass: chosen).

    ``legs``: the report has one table for all legs. ``identical`` follows it to the letter, and the offset of 30 mm
    points to the right on both sides; ``mirrored`` points it outboard on the left legs too: a symmetric robot.
    """
    if legs not in LEG_LAYOUTS:
        raise InputError(f"unknown layout of legs '{legs}': choose {', '.join(LEG_LAYOUTS)}")
    limbs = []
    for leg in LEGS:
        side = LEGS[leg][1] if legs == "mirrored" else -1
        limbs.append(
            dh.Limb(
                name=leg,
                mount=Transform(np.eye(3), leg_vector(leg, HIP_IN_TRUNK)),
                rows=table(leg, side),
                links={f"{leg}_{part}": _link(part, side) for part in LINKS},
                settings={f"{leg}_{part}": {"lower": -limit, "upper": limit} for part, limit in LIMIT.items()},
                foot_radius=FOOT_RADIUS,
            )
        )
    mass, size = TRUNK
    robot = dh.robot(
        "dynakat",
        Link(name="trunk", mass=mass, inertia=box_inertia(mass, size), box=size),
        limbs,
        actuators=[Actuator(joint=f"{leg}_{part}", torque_limit=TORQUE) for leg in LEGS for part in LINKS],
        provenance=_provenance(legs),
        notes=(
            "Table I of the DynaKat report gives the leg; all masses, tensors, limits and the trunk are chosen, "
            "since none are published. Its table makes the first joint the hip pitch and the second the roll."
        ),
    )
    hip, knee = two_link_angles(HIP_HEIGHT - FOOT_RADIUS - FOOT, THIGH, SHANK, +1)  # the foot's link stays vertical
    return robot.replace(poses={"stand": standing_pose(robot, (hip, 0.0, knee, -hip - knee) * 4)})


def _link(part: str, side: int) -> Link:
    mass, size, (x, y, z) = LINKS[part]
    return Link(name=part, mass=mass, com=np.array([x, -side * y, z]), inertia=box_inertia(mass, size), box=size)


def _provenance(legs: str) -> dict[str, Provenance]:
    chosen = Provenance("chosen", "the DynaKat report publishes no masses, tensors, limits or trunk; a plausible value")
    layout = "mirrored across y = 0 on the left legs" if legs == "mirrored" else "the same for all legs"
    table_i = Provenance("derived", f"Table I of the DynaKat report, in trunk-aligned frames, {layout}")
    return {
        "*": chosen,
        "*_abad.origin": table_i,
        "*_knee.origin": table_i,
        "*_ankle.origin": table_i,
        "*.axis": table_i,
        "*.rotation": table_i,
        "??.position": table_i,
        "*_hip.origin": Provenance("chosen", "the DynaKat report does not say where its legs join the trunk"),
    }
