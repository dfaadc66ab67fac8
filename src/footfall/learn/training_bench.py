"""How long a GPU takes to learn to walk, and whether it repeats itself: ``python -m footfall.learn.training_bench``.

Learned is what a training on a processor ends with, by the curve of one in ``docs/measured``.
A first argument is a file for the JSON. Run it on a machine with a GPU; it needs NumPy, jaxtyping, CuPy and PyTorch.
Every training begins on kernels that are compiled and recorded; how long that took is told apart.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from footfall.errors import InputError
from footfall.learn.cuda_training import CudaTraining
from footfall.learn.figures import read_curve
from footfall.learn.task import WalkTask
from footfall.learn.task_base import Task
from footfall.nests import Json
from footfall.robot.library import load

CURVE = Path(__file__).parents[3] / "docs/measured/learning-mini-cheetah.csv"  # of a training on a processor
LAST = 10  # iterations of it whose mean is the level
SEEDS = (0, 1, 2, 3, 4)
LONGEST = 12.0  # [s]


def level(curve: Path = CURVE) -> float:
    """The mean reward per tick with which a training on a processor ends."""
    rows = read_curve(curve)
    if len(rows) < LAST:
        raise InputError(f"the curve {curve} must have at least {LAST} rows, got {len(rows)}")
    return float(np.mean([row["reward"] for row in rows[-LAST:]]))


def reached(training: CudaTraining, wanted: float) -> dict[str, Json]:
    """Seconds until the mean reward of a rollout is a level, and where it is then."""
    while training.seconds < LONGEST:
        row = training.iterate(5)
        if row["reward"] >= wanted:
            break
    return {"seconds": training.seconds, "reached": row["reward"] >= wanted, **row}


def repeats(task: Task | None = None) -> dict[str, bool]:
    """Whether a training is the same bits again, also where it was cut off and went on from its checkpoint."""
    task = WalkTask.of(load("mini_cheetah")) if task is None else task
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


def report(robots: tuple[str, ...] = ("mini_cheetah",), seeds: tuple[int, ...] = SEEDS) -> dict[str, Json]:
    """All of it, with the policies of the last seed."""
    import torch

    rows, wanted = [], level()
    for robot in robots:
        task = WalkTask.of(load(robot))
        for seed in seeds:
            began = time.perf_counter()
            training = CudaTraining(task, seed=seed)
            ready = time.perf_counter() - began
            rows.append({"robot": robot, "seed": seed, "ready": ready, **reached(training, wanted)})
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    device = torch.cuda.get_device_name()
    return {"gpu": device, "torch": torch.__version__, "level": wanted, "rows": rows, "repeats": repeats()}


def main() -> None:
    began = time.perf_counter()
    text = json.dumps({**report(), "process_seconds": time.perf_counter() - began}, indent=1)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
