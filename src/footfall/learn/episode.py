"""Episodes of a task: their random draws and their end. Plain NumPy for one robot, traced for many.

The environments of the processor and the training on a GPU run the same two functions: ``reset_episode``, which turns
uniform draws into a robot with a command, and ``step_episode``, which evaluates a tick and restarts finished episodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil

import numpy as np
from numpy import ndarray

from footfall.control.learned.past import append_history
from footfall.identity import digest_of
from footfall.learn.randomise import EXTRAS, FURTHER, Randomisation, Range, soft_contact, within
from footfall.learn.task import Task
from footfall.sim.tick import Inputs, RunState
from nptrace import numeric
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float
from nptrace.frontend import tree

COMMANDS = ("forward", "sideways", "turn")


@dataclass(frozen=True, eq=False, kw_only=True)
class Episodes:
    """The constants of all episodes of a training, for ``reset_episode`` and ``step_episode``.

    first: a robot at the start of its simulation. nominal: the parameters that differ between robots. limit: ticks.
    """

    task: Task
    randomisation: Randomisation
    ranges: Mapping[str, Range]  # ranges of the command
    first: RunState
    nominal: Mapping[str, Scalar]
    limit: int

    @property
    def draws(self) -> int:
        """Return how many uniform draws an episode starts with."""
        ranges = self.randomisation
        more = len(ranges.extras) + ranges.further_draws + self.task.start_draws
        return 9 + self.task.robot.nj + len(ranges.factors) + more

    @property
    def tick_draws(self) -> int:
        """Return how many further draws a tick takes: two for a push, and those of a noisy observation."""
        return 2 + (len(self.task.frame_bounds) if self.randomisation.noise else 0)

    @cached_property
    def digest(self) -> str | None:
        parts = digest_of((self.randomisation, dict(self.ranges), self.first, dict(self.nominal), self.limit))
        return None if parts is None or self.task.digest is None else digest_of((parts, self.task.digest))


@dataclass(frozen=True, kw_only=True)
class Episode:
    """One robot within its episode. ``inputs``: its command, and the push of the next tick."""

    state: RunState
    inputs: Inputs
    parameters: dict[str, Operand]
    age: Operand  # ticks
    next_push: Scalar  # the age at which it is pushed
    level: Scalar = 0.0  # level of difficulty, from 0
    past: dict[str, PyTree] = field(default_factory=dict)  # past observations, where they matter (``empty_history``)


def reset_episode(episodes: Episodes, chance: Float[ndarray, "draws"], level: Scalar = 0.0) -> Episode:
    """Start an episode from uniform draws in [0, 1): command, parameters, initial pose, phase of the clock."""
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
    at = 9 + robot.nj + len(ranges.factors)
    extra = {key: chance[at + k] for k, key in enumerate(ranges.extras)}
    strength, payload, delay, latency = (within(getattr(ranges, key), extra.get(key, 0.0)) for key in EXTRAS)
    parameters[trunk] = parameters[trunk] + payload
    at, force = at + len(ranges.extras), np.zeros(2)
    if ranges.further("force"):
        angle = 2.0 * np.pi * chance[at + 1]
        force = within(ranges.force, chance[at]) * np.stack([np.cos(angle), np.sin(angle)])
        at += FURTHER["force"]
    if ranges.further("softness"):
        soft = soft_contact(robot, within(ranges.softness, chance[at]), chance[at + 1 : at + 3])
        parameters |= {f"contact.{key}": value for key, value in soft.items()}
    level = task.assign_level(level, more)
    parameters |= task.terrain(level, more)
    q = task.initial_pose(first.q, ranges, chance[9 : 9 + robot.nj], more, parameters, level)
    gains = strength * np.stack([within(ranges.stiffness, chance[5]), within(ranges.damping, chance[6])])
    tick = np.floor(chance[7] * round(drive.gait.period * drive.rate))
    memory = {**first.memory, "gains": gains, "delay": delay}
    state = replace(first, tick=tick, q=q, memory=memory)
    push = np.floor(chance[8] * ranges.push_every * drive.rate)
    command = task.draw_command(drawn, chance[: len(COMMANDS)])
    return Episode(
        state=state,
        inputs=Inputs(command, _level(force)),
        parameters=parameters,
        age=0.0,
        next_push=push,
        level=level,
        past=empty_history(episodes, latency, force),
    )


def push_of_tick(
    episodes: Episodes, age: Scalar, next_push: Scalar, chance: Float[ndarray, "2"]
) -> tuple[Float[ndarray, "6"], Scalar]:
    """Return (wrench on the trunk in the next tick, age of the push after it).

    An impulse is a force for one tick.
    """
    ranges, rate = episodes.randomisation, episodes.task.drive.rate
    now = np.abs(age - next_push) < 0.5
    force = np.where(now, rate * within(ranges.push, chance[0]), 0.0)
    angle = 2.0 * np.pi * chance[1]
    level = np.stack([force * np.cos(angle), force * np.sin(angle)])
    later = np.where(now, next_push + max(1, round(ranges.push_every * rate)), next_push)
    return _level(level), later


def _level(force: Float[ndarray, "2"]) -> Float[ndarray, "6"]:
    """Return a horizontal force on the trunk as a wrench."""
    return np.concatenate([np.zeros(3), force, np.zeros(1)])


@dataclass(frozen=True, kw_only=True)
class StepOutput:
    """The results of a tick that a learner needs."""

    privileged: Float[ndarray, "k"] | tuple[()]  # inputs of a critic besides ``seen``
    seen: Float[ndarray, "no"]  # the next observation to act on
    final_privileged: Float[ndarray, "k"] | tuple[()]
    final: Float[ndarray, "no"]  # the observation that ended the tick: a different one if a new episode has started
    reward: Operand
    fallen: Scalar  # 1 or 0
    late: Scalar  # 1 where the time limit was reached without a fall
    velocity: Float[ndarray, "3"]
    score: Scalar  # score of the task, from 0 to 1


def step_episode(episodes: Episodes, episode: Episode, chance: Float[ndarray, "n"]) -> tuple[Episode, StepOutput]:
    """Evaluate a tick, restart a finished episode, and return the next push and observation."""
    task = episodes.task
    command = episode.inputs.command
    result = task.evaluate_tick(episode.state, command, episode.parameters)
    age = episode.age + 1.0
    fallen = result.fallen > 0.5
    late = ~fallen & (age > episodes.limit - 0.5)
    memory = {**episode.state.memory, "last": episode.state.memory["action"]}
    goes_on = replace(episode, state=replace(episode.state, memory=memory), age=age)
    commanded = command.forward * age / task.drive.rate
    level = task.next_level(episode.level, episode.state.q[0], commanded, np.where(fallen, 1.0, 0.0), result.score)
    now: Episode = where_tree(fallen | late, reset_episode(episodes, chance[: episodes.draws], level), goes_on)
    push, next_push = push_of_tick(episodes, now.age, now.next_push, chance[episodes.draws : episodes.draws + 2])
    if "force" in now.past:
        push = push + _level(now.past["force"])
    now = replace(now, inputs=Inputs(now.inputs.command, push), next_push=next_push)
    frame = task.observe(now.state, now.inputs.command, now.parameters)
    past, seen = observe(episodes, now.past, frame, now.age, chance[episodes.draws + 2 :])
    now = replace(now, past=past)
    _, final = observe(episodes, episode.past, result.observation, age)
    score = score_of_level(task, result.score, episode.level)
    outcome = StepOutput(
        privileged=task.privileged(now.state, now.inputs.command, now.parameters),
        seen=seen,
        final_privileged=task.privileged(episode.state, command, episode.parameters),
        final=final,
        reward=result.reward,
        fallen=np.where(fallen, 1.0, 0.0),
        late=np.where(late, 1.0, 0.0),
        velocity=result.velocity,
        score=score,
    )
    return now, outcome


def empty_history(episodes: Episodes, latency: Scalar = 0.0, force: ndarray | None = None) -> dict[str, PyTree]:
    """Return the past at the start of an episode: ``frames`` still to be seen, their ``latency`` [ticks], and
    ``seen``, for a policy with a history; and the steady ``force`` of the episode, if there is one. Empty if nothing
    is delayed and nothing is kept.
    """
    size, longest = len(episodes.task.frame_bounds), episodes.randomisation.latency[1]
    past: dict[str, PyTree] = {}
    if longest > 0:
        past |= {"frames": np.zeros((ceil(longest) + 1, size)), "latency": latency}
    if episodes.task.drive.history > 1:
        past["seen"] = np.zeros((episodes.task.drive.history, size))
    if episodes.randomisation.further("force"):
        past["force"] = np.zeros(2) if force is None else force
    return past


def observe(
    episodes: Episodes,
    past: Mapping[str, PyTree],
    frame: Float[ndarray, "size"],
    age: Scalar,
    chance: ndarray | None = None,
) -> tuple[dict[str, PyTree], Float[ndarray, "no"]]:
    """Return (the past after the tick, the policy's observation).

    Measurements are late and noisy, and are appended to previous observations.

    chance: random draws for the noise; without them there is no noise. An episode has no past at the age of 0.
    """
    after, goes_on = dict(past), age > 0.5
    if "frames" in past:
        frames = append_history(past["frames"], goes_on, frame)
        ago = np.arange(len(frames))[::-1]
        part = np.maximum(1.0 - np.abs(past["latency"] - ago), 0.0)  # between two ticks, interpolated
        frame = np.where(episodes.task.delayed, part @ frames, frame)
        after["frames"] = frames
    if chance is not None:
        frame = add_noise(episodes, frame, chance)
    if "seen" in past:
        after["seen"] = append_history(past["seen"], goes_on, frame)
        frame = after["seen"].reshape(-1)
    return after, frame


def add_noise(episodes: Episodes, seen: Float[ndarray, "no"], chance: ndarray) -> Float[ndarray, "no"]:
    """Return an observation with noise, from uniform draws; evaluation and termination are without noise.

    Unbounded numbers, possible in user-defined observations, have no noise either.
    """
    if not episodes.randomisation.noise:
        return seen
    bounds = episodes.task.frame_bounds
    most = 0.01 * episodes.randomisation.noise * np.where(np.isfinite(bounds), bounds, 0.0)
    return np.clip(seen + most * (2.0 * chance - 1.0), -bounds, bounds)


def score_of_level(task: Task, score: Scalar, level: Scalar) -> Scalar:
    """Return the score of a task with levels: how high a robot has come."""
    return (np.floor(level) + 1.0) / task.levels if task.levels > 1 else score


def where_tree(condition: Scalar, one: PyTree, other: PyTree) -> PyTree:
    """Return one of two pytrees of arrays, by a condition that may be traced."""
    ones, rebuild = tree.flatten(one)
    others, _ = tree.flatten(other)
    return rebuild([numeric.select(condition, a, b) for a, b in zip(ones, others)])
