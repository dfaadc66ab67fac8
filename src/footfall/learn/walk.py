"""The task ``walk`` of ``footfall/Walk-v0``: follow a velocity on flat ground; and how well a policy walks.

``evaluate`` runs many different robots with one command in the environment of the training. ``assess`` is independent
of the training code, in footfall or in MuJoCo. There every robot draws its command, friction, trunk mass, joint offsets
and pushes from the ranges of the training, with seeds that no training uses; in MuJoCo the exported model is used, with
MuJoCo's contact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.contact.ground import Ground, Plane, as_ground
from footfall.contact.terrain import named
from footfall.control.interface import Command
from footfall.control.learned.policy import Policy
from footfall.control.learned.scan import heights_seen
from footfall.control.learned.travelled import ImportedPolicy
from footfall.errors import InputError, unknown
from footfall.gait.pattern import LEGS
from footfall.kinematics.forward import foot_positions
from footfall.learn.episode import COMMANDS
from footfall.learn.lanes import WalkLanes, own_generators
from footfall.learn.randomise import Randomisation, Range, within
from footfall.learn.task import (
    ASSESS_SEED,
    ENGINES,
    NONE,
    SCAN,
    Assessment,
    Exam,
    ExamRuns,
    Parameters,
    Progress,
    TermTask,
    tried,
)
from footfall.learn.task_spec import COURSE, PLANE, shipped
from footfall.learn.terms import heading_velocity
from footfall.mujoco.run import mujoco_model, run_mujoco
from footfall.robot.model.description import Robot
from footfall.sim.batch import Batch, checked_count
from footfall.sim.pushes import Push
from footfall.sim.simulation import Simulation
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Given, Json, Scalar
from nptrace.array_types import Bool, Float

WEIGHTS = shipped("walk").weights
COMMAND_RANGES = shipped("walk").commands


@dataclass(frozen=True, eq=False, kw_only=True)
class WalkTask(TermTask):
    """The task of following a velocity command, on any ground: ``task_files/walk.toml`` unless ``spec`` is given.
    ``weights`` override those of the file.

    dt: physics step [s].
    """

    kind: ClassVar[str] = "walk"
    commands: ClassVar[Mapping[str, tuple[float, float]]] = COMMAND_RANGES
    bench_seconds: ClassVar[float] = 5.0
    bench_all_robots: ClassVar[bool] = True

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
        """Run robots on level ground (default 10 s), each with its own command."""
        seconds = 10.0 if seconds is None else seconds
        if seconds < 2.0:
            raise InputError(f"a policy is evaluated over at least 2 s, got {seconds:g}")
        policy.start(self.robot)
        done = assess(policy, self.robot, engine=engine, robots=robots, seconds=seconds, seed=seed, progress=progress)
        fallen, error = float(done.fallen.mean()), done.tracking_error
        words = (
            f"{robots} robots that differ, a command each, {seconds:g} s in {engine}: {100 * fallen:.1f} % fell; the"
            f" mean error of the others' speed is {error:.3f} m/s"
        )
        return Assessment(
            done.ok, seconds, {"fallen": fallen, "tracking_error": error if fallen < 1.0 else None}, words
        )

    def measure(self, policy: Policy, robots: int) -> dict[str, Json]:
        done = assess(policy, self.robot, robots=robots)
        return _walking(done.fallen, done.tracking_error)

    def gpu_exam(self, robots: int) -> Exam:
        def numbers(runs: ExamRuns) -> dict[str, Json]:
            off = np.linalg.norm(runs.velocity[:, :2] - runs.command[:, :2], axis=1)[~runs.fallen]
            return _walking(runs.fallen, float(off.mean()) if len(off) else float("inf"))

        return Exam(task=self.examined, robots=robots, seconds=10.0, numbers=numbers)

    def initial_pose(
        self,
        q: Float[ndarray, "nq"],
        ranges: Randomisation,
        joints: Float[ndarray, "nj"],
        chance: ndarray,
        parameters: Parameters = NONE,
        level: Scalar = 0.0,
    ) -> Float[ndarray, "nq"]:
        """Return a standing pose with small random joint offsets and the lowest foot on the ground."""
        robot = self.robot
        q = q + np.concatenate([np.zeros(robot.nq - robot.nj), within(ranges.joints, joints)])
        lowest = least(self.foot_heights(q, parameters))
        return q - np.concatenate([np.zeros(2), np.stack([lowest]), np.zeros(robot.nq - 3)])

    # -- the ground ----------------------------------------------------------------------------------------------------
    @cached_property
    def ground(self) -> Ground | None:
        """Return the ground that the task names; None for level ground."""
        table = self.table
        if table.own_terrain is not None:
            return as_ground(tried(f"the terrain of the task '{table.name}'", table.own_terrain))
        return None if table.terrain in (PLANE, COURSE) else named(table.terrain)

    @property
    def world(self) -> dict[str, Given]:
        options = super().world
        return options if self.ground is None else {**options, "ground": self.ground}

    def trunk_height(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Scalar:
        return super().trunk_height(q, parameters) if self.ground is None else self.ground.distance(q[:3])

    def foot_heights(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "nf"]:
        if self.ground is None:
            return super().foot_heights(q, parameters)
        feet = foot_positions(self.robot, q)
        return np.stack([self.ground.distance(feet[k]) - foot.radius for k, foot in enumerate(self.robot.feet)])

    def scan_heights(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "k"] | tuple[()]:
        if self.ground is None or not self.drive.scan:
            return super().scan_heights(q, parameters)
        return heights_seen(self.robot, self.ground, q, self.drive.scan)

    def heights_around(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "k"]:
        if self.ground is None:
            return super().heights_around(q, parameters)
        return heights_seen(self.robot, self.ground, q, SCAN)


def _walking(fallen: Bool[ndarray, "n"], error: float) -> dict[str, Json]:
    """Return the figures that benchmarks report for walking."""
    share = float(fallen.mean())
    return {"fallen": share, "tracking_error": error, "ok": share <= MOST_FALLEN and error <= TRACKING}


def lowest_foot(robot: Robot, q: Float[ndarray, "nq"]) -> Scalar:
    """Return the height of the lowest foot over flat ground [m]; negative below the surface."""
    return least(foot_positions(robot, q)[:, 2] - np.array([foot.radius for foot in robot.feet]))


def least(heights: Float[ndarray, "4"]) -> Scalar:
    return np.minimum(np.minimum(heights[0], heights[1]), np.minimum(heights[2], heights[3]))


@dataclass(frozen=True)
class Evaluation:
    """The walks of robots, one entry per robot."""

    velocity: Float[ndarray, "n 3"]  # mean forward, sideways [m/s] and turn [rad/s] in the heading's axes
    fallen: Bool[ndarray, "n"]
    delays: Float[ndarray, "n 4"]  # mean touchdown phases relative to LF's [cycles], in [-0.5, 0.5), LF, RF, LH, RH
    duty: Float[ndarray, "n 4"]  # fraction of the time that a foot is in contact
    drawn: dict[str, ndarray]  # friction, mass, ... of each robot

    def within(self, speed: float, part: float = 0.15) -> float:
        """Return the fraction of robots that walked without falling at a speed [m/s], within a relative tolerance."""
        good = ~self.fallen & (np.abs(self.velocity[:, 0] - speed) <= part * abs(speed))
        return float(good.mean())

    def trots(self, slack: float = 0.1) -> Bool[ndarray, "n"]:
        """Return which robots trot: diagonal feet land together, the pairs half a cycle apart, within ``slack``
        cycles.
        """
        off = self.delays - np.array([0.0, 0.5, 0.5, 0.0])
        return np.asarray((np.abs(off - np.round(off)) <= slack).all(axis=1))


def evaluate(
    policy: Policy,
    robot: Robot,
    command: Command | None = None,
    *,
    robots: int = 256,
    seconds: float = 10.0,
    after: float = 1.0,
    randomise: Given = True,
    seed: int = 1_000_000,
    **options: Any,
) -> Evaluation:
    """Walk for some seconds under one command; everything before ``after`` [s] except falls is ignored."""
    command = command or Command(forward=0.4)
    commands = {key: getattr(command, key) for key in COMMANDS}
    task = WalkTask(robot=robot, drive=policy.drive).examined
    lanes = WalkLanes(task, robots, command=commands, randomise=randomise, seconds=after + seconds, **options)
    lanes.generators = own_generators(seed, robots)
    lanes.begin(range(robots))
    drawn = lanes.episode(slice(None))
    fallen = np.zeros(robots, dtype=bool)
    velocities, contacts = [], []
    observation, skipped = lanes.observe(lanes.look(slice(None)).observation), round(after * policy.rate)
    for k in range(lanes.limit):
        result = lanes.tick(policy.action(observation)).result
        observation = lanes.observe(result.observation)
        fallen |= result.fallen > 0.5
        if k >= skipped:
            velocities.append(result.velocity)
            contacts.append(result.contact > 0.5)
    down = np.stack(contacts)
    cycle = policy.drive.gait.period * policy.rate
    return Evaluation(np.mean(velocities, axis=0), fallen, _delays(down, cycle), down.mean(axis=0), drawn)


def _delays(down: Bool[ndarray, "ticks n 4"], cycle: float) -> Float[ndarray, "n 4"]:
    """Return mean phases of the touchdowns relative to LF's; NaN for a foot that never lands."""
    landed = down[1:] & ~down[:-1]
    turns = np.exp(2j * np.pi * np.arange(1, len(down)) / cycle)
    phasor = np.einsum("t,tnf->nf", turns, landed.astype(complex))
    phasor = np.where(landed.any(axis=0), phasor, np.nan)
    lead = phasor[:, LEGS.index("LF")][:, None]
    return np.angle(phasor * np.conj(lead)) / (2 * np.pi)


