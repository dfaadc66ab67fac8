"""The interface of learning tasks: a robot with its drive, initial poses, rewards and evaluation; and ``TermTask``, a
task made of terms, as in a TOML file.

Written for one robot in plain NumPy, and compiled for many: a robot is evaluated identically alone and in any batch. A
kind of task is a file with a subclass of ``Task`` and a line in ``learn.tasks``; episodes, batches, trainings, kernels,
commands and benchmarks are common to all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy import ndarray

from footfall.checks import finite_number
from footfall.contact.compliant import Compliant
from footfall.contact.model import ContactModel
from footfall.contact.planning import Planning
from footfall.control.interface import Command, Controller, JointCommand, Sensed
from footfall.control.learned.policy import USUAL, Drive, Policy
from footfall.control.learned.scan import ScanPoints, relative_heights
from footfall.control.learned.travelled import ImportedPolicy
from footfall.control.posture import why_no_stand
from footfall.errors import InputError, unknown
from footfall.gait import tuned
from footfall.gait.pattern import named as named_gait
from footfall.identity import digest_of
from footfall.kinematics.forward import foot_positions
from footfall.learn.randomise import Randomisation, Range
from footfall.learn.task_spec import CONTACTS, TaskSpec, default_randomisation, shipped
from footfall.learn.terms import BOUNDED, CRITIC, REWARDS, TERMINATIONS, Tick, fallen
from footfall.robot.model.description import Robot
from footfall.sim.joints import JointModel
from footfall.sim.motors import MotorModel
from footfall.sim.tick import RunState
from footfall.spatial.gravity import GRAVITY
from nptrace._types import Given, Json, Operand, PyTree, Scalar
from nptrace.array_types import Bool, Float

HEIGHT, MASS = 0.28601890993604734, 8.912  # hip height of the standing Mini Cheetah [m], and its mass [kg]
_DIGITS = 6  # rounded so that the Mini Cheetah is exactly 1, however its mass is summed


@dataclass(frozen=True)
class Size:
    """The size of a robot relative to the Mini Cheetah."""

    length: float
    mass: float

    @staticmethod
    def of(robot: Robot) -> Size:
        return Size(round(robot.poses["stand"].height / HEIGHT, _DIGITS), round(robot.mass / MASS, _DIGITS))

    @property
    def time(self) -> float:
        return sqrt(self.length)

    @property
    def speed(self) -> float:
        return sqrt(self.length)

    @property
    def impulse(self) -> float:
        return self.mass * self.speed

    @property
    def power(self) -> float:
        return self.mass * self.speed

    def commands(self, ranges: Mapping[str, Range]) -> dict[str, Range]:
        """Return ranges of forward, sideways [m/s] and turn [rad/s] for a robot of this size."""
        factor = {"forward": self.speed, "sideways": self.speed, "turn": 1.0 / self.time}
        return {key: (factor[key] * low, factor[key] * high) for key, (low, high) in ranges.items()}


Parameters = Mapping[str, Scalar]
NONE: Parameters = {}
# largest cost per second of any term except a fall, so that one unstable robot does not dominate the others
WORST = 10.0
WILD = 300.0  # a velocity that no robot has
ENGINES = ("footfall", "mujoco")  # simulators in which policies are assessed
EXAM_DT = 2e-3  # [s], step of an exam for a policy trained on the planning contact
ASSESS_SEED, EXAM_SEED = 2_000_000, 3_000_000  # seeds of the robots of an assessment, and of an exam during a training

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class ActionController(Controller):
    """PD around the action in its memory, which the environment writes between ticks.

    ``last``: the previous action; ``gains``: factors of stiffness and damping; ``delay``: the fraction of a tick for
    which the previous action still acts, represented by the mean over the tick; ``upright``: at the start of the tick.
    ``motors`` execute it: their delay is added, up to one tick in all.
    """

    drive: Drive
    motors: MotorModel | None = None

    @property
    def rate(self) -> float:
        return self.drive.rate

    def start(self, robot: Robot) -> dict[str, ndarray]:
        zero = np.zeros(robot.nj)
        return {
            "action": zero,
            "last": zero.copy(),
            "gains": np.ones(2),
            "delay": np.zeros(()),
            "upright": np.ones(()),
        }

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        late = memory["delay"]
        if self.motors is not None:
            late = np.minimum(late + self.motors.delay * self.rate, 1.0)
        action = memory["action"] * (1.0 - late) + memory["last"] * late
        joint_command = self.drive.command(robot, action, memory["gains"])
        if self.motors is not None:
            joint_command = self.motors.carried_out(joint_command)
        return joint_command, {**memory, "upright": upright(sensed.q)}


@dataclass(frozen=True, kw_only=True)
class TickResult:
    """The evaluation of a tick."""

    observation: Float[ndarray, "no"]
    terms: dict[str, Operand]  # terms of the reward, weighted
    reward: Operand
    fallen: Scalar  # 1 or 0
    velocity: Float[ndarray, "3"]  # forward, sideways [m/s], turn [rad/s], in the heading's axes
    contact: Float[ndarray, "nf"]  # 1 for a foot in contact
    score: Scalar  # score of the task, from 0 to 1, independent of its rewards: for curves


@dataclass(frozen=True)
class Assessment:
    """The result of evaluating a policy independently of its training."""

    ok: bool
    seconds: float
    numbers: dict[str, Json]  # figures by their names in ``footfall policy evaluate --json``
    words: str


@dataclass(frozen=True)
class ExamRuns:
    """The runs of an exam, one entry per robot."""

    fallen: Bool[ndarray, "n"]  # at any time
    x: Float[ndarray, "n"]  # final position [m] of a robot that did not fall
    velocity: Float[ndarray, "n 3"]  # mean, in the heading's axes
    command: Float[ndarray, "n 3"]
    score: Float[ndarray, "n"]  # after the last tick


@dataclass(frozen=True, kw_only=True)
class Exam:
    """An exam of robots on a GPU that scores a policy, with the kernels of a training, without noise.

    task: defines the episodes. command: ranges that replace the task's. first: the first of the task's draws of every
    robot, if it is not random. score: from 0 to 1, by which the best policy of a training is chosen.
    """

    task: Task
    robots: int
    seconds: float
    command: Mapping[str, Given] = field(default_factory=dict)
    first: Float[ndarray, "n"] | None = None
    score: Callable[[ExamRuns], float] = lambda runs: float(runs.score.mean())
    numbers: Callable[[ExamRuns], dict[str, Json]] = lambda runs: {"score": float(runs.score.mean())}


class Task(ABC):
    """A task: a frozen dataclass with the fields below. Four methods are required: ``of``, ``initial_pose``,
    ``evaluate_tick`` and ``assess``; all others have defaults.
    """

    robot: Robot
    drive: Drive
    weights: Mapping[str, float]
    dt: float  # physics step [s]
    motors: MotorModel | None = None  # motors that execute the drive's commands
    joints: JointModel | None = None  # joint effects identified with the motors
    seconds: ClassVar[float]  # duration of an episode, unless its environment sets it
    # ranges of forward, sideways [m/s] and turn [rad/s], for a robot of the Mini Cheetah's size
    commands: ClassVar[Mapping[str, tuple[float, float]]]
    start_draws: ClassVar[int] = 0  # random draws of ``initial_pose``, besides one for every joint
    paths: ClassVar[tuple[str, ...]] = ()  # parameters that ``terrain`` draws
    levels: ClassVar[int] = 1  # levels of difficulty
    # settings of its training that differ from the default (``ppo.Settings``)
    settings: ClassVar[Mapping[str, Given]] = {}
    walks: ClassVar[bool] = True  # whether a policy can be tried by a command to walk on level ground
    score_meaning: ClassVar[str] = "score of the task, from 0 to 1"
    exam_robots: ClassVar[int] = 0  # robots of an exam during a training; 0 if learned skills are never lost again
    bench_seconds: ClassVar[float] = 60.0  # [s] that benchmarks train
    bench_all_robots: ClassVar[bool] = False  # whether benchmarks train it for every robot, or for the first alone

    @property
    def world(self) -> dict[str, Given]:
        """Return the options of the simulation."""
        return {"dt": self.dt}

    @property
    def examined(self) -> Task:
        """Return the task on which its policies are evaluated."""
        return self

    def world_with(self, randomisation: Randomisation) -> dict[str, Given]:
        """Return the simulation options for these randomization ranges.

        Randomized soft ground excludes the planning contact, so the contact of the evaluation is used then.
        """
        drawn = randomisation.world(self.robot)
        return {**(self.examined if drawn else self).world, **drawn}

    @property
    def effects(self) -> dict[str, Given]:
        """Return further options: the joint effects."""
        return {} if self.joints is None else {"joints": self.joints}

    @property
    def controller(self) -> ActionController:
        """Return the controller that turns actions into commands, as the motors execute them."""
        return ActionController(self.drive, self.motors)

    @cached_property
    def size(self) -> Size:
        """Return the size by which the constants of the task scale."""
        return Size.of(self.robot)

    @property
    def command_ranges(self) -> dict[str, tuple[float, float]]:
        """Return the ranges of ``commands`` for this robot."""
        return self.size.commands(self.commands)

    @classmethod
    @abstractmethod
    def of(cls, robot: Robot, **options: Any) -> Self:
        """Return the task for a robot, with gains that support it, tuned or scaled."""

    def randomisation(self, option: Given) -> Randomisation:
        """Return the randomisation for an environment's option: True is the task's default, ranges by name change
        some of it.
        """
        if option is True or isinstance(option, Mapping):
            return self.default_randomisation.changed({} if option is True else option)
        return Randomisation.from_option(option)

    @property
    def default_randomisation(self) -> Randomisation:
        """Return the default ranges of the randomization; pushes scale with the robot."""
        return Randomisation(push=(0.0, Randomisation().push[1] * self.size.impulse))

    @abstractmethod
    def initial_pose(
        self,
        q: Float[ndarray, "nq"],
        ranges: Randomisation,
        joints: Float[ndarray, "nj"],
        chance: ndarray,
        parameters: Parameters = NONE,
        level: Scalar = 0.0,
    ) -> Float[ndarray, "nq"]:
        """Return the initial pose of an episode, from that of a simulation and uniform draws; parameters as in
        ``evaluate_tick``.
        """

    @abstractmethod
    def evaluate_tick(self, state: RunState, command: Command, parameters: Parameters = NONE) -> TickResult:
        """Evaluate a robot after a tick in which it followed a command with the action in its memory.

        parameters: those that differ between robots, including the ground's.
        """

    # -- how good a policy is ----------------------------------------------------------------------------------------
    @abstractmethod
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
        """Evaluate a policy on different robots, from seeds that no training uses, in footfall or in MuJoCo.

        Args:
            policy: The policy, which acts without noise.
            engine: One of ``ENGINES``.
            robots: Number of robots.
            seconds: Duration [s]; the task's unless given.
            seed: Seed of the first robot.
            progress: Called with (what, done, of).

        Returns:
            Whether it passes, figures by name, and a sentence.
        """

    def measure(self, policy: Policy, robots: int) -> dict[str, Json]:
        """Return the figures that a benchmark reports for a policy, on the processor."""
        return self.assess(policy, robots=robots).numbers

    def exam(self) -> Callable[[Policy], float] | None:
        """Return a function that scores a policy during a training, on the processor; None if no exam is needed."""
        return None

    def gpu_exam(self, robots: int) -> Exam:
        """Return an exam on a GPU with a number of robots: ``exam_robots`` during a training, more at its end."""
        return Exam(task=self, robots=robots, seconds=self.seconds)

    # -- episodes ----------------------------------------------------------------------------------------------------
    def assign_level(self, level: Scalar, chance: ndarray) -> Scalar:
        """Return the difficulty level at which an episode starts."""
        return level

    def terrain(self, level: Scalar, chance: ndarray) -> dict[str, Scalar]:
        """Return the parameters of ``paths`` for an episode on a level of difficulty."""
        return {}

    def next_level(self, level: Scalar, travelled: Scalar, commanded: Scalar, fallen: Scalar, score: Scalar) -> Scalar:
        """Return the level of the next episode.

        In the previous episode, the robot covered ``travelled`` of the distance ``commanded`` [m], and ended with a
        score.
        """
        return level

    def observe(self, state: RunState, command: Command, parameters: Parameters = NONE) -> Float[ndarray, "no"]:
        """Return the observation of a policy at one time."""
        robot = self.robot
        sensed = Sensed(q=state.q, v=state.v, forces=state.forces[: robot.nf])
        heights = self.scan_heights(state.q, parameters)
        return self.drive.observe(robot, state.tick / self.drive.rate, sensed, command, state.memory["action"], heights)

    def scan_heights(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "k"] | tuple[()]:
        """Return heights of the ground at the points of the drive's scan; level ground unless the task has another."""
        return relative_heights(self.robot, q, np.zeros(len(self.drive.scan))) if self.drive.scan else ()

    @property
    def privileged_count(self) -> int:
        """Return the number of values that ``privileged`` returns."""
        return 0

    def privileged(self, state: RunState, command: Command, parameters: Parameters) -> Float[ndarray, "k"] | tuple[()]:
        """Return the critic's inputs besides the policy's observations (Pinto et al. 2018); by default none.

        A policy never sees them, so they need not be measurable.
        """
        return ()

    def draw_command(self, drawn: Mapping[str, Given], chance: Float[ndarray, "3"]) -> Command:
        """Return the command of an episode, from the drawn values of ``commands`` or from uniform random numbers."""
        return Command(**drawn)

    @property
    def frame_bounds(self) -> Float[ndarray, "no"]:
        """Return bounds of each number of one observation."""
        return self.drive.frame_bounds(self.robot)

    @property
    def bounds(self) -> Float[ndarray, "no"]:
        """Return the bounds of each number of an observation, including its history."""
        return np.tile(self.frame_bounds, self.drive.history)

    @property
    def delayed(self) -> Bool[ndarray, "no"]:
        """Return which numbers of an observation are measured: they have the latency of the sensors."""
        known = np.zeros(len(self.frame_bounds), dtype=bool)
        for part in {"command", "action", "clock"} & set(self.drive.terms(self.robot)):
            known[self.drive.term_slice(self.robot, part)] = True
        return ~known

    def place(self, part: str) -> slice:
        """Return the indices of a drive's term in the present observation."""
        at, before = self.drive.term_slice(self.robot, part), (self.drive.history - 1) * len(self.frame_bounds)
        return slice(before + at.start, before + at.stop)

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)


