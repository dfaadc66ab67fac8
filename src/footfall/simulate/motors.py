"""What motors bear, and what stops them: loads against their ratings, brake and emergency stop.

The torque-speed limits themselves are in ``simulate.actuators``. Yan et al. 2021 rate XiLing's motors by a continuous
and a peak torque: the peak limits every step, the continuous one is a matter of heat. Losses in the windings go with
the square of the torque, so that the root mean square over a run is held against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.checks import checked_number
from footfall.control.interface import Command, Controller, JointCommand, Sensed, runs_in_python
from footfall.control.stand_gains import DAMPING, held_weight
from footfall.errors import InputError, unknown
from footfall.gravity import GRAVITY, Gravity
from footfall.kinematics.forward import joint_positions
from footfall.robot.description import Robot

if TYPE_CHECKING:
    from footfall.simulate.recording import Recording

STOPS = ("damp", "brake")


# -- loads -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class MotorLoad:
    """What one motor gave over a run, at its joint: torques [N m] and speeds [rad/s] beside its ratings."""

    joint: str
    rms: float
    peak: float
    top_speed: float
    continuous_torque: float
    torque_limit: float
    speed_limit: float

    @property
    def overheats(self) -> bool:
        """Whether the motor could not go on like this for ever."""
        return self.rms > self.continuous_torque


def motor_loads(recording: Recording) -> tuple[MotorLoad, ...]:
    """The load of every actuator over a recording; a belt or gear is part of the ratings at the joint."""
    robot = recording.robot
    if not len(recording):
        raise InputError("the recording has no rows: there is no load to speak of")
    torque, rates = recording["torque"], recording.v[:, robot.nv - robot.nj :]
    place = {name: k for k, name in enumerate(robot.joint_names)}
    loads = []
    for actuator in robot.actuators:
        k = place[actuator.joint]
        rms, peak = float(np.sqrt(np.mean(torque[:, k] ** 2))), float(np.abs(torque[:, k]).max())
        ratings = (actuator.continuous_torque, actuator.torque_limit, actuator.speed_limit)
        loads.append(MotorLoad(actuator.joint, rms, peak, float(np.abs(rates[:, k]).max()), *ratings))
    return tuple(loads)


def overheating(robot: Robot, mean_square: Float[ndarray, "nj"]) -> str | None:
    """A sentence about the motors whose root-mean-square torque is more than they can give for ever, if there are."""
    rms = dict(zip(robot.joint_names, np.sqrt(mean_square)))
    hot = [a for a in robot.actuators if rms[a.joint] > a.continuous_torque]
    if not hot:
        return None
    worst = max(hot, key=lambda a: rms[a.joint] / a.continuous_torque)
    others = f" (and {len(hot) - 1} more)" if len(hot) > 1 else ""
    return (
        f"the motor at '{worst.joint}'{others} gave {rms[worst.joint]:.3g} N m (root mean square over the run), more"
        f" than its {worst.continuous_torque:.3g} N m continuous"
    )


# -- emergency stop --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class EmergencyStop:
    """A switch between controller and motors, which no controller can override: ``Simulation(emergency_stop=...)``.

    ``damp``: every motor resists motion like a short-circuited winding, and the robot sinks down. ``brake``: every
    joint is held where it was, and slips where that takes more than the motor's limit. The switch is thrown at the time
    ``at`` [s], or by ``simulation.press_stop()``; ``reset`` releases it. ``stiffness`` [N m/rad] (of the brake) and
    ``damping`` [N m s/rad] go with the robot's weight unless given.
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
        """(kp, kd) of every joint."""
        weight = held_weight(robot, gravity)
        kp, kd = (0.0, DAMPING * weight) if self.kind == "damp" else (2.0 * weight, 0.03 * weight)
        if self.kind == "brake" and self.stiffness is not None:
            kp = self.stiffness
        return kp, kd if self.damping is None else self.damping


@dataclass(frozen=True, eq=False)
class Stoppable:
    """A controller behind an emergency stop."""

    inner: Controller
    stop: EmergencyStop

    def __post_init__(self) -> None:
        if not isinstance(self.stop, EmergencyStop):
            raise InputError(f"the emergency stop must be an EmergencyStop, got {type(self.stop).__name__}")
        if hasattr(self.inner, "prepare"):  # marks a controller that runs in Python
            object.__setattr__(self, "prepare", self.inner.prepare)
            object.__setattr__(self, "traceable", not runs_in_python(self.inner))

    @property
    def rate(self) -> float:
        return self.inner.rate

    def start(self, robot: Robot) -> dict[str, Any]:
        return {"inner": self.inner.start(robot), "pressed": 0.0, "latched": 0.0, "held": np.zeros(robot.nj)}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: Any
    ) -> tuple[JointCommand, Any]:
        asked, inner = self.inner(t, robot, sensed, command, memory["inner"])
        asked = asked.spread(robot.nj)
        pressed = np.where(t > self.stop.at - 1e-9, 1.0, memory["pressed"])
        held = np.where(memory["latched"] > 0.0, memory["held"], joint_positions(robot, sensed.q))
        kp, kd = self.stop.gains(robot, sensed.gravity)
        thrown = pressed > 0.0
        out = JointCommand(
            np.where(thrown, held, asked.position), np.where(thrown, 0.0, asked.velocity),
            np.where(thrown, kp, asked.kp), np.where(thrown, kd, asked.kd), np.where(thrown, 0.0, asked.torque),
        )  # fmt: skip
        return out, {"inner": inner, "pressed": pressed, "latched": pressed, "held": held}


__all__ = ["STOPS", "EmergencyStop", "MotorLoad", "Stoppable", "motor_loads", "overheating"]
