"""``footfall bench control``: whole-body control and MPC of the trotting Mini Cheetah, compiled and with DAQP."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import DTypeLike

from footfall.control.interface import Command
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.named import nmpc
from footfall.control.optimal.nmpc import Nmpc
from footfall.control.posture import standing_state
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.sim.batch import Batch
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall_lab.bench import horizon_peer
from footfall_lab.bench.horizon import Horizon
from footfall_lab.bench.report import BenchReport
from footfall_lab.bench.starts import starts
from footfall_lab.bench.timing import Row, pinned
from footfall_lab.verify.daqp_locomotion import LocomotionByDaqp
from nptrace._types import PyTree

METHOD = (
    "The Mini Cheetah trots at 0.5 m/s under whole-body control (1 kHz) with MPC (40 Hz, ten steps ahead). closed_loop"
    " is controller and physics as one compiled tick, processor time per simulated second, the least of runs of half a"
    " second; closed_loop_batch_f64 and _f32 are the same for a robot of a batch of 64 on one core. closed_loop_daqp"
    " solves the QPs by DAQP from Python; of that, whole_body_tick is the plan (compiled) and the whole-body QP on"
    " ticks without an MPC, mpc_solve the set-up and the solution of the MPC: medians. closed_loop_nmpc is a"
    " trot at 0.4 m/s under nmpc (25 knots of the whole robot, a solve at 200 Hz, gains at 1 kHz), physics included, on"
    " one core: processor time of the whole process, the least of runs of half a second; nmpc_solve is the median of"
    " its solves. nmpc_iteration_beside_peers is one iteration of the horizon of bench derivatives (25 knots of 20 ms,"
    " four fixed feet), alternating with one of Crocoddyl's FDDP, of mim-solvers' SQP and of its CSQP on the same"
    " robot,"
    " knots, weights and start, without inequalities, in a separate process on the same core: the least of 60 each."
    " The starts of the closed loop are from a loaded robot through its first tick, in new processes: processor time"
    " and wall time."
)
_ROBOTS = 64
_TURN = 0.5  # [s] simulated per round


def measure(seconds: float, progress: Callable[[str, int, int], None]) -> BenchReport:
    """Run the bench for about ``seconds`` of wall time; report minima, and medians for DAQP."""
    robot = library.load("mini_cheetah")
    inside, outside = _simulation(robot, Locomotion()), _simulation(robot, LocomotionByDaqp())
    batches = [_batch(robot, dtype) for dtype in (np.float64, np.float32)]
    whole, horizon = _nmpc(robot), Horizon()
    assert isinstance(inside.controller, Locomotion)
    assert isinstance(outside.controller, LocomotionByDaqp)
    assert isinstance(whole.controller, Nmpc)
    ticks, solutions = _timed(outside.controller)
    solves = _solves(whole.controller)
    spent: list[list[float]] = [[], [], [], [], []]
    with pinned():
        _ = inside.backend, outside.backend
        whole.run(_TURN)  # the first solve takes several iterations
        solves.clear()
        began = time.perf_counter()
        while not spent[0] or time.perf_counter() - began < seconds:
            for k, simulation in enumerate((inside, outside)):
                if simulation.stopped is None:
                    spent[k].append(_spent(partial(simulation.run, _TURN)))
            for k, batch in enumerate(batches):
                spent[2 + k].append(_spent(partial(batch.run, round(_TURN / batch.period))) / _ROBOTS)
            if whole.stopped is None:
                spent[4].append(_spent(partial(whole.run, _TURN), time.process_time))
            progress("control", min(int(time.perf_counter() - began), int(seconds)), max(1, int(seconds)))
        beside, why = horizon_peer.beside(horizon.iteration)
    theirs, ratios = horizon_peer.rows_and_ratios(beside)
    least = [1e9 * min(w) / _TURN for w in spent]
    rows = [
        Row("closed_loop", least[0], "simulated second"),
        Row("closed_loop_batch_f64", least[2], "simulated second"),
        Row("closed_loop_batch_f32", least[3], "simulated second"),
        Row("closed_loop_daqp", least[1], "simulated second"),
        Row("whole_body_tick", 1e9 * float(np.median(ticks)), "tick"),
        Row("mpc_solve", 1e9 * float(np.median(solutions)), "solution"),
        Row("closed_loop_nmpc", least[4], "simulated second"),
        Row("nmpc_solve", 1e9 * float(np.median(solves)), "solution"),
        Row("nmpc_iteration_beside_peers", 1e9 * beside[horizon_peer.OURS], "iteration"),
        *theirs,
    ]
    rows += starts(["closed loop"], 0.3 * seconds, progress, with_import=False)
    fallen = sum(int(np.sum(batch.fallen())) for batch in batches)
    notes = [
        f"{len(inside.controller.log)} QPs without a solution or clipped commands in {inside.time:g} s",
        f"nmpc at {_forward_speed(whole):.2f} m/s, {len(whole.controller.log)} solves restarted in {whole.time:g} s",
        f"{fallen} of {2 * _ROBOTS} robots in batches fell",
        *([why] if why else []),
    ]
    return BenchReport(bench="control", rows=rows, ratios=ratios, operations={}, method=METHOD, notes=notes)


def _simulation(robot: Robot, controller: Locomotion) -> Simulation:
    return Simulation(robot, controller, start=standing_state(robot), command=Command(forward=0.5), stop_on_fall=True)


def _batch(robot: Robot, dtype: DTypeLike) -> Batch:
    """Return a batch of robots with different speeds, so that they are out of phase."""
    batch = Batch(robot, _ROBOTS, Locomotion(), dtype=dtype, threads=1, start=standing_state(robot))
    batch.set_command(forward=np.linspace(0.3, 0.6, _ROBOTS))
    return batch


def _nmpc(robot: Robot) -> Simulation:
    controller = nmpc("trot")
    start = standing_start(robot, controller)
    return Simulation(robot, controller, start=start, command=Command(forward=0.4), stop_on_fall=True)


def _forward_speed(simulation: Simulation) -> float:
    """Return the mean speed along x since the start [m/s]."""
    return float(simulation.q[0]) / simulation.time


def _solves(controller: Nmpc) -> list[float]:
    """Return a list to which the durations of solves are appended [s]."""
    times: list[float] = []
    solve = controller._solve

    def timed(*arguments: PyTree) -> PyTree:
        start = time.thread_time()
        result = solve(*arguments)
        times.append(time.thread_time() - start)
        return result

    controller._solve = timed  # type: ignore[method-assign, assignment]
    return times


def _spent(run: Callable[[], object], clock: Callable[[], float] = time.thread_time) -> float:
    """Return the processor time [s], by default of this thread, which excludes time of other processes."""
    start = clock()
    run()
    return clock() - start


def _timed(controller: LocomotionByDaqp) -> tuple[list[float], list[float]]:
    """Return lists to which the durations of ticks without an MPC and of its solutions are appended."""
    ticks: list[float] = []
    solutions: list[float] = []
    kind = type(controller)
    solve = kind._mpc

    class Timed(kind):  # type: ignore[misc, valid-type]
        def _mpc(self, *arguments: PyTree) -> PyTree:
            start = time.perf_counter()
            result = solve(self, *arguments)
            solutions.append(time.perf_counter() - start)
            return result

        def __call__(self, *arguments: PyTree) -> PyTree:
            before, start = len(solutions), time.perf_counter()
            result = kind.__call__(self, *arguments)
            if len(solutions) == before:
                ticks.append(time.perf_counter() - start)
            return result

    controller.__class__ = Timed
    return ticks, solutions
