"""The task ``rough_blind``: the courses of ``rough`` by a policy that does not see them.

It feels its way by what it saw just before (Lee et al. 2020). The critic, which no robot carries, is told what the
policy must guess: the ground around it, its velocity, what touches, and what was drawn for it (Pinto et al. 2018).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import Command
from footfall.gravity import STANDARD
from footfall.learn.rough import SCAN, RoughTask, long_strides
from footfall.learn.task_base import NONE, Judged, Parameters, check_stands, drive_of, heading_velocity
from footfall.nests import Given
from footfall.robot.model.description import Robot
from footfall.simulate.tick import RunState
from footfall.spatial.quaternion import to_rotation

HISTORY = 3  # observations that it sees
_COURSE = ("friction", "slope", "rise", "bumps", "gap", "tread")
_SLOW = 0.1  # [m/s] of a Mini Cheetah: under which a command is no measure of the way
_FASTEST = 10.0  # velocity that is told [m/s]
_STRONGEST = 5.0  # force that is told [weights of the robot]


@dataclass(frozen=True, eq=False)
class BlindTask(RoughTask):
    """Walking over a course that is felt.

    A velocity is followed in the heading's axes, and a robot that feels a stair earns as much by turning and walking
    along it: so coming on is worth something too, along the course.
    """

    worth: ClassVar[Mapping[str, float]] = {
        **RoughTask.worth,
        "way": 1.5,  # velocity along the course, in parts of what is asked, at most 1
    }
    settings: ClassVar[Mapping[str, Given]] = {"hidden": (256, 128), "activation": "elu"}

    @staticmethod
    def of(robot: Robot, **options: Any) -> BlindTask:
        """The task with gains that are known to carry the robot, or that scale with it."""
        check_stands(robot, "walking")
        drive = drive_of(robot, gait=long_strides(robot), reach=0.8, history=HISTORY)
        return BlindTask(robot, drive, **options)

    def judged(self, state: RunState, command: Command, parameters: Parameters = NONE) -> Judged:
        found = super().judged(state, command, parameters)
        along = to_rotation(state.q[3:7])[0] @ state.v[3:6]
        part = np.clip(along / np.maximum(command.forward, _SLOW * self.size.speed), -1.0, 1.0)
        way = self.weights["way"] * part / self.drive.rate
        return replace(found, terms={**found.terms, "way": way}, reward=found.reward + way)

    @property
    def privileged_count(self) -> int:
        return len(SCAN) + 3 + 3 * self.robot.nf + 1 + len(_COURSE) + 4

    def privileged(self, state: RunState, command: Command, parameters: Parameters) -> Float[ndarray, "k"]:
        """Heights of the ground around it; its velocity; of every foot the push of a riser, whether it is down and how
        high it is; what other links bear; the course; and the trunk's mass, the delay and the gains."""
        robot, memory = self.robot, state.memory
        R, feet, weight = to_rotation(state.q[3:7]), state.forces[: robot.nf], robot.mass * STANDARD
        speed = np.stack([*heading_velocity(R, state.v)[:2], R[2] @ state.v[3:6]])
        others = np.sum(np.abs(state.forces[robot.nf :])) / weight
        drawn = [parameters[f"ground.{key}"] for key in _COURSE] + [parameters[f"{robot.trunk}.mass"], memory["delay"]]
        return np.concatenate([
            self.heights(state.q, parameters, SCAN),
            np.clip(speed, -_FASTEST, _FASTEST),
            np.clip(feet[:, 0] / weight, -_STRONGEST, _STRONGEST),
            np.where(feet[:, 2] > 1.0, 1.0, 0.0),
            np.clip(self.foot_heights(state.q, parameters), -1.0, 1.0),
            np.stack([np.minimum(others, _STRONGEST), *drawn]),
            memory["gains"],
        ])  # fmt: skip


__all__ = ["HISTORY", "BlindTask"]
