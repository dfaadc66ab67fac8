"""Robots of a task on a GPU: physics, evaluation and new episodes in two kernels per tick; nothing leaves the device.

All numbers of a robot (state, command, push, parameters, age, result of the tick) are one column of one array, in
the order of ``RobotColumn``, so that the kernel of the physics and that of
``episode.step_episode`` work on the same memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from footfall import compiling
from footfall.control.learned.policy import Policy
from footfall.errors import InputError
from footfall.learn.episode import Episode, Episodes, StepOutput, empty_history, observe, reset_episode, step_episode
from footfall.learn.randomise import Randomisation
from footfall.learn.task import Exam, ExamRuns, Task
from footfall.sim.gpu import CudaBackend, CudaKernel, TickSource, cupy, number_count
from nptrace._types import Given
from nptrace.codegen import cuda, emit

if TYPE_CHECKING:
    from cupy import ndarray as DeviceArray

# threads per block of the evaluation kernel: a warp, so that a few thousand robots are spread over the whole GPU
BLOCK = 32
_AFTER = 1.0  # [s] at the start of an exam that are excluded from a mean velocity


@dataclass(frozen=True)
class RobotColumn:
    """One robot's column: its episode, and the result of its last tick."""

    episode: Episode
    outcome: StepOutput


def step_column(episodes: Episodes, tracked: RobotColumn, chance: np.ndarray) -> RobotColumn:
    """Evaluate the result of the physics; only the episode is read."""
    return RobotColumn(*step_episode(episodes, tracked.episode, chance))


def reset_column(episodes: Episodes, tracked: RobotColumn, chance: np.ndarray) -> RobotColumn:
    """Put a robot at the start of an episode."""
    episode, blank = reset_episode(episodes, chance), tracked.outcome
    frame = episodes.task.observe(episode.state, episode.inputs.command, episode.parameters)
    past, seen = observe(episodes, episode.past, frame, episode.age)
    critic_obs = episodes.task.privileged(episode.state, episode.inputs.command, episode.parameters)
    looks = {"privileged": critic_obs, "seen": seen, "final_privileged": critic_obs, "final": seen}
    return RobotColumn(replace(episode, past=past), StepOutput(**{**vars(blank), **looks}))


class EpisodeSource:
    """The CUDA source of the work after a tick, and the layout of its numbers; needs no GPU."""

    def __init__(self, task: Task, randomisation: Randomisation, ranges: Mapping[str, Given], seconds: float) -> None:
        paths = (*randomisation.paths(task.robot), *task.paths)
        self.ticks = TickSource(
            task.robot,
            task.controller,
            free=paths,
            uses_foot_forces=True,
            threads=4,
            one_loop=False,  # a launch is one tick of the policy
            **task.world_with(randomisation),
            **task.effects,
        )
        limit = round(seconds * task.drive.rate)
        self.episodes = Episodes(
            task=task,
            randomisation=randomisation,
            ranges=dict(ranges),
            first=self.ticks.first,
            nominal=self.ticks.parameters,
            limit=limit,
        )
        self.draws = self.episodes.draws + self.episodes.tick_draws
        self.first = RobotColumn(
            Episode(
                state=self.ticks.first,
                inputs=self.ticks.inputs,
                parameters=self.ticks.parameters,
                age=0.0,
                next_push=0.0,
                past=empty_history(self.episodes),
            ),
            _blank(task),
        )
        self.size = number_count(self.first)
        layout = emit.first_is_state([self.size, self.draws])
        example = np.zeros(self.draws)
        step = compiling.program(step_column, self.episodes, self.first, example)
        reset = compiling.program(reset_column, self.episodes, self.first, example)
        self.step = cuda.source(step, layout, "step", np.float32, BLOCK)
        self.reset = cuda.source(reset, layout, "reset", np.float32, BLOCK)

    @cached_property
    def places(self) -> dict[str, slice]:
        """Return the rows of each part of a column, by its path: ``episode.age``, ``outcome.seen``, ``action``, ..."""
        sizes: dict[str, int] = {
            "state": number_count(self.ticks.first),
            "inputs": number_count(self.ticks.inputs),
            "parameters": number_count(self.ticks.parameters),
            "age": 1,
            "next_push": 1,
            "level": 1,
            "past": number_count(self.first.episode.past),
        }
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
    """n robots of a task on one GPU. ``columns`` is a CuPy array (number, robot); PyTorch shares it through DLPack."""

    def __init__(
        self, task: Task, n: int, *, command: Mapping[str, Given], randomise: Given = True, seconds: float = 20.0
    ) -> None:
        if int(n) != n or n < 1:
            raise InputError(f"a training needs at least one robot, got {n}")
        self.cupy, self.n, self.task = cupy(), int(n), task
        self.source = EpisodeSource(task, task.randomisation(randomise), command, seconds)
        self._backend = CudaBackend(self.source.ticks)
        self._step = CudaKernel(self.source.step, "step", BLOCK)
        self._reset = CudaKernel(self.source.reset, "reset", BLOCK)
        self.columns = self.cupy.zeros((self.source.size, self.n), np.float32)
        places = self.source.places
        self._state, self._rest = (
            self.columns[places["state"]],
            self.columns[places["inputs"].start : places["age"].start],
        )

    def rows(self, name: str) -> DeviceArray:
        """Return a part of every robot's column, (number, robot), on the device."""
        return self.columns[self.source.places[name]]

    def begin(self, chance: DeviceArray) -> None:
        """Start new episodes for all robots, from draws (number, robot)."""
        self._reset.advance(1, self.columns, chance)

    def tick(self, chance: DeviceArray) -> None:
        """Advance by a tick under the actions in ``rows("action")``, evaluate it, and restart finished episodes."""
        self._backend.rollout(1, self._state, self._rest)
        self._step.advance(1, self.columns, chance)


