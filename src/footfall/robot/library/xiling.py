"""XiLing, the quadruped of Yan et al. 2021: its motors are published; its dimensions and masses are chosen here.

Frames are parallel to the trunk's at zero, legs hanging; abad rotates about +x, hip and knee about +y. (The paper has x
forward, y up, z right, numbers its legs LF, LH, RH, RF, and mirrors the positive directions between the sides: see
``notes``.)
"""

from __future__ import annotations

import math

import numpy as np

from footfall.robot.model.description import Actuator, Foot, Joint, Link, Provenance, Robot
from footfall.robot.model.legs import LEGS, knee_bend, leg_vector, mirrored_limits
from footfall.robot.model.placement import standing_pose
from footfall.robot.model.shapes import box_inertia

# Chosen: masses [kg], boxes [m], centres of mass [m] and joint positions [m] of the left fore leg
TRUNK = (30.0, (0.70, 0.30, 0.16))
PARTS = {  # joint: (its position on the parent, mass, box, centre of mass, axis)
    "abad": ((0.35, 0.12, 0.0), 0.8, (0.08, 0.10, 0.08), (0.0, 0.05, 0.0), (1.0, 0.0, 0.0)),
    "hip": ((0.0, 0.10, 0.0), 1.4, (0.04, 0.06, 0.32), (0.0, 0.0, -0.16), (0.0, 1.0, 0.0)),
    "knee": ((0.0, 0.0, -0.32), 0.6, (0.03, 0.03, 0.32), (0.0, 0.0, -0.16), (0.0, 1.0, 0.0)),
}
FOOT_IN_KNEE = (0.0, 0.0, -0.32)
FOOT_RADIUS = 0.025
LIMITS = {"abad": (-0.8, 0.8), "hip": (-1.57, 1.57), "knee": (-2.6, -0.3)}  # [rad], knees behind
STAND = (0.0, 0.674, -1.348)  # knees behind; the feet's centres are then 0.50 m below the hips

# Published: torques [N m], speed of a joint [rad/s], gear, and the knee's belt
PEAK_TORQUE, CONTINUOUS_TORQUE, SPEED, GEAR, KNEE_BELT = 108.0, 40.0, 350 * 2 * math.pi / 60, 20.0, 2.0


def xiling(knees: str = "behind") -> Robot:
    """Return XiLing: 18 degrees of freedom, 41.2 kg; ``knees`` are ``behind`` the hips or in ``front`` of them."""
    bend = knee_bend(knees)
    mass, size = TRUNK
    links = [Link(name="trunk", mass=mass, inertia=box_inertia(mass, size), box=size)]
    joints: list[Joint] = []
    feet: list[Foot] = []
    actuators: list[Actuator] = []
    for leg in LEGS:
        parent = "trunk"
        for part, (origin, mass, size, com, axis) in PARTS.items():
            name = f"{leg}_{part}"
            links.append(
                Link(
                    name=f"{name}_link", mass=mass, com=leg_vector(leg, com), inertia=box_inertia(mass, size), box=size
                )
            )
            lower, upper = mirrored_limits(LIMITS[part], bend)
            joints.append(
                Joint(
                    name=name,
                    kind="revolute",
                    parent=parent,
                    child=f"{name}_link",
                    origin=leg_vector(leg, origin),
                    axis=np.array(axis),
                    lower=lower,
                    upper=upper,
                )
            )
            belt = KNEE_BELT if part == "knee" else 1.0
            actuators.append(
                Actuator(
                    joint=name,
                    torque_limit=PEAK_TORQUE * belt,
                    speed_limit=SPEED / belt,
                    gear=GEAR * belt,
                    continuous_torque=CONTINUOUS_TORQUE * belt,
                )
            )
            parent = f"{name}_link"
        feet.append(Foot(name=leg, link=parent, position=np.array(FOOT_IN_KNEE), radius=FOOT_RADIUS))
    robot = Robot(
        name="xiling",
        links=links,
        joints=joints,
        feet=feet,
        actuators=actuators,
        provenance=_provenance(),
        notes=(
            "Yan et al. 2021 publish the motors: 12 alike, 0.96 kg each, gear 20, 40 N m continuous and 108 N m "
            "peak, 350 rpm, 48 V, knees through a 1:2 belt; their mass is counted in the trunk, as in the paper's "
            "model. The paper numbers its legs LF, LH, RH, RF and counts abad, hip, knee angles about our -x, +y, +y "
            "on the left and +x, -y, -y on the right; here it is +x, +y, +y on all legs."
        ),
    )
    return robot.replace(poses={"stand": standing_pose(robot, tuple(bend * q for q in STAND) * 4)})


def _provenance() -> dict[str, Provenance]:
    topology = Provenance("derived", "axes of Yan et al. 2021, with one sign for all legs, in trunk-aligned frames")
    return {
        "*": Provenance(
            "chosen", "Yan et al. 2021 publish no dimensions, masses or limits of XiLing; a plausible value"
        ),
        "*.axis": topology,
        "*.rotation": topology,
    }
