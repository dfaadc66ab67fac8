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
from jaxtyping import Bool, Float
from numpy import ndarray

from footfall.contact.compliant import Compliant
from footfall.control.interface import Command, ControllerBase, JointCommand, Sensed
from footfall.control.learned.policy import Drive
from footfall.control.learned.scan import told
from footfall.errors import InputError, unknown
from footfall.gait import tuned
from footfall.gravity import GRAVITY
from footfall.hardware.motor_model import MotorModel
from footfall.identity import digest_of
from footfall.learn.randomise import Randomisation
from footfall.learn.size import Size
from footfall.nests import Given, Nest, Scalar
from footfall.robot.model.description import Robot
from footfall.simulate.actuators import JointModel
from footfall.simulate.tick import RunState

Parameters = Mapping[str, Scalar]
NONE: Parameters = {}
WORST = 10.0  # what any term but a fall costs at most in a second, so that one wild robot does not drown the others
WILD = 300.0  # length of a velocity that no robot has


@dataclass(frozen=True)
class ActionController(ControllerBase):
    """PD around the action in its memory, which the environment writes between ticks.

    ``last``: the action before it; ``gains``: factors of stiffness and damping; ``delay``: the part of a tick for which
    the action before it still acts, which the mean over the tick stands for; ``upright``: as the tick began. ``motors``
    carry it out: their delay adds to that one, and together they are a tick at most.
    """

    drive: Drive
    motors: MotorModel | None = None

    @property
    def rate(self) -> float:
        return self.drive.rate

    def start(self, robot: Robot) -> dict[str, ndarray]:
        zero = np.zeros(robot.nj)
        return {
            "action": zero, "last": zero.copy(), "gains": np.ones(2), "delay": np.zeros(()), "upright": np.ones(()),
        }  # fmt: skip

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        late = memory["delay"]
        if self.motors is not None:
            late = np.minimum(late + self.motors.delay * self.rate, 1.0)
        action = memory["action"] * (1.0 - late) + memory["last"] * late
        asked = self.drive.command(robot, action, memory["gains"])
        if self.motors is not None:
            asked = self.motors.carried_out(asked)
        return asked, {**memory, "upright": upright(sensed.q)}


@dataclass(frozen=True)
class Judged:
    """What comes of a tick."""

    observation: Float[ndarray, "no"]
    terms: dict[str, Scalar]  # of the reward, weighted
    reward: Scalar
    fallen: Scalar  # 1 or 0
    velocity: Float[ndarray, "3"]  # forward, sideways [m/s], turn [rad/s], in the heading's axes
    contact: Float[ndarray, "nf"]  # 1 where a foot is down
    score: Scalar  # how well the task is done, from 0 to 1, whatever it is worth: for curves


