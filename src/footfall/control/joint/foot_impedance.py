"""Foot-level control: springs and dampers at the feet through Jᵀ, and commanded forces (de Paula 2024, section 1).

Each foot is pulled to the position given by another controller's joint targets, in base axes: f = K (x_d - x) - D ẋ,
and τ = Jᵀ f. The weight is fed forward through the feet in contact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footfall.control.interface import Command, Controller, ControllerWrapper, JointCommand, Sensed
from footfall.control.joint.joint_level import weight_torques
from footfall.control.joint.joint_pd import check_gain
from footfall.dynamics.gravity_terms import gravity_terms
from footfall.kinematics.forward import foot_positions
from footfall.kinematics.jacobian import feet_jacobian
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import weight_of
from nptrace._types import PyTree


@dataclass(frozen=True)
class FootImpedance(ControllerWrapper):
    """Stiffness and damping of every foot, per newton of weight; ``joint_kd`` damps all joints."""

    inner: Controller
    stiffness: float = 14.0  # [1/m]
    damping: float = 0.5  # [s/m]
    joint_kd: float = 0.02  # [N m s/rad] per kg

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("stiffness", "damping", "joint_kd"):
            check_gain(getattr(self, key), f"{key} of FootImpedance", ())

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        inner_command, after = self.inner(t, robot, sensed, command, memory)
        inner_command, first = inner_command.broadcast(robot.nj), robot.nv - robot.nj
        q_des = np.concatenate([sensed.q[: robot.nq - robot.nj], inner_command.position])
        J = feet_jacobian(robot, sensed.q)[:, 3:, first:]
        position_error = foot_positions(robot, q_des) - foot_positions(robot, sensed.q)
        weight = weight_of(robot.mass, sensed.gravity)
        torque = gravity_terms(robot, sensed.q, sensed.gravity)[first:] + weight_torques(robot, sensed)
        rates = sensed.v[first:]
        for k in range(robot.nf):
            force = weight * (self.stiffness * position_error[k] - self.damping * (J[k] @ rates))
            torque = torque + J[k].T @ force
        # joints that do not affect a foot, such as a spine's, keep their own feedback
        moves_a_foot = np.array(
            [any(j in robot.tree.support[body] for body in robot.tree.feet) for j in range(1, robot.nj + 1)]
        )
        kp = np.where(moves_a_foot, 0.0, inner_command.kp)
        kd = np.where(moves_a_foot, self.joint_kd * robot.mass, inner_command.kd)
        return JointCommand(inner_command.position, inner_command.velocity, kp, kd, torque), after


__all__ = ["FootImpedance"]
