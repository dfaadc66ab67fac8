"""Predictive control by sampling: many plans are rolled out with the whole physics, and the good ones averaged.

A plan is a spline of joint targets through knots at fixed absolute times. Every planning period,

1. the state at which the new plan takes effect, one period from now, is predicted with the current plan; 2. noise is
added to the knots of the current plan, once per sample; 3. all samples are rolled out at once on SIMD lanes
(``rollout``), with a contact model that needs one solution per step (``contact.Planning``), and the cost of every step
is summed; 4. the samples are averaged with weights that decrease with their cost (``average``).

The model that plans may differ from the robot that is simulated: contact, step, joints, masses. Model predictive path
integral control: Williams et al. 2017; the cross-entropy method: Rubinstein 1999; predictive sampling: Howell et al.
2022. Because of knots at absolute times and the periodic warm start (a new knot repeats the plan of one gait period
ago), a few hundred samples suffice.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property, partial
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

import nptrace
from footfall import compiling
from footfall.adapters import function_name
from footfall.checks import checked_number, positive_number, whole_number
from footfall.contact.ground import Ground
from footfall.contact.model import ContactModel
from footfall.contact.planning import Planning
from footfall.control.interface import Command, Controller, ControllerInfo, JointCommand, Sensed, as_controller
from footfall.control.joint.joint_pd import Hold
from footfall.control.posture import standing_joints
from footfall.control.stand_gains import stand_gains, walk_gains
from footfall.errors import InputError, unknown
from footfall.gait.pattern import LEGS
from footfall.kinematics.forward import foot_positions
from footfall.parameters import look_up, replaced
from footfall.robot.model.description import Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.simulation import Simulation
from footfall.sim.step import integrate_step
from footfall.sim.world import World
from footfall.spatial.gravity import GRAVITY, STANDARD, Gravity
from footfall.spatial.quaternion import conjugate, multiply, rotated, rotation_vector
from nptrace._types import Given, Operand, PyTree
from nptrace.array_types import Float
from nptrace.frontend import tree

METHODS = ("mppi", "cem", "best")
SPLINES = ("zero", "linear", "cubic")
# scales of the noise, mixed over the samples: fine and coarse search
_SIZES = np.array([0.3, 0.6, 1.0, 1.5], np.float32)
_WORST = 1e9  # cost of a sample that is not finite
_DEFAULTS = {
    "spline": "cubic",
    "samples": 512,
    "knots": 6,
    "plan_rate": 50.0,
    "noise": (0.1, 0.2, 0.3),
    "collisions": False,
}
_INTERVAL, _HEIGHT = 0.08, 0.29  # [s] between knots, for a robot of this height [m]
_MOST_CORRECTED = 0.3  # largest change of a value of the plan by feedback
_MASS = 8.9  # mass of a robot for which the default stiffness of planning contact is meant [kg]


# -- what is planned for -----------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Moment:
    """One step of a rollout, as seen by a cost."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    torque: Float[ndarray, "nj"]  # torques of the motors [N m]
    target: Float[ndarray, "np"]  # values of the plan: joint targets relative to its posture [rad] by default
    t: float  # [s]
    goal: Float[ndarray, "n"]  # from ``PlanningTask.goal``
    forces: Float[ndarray, "nf 3"]  # forces on the feet, world axes [N]
    ground: Ground  # ground of the rollouts
    weights: Mapping[str, float] = field(default_factory=dict)  # weights of the task's terms


class PlanningTask(ABC):
    """A task of a sampling planner: the cost of a step in plain NumPy, traced into the rollout.

    ``goal`` is called once per plan, in Python, and returns numbers that the cost may use.
    """

    gait_period: float | None = None  # [s], period of a periodic motion: new knots repeat the plan of one period ago
    gain: float = 1.0  # factor on the gains of the joints
    settings: ClassVar[Mapping[str, Given]] = {}  # defaults of ``Sampling``
    # weights of the cost's terms; ``Sampling.weights`` may change during a run
    weights: ClassVar[Mapping[str, float]] = {}

    @property
    def name(self) -> str:
        """Return the name used in messages."""
        return type(self).__name__

    @abstractmethod
    def cost(self, robot: Robot, now: Moment) -> float:
        """Return the cost of one step."""

    def terminal(self, robot: Robot, now: Moment) -> float:
        """Return the value of the state at the end of a rollout, added to the costs of its steps; torques are zero."""
        return 0.0

    def start(self, robot: Robot) -> PyTree:
        """Return the initial memory of ``goal``."""
        return ()

    def goal(
        self, t: float, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], command: Command, memory: PyTree
    ) -> tuple[Float[ndarray, "n"], PyTree]:
        """Return the goal of a plan that starts at time t [s] in the state (q, v), and the next memory."""
        return np.zeros(0), memory

    def start_state(self, robot: Robot, seed: int) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]] | None:
        """Return the state in which a run on the command line starts; standing if None."""
        return None

    def terrain_of(self, friction: float) -> Ground | None:
        """Return the ground that the task is meant for, used if a run on the command line is on a plane."""
        return None

    @property
    def simulation_options(self) -> dict[str, Given]:
        """Return arguments of ``Simulation`` for a run on the command line, such as colliding links."""
        return {}

    def noise_gain(self, robot: Robot, q: Float[ndarray, "nq"]) -> float:
        """Return a factor on the noise in the state q."""
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


