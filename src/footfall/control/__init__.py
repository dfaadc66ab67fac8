"""Controllers, and the seam they fill."""

from footfall.control.foot_impedance import FootImpedance
from footfall.control.interface import Command, Controller, FunctionController, JointCommand, Sensed, controller
from footfall.control.joint_level import ComputedTorque, GravityCompensation
from footfall.control.joint_pd import Hold, JointPD
from footfall.control.locomotion import Locomotion
from footfall.control.named import on_command
from footfall.control.posture import standing_joints, standing_state

__all__ = [
    "Command", "ComputedTorque", "Controller", "FootImpedance", "FunctionController", "GravityCompensation", "Hold",
    "JointCommand", "JointPD", "Locomotion", "Sensed", "controller", "on_command", "standing_joints",
    "standing_state",
]  # fmt: skip
