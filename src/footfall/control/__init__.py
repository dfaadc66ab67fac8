"""Controllers, and the seam they fill."""

from footfall.control.interface import Command, Controller, FunctionController, JointCommand, Sensed, controller

__all__ = ["Command", "Controller", "FunctionController", "JointCommand", "Sensed", "controller"]
