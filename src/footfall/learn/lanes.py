"""Robots that walk under external actions: the common part of the single and the vector environment.

Every lane has its own generator, so that it depends only on its seed and its actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy import ndarray
from numpy.typing import DTypeLike

from footfall import compiling
from footfall.control.interface import Command
from footfall.errors import InputError, unknown
from footfall.learn.episode import (
    COMMANDS,
    Episode,
    Episodes,
    add_noise,
    empty_history,
    observe,
    push_of_tick,
    reset_episode,
    score_of_level,
)
from footfall.learn.randomise import checked_range
from footfall.learn.task import Task, TickResult, evaluate_tick, privileged
from footfall.sim.batch import Batch
from nptrace._types import Given, PyTree
from nptrace.frontend import tree

Which: TypeAlias = slice | ndarray  # indices of some lanes


@dataclass(frozen=True)
class LanesResult:
    """The results of a tick, an entry per lane."""

    result: TickResult  # before any reset
    fallen: ndarray
    late: ndarray  # whether the time limit was reached


def own_generators(seed: int, count: int) -> list[np.random.Generator]:
    """Return random generators, one per robot; no two seeds share a robot, however close they are."""
    return [np.random.default_rng([seed, k]) for k in range(count)]


class WalkLanes:
    """n robots of a task. command: ranges of forward, sideways [m/s] and turn [rad/s], drawn once an episode.

    seconds: duration of an episode; the task's unless given.
    """

    def __init__(
        self,
        task: Task,
        n: int,
        *,
        command: Mapping[str, Given] | None = None,
        randomise: Given = True,
        seconds: float | None = None,
        dtype: DTypeLike = np.float32,
        threads: int | None = None,
    ) -> None:
        self.task, self.robot, self.n = task, task.robot, n
        self.randomisation = task.randomisation(randomise)
        self.ranges = task.command_ranges
        if not isinstance(command or {}, Mapping):
            raise InputError(
                "the command of an environment must be ranges by name, such as {'forward': (0.2, 0.6)}, or a"
                " function of three"
                f" random numbers that returns a Command, got {type(command).__name__}"
            )
        for key, value in (command or {}).items():
            if key not in COMMANDS:
                raise unknown("command", key, COMMANDS)
            self.ranges[key] = checked_range(value, f"the command {key}")
        seconds = task.seconds if seconds is None else seconds
        if not np.isfinite(seconds) or seconds * task.drive.rate < 1:
            raise InputError(f"an episode must last at least one tick, got {seconds} s")
        self.limit = round(seconds * task.drive.rate)
        free = (*self.randomisation.paths(self.robot), *task.paths)
        self.batch = Batch(
            self.robot,
            n,
            task.controller,
            free=free,
            dtype=dtype,
            uses_foot_forces=True,
            threads=threads,
            **task.world_with(self.randomisation),
            **task.effects,
        )
        model = self.batch.simulation.model
        nominal = {path: np.asarray(model.parameter(path), float) for path in free}
        seen = (self.batch.first, Command(), nominal)
        self._evaluate = compiling.compile(evaluate_tick, task, *seen, target="batch", dtype=dtype)
        self._privileged = None
        if task.privileged_count:
            self._privileged = compiling.compile(privileged, task, *seen, target="batch", dtype=dtype)
        self.episodes = Episodes(
            task=task,
            randomisation=self.randomisation,
            ranges=self.ranges,
            first=self.batch.first,
            nominal=nominal,
            limit=self.limit,
        )
        self._reset = compiling.compile(
            reset_episode, self.episodes, np.zeros(self.episodes.draws), 0.0, target="batch"
        )
        self.age = np.zeros(n, dtype=int)  # ticks of the present episode
        self.next_push = np.zeros(n, dtype=int)
        self.level = np.zeros(n)  # levels of difficulty
        self.ended = np.zeros(n)  # scores after the last tick
        past = empty_history(self.episodes)
        self.past = {key: np.zeros((n, *np.shape(x)), dtype) for key, x in past.items()}
        self.observation = np.zeros((n, len(task.bounds)), np.float32)  # last observations of the policies
        frame = np.zeros(len(task.frame_bounds))
        self._observe, self._observe_last = None, None
        if past:
            kept = (past, frame, 0.0)
            self._observe = compiling.compile(observe, self.episodes, *kept, frame, target="batch", dtype=dtype)
            self._observe_last = compiling.compile(observe, self.episodes, *kept, target="batch", dtype=dtype)
        self.generators: list[np.random.Generator] = []

    # -- episodes ----------------------------------------------------------------------------------------------------
    def begin(self, which: Sequence[int] | ndarray) -> None:
        """Start new episodes on some lanes: command, parameters, offsets of the joints, phase of the clock."""
        lanes = np.asarray(which, dtype=int)
        self._promote(lanes)
        chance = np.array([self.generators[k].random(self.episodes.draws) for k in lanes])
        new: Episode = self._reset(chance, self.level[lanes])
        self.level[lanes] = new.level
        batch = self.batch
        for now, fresh in zip(tree.flatten(batch.state)[0], tree.flatten(new.state)[0]):
            now[lanes] = fresh
        for key in COMMANDS:
            batch.command[key][lanes] = getattr(new.inputs.command, key)
        batch.set(new.parameters, lanes)
        batch.push[lanes] = 0.0
        self.age[lanes] = 0
        self.next_push[lanes] = new.next_push
        for key, kept in self.past.items():
            kept[lanes] = new.past[key]

    def _promote(self, lanes: ndarray) -> None:
        """Set the levels of the next episodes from the results of those that end."""
        if self.task.levels == 1:
            return
        done = lanes[self.age[lanes] > 0]
        commanded = self.batch.command["forward"][done] * self.age[done] / self.task.drive.rate
        fallen = np.where(self.age[done] < self.limit, 1.0, 0.0)
        self.level[done] = self.task.next_level(
            self.level[done], self.batch.q[done, 0], commanded, fallen, self.ended[done]
        )

    def stagger(self, rng: np.random.Generator) -> None:
        """Set the ages of the present episodes at random: episodes that all started together would end together."""
        passed = rng.integers(0, self.limit, self.n)
        self.age += passed
        self.next_push += passed

    def _set_pushes(self) -> None:
        """Set the pushes of the next tick: an impulse is a force for one tick."""
        if self.randomisation.push[1] == 0.0 and "force" not in self.past:
            return
        self.batch.push[:] = 0.0
        for lane in np.flatnonzero(self.age == self.next_push):
            chance = self.generators[lane].random(2)
            self.batch.push[lane], self.next_push[lane] = push_of_tick(
                self.episodes, self.age[lane], self.next_push[lane], chance
            )
        if "force" in self.past:
            self.batch.push[:, 3:5] += self.past["force"]

    # -- ticks -------------------------------------------------------------------------------------------------------
    def tick(self, actions: ndarray) -> LanesResult:
        """Act for one tick of the drive."""
        if not len(self.generators):
            raise InputError("reset() an environment before its first step()")
        actions = np.asarray(actions)
        if actions.shape != (self.n, self.robot.nj):
            raise InputError(f"actions must be of shape {(self.n, self.robot.nj)}, got {actions.shape}")
        if not np.isfinite(actions).all():
            raise InputError("actions must be finite numbers")
        memory = self.batch.state.memory
        memory["last"][:] = memory["action"]
        memory["action"][:] = np.clip(actions, -1.0, 1.0)
        self._set_pushes()
        self.batch.run(1)
        self.age += 1
        result = self.look(slice(None))
        return LanesResult(result, np.asarray(result.fallen > 0.5), self.age >= self.limit)

    def _now(self, which: Which) -> tuple[PyTree, Command, dict[str, ndarray]]:
        """Return the present state of some lanes: state, command, parameters."""
        leaves, rebuild = tree.flatten(self.batch.state)
        command: Given = {key: values[which] for key, values in self.batch.command.items()}
        parameters = {path: self.batch.parameters[path][which] for path in self.episodes.nominal}
        return rebuild([x[which] for x in leaves]), Command(**command), parameters

    def privileged(self, which: Which) -> ndarray:
        """Return a critic's further inputs for some lanes; numbers that are not finite become zeros."""
        if self._privileged is None:
            return np.zeros((len(np.arange(self.n)[which]), 0), np.float32)
        critic_obs = np.asarray(self._privileged(*self._now(which)), np.float32)
        return _zeros_for_lost(critic_obs)

    def look(self, which: Which) -> TickResult:
        """Evaluate the present state of some lanes; a robot with numbers that are not finite is seen as zeros, and
        has fallen.
        """
        seen = self._evaluate(*self._now(which))
        found, back = tree.flatten(seen)
        result: TickResult = back([x if np.isfinite(x).all() else _zeros_for_lost(x) for x in found])
        self.ended[which] = result.score
        return replace(result, score=score_of_level(self.task, result.score, self.level[which]))

    def observe(self, frames: ndarray, which: Which = slice(None)) -> ndarray:
        """Return the policies' observations for some lanes after a tick.

        Observations are late, with noise from each lane's generator, and appended to previous ones. ``observation`` has
        those of all lanes.
        """
        lanes = np.arange(self.n)[which]
        chance = np.zeros_like(frames)
        if self.randomisation.noise:
            chance = np.array([self.generators[k].random(frames.shape[1]) for k in lanes])
        if self._observe is None:
            self.observation[lanes] = add_noise(self.episodes, frames, chance)
        else:
            before = {key: kept[lanes] for key, kept in self.past.items()}
            past, self.observation[lanes] = self._observe(before, frames, self.age[lanes].astype(float), chance)
            for key, kept in self.past.items():
                kept[lanes] = past[key]
        return self.observation[lanes]

    def last_observation(self, frames: ndarray, which: ndarray) -> ndarray:
        """Return the policies' observation at the end of an episode, without noise; nothing is stored."""
        if self._observe_last is None:
            return frames
        before = {key: kept[which] for key, kept in self.past.items()}
        _, seen = self._observe_last(before, frames, self.age[which].astype(float))
        return np.asarray(seen)

    def episode(self, which: Which) -> dict[str, ndarray]:
        """Return the draws for the episodes of some lanes."""
        command = np.stack([self.batch.command[key][which] for key in COMMANDS], axis=-1)
        parameters = self.batch.parameters
        gains = self.batch.state.memory["gains"][which].astype(float)
        drawn = {path: np.array(parameters[path][which]) for path in parameters}
        return {"command": command, **drawn, "gains": gains}


def _zeros_for_lost(x: ndarray) -> ndarray:
    return np.nan_to_num(x, nan=0.0, posinf=0.0, neginf=0.0)
