"""What one GPU learns of every task in a given time, on a machine with nothing but NumPy, SciPy, PyTorch and CuPy.

    python studies/gpu_bench.py FOLDER --parts rough rough_blind recover walk --limit 520

Policies go into the folder, and all numbers into ``tasks.json`` there, after every part: what is there of other parts
stays. ``--limit`` is of the whole call by the clock; a training ends early rather than leave no time to evaluate it,
and a part for which there is none is left out. Before walking, ``walk to a level`` says how long a GPU takes to learn
it and whether it repeats itself, bit for bit. ``python studies/task_bench.py FOLDER/evaluated.json --policies FOLDER``
then evaluates the policies on a processor.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from footfall.control.learned.policy import Policy
from footfall.errors import InputError
from footfall.learn.cuda_lanes import GpuExam
from footfall.learn.cuda_ppo import CudaTraining
from footfall.learn.figures import read_curve
from footfall.learn.task import EXAM_SEED, Task
from footfall.learn.tasks import TASKS
from footfall.learn.training import BestPolicy
from footfall.learn.walk import WalkTask
from footfall.robot.library import load
from nptrace._types import Json

_UNSEEN = 1_000_000  # seed of the robots that evaluate
_EVALUATING, _LEAST = 45.0, 60.0  # [s] by the clock that evaluating takes, and without which no part begins
_EXAMS = 10  # of a training


CURVE = Path(__file__).parents[1] / "docs/measured/learning-mini-cheetah.csv"  # of a training on a processor
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


def learn_to_walk(robots: tuple[str, ...] = ("mini_cheetah",), seeds: tuple[int, ...] = SEEDS) -> dict[str, Json]:
    """Return how long a GPU takes to learn to walk, and whether it repeats itself.

    Learned is what a training on a processor ends with, by the curve of one in ``docs/measured``.
    """
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


@dataclass(kw_only=True)
class Bench:
    """One call: where its files go, when it ends, how many robots evaluate a policy (on courses: of each kind)."""

    folder: Path
    until: float  # of time.monotonic()
    count: int = 1000
    seconds: float | None = None  # of every training, instead of its own
    robot: str = "mini_cheetah"
    seed: int = 0

    def say(self, **words: Json) -> None:
        print(json.dumps({"left": round(self.until - time.monotonic()), **words}), file=sys.stderr, flush=True)

    def part(self, name: str) -> dict[str, Json]:
        """Train and evaluate; the policy is written before it is evaluated."""
        robot = load(self.robot)
        task = TASKS[name].of(robot)
        began = time.monotonic()
        training = CudaTraining(task, seed=self.seed)
        best = None
        if task.exam_robots:
            in_training = GpuExam.of(task.gpu_exam(task.exam_robots))
            best = BestPolicy(lambda policy: in_training.exam.score(in_training.run(policy, EXAM_SEED)))
        ready = time.monotonic() - began
        self.say(part=name, ready=ready)
        policy = self.learned(name, training, best)
        replace(policy, task=name).save(self.folder / f"{self.robot}-{name}.npz", robot)
        row = {
            "gpu": training.torch.cuda.get_device_name(),
            "seed": self.seed,
            "robots": training.robots,
            "ready": ready,
            "seconds": training.seconds,
            "iterations": training.iteration,
            "exams": best.scores if best else [],
            "curve": training.curve[:: max(1, len(training.curve) // 40)],
            **self.evaluated(task, policy),
        }
        return {**row, "call_seconds": time.monotonic() - began}

    def learned(self, name: str, training: CudaTraining, best: BestPolicy | None) -> Policy:
        """Return the policy after the time of the part, the best of its exams where there are any."""
        seconds, looked = training.task.bench_seconds if self.seconds is None else self.seconds, 0.0
        while training.seconds < seconds and time.monotonic() < self.until - _EVALUATING:
            row = training.iterate(5)
            if training.seconds - looked >= seconds / _EXAMS:
                looked = training.seconds
                if best is not None:
                    best.examine(training.policy(), training.iteration)
                words = {key: float(f"{row[key]:.4g}") for key in ("iteration", "seconds", "reward", "falls", "score")}
                self.say(part=name, **words, exam=best.scores[-1][1] if best else None)
        policy = training.policy()
        if best is None:
            return policy
        best.examine(policy, training.iteration)
        return best.policy or policy

    def evaluated(self, task: Task, policy: Policy) -> dict[str, Json]:
        """Return what robots of unseen draws do, on the GPU."""
        exam = task.gpu_exam(self.count)
        return exam.numbers(GpuExam.of(exam).run(policy, _UNSEEN))

    def run(self, parts: Sequence[str]) -> dict[str, Json]:
        file = self.folder / "tasks.json"
        found: dict[str, Json] = json.loads(file.read_text()) if file.exists() else {}
        for name in parts:
            if self.until - time.monotonic() < _LEAST + _EVALUATING:
                self.say(part=name, left_out=True)
                continue
            if name == "walk":
                found["walk to a level"] = learn_to_walk()
                file.write_text(json.dumps(found, indent=1) + "\n")
            found[name] = self.part(name)
            file.write_text(json.dumps(found, indent=1) + "\n")
            words = {key: value for key, value in found[name].items() if key not in ("curve", "exams")}
            self.say(part=name, **words)
        return found


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parts", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--limit", type=float, default=520.0, help="seconds of the whole call, by the clock")
    parser.add_argument("--seconds", type=float, default=None, help="of every training, instead of each part's own")
    parser.add_argument(
        "--count", type=int, default=1000, help="robots that evaluate a policy, on courses of each kind"
    )
    parser.add_argument("--robot", default="mini_cheetah")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(given)
    until = time.monotonic() + options.limit
    bench = Bench(
        folder=options.folder,
        until=until,
        count=options.count,
        seconds=options.seconds,
        robot=options.robot,
        seed=options.seed,
    )
    options.folder.mkdir(parents=True, exist_ok=True)
    bench.run(options.parts)


if __name__ == "__main__":
    main()
