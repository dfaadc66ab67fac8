"""What contact to train on: the tasks learned on the default contact and on ``planning``, judged on the default one.

    python studies/gpu_contact.py FOLDER

On a machine with a GPU, NumPy, SciPy, PyTorch and CuPy. Every training is prepared in a process of its own, as many at
once as there are cores, and has the GPU for itself while it learns and is judged. One line of JSON a training goes to
``FOLDER/contact.json``, policies into ``FOLDER/policies.zip``.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
from gpu_bench import _UNSEEN, LONGEST, level

from footfall.learn.cuda_lanes import GpuExam
from footfall.learn.cuda_ppo import CudaTraining
from footfall.learn.task import Task
from footfall.learn.task_spec import CONTACT_DT
from footfall.learn.tasks import TASKS
from footfall.robot.library import load
from nptrace._types import Json

# task, contact, seeds, seconds at which a policy is judged; the level of walking where there are none
PLAN: tuple[tuple[str, str, tuple[int, ...], tuple[float, ...]], ...] = (
    ("rough_blind", "planning", (0, 1, 2), (8.0, 12.0, 16.0)),
    ("rough_blind", "yielding", (0,), (8.0, 12.0, 16.0)),
    ("rough", "planning", (0,), (15.0, 30.0)),
    ("rough", "yielding", (0,), (15.0, 30.0)),
    ("recover", "planning", (0,), (10.0, 20.0)),
    ("recover", "yielding", (0,), (10.0, 20.0)),
    ("walk", "planning", (0, 1, 2, 3, 4), ()),
    ("walk", "default", (0, 1, 2), ()),
)
_ROBOTS = {"walk": 1000, "recover": 1000, "rough": 160, "rough_blind": 160}  # that judge, of each kind of course
_LOCK = Path(tempfile.gettempdir()) / "gpu_contact.lock"


def task_of(name: str, contact: str) -> Task:
    return TASKS[name].of(load("mini_cheetah"), contact=contact, dt=CONTACT_DT[contact])


def learned(folder: Path, name: str, contact: str, seed: int, judged: list[float]) -> list[dict[str, Json]]:
    """Train once; return what the policy does at each of the times, or when it has reached the level of walking."""
    began = time.perf_counter()
    task = task_of(name, contact)
    training = CudaTraining(task, seed=seed)
    exam = task.gpu_exam(_ROBOTS[name])
    examiner, robot, rows = GpuExam.of(exam), load("mini_cheetah"), []
    ready = time.perf_counter() - began

    def judge() -> None:
        policy, words = training.policy(), training.curve[-1]
        policy.save(folder / f"{name}-{contact}-{seed}-{len(rows)}.npz", robot)
        numbers = exam.numbers(examiner.run(policy, _UNSEEN))
        numbers.pop("percent_by_level", None)
        rows.append(
            {
                "task": name,
                "contact": contact,
                "seed": seed,
                "seconds": round(training.seconds, 2),
                "iterations": training.iteration,
                "ms": round(1e3 * training.seconds / training.iteration, 2),
                "reward": round(words["reward"], 4),
                **{key: round(x, 4) if isinstance(x, float) else x for key, x in numbers.items()},
            }
        )

    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for at in judged:
            while training.seconds < at:
                training.iterate(5)
            judge()
        if not judged:
            wanted = level()
            while training.seconds < LONGEST and training.iterate(5)["reward"] < wanted:
                pass
            judge()
        rows[-1] |= {"ready": round(ready, 1), "ms_of": parts(training)}
    return rows


def parts(training: CudaTraining, times: int = 20) -> dict[str, float]:
    """Return the milliseconds of an iteration, by part; the training is of no more use afterwards."""
    ppo, torch = training.ppo, training.torch
    lanes = ppo.lanes

    def mean(work: object, count: int = 1) -> float:
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        work()
        start.record()
        for _ in range(times):
            work()
        stop.record()
        torch.cuda.synchronize()
        return round(count * start.elapsed_time(stop) / times, 3)

    s, graphs = ppo.settings, ppo.graphs
    chance = lanes.cupy.zeros((lanes.source.draws, lanes.n), np.float32) + 0.5

    def physics() -> None:
        with ppo._stream():
            lanes._backend.rollout(1, lanes._state, lanes._rest)

    def evaluation() -> None:
        with ppo._stream():
            lanes._step.advance(1, lanes.columns, chance)

    return {
        "rollout": mean(graphs[0].replay),
        "update": mean(graphs[1].replay, s.epochs),
        "physics": mean(physics, s.steps),
        "evaluation": mean(evaluation, s.steps),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--one", help="a training, as JSON: what this command calls itself with")
    parser.add_argument("--tasks", nargs="+", default=[name for name, *_ in PLAN])
    options = parser.parse_args()
    if options.one:
        print(json.dumps(learned(**{**json.loads(options.one), "folder": options.folder})))
        return
    policies = Path(tempfile.mkdtemp())
    left = [
        {"name": name, "contact": contact, "seed": seed, "judged": list(judged)}
        for name, contact, seeds, judged in PLAN
        for seed in seeds
        if name in options.tasks
    ]
    running: list[tuple[dict, subprocess.Popen]] = []
    options.folder.mkdir(parents=True, exist_ok=True)
    with (options.folder / "contact.json").open("w") as file:
        while left or running:
            while left and len(running) < max(1, (os.cpu_count() or 1) - 1):
                one = left.pop(0)
                command = [sys.executable, __file__, str(policies), "--one", json.dumps(one)]
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                running.append((one, process))
            for item in list(running):
                one, process = item
                if process.poll() is None:
                    continue
                running.remove(item)
                text, errors = process.communicate()
                failed = process.returncode != 0
                for row in [{**one, "failed": errors[-600:]}] if failed else json.loads(text.splitlines()[-1]):
                    print(json.dumps(row), file=file, flush=True)
                    print(json.dumps(row), flush=True)
                with zipfile.ZipFile(options.folder / "policies.zip", "w") as archive:
                    for policy in sorted(policies.glob("*.npz")):
                        archive.write(policy, policy.name)
            time.sleep(0.2)


if __name__ == "__main__":
    main()
