"""Train a policy into a file (``footfall train``), on the processor or on a GPU: curve, checkpoints, the best policy.

A policy may forget what it learned earlier. So from time to time it takes an exam on the processor, independent of the
code that trains on a GPU, with robots from seeds that neither a training nor an evaluation uses. A training returns the
best policy, however long it runs.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import os
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import FrameType
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
from footfall.learn.logs import Log, make_log
from footfall.learn.ppo import PPO, Normaliser, Settings
from footfall.learn.task import Task, contact_named
from footfall.learn.task_spec import CONTACT_DT, TaskSpec, code_names, read_toml, shipped, shipped_names, task_spec
from footfall.learn.tasks import TASKS, task_from
from footfall.loading import load
from footfall.robot.model.description import Robot
from footfall.sim.motors import read_identified
from footfall.sweep.permission import allow, is_allowed
from nptrace._types import Given, Json, PyTree
from nptrace.frontend import tree

EXAM_EVERY = 250  # iterations


@dataclass
class BestPolicy:
    """The best policy so far, and all scores: (iteration, score)."""

    exam: Callable[[Policy], float]
    policy: Policy | None = None
    scores: list[tuple[int, float]] = field(default_factory=list)

    @property
    def score(self) -> float:
        """Return the score of the best."""
        return max((score for _, score in self.scores), default=-np.inf)

    def examine(self, policy: Policy, iteration: int) -> None:
        """Examine a policy; between two of equal score the later, which was trained for longer, is kept."""
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
        """Restore the best policy from arrays; ``like``: any policy of the training."""
        before = [(int(at), float(score)) for at, score in scores]
        best = None
        if "kept_mean" in numbers:
            weights = tuple((numbers[f"kept_W{k}"], numbers[f"kept_b{k}"]) for k in range(len(like.weights)))
            best = replace(like, mean=numbers["kept_mean"], spread=numbers["kept_spread"], weights=weights)
            best.check("that is kept")
            if [W.shape for W, _ in best.weights] != [W.shape for W, _ in like.weights]:
                raise InputError("the saved policy has layers of other sizes")
        self.scores, self.policy = before, best if best is not None else self.policy


FORMAT = 1  # version of a checkpoint
COLUMNS = ("iteration", "samples", "seconds", "reward", "forward_error", "turn_error", "falls", "score", "noise")
_MOST_WORDS = 1 << 26  # size of a checkpoint beyond the numbers of its training: its curve, and the best policy
_MOST_AMOUNT = 2.0**52  # largest iterations, samples, seconds


class Training(ABC):
    """The interface of trainings: call ``iterate`` as needed, then ``policy``. ``curve``: a row for every
    evaluation.
    """

    device: str
    default_settings = Settings()  # default settings of a training on this device

    def __init__(self, task: Task, robots: int, seed: int, settings: Settings | None, randomise: Given = True) -> None:
        if int(seed) != seed or seed < 0:
            raise InputError(f"the seed of a training must be a whole number, 0 or more, got {seed}")
        self.task, self.robots, self.seed = task, robots, int(seed)
        self.settings = settings or replace(self.default_settings, **task.settings)
        self.randomisation = task.randomisation(randomise)
        self.best: BestPolicy | None = None
        self.curve: list[dict[str, float]] = []
        self.seconds = 0.0  # seconds of training on the clock, over all its parts

    @property
    @abstractmethod
    def iteration(self) -> int: ...

    @abstractmethod
    def iterate(self, count: int = 1) -> dict[str, float]:
        """Run some iterations, and return the row of the curve after the last."""

    @abstractmethod
    def policy(self) -> Policy:
        """Return the policy so far, without noise."""

    @abstractmethod
    def _numbers(self) -> dict[str, ndarray]:
        """Return all arrays needed to continue the training."""

    @abstractmethod
    def _restore(self, numbers: dict[str, ndarray], words: dict[str, Json]) -> None:
        """Continue from such arrays, and from the result of ``_verb``."""

    @abstractmethod
    def _words(self) -> dict[str, Json]:
        """Return the remaining state of the training as plain JSON: its random numbers."""

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
        """Return the properties that a checkpoint must match."""
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
        """Write a checkpoint atomically."""
        self.snapshot().save(path)

    def snapshot(self) -> Snapshot:
        """Return the content of a checkpoint of the present state, as copies."""
        kept = {} if self.best is None else self.best.numbers()
        exams = [] if self.best is None else list(self.best.scores)
        words = {**self._identity(), "seconds": self.seconds, "exams": exams, **self._words()}
        numbers = {key: np.array(value) for key, value in self._numbers().items()}
        chosen = None if self.best is None else self.best.policy
        return Snapshot({**numbers, **kept}, words, list(self.curve), chosen or self.policy())

    def resume(self, path: str | Path) -> None:
        """Continue from a checkpoint of the same training."""
        try:
            own = self._numbers()
            arrays = read_archive(path, 2 * sum(array.nbytes for array in own.values()) + _MOST_WORDS)
            text = arrays.pop("words").tobytes()
            check_version(path, version_in(arrays), FORMAT)
            del arrays["format"]
            words = json.loads(text)
            for key, value in self._identity().items():
                if words[key] != value:
                    raise InputError(
                        f"the checkpoint {path} belongs to another training: {_other(key, words[key], value)}"
                    )
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


@dataclass(frozen=True)
class Snapshot:
    """A training between two iterations: the content of a checkpoint, and the policy of that time."""

    numbers: dict[str, ndarray]
    words: dict[str, Json]
    curve: list[dict[str, float]]
    policy: Policy

    def save(self, path: str | Path) -> None:
        """Write a checkpoint atomically."""
        text = np.frombuffer(json.dumps({**self.words, "curve": self.curve}).encode(), np.uint8)
        with whole_file(Path(path)) as passing, passing.open("wb") as file:
            np.savez(file, format=FORMAT, words=text, **self.numbers)  # type: ignore[arg-type]


def _other(key: str, theirs: Json, ours: Json) -> str:
    """Return the difference as text."""
    if key == "task":  # a digest, which means nothing to a user
        return "another task, or different numbers"
    if isinstance(theirs, dict) and isinstance(ours, dict):
        differs = next(name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name))
        return f"{key} {differs} {theirs.get(differs)}, not {ours.get(differs)}"
    return f"{key} {theirs}, not {ours}"


class CpuTraining(Training):
    """PPO in NumPy on ``footfall/Walk-v0``: two threads, one for each network."""

    device = "cpu"
    # least processor time to a walk: short rollouts and a short horizon, with many large steps over each
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
            began = time.perf_counter()
            seen: list[tuple[float, ...]] = []
            row = self.ppo.iterate(lambda reward, ended, late, infos, seen=seen: seen.append(self._seen(ended, infos)))
            self.seconds += time.perf_counter() - began
        means = np.mean(seen, axis=0)
        row |= {"forward_error": means[0], "turn_error": means[1], "falls": self.task.drive.rate * means[2]}
        return self._add_row({**row, "score": means[3], "seconds": self.seconds})

    def _seen(self, terminated: ndarray, infos: dict[str, PyTree]) -> tuple[float, ...]:
        """Return means over the robots of a tick: errors of the forward speed and the turn, falls, score."""
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
        """Return the arrays that are modified in place, by name."""
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
        """Return running means by name; all see equal numbers of rows."""
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
        for generator, state in zip(generators, words["random"], strict=True):  # wrong values are rejected here
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
    """Raise for arrays whose shapes or types differ from the training's, or that are not finite where they must be."""
    for key, array in own.items():
        given = numbers[key]
        if given.shape != array.shape or given.dtype != array.dtype:
            raise InputError(
                f"the checkpoint's {key} is {given.dtype} of shape {given.shape}, not {array.dtype} of {array.shape}"
            )
        if np.isfinite(array).all() and not np.isfinite(given).all():
            raise InputError(f"the checkpoint's {key} holds numbers that are not finite")


