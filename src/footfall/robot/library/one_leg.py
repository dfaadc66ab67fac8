"""The planar one-legged machine of the lecture slides on floating-base robots: a torso, a thigh and a shank.

The slides give no numbers; all are chosen. Its base consists of virtual joints, q = (x_hip, z_hip, torso, hip, knee):
the hip's position in the plane, the torso's attitude, and two joints with motors, all turning about y. The shank's
angle is torso + hip + knee.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footfall.robot.model.description import Foot, Joint, Link, Provenance, Robot

_X, _Y, _Z = np.eye(3)


@dataclass(frozen=True, kw_only=True)
class LegNumbers:
    """Masses [kg], lengths [m], distances of centres of mass from the upper end of their links."""

    torso_mass: float = 8.0
    torso_height: float = 0.15  # height of its centre of mass above the hip
    torso_inertia: float = 0.12
    thigh_mass: float = 1.2
    thigh: float = 0.3
    shank_mass: float = 0.6
    shank: float = 0.35

    def links(self, from_hip: bool = True) -> list[Link]:
        """Return the links, with frames at the upper joints or at the lower ones; rods with their centre in the
        middle.
        """
        up = 0.0 if from_hip else 1.0
        torso = Link(
            name="torso", mass=self.torso_mass, com=self.torso_height * _Z, inertia=self.torso_inertia * np.eye(3)
        )
        thigh, shank = (
            Link(
                name=name,
                mass=mass,
                com=(up - 0.5) * length * _Z,
                inertia=mass * length**2 / 12 * np.diag([1.0, 1.0, 0.02]),
            )
            for name, mass, length in (("thigh", self.thigh_mass, self.thigh), ("shank", self.shank_mass, self.shank))
        )
        return [torso, thigh, shank]


def one_leg(
    numbers: LegNumbers | None = None, hip_spring: float = 0.0, knee_spring: float = 0.0, bend: float = 0.5
) -> Robot:
    """Return the machine with a point foot; springs [N m/rad] pull hip and knee to a knee bent by ``bend`` [rad]."""
    numbers = numbers or LegNumbers()
    links = [Link.massless("world"), Link.massless("slide"), Link.massless("hip"), *numbers.links()]
    hip = -float(np.arctan2(numbers.shank * np.sin(bend), numbers.thigh + numbers.shank * np.cos(bend)))
    joints = [
        Joint(name="x_hip", kind="prismatic", parent="world", child="slide", axis=_X),
        Joint(name="z_hip", kind="prismatic", parent="slide", child="hip", axis=_Z),
        Joint(name="torso", kind="revolute", parent="hip", child="torso", axis=_Y),
        Joint(name="hip", kind="revolute", parent="torso", child="thigh", axis=_Y, stiffness=hip_spring, rest=hip),
        Joint(
            name="knee",
            kind="revolute",
            parent="thigh",
            child="shank",
            origin=-numbers.thigh * _Z,
            axis=_Y,
            stiffness=knee_spring,
            rest=bend,
        ),
    ]
    feet = [Foot(name="foot", link="shank", position=-numbers.shank * _Z)]
    provenance = {"*": Provenance("chosen", "the slides print no numbers")}
    return Robot(name="one_leg", links=links, joints=joints, feet=feet, floating=False, provenance=provenance)