def evaluate_tick(task: Task, state: RunState, command: Command, parameters: Parameters = NONE) -> TickResult:
    """Call ``task.evaluate_tick``, as a function to compile."""
    return task.evaluate_tick(state, command, parameters)


def privileged(task: Task, state: RunState, command: Command, parameters: Parameters) -> PyTree:
    """Call ``task.privileged``, as a function to compile."""
    return task.privileged(state, command, parameters)


def upright(q: Float[ndarray, "nq"]) -> Operand:
    """Return the cosine of the trunk's lean."""
    return 1.0 - 2.0 * (q[4] * q[4] + q[5] * q[5])


def check_weights(given: Mapping[str, float], known: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of a reward with some of them changed."""
    for key, value in given.items():
        if key not in known:
            raise unknown("term of the reward", key, known)
        finite_number(value, f"the weight of {key}")
    return {**known, **given}


def check_stands(robot: Robot, doing: str) -> None:
    if len(robot.feet) != 4:
        raise InputError(f"{doing} needs four feet, and robot '{robot.name}' has {len(robot.feet)}")
    if why := why_no_stand(robot):
        raise InputError(f"{doing} needs a pose 'stand', which robot '{robot.name}' lacks: {why}")


def yielding(robot: Robot) -> Compliant:
    """Return contact for links that hit the ground fast in single precision: the weight depresses it by 1 mm.

    A link that lands at several metres a second is millimetres deep after a step. The default model then gives millions
    of newtons, and their effect on the lightest link is lost in rounding: one robot in 20 000 ticks flew off.
    """
    stiffness = robot.mass * -GRAVITY[2] / 1e-3
    damping = 0.01 * stiffness
    return Compliant(
        stiffness=stiffness,
        exponent=1.0,
        damping=damping,
        stick_speed=1e-3,
        slip_speed=2e-3,
    )


def planning(robot: Robot) -> Planning:
    """Return contact for planning, scaled to the robot as ``Planning()`` is to the Mini Cheetah."""
    usual, factor = Planning(), Size.of(robot).mass
    return Planning(stiffness=factor * usual.stiffness, damping=factor * usual.damping)


def contact_named(name: str, robot: Robot) -> ContactModel | None:
    """Return the contact by its name in ``task_spec.CONTACTS``; None for the default of simulations."""
    if name not in CONTACTS:
        raise unknown("contact of a task", name, CONTACTS)
    return {"yielding": yielding, "planning": planning}[name](robot) if name != "default" else None


# Points at which a policy sees the ground [m], heading's axes: rows offset by half their pitch resolve a transverse
# edge twice as finely.
_ROW = tuple(round(-0.36 + 0.06 * k, 2) for k in range(17))
SCAN = tuple((x, 0.12) for x in _ROW) + tuple((round(x + 0.03, 2), -0.12) for x in _ROW)


def drive_from(robot: Robot, spec: TaskSpec) -> Drive:
    """Return the drive of a robot from a task's description; gains are the robot's unless given there."""
    given, gains = dict(spec.drive), tuned.for_robot(robot, "trot")
    time = Size.of(robot).time if spec.scale and given.pop("scale_period", True) else 1.0
    given.pop("scale_period", None)
    gait = named_gait(given.pop("gait", "trot"), period=given.pop("period", 0.4) * time, duty=given.pop("duty", 0.55))
    scan: ScanPoints = given.pop("scan", SCAN) if "heights" in spec.policy else ()
    usual = (*USUAL, "heights") if scan else USUAL
    observations = () if spec.policy in ((), usual) else spec.policy
    return Drive(
        gait=gait,
        kp=given.pop("kp", gains.kp),
        kd=given.pop("kd", gains.kd),
        scan=scan,
        observations=observations,
        **given,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class TermTask(Task):
    """A task made of terms: rewards, terminations and observations by name, as in ``spec``.

    weights: replace some of those of ``spec``. touching: parts that collide besides the feet. contact: a contact
    model, or the name of one in ``task_spec.CONTACTS``; that of ``spec`` unless given. spec: a task that was read from
    a file (``task_spec``); the shipped one of this kind unless given.
    """

    robot: Robot
    drive: Drive = field(default_factory=Drive)
    weights: Mapping[str, float] = field(default_factory=dict)
    dt: float = 0.0  # [s]; that of ``spec`` unless given
    touching: str = ""
    contact: ContactModel | str | None = None
    motors: MotorModel | None = None
    joints: JointModel | None = None
    spec: TaskSpec | None = None
    kind: ClassVar[str] = "walk"  # the shipped task
    exam_contact: ClassVar[str] = "default"  # contact with which policies trained on ``planning`` are evaluated
    doing: ClassVar[str] = "walking"  # for messages

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", check_weights(self.weights, self.table.weights))
        object.__setattr__(self, "dt", self.dt or self.table.dt)
        check_stands(self.robot, self.doing)
        if self.spec is not None:
            self._check_terms()

    @property
    def table(self) -> TaskSpec:
        """Return the description of the task."""
        return shipped(self.kind) if self.spec is None else self.spec

    @property
    def seconds(self) -> float:  # type: ignore[override]
        return self.table.seconds

    @property
    def settings(self) -> Mapping[str, Given]:  # type: ignore[override]
        return self.table.training

    @property
    def score_meaning(self) -> str:  # type: ignore[override]
        """Return the meaning of ``score`` as text."""
        table = self.table
        if self.levels > 1:
            return f"mean level of difficulty reached, as a fraction of {self.levels}"
        term = table.rewards.get(table.score)
        function = REWARDS.get(term.name if term is not None else table.score)
        words = (function.__doc__ or "").partition("\n")[0].strip().rstrip(".") if function is not None else ""
        return (words[:1].lower() + words[1:]) or f"the term '{table.score}'"

    @cached_property
    def size(self) -> Size:
        return Size.of(self.robot) if self.table.scale else Size(1.0, 1.0)

    @property
    def command_ranges(self) -> dict[str, tuple[float, float]]:
        return self.size.commands(self.commands if self.spec is None else self.spec.commands)

    @property
    def default_randomisation(self) -> Randomisation:
        return default_randomisation(self.table, self.robot.mass, self.size.impulse, self.size.length)

    @property
    def world(self) -> dict[str, Given]:
        options: dict[str, Given] = {"dt": self.dt}
        if self.touching:
            options["collisions"] = self.touching
        contact = self.table.contact if self.contact is None else self.contact
        model = contact_named(contact, self.robot) if isinstance(contact, str) else contact
        if model is not None:
            options["contact"] = model
        return options

    @property
    def examined(self) -> Self:
        """Return the task on which its policies are evaluated: never on the planning contact, and with the steps of
        its exam.
        """
        contact = self.table.contact if self.contact is None else self.contact
        if contact != "planning" and not isinstance(contact, Planning):
            return self
        return replace(self, contact=self.exam_contact, dt=EXAM_DT)

    @classmethod
    def of(cls, robot: Robot, *, spec: TaskSpec | None = None, **options: Any) -> Self:
        """Return the task with gains that support the robot, tuned or scaled."""
        check_stands(robot, cls.doing)
        if spec is not None:
            options = {"spec": spec, "touching": spec.collisions, **options}
        return cls(robot=robot, drive=drive_from(robot, shipped(cls.kind) if spec is None else spec), **options)

    def draw_command(self, drawn: Mapping[str, Given], chance: Float[ndarray, "3"]) -> Command:
        own = self.table.own_draw
        return super().draw_command(drawn, chance) if own is None else own(chance)

    # -- of the ground, which is level here ----------------------------------------------------------------------------
    def ground_height(self, x: Scalar, parameters: Parameters) -> Scalar:
        """Return the height of the ground at a point along x [m]."""
        return 0.0 * x

    def trunk_height(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Scalar:
        """Return the height of the trunk's origin over the ground [m]."""
        return q[2]

    def foot_heights(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "nf"]:
        """Return the heights of the feet's lowest points over the ground [m]."""
        return foot_positions(self.robot, q)[:, 2] - np.array([foot.radius for foot in self.robot.feet])

    def heights_around(self, q: Float[ndarray, "nq"], parameters: Parameters) -> Float[ndarray, "k"]:
        """Return heights of the ground at the points of ``SCAN`` around the robot."""
        return relative_heights(self.robot, q, np.zeros(len(SCAN)))

    # -- terms ---------------------------------------------------------------------------------------------------------
    def goes_on(self, tick: Tick) -> Scalar:
        """Return whether an episode continues; numbers that are not finite always end it."""
        fine: Scalar = tick.v @ tick.v < WILD**2
        for term in reversed(self.table.terminations):
            fine = term.value(TERMINATIONS, tick) & fine
        return fine

    def evaluate_tick(self, state: RunState, command: Command, parameters: Parameters = NONE) -> TickResult:
        tick, table = Tick(self, state, command, parameters), self.table
        values = {key: term.value(REWARDS, tick) for key, term in table.rewards.items()}
        terms = {key: self._weighted(key, value) for key, value in values.items()}
        score = values[table.score] if table.score in values else REWARDS[table.score](tick)
        return TickResult(
            observation=self.observe(state, command, parameters),
            terms=terms,
            reward=sum(terms.values()),
            fallen=fallen(tick),
            velocity=tick.velocity,
            contact=tick.contact,
            score=score,
        )

    def _weighted(self, key: str, value: Scalar) -> Scalar:
        """Return the reward of a term for a tick: at worst ``WORST`` per second, except for bounded terms."""
        weight, rate = self.weights[key], self.drive.rate
        if self.table.rewards[key].name in BOUNDED:
            return weight * value / rate
        return np.maximum(weight * value, -WORST) / rate

    def privileged(self, state: RunState, command: Command, parameters: Parameters) -> Float[ndarray, "k"] | tuple[()]:
        critic, tick = self.table.critic, Tick(self, state, command, parameters)
        return np.concatenate([term.value(CRITIC, tick) for term in critic]) if critic else ()

    @cached_property
    def privileged_count(self) -> int:
        tick = self._standing()
        return len(self.privileged(tick.state, tick.command, tick.parameters))

    def _standing(self) -> Tick:
        """Return a standing robot at the start of an episode, to try terms on."""
        robot, chance = self.robot, np.full(self.start_draws, 0.5)
        q, v = robot.state("stand")
        trunk = f"{robot.trunk}.mass"
        parameters = {"ground.friction": 0.8, trunk: robot.parameter(trunk)}
        parameters |= self.terrain(self.assign_level(0.0, chance), chance)
        state = RunState(
            tick=0.0,
            q=q,
            v=v,
            motor=np.zeros(robot.nj),
            forces=np.zeros((robot.nf, 3)),
            work=np.zeros(5),
            impulse=np.zeros((1, robot.nf, 3)),
            memory=self.controller.start(robot),
        )
        return Tick(self, state, Command(), parameters)

    def _check_terms(self) -> None:
        """Try every term on a standing robot, so that its errors are raised here, not in a trace."""
        table, tick = self.table, self._standing()
        where = f"the task '{table.name}'"
        for key, term in table.rewards.items():
            value = tried(f"the reward '{key}' of {where}", term.value, REWARDS, tick)
            if np.shape(value) != () or not np.isfinite(value):
                raise InputError(f"the reward '{key}' of {where} must be one finite number, got {_shown(value)}")
        for term in table.terminations:
            value = tried(f"the termination '{term.name}' of {where}", term.value, TERMINATIONS, tick)
            if np.shape(value) != () or np.asarray(value).dtype != bool:
                raise InputError(
                    f"the termination '{term.name}' of {where} must be True (the episode continues) or False, got"
                    f" {_shown(value)}"
                )
        for term in table.critic:
            value = tried(f"the observation '{term.name}' of {where}", term.value, CRITIC, tick)
            if np.ndim(value) != 1 or not np.isfinite(value).all():
                raise InputError(f"the observation '{term.name}' of {where} must be a vector of finite numbers")
        if table.own_draw is not None:
            drawn = tried(f"the command of {where}", table.own_draw, np.full(3, 0.5))
            if not isinstance(drawn, Command):
                raise InputError(f"the command of {where} must be a Command, got {type(drawn).__name__}")


def _shown(value: PyTree) -> str:
    return f"shape {np.shape(value)}" if np.shape(value) else repr(value)


def tried(what: str, function: Callable[..., PyTree], *arguments: PyTree) -> PyTree:
    """Return the result of a user's function for a standing robot, so that its errors are raised here, not in a
    trace.
    """
    try:
        return function(*arguments)
    except Exception as error:
        raise InputError(f"{what} raised {type(error).__name__}: {error}") from error
