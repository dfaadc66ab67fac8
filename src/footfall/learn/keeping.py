"""The best policy of a training: what was learned late may have cost what was learned early.

Now and then a policy sits an exam, by robots of seeds that neither a training nor an evaluation uses, on the processor:
not by the code that trains on a GPU. The best one is what a training ends with, however long it goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy import ndarray

from footfall.control.learned.policy import Policy
from footfall.errors import InputError
from footfall.learn.recover import RecoverTask, evaluate_recovery
from footfall.learn.rough import Courses, RoughTask
from footfall.learn.task_base import Task
from footfall.nests import Json

SEED = 3_000_000  # of the robots of an exam
EVERY = 250  # iterations
_EACH, _RISING = 4, 200  # robots on every level of every kind of course, and that are to get up

Exam = Callable[[Policy], float]


def exam_of(task: Task) -> Exam | None:
    """The part of what is asked that a policy masters; None of a task in which what was learned is not lost again."""
    if isinstance(task, RoughTask):
        courses = Courses(task, each=_EACH)
        return lambda policy: float(courses.mastered(policy, SEED).success.mean())
    if isinstance(task, RecoverTask):
        return lambda policy: evaluate_recovery(policy, task.robot, robots=_RISING, seed=SEED).part
    return None


@dataclass
class Keeper:
    """The best policy so far, and how all did: (iteration, score)."""

    exam: Exam
    best: Policy | None = None
    scores: list[tuple[int, float]] = field(default_factory=list)

    @property
    def score(self) -> float:
        """Of the best."""
        return max((score for _, score in self.scores), default=-np.inf)

    def look(self, policy: Policy, iteration: int) -> None:
        """Let a policy sit the exam; of two that do as well the later one is kept, which was trained for longer."""
        if any(at == iteration for at, _ in self.scores):
            return
        score, before = self.exam(policy), self.score
        self.scores.append((iteration, score))
        if score >= before:
            self.best = policy

    # -- checkpoints -------------------------------------------------------------------------------------------------
    def numbers(self) -> dict[str, ndarray]:
        """The best as plain arrays."""
        if self.best is None:
            return {}
        layers = {f"kept_{name}{k}": x for k, layer in enumerate(self.best.weights) for name, x in zip("Wb", layer)}
        return {"kept_mean": self.best.mean, "kept_spread": self.best.spread, **layers}

    def take(self, numbers: dict[str, ndarray], scores: list[Json], like: Policy) -> None:
        """Go on from such arrays; ``like``: any policy of the training."""
        before = [(int(at), float(score)) for at, score in scores]
        best = None
        if "kept_mean" in numbers:
            weights = tuple((numbers[f"kept_W{k}"], numbers[f"kept_b{k}"]) for k in range(len(like.weights)))
            best = replace(like, mean=numbers["kept_mean"], spread=numbers["kept_spread"], weights=weights)
            best.check("that is kept")
            if [W.shape for W, _ in best.weights] != [W.shape for W, _ in like.weights]:
                raise InputError("the policy that is kept has layers of other sizes")
        self.scores, self.best = before, best if best is not None else self.best
