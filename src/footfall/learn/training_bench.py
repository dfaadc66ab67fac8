"""How long a GPU takes to learn to walk, and whether it repeats itself: ``python -m footfall.learn.training_bench``.

A first argument is a file for the JSON. Run it on a machine with a GPU; it needs NumPy, jaxtyping, CuPy and PyTorch.
Every training begins on kernels that are compiled and recorded; how long that took is told apart.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from footfall.learn.cuda_training import CudaTraining
from footfall.learn.task import WalkTask
from footfall.robot.library import load

LEVEL = 0.0479  # mean reward per tick, near the end of the training whose policy is shipped (docs/learning.md)
SEEDS = (0, 1, 2, 3, 4)
LONGEST = 12.0  # [s]


def reached(training: CudaTraining, level: float) -> dict[str, Any]:
    """Seconds until the mean reward of a rollout is a level, and where it is then."""
    while training.seconds < LONGEST:
        row = training.iterate(5)
        if row["reward"] >= level:
            break
    return {"seconds": training.seconds, "reached": row["reward"] >= level, **row}


def repeats(robot: str = "mini_cheetah") -> dict[str, bool]:
    """Whether a training is the same bits again, also where it was cut off and went on from its checkpoint."""
    task = WalkTask.of(load(robot))
    one, two, first, second = (CudaTraining(task, 512, seed=7) for _ in range(4))
    for training in (one, two):
        training.iterate(20)
    first.iterate(10)
    with tempfile.TemporaryDirectory() as folder:
        first.save(Path(folder) / "half.npz")
        second.resume(Path(folder) / "half.npz")
    second.iterate(10)
    same = [[(a == b).all() for a, b in zip(one._numbers().values(), x._numbers().values())] for x in (two, second)]
    return {"again": bool(np.all(same[0])), "from_checkpoint": bool(np.all(same[1]))}


def report(robots: tuple[str, ...] = ("mini_cheetah",), seeds: tuple[int, ...] = SEEDS) -> dict[str, Any]:
    """All of it, with the policies of the last seed."""
    import torch

    rows = []
    for robot in robots:
        task = WalkTask.of(load(robot))
        for seed in seeds:
            began = time.perf_counter()
            training = CudaTraining(task, seed=seed)
            ready = time.perf_counter() - began
            rows.append({"robot": robot, "seed": seed, "ready": ready, **reached(training, LEVEL)})
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    device = torch.cuda.get_device_name()
    return {"gpu": device, "torch": torch.__version__, "level": LEVEL, "rows": rows, "repeats": repeats()}


def main() -> None:
    began = time.perf_counter()
    text = json.dumps({**report(), "process_seconds": time.perf_counter() - began}, indent=1)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
