"""What one GPU learns of every task in a given time, on a machine with nothing but NumPy, SciPy, PyTorch and CuPy.

    python -m footfall.learn.card_bench FOLDER --parts rough rough_blind recover walk --limit 520

Policies go into the folder, and all numbers into ``tasks.json`` there, after every part: what is there of other parts
stays. ``--limit`` is of the whole call by the clock; a training ends early rather than leave no time to judge it, and a
part for which there is none is left out. ``python -m footfall.learn.task_bench FOLDER/judged.json --policies FOLDER``
then judges the policies on a processor.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from footfall.control.learned.policy import Policy
from footfall.learn import training_bench
from footfall.learn.card_exam import CardCourses, CardRising, walking
from footfall.learn.cuda_training import CudaTraining
from footfall.learn.keeping import SEED, Exam, Keeper
from footfall.learn.recover import RecoverTask
from footfall.learn.rough import KINDS, RoughTask
from footfall.learn.rough_blind import BlindTask
from footfall.learn.task import WalkTask
from footfall.learn.task_base import Task
from footfall.nests import Json
from footfall.robot.library import load
from footfall.robot.model.description import Robot

TASKS: dict[str, Callable[[Robot], Task]] = {
    "rough": RoughTask.of, "rough_blind": BlindTask.of, "recover": RecoverTask.of, "walk": WalkTask.of,
}  # fmt: skip
SECONDS = {"rough": 120.0, "rough_blind": 120.0, "recover": 30.0, "walk": 5.0}  # of training
_UNSEEN = 1_000_000  # seed of the robots that judge
_JUDGING, _LEAST = 45.0, 60.0  # [s] by the clock that judging takes, and without which no part begins
_EACH, _RISING = 4, 200  # robots of an exam: on every level of every kind, and that are to get up
_EXAMS = 10  # of a training


def exam_on_card(task: Task) -> Exam | None:
    """As ``keeping.exam_of``, on the card."""
    if isinstance(task, RoughTask):
        courses = CardCourses(task, each=_EACH)
        return lambda policy: float(courses.mastered(policy, SEED).success.mean())
    if isinstance(task, RecoverTask):
        rising = CardRising(task, _RISING)
        return lambda policy: rising.part(policy, SEED)
    return None


@dataclass
class Bench:
    """One call: where its files go, when it ends, how many robots judge a policy (on courses: of each kind)."""

    folder: Path
    until: float  # of time.monotonic()
    count: int = 1000
    seconds: float | None = None  # of every training, instead of its own
    robot: str = "mini_cheetah"
    seed: int = 0

    def say(self, **words: Json) -> None:
        print(json.dumps({"left": round(self.until - time.monotonic()), **words}), file=sys.stderr, flush=True)

    def part(self, name: str) -> dict[str, Json]:
        """Train and judge; the policy is written before it is judged."""
        robot = load(self.robot)
        task = TASKS[name](robot)
        began = time.monotonic()
        training = CudaTraining(task, seed=self.seed)
        exam, ready = exam_on_card(task), time.monotonic() - began
        self.say(part=name, ready=ready)
        policy, keeper = self.learned(name, training, exam)
        replace(policy, task=name).save(self.folder / f"{self.robot}-{name}.npz", robot)
        row = {"gpu": training.torch.cuda.get_device_name(), "seed": self.seed, "robots": training.robots,
               "ready": ready, "seconds": training.seconds, "iterations": training.iteration,
               "exams": keeper.scores if keeper else [], "curve": training.curve[:: max(1, len(training.curve) // 40)],
               **self.judged(name, task, policy)}  # fmt: skip
        return {**row, "call_seconds": time.monotonic() - began}

    def learned(self, name: str, training: CudaTraining, exam: Exam | None) -> tuple[Policy, Keeper | None]:
        """The policy after the time of the part, the best of its exams where there are any."""
        seconds = SECONDS[name] if self.seconds is None else self.seconds
        keeper, looked = None if exam is None else Keeper(exam), 0.0
        while training.seconds < seconds and time.monotonic() < self.until - _JUDGING:
            row = training.iterate(5)
            if training.seconds - looked >= seconds / _EXAMS:
                looked = training.seconds
                if keeper is not None:
                    keeper.look(training.policy(), training.iteration)
                told = {key: float(f"{row[key]:.4g}") for key in ("iteration", "seconds", "reward", "falls", "score")}
                self.say(part=name, **told, exam=keeper.scores[-1][1] if keeper else None)
        policy = training.policy()
        if keeper is not None:
            keeper.look(policy, training.iteration)
            policy = keeper.best or policy
        return policy, keeper

    def judged(self, name: str, task: Task, policy: Policy) -> dict[str, Json]:
        """By robots of unseen draws, on the card."""
        if name == "walk":
            return walking(task.robot, policy, self.count)
        if isinstance(task, RecoverTask):
            return {"up_within_4s": CardRising(task, self.count).part(policy, _UNSEEN)}
        assert isinstance(task, RoughTask)
        courses = CardCourses(task, each=max(1, self.count // 10))
        mastery = courses.mastered(policy, _UNSEEN)
        print(mastery.table(), file=sys.stderr, flush=True)
        percent = (100 * mastery.success).round(1).tolist()
        return {"mastered": float(mastery.success.mean()), "percent_by_level": dict(zip(KINDS, percent))}

    def run(self, parts: Sequence[str]) -> dict[str, Json]:
        file = self.folder / "tasks.json"
        found: dict[str, Json] = json.loads(file.read_text()) if file.exists() else {}
        for name in parts:
            if self.until - time.monotonic() < _LEAST + _JUDGING:
                self.say(part=name, left_out=True)
                continue
            if name == "walk":
                found["walk to a level"] = training_bench.report()
                file.write_text(json.dumps(found, indent=1) + "\n")
            found[name] = self.part(name)
            file.write_text(json.dumps(found, indent=1) + "\n")
            told = {key: value for key, value in found[name].items() if key not in ("curve", "exams")}
            self.say(part=name, **told)
        return found


def main(given: Sequence[str] | None = None) -> None:
    asked = argparse.ArgumentParser(prog="python -m footfall.learn.card_bench", description=__doc__)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--parts", nargs="+", default=list(TASKS), choices=list(TASKS))
    asked.add_argument("--limit", type=float, default=520.0, help="seconds of the whole call, by the clock")
    asked.add_argument("--seconds", type=float, default=None, help="of every training, instead of each part's own")
    asked.add_argument("--count", type=int, default=1000, help="robots that judge a policy, on courses of each kind")
    asked.add_argument("--robot", default="mini_cheetah")
    asked.add_argument("--seed", type=int, default=0)
    options = asked.parse_args(given)
    until = time.monotonic() + options.limit
    bench = Bench(options.folder, until, options.count, options.seconds, options.robot, options.seed)
    options.folder.mkdir(parents=True, exist_ok=True)
    bench.run(options.parts)


if __name__ == "__main__":
    main()
