"""Proximal policy optimisation in plain NumPy: Schulman et al. 2017, with the step size of Rudin et al. 2022.

Actor and critic are separate networks, and are updated in two threads. The step size follows the Kullback-Leibler
divergence between the policies before and after. Works on any Gymnasium vector environment of boxes that resets in the
same step. The ``privileged`` entry of its infos is given to the critic alone (Pinto et al. 2018).

The networks are small and in plain NumPy: hand-written gradients, Adam, and running means of the inputs. The forward
pass is ``control.learned.network.layers_of``, as in the controller.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.control.learned.network import ACTIVATIONS, layers_of
from footfall.errors import InputError, unknown
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv


Weights = list[tuple[ndarray, ndarray]]  # (W, b) of every layer


def orthogonal(sizes: Sequence[int], rng: np.random.Generator, last: float, dtype: type = np.float32) -> Weights:
    """Return layers with orthogonal columns of length √2 (``last`` in the last layer), and zero biases."""
    layers: Weights = []
    for k, (a, b) in enumerate(pairwise(sizes)):
        Q, R = np.linalg.qr(rng.normal(size=(max(a, b), min(a, b))))
        Q = Q * np.sign(np.diag(R))
        gain = last if k == len(sizes) - 2 else np.sqrt(2.0)
        layers.append(((gain * (Q if a >= b else Q.T)).astype(dtype), np.zeros(b, dtype)))
    return layers


def activation_derivative(given: ndarray, activation: str) -> ndarray:
    """Return the derivative of an activation, from its output."""
    if activation == "tanh":
        return 1.0 - given * given
    return np.minimum(given + 1.0, 1.0) if activation == "elu" else (given > 0.0).astype(given.dtype)


def backward(
    weights: Weights, given: Sequence[ndarray], slope: Float[ndarray, "n out"], activation: str = "tanh"
) -> list[ndarray]:
    """Return gradients in W and b of every layer, from their outputs and a loss's derivative in the last output."""
    gradients: list[ndarray] = []
    ones = np.ones(len(slope), slope.dtype)  # a product sums rows faster than a sum over the first axis
    for k in range(len(weights) - 1, -1, -1):
        gradients[:0] = [given[k].T @ slope, ones @ slope]
        if k:
            slope = slope @ weights[k][0].T
            slope *= activation_derivative(given[k], activation)
    return gradients


