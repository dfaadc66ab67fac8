"""The machines of the lecture slides: a planar one-legged one in two sets of coordinates, and a biped.

The slides model the one-legged machine twice, as two fixed-base robots: in flight q = (x_hip, z_hip, θ_torso, θ_hip,
θ_knee), in stance q = (θ_ankle, θ_knee, θ_hip). They print no numbers; those below are chosen. All turn about y, and
angles of links are absolute or relative as the names say:

    shank = torso + hip + knee,   ankle = angle of the shank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.dynamics.mass_matrix import mass_matrix
from footfall.kinematics.forward import foot_positions
from footfall.robot import Foot, Joint, Link, Robot

_X, _Y, _Z = np.eye(3)


@dataclass(frozen=True)
class OneLeg:
    """The planar machine: masses [kg], lengths [m], distances of centres of mass from the upper end of their links."""

    torso_mass: float = 8.0
    torso_height: float = 0.15  # of its centre of mass above the hip
    torso_inertia: float = 0.12
    thigh_mass: float = 1.2
    thigh: float = 0.3
    shank_mass: float = 0.6
    shank: float = 0.35

    # -- two robots ----------------------------------------------------------------------------------------------------
    def flight(self) -> Robot:
        """q = (x_hip, z_hip, θ_torso, θ_hip, θ_knee); its one foot is where the shank ends."""
        links = [Link.massless("world"), Link.massless("slide"), Link.massless("hip"), *self._links(from_hip=True)]
        joints = [
            Joint("x_hip", "prismatic", "world", "slide", axis=_X),
            Joint("z_hip", "prismatic", "slide", "hip", axis=_Z),
            Joint("torso", "revolute", "hip", "torso", axis=_Y),
            Joint("hip", "revolute", "torso", "thigh", axis=_Y),
            Joint("knee", "revolute", "thigh", "shank", origin=-self.thigh * _Z, axis=_Y),
        ]
        feet = [Foot("foot", "shank", -self.shank * _Z)]
        return Robot("one-legged machine in flight", links, joints, feet, floating=False)

    def stance(self, anchor: Float[ndarray, "3"]) -> Robot:
        """q = (θ_ankle, θ_knee, θ_hip): the same links the other way up, pinned to the ground at ``anchor``."""
        links = [Link.massless("world"), *self._links(from_hip=False)]
        joints = [
            Joint("ankle", "revolute", "world", "shank", origin=anchor, axis=_Y),
            Joint("knee", "revolute", "shank", "thigh", origin=self.shank * _Z, axis=-_Y),
            Joint("hip", "revolute", "thigh", "torso", origin=self.thigh * _Z, axis=-_Y),
        ]
        return Robot("one-legged machine in stance", links, joints, floating=False)

    def _links(self, from_hip: bool) -> list[Link]:
        """Frames at the upper joints, or at the lower ones; rods with their centre in the middle."""
        up = 0.0 if from_hip else 1.0
        torso = Link("torso", self.torso_mass, self.torso_height * _Z, self.torso_inertia * np.eye(3))
        thigh, shank = (
            Link(name, mass, (up - 0.5) * length * _Z, mass * length**2 / 12 * np.diag([1.0, 1.0, 0.02]))
            for name, mass, length in (("thigh", self.thigh_mass, self.thigh), ("shank", self.shank_mass, self.shank))
        )
        return [torso, thigh, shank]

    # -- between them --------------------------------------------------------------------------------------------------
    def to_flight(self, q: Float[ndarray, "3"], anchor: Float[ndarray, "3"]) -> Float[ndarray, "5"]:
        """Flight coordinates of a stance: lift-off takes them as they are."""
        ankle, knee, hip = q
        x = anchor[0] + self.shank * np.sin(ankle) + self.thigh * np.sin(ankle - knee)
        z = anchor[2] + self.shank * np.cos(ankle) + self.thigh * np.cos(ankle - knee)
        return np.array([x, z, ankle - knee - hip, hip, knee])

    def jacobian(self, q: Float[ndarray, "3"]) -> Float[ndarray, "5 3"]:
        """N with dq_flight/dt = N dq_stance/dt, derived by hand."""
        ankle, knee, _ = q
        s, c = self.shank * np.sin(ankle), self.shank * np.cos(ankle)
        t, d = self.thigh * np.sin(ankle - knee), self.thigh * np.cos(ankle - knee)
        return np.array(
            [[c + d, -d, 0.0], [-s - t, t, 0.0], [1.0, -1.0, -1.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]],
        )

    def jacobian_rate(self, q: Float[ndarray, "3"], v: Float[ndarray, "3"]) -> Float[ndarray, "5"]:
        """dN/dt dq_stance/dt: the centripetal accelerations of the hip."""
        ankle, knee, _ = q
        shank, thigh = self.shank * v[0] ** 2, self.thigh * (v[0] - v[1]) ** 2
        x = -shank * np.sin(ankle) - thigh * np.sin(ankle - knee)
        z = -shank * np.cos(ankle) - thigh * np.cos(ankle - knee)
        return np.array([x, z, 0.0, 0.0, 0.0])

    def to_stance(self, q: Float[ndarray, "5"]) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"]]:
        """(stance coordinates, anchor) of a flight whose foot is on the ground."""
        return np.array([q[2] + q[3] + q[4], q[4], q[3]]), foot_positions(self.flight(), q)[0]

    def touchdown(
        self, q: Float[ndarray, "5"], v: Float[ndarray, "5"]
    ) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"], Float[ndarray, "3"]]:
        """(q, v⁺, anchor) in stance coordinates: the foot stops, the momentum that stance coordinates know is kept."""
        stance, anchor = self.to_stance(q)
        N, M = self.jacobian(stance), mass_matrix(self.flight(), q)
        return stance, np.linalg.solve(N.T @ M @ N, N.T @ (M @ v)), anchor

    def liftoff(
        self, q: Float[ndarray, "3"], v: Float[ndarray, "3"], anchor: Float[ndarray, "3"]
    ) -> tuple[Float[ndarray, "5"], Float[ndarray, "5"]]:
        """(q, v) in flight coordinates: nothing jumps."""
        return self.to_flight(q, anchor), self.jacobian(q) @ v


def biped() -> Robot:
    """A torso on two legs of three joints (roll, pitch, knee) and point feet: 4 modes. All numbers are chosen."""
    links = [Link("torso", 20.0, 0.2 * _Z, np.diag([0.8, 0.7, 0.3]))]
    joints, feet = [], []
    for side, sign in (("L", 1.0), ("R", -1.0)):
        links += [
            Link(f"{side}_hip_link", 1.0, np.zeros(3), 2e-3 * np.eye(3)),
            Link(f"{side}_thigh", 2.5, np.array([0.0, 0.0, -0.18]), np.diag([0.03, 0.03, 4e-3])),
            Link(f"{side}_shank", 1.4, np.array([0.0, 0.0, -0.19]), np.diag([0.018, 0.018, 1e-3])),
        ]
        joints += [
            Joint(f"{side}_roll", "revolute", "torso", f"{side}_hip_link", origin=0.1 * sign * _Y, axis=_X),
            Joint(f"{side}_pitch", "revolute", f"{side}_hip_link", f"{side}_thigh", axis=_Y),
            Joint(f"{side}_knee", "revolute", f"{side}_thigh", f"{side}_shank", origin=-0.4 * _Z, axis=_Y),
        ]
        feet.append(Foot(side, f"{side}_shank", -0.4 * _Z))
    return Robot("biped of the slides", links, joints, feet)