class Task(ABC):
    """The constant of episodes and of judgement: a frozen dataclass with the fields below."""

    robot: Robot
    drive: Drive
    weights: Mapping[str, float]
    dt: float  # physics step [s]
    motors: MotorModel | None = None  # that carry out what the drive asks
    joints: JointModel | None = None  # effects in the joints, as they were identified with the motors
    seconds: ClassVar[float]  # that an episode lasts, unless its environment says otherwise
    # ranges of forward, sideways [m/s] and turn [rad/s], of a robot of the Mini Cheetah's size
    commands: ClassVar[Mapping[str, tuple[float, float]]]
    start_draws: ClassVar[int] = 0  # of chance that ``started`` takes, beside one for every joint
    paths: ClassVar[tuple[str, ...]] = ()  # parameters that ``terrain`` draws
    levels: ClassVar[int] = 1  # of difficulty
    settings: ClassVar[Mapping[str, Given]] = {}  # of its training, where they are not as usual (``ppo.Settings``)

    @property
    def world(self) -> dict[str, Given]:
        """Options of the simulation."""
        return {"dt": self.dt}

    @property
    def effects(self) -> dict[str, Given]:
        """Further options of it: the effects in its joints."""
        return {} if self.joints is None else {"joints": self.joints}

    @property
    def controller(self) -> ActionController:
        """What turns actions into commands, as the motors carry them out."""
        return ActionController(self.drive, self.motors)

    @cached_property
    def size(self) -> Size:
        """By which the constants of the task scale."""
        return Size.of(self.robot)

    @property
    def command_ranges(self) -> dict[str, tuple[float, float]]:
        """Ranges of ``commands`` for this robot."""
        return self.size.commands(self.commands)

    def randomisation(self, option: Given) -> Randomisation:
        """What an environment draws that was given this option: True is as the task has it, ranges by name change
        some of that."""
        if option is True or isinstance(option, Mapping):
            return self.usual_randomisation.changed({} if option is True else option)
        return Randomisation.from_option(option)

    @property
    def usual_randomisation(self) -> Randomisation:
        """What differs between robots unless an environment says otherwise; pushes scale with the robot."""
        return Randomisation(push=(0.0, Randomisation().push[1] * self.size.impulse))

    @abstractmethod
    def started(
        self, q: Float[ndarray, "nq"], ranges: Randomisation, joints: Float[ndarray, "nj"], chance: ndarray,
        parameters: Parameters = NONE, level: Scalar = 0.0,
    ) -> Float[ndarray, "nq"]:  # fmt: skip
        """Where an episode begins, from where a simulation does and from uniform draws; parameters as in ``judged``."""

    @abstractmethod
    def judged(self, state: RunState, command: Command, parameters: Parameters = NONE) -> Judged:
        """Look at a robot after a tick in which it followed a command with the action in its memory.

        parameters: those that differ between robots, the ground's among them.
        """

    def assigned(self, level: Scalar, chance: ndarray) -> Scalar:
        """The level with which an episode begins: what a task writes into its fraction stays with the robot."""
        return level

    def terrain(self, level: Scalar, chance: ndarray) -> dict[str, Scalar]:
        """The parameters of ``paths`` for an episode on a level of difficulty."""
        return {}

    def promoted(self, level: Scalar, travelled: Scalar, asked: Scalar, fallen: Scalar, score: Scalar) -> Scalar:
        """The level of the next episode, after one in which a robot came so far of the way that was asked [m], and
        ended with a score."""
        return level

    def observed(self, state: RunState, command: Command, parameters: Parameters = NONE) -> Float[ndarray, "no"]:
        """What a policy sees of a robot at one time."""
        robot = self.robot
        sensed = Sensed(state.q, state.v, state.forces[: robot.nf])
        heights = self.scanned(state.q, parameters)
        return self.drive.observe(robot, state.tick / self.drive.rate, sensed, command, state.memory["action"], heights)

    def scanned(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "k"] | tuple[()]:
        """Heights of the ground where the drive has its scan; level ground unless the task has another."""
        return told(self.robot, q, np.zeros(len(self.drive.scan))) if self.drive.scan else ()

    @property
    def privileged_count(self) -> int:
        """How many numbers ``privileged`` gives."""
        return 0

    def privileged(self, state: RunState, command: Command, parameters: Parameters) -> Float[ndarray, "k"] | tuple[()]:
        """What the critic of a training is told beside what a policy sees (Pinto et al. 2018): nothing here.

        A policy never sees it, so that it may be what no robot knows.
        """
        return ()

    def commanded(self, drawn: Mapping[str, Given], chance: Float[ndarray, "3"]) -> Command:
        """The command of an episode, from what was drawn of ``commands`` or from the draws themselves."""
        return Command(**drawn)

    @property
    def frame_bounds(self) -> Float[ndarray, "no"]:
        """The most of each number that is seen at one time."""
        return self.drive.frame_bounds(self.robot)

    @property
    def bounds(self) -> Float[ndarray, "no"]:
        """The most of each number of an observation, with what was seen before it."""
        return np.tile(self.frame_bounds, self.drive.history)

    @property
    def comes_late(self) -> Bool[ndarray, "no"]:
        """Which numbers of what is seen at one time are measured: they come with the latency of the sensors."""
        known = np.zeros(len(self.frame_bounds), dtype=bool)
        for part in ("command", "action", "clock"):
            known[self.drive.place(self.robot, part)] = True
        return ~known

    def place(self, part: str) -> slice:
        """Where a part of the drive lies in an observation, as it is now."""
        at, before = self.drive.place(self.robot, part), (self.drive.history - 1) * len(self.frame_bounds)
        return slice(before + at.start, before + at.stop)

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)


def privileged(task: Task, state: RunState, command: Command, parameters: Parameters) -> Nest:
    """``task.privileged`` as a function to compile."""
    return task.privileged(state, command, parameters)


def upright(q: Float[ndarray, "nq"]) -> Scalar:
    """Cosine of the trunk's lean."""
    return 1.0 - 2.0 * (q[4] * q[4] + q[5] * q[5])


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


def weighted(values: Mapping[str, Scalar], weights: Mapping[str, float], rate: float) -> dict[str, Scalar]:
    """The terms of a reward for a tick: each at worst ``WORST`` a second, that of a fall as it is."""
    terms = {key: np.maximum(weights[key] * value, -WORST) / rate for key, value in values.items() if key != "fall"}
    return {**terms, "fall": weights["fall"] / rate * values["fall"]}


def heading_velocity(R_WB: Float[ndarray, "3 3"], v: Float[ndarray, "nv"]) -> Float[ndarray, "3"]:
    """Forward and sideways speed [m/s] and turn rate [rad/s] in level axes that look where the trunk looks."""
    length = np.sqrt(R_WB[0, 0] * R_WB[0, 0] + R_WB[1, 0] * R_WB[1, 0] + 1e-12)
    c, s = R_WB[0, 0] / length, R_WB[1, 0] / length
    v_W, omega_W = R_WB @ v[3:6], R_WB @ v[:3]
    return np.stack([c * v_W[0] + s * v_W[1], c * v_W[1] - s * v_W[0], omega_W[2]])
