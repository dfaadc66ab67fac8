"""``footfall bench batch``: many robots on the processor, against mujoco.rollout, by numbers of robots and threads."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from footfall.contact.compliant import Compliant
from footfall.control.joint.joint_pd import JointPD
from footfall.sim.batch import Batch
from footfall.sim.cores import cores
from footfall.sim.joints import JointModel
from footfall_lab.bench import as_used, peers, step, subject
from footfall_lab.bench.report import BenchReport
from footfall_lab.bench.timing import Row, interleaved, pinned

SIZES = (1_000, 10_000, 100_000)
TICKS = 20  # ticks of one step each per call of Batch.run
_ROUNDS = 3  # fewest rounds
_THREADED = 8192  # robots for the comparison of threads
METHOD = (
    "Against MuJoCo: least thread time of at least 20 interleaved rounds on one pinned core, dt 1e-4, 64 robots, as in"
    " bench step. Cost by number of robots: ff.Batch of the trotting Mini Cheetah, gait and PD in every step, implicit"
    f" contact, dt 1e-3, {TICKS} substeps per call of Batch.run from Python, packing and unpacking included, one"
    f" thread,"
    " least thread time of interleaved rounds. threads_scaling: wall time of"
    f" {_THREADED} robots in one thread over that on all cores, affected by other load." + as_used.METHOD
)
_ROLLOUT = "mujoco.rollout elliptic Euler"


def measure(seconds: float, progress: Callable[[str, int, int], None]) -> BenchReport:
    """Run the bench for about ``seconds``."""
    progress("compiling", 0, 100)
    with pinned():
        tasks = [*step.batch_tasks(), peers.rollout_task(_ROLLOUT, "Euler", "elliptic")]
        rows = interleaved(tasks, 0.25 * seconds, progress)
        rows += interleaved(as_used.batch_tasks(), 0.25 * seconds, progress)
    times = {row.name: row.ns for row in rows}
    ratios = step.batch_ratios(times, times[_ROLLOUT]) | as_used.batch_ratios(times)
    for kind, dtype in step.TYPES.items():
        costs = _costs(dtype, 0.15 * seconds, progress)
        rows += [Row(f"Batch {kind} implicit, {n} robots", ns, "robot-step") for n, ns in costs.items()]
        ratios[f"cost_of_100000_over_1000_{kind}"] = costs[SIZES[-1]] / costs[SIZES[0]]
    one, all_cores = _threads(0.2 * seconds)
    rows += [
        Row(f"Batch f32 implicit, {_THREADED} robots, 1 thread (wall)", one, "robot-step"),
        Row(f"Batch f32 implicit, {_THREADED} robots, {cores()} threads (wall)", all_cores, "robot-step"),
    ]
    ratios["threads_scaling"] = one / all_cores
    return BenchReport(bench="batch", rows=rows, ratios=ratios, operations=subject.operations(), method=METHOD)


def trotting(n: int, dtype: type, threads: int | None) -> Batch:
    """Return the timed batch: gait and PD in every step, four compliant feet on a plane."""
    return Batch(
        subject.robot(),
        n,
        JointPD.tuned("mini_cheetah", "trot", open_loop=True),
        dtype=dtype,
        threads=threads,
        contact=Compliant(damping=1e4),
        joints=JointModel.ideal(),
        dt=1e-3,
    )


def _costs(dtype: type, seconds: float, progress: Callable[[str, int, int], None]) -> dict[int, float]:
    """Return the thread time per robot-step [ns] by number of robots; rounds interleave the sizes."""
    batches = {n: trotting(n, dtype, threads=1) for n in SIZES}
    best, began, rounds = dict.fromkeys(SIZES, np.inf), time.perf_counter(), 0
    with pinned():
        while rounds < _ROUNDS or time.perf_counter() - began < seconds:
            for n, batch in batches.items():
                for _ in range(max(1, min(10, SIZES[-1] // (10 * n)))):  # small batches: repeat
                    before = time.thread_time()
                    batch.run(TICKS)
                    best[n] = min(best[n], 1e9 * (time.thread_time() - before) / (n * TICKS))
            rounds += 1
            progress("sizes", min(100, int(100 * (time.perf_counter() - began) / seconds)), 100)
    return best


def _threads(seconds: float) -> tuple[float, float]:
    """Return the wall time per robot-step [ns] in one thread and on all cores."""
    batches = [trotting(_THREADED, np.float32, threads) for threads in (1, None)]
    best, began, rounds = [np.inf, np.inf], time.perf_counter(), 0
    while rounds < _ROUNDS or time.perf_counter() - began < seconds:
        for k, batch in enumerate(batches):
            before = time.perf_counter()
            batch.run(TICKS)
            best[k] = min(best[k], 1e9 * (time.perf_counter() - before) / (_THREADED * TICKS))
        rounds += 1
    return best[0], best[1]
