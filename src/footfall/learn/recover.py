"""The task ``recover``: stand up from any pose. Trunk, hips and knees touch the ground.

An episode starts with the robot in any orientation, its joints anywhere within their limits, slightly above the ground.
It lasts as long as a robot may take to stand up; only numbers that are not finite end it early. ``evaluate_recovery``
examines a policy in the environment of the training, ``assess_recovery`` also in MuJoCo.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy import ndarray

from footfall.contact.bodies import body_spheres
from footfall.contact.ground import Plane
from footfall.contact.model import ContactModel
from footfall.contact.points import Sphere, spheres_of
from footfall.control.learned.policy import Drive, Policy
from footfall.control.learned.travelled import ImportedPolicy
from footfall.errors import InputError, unknown
from footfall.kinematics.forward import body_poses
from footfall.learn.lanes import WalkLanes, own_generators
from footfall.learn.randomise import Randomisation, within
from footfall.learn.task import (
    ASSESS_SEED,
    ENGINES,
    EXAM_SEED,
    NONE,
    Assessment,
    Exam,
    ExamRuns,
    Parameters,
    Progress,
    TermTask,
)
from footfall.learn.task_spec import TaskSpec, shipped
from footfall.learn.terms import UP_HEIGHT, UP_LEAN
from footfall.mujoco.run import mujoco_model, run_mujoco
from footfall.robot.model.description import Robot
from footfall.sim.batch import checked_count
from footfall.sim.simulation import Simulation
from footfall.spatial.gravity import STANDARD
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Given, Json, Scalar
from nptrace.array_types import Bool, Float

WEIGHTS = shipped("recover").weights
WITHIN = 4.0  # [s] within which a robot must be up
_OVER = 0.02  # [m] above the ground where an episode starts
_WIDE = 1.5  # [rad] from standing, for a joint without limits


@dataclass(frozen=True, eq=False, kw_only=True)
class RecoverTask(TermTask):
    """A robot, its drive, and the rewards for standing up: ``task_files/recover.toml`` unless ``spec`` is given.

    touching: its links that collide (``contact.bodies``). any_pose: the fraction of the episodes that start in any
    pose; the others start the further from standing the higher a robot's level, which increases when it ends an episode
    up and decreases otherwise: so the value of standing is learned early.
    """

    drive: Drive = field(default_factory=lambda: Drive(reach=shipped("recover").drive["reach"]))
    touching: str = "trunk,hips,knees"
    any_pose: float = 0.5
    kind: ClassVar[str] = "recover"
    exam_contact: ClassVar[str] = "yielding"
    doing: ClassVar[str] = "getting up"
    commands: ClassVar[Mapping[str, tuple[float, float]]] = shipped("recover").commands
    start_draws: ClassVar[int] = 4
    levels: ClassVar[int] = 10
    walks: ClassVar[bool] = False
    exam_robots: ClassVar[int] = 200
    bench_seconds: ClassVar[float] = 30.0

    @classmethod
    def of(cls, robot: Robot, *, spec: TaskSpec | None = None, **options: Any) -> Self:
        """Return the task with gains that support the robot, tuned or scaled."""
        return super().of(robot, spec=spec, **({} if spec is None else {"any_pose": spec.any_pose}), **options)

    # -- how good a policy is ----------------------------------------------------------------------------------------
    def assess(
        self,
        policy: Policy | ImportedPolicy,
        *,
        engine: str = "footfall",
        robots: int = 100,
        seconds: float | None = None,
        seed: int = ASSESS_SEED,
        progress: Progress | None = None,
    ) -> Assessment:
        """Let robots stand up within 4 s unless given, from any orientation."""
        if not isinstance(policy, Policy):
            raise InputError(
                "the policy does not have the observations and actions of footfall's task recover: see footfall"
                " policy check"
            )
        seconds = WITHIN if seconds is None else seconds
        up = assess_recovery(
            policy, self.robot, engine=engine, robots=robots, seconds=seconds, seed=seed, progress=progress
        )
        words = f"{robots} robots that differ, turned any way, in {engine}: {100 * up:.1f} % up after {seconds:g} s"
        return Assessment(up >= 1.0 - MOST_DOWN, seconds, {"up": up}, words)

    def measure(self, policy: Policy, robots: int) -> dict[str, Json]:
        return {"up_within_4s": evaluate_recovery(policy, self.robot, robots=robots).part}

    def exam(self) -> Callable[[Policy], float]:
        return lambda policy: evaluate_recovery(policy, self.robot, robots=self.exam_robots, seed=EXAM_SEED).part

    def gpu_exam(self, robots: int) -> Exam:
        """Return an exam of robots in any pose that must be up after 4 s."""
        task = self.examined
        given = {**{f.name: getattr(task, f.name) for f in fields(task)}, "any_pose": 1.0}

        def part(runs: ExamRuns) -> float:
            return float((runs.score > 0.5).mean())

        return Exam(
            task=_AnyPose(**given),
            robots=robots,
            seconds=WITHIN,
            score=part,
            numbers=lambda runs: {"up_within_4s": part(runs)},
        )

    @property
    def world(self) -> dict[str, Given]:
        return {**super().world, "stop_on_fall": False}

    @cached_property
    def spheres(self) -> tuple[Sphere, ...]:
        """Return all contact spheres, the feet first, as in its simulation."""
        return spheres_of(self.robot, body_spheres(self.robot, self.touching))

    @cached_property
    def limits(self) -> tuple[Float[ndarray, "nj"], Float[ndarray, "nj"]]:
        """Return the range in which joints start [rad]."""
        stand = self.robot.poses["stand"].joints
        joints = [body.joint for body in self.robot.tree.bodies[1:] if body.joint is not None]
        low, high = np.array([j.lower for j in joints]), np.array([j.upper for j in joints])
        return np.maximum(low, stand - _WIDE), np.minimum(high, stand + _WIDE)

    def initial_pose(
        self,
        q: Float[ndarray, "nq"],
        ranges: Randomisation,
        joints: Float[ndarray, "nj"],
        chance: Float[ndarray, "4"],
        parameters: Parameters = NONE,
        level: Scalar = 0.0,
    ) -> Float[ndarray, "nq"]:
        """Return a pose in a limited or any orientation, its lowest point just above the ground."""
        low, high = self.limits
        joints = low + (high - low) * joints
        about, tilt, turn = chance[0], 2.0 * np.pi * chance[1], 2.0 * np.pi * chance[2]
        a, b = np.sqrt(1.0 - about), np.sqrt(about)  # any orientation, Shoemake 1992
        quat = np.stack([a * np.sin(tilt), a * np.cos(tilt), b * np.sin(turn), b * np.cos(turn)])
        far = (level + 1.0) / self.levels
        lean = 0.5 * np.pi * far * about
        axis = np.stack([np.sin(lean) * np.cos(tilt), np.sin(lean) * np.sin(tilt)])
        near = np.concatenate([np.stack([np.cos(lean)]), axis, np.zeros(1)])
        bent = self.robot.poses["stand"].joints * (1.0 - far) + far * joints
        easy = chance[3] >= self.any_pose
        quat, joints = np.where(easy, near, quat), np.where(easy, bent, joints)
        turned = np.concatenate([q[:3], quat, joints])
        poses = body_poses(self.robot, turned)
        lowest = poses[self.spheres[0].body].point(self.spheres[0].center)[2] - self.spheres[0].radius
        for sphere in self.spheres[1:]:
            lowest = np.minimum(lowest, poses[sphere.body].point(sphere.center)[2] - sphere.radius)
        return turned + np.concatenate([np.zeros(2), np.stack([_OVER - lowest]), np.zeros(self.robot.nq - 3)])

    def next_level(self, level: Scalar, travelled: Scalar, commanded: Scalar, fallen: Scalar, score: Scalar) -> Scalar:
        return np.clip(level + np.where(score > 0.5, 1.0, -0.5), 0.0, self.levels - 1.0)


class _AnyPose(RecoverTask):
    """Standing up, scored by the last tick alone."""

    levels: ClassVar[int] = 1


@dataclass(frozen=True)
class Recovery:
    """The recoveries of robots, one entry per robot."""

    up: Bool[ndarray, "n"]  # at the end
    seconds: Float[ndarray, "n"]  # after which a robot was up and stayed up; infinite otherwise
    lean: Float[ndarray, "n"]  # initial lean [rad]

    @property
    def part(self) -> float:
        return float(self.up.mean())


def evaluate_recovery(
    policy: Policy,
    robot: Robot,
    *,
    robots: int = 1000,
    seconds: float = WITHIN,
    randomise: Given = True,
    seed: int = 1_000_000,
    contact: ContactModel | str | None = None,
    **options: Any,
) -> Recovery:
    """Evaluate different robots from any pose, without noise: which are up after some seconds, and since when.

    contact: a model that may differ from that of the training.
    """
    if seconds * policy.rate < 1:
        raise InputError(f"getting up takes at least one tick, got {seconds} s")
    task = RecoverTask(robot=robot, drive=policy.drive, contact=contact, any_pose=1.0).examined
    lanes = WalkLanes(task, robots, randomise=randomise, seconds=seconds + 1.0, **options)
    lanes.generators = own_generators(seed, robots)
    lanes.begin(range(robots))
    x, y = lanes.batch.q[:, 4], lanes.batch.q[:, 5]
    lean = np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0))
    observation, rows = lanes.observe(lanes.look(slice(None)).observation), []
    for _ in range(round(seconds * policy.rate)):
        result = lanes.tick(policy.action(observation)).result
        observation = lanes.observe(result.observation)
        rows.append(lanes.ended > 0.5)
    was_up = np.array(rows)
    since = np.cumprod(was_up[::-1], axis=0).sum(axis=0)  # ticks at the end during which it was up throughout
    times = np.where(was_up[-1], (len(was_up) - since + 1) / policy.rate, np.inf)
    return Recovery(was_up[-1], times, lean)


MOST_DOWN = 0.05
_BORNE = 0.9  # fraction of the weight on the feet of a robot that is up
_LAST = 10  # ticks at the end over which that is averaged


def assess_recovery(
    policy: Policy,
    robot: Robot,
    *,
    engine: str = "footfall",
    robots: int = 100,
    seconds: float = WITHIN,
    seed: int = ASSESS_SEED,
    progress: Callable[[str, int, int], None] | None = None,
) -> float:
    """Return the fraction of the robots that are up after some seconds, from any pose."""
    if engine not in ENGINES:
        raise unknown("simulator", engine, ENGINES)
    if engine == "footfall":
        return evaluate_recovery(policy, robot, robots=checked_count(robots), seconds=seconds, seed=seed).part
    task = RecoverTask(robot=robot, drive=policy.drive, any_pose=True).examined
    up = []
    for k, rng in enumerate(own_generators(seed, checked_count(robots))):
        if progress is not None:
            progress("in MuJoCo", k, robots)
        up.append(_gets_up(task, policy, seconds, rng))
    return float(np.mean(up))


def _gets_up(task: RecoverTask, policy: Policy, seconds: float, rng: np.random.Generator) -> bool:
    """Evaluate one robot in MuJoCo, with MuJoCo's contact."""
    ranges, robot, trunk = Randomisation(), task.robot, f"{task.robot.trunk}.mass"
    heavier = robot.with_parameters({trunk: within(ranges.mass, rng.random()) * robot.parameter(trunk)})
    q, v = robot.state("stand")
    start: Given = (task.initial_pose(q, ranges, rng.random(robot.nj), rng.random(4)), v)
    simulation = Simulation(
        heavier,
        policy,
        ground=Plane(friction=within(ranges.friction, rng.random())),
        dt=task.dt,
        start=start,
        collisions=task.touching,
        stop_on_fall=False,
        compile_controller=False,
    )
    rec = run_mujoco(simulation, seconds, mujoco_model(simulation, contact={}))
    q, stand = rec.q[-1], robot.poses["stand"]
    borne = rec.force[-_LAST:, :, 2].sum(axis=1).mean() / (heavier.mass * STANDARD)
    upright = to_rotation(q[3:7])[2, 2] > np.cos(np.radians(UP_LEAN))
    return bool(upright and q[2] > UP_HEIGHT * stand.height and borne > _BORNE)


__all__ = ["UP_HEIGHT", "UP_LEAN", "WEIGHTS", "WITHIN", "RecoverTask", "Recovery", "evaluate_recovery"]
