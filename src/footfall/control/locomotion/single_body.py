"""The single rigid body of a quadruped and the convex MPC on it (Di Carlo et al. 2018; the slides: stage one of two).

The robot is one body with the whole mass and the locked inertia of its standing pose, moved by forces at the feet in
planned stance. With small roll and pitch the dynamics are linear in (Θ, p, ω, v), and the forces over a horizon come
from one QP with friction pyramids (``horizon``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.control.posture import own_joints
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.kinematics.forward import center_of_mass
from footfall.kinematics.jacobian import feet_jacobian
from footfall.robot.model.description import Robot
from footfall.spatial import cross, skew
from footfall.spatial.gravity import GRAVITY, Gravity, weight_of
from nptrace.array_types import Float


@dataclass(frozen=True, eq=False)
class SingleBody:
    """Mass [kg], inertia about the centre of mass in base axes [kg m²], and position of the centre of mass in the
    base [m].
    """

    mass: float
    inertia: Float[ndarray, "3 3"]
    com: Float[ndarray, "3"]
    inverse: Float[ndarray, "3 3"]  # inverse of the inertia
    gravity: Gravity = GRAVITY  # world axes [m/s²]

    @property
    def weight(self) -> float:
        return float(weight_of(self.mass, self.gravity))

    @staticmethod
    def of(robot: Robot, joints: Float[ndarray, "nj"], gravity: Gravity = GRAVITY) -> SingleBody:
        """Return the single body of the robot locked in a pose."""
        q, _ = robot.state(joints)
        com, M = center_of_mass(robot, q), mass_matrix(robot, q)
        inertia = M[:3, :3] - robot.mass * ((com @ com) * np.eye(3) - np.outer(com, com))
        return SingleBody(robot.mass, inertia, com, np.linalg.inv(inertia), gravity)

    @staticmethod
    def on_its_feet(robot: Robot, joints: Float[ndarray, "nj"], gravity: Gravity = GRAVITY) -> SingleBody:
        """Return the single body that foot forces f move when torques are -Jᵀf."""
        q, _ = robot.state(joints)
        com, M, J = center_of_mass(robot, q), mass_matrix(robot, q), feet_jacobian(robot, q)[:, 3:]
        T = np.concatenate([np.eye(6), np.zeros((robot.nj, 6))])
        for k in range(robot.nf):
            leg = own_joints(robot, k)
            T[[6 + j for j in leg]] = -np.linalg.pinv(J[k][:, [6 + j for j in leg]]) @ J[k][:, :6]
        about = np.concatenate([np.eye(3), skew(com)])  # a rotation about the centre of mass, as a motion of the base
        inertia = about.T @ T.T @ M @ T @ about
        return SingleBody(robot.mass, inertia, com, np.linalg.inv(inertia), gravity)

    def base_acceleration(
        self, R_WB: Float[ndarray, "3 3"], V_WB_B: Float[ndarray, "6"], arms: Float[ndarray, "4 3"]
    ) -> tuple[Float[ndarray, "6 12"], Float[ndarray, "6"]]:
        """Return (B, b): forces f at ``arms`` from the centre of mass, world axes, accelerate the base by B f + b.

        The acceleration is spatial, of the base's origin, in base axes, as in the whole-body QP.
        """
        w, v, c = V_WB_B[:3], V_WB_B[3:], self.com
        angular = np.concatenate([self.inverse @ R_WB.T @ skew(arm) for arm in arms], axis=1)
        angular_free = -(self.inverse @ cross(w, self.inertia @ w))
        linear = np.concatenate([R_WB.T / self.mass for _ in arms], axis=1)
        gravity_B = R_WB.T @ np.array(self.gravity)
        linear_free = gravity_B + skew(c) @ angular_free - cross(w, cross(w, c)) - cross(w, v)
        return np.concatenate([angular, linear + skew(c) @ angular]), np.concatenate([angular_free, linear_free])


def friction_pyramid(mu: float, normal: Float[ndarray, "3"] | None = None) -> Float[ndarray, "5 3"]:
    """Return rows P with P f >= 0 for a force in a pyramid within the friction cone about ``normal``; the last row is
    f_n.

    The pyramid is inscribed (μ/√2 along its axes), so that a force in it is in the cone.
    """
    n = np.array([0.0, 0.0, 1.0]) if normal is None else normal
    x = np.array([1.0, 0.0, 0.0]) - n[0] * n
    x = x / np.sqrt(x @ x)
    y = np.array([n[1] * x[2] - n[2] * x[1], n[2] * x[0] - n[0] * x[2], n[0] * x[1] - n[1] * x[0]])
    m = mu / np.sqrt(2.0)
    return np.stack([m * n - x, m * n + x, m * n - y, m * n + y, n])
