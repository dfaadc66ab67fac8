"""The single rigid body of a quadruped and the convex MPC on it (Di Carlo et al. 2018; the slides: stage one of two).

The robot is one body of the whole mass with the locked inertia of its standing pose, moved by forces at the feet that
the gait plans to be down. With small roll and pitch the dynamics are linear in (Θ, p, ω, v), and the forces of a
horizon come from one quadratic program with friction pyramids.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.locomotion.qp import TIME_LIMIT, Solution, friction_pyramid, solve_qp
from footfall.control.posture import own_joints
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.gravity import GRAVITY, Gravity, weight_of
from footfall.kinematics.forward import center_of_mass
from footfall.kinematics.jacobian import feet_jacobian
from footfall.robot.model.description import Robot
from footfall.spatial import cross, skew
from footfall.spatial.rotation import about_z


@dataclass(frozen=True, eq=False)
class SingleBody:
    """Mass [kg], inertia about the centre of mass in base axes [kg m²], and where that is in the base [m]."""

    mass: float
    inertia: Float[ndarray, "3 3"]
    com: Float[ndarray, "3"]
    inverse: Float[ndarray, "3 3"]  # of the inertia
    gravity: Gravity = GRAVITY  # world axes [m/s²]

    @property
    def weight(self) -> float:
        return float(weight_of(self.mass, self.gravity))

    @staticmethod
    def of(robot: Robot, joints: Float[ndarray, "nj"], gravity: Gravity = GRAVITY) -> SingleBody:
        """The robot locked in a pose."""
        q, _ = robot.state(joints)
        com, M = center_of_mass(robot, q), mass_matrix(robot, q)
        inertia = M[:3, :3] - robot.mass * ((com @ com) * np.eye(3) - np.outer(com, com))
        return SingleBody(robot.mass, inertia, com, np.linalg.inv(inertia), gravity)

    @staticmethod
    def on_its_feet(robot: Robot, joints: Float[ndarray, "nj"], gravity: Gravity = GRAVITY) -> SingleBody:
        """What forces f at the feet move when torques are -Jᵀf: TᵀMT about the centre of mass, T the motions of base
        and legs that leave the feet where they are. Feet that stand do not turn with the trunk, so that it rolls with
        a third of the locked inertia, and rotors that turn as the legs bend add to it.
        """
        q, _ = robot.state(joints)
        com, M, J = center_of_mass(robot, q), mass_matrix(robot, q), feet_jacobian(robot, q)[:, 3:]
        T = np.concatenate([np.eye(6), np.zeros((robot.nj, 6))])
        for k in range(robot.nf):
            leg = own_joints(robot, k)
            T[[6 + j for j in leg]] = -np.linalg.pinv(J[k][:, [6 + j for j in leg]]) @ J[k][:, :6]
        about = np.concatenate([np.eye(3), skew(com)])  # a turn about the centre of mass, as a motion of the base
        inertia = about.T @ T.T @ M @ T @ about
        return SingleBody(robot.mass, inertia, com, np.linalg.inv(inertia), gravity)

    def base_acceleration(
        self, R_WB: Float[ndarray, "3 3"], V_WB_B: Float[ndarray, "6"], arms: Float[ndarray, "4 3"]
    ) -> tuple[Float[ndarray, "6 12"], Float[ndarray, "6"]]:
        """(B, b): forces f at ``arms`` from the centre of mass, world axes, give the base the acceleration B f + b.

        Spatial, of the base's origin, in base axes: what the whole-body program calls the base's acceleration.
        """
        w, v, c = V_WB_B[:3], V_WB_B[3:], self.com
        turn = np.concatenate([self.inverse @ R_WB.T @ skew(arm) for arm in arms], axis=1)
        turn_free = -(self.inverse @ cross(w, self.inertia @ w))
        push = np.concatenate([R_WB.T / self.mass for _ in arms], axis=1)
        fall = R_WB.T @ np.array(self.gravity)
        move_free = fall + skew(c) @ turn_free - cross(w, cross(w, c)) - cross(w, v)
        return np.concatenate([turn, push + skew(c) @ turn]), np.concatenate([turn_free, move_free])


@dataclass(frozen=True, eq=False)
class ConvexMpc:
    """Weights of the horizon: (roll, pitch, yaw; x, y, z; ω; v), and of the forces."""

    body: SingleBody
    steps: int = 10
    weights: tuple[float, ...] = (1.0, 1.0, 10.0, 2.0, 2.0, 50.0, 0.01, 0.01, 0.3, 0.4, 0.4, 0.1)
    force_weight: float = 0.31  # of forces in robot weights
    friction: float = 0.5
    largest_force: float = 3.0  # of one foot, in robot weights
    time_limit: float = TIME_LIMIT  # [s]

    def solve(
        self,
        x: Float[ndarray, "12"],
        reference: Float[ndarray, "steps 12"],
        share: Float[ndarray, "steps 4"],
        feet: Float[ndarray, "steps 4 3"],
        normal: Float[ndarray, "3"],
        dt: float,
    ) -> tuple[Float[ndarray, "4 3"] | None, Solution]:
        """(forces [N] in world axes for the first step, how it went).

        x = (Θ roll pitch yaw, p of the centre of mass, ω, v), all in world axes; ``share`` is the part of each step
        that each foot is down; ``feet`` are positions relative to the planned centre of mass.
        """
        columns = [(k, i) for k in range(self.steps) for i in range(4) if share[k, i] > 0.05]
        if not columns:
            return np.zeros((4, 3)), Solution(np.zeros(0), "flight", 0.0)
        free, Phi = self._predict(x, reference, columns, share, feet, dt)
        W = np.tile(self.weights, self.steps)
        error = free - reference.ravel()
        weighted = Phi * W[:, None]
        weight = self.body.weight
        H = Phi.T @ weighted + self.force_weight / weight**2 * np.eye(Phi.shape[1])
        pyramid = friction_pyramid(self.friction, normal)
        rows = len(columns)
        A = np.kron(np.eye(rows), pyramid)
        lower = np.zeros(5 * rows)
        upper = np.tile([np.inf, np.inf, np.inf, np.inf, self.largest_force * weight], rows)
        lower[4::5] = 0.02 * weight
        solution = solve_qp(0.5 * (H + H.T), weighted.T @ error, A, lower, upper, self.time_limit)
        if solution.x is None:
            return None, solution
        forces = np.zeros((4, 3))
        for at, (k, i) in enumerate(columns):
            if k == 0:
                forces[i] = solution.x[3 * at : 3 * at + 3]
        return forces, solution

    def _predict(
        self, x: ndarray, reference: ndarray, columns: list[tuple[int, int]], share: ndarray, feet: ndarray, dt: float
    ) -> tuple[ndarray, ndarray]:
        """States of the horizon without forces, and how each force moves each of them."""
        n = self.steps
        free, state = np.zeros(12 * n), x
        blocks = np.zeros((12 * n, 3 * len(columns)))
        gravity = np.zeros(12)
        gravity[9:12] = self.body.gravity
        A = np.eye(12)
        for k in range(n):
            R_z = about_z(reference[k, 2])
            inverse = R_z @ self.body.inverse @ R_z.T
            A[:3, 6:9], A[3:6, 9:12] = dt * R_z.T, dt * np.eye(3)
            state = A @ state + dt * gravity + _half(gravity, dt)
            before = blocks[12 * (k - 1) : 12 * k] if k else np.zeros((12, 3 * len(columns)))
            now = A @ before
            for at, (step, i) in enumerate(columns):
                if step == k:
                    turn, push = inverse @ skew(feet[k, i]), np.eye(3) / self.body.mass
                    turn, push = share[k, i] * turn, share[k, i] * push
                    now[6:9, 3 * at : 3 * at + 3] += dt * turn
                    now[9:12, 3 * at : 3 * at + 3] += dt * push
                    now[:3, 3 * at : 3 * at + 3] += 0.5 * dt * dt * (R_z.T @ turn)
                    now[3:6, 3 * at : 3 * at + 3] += 0.5 * dt * dt * push
            free[12 * k : 12 * k + 12], blocks[12 * k : 12 * k + 12] = state, now
        return free, blocks


def _half(gravity: ndarray, dt: float) -> ndarray:
    out = np.zeros(12)
    out[3:6] = 0.5 * dt * dt * gravity[9:12]
    return out
