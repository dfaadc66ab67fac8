"""Joint-level control beyond PD: gravity compensation and computed torque from the terms of de Paula et al. 2024.

Both follow another controller's joint targets. The weight is shared by the feet in contact and maps to the joints
through Jᵀ: a floating robot's gravity terms alone would lift the legs and let the trunk fall.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, Controller, ControllerWrapper, JointCommand, Sensed
from footfall.control.joint.joint_pd import check_gain
from footfall.dynamics.forward_dynamics import bias_terms
from footfall.dynamics.gravity_terms import gravity_terms
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.kinematics.jacobian import feet_jacobian
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import strength, weight_of
from nptrace._types import PyTree
from nptrace.array_types import Float


def sensed_mode(robot: Robot, sensed: Sensed) -> Float[ndarray, "nf"]:
    """Return the contact mode: the estimator's, or without one the feet that carry more than a fiftieth of the
    weight.
    """
    load, min_load = sensed.forces[:, 2], 0.02 * strength(sensed.gravity) * robot.mass
    # true also for a load that is NaN
    in_contact = np.where(load > min_load, 1.0, np.where(load <= min_load, 0.0, np.nan))
    return in_contact if sensed.contact is None else sensed.contact


def weight_torques(robot: Robot, sensed: Sensed) -> Float[ndarray, "nj"]:
    """Return joint torques [N m] by which the feet in contact carry the weight, in equal shares.

    The shares are equal, not as measured: torques that follow the load would yield to a leaning trunk.
    """
    down = sensed_mode(robot, sensed)
    share = down / np.maximum(np.sum(down), 2.0)
    J = feet_jacobian(robot, sensed.q)[:, 5, robot.nv - robot.nj :]
    return -(share * weight_of(robot.mass, sensed.gravity)) @ J


@dataclass(frozen=True)
class GravityCompensation(ControllerWrapper):
    """The PD of another controller, with feedforward torques that support the robot: τ = PD + g(q) - Jᵀf."""

    inner: Controller

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        inner_command, after = self.inner(t, robot, sensed, command, memory)
        inner_command = inner_command.broadcast(robot.nj)
        legs = gravity_terms(robot, sensed.q, sensed.gravity)[robot.nv - robot.nj :]
        torque = inner_command.torque + legs + weight_torques(robot, sensed)
        return JointCommand(
            inner_command.position, inner_command.velocity, inner_command.kp, inner_command.kd, torque
        ), after


@dataclass(frozen=True)
class ComputedTorque(ControllerWrapper):
    """Joint targets by inverse dynamics of the legs: τ = H (ω² e - 2 ω q̇) + c + g - Jᵀf, with ``bandwidth`` ω [rad/s].

    H is the joint block of the mass matrix: motion of the trunk is a disturbance.
    """

    inner: Controller
    bandwidth: float = 85.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_gain(self.bandwidth, "bandwidth of ComputedTorque", ())

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        inner_command, after = self.inner(t, robot, sensed, command, memory)
        inner_command, first = inner_command.broadcast(robot.nj), robot.nv - robot.nj
        H = mass_matrix(robot, sensed.q)[first:, first:]
        q_J, rates = sensed.q[robot.nq - robot.nj :], sensed.v[first:]
        acceleration_des = self.bandwidth**2 * (inner_command.position - q_J) + 2.0 * self.bandwidth * (
            inner_command.velocity - rates
        )
        bias = bias_terms(robot, sensed.q, sensed.v, sensed.gravity)[first:]
        torque = H @ acceleration_des + bias + weight_torques(robot, sensed)
        # the diagonal of the feedback as gains, subtracted from the torque: the integrator can treat them implicitly
        kp, kd = self.bandwidth**2 * np.diag(H), 2.0 * self.bandwidth * np.diag(H)
        torque = torque - kp * (inner_command.position - q_J) - kd * (inner_command.velocity - rates)
        return JointCommand(inner_command.position, inner_command.velocity, kp, kd, torque), after
