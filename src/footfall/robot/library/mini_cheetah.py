"""MIT Mini Cheetah, the robot of de Paula et al. 2024: numbers of Cheetah-Software (MIT licence), commit c71c5a13.

Frames: every link frame sits at its joint and is parallel to the trunk's at zero, where the legs hang straight down.
The source rotates its hip frames by π about z; this rotation is removed here, so hip and knee rotate about -y of the
trunk (a positive angle swings the foot forward) and the hip's centre of mass lies inboard.
"""

from __future__ import annotations

import numpy as np

from footfall.errors import InputError
from footfall.robot.model.description import Actuator, Foot, Joint, Link, Provenance, Robot, Rotor
from footfall.robot.model.legs import LEGS, leg_vector
from footfall.robot.model.placement import standing_pose
from footfall.robot.model.shapes import mirrored, tensor

HIP_INERTIAS = ("realisable", "as_published")

# Geometry [m]; vectors are those of the left fore leg
TRUNK_BOX = (0.38, 0.098, 0.10)
ABAD_IN_TRUNK = (0.19, 0.049, 0.0)
HIP_IN_ABAD = (0.0, 0.062, 0.0)
KNEE_IN_HIP = (0.0, 0.0, -0.209)
FOOT_IN_KNEE = (0.0, 0.004, -0.180)  # centre of the sphere
FOOT_RADIUS = 0.015  # so that a hanging leg ends 0.195 below the knee, the source's point foot

# Masses [kg], centres of mass [m] and tensors about them [kg m²], without rotors, left legs
TRUNK = (3.3, (0.0, 0.0, 0.0), tensor(0.011253, 0.036203, 0.042673))
ABAD = (0.54, (0.0, 0.036, 0.0), tensor(381e-6, 560e-6, 444e-6, 58e-6, 0.45e-6, 0.95e-6))
HIP = (0.634, (0.0, -0.016, -0.020), tensor(1983e-6, 2103e-6, 408e-6, 245e-6, -13e-6, -1.5e-6))
KNEE = (0.064, (0.0, 0.0, -0.061), tensor(245e-6, 248e-6, 6e-6))

# Rotors: mass [kg], inertia about the spin axis and across it [kg m²], position on the body that carries each [m]
ROTOR_MASS, ROTOR_SPIN, ROTOR_ACROSS = 0.055, 63e-6, 33e-6
ROTOR_AT = {"abad": (0.125, 0.049, 0.0), "hip": (0.0, 0.04, 0.0), "knee": (0.0, 0.0, 0.0)}
GEAR = {"abad": 6.0, "hip": 6.0, "knee": 9.33}

# Motors: torque constant [N m/A], winding [Ω], battery [V], torque at the rotor [N m]; losses at the joint
MOTOR_KT, MOTOR_R, BATTERY, MOTOR_TORQUE = 0.05, 0.173, 24.0, 3.0
DAMPING, DRY_FRICTION = 0.01, 0.2

AXIS = {"abad": (1.0, 0.0, 0.0), "hip": (0.0, -1.0, 0.0), "knee": (0.0, -1.0, 0.0)}
LIMIT = {"abad": 1.5, "hip": 3.1, "knee": 2.7}  # [rad], in both directions
STAND, FOLD = (0.0, -0.8, 1.6), (0.0, -1.4, 2.7)  # abad, hip, knee of every leg [rad]


