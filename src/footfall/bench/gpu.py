"""``footfall bench gpu``: robot-steps a second on one GPU, and agreement with the processor.

Run as a module on a machine with a GPU: ``python -m footfall.bench.gpu``. It needs NumPy, jaxtyping and CuPy.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from footfall.contact.compliant import Compliant
from footfall.contact.ground import Plane
from footfall.control.joint_pd import JointPD
from footfall.robot.library import load
from footfall.simulate.actuators import JointModel

SIZES = (4096, 8192, 65536, 262144)


def options(implicit: bool, dt: float = 1e-3) -> dict[str, Any]:
    """The run that is timed: the Mini Cheetah's trot, gait and PD every step, four compliant feet on a plane."""
    return {
        "contact": Compliant(damping=1e4 if implicit else 10.0),
        "integrator": "linearly_implicit" if implicit else "semi_implicit_euler",
        "ground": Plane(0.8), "joints": JointModel.ideal(), "dt": dt,
    }  # fmt: skip


def controller(dt: float = 1e-3) -> JointPD:
    return JointPD.tuned("mini_cheetah", "trot", rate=1.0 / dt)


def timings(sizes: tuple[int, ...] = SIZES, steps: int = 500) -> dict[str, Any]:
    """Robot-steps a second by scheme, block and number of robots."""
    from footfall.batch.gpu import GpuBatch, cupy

    cp = cupy()
    robot, rows = load("mini_cheetah"), []
    for implicit, dt in ((True, 1e-3), (False, 1e-4)):
        for block in (64, 128, 256):
            batch = GpuBatch(robot, max(sizes), controller(dt), block=block, **options(implicit, dt))
            kernel = batch.kernel
            for n in sizes:
                part = GpuBatch.__new__(GpuBatch)
                part.__dict__.update(batch.__dict__, n=n)
                part.state, part.inputs = batch._columns(batch.source.first)[:, :n].copy(), batch.inputs[:, :n].copy()
                part.run(20)
                best = np.inf
                for _ in range(5):
                    start, stop = cp.cuda.Event(), cp.cuda.Event()
                    start.record()
                    part.run(steps)
                    stop.record()
                    stop.synchronize()
                    best = min(best, 1e-3 * cp.cuda.get_elapsed_time(start, stop))
                rows.append(
                    {
                        "scheme": "implicit" if implicit else "explicit",
                        "block": block,
                        "robots": n,
                        "steps_per_second": n * steps / best,
                        "ns": 1e9 * best / (n * steps),
                        "registers": kernel.num_regs,
                        "local_bytes": kernel.local_size_bytes,
                        "finite": bool(cp.isfinite(part.state).all()),
                        "height": float(part.q[:, 2].mean()),
                    }
                )
    device = cp.cuda.runtime.getDeviceProperties(0)
    return {"gpu": device["name"].decode(), "cupy": cp.__version__, "rows": rows}


def states(ticks: int, n: int = 64) -> np.ndarray:
    """q after some ticks of robots that start a little apart, for comparison with ``ff.Batch`` in single precision."""
    from footfall.batch.gpu import GpuBatch

    batch = GpuBatch(load("mini_cheetah"), n, controller(), **options(True))
    rows = batch.source.rows("q")
    batch.state[rows.start + 2] += batch.cupy.linspace(0.0, 0.01, n, dtype=np.float32)
    batch.run(ticks)
    return batch.cupy.asnumpy(batch.q)


def main() -> None:
    found = timings()
    if len(sys.argv) > 1:
        np.savez(sys.argv[1], after_10=states(10), after_100=states(100), after_1000=states(1000))
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