@dataclass(kw_only=True)
class Adam:
    """Adam (Kingma & Ba 2015) on arrays, in place; gradients longer than ``longest`` are clipped."""

    parameters: list[ndarray]
    longest: float = 1.0
    decay: tuple[float, float] = (0.9, 0.999)
    steps: int = 0
    means: list[ndarray] = field(default_factory=list)
    squares: list[ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.means = [np.zeros_like(p) for p in self.parameters]
        self.squares = [np.zeros_like(p) for p in self.parameters]

    def step(self, gradients: Sequence[ndarray], rate: float) -> None:
        self.steps += 1
        length = float(np.sqrt(sum(float(np.sum(g * g)) for g in gradients)))
        shorter = min(1.0, self.longest / (length + 1e-8))
        b1, b2 = self.decay
        size = rate * np.sqrt(1.0 - b2**self.steps) / (1.0 - b1**self.steps)
        for p, g, m, s in zip(self.parameters, gradients, self.means, self.squares):
            g = (shorter * g).astype(p.dtype, copy=False)
            m += (1.0 - b1) * (g - m)
            s += (1.0 - b2) * (g * g - s)
            p -= (size * m / (np.sqrt(s) + 1e-8)).astype(p.dtype, copy=False)


class Normaliser:
    """Running mean and variance of the numbers that a network sees (Chan, Golub & LeVeque 1983)."""

    def __init__(self, size: int) -> None:
        self.count, self.mean, self.square = 0.0, np.zeros(size), np.zeros(size)

    def update(self, rows: Float[ndarray, "n size"]) -> None:
        rows = rows.reshape(-1, rows.shape[-1])
        mean, new = rows.mean(axis=0, dtype=float), float(len(rows))
        away, total = mean - self.mean, self.count + new
        self.square += rows.var(axis=0, dtype=float) * new + away * away * self.count * new / total
        self.mean = self.mean + away * new / total
        self.count = total

    @property
    def spread(self) -> Float[ndarray, "size"]:
        """Return standard deviations, none below 0.01: a constant number is left unscaled."""
        return np.sqrt(np.maximum(self.square / max(self.count, 1.0), 1e-4))

    def __call__(self, rows: ndarray) -> ndarray:
        return ((rows - self.mean) / self.spread).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Constants of a training."""

    hidden: tuple[int, ...] = (64, 64)
    activation: str = "tanh"  # between layers
    steps: int = 24  # ticks of every robot between updates
    epochs: int = 5
    rows: int = 8192  # approximate size of a minibatch
    discount: float = 0.99
    trace: float = 0.95  # λ of the advantages
    clip: float = 0.2
    entropy: float = 0.004
    divergence: float = 0.01  # divergence that an update aims at
    first_rate: float = 1e-3  # step sizes of Adam
    critic_rate: float = 1e-3
    noise: float = 0.4  # standard deviation of the initial actions

    def __post_init__(self) -> None:
        for key in ("steps", "epochs", "rows", "first_rate", "critic_rate", "noise", "divergence", "clip"):
            if not getattr(self, key) > 0:
                raise InputError(f"{key} of a training must be positive, got {getattr(self, key)}")
        if self.activation not in ACTIVATIONS:
            raise unknown("activation", self.activation, ACTIVATIONS)
        if not (0 < self.discount < 1 and 0 <= self.trace <= 1 and self.entropy >= 0):
            raise InputError("discount must lie in (0, 1), trace in [0, 1], and entropy be 0 or more")


@dataclass(kw_only=True)
class Rollout:
    """The experience between updates, (step, robot, ...)."""

    seen: ndarray  # normalised observations
    action: ndarray
    likelihood: ndarray  # log of it
    center: ndarray  # means of the actions' distributions
    reward: ndarray  # including the estimated remaining return after a time limit
    value: ndarray
    done: ndarray
    critic_obs: ndarray | None = None  # the critic's inputs, if it has more: these, followed by the observations


class PPO:
    """A training by proximal policy optimization; ``iterate`` makes one update."""

    def __init__(self, env: VectorEnv, settings: Settings | None = None, seed: int = 0) -> None:
        from gymnasium.vector import AutoresetMode
        from threadpoolctl import ThreadpoolController

        if env.metadata.get("autoreset_mode") is not AutoresetMode.SAME_STEP:
            raise InputError("PPO needs a vector environment that resets in the same step")
        self.env, self.settings, self.rng = env, settings or Settings(), np.random.default_rng(seed)
        assert env.single_observation_space.shape
        assert env.single_action_space.shape
        seen, acts = env.single_observation_space.shape[0], env.single_action_space.shape[0]
        hidden = self.settings.hidden
        self.observation, infos = env.reset(seed=seed)
        self.privileged = infos.get("privileged", np.zeros((len(self.observation), 0), np.float32))
        more = self.privileged.shape[1]
        self.actor = orthogonal((seen, *hidden, acts), self.rng, 0.01)
        self.critic = orthogonal((more + seen, *hidden, 1), self.rng, 1.0)
        self.log_noise = np.full(acts, np.log(self.settings.noise), np.float32)
        self.normaliser, self.more_normaliser = Normaliser(seen), Normaliser(more)
        self.rate = self.settings.first_rate
        self._actor_step = Adam(parameters=[*_flat(self.actor), self.log_noise])
        self._critic_step = Adam(parameters=_flat(self.critic))
        self._pool = ThreadPoolExecutor(1)
        self._libraries = ThreadpoolController()
        self.normaliser.update(self.observation)
        if more:
            self.more_normaliser.update(self.privileged)
        self.iteration, self.samples, self.began = 0, 0, time.process_time()

    # -- one iteration -----------------------------------------------------------------------------------------------
    def iterate(self, watch: Callable[..., None] | None = None) -> dict[str, float]:
        """Collect a rollout and update the policy; ``watch`` is called with the results of every step."""
        with self._libraries.limit(limits=1, user_api="blas"):  # products are small: their threads would only wait
            return self._iterate(watch)

    def _iterate(self, watch: Callable[..., None] | None) -> dict[str, float]:
        rollout, reward = self._act(watch)
        last = self._value(self._critic_obs(self.normaliser(self.observation), self.privileged))
        advantage = advantages(rollout, last, self.settings.discount, self.settings.trace)
        divergence = self._learn(rollout, advantage)
        self.iteration += 1
        self.samples += rollout.reward.size
        return {
            "iteration": self.iteration,
            "samples": self.samples,
            "cpu_seconds": time.process_time() - self.began,
            "reward": reward,
            "noise": float(np.exp(self.log_noise).mean()),
            "rate": self.rate,
            "divergence": divergence,
        }

    def _critic_obs(self, seen: ndarray, privileged: ndarray) -> ndarray:
        """Return the critic's inputs from normalised observations and privileged ones."""
        if not privileged.shape[1]:
            return seen
        return np.concatenate([self.more_normaliser(privileged), seen], axis=1)

    def _value(self, critic_obs: ndarray) -> ndarray:
        return layers_of(self.critic, critic_obs, self.settings.activation)[-1][:, 0]

    def _act(self, watch: Callable[..., None] | None) -> tuple[Rollout, float]:
        """Return (the rollout, mean reward)."""
        rows: list[tuple[ndarray, ...]] = []
        raw, more, critic_rows, earned = [], [], [], 0.0
        for _ in range(self.settings.steps):
            seen, deviation = self.normaliser(self.observation), np.exp(self.log_noise)
            critic_obs = self._critic_obs(seen, self.privileged)
            raw.append(self.observation)
            more.append(self.privileged)
            critic_rows.append(critic_obs)
            center = layers_of(self.actor, seen, self.settings.activation)[-1]
            action = center + deviation * self.rng.standard_normal(center.shape, dtype=np.float32)
            value = self._value(critic_obs)
            self.observation, reward, terminated, truncated, infos = self.env.step(action)
            if watch is not None:
                watch(reward, terminated, truncated, infos)
            self.privileged = infos.get("privileged", self.privileged)
            earned += float(reward.mean()) / self.settings.steps
            reward = reward.astype(np.float32)
            late = np.flatnonzero(truncated)
            if len(late):  # the world continues after a time limit: the remaining return is estimated
                ends = self.normaliser(np.stack([infos["final_obs"][k] for k in late]))
                known = infos.get("final_privileged", self.privileged)[late]
                reward[late] += self.settings.discount * self._value(self._critic_obs(ends, known))
            likelihood = log_likelihood(action, center, self.log_noise)
            rows.append((seen, action, likelihood, center, reward, value, terminated | truncated))
        self.normaliser.update(np.stack(raw))
        names = ("seen", "action", "likelihood", "center", "reward", "value", "done")
        rollout = Rollout(**{name: np.stack(column) for name, column in zip(names, zip(*rows))})
        if self.privileged.size:
            self.more_normaliser.update(np.stack(more))
            rollout.critic_obs = np.stack(critic_rows)
        return rollout, earned

    def _learn(self, rollout: Rollout, advantage: ndarray) -> float:
        count = rollout.reward.size
        flat = {key: x.reshape(count, *x.shape[2:]) for key, x in vars(rollout).items() if x is not None}
        target = (advantage + rollout.value).reshape(count, 1)
        merit = advantage.reshape(count)
        merit = (merit - merit.mean()) / (merit.std() + 1e-8)
        orders = [self.rng.permutation(count) for _ in range(self.settings.epochs)]
        parts = max(1, round(count / self.settings.rows))
        critic = self._pool.submit(self._learn_values, flat.get("critic_obs", flat["seen"]), target, orders, parts)
        divergence = self._learn_actions(flat, merit, orders, parts)
        critic.result()
        return divergence

    def _learn_values(self, critic_obs: ndarray, target: ndarray, orders: list[ndarray], parts: int) -> None:
        for order in orders:
            for rows in np.array_split(order, parts):
                _, gradients = value_loss(self.critic, critic_obs[rows], target[rows], self.settings.activation)
                self._critic_step.step(gradients, self.settings.critic_rate)

    def _learn_actions(self, flat: dict[str, ndarray], merit: ndarray, orders: list[ndarray], parts: int) -> float:
        settings, before = self.settings, self.log_noise.copy()
        found = []
        for order in orders:
            for rows in np.array_split(order, parts):
                _, gradients, center = policy_loss(
                    self.actor,
                    self.log_noise,
                    flat["seen"][rows],
                    flat["action"][rows],
                    flat["likelihood"][rows],
                    merit[rows],
                    settings,
                )
                apart = float(np.mean(divergence(flat["center"][rows], before, center, self.log_noise)))
                if apart > 2.0 * settings.divergence:
                    self.rate = max(1e-5, self.rate / 1.5)
                elif apart < 0.5 * settings.divergence:
                    self.rate = min(1e-2, self.rate * 1.5)
                self._actor_step.step(gradients, self.rate)
                found.append(apart)
        return float(np.mean(found[-parts:]))


# -- the mathematics ---------------------------------------------------------------------------------------------------
def log_likelihood(action: ndarray, center: ndarray, log_noise: ndarray) -> ndarray:
    """Return the log of the density of independent normal distributions, a row each."""
    off = (action - center) * np.exp(-log_noise)
    return -0.5 * np.sum(off * off, axis=-1) - np.sum(log_noise) - 0.5 * len(log_noise) * np.float32(np.log(2 * np.pi))


def divergence(center: ndarray, log_noise: ndarray, other: ndarray, other_log_noise: ndarray) -> Scalar:
    """Return the Kullback-Leibler divergence of normal distributions from others, a row each."""
    variance, wider = np.exp(2.0 * log_noise), np.exp(2.0 * other_log_noise)
    apart = (center - other) ** 2
    return np.sum(other_log_noise - log_noise + (variance + apart) / (2.0 * wider) - 0.5, axis=-1)


def advantages(rollout: Rollout, last: ndarray, discount: float, trace: float) -> Float[ndarray, "steps robots"]:
    """Return generalised advantage estimates (Schulman et al. 2016); nothing propagates past the end of an episode."""
    out, ahead, beyond = np.zeros_like(rollout.reward), np.zeros_like(last), last
    for k in range(len(out) - 1, -1, -1):
        goes_on = (~rollout.done[k]).astype(out.dtype)
        surprise = rollout.reward[k] + discount * goes_on * beyond - rollout.value[k]
        ahead = surprise + discount * trace * goes_on * ahead
        out[k], beyond = ahead, rollout.value[k]
    return out


def policy_derivatives(
    clip: float, center: ndarray, action: ndarray, before: Scalar, merit: Scalar, log_noise: ndarray
) -> tuple[Operand, ndarray, ndarray]:
    """Return (the clipped objective, negated; its derivatives by mean action and log of the noise) for rows."""
    ratio = np.exp(log_likelihood(action, center, log_noise) - before)
    free, cut = ratio * merit, np.clip(ratio, 1.0 - clip, 1.0 + clip) * merit
    pull = np.stack([np.where(free <= cut, -free, 0.0)], axis=-1)  # derivative with respect to the log-likelihood
    inverse = np.exp(-2.0 * log_noise)
    off = action - center
    return -np.minimum(free, cut), pull * off * inverse, pull * (off * off * inverse - 1.0)


def policy_loss(
    actor: Weights,
    log_noise: ndarray,
    seen: ndarray,
    action: ndarray,
    before: ndarray,
    merit: ndarray,
    settings: Settings,
) -> tuple[float, list[ndarray], ndarray]:
    """Return (clipped objective with entropy bonus, negated; gradients of weights, of noise; means of the actions)."""
    given = layers_of(actor, seen, settings.activation)
    center, count = given[-1], np.asarray(len(seen), given[-1].dtype)
    losses, by_center, by_noise = policy_derivatives(settings.clip, center, action, before, merit, log_noise)
    loss = float(np.mean(losses)) - settings.entropy * float(np.sum(log_noise))
    weights = backward(actor, given, (by_center / count).astype(center.dtype), settings.activation)
    return loss, [*weights, (by_noise.mean(axis=0) - settings.entropy).astype(center.dtype)], center


def value_loss(
    critic: Weights, seen: ndarray, target: ndarray, activation: str = "tanh"
) -> tuple[float, list[ndarray]]:
    """Return (half the mean squared error, gradients)."""
    given = layers_of(critic, seen, activation)
    off = given[-1] - target
    return 0.5 * float(np.mean(off * off)), backward(critic, given, off / np.asarray(len(off), off.dtype), activation)


def _flat(weights: Weights) -> list[ndarray]:
    return [x for layer in weights for x in layer]
