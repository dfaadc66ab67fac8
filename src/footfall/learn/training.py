"""A training with its curve and its checkpoints, on the processor or on a GPU."""

from __future__ import annotations

import csv
import json
import os
import time
from abc import ABC, abstractmethod
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from footfall.archive import NoArchive, read_archive
from footfall.control.learned.policy import Policy
from footfall.errors import SPOILED, InputError
from footfall.learn.episode import COMMANDS
from footfall.learn.keeping import Keeper
from footfall.learn.network import Normaliser
from footfall.learn.ppo import PPO, Settings
from footfall.learn.task_base import Task
from footfall.nests import Given, Json, Nest
from footfall.robot.model.description import Robot
from footfall.trace.face import tree
from footfall.whole_file import whole_file

COLUMNS = ("iteration", "samples", "seconds", "reward", "forward_error", "turn_error", "falls", "score", "noise")
_MOST_WORDS = 1 << 26  # bytes of a checkpoint beside the numbers of its training: its curve, and the best policy
_MOST_AMOUNT = 2.0**52  # of iterations, samples, seconds: more cannot be counted


class Training(ABC):
    """What trainings share: ``iterate`` until content, then ``policy``. ``curve``: a row for every look."""

    device: str
    usual = Settings()  # of a training on this device

    def __init__(
        self, task: Task, robots: int, seed: int, settings: Settings | None, randomise: Given = True
    ) -> None:  # fmt: skip
        if int(seed) != seed or seed < 0:
            raise InputError(f"the seed of a training must be a whole number, 0 or more, got {seed}")
        self.task, self.robots, self.seed = task, robots, int(seed)
        self.settings = settings or replace(self.usual, **task.settings)
        self.randomisation = task.randomisation(randomise)
        self.keeper: Keeper | None = None
        self.curve: list[dict[str, float]] = []
        self.seconds = 0.0  # of training, over all parts that it was cut into

    @property
    @abstractmethod
    def iteration(self) -> int: ...

    @abstractmethod
    def iterate(self, count: int = 1) -> dict[str, float]:
        """Some iterations; the row of the curve after the last."""

    @abstractmethod
    def policy(self) -> Policy:
        """What was learned so far, without noise."""

    @abstractmethod
    def _numbers(self) -> dict[str, ndarray]:
        """All arrays that the training goes on from."""

    @abstractmethod
    def _take(self, numbers: dict[str, ndarray], words: dict[str, Json]) -> None:
        """Go on from such arrays, and from what ``_words`` said."""

    @abstractmethod
    def _words(self) -> dict[str, Json]:
        """What else the training goes on from, as plain JSON: its random numbers."""

    def _look(self, row: dict[str, float]) -> dict[str, float]:
        self.curve.append({key: float(row[key]) for key in COLUMNS})
        return self.curve[-1]

    # -- files -------------------------------------------------------------------------------------------------------
    def save_curve(self, path: str | Path) -> None:
        """Write the curve as CSV."""
        with Path(path).open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows({key: f"{value:.6g}" for key, value in row.items()} for row in self.curve)

    def _identity(self) -> dict[str, Json]:
        """What a checkpoint must have been made with."""
        settings = json.loads(json.dumps(asdict(self.settings)))
        return {"device": self.device, "robot": self.task.robot.name, "task": self.task.digest,
                "robots": self.robots, "seed": self.seed, "settings": settings,
                "randomisation": json.loads(json.dumps(asdict(self.randomisation)))}  # fmt: skip

    def save(self, path: str | Path) -> None:
        """Write a checkpoint, whole or not at all."""
        kept = {} if self.keeper is None else self.keeper.numbers()
        exams = [] if self.keeper is None else self.keeper.scores
        words = {**self._identity(), "seconds": self.seconds, "curve": self.curve, "exams": exams, **self._words()}
        text = np.frombuffer(json.dumps(words).encode(), np.uint8)
        with whole_file(Path(path)) as passing, passing.open("wb") as file:
            np.savez(file, words=text, **self._numbers(), **kept)  # type: ignore[arg-type]

    def resume(self, path: str | Path) -> None:
        """Go on from a checkpoint of the same training."""
        try:
            own = self._numbers()
            arrays = read_archive(path, 2 * sum(array.nbytes for array in own.values()) + _MOST_WORDS)
            words = json.loads(arrays.pop("words").tobytes())
            for key, value in self._identity().items():
                if words[key] != value:
                    raise InputError(f"the checkpoint {path} is of another training: {_other(key, words[key], value)}")
            _check_numbers(arrays, own)
            curve = [{key: float(row[key]) for key in COLUMNS} for row in words["curve"]]
            seconds = _amount(words["seconds"])
            if self.keeper is not None:
                self.keeper.take(arrays, words["exams"], self.policy())
            self._take(arrays, words)
            self.curve, self.seconds = curve, seconds
        except OSError as error:
            raise InputError(f"cannot read the checkpoint {path}: {error.strerror or error}") from None
        except NoArchive as error:
            raise InputError(f"{path} is not a checkpoint of a training: {error}") from None
        except SPOILED:
            raise InputError(f"{path} is not a checkpoint of a training") from None


