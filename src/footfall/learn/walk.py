"""The task ``walk``, of ``footfall/Walk-v0``: follow a velocity on flat ground; and how well a policy walks.

``evaluate``: many robots that differ, one command, in the environment of the training. ``assess``: by code that did not
train the policy, in footfall or in MuJoCo. There every robot draws its command, friction, trunk mass, joint offsets and
pushes from the ranges of the training, with seeds that no training uses; in MuJoCo it is its exported model, with
MuJoCo's own contact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from footfall import compiling
from footfall.contact.ground import Plane
from footfall.control.interface import Command, Sensed
from footfall.control.learned.policy import Drive, Policy
from footfall.control.learned.travelled import ImportedPolicy
from footfall.errors import InputError, unknown
from footfall.gait.pattern import LEGS, Gait, clock_phase, stance, trot
from footfall.kinematics.forward import foot_positions
from footfall.learn.episode import COMMANDS
from footfall.learn.lanes import WalkLanes, own_generators
from footfall.learn.randomise import Randomisation, Range, within
from footfall.learn.task import (
    ASSESS_SEED,
    ENGINES,
    NONE,
    WILD,
    Assessment,
    Exam,
    ExamRuns,
    Parameters,
    Progress,
    Size,
    Task,
    TickResult,
    check_stands,
    check_weights,
    drive_of,
    heading_velocity,
    weighted,
)
from footfall.mujoco.run import mujoco_model, run_mujoco
from footfall.robot.model.description import Robot
from footfall.sim.batch import Batch, checked_count
from footfall.sim.joints import JointModel, joint_forces
from footfall.sim.motors import MotorModel
from footfall.sim.pushes import Push
from footfall.sim.simulation import Simulation
from footfall.sim.tick import RunState
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Given, Json, Scalar

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
COMMAND_RANGES: Mapping[str, tuple[float, float]] = {
    "forward": (-0.3, 0.8),
    "sideways": (-0.25, 0.25),
    "turn": (-0.6, 0.6),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class WalkTask(Task):
    """The task of following a velocity command: robot, action interface and reward. ``weights`` override ``WEIGHTS``.

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
    commands: ClassVar[Mapping[str, tuple[float, float]]] = COMMAND_RANGES
    swing: ClassVar[float] = 0.05  # of the feet of a Mini Cheetah [m]
    default_weights: ClassVar[Mapping[str, float]] = WEIGHTS  # unless ``weights`` says otherwise
    bench_seconds: ClassVar[float] = 5.0
    bench_all_robots: ClassVar[bool] = True

    def __post_init__(self) -> None:
        weights = check_weights(self.weights, self.default_weights)
        check_stands(self.robot, "walking")
        object.__setattr__(self, "weights", weights)
        if self.swing_height is None:
            object.__setattr__(self, "swing_height", self.swing * self.size.length)

    @classmethod
    def of(cls, robot: Robot, **options: Any) -> Self:
        """Return the task with gains that are known to carry the robot, or that scale with it."""
        check_stands(robot, "walking")
        return cls(robot=robot, drive=drive_of(robot, gait=clock_of(robot)), **options)

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
        """Let robots walk on level ground for 10 s unless given, a command each."""
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

        return Exam(task=self, robots=robots, seconds=10.0, numbers=numbers)

    def initial_pose(
        self,
        q: Float[ndarray, "nq"],
        ranges: Randomisation,
        joints: Float[ndarray, "nj"],
        chance: ndarray,
        parameters: Parameters = NONE,
        level: Scalar = 0.0,
    ) -> Float[ndarray, "nq"]:
        """Return a stand with its lowest foot on the ground, its joints off by a little."""
        robot = self.robot
        q = q + np.concatenate([np.zeros(robot.nq - robot.nj), within(ranges.joints, joints)])
        lowest = least(self.foot_heights(q, parameters))
        return q - np.concatenate([np.zeros(2), np.stack([lowest]), np.zeros(robot.nq - 3)])

    # -- of the ground, which is level here ------------------------------------------------------------------------
    def trunk_height(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Scalar:
        """Return the height of the trunk's origin over the ground [m]."""
        return q[2]

    def foot_heights(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "nf"]:
        """Return the heights of the feet's lowest points over the ground [m]."""
        return foot_positions(self.robot, q)[:, 2] - np.array([foot.radius for foot in self.robot.feet])

    def further_values(
        self, q: Float[ndarray, "nq"], contact: Float[ndarray, "nf"], parameters: Parameters
    ) -> dict[str, Scalar]:
        """Return what else is worth something, by its name in ``default_weights``."""
        return {}

    def evaluate_tick(self, state: RunState, command: Command, parameters: Parameters = NONE) -> TickResult:
        robot, drive, memory = self.robot, self.drive, state.memory
        t = state.tick / drive.rate
        sensed = Sensed(q=state.q, v=state.v, forces=state.forces[: robot.nf])
        R = to_rotation(state.q[3:7])
        velocity, height = heading_velocity(R, state.v), self.trunk_height(state.q, parameters)
        stand = robot.poses["stand"]
        low = 0.4 * stand.height
        fine = (R[2, 2] > np.cos(np.radians(self.lean))) & (height > low) & (state.v @ state.v < WILD**2)
        contact = np.where(sensed.forces[:, 2] > 1.0, 1.0, 0.0)
        joints, rates = state.q[robot.nq - robot.nj :], state.v[robot.nv - robot.nj :]
        joint_command = drive.command(robot, memory["action"], memory["gains"])
        motor = joint_forces(robot, JointModel(), joints, rates, joint_command, 0.0).motor
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
        observation = self.observe(state, command, parameters)
        return TickResult(
            observation=observation,
            terms=terms,
            reward=sum(terms.values()),
            fallen=values["fall"],
            velocity=velocity,
            contact=contact,
            score=values["gait"],
        )


def _walking(fallen: Bool[ndarray, "n"], error: float) -> dict[str, Json]:
    """Return what benches report of walking."""
    share = float(fallen.mean())
    return {"fallen": share, "tracking_error": error, "ok": share <= MOST_FALLEN and error <= TRACKING}


def clock_of(robot: Robot) -> Gait:
    """Return the trot that a walking policy hears, in the time of the robot's legs."""
    return trot(period=0.4 * Size.of(robot).time, duty=0.55)


def lowest_foot(robot: Robot, q: Float[ndarray, "nq"]) -> Scalar:
    """Return the height of the lowest foot over flat ground [m]; below zero where it is in it."""
    return least(foot_positions(robot, q)[:, 2] - np.array([foot.radius for foot in robot.feet]))


def least(heights: Float[ndarray, "4"]) -> Scalar:
    return np.minimum(np.minimum(heights[0], heights[1]), np.minimum(heights[2], heights[3]))


def clearance_error(task: WalkTask, t: float, heights: Float[ndarray, "nf"]) -> Scalar:
    """Return the mean over the feet of the squared lack of height in a swing, relative to a sine's height."""
    gait = task.drive.gait
    phase = clock_phase(gait, t)
    swing = np.clip((phase - gait.duty) / (1.0 - gait.duty), 0.0, 1.0)
    assert task.swing_height is not None  # is made so
    wanted = task.swing_height * np.sin(np.pi * swing)
    lack = np.maximum(wanted - heights, 0.0) / task.swing_height
    return np.sum(lack * lack) / 4.0


@dataclass(frozen=True)
class Evaluation:
    """The walks of robots, each on its own."""

    velocity: Float[ndarray, "n 3"]  # mean forward, sideways [m/s] and turn [rad/s] in the heading's axes
    fallen: Bool[ndarray, "n"]
    delays: Float[ndarray, "n 4"]  # of touchdowns after LF's [cycles], in [-0.5, 0.5), LF, RF, LH, RH
    duty: Float[ndarray, "n 4"]  # part of the time that a foot is down
    drawn: dict[str, ndarray]  # friction, mass, ... of each robot

    def within(self, speed: float, part: float = 0.15) -> float:
        """Return the fraction of robots that did not fall and walked at a speed [m/s], to within a fraction of it."""
        good = ~self.fallen & (np.abs(self.velocity[:, 0] - speed) <= part * abs(speed))
        return float(good.mean())

    def trots(self, slack: float = 0.1) -> Bool[ndarray, "n"]:
        """Return which robots trot: diagonal feet land together, the pairs half a cycle apart, to ``slack`` cycles."""
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
    """Walk for some seconds under one command; what happens before ``after`` [s] does not count, falls aside."""
    command = command or Command(forward=0.4)
    commands = {key: getattr(command, key) for key in COMMANDS}
    task = WalkTask(robot=robot, drive=policy.drive)
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
    """Return mean phases of the touchdowns, less LF's; NaN of a foot that never lands."""
    landed = down[1:] & ~down[:-1]
    turns = np.exp(2j * np.pi * np.arange(1, len(down)) / cycle)
    phasor = np.einsum("t,tnf->nf", turns, landed.astype(complex))
    phasor = np.where(landed.any(axis=0), phasor, np.nan)
    lead = phasor[:, LEGS.index("LF")][:, None]
    return np.angle(phasor * np.conj(lead)) / (2 * np.pi)


TRACKING = 0.1  # [m/s] that the speed of a policy may be off
MOST_FALLEN = 0.02
_DT, _AFTER, _LEAN = 2e-3, 1.0, np.radians(50.0)  # [s], [s] that do not count, lean of a fall


@dataclass(frozen=True)
class WalkAssessment:
    """The assessment of robots that walk, each on its own."""

    engine: str
    seconds: float
    command: Float[ndarray, "n 3"]  # forward, sideways [m/s], turn [rad/s]
    velocity: Float[ndarray, "n 3"]  # mean, in the heading's axes
    fallen: Bool[ndarray, "n"]

    @property
    def errors(self) -> Float[ndarray, "n"]:
        """How far the mean velocity over the ground is off the command [m/s]; of those that fell too."""
        return np.linalg.norm(self.velocity[:, :2] - self.command[:, :2], axis=1)

    @property
    def tracking_error(self) -> float:
        """The mean error of the robots that did not fall [m/s]."""
        return float(self.errors[~self.fallen].mean()) if not self.fallen.all() else float("inf")

    @property
    def ok(self) -> bool:
        return bool(self.fallen.mean() <= MOST_FALLEN and self.tracking_error <= TRACKING)


@dataclass(frozen=True)
class _Drawn:
    """The random numbers of one robot."""

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
    """Let robots walk for some seconds, each under its own command."""
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
    """Return the state in which the policy stands, joints a little off, the lowest foot on the ground."""
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
    """Return the height of the trunk under which it has fallen [m]."""
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