# -- what a plan holds -------------------------------------------------------------------------------------------------
class Planned(ABC):
    """The quantity that the splines of a plan represent, and its conversion to joint commands."""

    @abstractmethod
    def size(self, robot: Robot) -> int:
        """Return the number of values in a knot."""

    def start(self, robot: Robot) -> PyTree:
        """Return the initial memory of ``command``."""
        return ()

    def limits(self, robot: Robot) -> tuple[Float[ndarray, "np"], Float[ndarray, "np"]]:
        """Return the smallest and largest values of a knot."""
        return np.full(self.size(robot), -np.inf), np.full(self.size(robot), np.inf)

    def at_rate(self, rate: float) -> Planned:
        """Return the planned quantity for rollouts at a given rate [Hz]."""
        return self

    @abstractmethod
    def command(
        self,
        model: PlanningModel,
        t: float,
        sensed: Sensed,
        values: Float[ndarray, "np"],
        command: Command,
        memory: PyTree,
    ) -> tuple[JointCommand, PyTree]:
        """Return the joint command for values of the plan, and the next memory; traced into rollouts."""


@dataclass(frozen=True)
class JointTargets(Planned):
    """Joint targets relative to a posture [rad], under joint PD."""

    def size(self, robot: Robot) -> int:
        return robot.nj

    def limits(self, robot: Robot) -> tuple[Float[ndarray, "np"], Float[ndarray, "np"]]:
        joints = [robot.joint(name) for name in robot.joint_names]
        lower, upper = (np.array([getattr(j, k) for j in joints], dtype=float) for k in ("lower", "upper"))
        return lower, upper

    def command(
        self,
        model: PlanningModel,
        t: float,
        sensed: Sensed,
        values: Float[ndarray, "np"],
        command: Command,
        memory: PyTree,
    ) -> tuple[JointCommand, PyTree]:
        return JointCommand(position=model.posture + values, velocity=0.0, kp=model.kp, kd=model.kd), memory


@dataclass(frozen=True)
class JointTorques(Planned):
    """Motor torques in units of the robot's weight times its height, added to soft joint PD about the posture."""

    stiffness: float = 0.3  # fraction of the planner's kp
    damping: float = 1.0  # fraction of the planner's kd

    def size(self, robot: Robot) -> int:
        return robot.nj

    def unit(self, robot: Robot) -> float:
        """Return the torque of a knot value of one [N m]."""
        return robot.mass * STANDARD * robot.poses["stand"].height

    def limits(self, robot: Robot) -> tuple[Float[ndarray, "np"], Float[ndarray, "np"]]:
        given = {a.joint: a.torque_limit for a in robot.actuators}
        most = np.array([given.get(name, np.inf) for name in robot.joint_names]) / self.unit(robot)
        return -most, most

    def command(
        self,
        model: PlanningModel,
        t: float,
        sensed: Sensed,
        values: Float[ndarray, "np"],
        command: Command,
        memory: PyTree,
    ) -> tuple[JointCommand, PyTree]:
        robot = model.world.robot
        soft = {"kp": self.stiffness * model.kp, "kd": self.damping * model.kd}
        return JointCommand(position=model.posture, torque=self.unit(robot) * values, **soft), memory


_COMPONENTS = tuple(f.name for f in fields(Command))


