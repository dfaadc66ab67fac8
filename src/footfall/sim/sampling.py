"""Predictive control by sampling: many plans are rolled out with the whole physics, and the good ones averaged.

A plan is a spline of joint targets through knots at fixed absolute times. Every planning period,

1. the state at which the new plan takes effect, one period from now, is predicted with the current plan;
2. noise is added to the knots of the current plan, once per sample;
3. all samples are rolled out at once on SIMD lanes (``rollout``), with a contact model that needs one solution per
   step (``contact.Planning``), and the cost of every step is summed;
4. the samples are averaged with weights that fall with their cost (``average``).

The model that plans may differ from the robot that is simulated: contact, step, joints, masses. Model predictive path
integral control: Williams et al. 2017; the cross-entropy method: Rubinstein 1999; predictive sampling: Howell et al.
2022. Knots at absolute times and the periodic warm start (a new knot is what was planned one gait period ago) are what
makes a few hundred samples enough.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray

import nptrace
from footfall.adapters import function_name
from footfall.checks import checked_number, positive_number, whole_number
from footfall.contact.ground import Ground
from footfall.contact.model import ContactModel
from footfall.contact.planning import Planning
from footfall.control.interface import Command, Controller, ControllerInfo, JointCommand, Sensed
from footfall.control.joint.joint_pd import Hold
from footfall.control.posture import standing_joints
from footfall.control.stand_gains import stand_gains, walk_gains
from footfall.errors import InputError, unknown
from footfall.gait.pattern import LEGS
from footfall.robot.model.description import Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.simulation import Simulation
from footfall.sim.step import integrate_step
from footfall.sim.world import World
from footfall.spatial.gravity import GRAVITY, Gravity
from nptrace._types import Given, Operand, PyTree

METHODS = ("mppi", "cem", "best")
SPLINES = ("zero", "linear", "cubic")
_SIZES = np.array([0.3, 0.6, 1.0, 1.5], np.float32)  # of the noise, mixed over the samples: fine and coarse search
_WORST = 1e9  # cost of a sample that is not finite
_DEFAULTS = {
    "spline": "cubic",
    "samples": 512,
    "knots": 6,
    "plan_rate": 50.0,
    "noise": (0.1, 0.2, 0.3),
    "collisions": False,
}
_INTERVAL, _HEIGHT = 0.08, 0.29  # [s] between knots, of a robot that stands so high [m]
_MASS = 8.9  # of a robot for which the default stiffness of planning contact is meant [kg]


# -- what is planned for -----------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Moment:
    """One step of a rollout, as a cost sees it."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    torque: Float[ndarray, "nj"]  # of the motors [N m]
    target: Float[ndarray, "nj"]  # of the joints, relative to the posture of the plan [rad]
    t: float  # [s]
    goal: Float[ndarray, "n"]  # by ``PlanningTask.goal``
    forces: Float[ndarray, "nf 3"]  # on the feet, world axes [N]
    ground: Ground  # of the rollouts


class PlanningTask(ABC):
    """What a sampling planner does: the cost of a step in plain NumPy, traced into the rollout.

    ``goal`` is called once per plan, in Python, and returns numbers that the cost may use.
    """

    gait_period: float | None = None  # [s] of a periodic motion: new knots are what was planned one period ago
    gain: float = 1.0  # factor of the gains of the joints
    settings: ClassVar[Mapping[str, Given]] = {}  # of ``Sampling``, where they are not given

    @property
    def name(self) -> str:
        """The name in messages."""
        return type(self).__name__

    @abstractmethod
    def cost(self, robot: Robot, now: Moment) -> float:
        """Return the cost of one step."""

    def start(self, robot: Robot) -> PyTree:
        """Return the first memory of ``goal``."""
        return ()

    def goal(
        self, t: float, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], command: Command, memory: PyTree
    ) -> tuple[Float[ndarray, "n"], PyTree]:
        """Return the numbers of a plan that begins at time t [s] in the state (q, v), and the next memory."""
        return np.zeros(0), memory

    def start_state(self, robot: Robot, seed: int) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]] | None:
        """Return the state in which a run of the command line starts; standing if None."""
        return None

    @property
    def simulation_options(self) -> dict[str, Given]:
        """Arguments of ``Simulation`` for a run of the command line, such as links that collide."""
        return {}

    def noise_gain(self, robot: Robot, q: Float[ndarray, "nq"]) -> float:
        """Return a factor of the noise in the state q."""
        return 1.0

    def centers(self, robot: Robot) -> Sequence[Float[ndarray, "nj"]]:
        """Return postures around which an eighth of the samples each is drawn, besides those around the last plan."""
        return ()


