"""``footfall bench step``: one step of a standing robot, alone and in a batch, against MuJoCo at the same dt."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from footfall.control.interface import Command, JointCommand, Sensed, controller
from footfall.control.stand_gains import stand_gains
from footfall.errors import FootfallError
from footfall.robot.model.description import Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.rollouts import compile_physics, compile_tick
from footfall.sim.simulation import Simulation
from footfall.sim.tick import SimulationModel, at_rest
from footfall.sim.world import World
from footfall_lab.bench import as_used, peers, subject
from footfall_lab.bench.report import BenchReport
from footfall_lab.bench.starts import starts
from footfall_lab.bench.timing import Task, interleaved, pinned
from nptrace._types import PyTree
from nptrace.runtime.callables import Function

METHOD = (
    "Least thread time of at least 20 interleaved rounds on one pinned core, dt 1e-4, four feet on the ground,"
    " joint PD, ideal joints. Ours: advance(steps), many steps inside one compiled call, less a call without steps;"
    " one robot has its legs as lanes unless a row states otherwise; batch times are for each of 64 robots."
    " MuJoCo: mj_step(nstep) of a robot that has settled for a second,"
    " default solver settings; the ratios are for elliptic cone and Euler. The batch is compared with mujoco.rollout in"
    " one thread, 2 settled robots and 100 steps a call. python_step: a loop in Python at 1 kHz that reads sim.sensed,"
    " computes joint torques from it (PD) and calls sim.step(torques), all of it. python_step_compiled: sim.step()"
    " with a user-defined controller, compiled with the physics; ticks_compiled: the same ticks in one call."
)
STARTS = (
    " Starts: least processor time of new processes, with Python's bytecode written, from a loaded robot to the first"
    " result."
)
TYPES = {"f64": np.float64, "f32": np.float32}
_ROBOTS = 64
_STAND = "mujoco elliptic Euler"
_ROLLOUT = "mujoco.rollout elliptic Euler"


def measure(seconds: float, progress: Callable[[str, int, int], None], robot: str | None = None) -> BenchReport:
    """Run the bench for about ``seconds``, a third of it in new processes.

    robot: a library robot or a file, by default the Mini Cheetah: only it is timed as used and from a cold start, and
    only it has targets.
    """
    progress("compiling", 0, 100)
    model = subject.robot(robot)
    with pinned():
        tasks = [
            *_own_tasks(model),
            peers.step_task(_STAND, "Euler", "elliptic", model),
            peers.step_task("mujoco elliptic implicitfast", "implicitfast", "elliptic", model),
            peers.step_task("mujoco pyramidal Euler", "Euler", "pyramidal", model),
            peers.step_task("mujoco pyramidal implicitfast", "implicitfast", "pyramidal", model),
            peers.rollout_task(_ROLLOUT, "Euler", "elliptic", robot=model),
        ]
        rows = interleaved(tasks, (0.4 if robot is None else 1.0) * seconds, progress)
    times = {row.name: row.ns for row in rows}
    ratios = {f"mujoco_over_native_{scheme}": times[_STAND] / times[f"native {scheme}"] for scheme in subject.SCHEMES}
    ratios |= batch_ratios(times, times[_ROLLOUT])
    operations = subject.operations(model)
    if robot is not None:
        notes = [f"{key}: {ratio:.3g}" for key, ratio in ratios.items()]
        return BenchReport(
            bench="step", rows=rows, ratios=ratios, operations=operations, method=METHOD, notes=notes, robot=model.name
        )
    with pinned():
        used = interleaved([as_used.native_task(), *as_used.peer_tasks()], 0.2 * seconds, progress)
    rows += used
    ratios |= as_used.native_ratio({row.name: row.ns for row in used})
    rows += starts(["explicit step", "implicit step"], 0.4 * seconds, progress, with_import=False)
    method = METHOD + as_used.METHOD + STARTS
    return BenchReport(bench="step", rows=rows, ratios=ratios, operations=operations, method=method)


def batch_ratios(times: dict[str, float], rollout: float) -> dict[str, float]:
    """Return the time of mujoco.rollout over that of each kind of batch."""
    return {
        f"mujoco_rollout_over_batch_{kind if scheme == 'explicit' else f'{scheme}_{kind}'}": rollout
        / times[f"batch {kind} {scheme}"]
        for scheme in subject.SCHEMES
        for kind in TYPES
    }


def _own_tasks(model: Robot) -> list[Task]:
    state, targets = subject.standing(model)
    tasks = []
    for scheme, implicit in subject.SCHEMES.items():
        one = subject.compiled_step(implicit, model)
        _check_stands(state, one.advance(1000, state, targets), scheme)
        tasks.append(_advancing(f"native {scheme}", one, state, targets))
        plain = subject.compiled_step(implicit, model, vectorize=False)
        tasks.append(_advancing(f"native {scheme}, legs one after another", plain, state, targets))
    return [*tasks, *batch_tasks(model), _audited_task(model), _python_loop_task(model), *_controller_tasks(model)]


def batch_tasks(model: Robot | None = None) -> list[Task]:
    """Return tasks for both schemes, in double and single precision."""
    state, targets = subject.standing(model)
    tasks = []
    for scheme, implicit in subject.SCHEMES.items():
        for kind, dtype in TYPES.items():
            many = subject.compiled_step(implicit, model, target="batch", dtype=dtype)
            q, v = (np.tile(x, (_ROBOTS, 1)).astype(dtype) for x in (state.q, state.v))
            name = f"batch {kind} {scheme}"
            tasks.append(_advancing(name, many, State(q, v), targets.astype(dtype), robots=_ROBOTS))
    return tasks


def _advancing(name: str, function: Function, state: object, *rest: object, robots: int = 1) -> Task:
    """Return tasks for steps inside one compiled call, less a call without steps."""
    run = functools.partial(_advance, function, state, *rest)
    return Task(name=name, run=run, per="robot-step", items=robots, empty=functools.partial(run, 0))


def _advance(function: Function, *arguments: PyTree) -> None:
    *arrays, count = arguments
    function.advance(count, *arrays)


def _audited_task(model: Robot) -> Task:
    """Return the task of a step as in ``Simulation``: full joint model, any gains, contact forces and work kept."""
    (state, targets), gains = subject.standing(model), subject.gains(model)
    simulated = SimulationModel(World(robot=model), None, "linearly_implicit", subject.DT, 1)
    start, push = at_rest(simulated.world, state.q, state.v), np.zeros(6)
    command = JointCommand(targets, 0.0, *gains, 0.0).broadcast(len(targets))
    function = compile_physics(simulated, start, command, push)
    name = "native implicit, all joint effects, forces and work"
    return _advancing(name, function, start, command, push)


def _python_loop_task(model: Robot) -> Task:
    """Return the task of a user's loop around ``Simulation.step`` at 1 kHz: read sensors, compute torques, tick."""
    stand = model.state("stand")[0][model.nq - model.nj :]
    (kp, kd), simulation = stand_gains(model), Simulation(model)

    def run(ticks: int) -> None:
        for _ in range(ticks):
            sensed = simulation.sensed
            simulation.step(kp * (stand - sensed.q[model.nq - model.nj :]) - kd * sensed.v[model.nv - model.nj :])

    return Task(name="python_step", run=run, per="tick", before=simulation.reset)


def _controller_tasks(model: Robot) -> list[Task]:
    """Return tasks of a user-defined controller, compiled with the physics: ``Simulation.step()``, and ticks."""
    stand = model.state("stand")[0][model.nq - model.nj :]
    kp, kd = stand_gains(model)

    def springs(
        t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, PyTree]
    ) -> tuple[JointCommand, dict[str, PyTree]]:
        return JointCommand(position=stand, kp=kp, kd=kd), {"t": memory["t"] + 1e-3}

    simulation = Simulation(model, controller(rate=1000.0, memory={"t": 0.0})(springs))

    def run(ticks: int) -> None:
        for _ in range(ticks):
            simulation.step()

    state, inputs = simulation.state, simulation.inputs_at(0.0)
    ticks = compile_tick(simulation.model, state, inputs)
    return [
        Task(name="python_step_compiled", run=run, per="tick", before=simulation.reset),
        _advancing("ticks_compiled", ticks, state, inputs),
    ]


def _check_stands(before: State, after: State, scheme: str) -> None:
    if not abs(after.q[2] - before.q[2]) < 0.1 * before.q[2]:
        raise FootfallError(
            f"the robot of the bench does not stand with {scheme} steps: its trunk is at {after.q[2]} m"
        )