TRACKING = 0.1  # [m/s], tolerance of a policy's speed
MOST_FALLEN = 0.02
_DT, _AFTER, _LEAN = 2e-3, 1.0, np.radians(50.0)  # [s], [s] that are excluded, lean of a fall


@dataclass(frozen=True)
class WalkAssessment:
    """The assessment of robots that walk, one entry per robot."""

    engine: str
    seconds: float
    command: Float[ndarray, "n 3"]  # forward, sideways [m/s], turn [rad/s]
    velocity: Float[ndarray, "n 3"]  # mean, in the heading's axes
    fallen: Bool[ndarray, "n"]

    @property
    def errors(self) -> Float[ndarray, "n"]:
        """Return the errors of the mean velocity over the ground [m/s], including robots that fell."""
        return np.linalg.norm(self.velocity[:, :2] - self.command[:, :2], axis=1)

    @property
    def tracking_error(self) -> float:
        """Return the mean error of the robots that did not fall [m/s]."""
        return float(self.errors[~self.fallen].mean()) if not self.fallen.all() else float("inf")

    @property
    def ok(self) -> bool:
        return bool(self.fallen.mean() <= MOST_FALLEN and self.tracking_error <= TRACKING)


@dataclass(frozen=True)
class _Drawn:
    """The random draws of one robot."""

    command: Command
    friction: float
    mass: float  # a factor
    joints: ndarray
    pushes: tuple[Push, ...]


