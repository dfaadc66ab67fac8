"""The planar one-legged machine of the lecture slides in two sets of coordinates.

The slides model the one-legged machine twice, as two fixed-base robots: in flight q = (x_hip, z_hip, θ_torso, θ_hip,
θ_knee), in stance q = (θ_ankle, θ_knee, θ_hip). The machine is the library's ``one_leg``. All turn about y, and
angles of links are absolute or relative as the names say:

    shank = torso + hip + knee,   ankle = angle of the shank.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.dynamics.mass_matrix import mass_matrix
from footfall.kinematics.forward import foot_positions
from footfall.robot import Joint, Link, Robot
from footfall.robot.library.one_leg import LegNumbers, one_leg

_, _Y, _Z = np.eye(3)


class OneLeg(LegNumbers):
    """The planar machine of the library in both sets of coordinates of the slides."""

    def flight(self) -> Robot:
        """q = (x_hip, z_hip, θ_torso, θ_hip, θ_knee); its one foot is where the shank ends."""
        return one_leg(self)

    def stance(self, anchor: Float[ndarray, "3"]) -> Robot:
        """q = (θ_ankle, θ_knee, θ_hip): the same links the other way up, pinned to the ground at ``anchor``."""
        links = [Link.massless("world"), *self.links(from_hip=False)]
        joints = [
            Joint("ankle", "revolute", "world", "shank", origin=anchor, axis=_Y),
            Joint("knee", "revolute", "shank", "thigh", origin=self.shank * _Z, axis=-_Y),
            Joint("hip", "revolute", "thigh", "torso", origin=self.thigh * _Z, axis=-_Y),
        ]
        return Robot("one-legged machine in stance", links, joints, floating=False)

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
