"""The whole closed loop on one GPU: how many robots under whole-body control with MPC run in real time.

Run on a machine with a GPU: ``python studies/gpu_control.py FILE.json``. It needs NumPy
and CuPy. Real time is n robots times simulated seconds over seconds on the GPU's own clock.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from footfall.control.interface import Command
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.posture import standing_state
from footfall.robot.library import load
from footfall_lab.bench.gpu import least_seconds
from nptrace._types import Json

SIZES = (1024, 4096, 16384, 65536)
LAYOUTS = ((1, 32), (1, 64), (4, 64))  # threads per robot, threads per block
_TICKS = 250  # a launch: a quarter of a second
_SPEEDS = (0.3, 0.6)  # [m/s], so that robots are out of step with each other


def timings(sizes: tuple[int, ...] = SIZES, layouts: tuple[tuple[int, int], ...] = LAYOUTS) -> dict[str, Json]:
    """Robots in real time by threads per robot, block and number of robots; who fell, and compile times."""
    from footfall.sim.gpu import GpuBatch, cupy

    cp, robot, rows = cupy(), load("mini_cheetah"), []
    for threads, block in layouts:
        for n in sizes:
            began = time.perf_counter()
            batch = GpuBatch(robot, n, Locomotion(), threads=threads, block=block, start=standing_state(robot))
            compiled = time.perf_counter() - began
            for part in range(8):
                speed = _SPEEDS[0] + (_SPEEDS[1] - _SPEEDS[0]) * part / 7
                batch.set_command(Command(forward=speed), np.arange(n) % 8 == part)
            batch.run(500)
            best = least_seconds(batch, _TICKS, 6)
            q = cp.asnumpy(batch.q)
            rows.append(
                {
                    "threads": batch.source.threads,
                    "block": block,
                    "robots": n,
                    "compile_seconds": compiled,
                    "robots_in_real_time": n * _TICKS * 1e-3 / best,
                    "registers": batch.backend.function.num_regs,
                    "local_bytes": batch.backend.function.local_size_bytes,
                    "finite": bool(np.isfinite(q).all()),
                    "fallen": int(np.sum(~(q[:, 2] > 0.15))),
                    "forward": [float(np.min(q[:, 0])), float(np.max(q[:, 0]))],
                }
            )
            print(rows[-1], flush=True)
    device = cp.cuda.runtime.getDeviceProperties(0)
    return {"gpu": device["name"].decode(), "cupy": cp.__version__, "rows": rows}


if __name__ == "__main__":
    found = timings()
    with open(sys.argv[1], "w") as file:
        json.dump(found, file, indent=1)
