"""A short-horizon actor-critic (SHAC, Xu et al. 2022) on the task of ``footfall/Walk-v0``, to be held against PPO.

The policy climbs the gradient of a window of ticks, gone back through contact, motors and reward; a critic says what is
to come after it:

    J = sum over t < H of γᵗ r_t + γᴴ V(o_H),    dJ/dθ by one reverse sweep per tick and robot

python studies/shac.py --robots 256 --horizon 16 --iterations 600 --out out/shac.csv
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

import footfall as ff
from footfall.control.interface import Command
from footfall.control.learned.network import layers_of
from footfall.control.learned.policy import Policy
from footfall.learn.lanes import WalkLanes
from footfall.learn.ppo import (
    Adam,
    Normaliser,
    Rollout,
    Weights,
    activation_derivative,
    advantages,
    backward,
    orthogonal,
    value_loss,
)
from footfall.learn.task import Task
from footfall.learn.walk import WalkTask
from footfall.sim.tick import Inputs, RunState, SimulationModel, rollout_tick
from nptrace.array_types import Float
from nptrace.frontend import tree


# -- one tick, and what pulls back through it --------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Ticking:
    """The constant of a tick that is result."""

    model: SimulationModel
    task: Task
    digest = None


def step_column(
    ticking: Ticking,
    state: RunState,
    q: ndarray,
    v: ndarray,
    action: ndarray,
    last: ndarray,
    inputs: Inputs,
    parameters: Mapping[str, Any],
) -> tuple[ndarray, ndarray, ndarray, Any]:
    """(q, v, observation, reward) after a tick in which a robot acted; ``state`` has all else that it begins with."""
    before = replace(state, q=q, v=v, memory={**state.memory, "action": action, "last": last})
    after = rollout_tick(ticking.model.with_parameters(parameters), before, inputs)
    result = ticking.task.evaluate_tick(after, inputs.command, parameters)
    return after.q, after.v, result.observation, result.reward


def pulled(
    ticking: Ticking,
    state: RunState,
    q: ndarray,
    v: ndarray,
    action: ndarray,
    last: ndarray,
    inputs: Inputs,
    parameters: Mapping[str, Any],
    slopes: tuple[ndarray, ndarray, ndarray, Any],
) -> Any:
    """What a tick gives, weighed by the slopes of something by it: the gradient is the slope by what went in."""
    given = step_column(ticking, state, q, v, action, last, inputs, parameters)
    return sum(np.sum(slope * x) for slope, x in zip(slopes, given))


WRT = ("q", "v", "action", "last")


def examples(lanes: WalkLanes) -> tuple[Any, ...]:
    """Arguments of ``step_column`` for one robot."""
    first, nominal, zero = lanes.batch.first, dict(lanes.episodes.nominal), np.zeros(lanes.robot.nj)
    return first, first.q, first.v, zero, zero, Inputs(Command(), np.zeros(6)), nominal


def pull_back(lanes: WalkLanes, dtype: Any = np.float32, width: int | None = None) -> Any:
    """The compiled gradient of ``pulled`` for many robots."""
    arguments, robot = examples(lanes), lanes.robot
    slopes = (np.zeros(robot.nq), np.zeros(robot.nv), np.zeros(len(lanes.task.bounds)), 0.0)
    ticking = Ticking(lanes.batch.simulation.model, lanes.task)
    return ff.gradient(
        pulled, ticking, *arguments, slopes, wrt=WRT, target="batch", dtype=dtype, lanes=width, settled=True
    )


# -- the method --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Settings:
    """Constants of a training; those of Xu et al. but for the sizes."""

    robots: int = 256
    horizon: int = 16  # ticks of a window
    hidden: tuple[int, ...] = (64, 64)
    discount: float = 0.97
    trace: float = 0.9  # λ of the critic's targets
    rate: float = 2e-3  # of the actor at first; falls to a tenth over ``iterations``
    critic_rate: float = 2e-3
    iterations: int = 600
    epochs: int = 4  # of the critic
    parts: int = 4  # minibatches
    keep: float = 0.2  # of the critic's past in what the actor climbs
    noise: float = 0.1  # standard deviation of the first actions
    longest: float = 10.0  # of the slope of one robot's return by its state; longer ones are shortened


@dataclass(kw_only=True)
class Window:
    """One tick of the tape: what went in, and what came of it."""

    arguments: tuple[Any, ...]  # of ``step_column``
    layers: list[ndarray]
    noise: ndarray
    free: ndarray  # whose action is not cut off at its limit
    weight: ndarray  # γ to the ticks since the window, or the episode, began
    reward: ndarray
    fallen: ndarray
    late: ndarray
    final: ndarray  # normalised observation that ended the tick


class SHAC:
    """A training in the making: ``iterate`` until content."""

    def __init__(self, task: Task, settings: Settings, seed: int = 0) -> None:
        self.settings, self.rng = settings, np.random.default_rng(seed)
        self.lanes = lanes = WalkLanes(task, settings.robots)
        lanes.generators = [np.random.default_rng((seed, k)) for k in range(lanes.n)]
        lanes.begin(np.arange(lanes.n))
        lanes.stagger(self.rng)
        seen, acts = len(task.bounds), task.robot.nj
        self.actor = orthogonal((seen, *settings.hidden, acts), self.rng, 0.01)
        self.critic = orthogonal((seen, *settings.hidden, 1), self.rng, 1.0)
        self.ahead = [(W.copy(), b.copy()) for W, b in self.critic]  # the critic that the actor climbs
        self.log_noise = np.full(acts, np.log(settings.noise), np.float32)
        self._actor_step = Adam(
            parameters=[x for layer in self.actor for x in layer] + [self.log_noise], decay=(0.7, 0.95)
        )
        self._critic_step = Adam(parameters=[x for layer in self.critic for x in layer])
        self.normaliser = Normaliser(seen)
        self.observation = lanes.observe(lanes.look(slice(None)).observation).copy()
        self.normaliser.update(self.observation)
        self._pull = pull_back(lanes)
        self._pool = ThreadPoolExecutor(2)
        self.lengths: ndarray = np.zeros(0)  # of the slopes by the state, after each tick backwards
        self.iteration, self.samples, self.began = 0, 0, time.process_time()

    def iterate(self) -> dict[str, float]:
        """A window of ticks, then a step of the actor and some of the critic."""
        s = self.settings
        tape = self._forwards()
        end = self.normaliser(self.observation)
        slopes = self._backwards(tape, end)
        rate = s.rate * max(0.1, 1.0 - 0.9 * self.iteration / s.iterations)
        self._actor_step.step([-x for x in slopes], rate)
        self._learn_values(tape, end)
        self.iteration, self.samples = self.iteration + 1, self.samples + s.robots * s.horizon
        reward = float(np.mean([tick.reward for tick in tape]))
        falls = self.lanes.task.drive.rate * float(np.mean([tick.fallen for tick in tape]))
        return {
            "iteration": self.iteration,
            "samples": self.samples,
            "seconds": time.process_time() - self.began,
            "reward": reward,
            "falls": falls,
            "noise": float(np.exp(self.log_noise).mean()),
        }

    # -- forwards ----------------------------------------------------------------------------------------------------
    def _forwards(self) -> list[Window]:
        lanes, n = self.lanes, self.lanes.n
        tape, raw, weight = [], [], np.ones(n, np.float32)
        for _ in range(self.settings.horizon):
            layers = layers_of(self.actor, self.normaliser(self.observation))
            raw.append(self.observation)
            noise = np.exp(self.log_noise) * self.rng.standard_normal((n, len(self.log_noise)), dtype=np.float32)
            wanted = layers[-1] + noise
            action = np.clip(wanted, -1.0, 1.0)
            state, inputs, parameters = self._before()
            q, v, last = state.q, state.v, state.memory["action"].copy()
            done = lanes.tick(action)
            arguments = (state, q, v, action, last, replace(inputs, push=lanes.batch.push.copy()), parameters)
            frames = done.result.observation.copy()
            over, late = done.fallen | done.late, done.late & ~done.fallen
            reward = np.asarray(done.result.reward, np.float32)
            free = np.abs(wanted) < 1.0
            final = self.normaliser(frames)
            tape.append(
                Window(
                    arguments=arguments,
                    layers=layers,
                    noise=noise,
                    free=free,
                    weight=weight,
                    reward=reward,
                    fallen=done.fallen,
                    late=late,
                    final=final,
                )
            )
            weight = np.where(over, 1.0, self.settings.discount * weight).astype(np.float32)
            if over.any():
                which = np.flatnonzero(over)
                lanes.begin(which)
                frames[which] = lanes.look(which).observation
            self.observation = lanes.observe(frames).copy()
        self.normaliser.update(np.stack(raw))
        return tape

    def _before(self) -> tuple[RunState, Inputs, dict[str, ndarray]]:
        """What a tick begins with, in memory of its own: episodes that end write over it."""
        batch = self.lanes.batch
        leaves, rebuild = tree.flatten(batch.state)
        command: Any = {key: values.copy() for key, values in batch.command.items()}
        parameters = {path: batch.parameters[path].copy() for path in self.lanes.episodes.nominal}
        return rebuild([x.copy() for x in leaves]), Inputs(Command(**command), batch.push), parameters

    # -- backwards ---------------------------------------------------------------------------------------------------
    def _backwards(self, tape: list[Window], end: ndarray) -> list[ndarray]:
        """Slopes of the mean return of the windows by the actor's weights and the log of the noise."""
        s, n = self.settings, self.lanes.n
        robot, spread = self.lanes.robot, self.normaliser.spread.astype(np.float32)
        zero = np.zeros((n, 1), np.float32)
        by_q, by_v, by_last = (np.zeros((n, k), np.float32) for k in (robot.nq, robot.nv, robot.nj))
        weight = s.discount * tape[-1].weight[:, None]
        by_seen = weight * input_slope(self.ahead, layers_of(self.ahead, end), np.ones((n, 1), np.float32))
        total: list[ndarray] | None = None
        lengths = []
        for tick in reversed(tape):
            over = (tick.fallen | tick.late)[:, None]
            by_q, by_v, by_last, by_seen = (np.where(over, zero, x) for x in (by_q, by_v, by_last, by_seen))
            if tick.late.any():  # the world goes on after a time limit
                slope = input_slope(self.ahead, layers_of(self.ahead, tick.final), np.ones((n, 1), np.float32))
                by_seen = np.where(tick.late[:, None], s.discount * tick.weight[:, None] * slope, by_seen)
            found = self._pulled(tick.arguments, (by_q, by_v, by_seen / spread, tick.weight))
            by_q, by_v, by_action, before = found
            by_q, by_v, by_action, before, length = shortened((by_q, by_v, by_action, before), s.longest)
            lengths.append(length)
            slope = np.where(tick.free, by_action + by_last, 0.0).astype(np.float32)
            weights = [*backward(self.actor, tick.layers, slope / n), (slope * tick.noise).sum(axis=0) / n]
            total = weights if total is None else [a + b for a, b in zip(total, weights)]
            by_seen, by_last = input_slope(self.actor, tick.layers, slope), before
        self.lengths = np.array(lengths)
        assert total is not None  # a window has a tick
        return total

    def _pulled(self, arguments: tuple[Any, ...], slopes: tuple[ndarray, ...]) -> tuple[ndarray, ...]:
        """The slopes by (q, v, action, last), on two threads; what is not finite counts as none."""
        leaves, rebuild = tree.flatten((*arguments, slopes))
        half = self.lanes.n // 2
        parts = [slice(0, half), slice(half, None)]

        def part(which: slice) -> Any:
            return self._pull(*rebuild([x[which] for x in leaves]))

        both = list(self._pool.map(part, parts))
        return tuple(np.nan_to_num(np.concatenate(x), nan=0.0, posinf=0.0, neginf=0.0) for x in zip(*both))

    # -- the critic --------------------------------------------------------------------------------------------------
    def _learn_values(self, tape: list[Window], end: ndarray) -> None:
        s = self.settings
        seen = np.stack([tick.layers[0] for tick in tape])
        value, last = (layers_of(self.ahead, x)[-1][..., 0] for x in (seen, end))
        reward = np.stack([tick.reward for tick in tape])
        for k, tick in enumerate(tape):
            if tick.late.any():
                reward[k] += np.where(tick.late, s.discount * layers_of(self.ahead, tick.final)[-1][:, 0], 0.0)
        done = np.stack([tick.fallen | tick.late for tick in tape])
        rollout = Rollout(seen=seen, action=seen, likelihood=seen, center=seen, reward=reward, value=value, done=done)
        target = (advantages(rollout, last, s.discount, s.trace) + value).reshape(-1, 1)
        rows = seen.reshape(-1, seen.shape[-1])
        for _ in range(s.epochs):
            for part in np.array_split(self.rng.permutation(len(rows)), s.parts):
                _, gradients = value_loss(self.critic, rows[part], target[part])
                self._critic_step.step(gradients, s.critic_rate)
        for (W, b), (W_new, b_new) in zip(self.ahead, self.critic):
            W += (1.0 - s.keep) * (W_new - W)
            b += (1.0 - s.keep) * (b_new - b)

    def policy(self) -> Policy:
        """What was learned so far, without noise."""
        task, normaliser = self.lanes.task, self.normaliser
        weights = tuple((W.astype(float), b.astype(float)) for W, b in self.actor)
        mean, spread, joints = normaliser.mean.copy(), normaliser.spread, task.robot.joint_names
        return Policy(
            robot=task.robot.name,
            drive=task.drive,
            mean=mean,
            spread=spread,
            weights=weights,
            activation="tanh",
            joints=joints,
        )