def _amount(value: Json) -> float:
    """Return a finite, non-negative number; the caller describes the error."""
    amount = float(value)
    if not 0.0 <= amount < _MOST_AMOUNT:
        raise ValueError
    return amount


def make_training(
    task: Task, device: str, robots: int | None, seed: int, settings: Settings | None, randomise: Given = True
) -> Training:
    """Return a training of a task on a device, with a suitable number of robots unless given."""
    if device == "cpu":
        count = 1024 if robots is None else robots
        return CpuTraining(robots=count, seed=seed, settings=settings, task=task, randomise=randomise)
    from footfall.learn.cuda_ppo import CudaTraining

    return CudaTraining(task, 4096 if robots is None else robots, seed, settings, randomise=randomise)


def default_device() -> str:
    """Return ``cuda`` if PyTorch and CuPy find a GPU, otherwise ``cpu``."""
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
ROW_EVERY = {"cpu": 1, "cuda": 5}  # iterations between rows of the curve
SAVE_EVERY = 30.0  # [s] between checkpoints


END_WORDS = {  # reasons for the end of a training
    "iterations": "all iterations are done",
    "seconds": "the time limit is reached",
    "reward": "the reward is reached",
    "SIGINT": "interrupted",
    "SIGTERM": "terminated by SIGTERM",
    "error": "stopped by an error",
}
_SIGNALS = ("SIGINT", "SIGTERM")


