"""Policies judged on a GPU, where a machine has no compiler for its processor: robots of draws that no training makes.

The physics and the judgement are the kernels of ``CudaLanes``; the policy acts as it is saved, in plain NumPy, and the
draws are NumPy's too. What counts of it is counted here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from footfall.control.learned.policy import Policy
from footfall.learn.assessment import MOST_FALLEN
from footfall.learn.cuda_lanes import CudaLanes
from footfall.learn.preflight import TRACKING
from footfall.learn.recover import WITHIN, RecoverTask
from footfall.learn.rough import KINDS, LEVELS, UP, GivenCourse, Mastery, RoughTask
from footfall.learn.task import WalkTask
from footfall.learn.task_base import Task
from footfall.nests import Given, Json
from footfall.robot.model.description import Robot

_AFTER = 1.0  # [s] that do not count in a mean velocity


@dataclass(frozen=True)
class Sat:
    """What robots did, each on its own."""

    fallen: Bool[ndarray, "n"]  # at any time
    x: Float[ndarray, "n"]  # where it is at the end [m], of one that did not fall
    velocity: Float[ndarray, "n 3"]  # mean, in the heading's axes
    command: Float[ndarray, "n 3"]
    score: Float[ndarray, "n"]  # after the last tick


class CardExam:
    """n robots of a task for some seconds. ``lanes``: a ``CudaLanes``, whose episodes last longer than that."""

    def __init__(self, task: Task, lanes: CudaLanes, seconds: float) -> None:
        self.task, self.lanes, self.ticks = task, lanes, round(seconds * task.drive.rate)

    @staticmethod
    def of(task: Task, n: int, seconds: float, command: Mapping[str, Given] | None = None) -> CardExam:
        ranges = {**task.command_ranges, **(command or {})}
        return CardExam(task, CudaLanes(task, n, command=ranges, seconds=seconds + 1.0), seconds)

    def sit(self, policy: Policy, seed: int, first: Float[ndarray, "n"] | None = None) -> Sat:
        """Let a policy act without noise. first: the first of the task's own draws of every robot, unless of chance."""
        lanes, rng = self.lanes, np.random.default_rng(seed)
        xp, n, source = lanes.cupy, lanes.n, lanes.source

        def drawn() -> ndarray:
            return rng.random((source.draws, n), dtype=np.float32)

        chance = drawn()
        if first is not None:
            chance[source.episodes.draws - self.task.start_draws] = first
        lanes.begin(xp.asarray(chance))
        at = self.task.place("command")
        command = xp.asnumpy(lanes.rows("seen"))[at].T.astype(float)
        fallen, total, skipped = np.zeros(n, bool), np.zeros((n, 3)), round(_AFTER * self.task.drive.rate)
        for k in range(self.ticks):
            seen = xp.asnumpy(lanes.rows("seen")).T.astype(float)
            lanes.rows("action")[...] = xp.asarray(np.clip(policy.action(seen), -1.0, 1.0).T.astype(np.float32))
            lanes.tick(xp.asarray(drawn()))
            fallen |= ~(xp.asnumpy(lanes.rows("fallen"))[0] < 0.5)  # a number that is lost is a fall
            if k >= skipped:
                total += np.nan_to_num(xp.asnumpy(lanes.rows("velocity")).T)
        x, score = xp.asnumpy(lanes.rows("state"))[source.ticks.rows("q").start], xp.asnumpy(lanes.rows("score"))[0]
        return Sat(fallen, x.astype(float), total / max(1, self.ticks - skipped), command, score.astype(float))


class CardCourses:
    """``each`` robots on every level of every kind of course, that walk forward at one speed [m/s]."""

    def __init__(self, task: RoughTask, *, each: int = 16, forward: float = 0.4, seconds: float = 10.0) -> None:
        self.each, self.way = each, forward * seconds
        # what is earned does not count in an exam, and a task may know more terms
        given = GivenCourse(**{f.name: getattr(task, f.name) for f in fields(task) if f.name != "weights"})
        self.exam = CardExam.of(given, each * len(KINDS) * LEVELS, seconds, {"forward": (forward, forward)})

    def mastered(self, policy: Policy, seed: int) -> Mastery:
        cells = len(KINDS) * LEVELS
        cell = np.arange(self.exam.lanes.n) // self.each
        sat = self.exam.sit(policy, seed, (cell + 0.5) / cells)
        passed = ~sat.fallen & (sat.x > UP * self.way)
        return Mastery(passed.reshape(len(KINDS), LEVELS, self.each).mean(axis=2))


class _AnyPose(RecoverTask):
    """Getting up, whose score is of the tick alone."""

    levels: ClassVar[int] = 1


class CardRising:
    """Robots in any pose that are to be up after 4 s."""

    def __init__(self, task: RecoverTask, robots: int = 1000) -> None:
        given = {**{f.name: getattr(task, f.name) for f in fields(task)}, "anyhow": 1.0}
        self.exam = CardExam.of(_AnyPose(**given), robots, WITHIN)

    def part(self, policy: Policy, seed: int) -> float:
        """Of them that are."""
        return float((self.exam.sit(policy, seed).score > 0.5).mean())


def walking(robot: Robot, policy: Policy, robots: int = 1000, seed: int = 2_000_000) -> dict[str, Json]:
    """Who fell in 10 s under commands of chance, and how far the others' velocities are off [m/s]."""
    sat = CardExam.of(WalkTask(robot, policy.drive), robots, 10.0).sit(policy, seed)
    off = np.linalg.norm(sat.velocity[:, :2] - sat.command[:, :2], axis=1)[~sat.fallen]
    fallen, error = float(sat.fallen.mean()), float(off.mean()) if len(off) else float("inf")
    return {"fallen": fallen, "tracking_error": error, "ok": fallen <= MOST_FALLEN and error <= TRACKING}


__all__ = ["CardCourses", "CardExam", "CardRising", "Sat", "walking"]
