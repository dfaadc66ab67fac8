"""The task ``rough``: walk forward over slopes, rough ground, steps, stairs, stepping stones and gaps, of ten levels.

Every robot has a course of its own (``contact.course``). One that walks most of the way that was asked goes up a level,
one that comes less than half as far, or falls, goes down one (Rudin et al. 2022). A policy may see the ground around it
(``scan``), or be blind; a blind one observes what a walking one does, and runs wherever that runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.course import Course
from footfall.control.learned.policy import Policy
from footfall.control.learned.scan import Places, around, told
from footfall.gait.pattern import Gait, trot
from footfall.kinematics.forward import foot_positions
from footfall.learn.lanes import WalkLanes
from footfall.learn.randomise import Randomisation
from footfall.learn.size import Size
from footfall.learn.task import WEIGHTS, WalkTask
from footfall.learn.task_base import Parameters, check_stands, drive_of, yielding
from footfall.nests import Given, Scalar
from footfall.robot.model.description import Robot

LEVELS = 10
# What the first and the last level of each kind are; those between lie evenly between them. Trenches are as deep on the
# first level as on the last: one that can be walked through teaches what fails where it is deeper.
KINDS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "uphill": {"slope": (0.03, 0.3)}, "downhill": {"slope": (-0.03, -0.3)},  # [rad]
    "bumps": {"bumps": (0.004, 0.04), "tread": (0.1, 0.1)},  # [m] up and down
    "steps": {"bumps": (0.008, 0.08), "tread": (0.3, 0.3)},
    "upstairs": {"rise": (0.015, 0.15)}, "downstairs": {"rise": (-0.015, -0.15)},  # [m] every 0.3 m
    "stones": {"gap": (0.012, 0.12), "tread": (0.43, 0.25)},  # [m] from stone to stone, and their length
    "gaps": {"gap": (0.02, 0.2), "tread": (0.5, 0.5)},  # [m]
}  # fmt: skip
_USUAL = {"slope": 0.0, "rise": 0.0, "bumps": 0.0, "gap": 0.0, "tread": 0.15}
DEEP = 0.4  # of every trench [m]: deeper than a leg reaches
_START, _LATER = 0.6, 0.3  # [m] where a course begins, and up to how much later
_ROW = tuple(round(-0.36 + 0.06 * k, 2) for k in range(17))
# [m], heading's axes. An edge across the way is seen twice as finely by rows that are off by half their pitch.
SCAN = tuple((x, 0.12) for x in _ROW) + tuple((round(x + 0.03, 2), -0.12) for x in _ROW)
_UNDER = (-0.15, 0.0, 0.15)  # [m] along the trunk: its height is over the highest of these places, so a gap is none
_BESIDE, _VOID = 0.03, 0.08  # [m]: a foot with such a drop so near stands on an edge
_KIND = 1.0 / 16  # by which a level tells the kind of its course
_EASIER = 0.4  # part of the episodes on a level that was passed before
UP, DOWN = 0.8, 0.5  # parts of the way that was asked
PATHS = tuple(f"ground.{key}" for key in (*_USUAL, "phase", "start"))


@dataclass(frozen=True, eq=False)
class RoughTask(WalkTask):
    """Walking over a course, seen where the drive has a scan. ``touching``: parts that collide beside the feet."""

    touching: str = "knees,shanks"
    seconds: ClassVar[float] = 10.0  # as long as those by which a policy is judged
    commands: ClassVar[Mapping[str, tuple[float, float]]] = {
        "forward": (0.3, 0.6), "sideways": (0.0, 0.0), "turn": (0.0, 0.0),
    }  # fmt: skip
    swing: ClassVar[float] = 0.08
    start_draws: ClassVar[int] = 2
    paths: ClassVar[tuple[str, ...]] = PATHS
    levels: ClassVar[int] = LEVELS
    worth: ClassVar[Mapping[str, float]] = {
        **WEIGHTS, "height": -8.0, "posture": -0.1, "bounce": -0.5,
        "footing": -2.0,  # part of the feet that stand on an edge
    }  # fmt: skip
    settings: ClassVar[Mapping[str, Given]] = {"hidden": (128, 128)}

    @staticmethod
    def of(robot: Robot, **options: Any) -> RoughTask:
        """The task with gains that are known to carry the robot, or that scale with it."""
        check_stands(robot, "walking")
        return RoughTask(robot, drive_of(robot, gait=long_strides(robot), reach=0.8, scan=SCAN), **options)

    @property
    def usual_randomisation(self) -> Randomisation:
        return Randomisation.full(self.robot)

    @property
    def world(self) -> dict[str, Given]:
        return {
            "dt": self.dt,
            "ground": Course(deep=DEEP),
            "collisions": self.touching,
            "contact": yielding(self.robot),
        }

    # -- the course --------------------------------------------------------------------------------------------------
    def assigned(self, level: Scalar, chance: Float[ndarray, "2"]) -> Scalar:
        """A robot keeps the kind of its first course, so that each kind gets harder at its own pace."""
        kind = np.floor(chance[0] * len(KINDS))
        return np.where(level - np.floor(level) > 0.5 * _KIND, level, np.floor(level) + _KIND * (kind + 1.0))

    def terrain(self, level: Scalar, chance: Float[ndarray, "2"]) -> dict[str, Scalar]:
        """Mostly of the robot's level; now and then an easier one, which would be forgotten."""
        whole = np.floor(level)
        played = np.where(chance[0] < _EASIER, np.floor(chance[0] / _EASIER * (whole + 1.0)), whole)
        return course_of((level - whole) / _KIND - 1.0, played, np.floor(64.0 * chance[1]))

    def promoted(self, level: Scalar, travelled: Scalar, asked: Scalar, fallen: Scalar, score: Scalar) -> Scalar:
        up = (travelled > UP * asked) & (fallen < 0.5)
        down = (travelled < DOWN * asked) | (fallen > 0.5)
        whole = np.floor(level)
        return level - whole + np.clip(whole + np.where(up, 1.0, np.where(down, -1.0, 0.0)), 0.0, LEVELS - 1.0)

    def ground_height(self, x: Scalar, parameters: Parameters) -> Scalar:
        """Of a robot's own course at a place [m]."""
        return _course(parameters).height(x)

    def trunk_height(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Scalar:
        under = [self.ground_height(q[0] + x, parameters) for x in _UNDER]
        return q[2] - np.maximum(np.maximum(under[0], under[1]), under[2])

    def foot_heights(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "nf"]:
        feet = foot_positions(self.robot, q)
        under = np.stack([self.ground_height(feet[k, 0], parameters) for k in range(len(self.robot.feet))])
        return feet[:, 2] - np.array([foot.radius for foot in self.robot.feet]) - under

    def further_values(
        self, q: Float[ndarray, "nq"], contact: Float[ndarray, "nf"], parameters: Parameters
    ) -> dict[str, Scalar]:
        """Feet that stand where the ground drops beside them: next to a trench, or on the edge of a stair."""
        feet, on_edge = foot_positions(self.robot, q), []
        for k, foot in enumerate(self.robot.feet):
            behind, ahead = (self.ground_height(feet[k, 0] + x, parameters) for x in (-_BESIDE, _BESIDE))
            on_edge.append(np.where(feet[k, 2] - foot.radius - np.minimum(behind, ahead) > _VOID, contact[k], 0.0))
        return {"footing": sum(on_edge) / len(on_edge)}

    def scanned(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "k"] | tuple[()]:
        """Heights of the course where the drive has its scan."""
        return self.heights(q, parameters, self.drive.scan) if self.drive.scan else ()

    def heights(self, q: Float[ndarray, "nq"], parameters: Parameters, places: Places) -> Float[ndarray, "k"]:
        """Heights of the course at places around the robot."""
        return told(self.robot, q, np.stack([self.ground_height(x, parameters) for x, _ in around(q, places)]))


@dataclass(frozen=True, eq=False)
class GivenCourse(RoughTask):
    """Whose first draw says which course it is, kind by kind and level by level: for exams."""

    def assigned(self, level: Scalar, chance: Float[ndarray, "2"]) -> Scalar:
        cell = np.floor(chance[0] * (len(KINDS) * LEVELS))
        kind = np.floor(cell / LEVELS)
        return cell - LEVELS * kind + _KIND * (kind + 1.0)

    def terrain(self, level: Scalar, chance: Float[ndarray, "2"]) -> dict[str, Scalar]:
        whole = np.floor(level)
        return course_of((level - whole) / _KIND - 1.0, whole, np.floor(64.0 * chance[1]))

    def promoted(self, level: Scalar, travelled: Scalar, asked: Scalar, fallen: Scalar, score: Scalar) -> Scalar:
        return level


def long_strides(robot: Robot) -> Gait:
    """A slower trot than that of level ground: a stride is longer than a trench of 15 cm at 0.4 m/s."""
    return trot(period=0.5 * Size.of(robot).time, duty=0.55)


def course_of(kind: Scalar, level: Scalar, phase: Scalar) -> dict[str, Scalar]:
    """The parameters of a course of a kind (its place in ``KINDS``) and a level; for one robot or for many.

    phase, from 0 to 63: which heights its bumps have, and how far off it begins.
    """
    part = level / (LEVELS - 1.0)
    found = {key: usual + 0.0 * part for key, usual in _USUAL.items()}
    for k, ranges in enumerate(KINDS.values()):
        for key, (first, last) in ranges.items():
            found[key] = np.where(np.abs(kind - k) < 0.5, first + (last - first) * part, found[key])
    found |= {"phase": phase + 0.0 * part, "start": _START + _LATER * phase / 64.0 + 0.0 * part}
    return {f"ground.{key}": value for key, value in found.items()}


def _course(parameters: Parameters) -> Course:
    """The course of a robot; its numbers may be traced, and are not checked."""
    course = object.__new__(Course)
    given = {path.partition(".")[2]: value for path, value in parameters.items() if path.startswith("ground.")}
    for key, value in {**vars(Course(deep=DEEP)), **given}.items():
        object.__setattr__(course, key, value)
    return course


@dataclass(frozen=True)
class Mastery:
    """Which part of robots mastered a course: walked ``UP`` of the way that was asked, and did not fall."""

    success: Float[ndarray, "kinds levels"]

    def table(self) -> str:
        """Percent, a row for each kind, levels from the first to the last."""
        head = "kind        " + "".join(f"{level + 1:>5}" for level in range(self.success.shape[1]))
        rows = [f"{kind:<12}" + "".join(f"{100 * x:5.0f}" for x in row) for kind, row in zip(KINDS, self.success)]
        return "\n".join([head, *rows])


class Courses:
    """Robots on every level of every kind of course, ``each`` on a cell, that walk forward at one speed [m/s]."""

    def __init__(
        self, task: RoughTask, *, each: int = 16, forward: float = 0.4, seconds: float = 10.0, randomise: Given = True,
        **options: Any,
    ) -> None:  # fmt: skip
        self.each, self.way = each, forward * seconds
        self.lanes = WalkLanes(
            task, each * len(KINDS) * LEVELS, command={"forward": forward}, randomise=randomise, seconds=seconds,
            **options,
        )  # fmt: skip

    def mastered(self, policy: Policy, seed: int) -> Mastery:
        """Which part of them comes far enough, without noise of actions."""
        lanes, n = self.lanes, self.lanes.n
        lanes.generators = [np.random.default_rng(seed + k) for k in range(n)]
        lanes.age[:] = 0
        lanes.begin(range(n))
        kind, level = np.divmod(np.arange(n) // self.each, LEVELS)
        lanes.level[:] = level
        lanes.batch.set(course_of(kind.astype(float), level.astype(float), np.arange(n) % 64.0))
        fallen, observation = np.zeros(n, dtype=bool), lanes.show(lanes.look(slice(None)).observation)
        for _ in range(lanes.limit):
            judged = lanes.tick(policy.action(observation)).judged
            observation, fallen = lanes.show(judged.observation), fallen | (judged.fallen > 0.5)
        mastered = ~fallen & (lanes.batch.q[:, 0] > UP * self.way)
        return Mastery(mastered.reshape(len(KINDS), LEVELS, self.each).mean(axis=2))


def evaluate_rough(policy: Policy, robot: Robot, *, seed: int = 1_000_000, **options: Any) -> Mastery:
    """So many robots on every level of every kind, of unseen seeds; options as for ``Courses``."""
    policy.check_fits(robot)
    return Courses(RoughTask(robot, policy.drive), **options).mastered(policy, seed)


__all__ = [
    "DEEP",
    "KINDS",
    "LEVELS",
    "SCAN",
    "Courses",
    "GivenCourse",
    "Mastery",
    "RoughTask",
    "course_of",
    "evaluate_rough",
]