def _blank(task: Task) -> StepOutput:
    seen = np.zeros(len(task.bounds))
    critic_obs = np.zeros(task.privileged_count) if task.privileged_count else ()
    return StepOutput(
        privileged=critic_obs,
        seen=seen,
        final_privileged=critic_obs,
        final=seen,
        reward=0.0,
        fallen=0.0,
        late=0.0,
        velocity=np.zeros(3),
        score=0.0,
    )


class GpuExam:
    """An exam on a GPU, for machines without a compiler, with robots from seeds that no training uses.

    The physics and the evaluation are the kernels of ``CudaLanes``; the policy acts as it is saved, in plain NumPy, and
    the draws are NumPy's too. ``lanes``: a ``CudaLanes``, whose episodes last longer than the exam.
    """

    def __init__(self, exam: Exam, lanes: CudaLanes) -> None:
        self.exam, self.lanes, self.ticks = exam, lanes, round(exam.seconds * exam.task.drive.rate)

    @staticmethod
    def of(exam: Exam) -> GpuExam:
        ranges = {**exam.task.command_ranges, **exam.command}
        return GpuExam(exam, CudaLanes(exam.task, exam.robots, command=ranges, seconds=exam.seconds + 1.0))

    def run(self, policy: Policy, seed: int) -> ExamRuns:
        """Let a policy act without noise."""
        lanes, rng, task = self.lanes, np.random.default_rng(seed), self.exam.task
        xp, n, source = lanes.cupy, lanes.n, lanes.source

        def drawn() -> np.ndarray:
            return rng.random((source.draws, n), dtype=np.float32)

        chance = drawn()
        if self.exam.first is not None:
            chance[source.episodes.draws - task.start_draws] = self.exam.first
        lanes.begin(xp.asarray(chance))
        command = xp.asnumpy(lanes.rows("seen"))[task.place("command")].T.astype(float)
        fallen, total, skipped = np.zeros(n, bool), np.zeros((n, 3)), round(_AFTER * task.drive.rate)
        for k in range(self.ticks):
            seen = xp.asnumpy(lanes.rows("seen")).T.astype(float)
            lanes.rows("action")[...] = xp.asarray(np.clip(policy.action(seen), -1.0, 1.0).T.astype(np.float32))
            lanes.tick(xp.asarray(drawn()))
            fallen |= ~(xp.asnumpy(lanes.rows("fallen"))[0] < 0.5)  # a number that is not finite counts as a fall
            if k >= skipped:
                total += np.nan_to_num(xp.asnumpy(lanes.rows("velocity")).T)
        x, score = xp.asnumpy(lanes.rows("state"))[source.ticks.rows("q").start], xp.asnumpy(lanes.rows("score"))[0]
        return ExamRuns(fallen, x.astype(float), total / max(1, self.ticks - skipped), command, score.astype(float))
