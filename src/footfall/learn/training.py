"""Train a policy into a file (``footfall train``), on the processor or on a GPU: curve, checkpoints, the best policy.

What was learned late may have cost what was learned early. So now and then a policy takes an exam, by robots of seeds
that neither a training nor an evaluation uses, on the processor: not by the code that trains on a GPU. The best one is
what a training ends with, however long it goes on.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from footfall._io.archive import NoArchive, read_archive
from footfall._io.file_format import check_version, version_in
from footfall._io.whole_file import whole_file
from footfall.checks import finite_number, is_number, number_between
from footfall.control.learned import onnx_file
from footfall.control.learned.policy import SUFFIXES, Policy
from footfall.errors import SPOILED, InputError, unknown
from footfall.learn.episode import COMMANDS
from footfall.learn.figures import curve_figure
from footfall.learn.ppo import PPO, Normaliser, Settings
from footfall.learn.task import Task
from footfall.learn.tasks import TASKS
from footfall.loading import load
from footfall.robot.model.description import Robot
from footfall.sim.motors import read_identified
from nptrace._types import Given, Json, PyTree
from nptrace.frontend import tree

EXAM_EVERY = 250  # iterations


@dataclass
class BestPolicy:
    """The best policy so far, and how all did: (iteration, score)."""

    exam: Callable[[Policy], float]
    policy: Policy | None = None
    scores: list[tuple[int, float]] = field(default_factory=list)

    @property
    def score(self) -> float:
        """Return the score of the best."""
        return max((score for _, score in self.scores), default=-np.inf)

    def examine(self, policy: Policy, iteration: int) -> None:
        """Let a policy take the exam; of two that do as well the later one is kept, which was trained for longer."""
        if any(at == iteration for at, _ in self.scores):
            return
        score, before = self.exam(policy), self.score
        self.scores.append((iteration, score))
        if score >= before:
            self.policy = policy

    # -- checkpoints -------------------------------------------------------------------------------------------------
    def numbers(self) -> dict[str, ndarray]:
        """Return the best as plain arrays."""
        if self.policy is None:
            return {}
        layers = {f"kept_{name}{k}": x for k, layer in enumerate(self.policy.weights) for name, x in zip("Wb", layer)}
        return {"kept_mean": self.policy.mean, "kept_spread": self.policy.spread, **layers}

    def restore(self, numbers: dict[str, ndarray], scores: list[Json], like: Policy) -> None:
        """Go on from such arrays; ``like``: any policy of the training."""
        before = [(int(at), float(score)) for at, score in scores]
        best = None
        if "kept_mean" in numbers:
            weights = tuple((numbers[f"kept_W{k}"], numbers[f"kept_b{k}"]) for k in range(len(like.weights)))
            best = replace(like, mean=numbers["kept_mean"], spread=numbers["kept_spread"], weights=weights)
            best.check("that is kept")
            if [W.shape for W, _ in best.weights] != [W.shape for W, _ in like.weights]:
                raise InputError("the policy that is kept has layers of other sizes")
        self.scores, self.policy = before, best if best is not None else self.policy


FORMAT = 1  # of a checkpoint
COLUMNS = ("iteration", "samples", "seconds", "reward", "forward_error", "turn_error", "falls", "score", "noise")
_MOST_WORDS = 1 << 26  # bytes of a checkpoint beside the numbers of its training: its curve, and the best policy
_MOST_AMOUNT = 2.0**52  # of iterations, samples, seconds: more cannot be counted


class Training(ABC):
    """The interface of trainings: ``iterate`` until content, then ``policy``. ``curve``: a row for every evaluation."""

    device: str
    default_settings = Settings()  # of a training on this device

    def __init__(self, task: Task, robots: int, seed: int, settings: Settings | None, randomise: Given = True) -> None:
        if int(seed) != seed or seed < 0:
            raise InputError(f"the seed of a training must be a whole number, 0 or more, got {seed}")
        self.task, self.robots, self.seed = task, robots, int(seed)
        self.settings = settings or replace(self.default_settings, **task.settings)
        self.randomisation = task.randomisation(randomise)
        self.best: BestPolicy | None = None
        self.curve: list[dict[str, float]] = []
        self.seconds = 0.0  # of training, over all parts that it was cut into

    @property
    @abstractmethod
    def iteration(self) -> int: ...

    @abstractmethod
    def iterate(self, count: int = 1) -> dict[str, float]:
        """Carry out some iterations, and return the row of the curve after the last."""

    @abstractmethod
    def policy(self) -> Policy:
        """Return what was learned so far, without noise."""

    @abstractmethod
    def _numbers(self) -> dict[str, ndarray]:
        """Return all arrays that the training goes on from."""

    @abstractmethod
    def _restore(self, numbers: dict[str, ndarray], words: dict[str, Json]) -> None:
        """Go on from such arrays, and from the result of ``_verb``."""

    @abstractmethod
    def _words(self) -> dict[str, Json]:
        """Return what else the training goes on from, as plain JSON: its random numbers."""

    def _add_row(self, row: dict[str, float]) -> dict[str, float]:
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
        """Return what a checkpoint must have been made with."""
        settings = json.loads(json.dumps(asdict(self.settings)))
        return {
            "device": self.device,
            "robot": self.task.robot.name,
            "task": self.task.digest,
            "robots": self.robots,
            "seed": self.seed,
            "settings": settings,
            "randomisation": json.loads(json.dumps(asdict(self.randomisation))),
        }

    def save(self, path: str | Path) -> None:
        """Write a checkpoint, whole or not at all."""
        kept = {} if self.best is None else self.best.numbers()
        exams = [] if self.best is None else self.best.scores
        words = {**self._identity(), "seconds": self.seconds, "curve": self.curve, "exams": exams, **self._words()}
        text = np.frombuffer(json.dumps(words).encode(), np.uint8)
        with whole_file(Path(path)) as passing, passing.open("wb") as file:
            np.savez(file, format=FORMAT, words=text, **self._numbers(), **kept)  # type: ignore[arg-type]

    def resume(self, path: str | Path) -> None:
        """Go on from a checkpoint of the same training."""
        try:
            own = self._numbers()
            arrays = read_archive(path, 2 * sum(array.nbytes for array in own.values()) + _MOST_WORDS)
            text = arrays.pop("words").tobytes()
            check_version(path, version_in(arrays), FORMAT)
            del arrays["format"]
            words = json.loads(text)
            for key, value in self._identity().items():
                if words[key] != value:
                    raise InputError(f"the checkpoint {path} is of another training: {_other(key, words[key], value)}")
            _check_numbers(arrays, own)
            curve = [{key: float(row[key]) for key in COLUMNS} for row in words["curve"]]
            seconds = _amount(words["seconds"])
            if self.best is not None:
                self.best.restore(arrays, words["exams"], self.policy())
            self._restore(arrays, words)
            self.curve, self.seconds = curve, seconds
        except OSError as error:
            raise InputError(f"cannot read the checkpoint {path}: {error.strerror or error}") from None
        except NoArchive as error:
            raise InputError(f"{path} is not a checkpoint of a training: {error}") from None
        except SPOILED:
            raise InputError(f"{path} is not a checkpoint of a training") from None


def _other(key: str, theirs: Json, ours: Json) -> str:
    """Return what differs, in words."""
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
    default_settings = Settings(
        steps=16,
        epochs=4,
        rows=4096,
        divergence=0.025,
        entropy=0.0,
        noise=0.3,
        discount=0.97,
        trace=0.9,
        critic_rate=2e-3,
    )

    def __init__(
        self,
        robot: Robot | str = "mini_cheetah",
        robots: int = 1024,
        seed: int = 0,
        settings: Settings | None = None,
        task: Task | None = None,
        **options: Any,
    ) -> None:
        from footfall.learn.gym_env import WalkVectorEnv

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
        return self._add_row({**row, "score": means[3], "seconds": self.seconds})

    def _seen(self, terminated: ndarray, infos: dict[str, PyTree]) -> tuple[float, ...]:
        """Return errors of the forward speed and the turn, falls, score: means over the robots of a tick."""
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
        return Policy(
            robot=task.robot.name,
            drive=task.drive,
            mean=mean,
            spread=spread,
            weights=weights,
            activation=self.settings.activation,
            joints=joints,
        )

    # -- checkpoints -------------------------------------------------------------------------------------------------
    def _arrays(self) -> dict[str, ndarray]:
        """Return the arrays that are changed in place, by name."""
        ppo, lanes = self.ppo, self.env.lanes
        lists: dict[str, list[ndarray]] = {
            "actor": [x for layer in ppo.actor for x in layer],
            "critic": [x for layer in ppo.critic for x in layer],
            "actor_mean": ppo._actor_step.means,
            "actor_square": ppo._actor_step.squares,
            "critic_mean": ppo._critic_step.means,
            "critic_square": ppo._critic_step.squares,
            "state": tree.flatten(lanes.batch.state)[0],
            "command": list(lanes.batch.command.values()),
            "parameter": [lanes.batch.parameters[key] for key in lanes.episodes.nominal],
            "past": [lanes.past[key] for key in sorted(lanes.past)],
            "privileged": [ppo.privileged] if ppo.privileged.size else [],
        }
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
        """Return running means by name; they see the same number of rows."""
        critic_obs = {"critic_obs": self.ppo.more_normaliser} if self.ppo.privileged.size else {}
        return {"seen": self.ppo.normaliser, **critic_obs}

    def _words(self) -> dict[str, Json]:
        ppo = self.ppo
        generators = [ppo.rng, *self.env.lanes.generators]
        return {
            "iteration": ppo.iteration,
            "samples": ppo.samples,
            "rate": ppo.rate,
            "seen": ppo.normaliser.count,
            "steps": [ppo._actor_step.steps, ppo._critic_step.steps],
            "random": [generator.bit_generator.state for generator in generators],
        }

    def _restore(self, numbers: dict[str, ndarray], words: dict[str, Json]) -> None:
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
    """Return a finite number that is not negative; the caller says what was wrong."""
    amount = float(value)
    if not 0.0 <= amount < _MOST_AMOUNT:
        raise ValueError
    return amount


def make_training(
    task: Task, device: str, robots: int | None, seed: int, settings: Settings | None, randomise: Given = True
) -> Training:
    """Return a training of a task on a device; as many robots as suit it unless given."""
    if device == "cpu":
        count = 1024 if robots is None else robots
        return CpuTraining(robots=count, seed=seed, settings=settings, task=task, randomise=randomise)
    from footfall.learn.cuda_ppo import CudaTraining

    return CudaTraining(task, 4096 if robots is None else robots, seed, settings, randomise=randomise)


def default_device() -> str:
    """Return ``cuda`` where PyTorch and CuPy find a GPU, else ``cpu``."""
    from importlib.util import find_spec

    if find_spec("torch") is None or find_spec("cupy") is None or os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        return "cpu"
    from footfall.errors import FootfallError
    from footfall.sim.gpu import cupy

    try:
        cupy()
    except FootfallError:
        return "cpu"
    return "cuda"


DEVICES = ("auto", "cpu", "cuda")
ROW_EVERY = {"cpu": 1, "cuda": 5}  # iterations between two rows of the curve
SAVE_EVERY = 30.0  # [s] between checkpoints


@dataclass(frozen=True)
class Trained:
    """The result of a training."""

    training: Training
    policy: Path
    mastered: float | None = None  # of the exam, by the policy that was kept

    @property
    def last(self) -> dict[str, float]:
        return self.training.curve[-1]


def _task(name: str, robot: Robot, history: int | None, file: str | Path | None) -> Task:
    """Return the task of a robot, with its own history unless given, and the motors of a file if there is one."""
    robot, motors, joints = (robot, None, None) if file is None else read_identified(file, robot)
    task = TASKS[name].of(robot)
    drive = task.drive if history is None else dataclasses.replace(task.drive, history=history)
    if motors is not None and motors.longest(drive.rate) > 1:
        raise InputError(
            f"the motors of '{file}' have a longer delay than a tick of the policy ({1e3 / drive.rate:g} ms)"
        )
    changes: Given = {"drive": drive, "motors": motors, "joints": joints}
    return dataclasses.replace(task, **changes)  # type: ignore[type-var] # every task is a dataclass


def train(
    robot: Robot | str,
    out: str | Path,
    task: str = "walk",
    device: str = "auto",
    *,
    robots: int | None = None,
    iterations: int = 400,
    reward: float | None = None,
    seconds: float | None = None,
    seed: int = 0,
    resume: bool = False,
    settings: Settings | None = None,
    history: int | None = None,
    randomise: Given = True,
    motors: str | Path | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Trained:
    """Train until so many iterations or seconds are done, or a mean reward per tick is reached; write policy, curve
    and picture. Seconds are of training: of processor time, or of the clock on a GPU.

    A checkpoint (``NAME.checkpoint.npz``) is written beside the policy every half minute, and when it is interrupted;
    ``resume`` goes on from it. history: observations that the policy sees, the task's own unless given. randomise:
    ranges by name. motors: a file of ``footfall identify motors``, whose robot, motors and joint effects it learns
    with. Of a task with an exam the policy is the one that did best in it.
    """
    policy = Path(out)
    if policy.suffix not in SUFFIXES:
        raise InputError(f"a policy is an {' or '.join(SUFFIXES)} file, got {policy}")
    if policy.suffix == ".onnx":
        onnx_file.import_onnx()  # is missing before the training, not after it
    if task not in TASKS:
        raise unknown("task", task, TASKS)
    if device not in DEVICES:
        raise unknown("device", device, DEVICES)
    _check_ends(policy, iterations, reward, seconds)
    chosen = default_device() if device == "auto" else device
    checkpoint = policy.with_suffix(".checkpoint.npz")
    subject = load(robot) if isinstance(robot, str) else robot
    learned = _task(task, subject, history, motors)
    training = make_training(learned, chosen, robots, seed, settings, randomise)
    exam = learned.exam()
    training.best = None if exam is None else BestPolicy(exam)
    if resume:
        training.resume(checkpoint)
    try:
        _iterate(training, iterations, reward, seconds, checkpoint, progress)
    finally:  # an interrupted training can go on
        training.save(checkpoint)
    if not training.curve:
        training.iterate()
    examined, last = training.best, training.policy()
    if examined is not None:
        examined.examine(last, training.iteration)
        last = examined.policy or last
    dataclasses.replace(last, task=task).save(policy, subject)
    training.save_curve(policy.with_suffix(".csv"))
    curve_figure(training.curve).savefig(policy.with_suffix(".png"))
    return Trained(training, policy, None if examined is None else examined.score)


def _check_ends(policy: Path, iterations: int, reward: float | None, seconds: float | None) -> None:
    """Refuse before the training what would end it never, or in vain."""
    if not is_number(iterations) or iterations < 1:
        raise InputError(f"a training needs at least one iteration, got {iterations}")
    if reward is not None:
        finite_number(reward, "the reward at which a training stops")
    if seconds is not None:
        number_between(seconds, "the seconds of a training", -1e-9, wanted="0 or more")
    if not policy.parent.is_dir():
        raise InputError(f"there is no folder '{policy.parent}' to write the policy {policy.name} to")


def _iterate(
    training: Training,
    iterations: int,
    reward: float | None,
    seconds: float | None,
    checkpoint: Path,
    progress: Callable[[str, int, int], None] | None,
) -> None:
    saved = time.monotonic()
    while training.iteration < iterations:
        row = training.iterate(min(ROW_EVERY[training.device], iterations - training.iteration))
        if training.best is not None and training.iteration % EXAM_EVERY == 0:
            training.best.examine(training.policy(), training.iteration)
        if progress is not None:
            progress(f"reward {row['reward']:.4f}", training.iteration, iterations)
        if (reward is not None and row["reward"] >= reward) or (seconds is not None and training.seconds >= seconds):
            return
        if time.monotonic() - saved > SAVE_EVERY:
            training.save(checkpoint)
            saved = time.monotonic()
