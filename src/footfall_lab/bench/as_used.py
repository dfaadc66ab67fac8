"""Robots as users run them: default joints and contact, each with its own mass, friction, stride, phase and targets.

A crowd trots: joint targets are those of the library's trot at each robot's phase and stride, plus noise like that of a
learned policy, constant for 20 ms. Both engines get the same masses, frictions and targets, and first simulate the same
0.3 s from the stand; each is timed on the steps that follow.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

import nptrace
from footfall import compiling
from footfall.contact.ground import Plane
from footfall.contact.model import ContactModel
from footfall.contact.planning import Planning
from footfall.control.interface import Command, Controller, JointCommand, Sensed
from footfall.control.joint.joint_pd import Hold, JointPD, joint_targets
from footfall.conversions import to_mujoco_v
from footfall.errors import FootfallError
from footfall.gait.pattern import Gait, clock_phase
from footfall.mujoco import model as mujoco
from footfall.mujoco.run import mujoco_model
from footfall.robot.model.description import Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.simulation import Simulation
from footfall.sim.step import integrate_step
from footfall.sim.world import World
from footfall_lab.bench import subject
from footfall_lab.bench.timing import Task
from nptrace._types import Given, PyTree
from nptrace.array_types import Float
from nptrace.runtime.callables import Function

if TYPE_CHECKING:
    from mujoco import MjModel

DT, PLANNING_DT = 2e-3, 5e-3  # [s]
FREE = ("trunk.mass", "ground.friction")
TYPES = {"f64": np.float64, "f32": np.float32}
PEERS: Mapping[str, Mapping[str, Given]] = {  # options of the peer by the name of its row
    "elliptic": {"cone": "elliptic"},
    "pyramidal": {"cone": "pyramidal"},
    "elliptic, 1 iteration": {"cone": "elliptic", "iterations": 1, "ls_iterations": 4},
    "pyramidal, 1 iteration": {"cone": "pyramidal", "iterations": 1, "ls_iterations": 4},
}
METHOD = (
    " As used: Mini Cheetahs that trot under joint PD with default joints and default contact, dt 2 ms, 100 steps a"
    " call after 0.3 s from the stand; trunk mass 2.8 to 4.2 kg, friction 0.4 to 1, stride 0 to 1.5 times nominal, any"
    " phase, noise of 0.05 rad on the targets, drawn every 20 ms. mujoco.rollout in one thread has the same masses,"
    " frictions, dry friction and damping of joints, torque limits and targets, with its default contact and Euler; 1"
    " iteration: one of its solver with four of its line search."
)
HELD = 0.02  # [s] for which noise is constant
_WARM, _STEPS = 0.3, 100  # [s], number of timed steps
_BATCH, _PEER = 128, 16  # robots
NOISE = 0.05  # [rad]
_NATIVE, _PEERS = "native implicit, as used", "mujoco.rollout {}, as used"
_LOWEST = 0.15  # [m]; below this trunk height a robot has fallen


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """A crowd of different robots, with the targets of all steps, of which the first ``warm`` are not timed."""

    n: int
    dt: float
    warm: int
    mass: Float[ndarray, "n"]  # of the trunk [kg]
    friction: Float[ndarray, "n"]
    targets: Float[ndarray, "n steps nj"]


@functools.cache
def crowd(dt: float = DT) -> Crowd:
    """Return the robots for a step length; a peer simulates the first of those in a batch."""
    robot, random, warm = subject.robot(), np.random.default_rng(29), round(_WARM / dt)
    gait, steps = JointPD.tuned(robot, "trot").gait, warm + _STEPS

    def target(t: float, stride: float) -> Float[ndarray, "nj"]:
        return joint_targets(robot, gait, clock_phase(gait, t), 1.0, stride)

    times = random.uniform(0.0, gait.period, _BATCH)[:, None] + dt * np.arange(steps)
    strides = np.repeat(random.uniform(0.0, 1.5, _BATCH)[:, None], steps, axis=1)
    at = compiling.compile(target, None, 0.0, 1.0, target="batch", verify=False)(times.ravel(), strides.ravel())
    held = round(HELD / dt)
    noise = NOISE * random.standard_normal((_BATCH, -(-steps // held), robot.nj))
    return Crowd(
        n=_BATCH,
        dt=dt,
        warm=warm,
        mass=random.uniform(2.8, 4.2, _BATCH),
        friction=random.uniform(0.4, 1.0, _BATCH),
        targets=at.reshape(_BATCH, steps, robot.nj) + np.repeat(noise, held, axis=1)[:, :steps],
    )


def rollout(
    world: World, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], targets: Float[ndarray, "steps nj"], dt: float
) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:
    """Return the state after one step for every row of targets."""

    def one(state: State, row: Float[ndarray, "nj"]) -> tuple[State, float]:
        command = JointCommand(row, 0.0, subject.KP, subject.KD, 0.0).broadcast(world.robot.nj)
        return integrate_step("linearly_implicit", world, state, command, np.zeros(6), dt)[0], 0.0

    last, _ = nptrace.scan(one, State(q, v, world.start(q, v)), targets)
    return last.q, last.v


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnTrot(Controller):
    """The trot of the crowd as a controller, for a GPU: phase, stride and noise are parameters of each robot."""

    gait: Gait
    rate: float  # [Hz]
    ahead: float = 0.0  # [s] ahead of the other robots
    stride: float = 1.0
    noise: Float[ndarray, "pieces nj"] = field(default_factory=lambda: np.zeros((1, 12)))  # [rad], each HELD long

    def start(self, robot: Robot) -> dict[str, ndarray]:
        return {}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: object
    ) -> tuple[JointCommand, PyTree]:
        at = joint_targets(robot, self.gait, clock_phase(self.gait, t + self.ahead), 1.0, self.stride)
        piece = (t + 0.1 / self.rate) / HELD  # the last one, once all have passed
        noise = np.stack([nptrace.lookup(self.noise, piece, float(j)) for j in range(robot.nj)])
        return JointCommand(position=at + noise, kp=subject.KP, kd=subject.KD), memory


def own_trot(dt: float = DT, pieces: int = 1) -> OwnTrot:
    gait = JointPD.tuned(subject.robot(), "trot").gait
    return OwnTrot(gait=gait, rate=1.0 / dt, noise=np.zeros((pieces, subject.robot().nj)))


def drawn(n: int, period: float, pieces: int) -> dict[str, ndarray]:
    """Return random parameters for ``OwnTrot``, distributed as in a crowd, by path."""
    random = np.random.default_rng(29)
    return {
        "trunk.mass": random.uniform(2.8, 4.2, n),
        "ground.friction": random.uniform(0.4, 1.0, n),
        "controller.ahead": random.uniform(0.0, period, n),
        "controller.stride": random.uniform(0.0, 1.5, n),
        "controller.noise": NOISE * random.standard_normal((n, pieces, 12)),
    }


def _compiled(contact: ContactModel | None, target: str, dtype: type, dt: float, steps: int) -> Function:
    robot = subject.robot()
    world = World(robot=robot) if contact is None else World(robot=robot, contact=contact)
    q, v = robot.state("stand")
    targets = np.zeros((steps, robot.nj))
    return compiling.compile(rollout, world, q, v, targets, dt=dt, free=FREE, verify=False, target=target, dtype=dtype)


@functools.cache
def started(dt: float, planning: bool = False) -> tuple[Float[ndarray, "n nq"], Float[ndarray, "n nv"]]:
    """Return the states of our robots at the start of the timed steps."""
    those = crowd(dt)
    run = _compiled(Planning() if planning else None, "batch", np.float64, dt, those.warm)
    q, v = (np.tile(x, (those.n, 1)) for x in subject.robot().state("stand"))
    q, v = run(q, v, those.targets[:, : those.warm], dict(zip(FREE, (those.mass, those.friction))))
    _check_walks(q[:, 2], "ours")
    return q, v


def batch_task(name: str, kind: str, planning: bool = False) -> Task:
    """Return the task of our batch on the crowd."""
    dt, dtype = (PLANNING_DT if planning else DT), TYPES[kind]
    those, (q, v) = crowd(dt), started(dt, planning)
    run = _compiled(Planning() if planning else None, "batch", dtype, dt, _STEPS)
    given = [np.ascontiguousarray(x, dtype) for x in (q, v, those.targets[:, those.warm :])]
    free = {key: x.astype(dtype) for key, x in zip(FREE, (those.mass, those.friction))}
    _check_walks(run(*given, free)[0][:, 2], name)

    def work(count: int) -> None:
        for _ in range(count):
            run(*given, free)

    return Task(name=name, run=work, per="robot-step", items=those.n * _STEPS)


def native_task(name: str = _NATIVE) -> Task:
    """Return the task that steps the robots one after another, in code for one robot."""
    those, (q, v) = crowd(DT), started(DT)
    run = _compiled(None, "native", np.float64, DT, _STEPS)
    each = [
        (q[k], v[k], those.targets[k, those.warm :].copy(), dict(zip(FREE, (those.mass[k], those.friction[k]))))
        for k in range(_PEER)
    ]

    def work(count: int) -> None:
        for _ in range(count):
            for given in each:
                run(*given)

    return Task(name=name, run=work, per="robot-step", items=_PEER * _STEPS)


def peer_task(name: str, **options: object) -> Task:
    """Return the task of mujoco.rollout on the first robots of the crowd, in the calling thread."""
    mj, those = mujoco.library(), crowd(DT)
    from mujoco import rollout as mujoco_rollout

    models = [_peer_model(subject.robot(), those.mass[k], those.friction[k], options) for k in range(_PEER)]
    what = mj.mjtState.mjSTATE_FULLPHYSICS.value
    data, size = mj.MjData(models[0]), mj.mj_stateSize(models[0], what)
    starts, (q, v) = np.zeros((_PEER, size)), subject.robot().state("stand")
    for k, model in enumerate(models):
        mj.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = q, to_mujoco_v(subject.robot(), q, v)
        mj.mj_getState(model, data, starts[k], what)
    runner = mujoco_rollout.Rollout(nthread=0)
    warm, timed = (np.ascontiguousarray(x) for x in np.split(those.targets[:_PEER], [those.warm], axis=1))
    states, _ = runner.rollout(models, [data], starts, warm)
    began = np.ascontiguousarray(states[:, -1])
    _check_walks(runner.rollout(models, [data], began, timed)[0][:, -1, 3], name)

    def work(count: int) -> None:
        for _ in range(count):
            runner.rollout(models, [data], began, timed)

    return Task(name=name, run=work, per="robot-step", items=_PEER * _STEPS)


def _peer_model(robot: Robot, mass: float, friction: float, options: Mapping[str, Given]) -> MjModel:
    """Return one robot of the crowd in MuJoCo, with dry friction, damping, torque limits and our gains."""
    own = World(robot=robot).with_parameters({"trunk.mass": mass}).robot
    hold = Hold("stand", kp=subject.KP, kd=subject.KD, rate=1.0 / DT)
    simulation = Simulation(own, hold, dt=DT, ground=Plane(friction))
    model = mujoco_model(simulation, contact={}, options={"integrator": "Euler", **options})
    model.actuator_gainprm[:, 0] = subject.KP
    model.actuator_biasprm[:, 1], model.actuator_biasprm[:, 2] = -subject.KP, -subject.KD
    return model


def _check_walks(heights: Float[ndarray, "n"], name: str) -> None:
    if not (heights > _LOWEST).mean() > 0.9:
        raise FootfallError(f"robots of the bench fall in the row '{name}': trunks are at {np.round(heights, 2)} m")


def batch_tasks() -> list[Task]:
    """Return the tasks of our batches and of their peers."""
    ours = [batch_task(f"batch {kind}, as used", kind) for kind in TYPES]
    planning = batch_task("batch f32 planning contact, dt 5 ms, as used", "f32", planning=True)
    return [*ours, planning, *peer_tasks()]


def peer_tasks() -> list[Task]:
    """Return the tasks of the peer with each of its settings."""
    return [peer_task(_PEERS.format(name), **options) for name, options in PEERS.items()]


def native_ratio(times: dict[str, float]) -> dict[str, float]:
    """Return the time of mujoco.rollout (default solver settings, elliptic cone) relative to our code for one robot."""
    return {"mujoco_over_native_as_used": times[_PEERS.format("elliptic")] / times[_NATIVE]}


def batch_ratios(times: dict[str, float]) -> dict[str, float]:
    """Return the time of mujoco.rollout (default solver settings, elliptic cone) over that of our batches."""
    peer = times[_PEERS.format("elliptic")]
    return {f"mujoco_rollout_over_batch_{kind}_as_used": peer / times[f"batch {kind}, as used"] for kind in TYPES}
