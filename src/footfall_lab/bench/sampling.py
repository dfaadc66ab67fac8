"""``footfall bench sampling``: one sampling planner on our rollouts and on mujoco.rollout, one thread each.

Both plan the task ``walk`` with the same samples, knots, horizon, step and averaging, ideal joints and the same joint
PD; only the rollouts of the samples differ (``MuJoCoRollouts``). Settings count only if the planner walks with them: a
Mini Cheetah with default joints and contact, at 1 ms, follows a command of 0.4 m/s. Times are of the rollouts from the
same state of a walk; ours include the costs of all steps, those of MuJoCo do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.control.command import Command
from footfall.control.joint.joint_pd import Hold
from footfall.control.posture import standing_state
from footfall.conversions import to_mujoco_v
from footfall.mujoco import model as mujoco
from footfall.mujoco.run import mujoco_model
from footfall.robot.model.description import Robot
from footfall.sim.joints import JointModel
from footfall.sim.sampling import PlanningModel, Sampling
from footfall.sim.sampling_tasks import Walk
from footfall.sim.simulation import Simulation
from footfall.spatial.quaternion import to_rotation
from footfall_lab.bench import subject
from footfall_lab.bench.report import BenchReport
from footfall_lab.bench.simulated_second import quiet_mujoco
from footfall_lab.bench.timing import Task, interleaved, pinned
from nptrace._types import Given
from nptrace.array_types import Float

if TYPE_CHECKING:
    from mujoco import MjModel

SAMPLES, SPEED, SEED = 512, 0.4, 1
STEPS = (0.01, 0.02)  # [s]; the first is the planner's default
PEERS: Mapping[str, Mapping[str, Given]] = {
    "defaults": {"cone": "pyramidal", "integrator": "Euler"},
    "implicitfast": {"cone": "pyramidal", "integrator": "implicitfast"},
    "implicitfast, 3 iterations": {"cone": "pyramidal", "integrator": "implicitfast", "iterations": 3},
    "implicitfast, 1 iteration": {
        "cone": "pyramidal",
        "integrator": "implicitfast",
        "iterations": 1,
        "ls_iterations": 4,
    },
}
_CHECK, _CHECKED, _AFTER = 2.5, 256, 0.4  # [s] of the test walk; its samples; fraction after which speed counts
_WITHIN = 0.15  # fraction of the commanded speed
METHOD = (
    f"One sampling planner (walk, {SAMPLES} samples, 6 cubic knots, horizon 0.34 s, 50 plans a second, MPPI) on our"
    " rollouts (f32 lanes, planning contact, costs of all steps included) and on mujoco.rollout (nthread=0, its default"
    " contact, costs not included), ideal joints and the same joint PD in both; least thread time of interleaved"
    f" rounds on one pinned core, from the same state of a walk. A row counts if a Mini Cheetah with default joints and"
    f" contact at 1 ms walks at {SPEED} m/s under that planner, {_CHECKED} samples, within {100 * _WITHIN:.0f} %."
)


# -- rollouts of the peer ----------------------------------------------------------------------------------------------
def _step_cost(
    model: PlanningModel,
    state: Float[ndarray, "nx"],
    target: Float[ndarray, "nj"],
    t: float,
    goal: Float[ndarray, "n"],
) -> float:
    """Return the cost of one step, from a state of MuJoCo: time, qpos, qvel."""
    robot = model.world.robot
    q, rates = state[1 : 1 + robot.nq], state[1 + robot.nq : 1 + robot.nq + robot.nv]
    v = np.concatenate([rates[3:6], to_rotation(q[3:7]).T @ rates[:3], rates[6:]])
    torque = model.kp * (model.posture + target - q[7:]) - model.kd * v[6:]
    moment = replace(model.moment(t, q, v, None, target, goal), torque=torque)
    return model.task.cost(robot, moment)


@dataclass(eq=False)
class MuJoCoRollouts:
    """Rollouts of a planner's samples in MuJoCo, in the calling thread, with the interface of ours."""

    model: PlanningModel
    options: Mapping[str, Given]

    def __post_init__(self) -> None:
        mj, robot = mujoco.library(), self.model.world.robot
        from mujoco import rollout

        hold = Hold("stand", kp=self.model.kp, kd=self.model.kd, rate=round(1.0 / self.model.dt))
        simulation = Simulation(robot, hold, dt=self.model.dt, joints=JointModel.ideal())
        peer = mujoco_model(simulation, contact={}, options=self.options)
        peer.actuator_gainprm[:, 0] = self.model.kp
        peer.actuator_biasprm[:, 1], peer.actuator_biasprm[:, 2] = -self.model.kp, -self.model.kd
        self.peer: MjModel = peer
        self.data, self.runner = mj.MjData(peer), rollout.Rollout(nthread=0)
        self.what = mj.mjtState.mjSTATE_FULLPHYSICS.value
        self.size = mj.mj_stateSize(peer, self.what)
        self.costs: Callable[..., ndarray] | None = None

    def start(self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nx"]:
        """Return MuJoCo's state."""
        mj, robot = mujoco.library(), self.model.world.robot
        mj.mj_resetData(self.peer, self.data)
        self.data.qpos[:], self.data.qvel[:] = q, to_mujoco_v(robot, q, v)
        state = np.zeros(self.size)
        mj.mj_getState(self.peer, self.data, state, self.what)
        return state

    def states(
        self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], targets: Float[ndarray, "n m nj"]
    ) -> Float[ndarray, "n m nx"]:
        """Return the states after every step of all samples."""
        n = len(targets)
        starts, controls = np.tile(self.start(q, v), (n, 1)), self.model.posture + targets
        return self.runner.rollout([self.peer] * n, [self.data], starts, controls)[0]

    def rollout(
        self,
        q: ndarray,
        v: ndarray,
        knots: ndarray,
        weights: ndarray,
        goal: ndarray,
        t: float,
        command: ndarray,
        memory: object,
    ) -> Float[ndarray, "n"]:
        """Return the summed costs of samples, as ``sim.sampling.rollout``."""
        q, v, knots, weights, goal = (np.asarray(x, float) for x in (q, v, knots, weights, goal))
        targets = np.einsum("mk,nkj->nmj", weights, knots)
        states = self.states(q, v, targets)
        n, m, nj = targets.shape
        times = np.tile(float(t) + self.model.dt * np.arange(1, m + 1), n)
        if self.costs is None:
            given = self.model, states[0, 0], targets[0, 0], 0.0, goal
            self.costs = compiling.compile(_step_cost, *given, target="batch", verify=False)
        found = self.costs(states.reshape(n * m, -1), targets.reshape(n * m, nj), times, goal)
        return np.asarray(found).reshape(n, m).sum(axis=1)


