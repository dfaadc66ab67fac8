"""Where the time of robots that differ goes on a GPU: threads per robot, blocks, registers, and loops in one or not.

Run on a machine with a GPU: ``python studies/gpu_as_used.py FILE.json``. It needs NumPy, jaxtyping and CuPy. Every
kernel is compiled in a process of its own, as many at once as there are cores; one at a time is timed.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from footfall.contact.planning import Planning
from footfall.robot.library import load
from footfall.sim import gpu
from footfall.sim.joints import JointModel
from footfall_lab.bench import as_used

SIZES = (4096, 16384, 65536)
_HELD, _LAUNCHES = 0.02, 20  # [s] that noise is held; launches that are timed
_LOCK = Path(tempfile.gettempdir()) / "gpu_as_used.lock"


def variants() -> list[dict]:
    """What is measured: model, dt, threads per robot, one loop or loops in loops, block, blocks at least at once."""
    found = []

    def add(model: str, dt: float, threads: int, one_loop: bool, block: int | None = None, at_once: int = 1) -> None:
        keys = ("model", "dt", "threads", "one_loop", "block", "at_once")
        found.append(dict(zip(keys, (model, dt, threads, one_loop, block, at_once))))

    for dt in (1e-3, 2e-3):
        for threads in (4, 1):
            for one_loop in (True, False):
                add("default", dt, threads, one_loop)
    add("default", 4e-3, 4, True)
    for block, at_once in ((64, 1), (256, 1), (128, 3), (128, 4), (128, 6)):
        add("default", 2e-3, 4, True, block, at_once)
    for block, at_once in ((64, 1), (128, 1), (128, 4)):
        add("default", 2e-3, 1, True, block, at_once)
    for dt in (2e-3, 5e-3):
        for threads in (4, 1):
            add("planning", dt, threads, True)
    for threads, block, at_once in ((4, 128, 3), (4, 128, 4), (4, 256, 1), (1, 64, 1), (1, 128, 4)):
        add("planning", 5e-3, threads, True, block, at_once)
    for threads in (4, 1):
        for one_loop in (True, False):
            add("ideal", 1e-3, threads, one_loop)
    return found


def measured(model: str, dt: float, threads: int, one_loop: bool, block: int | None, at_once: int) -> list[dict]:
    """Compile one variant, wait for the GPU, and time it by number of robots."""
    cp, robot = gpu.cupy(), load("mini_cheetah")
    controller, ticks = as_used.own_trot(dt), round(_HELD / dt)
    options = {"contact": Planning()} if model == "planning" else {}
    joints = JointModel.ideal() if model == "ideal" else JointModel()
    largest, began = max(SIZES), time.perf_counter()
    drawn = as_used.drawn(largest, controller.gait.period, _LAUNCHES)
    noises = cp.asarray(np.transpose(drawn["controller.noise"], (0, 2, 1)), np.float32)
    whole = gpu.GpuBatch(
        robot,
        largest,
        controller,
        threads=threads,
        block=block,
        one_loop=one_loop,
        dt=dt,
        joints=joints,
        free=list(drawn),
        **options,
    )
    if at_once > 1:
        bounded = whole.source.text.replace("__launch_bounds__(BLOCK, 1)", f"__launch_bounds__(BLOCK, {at_once})")
        whole.source.text = bounded
        whole.backend = gpu.CudaBackend(whole.source)
    compiled = time.perf_counter() - began
    whole.set({key: value for key, value in drawn.items() if key != "controller.noise"})
    rows = whole.source.input_rows("controller.noise")
    start, kernel, found = whole.state.copy(), whole.backend.function, []
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for n in SIZES:
            part = gpu.GpuBatch.__new__(gpu.GpuBatch)
            part.__dict__.update(whole.__dict__, n=n)
            part.state, part.inputs = start[:, :n].copy(), whole.inputs[:, :n].copy()

            def policy(part: gpu.GpuBatch = part, n: int = n) -> None:
                for noise in noises:
                    part.inputs[rows] = noise[:, :n]
                    part.run(ticks)

            policy()  # 0.4 s from the stand
            held = timed(cp, policy, 3)
            long = timed(cp, lambda part=part: part.run(ticks * _LAUNCHES), 3)
            finite, standing = bool(cp.isfinite(part.state).all()), float((part.q[:, 2] > 0.15).mean())
            part.inputs[...] = part.inputs[:, :1].copy()
            part.state[...] = start[:, :1]
            part.run(round(0.4 / dt))
            alike = timed(cp, lambda part=part: part.run(ticks * _LAUNCHES), 3)
            steps = n * ticks * _LAUNCHES
            found.append(
                {
                    "model": model,
                    "dt": dt,
                    "threads": whole.source.threads,
                    "one_loop": one_loop,
                    "block": whole.source.block,
                    "at_once": at_once,
                    "robots": n,
                    "millions_as_used": round(1e-6 * steps / held, 1),
                    "millions_one_launch": round(1e-6 * steps / long, 1),
                    "millions_alike": round(1e-6 * steps / alike, 1),
                    "registers": kernel.num_regs,
                    "local_bytes": kernel.local_size_bytes,
                    "compile_seconds": round(compiled, 1),
                    "finite": finite,
                    "standing": round(standing, 4),
                }
            )
    return found


def timed(cp: object, work: object, times: int) -> float:
    best = np.inf
    for _ in range(times):
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        work()
        stop.record()
        stop.synchronize()
        best = min(best, 1e-3 * cp.cuda.get_elapsed_time(start, stop))
    return best


def main() -> None:
    if len(sys.argv) > 2:
        print(json.dumps(measured(**json.loads(sys.argv[2]))))
        return
    out, left, running, rows = Path(sys.argv[1]), variants(), [], []
    while left or running:
        while left and len(running) < (os.cpu_count() or 1):
            one = left.pop(0)
            command = [sys.executable, __file__, str(out), json.dumps(one)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            running.append((one, process))
        for item in list(running):
            one, process = item
            if process.poll() is None:
                continue
            running.remove(item)
            text, errors = process.communicate()
            found = (
                json.loads(text.splitlines()[-1]) if process.returncode == 0 else [{**one, "failed": errors[-2000:]}]
            )
            rows += found
            for row in found:
                print(json.dumps(row), flush=True)
            out.write_text(json.dumps(rows, indent=1))
        time.sleep(0.2)


if __name__ == "__main__":
    main()
