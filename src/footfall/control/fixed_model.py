"""A controller that keeps its model of the robot when the simulated robot changes.

    ff.Batch(robot, 1000, FixedModel(Locomotion(), robot), free=["trunk.mass"])

A controller is given the robot that is simulated. Where its parameters differ within a batch, are differentiated, or
represent unknown quantities, this one continues to plan with the robot that it was created with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from numpy import ndarray

from footfall.control.interface import Command, Controller, ControllerWrapper, JointCommand, Sensed
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, Gravity
from nptrace._types import PyTree
from nptrace.array_types import Float


@dataclass(frozen=True, eq=False)
class FixedModel(ControllerWrapper):
    """A controller that computes with the model ``robot``, whatever robot is simulated."""

    inner: Controller
    robot: Robot

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.robot, Robot):
            raise InputError(f"FixedModel needs the Robot to plan with, got {type(self.robot).__name__}")

    def start(self, robot: Robot) -> PyTree:
        if robot.joint_names != self.robot.joint_names:
            raise InputError(
                f"FixedModel plans for '{self.robot.name}', whose joints differ from those of '{robot.name}'"
            )
        return self.inner.start(self.robot)

    def prepare(self, robot: Robot, compile: Callable[..., PyTree], gravity: Gravity = GRAVITY) -> None:
        self.wrapped.prepare(self.robot, compile, gravity)

    def posture(self, robot: Robot) -> Float[ndarray, "nj"] | None:
        return self.wrapped.posture(self.robot)

    def command_limits(self, robot: Robot) -> dict[str, float] | None:
        return self.wrapped.command_limits(self.robot)

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        return self.inner(t, self.robot, sensed, command, memory)