@dataclass(frozen=True, eq=False)
class ControllerParameters(Planned):
    """Numbers of a traceable controller, added to its own values.

    >>> trot = ff.control.JointPD.tuned(robot, "trot")
    >>> ff.control.ControllerParameters(trot, ("gait.height", "kp"))

    Args:
        controller: The controller; plain NumPy without hidden state.
        names: A component of its command (``command.forward``), one of its numbers by its path (``gait.height``),
            or ``residual``: offsets to its joint targets, one for each joint [rad].
        scale: Change for a knot value of one, for each name; 1 unless given.
    """

    controller: Controller
    names: tuple[str, ...] = ("residual",)
    scale: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        as_controller(self.controller, "parameters of a controller: ")
        set_ = object.__setattr__
        set_(self, "names", tuple(self.names))
        set_(self, "scale", (1.0,) * len(self.names) if self.scale is None else tuple(map(float, self.scale)))
        if not self.names or len(self.scale or ()) != len(self.names):
            raise InputError("parameters of a controller need at least one name, and a scale for each of them")
        for name in self.names:
            head, _, rest = name.partition(".")
            if head == "command":
                if rest not in _COMPONENTS:
                    raise unknown("component of a command", rest, _COMPONENTS)
            elif name != "residual" and np.shape(look_up(self.controller, name, "controller")) != ():
                raise InputError(f"{name} of the controller is not one number")

    def size(self, robot: Robot) -> int:
        return sum(robot.nj if name == "residual" else 1 for name in self.names)

    def start(self, robot: Robot) -> PyTree:
        return self.controller.start(robot)

    def at_rate(self, rate: float) -> Planned:
        return replace(self, controller=replace(self.controller, rate=rate))  # type: ignore[type-var]

    def command(
        self,
        model: PlanningModel,
        t: float,
        sensed: Sensed,
        values: Float[ndarray, "np"],
        command: Command,
        memory: PyTree,
    ) -> tuple[JointCommand, PyTree]:
        robot, controller, residual, at = model.world.robot, self.controller, np.zeros(model.world.robot.nj), 0
        for name, scale in zip(self.names, self.scale or ()):
            if name == "residual":
                residual, at = scale * values[at : at + robot.nj], at + robot.nj
                continue
            change, (head, _, rest), at = scale * values[at], name.partition("."), at + 1
            if head == "command":
                command = replace(command, **{rest: getattr(command, rest) + change})
            else:
                controller = replaced(controller, name, look_up(controller, name, "controller") + change)
        joint_command, memory = controller(t, robot, sensed, command, memory)
        joint_command = joint_command.broadcast(robot.nj)
        return replace(joint_command, position=joint_command.position + residual), memory


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
    """The constants of a planner's rollouts."""

    world: World
    task: PlanningTask
    posture: Float[ndarray, "nj"]  # posture that targets are relative to [rad]
    kp: float
    kd: float
    dt: float  # [s]

    planned: Planned = field(default_factory=JointTargets)

    def step(
        self, t: Operand, q: Operand, v: Operand, values: Operand, command: Operand, memory: PyTree
    ) -> tuple[State, PyTree, PyTree]:
        """Return the state after a step with values of a plan, the acting forces, and the next memory."""
        robot = self.world.robot
        sensed = Sensed(q=q, v=v, forces=np.zeros((robot.nf, 3)), gravity=self.world.gravity)
        wanted = Command(**{name: command[k] for k, name in enumerate(_COMPONENTS)})
        joint_command, memory = self.planned.command(self, t, sensed, values, wanted, memory)
        state = State(q, v, self.world.start(q, v))
        after, acted, _ = integrate_step(
            "linearly_implicit", self.world, state, joint_command.broadcast(robot.nj), np.zeros(6), self.dt
        )
        return after, acted, memory

    def moment(self, t: Operand, q: Operand, v: Operand, acted: PyTree, values: Operand, goal: Operand) -> Moment:
        """Return the input of a cost for a step; without forces where none acted."""
        robot, names = self.world.robot, tuple(self.task.weights)
        n = goal.shape[0] - len(names)  # the weights follow the goal
        return Moment(
            q=q,
            v=v,
            torque=np.zeros(robot.nj) if acted is None else acted.motor,
            target=values,
            t=t,
            goal=goal[:n],
            forces=np.zeros((robot.nf, 3)) if acted is None else acted.forces[: robot.nf],
            ground=self.world.ground,
            weights={name: goal[n + k] for k, name in enumerate(names)},
        )


def rollout(
    model: PlanningModel,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    knots: Float[ndarray, "k np"],
    weights: Float[ndarray, "m k"],
    goal: Float[ndarray, "n"],
    t: float,
    command: Float[ndarray, "6"],
    memory: PyTree,
) -> float:
    """Return the summed cost of a plan from a state: one step for every row of spline weights."""
    robot, task = model.world.robot, model.task

    def body(carry: tuple[PyTree, ...], row: Operand) -> tuple[PyTree, float]:
        q, v, total, now, memory = carry
        values = row @ knots
        after, acted, memory = model.step(now, q, v, values, command, memory)
        now = now + model.dt
        moment = model.moment(now, after.q, after.v, acted, values, goal)
        return (after.q, after.v, total + task.cost(robot, moment), now, memory), 0.0

    q, v, total, now, _ = nptrace.scan(body, (q, v, 0.0, t, memory), weights)[0]
    if type(task).terminal is PlanningTask.terminal:
        return total
    return total + task.terminal(robot, model.moment(now, q, v, None, weights[-1] @ knots, goal))


def predict(
    model: PlanningModel,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    values: Float[ndarray, "m np"],
    t: float,
    command: Float[ndarray, "6"],
    memory: PyTree,
) -> tuple[tuple[Float[ndarray, "nq"], Float[ndarray, "nv"], PyTree], tuple[PyTree, PyTree]]:
    """Return (state and memory after a step for every row of values, the states after each of them)."""

    def body(carry: tuple[PyTree, ...], row: Operand) -> tuple[PyTree, tuple[PyTree, PyTree]]:
        q, v, now, memory = carry
        after, _, memory = model.step(now, q, v, row, command, memory)
        return (after.q, after.v, now + model.dt, memory), (after.q, after.v)

    (q, v, _, memory), path = nptrace.scan(body, (q, v, t, memory), values)
    return (q, v, memory), path


def foresee(
    model: PlanningModel,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    values: Float[ndarray, "m np"],
    t: float,
    command: Float[ndarray, "6"],
    memory: PyTree,
) -> Float[ndarray, "m p 3"]:
    """Return the positions of the base and of all feet after a step for every row of values [m]."""
    robot = model.world.robot

    def body(carry: tuple[PyTree, ...], row: Operand) -> tuple[PyTree, PyTree]:
        q, v, now, memory = carry
        after, _, memory = model.step(now, q, v, row, command, memory)
        places = np.concatenate([after.q[None, :3], foot_positions(robot, after.q)])
        return (after.q, after.v, now + model.dt, memory), places

    return nptrace.scan(body, (q, v, t, memory), values)[1]