@dataclass(frozen=True)
class Trained:
    """The result of a training, or of its part until it was interrupted.

    ended: the reason, a key of ``END_WORDS``. mastered: exam score of the policy that was kept.
    """

    training: Training
    policy: Path
    mastered: float | None = None
    ended: str = "iterations"

    @property
    def last(self) -> dict[str, float]:
        return self.training.curve[-1]


def _spec(file: str, resume: bool, allow_code: bool) -> TaskSpec:
    """Return the task of a file. Code that it names must be allowed, which is remembered for ``resume`` as for
    sweeps: in the user's state folder, until the code changes.
    """
    names, folder = code_names(read_toml(file)), Path(file).resolve().parent
    remembered = resume and bool(names) and all(is_allowed(name, folder) for name in names)
    spec = task_spec(file, allow_code=allow_code or remembered)
    if allow_code:
        for name in names:
            allow(name, folder)
    return spec


def _task(
    name: str,
    robot: Robot,
    history: int | None,
    file: str | Path | None,
    spec: TaskSpec | None,
    contact: str | None = None,
) -> Task:
    """Return the task of a robot, with its default history and contact unless given, and the motors of a file if
    there is one.
    """
    robot, motors, joints = (robot, None, None) if file is None else read_identified(file, robot)
    task: Task = TASKS[name].of(robot) if spec is None else task_from(spec, robot)
    drive = task.drive if history is None else dataclasses.replace(task.drive, history=history)
    if motors is not None and motors.longest(drive.rate) > 1:
        raise InputError(
            f"the motors of '{file}' have a longer delay than a tick of the policy ({1e3 / drive.rate:g} ms)"
        )
    changes: Given = {"drive": drive, "motors": motors, "joints": joints}
    if contact is not None:
        contact_named(contact, robot)
        changes |= {"contact": contact, "dt": CONTACT_DT[contact]}
    return dataclasses.replace(task, **changes)  # type: ignore[type-var] # every task is a dataclass


