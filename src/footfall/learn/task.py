"""The task of ``footfall/Walk-v0``: follow a velocity on flat ground. What is rewarded, and what counts as a fall.

Written for one robot in plain NumPy, and compiled for many: a robot is judged alike alone and in any batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import Command, Sensed
from footfall.control.learned.policy import Drive
from footfall.gait.pattern import Gait, clock_phase, stance, trot
from footfall.hardware.motor_model import MotorModel
from footfall.kinematics.forward import foot_positions
from footfall.learn.randomise import Randomisation, within
from footfall.learn.size import Size
from footfall.learn.task_base import (
    NONE,
    WILD,
    WORST,
    ActionController,
    Judged,
    Parameters,
    Task,
    check_stands,
    check_weights,
    drive_of,
    heading_velocity,
    weighted,
)  # fmt: skip
from footfall.nests import Scalar
from footfall.robot.model.description import Robot
from footfall.simulate.actuators import JointModel, joint_forces
from footfall.simulate.tick import RunState
from footfall.spatial.quaternion import to_rotation

# What a second of each is worth, to a robot of the Mini Cheetah's size (``learn.size``). The first three are at most 1
# and are to be had, the others are to be avoided; none of those costs more than ``WORST`` a second, so that one wild
# robot does not drown the others.
WEIGHTS: Mapping[str, float] = {
    "tracking": 1.5,  # 1 / (1 + e²), e the error of the forward and sideways velocity in 0.1 m/s
    "turning": 0.5,  # 1 / (1 + e²), e the error of the turn rate in 0.2 rad/s
    "gait": 1.0,  # part of the feet that are down and up as the clock says
    "clearance": -2.0,  # squared lack of height of swinging feet, in parts of the swing's height
    "upright": -2.0,  # squared sine of the trunk's lean
    "height": -30.0,  # squared error of the trunk's height, in parts of it
    "bounce": -1.0,  # squared vertical speed [m²/s²]
    "rocking": -0.05,  # squared roll and pitch rate [rad²/s²]
    "smoothness": -0.1,  # squared change of the action
    "posture": -0.2,  # squared joint offsets from standing [rad²]
    "energy": -2e-3,  # mechanical power of the motors [W], none given back
    "fall": -50.0,  # the tick of a fall
}
_SPEED, _TURN = 0.1, 0.2  # errors that are worth a half [m/s], [rad/s]
RANGES: Mapping[str, tuple[float, float]] = {"forward": (-0.3, 0.8), "sideways": (-0.25, 0.25), "turn": (-0.6, 0.6)}


@dataclass(frozen=True, eq=False)
class WalkTask(Task):
    """A robot, its drive, and what its walking is worth. ``weights`` change those of ``WEIGHTS``.

    dt: physics step [s]. lean: more than so many degrees is a fall, as is a trunk below 0.4 of its standing height.
    """

    robot: Robot
    drive: Drive = field(default_factory=Drive)
    weights: Mapping[str, float] = field(default_factory=dict)
    dt: float = 2e-3
    swing_height: float | None = None  # of the feet [m]; as it scales with the robot unless given
    lean: float = 50.0
    motors: MotorModel | None = None
    joints: JointModel | None = None
    seconds: ClassVar[float] = 20.0
    commands: ClassVar[Mapping[str, tuple[float, float]]] = RANGES
    swing: ClassVar[float] = 0.05  # of the feet of a Mini Cheetah [m]
    worth: ClassVar[Mapping[str, float]] = WEIGHTS  # unless ``weights`` says otherwise

    def __post_init__(self) -> None:
        weights = check_weights(self.weights, self.worth)
        check_stands(self.robot, "walking")
        object.__setattr__(self, "weights", weights)
        if self.swing_height is None:
            object.__setattr__(self, "swing_height", self.swing * self.size.length)

    @staticmethod
    def of(robot: Robot, **options: Any) -> WalkTask:
        """The task with gains that are known to carry the robot, or that scale with it."""
        check_stands(robot, "walking")
        return WalkTask(robot, drive_of(robot, gait=clock_of(robot)), **options)

    def started(
        self, q: Float[ndarray, "nq"], ranges: Randomisation, joints: Float[ndarray, "nj"], chance: ndarray,
        parameters: Parameters = NONE, level: Scalar = 0.0,
    ) -> Float[ndarray, "nq"]:  # fmt: skip
        """Standing with its lowest foot on the ground, its joints off by a little."""
        robot = self.robot
        q = q + np.concatenate([np.zeros(robot.nq - robot.nj), within(ranges.joints, joints)])
        lowest = least(self.foot_heights(q, parameters))
        return q - np.concatenate([np.zeros(2), np.stack([lowest]), np.zeros(robot.nq - 3)])

    # -- of the ground, which is level here ------------------------------------------------------------------------
    def trunk_height(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Scalar:
        """Of the trunk's origin over the ground [m]."""
        return q[2]

    def foot_heights(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "nf"]:
        """Of the lowest points of the feet over the ground [m]."""
        return foot_positions(self.robot, q)[:, 2] - np.array([foot.radius for foot in self.robot.feet])

    def further_values(
        self, q: Float[ndarray, "nq"], contact: Float[ndarray, "nf"], parameters: Parameters
    ) -> dict[str, Scalar]:
        """What else is worth something, by its name in ``worth``."""
        return {}

    def judged(self, state: RunState, command: Command, parameters: Parameters = NONE) -> Judged:
        robot, drive, memory = self.robot, self.drive, state.memory
        t = state.tick / drive.rate
        sensed = Sensed(state.q, state.v, state.forces[: robot.nf])
        R = to_rotation(state.q[3:7])
        velocity, height = heading_velocity(R, state.v), self.trunk_height(state.q, parameters)
        stand = robot.poses["stand"]
        low = 0.4 * stand.height
        fine = (R[2, 2] > np.cos(np.radians(self.lean))) & (height > low) & (state.v @ state.v < WILD**2)
        contact = np.where(sensed.forces[:, 2] > 1.0, 1.0, 0.0)
        joints, rates = state.q[robot.nq - robot.nj :], state.v[robot.nv - robot.nj :]
        asked = drive.command(robot, memory["action"], memory["gains"])
        motor = joint_forces(robot, JointModel(), joints, rates, asked, 0.0).motor
        step = memory["action"] - memory["last"]
        aim, missed = np.stack([command.forward, command.sideways]), command.turn - velocity[2]
        down = stance(drive.gait, clock_phase(drive.gait, t)) > 0.5
        size = self.size
        values = {
            "tracking": 1.0 / (1.0 + np.sum((velocity[:2] - aim) ** 2) / (_SPEED * size.speed) ** 2),
            "turning": 1.0 / (1.0 + missed * missed * size.length / _TURN**2),
            "gait": np.sum(np.where(down, contact, 1.0 - contact)) / 4.0,
            "clearance": clearance_error(self, t, self.foot_heights(state.q, parameters)),
            "upright": R[2, 0] * R[2, 0] + R[2, 1] * R[2, 1],
            "height": (height / stand.height - 1.0) ** 2,
            "bounce": (R[2] @ state.v[3:6]) ** 2 / size.length,
            "rocking": (state.v[0] * state.v[0] + state.v[1] * state.v[1]) * size.length,
            "smoothness": np.sum(step * step),
            "posture": np.sum((joints - stand.joints) ** 2),
            "energy": np.sum(np.maximum(motor * rates, 0.0)) / size.power,
            **self.further_values(state.q, contact, parameters),
            "fall": np.where(fine, 0.0, 1.0),
        }
        terms = weighted(values, self.weights, drive.rate)
        observation = self.observed(state, command, parameters)
        return Judged(observation, terms, sum(terms.values()), values["fall"], velocity, contact, values["gait"])


