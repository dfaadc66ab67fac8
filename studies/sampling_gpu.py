"""Predictive control by sampling on one GPU: plans per second by the number of samples, and what more samples do.

    python studies/sampling_gpu.py FILE.json            # on a machine with a GPU and CuPy
    python studies/sampling_gpu.py FILE.json --more     # the third part alone
    python studies/sampling_gpu.py FILE.json --try      # the same on the processor with few samples

``rates``: rollouts alone and whole plans (noise, rollouts, average), of 0.5 s in steps of 10 ms, by the number of
samples. ``walk``: Mini Cheetah at 0.4 m/s under 65 536 samples at 100 plans a second: seconds of planning for each
simulated second. ``more``: success by samples in tasks that are hard with few (``sampling_control.TRIALS``), on the
same unknown robot.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace

import numpy as np
import sampling_control as study

import footfall as ff
from footfall.sim.sampling_tasks import task_named

SIZES = (2**12, 2**14, 2**16, 2**17)
BUDGET = 260.0  # [s] for everything
LONG = {"knots": 8, "interval": 0.082, "plan_rate": 100.0, "noise": (0.1, 0.2, 0.3)}  # 0.5 s
HARD = ("climb", "jump", "flip", "jump_30", "climb_15")


def planner_of(samples, device, **settings):
    robot = ff.load("mini_cheetah")
    controller = ff.control.Sampling(task_named("walk", robot), samples=samples, device=device, **settings)
    start, command = ff.control.standing_state(robot), ff.Command(forward=0.4)
    sim = ff.Simulation(robot, controller, start=start, command=command)
    sim.run(0.5 / controller.rate)
    sim.reset()
    return controller, sim


def least(function, times):
    function()
    best = np.inf
    for _ in range(times):
        began = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - began)
    return best


def rates(sizes, device):
    """Return seconds of rollouts and of whole plans by the number of samples."""
    found = []
    for n in sizes:
        controller, sim = planner_of(n, device, **LONG)
        made, memory, sensed = controller._planner, controller.start(sim.robot), sim.sensed
        random = controller._generator(0)
        samples = controller._samples(memory["knots"], controller._noise(memory["knots"], 1.0), random, True)
        weights = np.float32(np.tile(np.eye(controller.knots)[:1], (made.horizon, 1)))
        task = made.model.task
        goal = np.float32(controller.goal_now(task.goal(0.0, sim.q, sim.v, ff.Command(), task.start(sim.robot))[0]))
        shared = weights, goal, np.float32(0.0), np.zeros(6, np.float32), ()

        def roll(made=made, samples=samples, shared=shared, sim=sim):
            return float(np.min(made.rollout(np.float32(sim.q), np.float32(sim.v), samples, *shared)))  # waits

        def plan(controller=controller, sim=sim, sensed=sensed, memory=memory):
            controller._plan(0.0, sim.robot, sensed, ff.Command(forward=0.4), memory)

        times = 20 if device == "cuda" else 3
        seconds, whole = least(roll, times), least(plan, times)
        steps = n * made.horizon
        row = {
            "samples": n,
            "horizon": made.horizon * controller.dt,
            "rollout_ms": 1e3 * seconds,
            "plan_ms": 1e3 * whole,
            "plans_per_second": 1.0 / whole,
            "ns_per_step_and_sample": 1e9 * seconds / steps,
        }
        print(row, flush=True)
        found.append(row)
    return found


def walk(samples, device, seconds):
    """Return how it walks, and the time of planning for each simulated second."""
    controller, sim = planner_of(samples, device, **LONG)
    began = time.perf_counter()
    rec = sim.run(seconds)
    took = time.perf_counter() - began
    row = {
        "samples": samples,
        "plans_per_second": controller.plan_rate,
        "horizon": controller.horizon(sim.robot) * controller.dt,
        "seconds_per_simulated_second": took / seconds,
        "forward": float(rec.mean_velocity(after=1.0)[0]),
        "stopped": None if sim.stopped is None else sim.stopped.message,
    }
    print(row, flush=True)
    return row


def more(sizes, seeds, device, until):
    """Return success by task and samples, as far as there is time."""
    climb, jump = study.TRIALS["climb"], study.TRIALS["jump"]
    study.TRIALS["climb_15"] = replace(climb, ground=lambda f, r: study.stairs(f, r, 0.15), judge=study.climbs(0.15))
    study.TRIALS["jump_30"] = replace(
        jump, options={"rise": 0.3, "duration": 0.42}, ground=lambda f, r: study.box(f, r, 0.3), judge=study.jumps(0.3)
    )
    found = []
    for name in HARD:
        for n in sizes:
            rows = []
            for seed in range(seeds):
                if time.perf_counter() > until:
                    break
                run, spent, _, _ = study.run_once(name, "mini_cheetah", seed, settings={"samples": n, "device": device})
                fine, figures = study.TRIALS[name].judge(run)
                rows.append({"seed": seed, "fine": bool(fine), **{k: round(float(v), 3) for k, v in figures.items()}})
                print(name, n, rows[-1], round(spent, 2), flush=True)
            if rows:
                found.append({"task": name, "samples": n, "success": sum(r["fine"] for r in rows), "runs": rows})
    return found


def main() -> None:
    trying = "--try" in sys.argv
    device, began = "cpu" if trying else "cuda", time.perf_counter()
    result = {"device": device}
    if "--more" not in sys.argv:
        result["rates"] = rates((256, 512) if trying else SIZES, device)
        result["walk"] = walk(256 if trying else 2**16, device, 1.5 if trying else 4.0)
    with open(sys.argv[1], "w") as file:
        json.dump(result, file, indent=1)
    until = began + (30.0 if trying else 120.0 if "--more" in sys.argv else BUDGET)
    result["more"] = more((64,) if trying else (2**12, 2**16), 1 if trying else 3, device, until)
    if not trying:
        from footfall.sim.gpu import cupy

        result["gpu"] = cupy().cuda.runtime.getDeviceProperties(0)["name"].decode()
    with open(sys.argv[1], "w") as file:
        json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
