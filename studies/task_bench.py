"""What a device learns of every task in a given time, by several seeds and robots.

    python studies/task_bench.py OUT.json --device cuda --seeds 3 --robots go2.xml anymal_c.xml
    python studies/task_bench.py OUT.json --policies FOLDER      # trains nothing, evaluates what is there

Every policy is written beside the JSON and is evaluated by robots of unseen seeds on the processor, by code that did
not train it (``Task.measure``).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from footfall.control.learned.policy import Policy
from footfall.learn.tasks import TASKS
from footfall.learn.training import train
from footfall.loading import load
from footfall.robot import library
from nptrace._types import Json

_MANY = 1_000_000  # iterations: the time ends a training


def report(
    folder: Path,
    device: str,
    tasks: Sequence[str],
    models: Sequence[str],
    seeds: int,
    count: int,
    seconds: float | None = None,
    **options: Any,
) -> list[dict[str, Json]]:
    """Return a row for every task, robot and seed; most tasks for the first robot alone."""
    rows: list[dict[str, Json]] = []
    for task in tasks:
        for place, name in enumerate(models if TASKS[task].bench_all_robots else models[:1]):
            robot = load(name)
            for seed in range(seeds if place == 0 else 1):
                file = folder / f"{robot.name}-{task}-{seed}.npz"
                time = TASKS[task].bench_seconds if seconds is None else seconds
                done = train(robot, file, task, device, iterations=_MANY, seconds=time, seed=seed, **options)
                policy = Policy.load(file)
                assert isinstance(policy, Policy)
                row = {
                    "task": task,
                    "robot": robot.name,
                    "seed": seed,
                    "seconds": done.training.seconds,
                    "samples": done.last["samples"],
                    "reward": done.last["reward"],
                    "exam": done.mastered,
                    **TASKS[task].of(robot).measure(policy, count),
                }
                rows.append(row)
                print(json.dumps(row), file=sys.stderr, flush=True)
    return rows


def evaluate_folder(folder: Path, count: int) -> list[dict[str, Json]]:
    """Return a row for every policy of a folder that knows its task."""
    rows = []
    for file in sorted(folder.glob("*.npz")):
        if file.name.endswith(".checkpoint.npz"):
            continue
        policy = Policy.load(file)
        if isinstance(policy, Policy) and policy.task in TASKS:
            measured = TASKS[policy.task].of(load(policy.robot)).measure(policy, count)
            rows.append({"file": file.name, "task": policy.task, **measured})
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--robots", nargs="*", default=[], help="model files, beside those of the library")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--count", type=int, default=1000, help="robots that evaluate a policy")
    parser.add_argument("--seconds", type=float, default=None, help="of every training, instead of each task's own")
    parser.add_argument(
        "--policies", type=Path, default=None, help="a folder whose policies are evaluated, and no others"
    )
    options = parser.parse_args(given)
    if options.policies is not None:
        rows = evaluate_folder(options.policies, options.count)
        options.out.write_text(json.dumps({"rows": rows}, indent=1) + "\n")
        return
    ours = ["mini_cheetah", *(name for name in library.names() if name != "mini_cheetah")]
    rows = report(
        options.out.parent,
        options.device,
        options.tasks,
        [*ours, *options.robots],
        options.seeds,
        options.count,
        options.seconds,
    )
    options.out.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
