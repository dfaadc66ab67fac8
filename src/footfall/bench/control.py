"""``footfall bench control``: a tick of whole-body control and a solution of the MPC, while the Mini Cheetah trots."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from footfall import compiling
from footfall.bench.report import Report
from footfall.bench.timing import Row, pinned
from footfall.control.interface import Command
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.posture import standing_state
from footfall.robot import library
from footfall.simulate.simulation import Simulation

METHOD = (
    "Medians over a trot at 0.5 m/s: every tick of the controller is timed where it happens. whole_body_tick is the"
    " plan (schedule, footsteps, dynamics terms; compiled) and the whole-body program, on ticks without an MPC;"
    " mpc_solve is the set-up and the solution of the convex MPC, 10 steps ahead. closed_loop is wall time per"
    " simulated second."
)


def measure(seconds: float, progress: Callable[[str, int, int], None]) -> Report:
    """Walk for about ``seconds`` of wall time and take the medians."""
    robot = library.load("mini_cheetah")
    controller = Locomotion()
    controller.prepare(robot, compiling.compile)
    simulation = Simulation(
        robot, controller, start=standing_state(robot), command=Command(forward=0.5), stop_on_fall=True
    )
    ticks, solutions = _timed(controller)
    walls: list[float] = []
    with pinned():
        _ = simulation.engine
        began = time.perf_counter()
        while simulation.stopped is None and (not walls or time.perf_counter() - began < seconds):
            start = time.perf_counter()
            simulation.run(0.5)
            walls.append((time.perf_counter() - start) / 0.5)
            progress("control", min(int(time.perf_counter() - began), int(seconds)), max(1, int(seconds)))
    rows = [
        Row("whole_body_tick", 1e9 * float(np.median(ticks)), "tick"),
        Row("mpc_solve", 1e9 * float(np.median(solutions)), "solution"),
        Row("closed_loop", 1e9 * float(np.median(walls)), "simulated second"),
    ]
    notes = [f"{len(controller.log)} programs without a solution or clipped commands in {simulation.time:g} s"]
    return Report("control", rows, {}, {}, METHOD, notes)


def _timed(controller: Locomotion) -> tuple[list[float], list[float]]:
    """Lists that fill with the times of ticks without an MPC, and of its solutions."""
    ticks: list[float] = []
    solutions: list[float] = []
    kind = type(controller)
    solve = kind._mpc

    class Timed(kind):  # type: ignore[misc, valid-type]
        def _mpc(self, *arguments: Any) -> Any:
            start = time.perf_counter()
            result = solve(self, *arguments)
            solutions.append(time.perf_counter() - start)
            return result

        def __call__(self, *arguments: Any) -> Any:
            before, start = len(solutions), time.perf_counter()
            result = kind.__call__(self, *arguments)
            if len(solutions) == before:
                ticks.append(time.perf_counter() - start)
            return result

    controller.__class__ = Timed
    return ticks, solutions
