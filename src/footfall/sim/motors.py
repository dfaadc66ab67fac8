"""Identified motors: commands that are delayed, weaker or stronger, and offset.

    τ = g (kp (q_d + b - q) + kd (q̇_d - q̇) + τ_d),   with the command of ``delay`` seconds ago

b is the zero offset of the encoder or of the command, g the fraction of the torque that acts. A command is held for a
tick; with a delay of n + f ticks, (1 - f) of the command n ticks ago and f of the one before it act, which is the mean
over the tick, and is differentiable in the delay.

    robot, motors, joints = read_identified("go2_motors.json", ff.load("go2"))
    sim = ff.Simulation(robot, motors.of(controller), joints=joints)

Torque-speed limits act in every step and are in ``sim.joints``. The continuous torque is a thermal limit: losses in the
windings are proportional to the square of the torque, so ``overheating`` compares it with the root mean square over a
run (Yan et al. 2021 rate XiLing's motors by a continuous and a peak torque).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall._io.file_format import check_version
from footfall._io.json_file import read_json
from footfall.control.interface import Command, Controller, ControllerWrapper, JointCommand, Sensed
from footfall.errors import SPOILED, InputError
from footfall.robot.model.description import Robot
from footfall.sim.joints import JointModel
from nptrace._types import Given, Json, PyTree
from nptrace.array_types import Float

_FIELDS = ("position", "velocity", "kp", "kd", "torque")
FORMAT = 1  # version of the file of identified motors
_NO_MOTORS = "'{}' holds no motors: footfall identify motors writes such a file"
MOST_DELAY = 0.1  # [s], largest plausible delay of a motor


@dataclass(frozen=True, eq=False)
class MotorModel:
    """Motor errors: bias [rad], gain and delay [s], for all joints or for each."""

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
        """Return the command that the motors execute, from the commands of this and previous ticks, newest first."""
        late = self.delay * rate + np.zeros(line[0].shape[1])
        mixed = sum(np.maximum(1.0 - np.abs(late - k), 0.0) * each for k, each in enumerate(line))
        return self.carried_out(JointCommand(**{key: mixed[k] for k, key in enumerate(_FIELDS)}))

    def carried_out(self, command: JointCommand) -> JointCommand:
        """Return a command as it acts after the delay."""
        gain = self.gain
        return JointCommand(
            command.position + self.bias, command.velocity, gain * command.kp, gain * command.kd, gain * command.torque
        )

    def longest(self, rate: float) -> int:
        """Return the largest delay of a command [ticks]."""
        return int(np.ceil(float(np.max(self.delay)) * rate))

    def check_fits(self, robot: Robot) -> None:
        """Raise for a robot with a different number of joints."""
        for key in ("bias", "gain", "delay"):
            if np.shape(getattr(self, key)) not in ((), (robot.nj,)):
                raise InputError(
                    f"{key} of the motors of robot '{robot.name}' must be one number or {robot.nj} of them"
                )

    def of(self, controller: Controller) -> ThroughMotors:
        """Return the controller behind these motors."""
        return ThroughMotors(controller, self)

    @staticmethod
    def read(path: str | Path) -> MotorModel:
        """Read motors from the file that ``footfall identify motors`` writes."""
        content = read_motors_file(path)
        try:
            table = content["motors"]
            return MotorModel(**{f.name: table[f.name] for f in fields(MotorModel)})
        except SPOILED:
            raise InputError(_NO_MOTORS.format(path)) from None

    def to_json(self) -> Mapping[str, Json]:
        return {f.name: np.asarray(getattr(self, f.name)).tolist() for f in fields(self)}


def read_motors_file(path: str | Path) -> dict[str, Given]:
    """Return the contents of a file that ``footfall identify motors`` wrote, its version checked."""
    content = read_json(path, "the motors", _NO_MOTORS.format(path))
    if not isinstance(content, dict) or "motors" not in content:
        raise InputError(_NO_MOTORS.format(path))
    check_version(path, content.get("format"), FORMAT)
    return content


def stacked(command: JointCommand) -> Float[ndarray, "5 nj"]:
    """Return a command as rows for ``MotorModel.act``."""
    return np.stack([getattr(command, key) for key in _FIELDS])


@dataclass(frozen=True, eq=False)
class ThroughMotors(ControllerWrapper):
    """A controller behind motors with errors; compiled with the physics if the controller is."""

    inner: Controller
    motors: MotorModel
    reach: float = 0.0  # [s], minimum history, for delays that are identified later

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.motors, MotorModel):
            raise InputError(f"motors must be a MotorModel, got {type(self.motors).__name__}")

    def start(self, robot: Robot) -> dict[str, PyTree]:
        self.motors.check_fits(robot)
        kept = max(int(np.ceil(self.reach * self.rate)), self.motors.longest(self.rate))
        past = np.zeros((kept, len(_FIELDS), robot.nj))
        return {"inner": self.inner.start(robot), "past": past, "begun": 0.0}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        requested, inner = self.inner(t, robot, sensed, command, memory["inner"])
        now = stacked(requested.broadcast(robot.nj))
        past = memory["past"]
        # earlier commands are the same
        line = [now] + [np.where(memory["begun"] > 0.5, past[k], now) for k in range(len(past))]
        kept = np.stack(line[: len(past)]) if len(past) else past
        return self.motors.act(line, self.rate), {"inner": inner, "past": kept, "begun": 1.0}


# -- motors that were identified ---------------------------------------------------------------------------------------
OF_ROBOT = ("armature", "damping", "dry_friction")
OF_MOTORS = ("bias", "gain", "delay")
COLUMNS = (*OF_ROBOT, "static_ratio", *OF_MOTORS)  # columns of a table with one row per joint


def read_identified(path: str | Path, robot: Robot) -> tuple[Robot, MotorModel, JointModel]:
    """Read the file that ``footfall identify motors`` writes.

    Args:
        path: The file.
        robot: Robot that it was identified for.

    Returns:
        Robot with identified joints, motors, and joint effects.
    """
    content = read_motors_file(path)
    try:
        whose, joints, table = content["robot"], tuple(content["joints"]), np.array(content["table"], dtype=float)
    except SPOILED:
        raise InputError(f"'{path}' holds no motors of a robot: footfall identify motors writes such a file") from None
    if whose != robot.name:
        raise InputError(f"the motors of '{path}' are those of robot '{whose}', not of '{robot.name}'")
    if joints != robot.joint_names or table.shape != (robot.nj, len(COLUMNS)):
        raise InputError(f"the motors of '{path}' are for joints other than those of robot '{robot.name}'")
    return applied(robot, joints, table)


def applied(robot: Robot, joints: tuple[str, ...], table: ndarray) -> tuple[Robot, MotorModel, JointModel]:
    """Return a table of parameters as robot, motors and joint effects."""
    own = {f"{name}.{key}": float(table[j, k]) for k, key in enumerate(OF_ROBOT) for j, name in enumerate(joints)}
    return robot.replace(own), motors_of(table), JointModel(static_ratio=table[:, len(OF_ROBOT)])


def motors_of(table: ndarray) -> MotorModel:
    """Return the motors of a table."""
    return MotorModel(*(table[:, COLUMNS.index(key)] for key in OF_MOTORS))


# -- heat --------------------------------------------------------------------------------------------------------------
def overheating(robot: Robot, mean_square: Float[ndarray, "nj"]) -> str | None:
    """Return a sentence about motors whose root-mean-square torque exceeds their continuous torque.

    Args:
        robot: The robot.
        mean_square: Mean of the squared torque of each joint [N² m²].

    Returns:
        The sentence, or None.
    """
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