# -- whether settings count --------------------------------------------------------------------------------------------
def planner(dt: float, samples: int = SAMPLES) -> Sampling:
    """Return the planner that is timed."""
    return Sampling(Walk(robot=subject.robot()), samples=samples, dt=dt, seed=SEED)


def walking(
    controller: Sampling, options: Mapping[str, Given] | None, seconds: float = _CHECK
) -> tuple[bool, Simulation]:
    """Return (whether the robot walks, its simulation) with our rollouts, or with those of MuJoCo with some options."""
    robot: Robot = subject.robot()
    sim = Simulation(robot, controller, start=standing_state(robot), command=Command(forward=SPEED))
    sim.run(0.5 / controller.rate)
    sim.reset()
    assert controller._planner is not None
    if options is not None:
        controller._planner.rollout = MuJoCoRollouts(controller._planner.model, options).rollout
    rec = sim.run(seconds)
    fine = sim.stopped is None and abs(rec.mean_velocity(after=_AFTER * seconds)[0] - SPEED) <= _WITHIN * SPEED
    return bool(fine), sim


# -- the bench ---------------------------------------------------------------------------------------------------------
def _name(dt: float, settings: str | None) -> str:
    return f"{'ours' if settings is None else f'mujoco.rollout {settings}'}, {1e3 * dt:g} ms"


def tasks(dt: float) -> list[Task]:
    """Return the rollouts of one plan, by us and by MuJoCo with each of its settings."""
    controller = planner(dt)
    _, sim = walking(controller, None, 0.6)
    assert controller._planner is not None
    made, robot = controller._planner, subject.robot()
    random, q, v = np.random.default_rng(SEED), sim.q, sim.v
    knots = np.float32(0.15 * random.standard_normal((SAMPLES, controller.knots, robot.nj)))
    steps = np.linspace(0.0, 1.0, made.horizon, dtype=np.float32)[:, None]
    weights = np.float32(np.hstack([1.0 - steps, *[0.0 * steps] * (controller.knots - 2), steps]))
    task = made.model.task
    goal = np.float32(controller.goal_now(task.goal(0.6, q, v, Command(forward=SPEED), task.start(robot))[0]))
    ours = np.float32(q), np.float32(v), knots, weights, goal, np.float32(0.6), np.zeros(6, np.float32), made.start
    targets = np.einsum("mk,nkj->nmj", weights, knots).astype(float)
    items = SAMPLES * made.horizon
    found = [Task(name=_name(dt, None), run=_repeated(made.rollout, *ours), per="sample-step", items=items)]
    part = SAMPLES // 16  # a time per sample of MuJoCo does not depend on their number
    for settings, options in PEERS.items():
        peer = MuJoCoRollouts(made.model, options)
        run = _repeated(peer.states, q, v, targets[:part])
        found.append(Task(name=_name(dt, settings), run=run, per="sample-step", items=part * made.horizon))
    return found


def _repeated(function: Callable[..., ndarray], *arguments: object) -> Callable[[int], None]:
    def run(count: int) -> None:
        for _ in range(count):
            function(*arguments)

    return run


def measure(seconds: float, progress: Callable[[str, int, int], None]) -> BenchReport:
    """Time rollouts, and test which settings walk."""
    rows, walks = [], dict[str, bool]()
    with pinned(), quiet_mujoco():
        for dt in STEPS:
            rows += interleaved(tasks(dt), seconds / len(STEPS), progress)
            for k, (settings, options) in enumerate([(None, None), *PEERS.items()]):
                progress(f"walking, {1e3 * dt:g} ms", k, 1 + len(PEERS))
                walks[_name(dt, settings)] = walking(planner(dt, _CHECKED), options)[0]
    times = {row.name: row.ns for row in rows}
    first = STEPS[0]
    counted = {dt: [_name(dt, key) for key in PEERS if walks[_name(dt, key)]] for dt in STEPS}
    largest = max((dt for dt in STEPS if counted[dt]), default=None)
    our_largest = max((dt for dt in STEPS if walks[_name(dt, None)]), default=first)
    fastest = min((times[name] for name in counted[first]), default=None)
    ratios: dict[str, float | None] = {
        "mujoco_defaults_over_ours_same_step": times[_name(first, "defaults")] / times[_name(first, None)],
        "mujoco_fastest_over_ours_same_step": None if fastest is None else fastest / times[_name(first, None)],
        "mujoco_fastest_over_ours_largest_steps": None
        if largest is None
        else (min(times[name] for name in counted[largest]) / largest)
        / (times[_name(our_largest, None)] / our_largest),
    }
    notes = [f"{name}: {'walks' if fine else 'does not walk'}" for name, fine in walks.items()]
    return BenchReport(bench="sampling", rows=rows, ratios=ratios, operations={}, method=METHOD, notes=notes)