def assess(
    policy: Policy | ImportedPolicy,
    robot: Robot,
    *,
    engine: str = "footfall",
    robots: int = 100,
    seconds: float = 10.0,
    seed: int = ASSESS_SEED,
    randomise: Given = True,
    progress: Callable[[str, int, int], None] | None = None,
) -> WalkAssessment:
    """Let robots walk for some seconds, each with its own command."""
    if engine not in ENGINES:
        raise unknown("simulator", engine, ENGINES)
    task = WalkTask.of(robot)
    ranges, commands = task.randomisation(randomise), task.command_ranges
    drawn = [_draw(robot, ranges, commands, seconds, rng) for rng in own_generators(seed, checked_count(robots))]
    run = _in_mujoco if engine == "mujoco" else _in_footfall
    velocity, fallen = run(policy, robot, drawn, seconds, progress or (lambda what, done, of: None))
    command = np.array([[getattr(one.command, key) for key in COMMANDS] for one in drawn])
    return WalkAssessment(engine, seconds, command, velocity, fallen)


def _draw(
    robot: Robot, ranges: Randomisation, commands: Mapping[str, Range], seconds: float, rng: np.random.Generator
) -> _Drawn:
    command = Command(**{key: float(within(commands[key], rng.random())) for key in COMMANDS})
    friction, mass = (float(within(limits, rng.random())) for limits in (ranges.friction, ranges.mass))
    joints = within(ranges.joints, rng.random(robot.nj))
    pushes, at = [], ranges.push_every * rng.random()
    while at < seconds and ranges.push[1] > 0.0:
        force, angle = 50.0 * within(ranges.push, rng.random()), 2.0 * np.pi * rng.random()
        pushes.append(
            Push(
                start=float(at), duration=0.02, force=(float(force * np.cos(angle)), float(force * np.sin(angle)), 0.0)
            )
        )
        at += ranges.push_every
    return _Drawn(command, friction, mass, joints, tuple(pushes))