def _other(key: str, theirs: Json, ours: Json) -> str:
    """What differs, in words."""
    if key == "task":  # a digest, which says nothing to anybody
        return "another task, or one with other numbers"
    if isinstance(theirs, dict) and isinstance(ours, dict):
        differs = next(name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name))
        return f"{key} {differs} {theirs.get(differs)}, not {ours.get(differs)}"
    return f"{key} {theirs}, not {ours}"


class CpuTraining(Training):
    """PPO in NumPy on ``footfall/Walk-v0``: two threads, one for each network."""

    device = "cpu"
    # least processor time to a walk: short rollouts and a short view, gone over by many large steps
    usual = Settings(
        steps=16, epochs=4, rows=4096, divergence=0.025, entropy=0.0, noise=0.3, discount=0.97, trace=0.9,
        critic_rate=2e-3,
    )  # fmt: skip

    def __init__(
        self, robot: Robot | str = "mini_cheetah", robots: int = 1024, seed: int = 0, settings: Settings | None = None,
        task: Task | None = None, **options: Any,
    ) -> None:  # fmt: skip
        from footfall.learn.walk import WalkVectorEnv

        self.env = WalkVectorEnv(robots, robot, task, **options)
        super().__init__(self.env.lanes.task, robots, seed, settings, options.get("randomise", True))
        self.ppo = PPO(self.env, self.settings, self.seed)
        self.env.lanes.stagger(np.random.default_rng(seed))

    @property
    def iteration(self) -> int:
        return self.ppo.iteration

    def iterate(self, count: int = 1) -> dict[str, float]:
        for _ in range(count):
            began = time.process_time()
            seen: list[tuple[float, ...]] = []
            row = self.ppo.iterate(lambda reward, ended, late, infos, seen=seen: seen.append(self._seen(ended, infos)))
            self.seconds += time.process_time() - began
        means = np.mean(seen, axis=0)
        row |= {"forward_error": means[0], "turn_error": means[1], "falls": self.task.drive.rate * means[2]}
        return self._look({**row, "score": means[3], "seconds": self.seconds})

    def _seen(self, terminated: ndarray, infos: dict[str, Nest]) -> tuple[float, ...]:
        """Errors of the forward speed and the turn, falls, score: means over the robots of a tick."""
        there = infos["_velocity"]
        command = np.stack([self.env.lanes.batch.command[key] for key in COMMANDS], axis=1)[there]
        off = np.abs(infos["velocity"][there] - command).mean(axis=0)
        score = infos["score"][there].mean()
        return float(off[0]), float(off[2]), float(terminated.mean()), float(score)

    def policy(self) -> Policy:
        task, normaliser = self.task, self.ppo.normaliser
        weights = tuple((W.astype(float), b.astype(float)) for W, b in self.ppo.actor)
        mean, spread = normaliser.mean.copy(), normaliser.spread
        joints = task.robot.joint_names
        return Policy(task.robot.name, task.drive, mean, spread, weights, self.settings.activation, joints)

    # -- checkpoints -------------------------------------------------------------------------------------------------
    def _arrays(self) -> dict[str, ndarray]:
        """Arrays that are changed in place, by name."""
        ppo, lanes = self.ppo, self.env.lanes
        lists: dict[str, list[ndarray]] = {
            "actor": [x for layer in ppo.actor for x in layer], "critic": [x for layer in ppo.critic for x in layer],
            "actor_mean": ppo._actor_step.means, "actor_square": ppo._actor_step.squares,
            "critic_mean": ppo._critic_step.means, "critic_square": ppo._critic_step.squares,
            "state": tree.flatten(lanes.batch.state)[0], "command": list(lanes.batch.command.values()),
            "parameter": [lanes.batch.parameters[key] for key in lanes.episodes.nominal],
            "past": [lanes.past[key] for key in sorted(lanes.past)],
            "privileged": [ppo.privileged] if ppo.privileged.size else [],
        }  # fmt: skip
        named = {f"{name}{k}": x for name, arrays in lists.items() for k, x in enumerate(arrays)}
        single = {
            "log_noise": ppo.log_noise,
            "push": lanes.batch.push,
            "age": lanes.age,
            "next_push": lanes.next_push,
            "level": lanes.level,
        }
        return {**named, **single, "observation": ppo.observation}

    def _numbers(self) -> dict[str, ndarray]:
        means: dict[str, ndarray] = {}
        for name, normaliser in self._normalisers().items():
            means |= {f"{name}_mean": normaliser.mean, f"{name}_square": normaliser.square}
        return {**self._arrays(), **means}

    def _normalisers(self) -> dict[str, Normaliser]:
        """Running means by name; they see the same number of rows."""
        told = {"told": self.ppo.more_normaliser} if self.ppo.privileged.size else {}
        return {"seen": self.ppo.normaliser, **told}

    def _words(self) -> dict[str, Json]:
        ppo = self.ppo
        generators = [ppo.rng, *self.env.lanes.generators]
        return {
            "iteration": ppo.iteration, "samples": ppo.samples, "rate": ppo.rate, "seen": ppo.normaliser.count,
            "steps": [ppo._actor_step.steps, ppo._critic_step.steps],
            "random": [generator.bit_generator.state for generator in generators],
        }  # fmt: skip

    def _take(self, numbers: dict[str, ndarray], words: dict[str, Json]) -> None:
        ppo = self.ppo
        generators = [ppo.rng, *self.env.lanes.generators]
        count, rate, iteration, samples = (_amount(words[key]) for key in ("seen", "rate", "iteration", "samples"))
        actor_steps, critic_steps = (int(_amount(steps)) for steps in words["steps"])
        for generator, state in zip(generators, words["random"], strict=True):  # wrong ones are refused here
            type(generator.bit_generator)().state = state
        for key, array in self._arrays().items():
            array[...] = numbers[key]
        for name, normaliser in self._normalisers().items():
            normaliser.mean, normaliser.square = numbers[f"{name}_mean"].copy(), numbers[f"{name}_square"].copy()
            normaliser.count = count
        ppo.rate = rate
        ppo.iteration, ppo.samples = int(iteration), int(samples)
        ppo._actor_step.steps, ppo._critic_step.steps = actor_steps, critic_steps
        for generator, state in zip(generators, words["random"]):
            generator.bit_generator.state = state