def average(
    method: str, costs: Float[ndarray, "n"], knots: Float[ndarray, "n k nj"], temperature: float, elite: int
) -> Float[ndarray, "k nj"]:
    """Return the next plan from samples and their costs.

    ``mppi``: all samples with weights exp(-(cost - best) / (temperature s)), where s is the standard deviation of the
    better half; ``cem``: the mean of the ``elite`` best; ``best``: the best sample.
    """
    if method == "best":
        return knots[np.argmin(costs)].astype(float)
    if method == "cem":
        return knots[np.argpartition(costs, elite - 1)[:elite]].mean(axis=0).astype(float)
    better = np.sort(costs)[: max(2, len(costs) // 2)]
    weights = np.exp(-(costs - better[0]) / (temperature * better.std() + 1e-9))
    return np.tensordot(weights / weights.sum(), knots, 1).astype(float)


def feedback_gains(
    costs: Float[ndarray, "n"],
    knots: Float[ndarray, "n k np"],
    changes: Float[ndarray, "n x"],
    scale: float,
) -> Float[ndarray, "k np x"]:
    """Return the derivative of the plan of ``mppi`` with respect to its initial state.

    Belvedere et al. 2025 (Feedback-MPPI), eq. (12): the weights of samples change with their costs.

    Args:
        costs: Costs of the best samples.
        knots: Their knots.
        changes: Derivatives of their costs with respect to the state.
        scale: Scale of the weights exp(-cost / scale).

    Returns:
        The change of every knot with the state.
    """
    weights = np.exp(-(costs - costs.min()) / scale)
    weights /= weights.sum()
    off = changes - weights @ changes
    return -np.tensordot(weights[:, None, None] * knots, off, (0, 0)) / scale


@dataclass(eq=False)
class ThreadedRollouts:
    """Rollouts on SIMD lanes, with the samples distributed over threads."""

    compiled: Callable[..., ndarray]
    threads: int

    def __post_init__(self) -> None:
        self.pool = ThreadPoolExecutor(self.threads)

    def __call__(self, q: ndarray, v: ndarray, knots: ndarray, *shared: PyTree) -> ndarray:
        parts = np.array_split(np.arange(len(knots)), min(self.threads, len(knots)))

        def part(rows: ndarray) -> ndarray:
            return self.compiled(*(x if x.ndim == 1 else x[rows] for x in (q, v)), knots[rows], *shared)

        return np.concatenate(list(self.pool.map(part, parts)))


class CudaRollouts:
    """Rollouts on a GPU, one thread per sample; knots and costs stay on the GPU."""

    KERNEL = "footfall_rollout"

    def __init__(self, model: PlanningModel, *examples: PyTree, block: int = 64) -> None:
        from nptrace.codegen import cuda, emit

        sizes = [sum(int(np.size(x)) for x in tree.flatten(each)[0]) for each in examples]
        program = compiling.program(rollout, model, *examples)
        areas = ["rest" if k == 2 else "shared" for k in range(len(sizes))]  # only the knots differ
        self.layout, self.program, self.block = emit.Layout(tuple(zip(areas, sizes))), program, block
        self.text = cuda.source(program, self.layout, self.KERNEL, np.float32, block)

    def numbers(self, q: ndarray, v: ndarray, *shared: PyTree) -> Float[ndarray, "n"]:
        """Return the common input of all samples as one row of numbers."""
        leaves = tree.flatten((q, v, *shared))[0]
        return np.concatenate([np.ravel(np.asarray(x, np.float32)) for x in leaves])

    @cached_property
    def launch(self) -> Any:
        """Return the kernel, compiled on the GPU."""
        from footfall.sim.gpu import OPTIONS, cupy

        module = cupy().RawModule(code=self.text, options=OPTIONS, backend="nvrtc")
        return module.get_function(f"{self.KERNEL}_evaluate")

    def __call__(self, q: ndarray, v: ndarray, knots: Any, *shared: PyTree) -> Any:
        from footfall.sim.gpu import cupy

        xp, n = cupy(), len(knots)
        rest = xp.ascontiguousarray(xp.asarray(knots, xp.float32).reshape(n, -1).T)
        out, nothing = xp.empty((1, n), xp.float32), xp.zeros(1, xp.float32)
        arguments = nothing, rest, xp.asarray(self.numbers(q, v, *shared)), out, np.int32(n)
        self.launch((-(-n // self.block),), (self.block,), arguments)
        return out[0]


def planning_contact(robot: Robot) -> Planning:
    """Return the contact model of a planner, with a stiffness scaled to the robot's mass.

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
    """Raise for a cost that fails, or that does not return one number."""
    robot, what = model.world.robot, f"cost of the planning task {model.task.name}"
    moment = model.moment(0.0, q, v, None, np.zeros(model.planned.size(robot)), goal)
    try:
        found = [model.task.cost(robot, moment), model.task.terminal(robot, moment)]
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"the {what} raised {type(error).__name__}: {error}") from error
    for each in found:
        if np.shape(each) != ():
            raise InputError(f"the {what} must return one number, got shape {np.shape(each)}")


# -- the controller ----------------------------------------------------------------------------------------------------
@dataclass(eq=False, kw_only=True)
class _Planner:
    """The compiled parts of ``Sampling``."""

    model: PlanningModel
    rollout: Callable[..., ndarray]
    predict: Callable[..., tuple[ndarray, ndarray]]
    lower: Float[ndarray, "np"]  # limits of the values of a plan
    upper: Float[ndarray, "np"]
    centers: list[Float[ndarray, "np"]]
    start: PyTree  # initial memory of the planned quantity
    act: Callable[..., tuple[JointCommand, PyTree]]  # joint command for values of the plan
    interval: float  # time between two knots [s]
    horizon: int  # steps of a rollout
    foresee: Callable[..., ndarray] | None = None  # for pictures


_PLANNED: dict[str, type[Planned]] = {"targets": JointTargets, "torques": JointTorques}
_CHANGE = 1e-2  # changes of a state for derivatives of costs in single precision [m, rad, m/s, rad/s]


def _checked_noise(given: Given) -> Float[ndarray, "*k n"]:
    """Return the noise as an array of at least one axis; raise if it is not valid."""
    try:
        noise = np.atleast_1d(np.array(given, dtype=float))
    except (TypeError, ValueError):
        noise = np.full(1, np.nan)
    if noise.ndim > 2 or not noise.size or not (noise >= 0.0).all() or not np.isfinite(noise).all():
        raise InputError(f"noise of sampling must be numbers of at least 0, one row or a row per knot, got {given!r}")
    return noise


def _here(array: Any) -> ndarray:
    """Return an array of the processor or of a GPU as a NumPy array."""
    return array.get() if hasattr(array, "get") else np.asarray(array)


def _array_module(array: Any) -> Any:
    """Return NumPy, or CuPy for an array on a GPU."""
    return np if isinstance(array, ndarray) else import_module("cupy")


def _by_task() -> Any:
    """Return a field whose default comes from the task's ``settings``, or from ``_DEFAULTS``."""
    return field(default=None)


@dataclass(eq=False)
class Sampling(Controller):
    """Predictive control by sampling rollouts of the whole physics (MPPI, CEM, predictive sampling).

    The joint targets, or other ``planned`` values, follow a spline. A plan takes effect one planning period
    after the state it was made from, so that planning may take all of its period.

    >>> def still(robot, now):
    ...     return 100.0 * (now.q[2] - 0.27) ** 2 + np.sum(now.v[:3] ** 2) + 0.2 * np.sum(now.target**2)
    >>> ff.Simulation(robot, ff.control.Sampling(still)).run(1.0)

    Args:
        task: ``cost(robot, now)`` of one step in plain NumPy (see ``Moment``), or a ``PlanningTask``, whose
            ``settings`` are the defaults of the following arguments.
        samples: Number of rollouts per iteration; 512 unless given.
        knots: Knots of the spline; 6 unless given.
        interval: Time between two knots [s]; 0.08 for a Mini Cheetah unless given, and in proportion to the square root
            of the standing height for other robots.
        plan_rate: Plans per second [Hz]; 50 unless given.
        rate: Rate at which the joint targets are updated [Hz].
        dt: Step of the rollouts [s].
        spline: ``zero``, ``linear`` or ``cubic``, the default.
        noise: Standard deviation of the values of a knot: a number, one per joint of a leg, or a row of them per knot;
            (0.1, 0.2, 0.3) rad unless given.
        method: ``mppi``, ``cem`` or ``best``.
        temperature: Temperature of ``mppi``, relative to the spread of the costs.
        elite: Number of samples that ``cem`` averages; a twentieth unless given.
        iterations: Iterations per plan; the noise is halved after each, and with ``cem`` it becomes that of the best.
        planned: Quantity that the splines represent: ``targets`` of the joints, ``torques``, or a ``Planned`` such as
            ``ControllerParameters``.
        feedback: Number of best samples from which the derivative of the plan with respect to the state is computed,
            which corrects the plan in every tick; none unless given.
        kp: Gain of the joints [N m/rad]; ``walk_gains`` unless given.
        kd: Gain of the joints [N m s/rad].
        pose: Joint positions that targets are relative to [rad]; the stand unless given.
        contact: Contact model of the rollouts; ``planning_contact`` unless given.
        joints: Joint effects in the rollouts; ideal joints unless given.
        ground: Ground of the rollouts; a level plane unless given.
        collisions: Links that touch the ground in the rollouts.
        self_collision: Mode of self-collision in the rollouts, as in ``Simulation``.
        model: Robot of the rollouts; the simulated one unless given.
        device: ``cpu``, or ``cuda`` for samples on a GPU.
        threads: Threads of the processor that roll out samples.
        background: Plan in a separate thread, in parallel with the ticks: for robots and pages in real time.
        seed: Seed of the noise.
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
    planned: Planned | str = "targets"
    feedback: int = 0
    device: str = "cpu"
    threads: int = 1
    background: bool = False
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
        self.feedback = whole_number(self.feedback, "feedback of sampling", 0, self.samples)
        self.threads = whole_number(self.threads, "threads of sampling", 1, 1024)
        if self.device not in ("cpu", "cuda"):
            raise unknown("device of sampling", self.device, ("cpu", "cuda"))
        if self.device == "cuda" and self.feedback:
            raise InputError("feedback of sampling needs the device cpu")
        if isinstance(self.planned, str):
            if self.planned not in _PLANNED:
                raise unknown("contents of a plan", self.planned, _PLANNED)
            self.planned = _PLANNED[self.planned]()
        if not isinstance(self.planned, Planned):
            raise InputError(f"planned of sampling must be one of {', '.join(_PLANNED)}, or a Planned")
        self._noise_rows = _checked_noise(self.noise)
        if self.method not in METHODS:
            raise unknown("method of sampling", self.method, METHODS)
        if self.spline not in SPLINES:
            raise unknown("spline of sampling", self.spline, SPLINES)
        for name, rate in (("rate", self.rate), ("1 / dt", 1.0 / self.dt)):
            if abs(rate / self.plan_rate - round(rate / self.plan_rate)) > 1e-9:
                raise InputError(
                    f"{name} of sampling, {rate:g} Hz, must be a multiple of its plan_rate of {self.plan_rate:g} Hz"
                )
        self.weights = dict(self.task.weights)  # may be changed during a run
        self.log: list[tuple[float, str]] = []
        self.plans, self.seconds = 0, 0.0  # number of plans, and processor time spent on them
        self._planner: _Planner | None = None
        self._pool = ThreadPoolExecutor(1) if self.background else None
        self._pending: Future[dict[str, PyTree]] | None = None
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

    def goal_now(self, goal: Given) -> Float[ndarray, "n"]:
        """Return the task's goal, followed by the present weights."""
        values = [float(self.weights[name]) for name in self.weights]
        return np.concatenate([np.asarray(goal, dtype=float).reshape(-1), values])

    # -- set-up ------------------------------------------------------------------------------------------------------
    def start(self, robot: Robot) -> dict[str, PyTree]:
        assert isinstance(self.task, PlanningTask)
        self.log.clear()
        if self._pending is not None:  # from an interrupted run
            self._pending.result()
        self.plans, self.seconds, self._failed, self._pending = 0, 0.0, False, None
        planned = self.planned
        assert isinstance(planned, Planned)
        nothing = np.zeros((self.knots, planned.size(robot)))
        return {
            "tick": 0,
            "knots": nothing,
            "begin": 0.0,  # time of the first knot
            "next": nothing,
            "next_begin": 0.0,
            "next_from": np.inf,  # time at which the next plan takes effect
            "plan": 0,
            "task": self.task.start(robot),
            "inner": planned.start(robot),  # memory of the planned quantity
            "gains": None,  # derivative of the present plan with respect to the state, and the states that it predicts
            "next_gains": None,
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
        planned = self.planned
        assert isinstance(planned, Planned)
        model = PlanningModel(
            world=sim.model.world,
            task=self.task,
            posture=posture,
            kp=float(kp),
            kd=float(kd),
            dt=self.dt,
            planned=planned.at_rate(1.0 / self.dt),
        )
        goal = self.goal_now(*self.task.goal(0.0, q, v, Command(), self.task.start(robot))[:1])
        check_cost(model, q, v, goal)
        size, S, m = planned.size(robot), self.horizon(robot), round(1.0 / (self.plan_rate * self.dt))
        if self._noise_rows.shape[-1] > size or (self._noise_rows.ndim == 2 and len(self._noise_rows) != self.knots):
            raise InputError(
                f"noise of sampling has shape {self._noise_rows.shape}, which does not fit {self.knots} knots of {size}"
            )
        first, wanted = planned.start(robot), np.zeros(len(_COMPONENTS))
        examples = q, v, np.zeros((self.knots, size)), np.zeros((S, self.knots)), goal, 0.0, wanted, first
        rolled: Callable[..., Any]
        if self.device == "cuda":
            rolled = CudaRollouts(model, *examples)
            _ = rolled.launch
        else:
            rolled = compile(rollout, model, *examples, target="batch", dtype=np.float32, verify=False)
            rolled = rolled if self.threads == 1 else ThreadedRollouts(rolled, self.threads)
        ahead = compile(predict, model, q, v, np.zeros((m, size)), 0.0, wanted, first, verify=False)
        act: Callable[..., tuple[JointCommand, PyTree]] = partial(planned.command, model)
        if not isinstance(planned, JointTargets | JointTorques):
            sensed = Sensed(q=q, v=v, forces=np.zeros((robot.nf, 3)), gravity=gravity)
            ticks = planned.at_rate(self.rate)
            act = compile(
                ticks.command,
                replace(model, planned=ticks),
                0.0,
                sensed,
                np.zeros(size),
                Command(),
                first,
                verify=False,
            )
        lower, upper = planned.limits(plans_with)
        away = posture if isinstance(planned, JointTargets) else np.zeros(size)
        centers = [np.asarray(c, dtype=float) - posture for c in self.task.centers(robot)]
        self._planner = _Planner(
            model=model,
            rollout=rolled,
            predict=ahead,
            act=act,
            start=first,
            lower=np.maximum(lower - away, -np.pi).astype(np.float32),
            upper=np.minimum(upper - away, np.pi).astype(np.float32),
            centers=centers if isinstance(planned, JointTargets) else [],
            interval=self.knot_interval(robot),
            horizon=S,
        )

    # -- a tick ------------------------------------------------------------------------------------------------------
    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, PyTree]
    ) -> tuple[JointCommand, dict[str, PyTree]]:
        if self._planner is None:
            raise InputError("sampling must be compiled before it runs: pass it to a Simulation")
        memory, planner = dict(memory), self._planner
        if t >= memory["next_from"] - 1e-9:
            if self._pending is not None:  # planned meanwhile in another thread
                made, self._pending = self._pending.result(), None
                memory |= {key: made[key] for key in ("next", "next_begin", "next_gains", "task")}
            memory["knots"], memory["begin"], memory["next_from"] = memory["next"], memory["next_begin"], np.inf
            memory["gains"], memory["next_gains"] = memory["next_gains"], None
        if memory["tick"] % round(self.rate / self.plan_rate) == 0:
            given = t, robot, sensed, command, dict(memory)
            if self._pool is None:
                memory = self._timed_plan(*given)
            else:
                self._pending = self._pool.submit(self._timed_plan, *given)
                memory |= {"next_from": t + 1.0 / self.plan_rate, "plan": memory["plan"] + 1}
        memory["tick"] += 1
        values = self._values(memory, np.array([t + 0.5 / self.rate]))[0]
        if memory["gains"] is not None:
            values = np.clip(values + self._correction(t, sensed, memory), planner.lower, planner.upper)
        joint_command, memory["inner"] = planner.act(t, sensed, values, command, memory["inner"])
        return joint_command, memory

    def _timed_plan(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, PyTree]
    ) -> dict[str, PyTree]:
        clock = time.thread_time if self.threads == 1 else time.process_time
        began = clock()
        made = self._plan(t, robot, sensed, command, memory)
        self.seconds, self.plans = self.seconds + clock() - began, self.plans + 1
        return made

    def _values(self, memory: dict[str, PyTree], times: Float[ndarray, "m"]) -> Float[ndarray, "m np"]:
        assert self._planner is not None
        weights = spline_weights(times - memory["begin"], self.knots, self._planner.interval, self.spline)
        return weights @ memory["knots"]

    def _correction(self, t: float, sensed: Sensed, memory: dict[str, PyTree]) -> Float[ndarray, "np"]:
        """Return the correction of the plan for the deviation of the state from its prediction."""
        assert self._planner is not None
        gains, begin, path = memory["gains"]
        q, v = (rows[min(max(round((t - begin) / self.dt), 0), len(rows) - 1)] for rows in path)
        turned = rotation_vector(multiply(conjugate(q[3:7]), sensed.q[3:7]))
        off = np.concatenate([sensed.q[:3] - q[:3], turned, sensed.q[7:] - q[7:], sensed.v - v])
        at = np.array([t + 0.5 / self.rate - memory["begin"]])
        weights = spline_weights(at, self.knots, self._planner.interval, self.spline)[0]
        return np.clip(np.tensordot(weights, gains, 1) @ off, -_MOST_CORRECTED, _MOST_CORRECTED)

    def _plan(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, PyTree]
    ) -> dict[str, PyTree]:
        """Return the memory with a plan that takes effect one period from now."""
        planner, task = self._planner, self.task
        assert planner is not None
        assert isinstance(task, PlanningTask)
        period = 1.0 / self.plan_rate
        steps, wanted = np.arange(round(period / self.dt)) + 0.5, np.array([getattr(command, x) for x in _COMPONENTS])
        values = self._values(memory, t + self.dt * steps)
        (q, v, inner), _ = planner.predict(sensed.q, sensed.v, values, t, wanted, memory["inner"])
        now = t + period
        goal, kept = task.goal(now, q, v, command, memory["task"])
        mean, begin = self._shifted(memory["knots"], memory["begin"], now)
        weights = spline_weights(
            now - begin + self.dt * (np.arange(planner.horizon) + 0.5), self.knots, planner.interval, self.spline
        )
        after = [weights.astype(np.float32), np.float32(self.goal_now(goal)), np.float32(now)]
        after += [wanted.astype(np.float32), inner]

        def cost(q: ndarray, v: ndarray, knots: Any) -> Any:
            found = planner.rollout(q.astype(np.float32), v.astype(np.float32), knots, *after)
            found = found.astype(float)
            return np.where(np.isfinite(found), found, _WORST)

        random = self._generator(memory["plan"])
        size, elite = self._noise(mean, float(task.noise_gain(robot, q))), self.elite or max(2, self.samples // 20)
        elite, last, candidates, gains = min(elite, self.samples), mean, list[ndarray](), None
        for iteration in range(self.iterations):
            samples = self._samples(mean, size, random, iteration == 0)
            costs = cost(q, v, samples)
            if costs.min() >= _WORST:
                break
            mean = _here(average(self.method, costs, samples, self.temperature, elite))
            size = 0.5 * size
            if self.method == "cem":
                spread = _here(samples[np.argpartition(costs, elite - 1)[:elite]].std(axis=0))
                size = np.maximum(0.3 * size, np.minimum(spread, 2.0 * size)).astype(np.float32)
            candidates = [mean, _here(samples[np.argmin(costs)])]
        chosen, lost = self._feasible([*candidates, last, np.zeros_like(last)], lambda knots: _here(cost(q, v, knots)))
        if lost:  # the robot stands, and the next plan starts from there
            chosen = np.zeros_like(mean)
        elif self.feedback:
            gains = self._gains(q, v, samples, costs, cost)
        if lost != self._failed:
            self._failed = lost
            if lost:
                self.log.append((t, "no sample has a finite cost: the joints go to the posture"))
        found = {
            **memory,
            "next": chosen,
            "next_begin": begin,
            "next_from": now,
            "plan": memory["plan"] + 1,
            "task": kept,
            "next_gains": None,
        }
        if gains is not None:
            values = self._values({"knots": chosen, "begin": begin}, now + self.dt * steps)
            _, (qs, vs) = planner.predict(q, v, values, now, wanted, inner)
            found["next_gains"] = gains, now, (np.vstack([q, qs]), np.vstack([v, vs]))
        return found

    def _feasible(
        self, candidates: list[Float[ndarray, "k np"]], cost: Callable[[ndarray], Float[ndarray, "n"]]
    ) -> tuple[Float[ndarray, "k np"], bool]:
        """Return the first acceptable one of (new plan, best sample, last plan, posture), and whether there is none.

        The new plan is an average that has not been rolled out yet: if it is worse than the last one, the best sample
        replaces it.
        """
        assert self._planner is not None
        knots = np.array(candidates)
        if not np.isfinite(knots).all():
            return knots[-1], True
        costs = cost(np.clip(knots, self._planner.lower, self._planner.upper).astype(np.float32))
        if costs.min() >= _WORST:
            return knots[-1], True
        if costs[0] <= costs[-2] and costs[0] < _WORST:
            return knots[0].astype(float), False
        return knots[np.argmin(costs)].astype(float), False

    def _gains(
        self,
        q: Float[ndarray, "nq"],
        v: Float[ndarray, "nv"],
        samples: Float[ndarray, "n k np"],
        costs: Float[ndarray, "n"],
        cost: Callable[..., Float[ndarray, "n"]],
    ) -> Float[ndarray, "k np x"]:
        """Return the derivative of the plan with respect to the state, from the best samples rolled out from nearby
        states.
        """
        best, nv = np.argsort(costs)[: self.feedback], len(v)
        qs, vs = np.tile(q, (2 * nv, 1)), np.tile(v, (2 * nv, 1))
        for k in range(3):
            qs[k, k] += _CHANGE
            qs[3 + k, 3:7] = rotated(q[3:7], _CHANGE * np.eye(3)[k])
        qs[6:nv, 7:] += _CHANGE * np.eye(nv - 6)
        vs[nv:] += _CHANGE * np.eye(nv)
        many = [np.tile(x, (len(best), 1)) for x in (qs, vs)]
        found = cost(*many, np.repeat(samples[best], 2 * nv, axis=0)).reshape(len(best), 2 * nv)
        changes = np.where(found < _WORST, (found - costs[best, None]) / _CHANGE, 0.0)
        better = np.sort(costs)[: max(2, len(costs) // 2)]
        scale = max(1.0, self.temperature) * float(better.std()) + 1e-9  # below this, the best sample alone decides
        return feedback_gains(costs[best], samples[best], changes, scale)

    def _shifted(self, knots: Float[ndarray, "k nj"], begin: float, now: float) -> tuple[Float[ndarray, "k nj"], float]:
        """Return the knots with past ones replaced by new ones at the end."""
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

    def _generator(self, plan: int) -> Any:
        """Return the random generator of a plan, on the device."""
        if self.device == "cpu":
            return np.random.Generator(np.random.Philox(key=[self.seed, plan]))
        from footfall.sim.gpu import cupy

        random = cupy().random
        return random.Generator(random.Philox4x3210(hash((self.seed, plan)) % 2**31))

    def _noise(self, mean: Float[ndarray, "k np"], gain: float) -> Float[ndarray, "k np"]:
        """Return the standard deviation of every value; it increases along the horizon unless given per knot."""
        K, n = mean.shape
        if self._noise_rows.ndim == 2:
            rows = np.array([np.resize(row, n) for row in self._noise_rows])
            return (gain * rows).astype(np.float32)
        return (gain * np.resize(self._noise_rows, n)[None] * np.linspace(0.5, 1.0, K)[:, None]).astype(np.float32)

    def _samples(
        self, mean: Float[ndarray, "k np"], size: Float[ndarray, "k np"], random: np.random.Generator, first: bool
    ) -> Float[ndarray, "n k np"]:
        """Return knots of all samples; the first sample is the last plan."""
        assert self._planner is not None
        n = self.samples
        noise = random.standard_normal((n, *mean.shape), dtype=np.float32)
        xp = _array_module(noise)
        sizes = xp.asarray(_SIZES)[random.integers(0, len(_SIZES), n)]
        noise = noise * xp.asarray(size) * sizes[:, None, None]
        noise[0] = 0.0
        knots = noise + xp.asarray(mean.astype(np.float32))
        if first:
            share = n // 8
            for k, center in enumerate(self._planner.centers):
                rows = slice(n - (k + 1) * share, n - k * share)
                knots[rows] = noise[rows] + xp.asarray(center.astype(np.float32))
                knots[rows.start] = xp.asarray(center.astype(np.float32))
        return xp.clip(knots, xp.asarray(self._planner.lower), xp.asarray(self._planner.upper))

    def planned_path(self, simulation: Simulation) -> Float[ndarray, "m p 3"]:
        """Return the path of the base and the feet in the present plan of a simulation, for pictures [m]."""
        assert self._planner is not None
        memory, robot = simulation.state.memory, simulation.robot
        while "plan" not in memory:  # the wrappers of this controller
            memory = memory["inner"]
        command = np.array([getattr(simulation.command_now, x) for x in _COMPONENTS])
        values = self._values(memory, simulation.time + self.dt * (np.arange(self._planner.horizon) + 0.5))
        given = simulation.q, simulation.v, values, simulation.time, command, memory["inner"]
        if self._planner.foresee is None:
            self._planner.foresee = compiling.compile(foresee, self._planner.model, *given, verify=False)
        return np.asarray(self._planner.foresee(*given)).reshape(-1, 1 + robot.nf, 3)

    @property
    def processor_time_per_plan(self) -> float:
        """Return the mean processor time of a plan [s]."""
        return self.seconds / max(1, self.plans)


__all__ = ["Moment", "PlanningTask", "Sampling", "average", "predict", "rollout", "spline_weights"]