@dataclass(frozen=True)
class _FunctionTask(PlanningTask):
    function: Callable[[Robot, Moment], float]
    gait_period: float | None = None

    @property
    def name(self) -> str:
        return function_name(self.function)

    def cost(self, robot: Robot, now: Moment) -> float:
        return self.function(robot, now)


# -- splines -----------------------------------------------------------------------------------------------------------
def spline_weights(times: Float[ndarray, "m"], knots: int, interval: float, kind: str) -> Float[ndarray, "m k"]:
    """Return the weights of the knots at 0, interval, 2 interval, ... in a spline at some times [s].

    ``zero``: the last knot; ``linear``; ``cubic``: Catmull-Rom, through the knots.
    """
    s = np.clip(np.asarray(times, dtype=float) / interval, 0.0, knots - 1 - 1e-9)
    first = np.floor(s).astype(int)
    u, rows, B = s - first, np.arange(len(s)), np.zeros((len(s), knots))
    if kind == "zero":
        B[rows, first] = 1.0
    elif kind == "linear":
        B[rows, first], B[rows, first + 1] = 1.0 - u, u
    else:
        curve = (
            -0.5 * u + u * u - 0.5 * u**3,
            1.0 - 2.5 * u * u + 1.5 * u**3,
            0.5 * u + 2.0 * u * u - 1.5 * u**3,
            -0.5 * u * u + 0.5 * u**3,
        )
        for shift, weight in zip((-1, 0, 1, 2), curve):
            np.add.at(B, (rows, np.clip(first + shift, 0, knots - 1)), weight)
    return B


# -- rollouts ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class PlanningModel:
    """The constants of the rollouts of a planner."""

    world: World
    task: PlanningTask
    posture: Float[ndarray, "nj"]  # that targets are relative to [rad]
    kp: float
    kd: float
    dt: float  # [s]

    def step(self, q: Operand, v: Operand, target: Operand) -> tuple[State, PyTree]:
        """Return the state after a step with targets relative to the posture, and what acted."""
        nj = self.world.robot.nj
        command = JointCommand(
            position=self.posture + target,
            velocity=np.zeros(nj),
            kp=self.kp * np.ones(nj),
            kd=self.kd * np.ones(nj),
            torque=np.zeros(nj),
        )
        state = State(q, v, self.world.start(q, v))
        after, acted, _ = integrate_step("linearly_implicit", self.world, state, command, np.zeros(6), self.dt)
        return after, acted


def rollout(
    model: PlanningModel,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    knots: Float[ndarray, "k nj"],
    weights: Float[ndarray, "m k"],
    goal: Float[ndarray, "n"],
    t: float,
) -> float:
    """Return the summed cost of a plan from a state: one step for every row of spline weights."""
    robot = model.world.robot

    def body(carry: tuple[PyTree, PyTree, PyTree, PyTree], row: Operand) -> tuple[PyTree, float]:
        q, v, total, now = carry
        target = row @ knots
        after, acted = model.step(q, v, target)
        now = now + model.dt
        moment = Moment(
            q=after.q,
            v=after.v,
            torque=acted.motor,
            target=target,
            t=now,
            goal=goal,
            forces=acted.forces[: robot.nf],
            ground=model.world.ground,
        )
        return (after.q, after.v, total + model.task.cost(robot, moment), now), 0.0

    return nptrace.scan(body, (q, v, 0.0, t), weights)[0][2]


def predict(
    model: PlanningModel, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], targets: Float[ndarray, "m nj"]
) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:
    """Return the state after a step for every row of targets."""

    def body(carry: tuple[PyTree, PyTree], target: Operand) -> tuple[PyTree, float]:
        after, _ = model.step(carry[0], carry[1], target)
        return (after.q, after.v), 0.0

    return nptrace.scan(body, (q, v), targets)[0]


