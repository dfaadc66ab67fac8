"""The spined quadruped of Adak et al.: three bodies joined by a pitch and a roll joint; its numbers are chosen here.

Topology, eqs. (3)-(4) and Table 1 of the paper: the main body is the base, its frame at its centre of mass; the front
body pitches at +L_b/2 (axis -y: positive lifts the nose), the hind body rolls at -L_b/2 (axis +x); abad (+x) and hip
(+y) axes intersect, and hip and knee are parallel. Links are solid boxes. Frames here are parallel to the main body's
at zero.
"""

from __future__ import annotations

import numpy as np

from footfall.robot.model import dh
from footfall.robot.model.description import Actuator, Foot, Joint, Link, Provenance, Robot
from footfall.robot.model.legs import LEGS, knee_bend, leg_vector, mirrored_limits
from footfall.robot.model.placement import standing_pose, two_link_angles
from footfall.robot.model.shapes import box_inertia

# Chosen lengths [m]: of the main body, from a spine joint to the hips, width and height of the bodies, thigh, shank
MAIN_LENGTH, FRONT_LENGTH, HIND_LENGTH, WIDTH, HEIGHT, THIGH, SHANK = 0.24, 0.24, 0.24, 0.24, 0.12, 0.25, 0.25
FOOT_RADIUS = 0.02
HIP_HEIGHT = 0.45  # height of the standing robot [m]
# Chosen masses [kg], boxes [m] and centres of mass [m]
BODY = (7.5, (0.24, 0.24, 0.12))
FRONT_COM, HIND_COM = (0.12, 0.0, 0.0), (-0.12, 0.0, 0.0)
PARTS = {
    "abad": (0.375, (0.06, 0.06, 0.06), (0.0, 0.0, 0.0)),
    "hip": (0.9, (0.05, 0.05, 0.25), (0.0, 0.0, -0.125)),
    "knee": (0.6, (0.04, 0.04, 0.25), (0.0, 0.0, -0.125)),
}
# Chosen limits [rad] (knees behind) and torques [N m]
LIMITS = {"abad": (-0.7, 0.7), "hip": (-1.6, 1.6), "knee": (-2.5, -0.2)}
SPINE_LIMITS = {"spine_pitch": (-0.5, 0.5), "spine_roll": (-0.35, 0.35)}
SPINE_TORQUE, LEG_TORQUE = 80.0, 60.0


def leg_table(leg: str) -> list[dh.Row]:
    """Return Table 1 of the paper for one leg (modified convention; see dh.py)."""
    return [
        dh.Row(joint=f"{leg}_abad"),
        dh.Row(alpha=-np.pi / 2, joint=f"{leg}_hip"),
        dh.Row(a=THIGH, joint=f"{leg}_knee"),
        dh.Row(a=SHANK),
    ]


def spined(knees: str = "behind") -> Robot:
    """Return the spined quadruped: 20 degrees of freedom, 30 kg, a quarter of it in the legs; ``knees`` as for
    ``xiling``.
    """
    bend = knee_bend(knees)
    mass, size = BODY
    tensor = box_inertia(mass, size)
    links = [
        Link(name="trunk", mass=mass, inertia=tensor, box=size),
        Link(name="spine_pitch_link", mass=mass, com=np.array(FRONT_COM), inertia=tensor, box=size),
        Link(name="spine_roll_link", mass=mass, com=np.array(HIND_COM), inertia=tensor, box=size),
    ]
    half = np.array([MAIN_LENGTH / 2, 0.0, 0.0])
    joints = [
        _joint("spine_pitch", "trunk", half, (0.0, -1.0, 0.0), SPINE_LIMITS["spine_pitch"]),
        _joint("spine_roll", "trunk", -half, (1.0, 0.0, 0.0), SPINE_LIMITS["spine_roll"]),
    ]
    feet: list[Foot] = []
    for leg, (fore, _) in LEGS.items():
        parent = "spine_pitch_link" if fore > 0 else "spine_roll_link"
        reach = FRONT_LENGTH if fore > 0 else HIND_LENGTH
        positions = {
            "abad": leg_vector(leg, (reach, WIDTH / 2, -HEIGHT / 2)),
            "hip": np.zeros(3),
            "knee": np.array([0.0, 0.0, -THIGH]),
        }
        for part, (mass, size, com) in PARTS.items():
            name = f"{leg}_{part}"
            axis = (1.0, 0.0, 0.0) if part == "abad" else (0.0, 1.0, 0.0)
            joints.append(_joint(name, parent, positions[part], axis, mirrored_limits(LIMITS[part], bend)))
            links.append(
                Link(name=f"{name}_link", mass=mass, com=np.array(com), inertia=box_inertia(mass, size), box=size)
            )
            parent = f"{name}_link"
        feet.append(Foot(name=leg, link=parent, position=np.array([0.0, 0.0, -SHANK]), radius=FOOT_RADIUS))
    robot = Robot(
        name="spined",
        links=links,
        joints=joints,
        feet=feet,
        actuators=[
            Actuator(joint=j.name, torque_limit=SPINE_TORQUE if j.name.startswith("spine") else LEG_TORQUE)
            for j in joints
        ],
        provenance=_provenance(),
        notes=(
            "Adak et al. turn the base by Euler angles XYZ, R = Rx(roll) Ry(pitch) Rz(yaw), and list the legs FR, "
            "FL, HR, HL; here the legs are LF, RF, LH, RH and the joints in tree order: spine_pitch with the fore "
            "legs, then spine_roll with the hind legs. All lengths, masses, limits and torques are chosen; legs of "
            "about a quarter of the mass and box inertias are the paper's."
        ),
    )
    hip, knee = two_link_angles(HIP_HEIGHT - FOOT_RADIUS, THIGH, SHANK, -bend)
    leg_pose = {"abad": 0.0, "hip": hip, "knee": knee}
    stand = [leg_pose.get(name.partition("_")[2], 0.0) for name in robot.joint_names]
    return robot.replace(poses={"stand": standing_pose(robot, stand)})


def _joint(
    name: str, parent: str, origin: np.ndarray, axis: tuple[float, float, float], limits: tuple[float, float]
) -> Joint:
    return Joint(
        name=name,
        kind="revolute",
        parent=parent,
        child=f"{name}_link",
        origin=origin,
        axis=np.array(axis),
        lower=limits[0],
        upper=limits[1],
    )


def _provenance() -> dict[str, Provenance]:
    topology = Provenance("derived", "eqs. (3)-(4) and Table 1 of Adak et al., in frames parallel to the main body's")
    return {
        "*": Provenance("chosen", "Adak et al. publish no dimensions, masses or limits; a plausible value"),
        "*.axis": topology,
        "*.rotation": topology,
        "*_hip.origin": Provenance("derived", "Table 1 of Adak et al.: abad and hip axes meet"),
        "*.inertia": Provenance("chosen", "solid boxes, as Adak et al. take them, of chosen sizes and masses"),
    }
