"""The emergency stop: a switch between controller and motors that damps or brakes every joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footfall.checks import checked_number
from footfall.control.interface import Command, Controller, ControllerWrapper, JointCommand, Sensed
from footfall.control.stand_gains import DAMPING, supported_weight
from footfall.errors import InputError, unknown
from footfall.kinematics.forward import joint_positions
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, Gravity
from nptrace._types import PyTree

STOPS = ("damp", "brake")


@dataclass(frozen=True)
class EmergencyStop:
    """A switch between controller and motors, which no controller can override: ``Simulation(emergency_stop=...)``.

    ``damp``: every motor resists motion like a short-circuited winding, and the robot sinks down. ``brake``: every
    joint is held where it was, and slips beyond the motor's limit. The switch is triggered at the time ``at`` [s], or
    by ``simulation.press_stop()``; ``reset`` releases it. ``stiffness`` [N m/rad] (of the brake) and ``damping`` [N m
    s/rad] scale with the robot's weight unless given.
    """

    kind: str = "damp"
    at: float = np.inf
    stiffness: float | None = None
    damping: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in STOPS:
            raise unknown("kind of emergency stop", self.kind, STOPS)
        if not isinstance(self.at, int | float) or not self.at >= 0:
            raise InputError(f"the time of an emergency stop must not be negative, got {self.at!r}")
        for key in ("stiffness", "damping"):
            if getattr(self, key) is not None:
                checked_number(getattr(self, key), f"{key} of an emergency stop", 0.0)

    def gains(self, robot: Robot, gravity: Gravity = GRAVITY) -> tuple[float, float]:
        """Return (kp, kd) of every joint."""
        weight = supported_weight(robot, gravity)
        kp, kd = (0.0, DAMPING * weight) if self.kind == "damp" else (2.0 * weight, 0.03 * weight)
        if self.kind == "brake" and self.stiffness is not None:
            kp = self.stiffness
        return kp, kd if self.damping is None else self.damping


@dataclass(frozen=True, eq=False)
class EmergencyStopWrapper(ControllerWrapper):
    """A controller behind an emergency stop."""

    inner: Controller
    stop: EmergencyStop

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.stop, EmergencyStop):
            raise InputError(f"the emergency stop must be an EmergencyStop, got {type(self.stop).__name__}")

    @property
    def name(self) -> str:
        return self.wrapped.name

    def start(self, robot: Robot) -> dict[str, PyTree]:
        return {"inner": self.inner.start(robot), "pressed": 0.0, "latched": 0.0, "held": np.zeros(robot.nj)}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        answer, inner = self.inner(t, robot, sensed, command, memory["inner"])
        answer = answer.broadcast(robot.nj)
        pressed = np.where(t > self.stop.at - 1e-9, 1.0, memory["pressed"])
        held = np.where(memory["latched"] > 0.0, memory["held"], joint_positions(robot, sensed.q))
        kp, kd = self.stop.gains(robot, sensed.gravity)
        thrown = pressed > 0.0
        out = JointCommand(
            np.where(thrown, held, answer.position),
            np.where(thrown, 0.0, answer.velocity),
            np.where(thrown, kp, answer.kp),
            np.where(thrown, kd, answer.kd),
            np.where(thrown, 0.0, answer.torque),
        )
        return out, {"inner": inner, "pressed": pressed, "latched": pressed, "held": held}
