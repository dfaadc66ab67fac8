"""What every task of learning is: a robot behind its drive, where an episode begins, and what a tick is worth.

Written for one robot in plain NumPy, and compiled for many: a robot is judged alike alone and in any batch. A task adds
a file with a ``Task`` of its own; episodes, lanes, trainings and kernels are the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.compliant import Compliant
from footfall.control.interface import Command, ControllerBase, JointCommand, Sensed
from footfall.control.learned.policy import Drive
from footfall.errors import InputError, unknown
from footfall.gait import tuned
from footfall.gravity import GRAVITY
from footfall.identity import digest_of
from footfall.learn.randomise import Randomisation
from footfall.robot.model.description import Robot
from footfall.simulate.tick import RunState

WORST = 10.0  # what any term but a fall costs at most in a second, so that one wild robot does not drown the others
WILD = 300.0  # length of a velocity that no robot has


@dataclass(frozen=True)
class ActionController(ControllerBase):
    """PD around the action in its memory, which the environment writes between ticks.

    ``last``: the action before it; ``gains``: factors of stiffness and damping.
    """

    drive: Drive

    @property
    def rate(self) -> float:
        return self.drive.rate

    def start(self, robot: Robot) -> dict[str, ndarray]:
        return {"action": np.zeros(robot.nj), "last": np.zeros(robot.nj), "gains": np.ones(2)}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        return self.drive.command(robot, memory["action"], memory["gains"]), memory


@dataclass(frozen=True)
class Judged:
    """What comes of a tick."""

    observation: Float[ndarray, "no"]
    terms: dict[str, Any]  # of the reward, weighted
    reward: Any
    fallen: Any  # 1 or 0
    velocity: Float[ndarray, "3"]  # forward, sideways [m/s], turn [rad/s], in the heading's axes
    contact: Float[ndarray, "nf"]  # 1 where a foot is down
    score: Any  # how well the task is done, from 0 to 1, whatever it is worth: for curves


class Task(ABC):
    """The constant of episodes and of judgement: a frozen dataclass with the fields below."""

    robot: Robot
    drive: Drive
    weights: Mapping[str, float]
    dt: float  # physics step [s]
    seconds: ClassVar[float]  # that an episode lasts, unless its environment says otherwise
    commands: ClassVar[Mapping[str, tuple[float, float]]]  # ranges of forward, sideways [m/s] and turn [rad/s]
    start_draws: ClassVar[int] = 0  # of chance that ``started`` takes, beside one for every joint
    settings: ClassVar[Mapping[str, Any]] = {}  # of its training, where they are not as usual (``ppo.Settings``)

    @property
    def world(self) -> dict[str, Any]:
        """Options of the simulation."""
        return {"dt": self.dt}

    @abstractmethod
    def started(
        self, q: Float[ndarray, "nq"], ranges: Randomisation, joints: Float[ndarray, "nj"], chance: ndarray
    ) -> Float[ndarray, "nq"]:
        """Where an episode begins, from where a simulation does and from uniform draws."""

    @abstractmethod
    def judged(self, state: RunState, command: Command) -> Judged:
        """Look at a robot after a tick in which it followed a command with the action in its memory."""

    def observed(self, state: RunState, command: Command) -> Float[ndarray, "no"]:
        """What a policy sees of a robot."""
        robot = self.robot
        sensed = Sensed(state.q, state.v, state.forces[: robot.nf])
        return self.drive.observe(robot, state.tick / self.drive.rate, sensed, command, state.memory["action"])

    @property
    def bounds(self) -> Float[ndarray, "no"]:
        """The most of each number of an observation."""
        return self.drive.bounds(self.robot)

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)


def check_weights(given: Mapping[str, float], known: Mapping[str, float]) -> dict[str, float]:
    """The weights of a reward with some of them changed."""
    for key, value in given.items():
        if key not in known:
            raise unknown("term of the reward", key, known)
        if not np.isfinite(value):
            raise InputError(f"the weight of {key} must be finite, got {value}")
    return {**known, **given}


def check_stands(robot: Robot, doing: str) -> None:
    if "stand" not in robot.poses or len(robot.feet) != 4:
        raise InputError(f"{doing} needs four feet and a pose 'stand', which robot '{robot.name}' has not")


def drive_of(robot: Robot, **changes: Any) -> Drive:
    """A drive with gains that are known to carry the robot, or that scale with it."""
    gains = tuned.for_robot(robot, "trot")
    return Drive(kp=gains.kp, kd=gains.kd, **changes)


def yielding(robot: Robot) -> Compliant:
    """Contact for links that hit the ground fast in single precision: the robot's weight presses it in by 1 mm.

    A link that lands at several metres a second is millimetres deep after a step. The default law is then millions of
    newtons strong, and what it does to the lightest link is lost to rounding: one robot in 20 000 ticks flew off.
    """
    stiffness = robot.mass * -GRAVITY[2] / 1e-3
    damping = 0.01 * stiffness
    return Compliant(
        stiffness=stiffness, exponent=1.0, damping=damping, stick_speed=1e-3, slip_speed=2e-3,
    )  # fmt: skip


def weighted(values: Mapping[str, Any], weights: Mapping[str, float], rate: float) -> dict[str, Any]:
    """The terms of a reward for a tick: each at worst ``WORST`` a second, that of a fall as it is."""
    terms = {key: np.maximum(weights[key] * value, -WORST) / rate for key, value in values.items() if key != "fall"}
    return {**terms, "fall": weights["fall"] / rate * values["fall"]}


def heading_velocity(R_WB: Float[ndarray, "3 3"], v: Float[ndarray, "nv"]) -> Float[ndarray, "3"]:
    """Forward and sideways speed [m/s] and turn rate [rad/s] in level axes that look where the trunk looks."""
    length = np.sqrt(R_WB[0, 0] * R_WB[0, 0] + R_WB[1, 0] * R_WB[1, 0] + 1e-12)
    c, s = R_WB[0, 0] / length, R_WB[1, 0] / length
    v_W, omega_W = R_WB @ v[3:6], R_WB @ v[:3]
    return np.stack([c * v_W[0] + s * v_W[1], c * v_W[1] - s * v_W[0], omega_W[2]])