def average(
    method: str, costs: Float[ndarray, "n"], knots: Float[ndarray, "n k nj"], temperature: float, elite: int
) -> Float[ndarray, "k nj"]:
    """Return the next plan from samples and their costs.

    ``mppi``: all samples with weights exp(-(cost - best) / (temperature s)), s the standard deviation of the better
    half; ``cem``: the mean of the ``elite`` best; ``best``: the best sample.
    """
    if method == "best":
        return knots[np.argmin(costs)].astype(float)
    if method == "cem":
        return knots[np.argpartition(costs, elite - 1)[:elite]].mean(axis=0).astype(float)
    better = np.sort(costs)[: max(2, len(costs) // 2)]
    weights = np.exp(-(costs - better[0]) / (temperature * better.std() + 1e-9))
    return np.tensordot(weights / weights.sum(), knots, 1).astype(float)


def planning_contact(robot: Robot) -> Planning:
    """Return the contact model of a planner, as stiff as the robot is heavy.

    Args:
        robot: The robot.

    Returns:
        ``contact.Planning`` in which every robot of its size sinks as deep as a Mini Cheetah in the default.
    """
    heavier, default = robot.mass / _MASS, Planning()
    return Planning(
        stiffness=heavier * default.stiffness, damping=heavier * default.damping, slip_speed=default.slip_speed
    )


def check_cost(
    model: PlanningModel, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], goal: Float[ndarray, "n"]
) -> None:
    """Refuse a cost that fails, or that is not one number."""
    robot, what = model.world.robot, f"cost of the planning task {model.task.name}"
    moment = Moment(
        q=q,
        v=v,
        torque=np.zeros(robot.nj),
        target=np.zeros(robot.nj),
        t=0.0,
        goal=goal,
        forces=np.zeros((robot.nf, 3)),
        ground=model.world.ground,
    )
    try:
        found = model.task.cost(robot, moment)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"the {what} raised {type(error).__name__}: {error}") from error
    if np.shape(found) != ():
        raise InputError(f"the {what} must return one number, got shape {np.shape(found)}")


# -- the controller ----------------------------------------------------------------------------------------------------
@dataclass(eq=False, kw_only=True)
class _Planner:
    """What ``Sampling`` compiles before a run."""

    model: PlanningModel
    rollout: Callable[..., ndarray]
    predict: Callable[..., tuple[ndarray, ndarray]]
    lower: Float[ndarray, "nj"]  # limits of targets, relative to the posture [rad]
    upper: Float[ndarray, "nj"]
    centers: list[Float[ndarray, "nj"]]
    interval: float  # between two knots [s]
    horizon: int  # steps of a rollout


def _by_task() -> Any:
    """Return a field whose default is that of the task's ``settings``, or of ``_DEFAULTS``."""
    return field(default=None)


