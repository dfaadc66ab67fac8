"""``footfall bench gpu``: robot-steps per second on one GPU, and agreement with the processor.

Run as a module on a machine with a GPU: ``python -m footfall_lab.bench.gpu [STATES.npz]``. It needs NumPy and
CuPy. One, two and four threads per robot are timed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from footfall.contact.compliant import Compliant
from footfall.contact.ground import Plane
from footfall.contact.planning import Planning
from footfall.control.joint.joint_pd import JointPD
from footfall.errors import FootfallError
from footfall.robot.library import load
from footfall.sim.joints import JointModel
from footfall_lab.bench import as_used, gpu_peers
from footfall_lab.bench.report import BenchReport, this_machine
from footfall_lab.bench.timing import Row
from nptrace._types import Given, Json

if TYPE_CHECKING:
    from cupy import ndarray as DeviceArray

    from footfall.sim.gpu import GpuBatch

SIZES = (1024, 4096, 8192, 16384, 32768, 65536, 262144)
BLOCKS = {1: (32, 64, 128, 256), 2: (64, 256), 4: (64, 128)}  # by threads per robot
_COMPARED = 65536  # robots
USED_SIZES = (4096, 16384, 65536)
USED = {  # settings of robots as used: (dt [s], contact model or None for the default)
    "default contact, dt 1 ms": (1e-3, None),
    "default contact, dt 2 ms": (2e-3, None),
    "planning contact, dt 2 ms": (2e-3, Planning()),
    "planning contact, dt 5 ms": (5e-3, Planning()),
}
_WARM, _TIMED, _LAUNCHES = 0.4, 0.4, 3  # [s] of simulated time
_APART = (8192, 65536)  # numbers of robots that are also timed out of step, where threads wait for each other's contact
METHOD = (
    "Ours: the trotting Mini Cheetah in single precision, gait and PD in every step, 500 steps per launch, least of"
    " five launches by the GPU's clock, best block size and best of one, two and four threads per robot; implicit"
    f" contact at dt 1e-3, explicit at 1e-4. steps_per_second is for {_COMPARED} robots with implicit contact that"
    " started up to a centimetre apart; the others run in step with each other."
    " As used: default joints, robots that differ in trunk mass (2.8 to 4.2 kg), friction (0.4 to 1), stride (0 to 1.5)"
    ", phase, and noise of 0.05 rad on the targets, drawn every 20 ms; 0.4 s per launch after 0.4 s from the stand,"
    " or, where stated, a launch every 20 ms, as for an external policy; least of three, threads as GpuBatch"
    " chooses."
    " Peers: the same robot standing under joint PD, dt 1e-3, 50 steps replayed as a CUDA graph or"
    " compiled as one loop; the ratio takes the fastest of MuJoCo Warp's settings."
)


def options(implicit: bool, dt: float = 1e-3) -> dict[str, Given]:
    """Return the timed run: the Mini Cheetah's trot, gait and PD every step, four compliant feet on a plane."""
    return {
        "contact": Compliant(damping=1e4 if implicit else 10.0),
        "integrator": "linearly_implicit" if implicit else "semi_implicit_euler",
        "ground": Plane(0.8),
        "joints": JointModel.ideal(),
        "dt": dt,
    }


def controller(dt: float = 1e-3) -> JointPD:
    return JointPD.tuned("mini_cheetah", "trot", open_loop=True, rate=1.0 / dt)