def train(
    robot: Robot | str,
    out: str | Path,
    task: str = "walk",
    device: str = "auto",
    *,
    robots: int | None = None,
    iterations: int | None = None,
    reward: float | None = None,
    seconds: float | None = None,
    seed: int = 0,
    resume: bool = False,
    settings: Settings | None = None,
    history: int | None = None,
    randomise: Given = True,
    motors: str | Path | None = None,
    contact: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    log: str | Sequence[str] = (),
    allow_code: bool = False,
    ended: Callable[[Trained], None] | None = None,
) -> Trained:
    """Train for a number of iterations or seconds, or until a mean reward per tick is reached.

    Policy, curve, picture and checkpoint (``NAME.checkpoint.npz``) are always written at the end, also after Ctrl-C,
    SIGTERM or an error, as of the last complete iteration, and every half minute. ``resume`` continues from the
    checkpoint. Ctrl-C and SIGTERM are handled in the main thread after the running iteration; a second one at once.

    Args:
        robot: Robot to train.
        out: File of the policy, .npz or .onnx; for a task with an exam, the policy with the best score.
        task: A name in ``shipped_names``, or a TOML file of terms.
        device: ``auto``, ``cpu`` or ``cuda``.
        robots: Number of robots simulated at once.
        iterations: Number of iterations; 400 unless given, unlimited if ``seconds`` is given.
        reward: Mean reward per tick at which to stop.
        seconds: Wall-clock time of training, without the compilation before it [s].
        seed: Seed of all random numbers.
        resume: Continue from the checkpoint of the same training.
        settings: Settings of PPO; those of the task and the device unless given.
        history: Number of observations that the policy sees; the task's unless given.
        randomise: Ranges by name that replace the task's.
        motors: File of ``footfall identify motors``, with the robot, motors and joint effects for the training.
        contact: ``default``, ``yielding`` or ``planning``, with a suitable step; the task's unless given.
        progress: called with (what, done, of).
        log: ``tensorboard``, ``wandb`` or both.
        allow_code: Allow terms ``module:name`` of the task's file to run.
        ended: Called at the end, in any case, once all files are written.

    Returns:
        The training and the policy's file.
    """
    policy = Path(out)
    if policy.suffix not in SUFFIXES:
        raise InputError(f"a policy is an {' or '.join(SUFFIXES)} file, got {policy}")
    if policy.suffix == ".onnx":
        onnx_file.import_onnx()  # reported before the training, not after it
    from_file = task.endswith(".toml")
    if not from_file and task not in shipped_names():
        raise unknown("task", task, shipped_names(), "choose your own TOML file, or one of")
    if device not in DEVICES:
        raise unknown("device", device, DEVICES)
    _check_ends(policy, iterations, reward, seconds)
    most = iterations if iterations is not None else 400 if seconds is None else None
    spec = _spec(task, resume, allow_code) if from_file else None if task in TASKS else shipped(task)
    chosen = default_device() if device == "auto" else device
    checkpoint = policy.with_suffix(".checkpoint.npz")
    subject = load(robot) if isinstance(robot, str) else robot
    learned = _task(task, subject, history, motors, spec, contact)
    written = task if spec is None else f"{spec.kind} {Path(task).name}"
    logs = make_log(log, policy, {"robot": subject.name, "task": task, "seed": seed, "device": chosen})
    training = make_training(learned, chosen, robots, seed, settings, randomise)
    exam = learned.exam()
    training.best = None if exam is None else BestPolicy(exam)
    if resume:
        training.resume(checkpoint)
    run = _Run(
        training=training,
        policy=policy,
        checkpoint=checkpoint,
        robot=subject,
        task=written,
        log=logs,
        progress=progress,
    )
    try:
        with _held_signals() as stop:
            why = run.iterate(most, reward, seconds, stop)
            done = run.finish(why)
    except BaseException as error:  # interrupted within an iteration: the result of the previous one is kept
        done = run.finish("SIGINT" if isinstance(error, KeyboardInterrupt) else "error", whole=False)
        if done is not None and ended is not None:
            ended(done)
        raise
    finally:
        logs.close()
    if done is not None and ended is not None:
        ended(done)
    if why == "SIGTERM":
        sys.exit(128 + signal.SIGTERM)
    if why == "SIGINT" or done is None:
        raise KeyboardInterrupt
    return done


def _check_ends(policy: Path, iterations: int | None, reward: float | None, seconds: float | None) -> None:
    """Raise before the training for limits that would never end it, or end it at once."""
    if iterations is not None and (not is_number(iterations) or iterations < 1):
        raise InputError(f"a training needs at least one iteration, got {iterations}")
    if reward is not None:
        finite_number(reward, "the reward at which a training stops")
    if seconds is not None:
        number_between(seconds, "the seconds of a training", -1e-9, wanted="0 or more")
    if not policy.parent.is_dir():
        raise InputError(f"there is no folder '{policy.parent}' to write the policy {policy.name} to")