@dataclass(eq=False)
class Sampling(Controller):
    """Predictive control by sampling rollouts of the whole physics (MPPI, CEM, predictive sampling).

    The targets of the joints follow a spline, under PD. A plan takes effect one planning period after the state it was
    made from, so that planning may take all of its period.

    >>> def still(robot, now):
    ...     return 100.0 * (now.q[2] - 0.27) ** 2 + np.sum(now.v[:3] ** 2) + 0.2 * np.sum(now.target**2)
    >>> ff.Simulation(robot, ff.control.Sampling(still)).run(1.0)

    Args:
        task: ``cost(robot, now)`` of one step in plain NumPy (see ``Moment``), or a ``PlanningTask``, whose
            ``settings`` are the defaults of what follows.
        samples: Number of rollouts per iteration; 512 unless given.
        knots: Knots of the spline; 6 unless given.
        interval: Time between two knots [s]; 0.08 for a Mini Cheetah unless given, and in proportion to the square root
            of the standing height for other robots.
        plan_rate: Plans per second [Hz]; 50 unless given.
        rate: Rate at which the joint targets are updated [Hz].
        dt: Step of the rollouts [s].
        spline: ``zero``, ``linear`` or ``cubic``, the default.
        noise: Standard deviation of the joint targets [rad]: a number, or one per joint of a leg;
            (0.1, 0.2, 0.3) unless given.
        method: ``mppi``, ``cem`` or ``best``.
        temperature: Of ``mppi``, relative to the spread of the costs.
        elite: Of ``cem``, number of samples that are averaged; a twentieth unless given.
        iterations: Iterations per plan; the noise is halved after each.
        kp: Gain of the joints [N m/rad]; ``walk_gains`` unless given.
        kd: Gain of the joints [N m s/rad].
        pose: Joint positions that targets are relative to [rad]; the stand unless given.
        contact: Contact model of the rollouts; ``planning_contact`` unless given.
        joints: Joint effects in the rollouts; ideal joints unless given.
        ground: Ground of the rollouts; a level plane unless given.
        collisions: Links that touch the ground in the rollouts.
        self_collision: As of ``Simulation``, in the rollouts.
        model: Robot of the rollouts; the simulated one unless given.
        seed: Of the noise.
    """

    task: PlanningTask | Callable[[Robot, Moment], float]
    _: KW_ONLY
    samples: int = _by_task()
    knots: int = _by_task()
    interval: float | None = None
    plan_rate: float = _by_task()
    rate: float = 200.0
    dt: float = 0.01
    spline: str = _by_task()
    noise: float | tuple[float, ...] = _by_task()
    method: str = "mppi"
    temperature: float = 0.2
    elite: int | None = None
    iterations: int = 1
    kp: float | None = None
    kd: float | None = None
    pose: Sequence[float] | None = field(default=None)
    contact: ContactModel | None = None
    joints: JointModel | None = None
    ground: Ground | None = None
    collisions: bool | str | Sequence[str] = _by_task()
    self_collision: str | None = None
    model: Robot | None = None
    seed: int = 0

    info = ControllerInfo(traceable=False, follows_command=True)

    def __post_init__(self) -> None:
        if not isinstance(self.task, PlanningTask):
            if not callable(self.task):
                raise InputError(f"sampling takes cost(robot, now) or a PlanningTask, got {type(self.task).__name__}")
            self.task = _FunctionTask(self.task)
        for key, default in {**_DEFAULTS, **self.task.settings}.items():
            if getattr(self, key) is None:
                setattr(self, key, default)
        for key in ("plan_rate", "rate", "dt", "temperature"):
            positive_number(getattr(self, key), f"{key} of sampling")
        if self.interval is not None:
            positive_number(self.interval, "interval of sampling")
        for key, least in (("samples", 2), ("knots", 2), ("iterations", 1)):
            setattr(self, key, whole_number(getattr(self, key), f"{key} of sampling", least))
        whole_number(self.seed, "seed of sampling", 0)
        for key in ("kp", "kd"):
            if (value := getattr(self, key)) is not None:
                checked_number(value, f"{key} of sampling", 0.0)
        if self.method not in METHODS:
            raise unknown("method of sampling", self.method, METHODS)
        if self.spline not in SPLINES:
            raise unknown("spline of sampling", self.spline, SPLINES)
        for name, rate in (("rate", self.rate), ("1 / dt", 1.0 / self.dt)):
            if abs(rate / self.plan_rate - round(rate / self.plan_rate)) > 1e-9:
                raise InputError(
                    f"{name} of sampling, {rate:g} Hz, must be a multiple of its plan_rate of {self.plan_rate:g} Hz"
                )
        self.log: list[tuple[float, str]] = []
        self.plans, self.seconds = 0, 0.0  # made, and processor time that they took
        self._planner: _Planner | None = None
        self._failed = False

    def knot_interval(self, robot: Robot) -> float:
        """Return the time between two knots [s]."""
        scaled = (
            _INTERVAL * float(np.sqrt(robot.poses["stand"].height / _HEIGHT)) if "stand" in robot.poses else _INTERVAL
        )
        interval = scaled if self.interval is None else self.interval
        if interval < 1.0 / self.plan_rate - 1e-12:
            raise InputError(f"interval of sampling must be at least a planning period of {1.0 / self.plan_rate:g} s")
        return interval

    def horizon(self, robot: Robot) -> int:
        """Return the number of steps of a rollout."""
        interval = self.knot_interval(robot)
        return round((self.knots - 1) * interval / self.dt) - round((interval - 1.0 / self.plan_rate) / self.dt)

    def posture(self, robot: Robot) -> Float[ndarray, "nj"]:
        return standing_joints(robot) if self.pose is None else np.asarray(self.pose, dtype=float)

    def gains(self, robot: Robot) -> tuple[float, float]:
        """Return kp and kd of the joints."""
        assert isinstance(self.task, PlanningTask)
        walks = tuple(robot.foot_names) == LEGS and "stand" in robot.poses
        kp, kd = (self.task.gain * gain for gain in (walk_gains(robot) if walks else stand_gains(robot)))
        return (kp if self.kp is None else self.kp), (kd if self.kd is None else self.kd)

    # -- set-up ------------------------------------------------------------------------------------------------------
    def start(self, robot: Robot) -> dict[str, PyTree]:
        assert isinstance(self.task, PlanningTask)
        self.log.clear()
        self.plans, self.seconds, self._failed = 0, 0.0, False
        nothing = np.zeros((self.knots, robot.nj))
        return {
            "tick": 0,
            "knots": nothing,
            "begin": 0.0,  # time of the first knot
            "next": nothing,
            "next_begin": 0.0,
            "next_from": np.inf,  # when the next plan takes effect
            "plan": 0,
            "task": self.task.start(robot),
        }

    def prepare(self, robot: Robot, compile: Callable[..., PyTree], gravity: Gravity = GRAVITY) -> None:
        """Compile the rollouts; called by the simulation before a run."""
        assert isinstance(self.task, PlanningTask)
        plans_with = robot if self.model is None else self.model
        if plans_with.joint_names != robot.joint_names:
            raise InputError(
                f"sampling plans with '{plans_with.name}', whose joints differ from those of '{robot.name}'"
            )
        posture, (kp, kd) = self.posture(robot), self.gains(robot)
        sim = Simulation(
            plans_with,
            Hold(posture, kp=kp, kd=kd, rate=round(1.0 / self.dt)),
            dt=self.dt,
            contact=planning_contact(plans_with) if self.contact is None else self.contact,
            joints=JointModel.ideal() if self.joints is None else self.joints,
            collisions=self.collisions or False,
            self_collision=self.self_collision,
            gravity=gravity,
            ground=self.ground,
        )
        q, v = sim.q, sim.v
        model = PlanningModel(
            world=sim.model.world, task=self.task, posture=posture, kp=float(kp), kd=float(kd), dt=self.dt
        )
        goal, _ = self.task.goal(0.0, q, v, Command(), self.task.start(robot))
        goal = np.asarray(goal, dtype=float).reshape(-1)
        check_cost(model, q, v, goal)
        K, nj, S, m = self.knots, robot.nj, self.horizon(robot), round(1.0 / (self.plan_rate * self.dt))
        rolled = compile(
            rollout,
            model,
            q,
            v,
            np.zeros((K, nj)),
            np.zeros((S, K)),
            goal,
            0.0,
            target="batch",
            dtype=np.float32,
            verify=False,
        )
        ahead = compile(predict, model, q, v, np.zeros((m, nj)), verify=False)
        joints = [plans_with.joint(name) for name in robot.joint_names]
        lower, upper = (np.array([getattr(j, k) for j in joints]) - posture for k in ("lower", "upper"))
        centers = [np.asarray(c, dtype=float) - posture for c in self.task.centers(robot)]
        self._planner = _Planner(
            model=model,
            rollout=rolled,
            predict=ahead,
            lower=np.maximum(lower, -np.pi).astype(np.float32),
            upper=np.minimum(upper, np.pi).astype(np.float32),
            centers=centers,
            interval=self.knot_interval(robot),
            horizon=S,
        )

    # -- a tick ------------------------------------------------------------------------------------------------------
    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, PyTree]
    ) -> tuple[JointCommand, dict[str, PyTree]]:
        if self._planner is None:
            raise InputError("sampling must be compiled before it runs: pass it to a Simulation")
        memory = dict(memory)
        if t >= memory["next_from"] - 1e-9:
            memory["knots"], memory["begin"], memory["next_from"] = memory["next"], memory["next_begin"], np.inf
        if memory["tick"] % round(self.rate / self.plan_rate) == 0:
            began = time.process_time()
            memory = self._plan(t, robot, sensed, command, memory)
            self.seconds += time.process_time() - began
            self.plans += 1
        memory["tick"] += 1
        target = self._target(memory, np.array([t + 0.5 / self.rate]))[0]
        model = self._planner.model
        return JointCommand(model.posture + target, 0.0, model.kp, model.kd), memory

    def _target(self, memory: dict[str, PyTree], times: Float[ndarray, "m"]) -> Float[ndarray, "m nj"]:
        assert self._planner is not None
        weights = spline_weights(times - memory["begin"], self.knots, self._planner.interval, self.spline)
        return weights @ memory["knots"]

    def _plan(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, PyTree]
    ) -> dict[str, PyTree]:
        """Return the memory with a plan that takes effect one period from now."""
        planner, task = self._planner, self.task
        assert planner is not None
        assert isinstance(task, PlanningTask)
        period = 1.0 / self.plan_rate
        steps = np.arange(round(period / self.dt)) + 0.5
        q, v = planner.predict(sensed.q, sensed.v, self._target(memory, t + self.dt * steps))
        now = t + period
        goal, kept = task.goal(now, q, v, command, memory["task"])
        mean, begin = self._shifted(memory["knots"], memory["begin"], now)
        weights = spline_weights(
            now - begin + self.dt * (np.arange(planner.horizon) + 0.5), self.knots, planner.interval, self.spline
        )
        shared = [np.asarray(x, np.float32) for x in (q, v)]
        after = [weights.astype(np.float32), np.asarray(goal, np.float32).reshape(-1), np.float32(now)]
        random = np.random.Generator(np.random.Philox(key=[self.seed, memory["plan"]]))
        gain, costs = float(task.noise_gain(robot, q)), np.zeros(0)
        for iteration in range(self.iterations):
            samples = self._samples(mean, gain * 0.5**iteration, random, robot.nj, iteration == 0)
            costs = np.asarray(planner.rollout(*shared, samples, *after), dtype=float)
            costs = np.where(np.isfinite(costs), costs, _WORST)
            if costs.min() >= _WORST:
                break
            elite = self.elite or max(2, self.samples // 20)
            mean = average(self.method, costs, samples, self.temperature, min(elite, self.samples))
        lost = not len(costs) or costs.min() >= _WORST or not np.isfinite(mean).all()
        if lost:  # the robot stands, and the next plan starts from there
            mean = np.zeros_like(mean)
        if lost != self._failed:
            self._failed = lost
            if lost:
                self.log.append((t, "no sample has a finite cost: the joints go to the posture"))
        return {
            **memory,
            "next": mean,
            "next_begin": begin,
            "next_from": now,
            "plan": memory["plan"] + 1,
            "task": kept,
        }

    def _shifted(self, knots: Float[ndarray, "k nj"], begin: float, now: float) -> tuple[Float[ndarray, "k nj"], float]:
        """Return the knots with those that are over replaced by new ones at the end."""
        assert isinstance(self.task, PlanningTask)
        assert self._planner is not None
        interval = self._planner.interval
        while now - begin >= interval - 1e-9:
            new = knots[-1]
            if self.task.gait_period is not None:
                back = np.array([self.knots * interval - self.task.gait_period])
                new = spline_weights(back, self.knots, interval, self.spline)[0] @ knots
            knots, begin = np.concatenate([knots[1:], new[None]]), begin + interval
        return knots, begin

    def _samples(
        self, mean: Float[ndarray, "k nj"], gain: float, random: np.random.Generator, nj: int, first: bool
    ) -> Float[ndarray, "n k nj"]:
        """Return knots of all samples; the first of them is the last plan."""
        assert self._planner is not None
        n, K = self.samples, self.knots
        size = np.broadcast_to(np.asarray(self.noise, dtype=float), (len(np.atleast_1d(self.noise)),))
        scale = np.resize(size, nj)[None] * np.linspace(0.5, 1.0, K)[:, None]
        noise = random.standard_normal((n, K, nj), dtype=np.float32) * (gain * scale).astype(np.float32)
        noise *= random.choice(_SIZES, n)[:, None, None]
        noise[0] = 0.0
        knots = noise + mean.astype(np.float32)
        if first:
            share = n // 8
            for k, center in enumerate(self._planner.centers):
                rows = slice(n - (k + 1) * share, n - k * share)
                knots[rows] = noise[rows] + center.astype(np.float32)
                knots[rows.start] = center
        return np.clip(knots, self._planner.lower, self._planner.upper)

    @property
    def processor_time_per_plan(self) -> float:
        """The mean processor time of a plan [s]."""
        return self.seconds / max(1, self.plans)


__all__ = ["Moment", "PlanningTask", "Sampling", "average", "predict", "rollout", "spline_weights"]
