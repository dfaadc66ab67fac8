"""The task ``rough``: walk forward over slopes, rough ground, steps, stairs, stepping stones and gaps, of ten levels.

Every robot has a course of its own (``contact.course``). One that walks most of the commanded way goes up a level,
one that comes less than half as far, or falls, goes down one (Rudin et al. 2022). A policy may see the ground around it
(``scan``), or be blind; a blind one observes what a walking one does, and runs wherever that runs.

The task ``rough_blind`` is the same courses by a policy that does not see them. It feels its way by what it saw just
before (Lee et al. 2020). The critic, which no robot carries, is given what the policy must guess: the ground around it,
its velocity, what touches, and what was drawn for it (Pinto et al. 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.course import Course
from footfall.control.interface import Command
from footfall.control.learned.policy import Policy
from footfall.control.learned.scan import ScanPoints, relative_heights, scan_points_world
from footfall.gait.pattern import Gait, trot
from footfall.kinematics.forward import foot_positions
from footfall.learn.lanes import WalkLanes, own_generators
from footfall.learn.randomise import Randomisation
from footfall.learn.task import (
    EXAM_SEED,
    NONE,
    Exam,
    ExamRuns,
    Parameters,
    Size,
    TickResult,
    check_stands,
    drive_of,
    heading_velocity,
    yielding,
)
from footfall.learn.walk import WEIGHTS, WalkTask
from footfall.robot.model.description import Robot
from footfall.sim.tick import RunState
from footfall.spatial.gravity import STANDARD
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Given, Json, Scalar

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
UP, DOWN = 0.8, 0.5  # fractions of the commanded way
PATHS = tuple(f"ground.{key}" for key in (*_USUAL, "phase", "start"))


@dataclass(frozen=True, eq=False, kw_only=True)
class RoughTask(WalkTask):
    """Walking over a course, seen where the drive has a scan. ``touching``: parts that collide beside the feet."""

    touching: str = "knees,shanks"
    seconds: ClassVar[float] = 10.0  # as long as those by which a policy is evaluated
    commands: ClassVar[Mapping[str, tuple[float, float]]] = {
        "forward": (0.3, 0.6),
        "sideways": (0.0, 0.0),
        "turn": (0.0, 0.0),
    }
    swing: ClassVar[float] = 0.08
    start_draws: ClassVar[int] = 2
    paths: ClassVar[tuple[str, ...]] = PATHS
    levels: ClassVar[int] = LEVELS
    default_weights: ClassVar[Mapping[str, float]] = {
        **WEIGHTS,
        "height": -8.0,
        "posture": -0.1,
        "bounce": -0.5,
        "footing": -2.0,  # part of the feet that stand on an edge
    }
    settings: ClassVar[Mapping[str, Given]] = {"hidden": (128, 128)}
    exam_robots: ClassVar[int] = 4 * LEVELS  # on courses of each kind
    bench_seconds: ClassVar[float] = 120.0
    bench_all_robots: ClassVar[bool] = False

    # -- how good a policy is, over courses; ``assess`` is of walking on level ground --------------------------------
    def measure(self, policy: Policy, robots: int) -> dict[str, Json]:
        """Return which part of so many robots master the courses, in percent by kind and level."""
        mastery = evaluate_rough(policy, self.robot, each=max(1, robots // (len(KINDS) * LEVELS)))
        percent = (100 * mastery.success).round().tolist()
        return {"mastered": float(mastery.success.mean()), "percent_by_level": dict(zip(KINDS, percent))}

    def exam(self) -> Callable[[Policy], float]:
        courses = Courses(self, each=self.exam_robots // LEVELS)
        return lambda policy: float(courses.mastered(policy, EXAM_SEED).success.mean())

    def gpu_exam(self, robots: int) -> Exam:
        """Return an exam of robots on each kind of course, that walk forward at 0.4 m/s."""
        each, cells, forward, seconds = max(1, robots // LEVELS), len(KINDS) * LEVELS, 0.4, 10.0
        # what is earned does not count in an exam, and a task may know more terms
        given = GivenCourse(**{f.name: getattr(self, f.name) for f in fields(self) if f.name != "weights"})

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

    @classmethod
    def of(cls, robot: Robot, **options: Any) -> Self:
        """Return the task with gains that are known to carry the robot, or that scale with it."""
        check_stands(robot, "walking")
        return cls(robot=robot, drive=drive_of(robot, gait=long_strides(robot), reach=0.8, scan=SCAN), **options)

    @property
    def default_randomisation(self) -> Randomisation:
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
    def assign_level(self, level: Scalar, chance: Float[ndarray, "2"]) -> Scalar:
        """Keep the kind of a robot's first course, so that each kind gets harder at its own pace."""
        kind = np.floor(chance[0] * len(KINDS))
        return np.where(level - np.floor(level) > 0.5 * _KIND, level, np.floor(level) + _KIND * (kind + 1.0))

    def terrain(self, level: Scalar, chance: Float[ndarray, "2"]) -> dict[str, Scalar]:
        """Return a course, mostly of the robot's level; now and then an easier one, which would be forgotten."""
        whole = np.floor(level)
        played = np.where(chance[0] < _EASIER, np.floor(chance[0] / _EASIER * (whole + 1.0)), whole)
        return course_of((level - whole) / _KIND - 1.0, played, np.floor(64.0 * chance[1]))

    def next_level(self, level: Scalar, travelled: Scalar, commanded: Scalar, fallen: Scalar, score: Scalar) -> Scalar:
        up = (travelled > UP * commanded) & (fallen < 0.5)
        down = (travelled < DOWN * commanded) | (fallen > 0.5)
        whole = np.floor(level)
        return level - whole + np.clip(whole + np.where(up, 1.0, np.where(down, -1.0, 0.0)), 0.0, LEVELS - 1.0)

    def ground_height(self, x: Scalar, parameters: Parameters) -> Scalar:
        """Return the height of a robot's own course at a point [m]."""
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
        """Return which feet stand where the ground drops beside them: next to a trench, on the edge of a stair."""
        feet, on_edge = foot_positions(self.robot, q), []
        for k, foot in enumerate(self.robot.feet):
            behind, ahead = (self.ground_height(feet[k, 0] + x, parameters) for x in (-_BESIDE, _BESIDE))
            on_edge.append(np.where(feet[k, 2] - foot.radius - np.minimum(behind, ahead) > _VOID, contact[k], 0.0))
        return {"footing": sum(on_edge) / len(on_edge)}

    def scan_heights(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "k"] | tuple[()]:
        """Return heights of the course where the drive has its scan."""
        return self.heights(q, parameters, self.drive.scan) if self.drive.scan else ()

    def heights(self, q: Float[ndarray, "nq"], parameters: Parameters, places: ScanPoints) -> Float[ndarray, "k"]:
        """Return heights of the course at places around the robot."""
        return relative_heights(
            self.robot, q, np.stack([self.ground_height(x, parameters) for x, _ in scan_points_world(q, places)])
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class GivenCourse(RoughTask):
    """Whose first draw says which course it is, kind by kind and level by level: for exams."""

    def assign_level(self, level: Scalar, chance: Float[ndarray, "2"]) -> Scalar:
        cell = np.floor(chance[0] * (len(KINDS) * LEVELS))
        kind = np.floor(cell / LEVELS)
        return cell - LEVELS * kind + _KIND * (kind + 1.0)

    def terrain(self, level: Scalar, chance: Float[ndarray, "2"]) -> dict[str, Scalar]:
        whole = np.floor(level)
        return course_of((level - whole) / _KIND - 1.0, whole, np.floor(64.0 * chance[1]))

    def next_level(self, level: Scalar, travelled: Scalar, commanded: Scalar, fallen: Scalar, score: Scalar) -> Scalar:
        return level


def long_strides(robot: Robot) -> Gait:
    """Return a slower trot than that of level ground: a stride is longer than a trench of 15 cm at 0.4 m/s."""
    return trot(period=0.5 * Size.of(robot).time, duty=0.55)


def course_of(kind: Scalar, level: Scalar, phase: Scalar) -> dict[str, Scalar]:
    """Return the parameters of a course of a kind (its place in ``KINDS``) and a level; for one robot or for many.

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
    """Return the course of a robot; its numbers may be traced, and are not checked."""
    course = object.__new__(Course)
    given = {path.partition(".")[2]: value for path, value in parameters.items() if path.startswith("ground.")}
    for key, value in {**vars(Course(deep=DEEP)), **given}.items():
        object.__setattr__(course, key, value)
    return course


@dataclass(frozen=True)
class Mastery:
    """Return the fraction of robots that mastered a course: walked ``UP`` of the commanded way, and did not fall."""

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
        """Return the fraction that comes far enough, without noise of actions."""
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
    return Courses(RoughTask(robot=robot, drive=policy.drive), **options).mastered(policy, seed)


HISTORY = 3  # observations that it sees
_COURSE = ("friction", "slope", "rise", "bumps", "gap", "tread")
_SLOW = 0.1  # [m/s] of a Mini Cheetah: under which a command is no measure of the way
_FASTEST = 10.0  # velocity that is given [m/s]
_STRONGEST = 5.0  # force that is given [weights of the robot]


@dataclass(frozen=True, eq=False, kw_only=True)
class BlindTask(RoughTask):
    """Walking over a course that is measured under the feet.

    A velocity is followed in the heading's axes, and a robot that feels a stair earns as much by turning and walking
    along it: so coming on is worth something too, along the course.
    """

    default_weights: ClassVar[Mapping[str, float]] = {
        **RoughTask.default_weights,
        "way": 1.5,  # velocity along the course, as a fraction of the command, at most 1
    }
    settings: ClassVar[Mapping[str, Given]] = {"hidden": (256, 128), "activation": "elu"}

    @classmethod
    def of(cls, robot: Robot, **options: Any) -> Self:
        """Return the task with gains that are known to carry the robot, or that scale with it."""
        check_stands(robot, "walking")
        drive = drive_of(robot, gait=long_strides(robot), reach=0.8, history=HISTORY)
        return cls(robot=robot, drive=drive, **options)

    def evaluate_tick(self, state: RunState, command: Command, parameters: Parameters = NONE) -> TickResult:
        found = super().evaluate_tick(state, command, parameters)
        along = to_rotation(state.q[3:7])[0] @ state.v[3:6]
        part = np.clip(along / np.maximum(command.forward, _SLOW * self.size.speed), -1.0, 1.0)
        way = self.weights["way"] * part / self.drive.rate
        return replace(found, terms={**found.terms, "way": way}, reward=found.reward + way)

    @property
    def privileged_count(self) -> int:
        return len(SCAN) + 3 + 3 * self.robot.nf + 1 + len(_COURSE) + 4

    def privileged(self, state: RunState, command: Command, parameters: Parameters) -> Float[ndarray, "k"]:
        """Return heights of the ground around the robot, and what else the critic is given.

        That is its velocity; of every foot the push of a riser, whether it is down and how high it is; what other links
        bear; the course; and the mass of the trunk, the delay and the gains.
        """
        robot, memory = self.robot, state.memory
        R, feet, weight = to_rotation(state.q[3:7]), state.forces[: robot.nf], robot.mass * STANDARD
        speed = np.stack([*heading_velocity(R, state.v)[:2], R[2] @ state.v[3:6]])
        others = np.sum(np.abs(state.forces[robot.nf :])) / weight
        drawn = [parameters[f"ground.{key}"] for key in _COURSE] + [parameters[f"{robot.trunk}.mass"], memory["delay"]]
        return np.concatenate(
            [
                self.heights(state.q, parameters, SCAN),
                np.clip(speed, -_FASTEST, _FASTEST),
                np.clip(feet[:, 0] / weight, -_STRONGEST, _STRONGEST),
                np.where(feet[:, 2] > 1.0, 1.0, 0.0),
                np.clip(self.foot_heights(state.q, parameters), -1.0, 1.0),
                np.stack([np.minimum(others, _STRONGEST), *drawn]),
                memory["gains"],
            ]
        )


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