def _check_numbers(numbers: dict[str, ndarray], own: dict[str, ndarray]) -> None:
    """Refuse arrays of other shapes or kinds than the training's own, or that are not finite where its own are."""
    for key, array in own.items():
        given = numbers[key]
        if given.shape != array.shape or given.dtype != array.dtype:
            raise InputError(
                f"the checkpoint's {key} is {given.dtype} of shape {given.shape}, not {array.dtype} of {array.shape}"
            )
        if np.isfinite(array).all() and not np.isfinite(given).all():
            raise InputError(f"the checkpoint's {key} holds numbers that are not finite")


def _amount(value: Json) -> float:
    """A finite number that is not negative; the caller says what was wrong."""
    amount = float(value)
    if not 0.0 <= amount < _MOST_AMOUNT:
        raise ValueError
    return amount


def make_training(
    task: Task, device: str, robots: int | None, seed: int, settings: Settings | None, randomise: Given = True
) -> Training:
    """A training of a task on a device; as many robots as suit it unless given."""
    if device == "cpu":
        count = 1024 if robots is None else robots
        return CpuTraining(robots=count, seed=seed, settings=settings, task=task, randomise=randomise)
    from footfall.learn.cuda_training import CudaTraining

    return CudaTraining(task, 4096 if robots is None else robots, seed, settings, randomise=randomise)


def default_device() -> str:
    """``cuda`` where PyTorch and CuPy find a GPU."""
    from importlib.util import find_spec

    if find_spec("torch") is None or find_spec("cupy") is None or os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        return "cpu"
    from footfall.batch.gpu import cupy
    from footfall.errors import FootfallError

    try:
        cupy()
    except FootfallError:
        return "cpu"
    return "cuda"