# -- the mathematics ---------------------------------------------------------------------------------------------------
def input_slope(weights: Weights, given: list[ndarray], slope: Float[ndarray, "n out"]) -> Float[ndarray, "n in"]:
    """Of what a network gives by what went in, a row each."""
    for k in range(len(weights) - 1, -1, -1):
        slope = slope @ weights[k][0].T
        if k:
            slope = slope * activation_derivative(given[k], "tanh")
    return slope


def shortened(slopes: tuple[ndarray, ...], longest: float) -> tuple[ndarray, ...]:
    """The slopes of every robot, shortened as one where those by q and v are longer than ``longest``; that length."""
    length = np.sqrt(np.sum(slopes[0] ** 2, axis=1) + np.sum(slopes[1] ** 2, axis=1))
    factor = np.minimum(1.0, longest / (length + 1e-12))[:, None].astype(np.float32)
    return (*(factor * x for x in slopes), length)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--robot", default="mini_cheetah")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    for name in ("robots", "horizon", "iterations"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Settings, name))
    for name in ("rate", "noise", "longest", "discount"):
        parser.add_argument(f"--{name}", type=float, default=getattr(Settings, name))
    chosen = vars(parser.parse_args())
    robot, seed, out = (chosen.pop(key) for key in ("robot", "seed", "out"))
    training = SHAC(WalkTask.of(ff.load(robot)), Settings(**chosen), seed)
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, ("iteration", "samples", "seconds", "reward", "falls", "noise"))
        writer.writeheader()
        for _ in range(training.settings.iterations):
            row = training.iterate()
            writer.writerow({key: f"{value:.6g}" for key, value in row.items()})
            if training.iteration % 10 == 0:
                file.flush()
                middle, high = np.quantile(training.lengths[-1], (0.5, 0.99))
                print(*(f"{key} {value:.4g}" for key, value in row.items()), f"slopes {middle:.2g} {high:.2g}")
    training.policy().save(out.with_suffix(".npz"), ff.load(robot))


if __name__ == "__main__":
    main()
