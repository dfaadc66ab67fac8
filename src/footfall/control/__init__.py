"""Controllers, and the seam they fill."""

from footfall.control.changing_pd import ChangingPD
from footfall.control.estimated import Estimated
from footfall.control.estimator import Estimator
from footfall.control.foot_impedance import FootImpedance
from footfall.control.interface import Command, Controller, FunctionController, JointCommand, Sensed, controller
from footfall.control.joint_level import ComputedTorque, GravityCompensation
from footfall.control.joint_pd import Hold, JointPD
from footfall.control.locomotion import Locomotion
from footfall.control.lqr import LqrStand, StandWeights, regulate
from footfall.control.named import on_command
from footfall.control.plan_follower import PlanFollower
from footfall.control.policy import Drive, Policy
from footfall.control.posture import standing_joints, standing_state
from footfall.control.reflexes import Reflexes
from footfall.control.spine import Spine

__all__ = [
    "ChangingPD", "Command", "ComputedTorque", "Controller", "Drive", "Estimated", "Estimator", "FootImpedance",
    "FunctionController", "GravityCompensation", "Hold", "JointCommand", "JointPD", "Locomotion", "LqrStand",
    "PlanFollower", "Policy", "Reflexes", "Sensed", "Spine", "StandWeights", "controller", "on_command", "regulate",
    "standing_joints", "standing_state",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