def judge(task: Task, state: RunState, command: Command, parameters: Parameters = NONE) -> Judged:
    """``task.judged`` as a function to compile."""
    return task.judged(state, command, parameters)


def clock_of(robot: Robot) -> Gait:
    """The trot that a walking policy hears, in the time of the robot's legs."""
    return trot(period=0.4 * Size.of(robot).time, duty=0.55)


def lowest_foot(robot: Robot, q: Float[ndarray, "nq"]) -> Scalar:
    """Height of the lowest foot over flat ground [m]; below zero where it is in it."""
    return least(foot_positions(robot, q)[:, 2] - np.array([foot.radius for foot in robot.feet]))


def least(heights: Float[ndarray, "4"]) -> Scalar:
    return np.minimum(np.minimum(heights[0], heights[1]), np.minimum(heights[2], heights[3]))


def clearance_error(task: WalkTask, t: float, heights: Float[ndarray, "nf"]) -> Scalar:
    """Mean over the feet of the squared lack of height in a swing, in parts of its height, whose path is a sine's."""
    gait = task.drive.gait
    phase = clock_phase(gait, t)
    swing = np.clip((phase - gait.duty) / (1.0 - gait.duty), 0.0, 1.0)
    assert task.swing_height is not None  # is made so
    wanted = task.swing_height * np.sin(np.pi * swing)
    lack = np.maximum(wanted - heights, 0.0) / task.swing_height
    return np.sum(lack * lack) / 4.0


__all__ = ["RANGES", "WEIGHTS", "WORST", "ActionController", "Judged", "Task", "WalkTask", "judge", "lowest_foot"]