@contextmanager
def _held_signals() -> Iterator[list[str]]:
    """Yield a list to which the first Ctrl-C or SIGTERM is added; a second one is handled as before."""
    came: list[str] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = {name: signal.getsignal(getattr(signal, name)) for name in _SIGNALS}

    def give_back() -> None:
        for name, handler in before.items():
            if handler is not None:  # a handler set in C cannot be restored
                signal.signal(getattr(signal, name), handler)

    def told(number: int, frame: FrameType | None) -> None:
        came.append(signal.Signals(number).name)
        give_back()

    for name in _SIGNALS:
        signal.signal(getattr(signal, name), told)
    try:
        yield came
    finally:
        give_back()


@dataclass(kw_only=True)
class _Run:
    """One part of a training: its iterations, and the files written at its end."""

    training: Training
    policy: Path
    checkpoint: Path
    robot: Robot
    task: str  # as stored in the policy's file
    log: Log
    progress: Callable[[str, int, int], None] | None
    kept: Snapshot | None = None  # after the last complete iteration

    def iterate(self, most: int | None, reward: float | None, seconds: float | None, stop: list[str]) -> str:
        """Train, and return why it ended."""
        training, first = self.training, self.training.iteration
        began = saved = time.monotonic()
        before = training.seconds
        if training.curve:
            self.kept = training.snapshot()
        every = ROW_EVERY[training.device]
        while True:
            if stop:
                return stop[0]
            if most is not None and training.iteration >= most and training.curve:
                return "iterations"
            left = every if most is None else max(1, min(every, most - training.iteration))
            row = training.iterate(left)
            if training.best is not None and training.iteration % EXAM_EVERY == 0:
                training.best.examine(training.policy(), training.iteration)
            self.log.row(row)
            now = time.monotonic()
            elapsed = before + now - began
            if self.progress is not None:
                pace = (now - began) / (training.iteration - first)
                self.progress(*_progress(row, training.iteration, most, elapsed, seconds, pace, reward is not None))
            if reward is not None and row["reward"] >= reward:
                return "reward"
            if seconds is not None and elapsed >= seconds:
                return "seconds"
            save = now - saved > SAVE_EVERY
            if save or training.device == "cpu":
                self.kept = training.snapshot()
            if save and self.kept is not None:
                self.kept.save(self.checkpoint)
                self._write_policy(self.kept.policy)
                saved = now

    def finish(self, why: str, whole: bool = True) -> Trained | None:
        """Write policy, curve, picture and checkpoint; return None if nothing was learned yet.

        whole: the training is between two iterations, not within one.
        """
        training = self.training
        if whole:
            if training.best is not None and why not in _SIGNALS:
                training.best.examine(training.policy(), training.iteration)
            self.kept = training.snapshot() if training.curve else None
        if self.kept is None:
            return None
        self.kept.save(self.checkpoint)
        self._write_policy(self.kept.policy)
        training.curve = list(self.kept.curve)
        training.save_curve(self.policy.with_suffix(".csv"))
        curve_figure(training.curve).savefig(self.policy.with_suffix(".png"))
        examined = training.best is not None and training.best.policy is not None
        return Trained(training, self.policy, training.best.score if examined and training.best else None, why)

    def _write_policy(self, policy: Policy) -> None:
        passing = self.policy.with_name(f".{self.policy.stem}.{os.getpid()}.part{self.policy.suffix}")
        try:
            dataclasses.replace(policy, task=self.task).save(passing, self.robot)
            os.replace(passing, self.policy)
        finally:
            passing.unlink(missing_ok=True)


def _progress(
    row: dict[str, float], done: int, most: int | None, elapsed: float, seconds: float | None, pace: float, early: bool
) -> tuple[str, int, int]:
    """Return (text, done, total) for a progress line: by iterations or by the clock, whichever ends first."""
    by_iterations = math.inf if most is None else pace * (most - done)
    by_clock = math.inf if seconds is None else max(0.0, seconds - elapsed)
    left = duration(min(by_iterations, by_clock))
    words = f"reward {row['reward']:.4f}, score {row['score']:.3f}, {'at most' if early else 'about'} {left} left"
    if most is not None and by_iterations <= by_clock:
        return words, done, most
    return f"iteration {done}, {words}", round(elapsed), round(seconds or 0.0)


def duration(seconds: float) -> str:
    """Return a duration as text: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
