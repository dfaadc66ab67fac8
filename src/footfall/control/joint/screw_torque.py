"""Model-based torques by the screw dynamics of Yan et al. 2021: eq. (19) at every tick, for the sensed topology.

The stance feet define the mechanism. A joint of a stance leg carries the robot: its torque is given (joint feedback,
gravity and a share of the weight), and eq. (19) gives its acceleration. Any other joint follows its target with a given
acceleration, and eq. (19) gives the torque for it. So the solution is unique in every topology, whereas the paper's
problem, with accelerations alone, is not with two or more feet in contact. The effect of the ground on the trunk comes
from constraints at the feet (``feet="held"``, forward), or from the measured forces (``feet="measured"``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, Controller, ControllerWrapper, JointCommand, Sensed
from footfall.control.joint.joint_level import sensed_mode, weight_torques
from footfall.control.joint.joint_pd import check_gain
from footfall.dynamics.formalisms.screw_structure import Known, solve_by_structure
from footfall.dynamics.gravity_terms import gravity_terms
from footfall.errors import unknown
from footfall.robot.model.description import Robot
from nptrace._types import PyTree
from nptrace.array_types import Float

FEET = ("held", "measured")


@dataclass(frozen=True)
class ScrewTorque(ControllerWrapper):
    """The joint targets of another controller, followed by inverse dynamics in the screw formulation.

    ``bandwidth`` [rad/s] applies to joints without load.
    """

    inner: Controller
    bandwidth: float = 85.0
    feet: str = "held"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_gain(self.bandwidth, "bandwidth of ScrewTorque", ())
        if self.feet not in FEET:
            raise unknown("way to know the feet", self.feet, FEET)

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        inner_command, after = self.inner(t, robot, sensed, command, memory)
        inner_command, base = inner_command.broadcast(robot.nj), robot.nv - robot.nj
        mode = sensed_mode(robot, sensed)
        carries = np.minimum(mode @ carrying_joints(robot), 1.0)
        position_error, rate_error = (
            inner_command.position - sensed.q[robot.nq - robot.nj :],
            inner_command.velocity - sensed.v[base:],
        )
        support_torque = (
            inner_command.torque + gravity_terms(robot, sensed.q, sensed.gravity)[base:] + weight_torques(robot, sensed)
        )
        torques = support_torque + inner_command.kp * position_error + inner_command.kd * rate_error
        acceleration_des = self.bandwidth**2 * position_error + 2.0 * self.bandwidth * rate_error
        known = Known(
            force=np.concatenate([np.zeros(base), torques]),
            accelerations=acceleration_des,
            given=1.0 - carries,
            mode=mode if self.feet == "held" else 0.0 * mode,
            foot_forces=mode[:, None] * sensed.forces,
        )
        found = solve_by_structure(robot, sensed.q, sensed.v, known, sensed.gravity)
        # the diagonal of the feedback as gains, subtracted from the torque: the integrator can treat them implicitly
        kp = np.where(carries > 0.5, inner_command.kp, self.bandwidth**2 * found.inertia)
        kd = np.where(carries > 0.5, inner_command.kd, 2.0 * self.bandwidth * found.inertia)
        torque = np.where(carries > 0.5, support_torque, found.torques - kp * position_error - kd * rate_error)
        return JointCommand(inner_command.position, inner_command.velocity, kp, kd, torque), after


def carrying_joints(robot: Robot) -> Float[ndarray, "nf nj"]:
    """Return 1 for joints above a stance foot, which carry the robot."""
    tree = robot.tree
    table = np.zeros((robot.nf, robot.nj))
    for k, body in enumerate(tree.feet):
        table[k, [j - 1 for j in tree.support[body]]] = 1.0
    return table
