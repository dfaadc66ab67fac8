"""The task ``rough``: walk forward over slopes, rough ground, steps, stairs, stepping stones and gaps, of ten levels.

Every robot has a separate course (``contact.course``). A robot that walks most of the commanded distance moves up a
level; one that covers less than half of it, or falls, moves down (Rudin et al. 2022). A policy may see the ground
around it (``scan``), or be blind; a blind policy has the observations of ``walk``, and runs wherever that does.

The task ``rough_blind`` has the same courses for a policy that does not see them and relies on its recent observations
(Lee et al. 2020). The critic, needed only in training, is given what the policy must infer: the ground around it, its
velocity, contacts, and randomised parameters (Pinto et al. 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from footfall.contact.course import Course
from footfall.control.learned.policy import Policy
from footfall.control.learned.scan import ScanPoints, relative_heights, scan_points_world
from footfall.kinematics.forward import foot_positions
from footfall.learn.lanes import WalkLanes, own_generators
from footfall.learn.task import (
    EXAM_SEED,
    SCAN,
    Exam,
    ExamRuns,
    Parameters,
)
from footfall.learn.task_spec import shipped
from footfall.learn.walk import WalkTask
from footfall.robot.model.description import Robot
from nptrace._types import Given, Json, Scalar
from nptrace.array_types import Float

LEVELS = 10
# The first and the last level of each kind; the levels between are evenly spaced. Trenches are as deep on the first
# level as on the last: one that can be walked through teaches a gait that fails where it is deeper.
KINDS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "uphill": {"slope": (0.03, 0.3)}, "downhill": {"slope": (-0.03, -0.3)},  # [rad]
    "bumps": {"bumps": (0.004, 0.04), "tread": (0.1, 0.1)},  # [m] up and down
    "steps": {"bumps": (0.008, 0.08), "tread": (0.3, 0.3)},
    "upstairs": {"rise": (0.015, 0.15)}, "downstairs": {"rise": (-0.015, -0.15)},  # [m] every 0.3 m
    "stones": {"gap": (0.012, 0.12), "tread": (0.43, 0.25)},  # [m] from stone to stone, and their length
    "gaps": {"gap": (0.02, 0.2), "tread": (0.5, 0.5)},  # [m]
}  # fmt: skip
_USUAL = {"slope": 0.0, "rise": 0.0, "bumps": 0.0, "gap": 0.0, "tread": 0.15}
DEEP = 0.4  # depth of every trench [m]: more than a leg reaches
_START, _LATER = 0.6, 0.3  # [m] where a course starts, and by how much later at most
# [m] along the trunk: its height is measured over the highest of these points, so a gap does not count
_UNDER = (-0.15, 0.0, 0.15)
_KIND = 1.0 / 16  # by which a level encodes the kind of its course
_EASIER = 0.4  # fraction of the episodes that repeat an easier level
UP, DOWN = 0.8, 0.5  # fractions of the commanded distance
PATHS = tuple(f"ground.{key}" for key in (*_USUAL, "phase", "start"))


@dataclass(frozen=True, eq=False, kw_only=True)
class RoughTask(WalkTask):
    """Walking over a course, seen where the drive has a scan. ``touching``: parts that collide beside the feet."""

    touching: str = "knees,shanks"
    kind: ClassVar[str] = "rough"
    exam_contact: ClassVar[str] = "yielding"
    commands: ClassVar[Mapping[str, tuple[float, float]]] = shipped("rough").commands
    start_draws: ClassVar[int] = 2
    paths: ClassVar[tuple[str, ...]] = PATHS
    levels: ClassVar[int] = LEVELS
    exam_robots: ClassVar[int] = 4 * LEVELS  # robots on courses of each kind
    bench_seconds: ClassVar[float] = 120.0
    bench_all_robots: ClassVar[bool] = False

    # -- how good a policy is, over courses; ``assess`` is of walking on level ground --------------------------------
    def measure(self, policy: Policy, robots: int) -> dict[str, Json]:
        """Return the percentage of robots that master the courses, by kind and level."""
        mastery = evaluate_rough(policy, self.robot, each=max(1, robots // (len(KINDS) * LEVELS)))
        percent = (100 * mastery.success).round().tolist()
        return {"mastered": float(mastery.success.mean()), "percent_by_level": dict(zip(KINDS, percent))}

    def exam(self) -> Callable[[Policy], float]:
        courses = Courses(self.examined, each=self.exam_robots // LEVELS)
        return lambda policy: float(courses.mastered(policy, EXAM_SEED).success.mean())

    def gpu_exam(self, robots: int) -> Exam:
        """Return an exam of robots on each kind of course, that walk forward at 0.4 m/s."""
        each, cells, forward, seconds = max(1, robots // LEVELS), len(KINDS) * LEVELS, 0.4, 10.0
        # rewards do not count in an exam, and a task may have further terms
        task = self.examined
        given = GivenCourse(**{f.name: getattr(task, f.name) for f in fields(task) if f.name != "weights"})

        def mastery(runs: ExamRuns) -> Float[ndarray, "kinds levels"]:
            passed = ~runs.fallen & (runs.x > UP * forward * seconds)
            return passed.reshape(len(KINDS), LEVELS, each).mean(axis=2)

        def numbers(runs: ExamRuns) -> dict[str, Json]:
            percent = (100 * mastery(runs)).round(1).tolist()
            return {"mastered": float(mastery(runs).mean()), "percent_by_level": dict(zip(KINDS, percent))}

        return Exam(
            task=given,
            robots=each * cells,
            seconds=seconds,
            command={"forward": (forward, forward)},
            first=(np.arange(each * cells) // each + 0.5) / cells,
            score=lambda runs: float(mastery(runs).mean()),
            numbers=numbers,
        )

    @property
    def world(self) -> dict[str, Given]:
        return {**super().world, "ground": Course(deep=DEEP)}

    # -- the course --------------------------------------------------------------------------------------------------
    def assign_level(self, level: Scalar, chance: Float[ndarray, "2"]) -> Scalar:
        """Keep the kind of a robot's first course, so that each kind gets harder at its own pace."""
        kind = np.floor(chance[0] * len(KINDS))
        return np.where(level - np.floor(level) > 0.5 * _KIND, level, np.floor(level) + _KIND * (kind + 1.0))

    def terrain(self, level: Scalar, chance: Float[ndarray, "2"]) -> dict[str, Scalar]:
        """Return a course, mostly of the robot's level; now and then an easier one, so that it is not forgotten."""
        whole = np.floor(level)
        played = np.where(chance[0] < _EASIER, np.floor(chance[0] / _EASIER * (whole + 1.0)), whole)
        return course_of((level - whole) / _KIND - 1.0, played, np.floor(64.0 * chance[1]))

    def next_level(self, level: Scalar, travelled: Scalar, commanded: Scalar, fallen: Scalar, score: Scalar) -> Scalar:
        up = (travelled > UP * commanded) & (fallen < 0.5)
        down = (travelled < DOWN * commanded) | (fallen > 0.5)
        whole = np.floor(level)
        return level - whole + np.clip(whole + np.where(up, 1.0, np.where(down, -1.0, 0.0)), 0.0, LEVELS - 1.0)

    def ground_height(self, x: Scalar, parameters: Parameters) -> Scalar:
        """Return the height of a robot's course at a point [m]."""
        return _course(parameters).height(x)

    def trunk_height(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Scalar:
        under = [self.ground_height(q[0] + x, parameters) for x in _UNDER]
        return q[2] - np.maximum(np.maximum(under[0], under[1]), under[2])

    def foot_heights(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "nf"]:
        feet = foot_positions(self.robot, q)
        under = np.stack([self.ground_height(feet[k, 0], parameters) for k in range(len(self.robot.feet))])
        return feet[:, 2] - np.array([foot.radius for foot in self.robot.feet]) - under

    def scan_heights(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "k"] | tuple[()]:
        """Return heights of the course at the points of the drive's scan."""
        return self.heights(q, parameters, self.drive.scan) if self.drive.scan else ()

    def heights_around(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "k"]:
        return self.heights(q, parameters, SCAN)

    def heights(self, q: Float[ndarray, "nq"], parameters: Parameters, places: ScanPoints) -> Float[ndarray, "k"]:
        """Return heights of the course at points around the robot."""
        return relative_heights(
            self.robot, q, np.stack([self.ground_height(x, parameters) for x, _ in scan_points_world(q, places)])
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class GivenCourse(RoughTask):
    """A task whose first draw selects the course, by kind and level, for exams."""

    def assign_level(self, level: Scalar, chance: Float[ndarray, "2"]) -> Scalar:
        cell = np.floor(chance[0] * (len(KINDS) * LEVELS))
        kind = np.floor(cell / LEVELS)
        return cell - LEVELS * kind + _KIND * (kind + 1.0)

    def terrain(self, level: Scalar, chance: Float[ndarray, "2"]) -> dict[str, Scalar]:
        whole = np.floor(level)
        return course_of((level - whole) / _KIND - 1.0, whole, np.floor(64.0 * chance[1]))

    def next_level(self, level: Scalar, travelled: Scalar, commanded: Scalar, fallen: Scalar, score: Scalar) -> Scalar:
        return level


def course_of(kind: Scalar, level: Scalar, phase: Scalar) -> dict[str, Scalar]:
    """Return the parameters of a course of a kind (its index in ``KINDS``) and a level, for one robot or for many.

    phase, from 0 to 63: selects the heights of its bumps, and its start.
    """
    part = level / (LEVELS - 1.0)
    found = {key: usual + 0.0 * part for key, usual in _USUAL.items()}
    for k, ranges in enumerate(KINDS.values()):
        for key, (first, last) in ranges.items():
            found[key] = np.where(np.abs(kind - k) < 0.5, first + (last - first) * part, found[key])
    found |= {"phase": phase + 0.0 * part, "start": _START + _LATER * phase / 64.0 + 0.0 * part}
    return {f"ground.{key}": value for key, value in found.items()}


def _course(parameters: Parameters) -> Course:
    """Return the course of a robot; its numbers may be traced, and are not checked."""
    course = object.__new__(Course)
    given = {path.partition(".")[2]: value for path, value in parameters.items() if path.startswith("ground.")}
    for key, value in {**vars(Course(deep=DEEP)), **given}.items():
        object.__setattr__(course, key, value)
    return course


@dataclass(frozen=True)
class Mastery:
    """The fraction of robots that mastered a course: walked ``UP`` of the commanded distance without falling."""

    success: Float[ndarray, "kinds levels"]

    def table(self) -> str:
        """Return percent, a row for each kind, levels from the first to the last."""
        head = "kind        " + "".join(f"{level + 1:>5}" for level in range(self.success.shape[1]))
        rows = [f"{kind:<12}" + "".join(f"{100 * x:5.0f}" for x in row) for kind, row in zip(KINDS, self.success)]
        return "\n".join([head, *rows])


class Courses:
    """Robots on every level of every kind of course, ``each`` on a cell, that walk forward at one speed [m/s]."""

    def __init__(
        self,
        task: RoughTask,
        *,
        each: int = 16,
        forward: float = 0.4,
        seconds: float = 10.0,
        randomise: Given = True,
        **options: Any,
    ) -> None:
        self.each, self.way = each, forward * seconds
        self.lanes = WalkLanes(
            task,
            each * len(KINDS) * LEVELS,
            command={"forward": forward},
            randomise=randomise,
            seconds=seconds,
            **options,
        )

    def mastered(self, policy: Policy, seed: int) -> Mastery:
        """Return the fraction that walks far enough, without action noise."""
        lanes, n = self.lanes, self.lanes.n
        lanes.generators = own_generators(seed, n)
        lanes.age[:] = 0
        lanes.begin(range(n))
        kind, level = np.divmod(np.arange(n) // self.each, LEVELS)
        lanes.level[:] = level
        lanes.batch.set(course_of(kind.astype(float), level.astype(float), np.arange(n) % 64.0))
        fallen, observation = np.zeros(n, dtype=bool), lanes.observe(lanes.look(slice(None)).observation)
        for _ in range(lanes.limit):
            result = lanes.tick(policy.action(observation)).result
            observation, fallen = lanes.observe(result.observation), fallen | (result.fallen > 0.5)
        mastered = ~fallen & (lanes.batch.q[:, 0] > UP * self.way)
        return Mastery(mastered.reshape(len(KINDS), LEVELS, self.each).mean(axis=2))


def evaluate_rough(policy: Policy, robot: Robot, *, seed: int = 1_000_000, **options: Any) -> Mastery:
    """Evaluate robots on every level of every kind, of unseen seeds; options as for ``Courses``."""
    policy.check_fits(robot)
    return Courses(RoughTask(robot=robot, drive=policy.drive).examined, **options).mastered(policy, seed)


HISTORY = shipped("rough_blind").drive["history"]  # number of observations that it sees


@dataclass(frozen=True, eq=False, kw_only=True)
class BlindTask(RoughTask):
    """Walking over an unseen course: ``task_files/rough_blind.toml`` unless ``spec`` is given."""

    kind: ClassVar[str] = "rough_blind"
    commands: ClassVar[Mapping[str, tuple[float, float]]] = shipped("rough_blind").commands


__all__ = [
    "DEEP",
    "HISTORY",
    "KINDS",
    "LEVELS",
    "SCAN",
    "BlindTask",
    "Courses",
    "GivenCourse",
    "Mastery",
    "RoughTask",
    "course_of",
    "evaluate_rough",
]
