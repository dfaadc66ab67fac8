"""A quadruped with five-bar legs and abduction joints, like Minitaur and Doggo; its numbers are chosen here.

Two coaxial motors at the hip drive a thigh and a crank; shank and rod are attached to their ends and pinned to each
other at the foot. The tree is cut at that pin: the foot belongs to the shank, and the loop connects the rod's end to
it. Knee and rod have no motor. Frames are parallel to the trunk's at zero, legs hanging; positive angles swing forward.
"""

from __future__ import annotations

import math

import numpy as np

from footfall.robot.model.description import Actuator, Foot, Joint, Link, Loop, Provenance, Robot
from footfall.robot.model.legs import LEGS, leg_vector
from footfall.robot.model.placement import standing_pose
from footfall.robot.model.shapes import box_inertia

TRUNK = (7.0, (0.42, 0.18, 0.10))
UPPER, LOWER = 0.12, 0.20  # thigh and crank, shank and rod [m]
PARTS = {  # joint: (parent link, position on it, mass, box, centre of mass, axis)
    "abad": ("trunk", (0.19, 0.07, 0.0), 0.55, (0.08, 0.08, 0.08), (0.0, 0.03, 0.0), (1.0, 0.0, 0.0)),
    "hip": ("abad", (0.0, 0.07, 0.0), 0.18, (0.03, 0.02, UPPER), (0.0, 0.0, -UPPER / 2), (0.0, -1.0, 0.0)),
    "knee": ("hip", (0.0, 0.0, -UPPER), 0.12, (0.02, 0.02, LOWER), (0.0, 0.0, -LOWER / 2), (0.0, -1.0, 0.0)),
    "crank": ("abad", (0.0, 0.07, 0.0), 0.16, (0.03, 0.02, UPPER), (0.0, 0.0, -UPPER / 2), (0.0, -1.0, 0.0)),
    "rod": ("crank", (0.0, 0.0, -UPPER), 0.08, (0.02, 0.02, LOWER), (0.0, 0.0, -LOWER / 2), (0.0, -1.0, 0.0)),
}
LIMITS = {"abad": (-0.8, 0.8), "hip": (-0.5, 2.2), "knee": (-2.6, -0.2), "crank": (-2.2, 0.5), "rod": (0.2, 2.6)}
MOTORS = ("abad", "hip", "crank")
FOOT_RADIUS = 0.018
ARMATURE, DAMPING, BEARING = 0.004, 0.02, 5e-4  # [kg m²], [N m s/rad] of motors and of plain bearings
TORQUE, SPEED = 18.0, 40.0  # [N m], [rad/s]
SPREAD = 0.9  # angle of thigh and crank from the vertical in the stand [rad]


def fivebar() -> Robot:
    """Return the quadruped with five-bar legs: 26 coordinates, 18 degrees of freedom with its loops closed, 11.4 kg."""
    mass, size = TRUNK
    links = [Link(name="trunk", mass=mass, inertia=box_inertia(mass, size), box=size)]
    joints: list[Joint] = []
    feet: list[Foot] = []
    loops: list[Loop] = []
    for leg in LEGS:
        for part, (parent, origin, mass, size, com, axis) in PARTS.items():
            name = f"{leg}_{part}"
            links.append(
                Link(
                    name=f"{name}_link", mass=mass, com=leg_vector(leg, com), inertia=box_inertia(mass, size), box=size
                )
            )
            joints.append(
                Joint(
                    name=name,
                    kind="revolute",
                    parent="trunk" if parent == "trunk" else f"{leg}_{parent}_link",
                    child=f"{name}_link",
                    origin=leg_vector(leg, origin),
                    axis=np.array(axis),
                    lower=LIMITS[part][0],
                    upper=LIMITS[part][1],
                    damping=DAMPING if part in MOTORS else BEARING,
                    armature=ARMATURE if part in MOTORS else 0.0,
                )
            )
        end = np.array([0.0, 0.0, -LOWER])
        feet.append(Foot(name=leg, link=f"{leg}_knee_link", position=end, radius=FOOT_RADIUS))
        loops.append(
            Loop(name=f"{leg}_pin", kind="point", first=f"{leg}_knee_link", second=f"{leg}_rod_link", at=end, to=end)
        )
    robot = Robot(
        name="fivebar",
        links=links,
        joints=joints,
        feet=feet,
        actuators=[
            Actuator(joint=f"{leg}_{part}", torque_limit=TORQUE, speed_limit=SPEED) for leg in LEGS for part in MOTORS
        ],
        provenance={"*": Provenance("chosen", "a machine of the size of Doggo, made up for this library")},
        loops=loops,
        notes="Five-bar legs with coaxial motors; its numbers are of no robot that exists.",
    )
    return robot.replace(poses={"stand": standing_pose(robot, _stand() * len(LEGS))})


def _stand() -> tuple[float, ...]:
    """Return abad, hip, knee, crank, rod: thigh and crank at equal angles, the foot straight below the hip."""
    knee = -math.asin(UPPER / LOWER * math.sin(SPREAD)) - SPREAD
    return 0.0, SPREAD, knee, -SPREAD, -knee