def mini_cheetah(rotors: str = "armature", hip_inertia: str = "realisable") -> Robot:
    """Return the Mini Cheetah: 18 degrees of freedom, 8.252 kg without and 8.912 kg with rotors.

    ``hip_inertia``: no mass distribution has the published hip tensor (its principal moments violate A + B >= C);
    ``realisable`` zeroes the off-diagonals, ``as_published`` keeps them.
    """
    if hip_inertia not in HIP_INERTIAS:
        raise InputError(f"unknown hip inertia '{hip_inertia}': choose {', '.join(HIP_INERTIAS)}")
    as_published = hip_inertia == "as_published"
    hip_tensor = HIP[2] if as_published else np.diag(np.diag(HIP[2]))
    links = [Link(name="trunk", mass=TRUNK[0], com=np.array(TRUNK[1]), inertia=TRUNK[2], box=TRUNK_BOX)]
    joints: list[Joint] = []
    feet: list[Foot] = []
    for leg, (_, side) in LEGS.items():
        parent = "trunk"
        for part, origin, (mass, com, inertia) in (
            ("abad", ABAD_IN_TRUNK, ABAD),
            ("hip", HIP_IN_ABAD, (HIP[0], HIP[1], hip_tensor)),
            ("knee", KNEE_IN_HIP, KNEE),
        ):
            name = f"{leg}_{part}"
            links.append(
                Link(
                    name=f"{name}_link",
                    mass=mass,
                    com=leg_vector(leg, com),
                    inertia=inertia if side > 0 else mirrored(inertia),
                    as_published=as_published and part == "hip",
                )
            )
            rotor = Rotor(ROTOR_MASS, leg_vector(leg, ROTOR_AT[part]), ROTOR_SPIN, ROTOR_ACROSS, GEAR[part])
            joints.append(
                Joint(
                    name=name,
                    kind="revolute",
                    parent=parent,
                    child=f"{name}_link",
                    origin=leg_vector(leg, origin),
                    axis=np.array(AXIS[part]),
                    lower=-LIMIT[part],
                    upper=LIMIT[part],
                    damping=DAMPING,
                    dry_friction=DRY_FRICTION,
                    rotor=rotor,
                )
            )
            parent = f"{name}_link"
        feet.append(Foot(name=leg, link=parent, position=leg_vector(leg, FOOT_IN_KNEE), radius=FOOT_RADIUS))
    robot = Robot(
        name="mini_cheetah",
        links=links,
        joints=joints,
        feet=feet,
        actuators=[_actuator(joint.name) for joint in joints],
        rotors=rotors,
        provenance=_provenance(as_published),
        notes=(
            "Numbers of MIT's Cheetah-Software (MIT licence, © 2019 MIT Biomimetic Robotics Lab). The motor model "
            "behind the electrical data takes 1.5 kt as torque per ampere and 2 kt as back-EMF per rad/s; the "
            "no-load speed is V / (2 kt gear). The driver boards clamp at 17, 17 and 26 N m, a little below motor "
            "limit times gear."
        ),
    )
    return robot.replace(poses={k: standing_pose(robot, p * 4) for k, p in (("stand", STAND), ("fold", FOLD))})


def _actuator(joint: str) -> Actuator:
    gear = GEAR[joint.split("_")[1]]
    return Actuator(
        joint=joint,
        torque_limit=MOTOR_TORQUE * gear,
        speed_limit=BATTERY / (2 * MOTOR_KT * gear),
        gear=gear,
        torque_constant=MOTOR_KT,
        resistance=MOTOR_R,
        voltage=BATTERY,
    )


def _provenance(as_published: bool) -> dict[str, Provenance]:
    source = "MIT Cheetah-Software, commit c71c5a13"
    turned = Provenance(
        "derived", f"{source}; expressed in trunk-aligned frames (the source turns hip frames by π about z)"
    )
    mirror = Provenance("derived", f"{source}; the left leg's value mirrored across y = 0, as the source does")
    sphere = Provenance("chosen", "the source has a point foot at the tip; a sphere of 15 mm that ends at the same tip")
    if as_published:
        hip = Provenance("derived", f"{turned.source}; not realisable, kept as published")
    else:
        hip = Provenance("derived", f"{source}; off-diagonals zeroed, since the published tensor is not realisable")
    return {
        "*": Provenance("published", source),
        "*.rotation": turned,
        "*_hip.axis": turned,
        "*_knee.axis": turned,
        "L?_hip_link.com": turned,
        "R?_*_link.com": mirror,
        "R?_*_link.inertia": mirror,
        "*_hip_link.inertia": hip,
        "*.lower": Provenance("chosen", "the source's dynamics has no joint limits; wide enough for its fold pose"),
        "*.upper": Provenance("chosen", "the source's dynamics has no joint limits; wide enough for its fold pose"),
        "*.armature": Provenance("derived", f"{source}; reflected inertia comes from the rotors, none is added"),
        "*.stiffness": Provenance("published", f"{source}; its joints have no springs"),
        "*.rest": Provenance("published", f"{source}; its joints have no springs"),
        "??.position": sphere,
        "??.radius": sphere,
    }
