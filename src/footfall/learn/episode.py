"""Episodes of a task: what is drawn when one begins, and when it ends. Plain NumPy for one robot, traced for many.

The environments of the processor and the training on a GPU run the same two functions: ``begun``, which turns uniform
draws into a robot with a command, and ``after_tick``, which judges a tick and begins anew where an episode is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall import numeric
from footfall.control.interface import Command
from footfall.identity import digest_of
from footfall.learn.randomise import Randomisation, Range, within
from footfall.learn.task_base import Task
from footfall.simulate.tick import Inputs, RunState
from footfall.trace.face import tree

COMMANDS = ("forward", "sideways", "turn")


@dataclass(frozen=True, eq=False)
class Episodes:
    """What every episode of a training shares: the constant of ``begun`` and ``after_tick``.

    first: a robot as its simulation begins. nominal: the parameters that differ between robots. limit: ticks.
    """

    task: Task
    randomisation: Randomisation
    ranges: Mapping[str, Range]  # of the command
    first: RunState
    nominal: Mapping[str, Any]
    limit: int

    @property
    def draws(self) -> int:
        """How many uniform draws an episode begins with."""
        return 9 + self.task.robot.nj + len(self.randomisation.factors) + self.task.start_draws

    @cached_property
    def digest(self) -> str | None:
        parts = digest_of((self.randomisation, dict(self.ranges), self.first, dict(self.nominal), self.limit))
        return None if parts is None or self.task.digest is None else digest_of((parts, self.task.digest))


@dataclass(frozen=True)
class Episode:
    """One robot within its episode. ``inputs``: its command, and the push of the tick to come."""

    state: RunState
    inputs: Inputs
    parameters: dict[str, Any]
    age: Any  # ticks
    next_push: Any  # the age at which it is pushed


def begun(episodes: Episodes, chance: Float[ndarray, "draws"]) -> Episode:
    """A new episode from uniform draws in [0, 1): command, parameters, where it begins, phase of the clock."""
    task, ranges, first = episodes.task, episodes.randomisation, episodes.first
    robot, drive = task.robot, task.drive
    drawn = {key: within(episodes.ranges[key], chance[k]) for k, key in enumerate(COMMANDS)}
    trunk = f"{robot.trunk}.mass"
    parameters = {
        "ground.friction": within(ranges.friction, chance[3]),
        trunk: episodes.nominal[trunk] * within(ranges.mass, chance[4]),
    }
    for k, (path, limits) in enumerate(ranges.factors.items()):
        parameters[path] = episodes.nominal[path] * within(limits, chance[9 + robot.nj + k])
    more = chance[episodes.draws - task.start_draws : episodes.draws]
    q = task.started(first.q, ranges, chance[9 : 9 + robot.nj], more)
    gains = np.stack([within(ranges.stiffness, chance[5]), within(ranges.damping, chance[6])])
    tick = np.floor(chance[7] * round(drive.gait.period * drive.rate))
    memory = {**first.memory, "gains": gains}
    state = replace(first, tick=tick, q=q, memory=memory)
    push = np.floor(chance[8] * ranges.push_every * drive.rate)
    return Episode(state, Inputs(Command(**drawn), np.zeros(6)), parameters, 0.0, push)


def pushed(
    episodes: Episodes, age: Any, next_push: Any, chance: Float[ndarray, "2"]
) -> tuple[Float[ndarray, "6"], Any]:
    """(wrench on the trunk in the tick to come, age of the push after it). An impulse is a force for one tick."""
    ranges, rate = episodes.randomisation, episodes.task.drive.rate
    now = np.abs(age - next_push) < 0.5
    force = np.where(now, rate * within(ranges.push, chance[0]), 0.0)
    angle = 2.0 * np.pi * chance[1]
    level = np.stack([force * np.cos(angle), force * np.sin(angle)])
    later = np.where(now, next_push + max(1, round(ranges.push_every * rate)), next_push)
    return np.concatenate([np.zeros(3), level, np.zeros(1)]), later


@dataclass(frozen=True)
class Outcome:
    """What a learner needs of a tick."""

    seen: Float[ndarray, "no"]  # the observation to act on next
    final: Float[ndarray, "no"]  # the one that ended the tick: another where a new episode has begun
    reward: Any
    fallen: Any  # 1 or 0
    late: Any  # 1 where the time limit was reached without a fall
    velocity: Float[ndarray, "3"]
    score: Any  # how well the task is done, from 0 to 1


def after_tick(episodes: Episodes, episode: Episode, chance: Float[ndarray, "n"]) -> tuple[Episode, Outcome]:
    """Judge a tick, begin anew if the episode is over, and say what comes next: push and observation."""
    task = episodes.task
    judged = task.judged(episode.state, episode.inputs.command)
    age = episode.age + 1.0
    fallen = judged.fallen > 0.5
    late = ~fallen & (age > episodes.limit - 0.5)
    memory = {**episode.state.memory, "last": episode.state.memory["action"]}
    goes_on = Episode(replace(episode.state, memory=memory), episode.inputs, episode.parameters, age, episode.next_push)
    now: Episode = chosen(fallen | late, begun(episodes, chance[: episodes.draws]), goes_on)
    push, next_push = pushed(episodes, now.age, now.next_push, chance[episodes.draws :])
    now = Episode(now.state, Inputs(now.inputs.command, push), now.parameters, now.age, next_push)
    outcome = Outcome(
        task.observed(now.state, now.inputs.command), judged.observation, judged.reward,
        np.where(fallen, 1.0, 0.0), np.where(late, 1.0, 0.0), judged.velocity, judged.score,
    )  # fmt: skip
    return now, outcome


def chosen(condition: Any, one: Any, other: Any) -> Any:
    """One of two nests of arrays, by a condition that may be traced."""
    ones, rebuild = tree.flatten(one)
    others, _ = tree.flatten(other)
    return rebuild([numeric.select(condition, a, b) for a, b in zip(ones, others)])