def timings(sizes: tuple[int, ...] = SIZES, steps: int = 500) -> dict[str, Json]:
    """Return robot-steps per second by scheme, threads per robot, block and number of robots."""
    from footfall.sim.gpu import GpuBatch, cupy

    cp = cupy()
    robot, rows = load("mini_cheetah"), []
    for implicit, dt in ((True, 1e-3), (False, 1e-4)):
        for threads, block in ((t, b) for t, blocks in BLOCKS.items() for b in blocks):
            batch = GpuBatch(robot, max(sizes), controller(dt), threads=threads, block=block, **options(implicit, dt))
            kernel = batch.backend.function
            for n, apart in [*((n, False) for n in sizes), *((n, True) for n in _APART if n in sizes)]:
                part = GpuBatch.__new__(GpuBatch)
                part.__dict__.update(batch.__dict__, n=n)
                part.state, part.inputs = batch._columns(batch.source.first)[:, :n].copy(), batch.inputs[:, :n].copy()
                if apart:
                    _set_apart(part)
                part.run(20)
                best = least_seconds(part, steps, 5)
                rows.append(
                    {
                        "scheme": "implicit" if implicit else "explicit",
                        "threads": batch.source.threads,
                        "block": block,
                        "robots": n,
                        "apart": apart,
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


def used_timings(name: str, sizes: tuple[int, ...] = USED_SIZES, **options: Given) -> list[dict[str, Json]]:
    """Return robot-steps per second of different robots, by their number; ``options`` go to ``GpuBatch``."""
    from footfall.sim.gpu import GpuBatch, cupy

    (dt, contact), cp, robot, rows = USED[name], cupy(), load("mini_cheetah"), []
    if contact is not None:
        options = {"contact": contact, **options}
    pieces = round((_WARM + _TIMED) / as_used.HELD)
    trot = as_used.own_trot(dt, pieces)
    for n in sizes:
        drawn = as_used.drawn(n, trot.gait.period, pieces)
        batch = GpuBatch(robot, n, trot, dt=dt, free=list(drawn), **options)
        batch.set(drawn)
        batch.run(round(_WARM / dt))
        began, ticks, held = batch.state.copy(), round(_TIMED / dt), round(as_used.HELD / dt)

        def seconds(
            each: int, batch: GpuBatch = batch, began: DeviceArray = began, ticks: int = ticks, n: int = n
        ) -> float:
            """Return the shortest of some rollouts from the same states, in launches of ``each`` ticks [s]."""
            best = np.inf
            for _ in range(_LAUNCHES):
                batch.state[...] = began
                start, stop = cp.cuda.Event(), cp.cuda.Event()
                start.record()
                for _ in range(ticks // each):
                    batch.run(each)
                stop.record()
                stop.synchronize()
                best = min(best, 1e-3 * cp.cuda.get_elapsed_time(start, stop))
            return best / (n * ticks)

        whole, policy = seconds(ticks), seconds(held)
        kernel = batch.backend.function
        rows.append(
            {
                "name": name,
                "robots": n,
                "threads": batch.source.threads,
                "block": batch.source.block,
                "steps_per_second": 1.0 / whole,
                "steps_per_second_policy_outside": 1.0 / policy,
                "registers": kernel.num_regs,
                "local_bytes": kernel.local_size_bytes,
                "finite": bool(cp.isfinite(batch.state).all()),
                "standing": float((batch.q[:, 2] > 0.15).mean()),
            }
        )
    return rows


def least_seconds(batch: GpuBatch, ticks: int, launches: int) -> float:
    """Return the shortest of some launches by the GPU's clock [s]."""
    cuda, best = batch.cupy.cuda, np.inf
    for _ in range(launches):
        start, stop = cuda.Event(), cuda.Event()
        start.record()
        batch.run(ticks)
        stop.record()
        stop.synchronize()
        best = min(best, 1e-3 * cuda.get_elapsed_time(start, stop))
    return float(best)


def states(ticks: int, n: int = 64, threads: int = 1) -> np.ndarray:
    """Return q after some ticks of robots with different starts, to compare with ``ff.Batch`` in single precision."""
    from footfall.sim.gpu import GpuBatch

    batch = GpuBatch(load("mini_cheetah"), n, controller(), threads=threads, **options(True))
    _set_apart(batch)
    batch.run(ticks)
    return batch.cupy.asnumpy(batch.q)


def _set_apart(batch: GpuBatch) -> None:
    """Start robots up to a centimetre higher than the first, so that they touch the ground one after another."""
    rows = batch.source.rows("q")
    batch.state[rows.start + 2] += batch.cupy.linspace(0.0, 0.01, batch.n, dtype=np.float32)


def unavailable() -> str | None:
    """Return why this machine cannot run the bench, or None."""
    from footfall.sim.gpu import cupy

    try:
        cupy()
    except FootfallError as error:
        return str(error)
    return None


def measure(seconds: float, progress: Callable[[str, int, int], None]) -> BenchReport:
    """Run the bench: our rates by number of robots, and those of the peers that are installed, on the same GPU."""
    why = unavailable()
    if why is not None:
        raise FootfallError(f"bench gpu cannot run here: {why}")
    progress("footfall", 0, 100)
    found = timings()
    best: dict[tuple[str, int, bool], float] = {}
    for row in found["rows"]:
        key = row["scheme"], row["robots"], row["apart"]
        best[key] = min(best.get(key, np.inf), row["ns"])
    rows = [
        Row(f"cuda f32 {scheme}, {n} robots{' apart' if apart else ''}", ns, "robot-step")
        for (scheme, n, apart), ns in best.items()
    ]
    ours = best["implicit", _COMPARED, True]
    used: dict[str, float | None] = {}
    for name in USED:
        progress(f"as used, {name}", 30, 100)
        for row in used_timings(name):
            for suffix, words in (("", ""), ("_policy_outside", ", a launch every 20 ms")):
                rate = row[f"steps_per_second{suffix}"]
                rows.append(Row(f"cuda f32, as used, {name}, {row['robots']} robots{words}", 1e9 / rate, "robot-step"))
                used[f"steps_per_second as used, {name}, {row['robots']} robots{words}"] = rate
    progress("MuJoCo Warp and MJX", 50, 100)
    notes = [f"{peer} is not installed: not timed" for peer, here in gpu_peers.installed().items() if not here]
    best_warp: float | None = None
    for row in gpu_peers.rows((_COMPARED,)):
        peer = f"{row['peer']} {row['settings']}, {row['robots']} robots"
        if "failed" in row:
            notes.append(f"{peer} failed: {row['failed']}")
            continue
        ns = 1e9 / row["steps_per_second"]
        rows.append(Row(peer, ns, "robot-step"))
        if row["peer"] == "mujoco_warp":
            best_warp = min(ns, best_warp or ns)
    ratios: dict[str, float | None] = {
        "mujoco_warp_over_cuda": best_warp / ours if best_warp else None,
        "steps_per_second": 1e9 / ours,
        **used,
    }
    machine = {**this_machine(), "gpu": found["gpu"], "cupy": found["cupy"]}
    return BenchReport(
        bench="gpu", rows=rows, ratios=ratios, operations={}, method=METHOD, notes=notes, machine=machine
    )


def main() -> None:
    found = timings()
    found["as_used"] = [row for name in USED for row in used_timings(name)]
    for threads, word in ((2, "two"), (4, "four")):
        apart = float(np.abs(states(100) - states(100, threads=threads)).max())
        found[f"one_thread_against_{word}_after_100_ticks"] = apart
    if len(sys.argv) > 1:
        np.savez(sys.argv[1], after_10=states(10), after_100=states(100), after_1000=states(1000))
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