def _start(robot: Robot, policy: Policy | ImportedPolicy, one: _Drawn) -> tuple[ndarray, ndarray]:
    """Return the initial state of the policy: standing, joints slightly offset, the lowest foot on the ground."""
    q, v = robot.state(policy.posture(robot) + one.joints)
    q[2] -= float(lowest_foot(robot, q))
    return q, v


def _in_mujoco(
    policy: Policy | ImportedPolicy,
    robot: Robot,
    drawn: list[_Drawn],
    seconds: float,
    progress: Callable[[str, int, int], None],
) -> tuple[ndarray, ndarray]:
    velocity, fallen = np.zeros((len(drawn), 3)), np.zeros(len(drawn), bool)
    for k, one in enumerate(drawn):
        progress("in MuJoCo", k, len(drawn))
        trunk = f"{robot.trunk}.mass"
        heavier = robot.with_parameters({trunk: one.mass * robot.parameter(trunk)})
        simulation = Simulation(
            heavier,
            policy,
            ground=Plane(friction=one.friction),
            dt=_DT,
            command=one.command,
            pushes=one.pushes,
            start=_start(heavier, policy, one),
            compile_controller=False,
        )
        rec = run_mujoco(simulation, seconds, mujoco_model(simulation, contact={}))
        up = np.array([to_rotation(q[3:7])[2, 2] for q in rec.q])
        fallen[k] = bool((up < np.cos(_LEAN)).any() or (rec.q[:, 2] < _low(robot)).any())
        velocity[k] = rec.mean_velocity(min(_AFTER, seconds / 2))
    return velocity, fallen


def _low(robot: Robot) -> float:
    """Return the height of the trunk below which it has fallen [m]."""
    return 0.4 * robot.poses["stand"].height


def _in_footfall(
    policy: Policy | ImportedPolicy,
    robot: Robot,
    drawn: list[_Drawn],
    seconds: float,
    progress: Callable[[str, int, int], None],
) -> tuple[ndarray, ndarray]:
    trunk, n = f"{robot.trunk}.mass", len(drawn)
    batch = Batch(robot, n, policy, free=("ground.friction", trunk), dtype=np.float32, dt=_DT)
    starts = [_start(robot, policy, one) for one in drawn]
    batch.set_state(np.array([q for q, _ in starts]), np.array([v for _, v in starts]))
    nominal = robot.parameter(trunk)
    batch.set(
        {
            "ground.friction": np.array([one.friction for one in drawn]),
            trunk: nominal * np.array([one.mass for one in drawn]),
        }
    )
    batch.set_command(**{key: np.array([getattr(one.command, key) for one in drawn]) for key in COMMANDS})
    look = compiling.compile(looked_at, None, np.zeros(robot.nq), np.zeros(robot.nv), target="batch", verify=False)
    fallen, total, ticks = np.zeros(n, bool), np.zeros((n, 3)), round(seconds / batch.period)
    skipped = round(min(_AFTER, seconds / 2) / batch.period)
    for k in range(ticks):
        progress("in footfall", k, ticks)
        batch.set_push(force=np.array([_force(one.pushes, k, batch.period) for one in drawn]))
        batch.run(1)
        seen = look(batch.q.astype(float), batch.v.astype(float))
        fallen |= ~((seen[:, 3] > np.cos(_LEAN)) & (batch.q[:, 2] > _low(robot)))
        total += seen[:, :3] if k >= skipped else 0.0
    return total / (ticks - skipped), fallen


def looked_at(q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "4"]:
    """Return the velocity in the heading's axes, and the cosine of the trunk's lean."""
    R = to_rotation(q[3:7])
    return np.concatenate([heading_velocity(R, v), np.stack([R[2, 2]])])


def _force(pushes: tuple[Push, ...], tick: int, period: float) -> tuple[float, float, float]:
    """Return the push of a tick: an impulse is a force for one tick."""
    now = [push for push in pushes if int(push.start / period) == tick]
    scale = now[0].duration / period if now else 0.0
    return tuple(scale * x for x in now[0].force) if now else (0.0, 0.0, 0.0)  # type: ignore[return-value]
