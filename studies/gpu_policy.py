"""Variants of the task ``walk`` learned on a GPU by robots from files, for ``policy_in_mujoco.py`` to judge.

    python studies/gpu_policy.py FOLDER ROBOT.urdf... [--variants walk seen ...] [--seconds 6]

Every training is prepared in a process of its own, as many at once as there are cores, and has the GPU for itself while
it learns. Policies go into ``FOLDER/policies.zip``, one line of JSON a training is printed.
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

from policy_in_mujoco import VARIANTS, task_of

from footfall.learn.task_spec import task_spec
from footfall.learn.tasks import task_from
from footfall.learn.training import make_training
from footfall.loading import load

_LOCK = Path(tempfile.gettempdir()) / "gpu_policy.lock"


def learned(folder: Path, file: str, variant: str, seconds: float, seed: int) -> dict[str, float | str]:
    """Train once and save the policy."""
    began, robot = time.perf_counter(), load(file)
    with tempfile.TemporaryDirectory() as scratch:
        task = task_from(task_spec(task_of(variant, Path(scratch))), robot)
    training = make_training(task, "cuda", None, seed, None, True)
    ready, row = time.perf_counter() - began, {}
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        while training.seconds < seconds:
            row = training.iterate(5)
    training.policy().save(folder / f"{robot.name}-{variant}-{seed}.npz", robot)
    words = {key: round(float(row[key]), 4) for key in ("reward", "forward_error", "falls", "score") if key in row}
    return {
        "robot": robot.name,
        "variant": variant,
        "ready": round(ready, 1),
        "iterations": training.iteration,
        **words,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("robots", nargs="*")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS))
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", help="a training, as JSON: what this command calls itself with")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(learned(given.folder, **json.loads(given.one))), flush=True)
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    policies = Path(tempfile.mkdtemp())
    left = [
        {"file": file, "variant": variant, "seconds": given.seconds, "seed": given.seed}
        for variant in given.variants
        for file in given.robots
    ]
    running: list[subprocess.Popen[bytes]] = []
    while left or running:
        while left and len(running) < max(1, (os.cpu_count() or 1) - 1):
            command = [sys.executable, __file__, str(policies), "--one", json.dumps(left.pop(0))]
            running.append(subprocess.Popen(command))
        time.sleep(0.2)
        running = [process for process in running if process.poll() is None]
        with zipfile.ZipFile(given.folder / "policies.zip", "w") as into:
            for path in sorted(policies.glob("*.npz")):
                into.write(path, path.name)


if __name__ == "__main__":
    main()
