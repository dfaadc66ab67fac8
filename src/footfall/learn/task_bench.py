"""What a device learns of every task in a given time, by several seeds and robots.

    python -m footfall.learn.task_bench OUT.json --device cuda --seeds 3 --robots go2.xml anymal_c.xml
    python -m footfall.learn.task_bench OUT.json --policies FOLDER      # trains nothing, judges what is there

Every policy is written beside the JSON and is judged by robots of unseen seeds on the processor, by code that did not
train it: walking by ``assess``, getting up by ``evaluate_recovery``, rough ground by ``evaluate_rough``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from footfall.control.learned.policy import Policy
from footfall.learn.assessment import assess
from footfall.learn.recover import evaluate_recovery
from footfall.learn.rough import KINDS, LEVELS, evaluate_rough
from footfall.learn.train import train
from footfall.loading import load
from footfall.nests import Json
from footfall.robot import library
from footfall.robot.model.description import Robot

SECONDS = {"walk": 5.0, "recover": 30.0, "rough": 120.0, "rough_blind": 120.0}
_MANY = 1_000_000  # iterations: the time ends a training


def judged(task: str, policy: Policy, robot: Robot, count: int) -> dict[str, Json]:
    """How ``count`` robots do with a policy; over rough ground, in percent by level, as many as fit the cells."""
    if task == "walk":
        walked = assess(policy, robot, robots=count)
        return {"fallen": float(walked.fallen.mean()), "tracking_error": walked.tracking_error, "ok": walked.ok}
    if task == "recover":
        return {"up_within_4s": evaluate_recovery(policy, robot, robots=count).part}
    mastery = evaluate_rough(policy, robot, each=max(1, count // (len(KINDS) * LEVELS)))
    percent = (100 * mastery.success).round().tolist()
    return {"mastered": float(mastery.success.mean()), "percent_by_level": dict(zip(KINDS, percent))}


def report(
    folder: Path, device: str, tasks: Sequence[str], models: Sequence[str], seeds: int, count: int,
    seconds: float | None = None, **options: Any,
) -> list[dict[str, Json]]:  # fmt: skip
    """A row for every task, robot and seed; rough ground and getting up for the first robot alone."""
    rows: list[dict[str, Json]] = []
    for task in tasks:
        for place, name in enumerate(models if task == "walk" else models[:1]):
            robot = load(name)
            for seed in range(seeds if place == 0 else 1):
                file = folder / f"{robot.name}-{task}-{seed}.npz"
                time = SECONDS[task] if seconds is None else seconds
                done = train(robot, file, task, device, iterations=_MANY, seconds=time, seed=seed, **options)
                policy = Policy.load(file)
                assert isinstance(policy, Policy)
                row = {"task": task, "robot": robot.name, "seed": seed, "seconds": done.training.seconds,
                       "samples": done.last["samples"], "reward": done.last["reward"], "exam": done.mastered,
                       **judged(task, policy, robot, count)}  # fmt: skip
                rows.append(row)
                print(json.dumps(row), file=sys.stderr, flush=True)
    return rows


def judged_folder(folder: Path, count: int) -> list[dict[str, Json]]:
    """A row for every policy of a folder that knows its task."""
    rows = []
    for file in sorted(folder.glob("*.npz")):
        if file.name.endswith(".checkpoint.npz"):
            continue
        policy = Policy.load(file)
        if isinstance(policy, Policy) and policy.task in SECONDS:
            rows.append(
                {"file": file.name, "task": policy.task, **judged(policy.task, policy, load(policy.robot), count)}
            )
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def main(given: Sequence[str] | None = None) -> None:
    asked = argparse.ArgumentParser(prog="python -m footfall.learn.task_bench", description=__doc__)
    asked.add_argument("out", type=Path)
    asked.add_argument("--device", default="auto")
    asked.add_argument("--tasks", nargs="+", default=list(SECONDS), choices=list(SECONDS))
    asked.add_argument("--robots", nargs="*", default=[], help="model files, beside those of the library")
    asked.add_argument("--seeds", type=int, default=3)
    asked.add_argument("--count", type=int, default=1000, help="robots that judge a policy")
    asked.add_argument("--seconds", type=float, default=None, help="of every training, instead of each task's own")
    asked.add_argument("--policies", type=Path, default=None, help="a folder whose policies are judged, and no others")
    options = asked.parse_args(given)
    if options.policies is not None:
        rows = judged_folder(options.policies, options.count)
        options.out.write_text(json.dumps({"rows": rows}, indent=1) + "\n")
        return
    ours = ["mini_cheetah", *(name for name in library.names() if name != "mini_cheetah")]
    rows = report(
        options.out.parent, options.device, options.tasks, [*ours, *options.robots], options.seeds, options.count,
        options.seconds,
    )  # fmt: skip
    options.out.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
