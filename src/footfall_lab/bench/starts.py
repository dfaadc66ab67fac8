"""Start-up times: ``import footfall``, and a first compiled function or run with an empty and a filled cache.

Every start is a new process with a separate cache folder. Times are taken inside it: of the import alone, or from a
loaded robot to the first result, including the loading of LLVM. The least of several starts counts, in processor time,
which other load does not affect, and in wall time, which is the same on a quiet machine. Python's bytecode is written
beforehand, as after the first start of any installation.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from footfall.errors import FootfallError
from footfall.robot.model.description import Robot
from footfall_lab.bench.targets import CACHED, FRESH, IMPORT, start_row
from footfall_lab.bench.timing import Row

_IMPORT = """
from time import perf_counter, process_time
began = process_time(), perf_counter()
import footfall
print(process_time() - began[0], perf_counter() - began[1])
"""
_MOST, _AGAIN = 10, 3  # rounds; fast starts per round
PER = "start"


def starts(
    functions: Sequence[str], seconds: float, progress: Callable[[str, int, int], None], with_import: bool = True
) -> list[Row]:
    """Return rows for the import and each named function (see ``first_result``), from at least one round."""
    best: dict[str, float] = {}

    def keep(name: str, took: tuple[float, float]) -> None:
        for key, seconds in zip((name, f"{name}, wall"), took):
            best[key] = min(best.get(key, float("inf")), seconds)

    began, done = time.perf_counter(), 0
    with tempfile.TemporaryDirectory(prefix="footfall-bench-") as folder:
        bytecode = Path(folder) / "bytecode"
        for function in functions[:1]:
            _first_result_elsewhere(function, Path(folder) / "unused", bytecode)
        while done == 0 or (done < _MOST and time.perf_counter() - began < seconds):
            for _ in range(_AGAIN if with_import else 0):
                keep(IMPORT, _child([sys.executable, "-c", _IMPORT], {}, bytecode))
            for function in functions:
                progress(f"fresh processes: {function}", done, _MOST)
                cache = Path(folder) / f"{function} {done}"
                for kind in (FRESH, *[CACHED] * _AGAIN):
                    keep(start_row(kind, function), _first_result_elsewhere(function, cache, bytecode))
            done += 1
    return [Row(name, 1e9 * took, PER) for name, took in best.items()]


def _first_result_elsewhere(function: str, cache: Path, bytecode: Path) -> tuple[float, float]:
    command = [sys.executable, "-m", "footfall_lab.bench.starts", function]
    return _child(command, {"NPTRACE_CACHE": str(cache)}, bytecode)


def _child(command: list[str], settings: dict[str, str], bytecode: Path) -> tuple[float, float]:
    """Run a process that prints its processor time and its wall time [s]."""
    environment = {**os.environ, **settings, "PYTHONPYCACHEPREFIX": str(bytecode)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    try:
        processor, wall = map(float, done.stdout.split())
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["it printed no time"])[-1]
        raise FootfallError(f"a process of the bench failed: {last}") from None
    coarse = time.get_clock_info("process_time").resolution > 1e-4
    return wall if coarse else processor, wall


def first_result(function: str) -> tuple[float, float]:
    """Return (processor time, wall time) [s] from a loaded robot to a first result, in the new process.

    function: ``forward_dynamics``, ``explicit step``, ``implicit step`` or ``closed loop``, the first tick of a run
    under ``Locomotion``.
    """
    import numpy as np

    from footfall import compiling
    from footfall.dynamics.forward_dynamics import forward_dynamics
    from footfall_lab.bench import subject

    if function == "closed loop":
        return _first_tick(subject.robot())
    state, targets = subject.standing()
    if function == "forward_dynamics":
        robot, tau = subject.robot(), np.zeros(len(targets))
        began = time.process_time(), time.perf_counter()
        compiling.compile(forward_dynamics, robot)(state.q, state.v, tau)
    else:
        world = subject.world(subject.SCHEMES[function.split()[0]])
        began = time.process_time(), time.perf_counter()
        compiling.compile(subject.held_step, world, state, targets, dt=subject.DT)(state, targets)
    return time.process_time() - began[0], time.perf_counter() - began[1]


def _first_tick(robot: Robot) -> tuple[float, float]:
    from footfall.control.locomotion.locomotion import Locomotion
    from footfall.sim.simulation import Simulation

    began = time.process_time(), time.perf_counter()
    Simulation(robot, Locomotion()).run(1e-3)
    return time.process_time() - began[0], time.perf_counter() - began[1]


if __name__ == "__main__":
    print(*first_result(sys.argv[1]))
