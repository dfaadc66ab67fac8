"""Controllers, and the seam they fill."""

from footfall.control.interface import Command, Controller, FunctionController, JointCommand, Sensed, controller
from footfall.control.joint_pd import Hold, JointPD

__all__ = ["Command", "Controller", "FunctionController", "Hold", "JointCommand", "JointPD", "Sensed", "controller"]
