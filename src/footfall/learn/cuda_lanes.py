"""Robots of a task on a GPU: physics, judgement and new episodes in two kernels a tick, nothing of it off the card.

All numbers of a robot (state, command, push, parameters, age, what came of the tick) are one column of one array, in
the order of ``Tracked``, so that the kernel of the physics and that of ``episode.after_tick`` work on the same memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from footfall import compiling
from footfall.batch.gpu import KERNEL, OPTIONS, TickSource, cupy, number_count
from footfall.errors import InputError
from footfall.learn.episode import Episode, Episodes, Outcome, after_tick, begun, no_past, shown
from footfall.learn.randomise import Randomisation
from footfall.learn.task_base import Task
from footfall.nests import Given
from footfall.trace.targets import cuda, emit

if TYPE_CHECKING:
    from cupy import ndarray as DeviceArray

BLOCK = 32  # threads of the kernel that judges: a warp, so that few thousand robots are spread over the whole card


@dataclass(frozen=True)
class Tracked:
    """One robot's column: its episode, and what came of its last tick."""

    episode: Episode
    outcome: Outcome


def judged_tick(episodes: Episodes, tracked: Tracked, chance: np.ndarray) -> Tracked:
    """What the physics left behind, judged; only the episode is read."""
    return Tracked(*after_tick(episodes, tracked.episode, chance))


def first_look(episodes: Episodes, tracked: Tracked, chance: np.ndarray) -> Tracked:
    """A robot at the beginning of an episode."""
    episode, blank = begun(episodes, chance), tracked.outcome
    frame = episodes.task.observed(episode.state, episode.inputs.command, episode.parameters)
    past, seen = shown(episodes, episode.past, frame, episode.age)
    told = episodes.task.privileged(episode.state, episode.inputs.command, episode.parameters)
    looks = {"privileged": told, "seen": seen, "final_privileged": told, "final": seen}
    return Tracked(replace(episode, past=past), Outcome(**{**vars(blank), **looks}))


class JudgeSource:
    """The CUDA source of what follows a tick, and where its numbers lie; needs no GPU."""

    def __init__(self, task: Task, randomisation: Randomisation, ranges: Mapping[str, Given], seconds: float) -> None:
        paths = (*randomisation.paths(task.robot), *task.paths)
        self.ticks = TickSource(
            task.robot, task.controller, free=paths, uses_foot_forces=True, threads=4, **task.world, **task.effects
        )
        limit = round(seconds * task.drive.rate)
        self.episodes = Episodes(task, randomisation, dict(ranges), self.ticks.first, self.ticks.parameters, limit)
        self.draws = self.episodes.draws + self.episodes.tick_draws
        self.first = Tracked(
            Episode(self.ticks.first, self.ticks.inputs, self.ticks.parameters, 0.0, 0.0, past=no_past(self.episodes)),
            _blank(task),
        )
        self.size = number_count(self.first)
        layout = emit.first_is_state([self.size, self.draws])
        example = np.zeros(self.draws)
        judge = compiling.program(judged_tick, self.episodes, self.first, example)
        begin = compiling.program(first_look, self.episodes, self.first, example)
        self.judge = cuda.source(judge, layout, "judge", np.float32, BLOCK)
        self.begin = cuda.source(begin, layout, "begin", np.float32, BLOCK)

    @cached_property
    def places(self) -> dict[str, slice]:
        """Rows of each part of a column, by its path: ``episode.age``, ``outcome.seen``, ``action``, ..."""
        sizes: dict[str, int] = {
            "state": number_count(self.ticks.first), "inputs": number_count(self.ticks.inputs),
            "parameters": number_count(self.ticks.parameters), "age": 1, "next_push": 1, "level": 1,
            "past": number_count(self.first.episode.past),
        }  # fmt: skip
        sizes |= {key: number_count(value) for key, value in vars(self.first.outcome).items()}
        out, at = {}, 0
        for key, size in sizes.items():
            out[key] = slice(at, at + size)
            at += size
        memory = self.ticks.rows("memory").start
        for key, value in sorted(self.ticks.first.memory.items()):
            out[key] = slice(memory, memory + number_count(value))
            memory += number_count(value)
        return out


class CudaLanes:
    """n robots of a task on one GPU. ``columns`` is a CuPy array (number, robot); PyTorch takes it over by DLPack."""

    def __init__(
        self, task: Task, n: int, *, command: Mapping[str, Given], randomise: Given = True, seconds: float = 20.0
    ) -> None:
        if int(n) != n or n < 1:
            raise InputError(f"a training needs at least one robot, got {n}")
        self.cupy, self.n, self.task = cupy(), int(n), task
        self.source = JudgeSource(task, task.randomisation(randomise), command, seconds)
        ticks = self.source.ticks
        kernels = {}
        for name, text in ((KERNEL, ticks.text), ("judge", self.source.judge), ("begin", self.source.begin)):
            module = self.cupy.RawModule(code=text, options=OPTIONS, backend="nvrtc")
            kernels[name] = module.get_function(f"{name}_advance")
        self._kernels = kernels
        self.columns = self.cupy.zeros((self.source.size, self.n), np.float32)
        places = self.source.places
        self._state, self._rest = (
            self.columns[places["state"]],
            self.columns[places["inputs"].start : places["age"].start],
        )
        self._shared = self.cupy.zeros(1, np.float32)

    def rows(self, name: str) -> DeviceArray:
        """A part of every robot's column, (number, robot), on the card."""
        return self.columns[self.source.places[name]]

    def begin(self, chance: DeviceArray) -> None:
        """New episodes for all robots, from draws (number, robot)."""
        self._launch("begin", BLOCK, self.n, (self.columns, chance))

    def tick(self, chance: DeviceArray) -> None:
        """One tick under the actions in ``rows("action")``, judged; a new episode where one is over."""
        ticks = self.source.ticks
        self._launch(KERNEL, ticks.block, self.n * ticks.threads, (self._state, self._rest))
        self._launch("judge", BLOCK, self.n, (self.columns, chance))

    def _launch(self, name: str, block: int, threads: int, arrays: tuple[DeviceArray, DeviceArray]) -> None:
        arguments = (*arrays, self._shared, np.int32(1), np.int32(self.n))
        self._kernels[name]((-(-threads // block),), (block,), arguments)


def _blank(task: Task) -> Outcome:
    seen, told = np.zeros(len(task.bounds)), np.zeros(task.privileged_count) if task.privileged_count else ()
    return Outcome(told, seen, told, seen, 0.0, 0.0, 0.0, np.zeros(3), 0.0)
