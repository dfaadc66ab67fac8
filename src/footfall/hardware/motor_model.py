"""Motors as encoders show them: a command that arrives late, weaker or stronger, and about a shifted zero.

    τ = g (kp (q_d + b - q) + kd (q̇_d - q̇) + τ_d),   all of the command as it was ``delay`` seconds ago

b is the zero of the encoder or of the command, g the share of the torque that really acts. A command is held for a
tick; one that is late by n + f ticks acts as (1 - f) of the command n ticks ago and f of the one before that, which is
its mean over the tick, and has a slope in the delay.

    robot = ff.load("go2")
    sim = ff.Simulation(robot, MotorModel.read("go2_motors.json").of(controller))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import Command, Controller, ControllerWrapper, JointCommand, Sensed
from footfall.errors import SPOILED, InputError
from footfall.json_file import read_json
from footfall.nests import Json, Nest
from footfall.robot.model.description import Robot

_FIELDS = ("position", "velocity", "kp", "kd", "torque")
MOST_DELAY = 0.1  # [s]; more is no delay of a motor


@dataclass(frozen=True, eq=False)
class MotorModel:
    """Bias [rad], gain and delay [s] of every joint; one number stands for all."""

    bias: Float[ndarray, "nj"] | float = 0.0
    gain: Float[ndarray, "nj"] | float = 1.0
    delay: Float[ndarray, "nj"] | float = 0.0

    def __post_init__(self) -> None:
        limits = {"bias": (-np.pi, np.pi), "gain": (0.0, 10.0), "delay": (0.0, MOST_DELAY)}
        for key, (low, high) in limits.items():
            try:
                value = np.array(getattr(self, key), dtype=float)
            except (TypeError, ValueError):
                raise InputError(f"{key} of a motor model must be numbers, got {getattr(self, key)!r}") from None
            if value.ndim > 1 or not ((value >= low) & (value <= high)).all():
                raise InputError(
                    f"{key} of a motor model must lie between {low:.3g} and {high:.3g}, one for all joints or one each:"
                    f" got {value.tolist()}"
                )
            object.__setattr__(self, key, value)

    def act(self, line: Sequence[Float[ndarray, "5 nj"]], rate: float) -> JointCommand:
        """What the motors carry out, of this tick's command and those before it, newest first."""
        late = self.delay * rate + np.zeros(line[0].shape[1])
        mixed = sum(np.maximum(1.0 - np.abs(late - k), 0.0) * each for k, each in enumerate(line))
        return self.carried_out(JointCommand(**{key: mixed[k] for k, key in enumerate(_FIELDS)}))

    def carried_out(self, command: JointCommand) -> JointCommand:
        """A command as it acts once it has arrived."""
        gain = self.gain
        return JointCommand(
            command.position + self.bias, command.velocity, gain * command.kp, gain * command.kd, gain * command.torque
        )

    def longest(self, rate: float) -> int:
        """How many ticks before this one its command may have come from."""
        return int(np.ceil(float(np.max(self.delay)) * rate))

    def check_fits(self, robot: Robot) -> None:
        """Refuse a robot with another number of joints."""
        for key in ("bias", "gain", "delay"):
            if np.shape(getattr(self, key)) not in ((), (robot.nj,)):
                raise InputError(
                    f"{key} of the motors of robot '{robot.name}' must be one number or {robot.nj} of them"
                )

    def of(self, controller: Controller) -> ThroughMotors:
        """The controller as these motors carry it out."""
        return ThroughMotors(controller, self)

    @staticmethod
    def read(path: str | Path) -> MotorModel:
        """From the file that ``footfall identify motors`` writes."""
        wrong = f"'{path}' holds no motors: footfall identify motors writes such a file"
        content = read_json(path, "the motors", wrong)
        try:
            table = content["motors"]
            return MotorModel(**{f.name: table[f.name] for f in fields(MotorModel)})
        except SPOILED:
            raise InputError(wrong) from None

    def to_json(self) -> Mapping[str, Json]:
        return {f.name: np.asarray(getattr(self, f.name)).tolist() for f in fields(self)}


def stacked(command: JointCommand) -> Float[ndarray, "5 nj"]:
    """A command as the rows that ``MotorModel.act`` takes."""
    return np.stack([getattr(command, key) for key in _FIELDS])


@dataclass(frozen=True, eq=False)
class ThroughMotors(ControllerWrapper):
    """A controller behind motors; plain NumPy, compiled with the physics if the controller is."""

    inner: Controller
    motors: MotorModel
    reach: float = 0.0  # [s] that are kept at least, for delays that are found later

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.motors, MotorModel):
            raise InputError(f"motors must be a MotorModel, got {type(self.motors).__name__}")

    def start(self, robot: Robot) -> dict[str, Nest]:
        self.motors.check_fits(robot)
        kept = max(int(np.ceil(self.reach * self.rate)), self.motors.longest(self.rate))
        past = np.zeros((kept, len(_FIELDS), robot.nj))
        return {"inner": self.inner.start(robot), "past": past, "begun": 0.0}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: Nest
    ) -> tuple[JointCommand, Nest]:
        asked, inner = self.inner(t, robot, sensed, command, memory["inner"])
        now = stacked(asked.spread(robot.nj))
        past = memory["past"]
        line = [now] + [np.where(memory["begun"] > 0.5, past[k], now) for k in range(len(past))]  # before: the same
        kept = np.stack(line[: len(past)]) if len(past) else past
        return self.motors.act(line, self.rate), {"inner": inner, "past": kept, "begun": 1.0}
