"""Train a policy into a file: ``footfall train``. A training that was cut off goes on from its last checkpoint."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from footfall.checks import finite_number, is_number, number_between
from footfall.control.learned import onnx_file
from footfall.control.learned.policy import SUFFIXES
from footfall.errors import InputError, unknown
from footfall.learn.figures import curve_figure
from footfall.learn.keeping import EVERY, Keeper, exam_of
from footfall.learn.ppo import Settings
from footfall.learn.recover import RecoverTask
from footfall.learn.rough import RoughTask
from footfall.learn.rough_blind import BlindTask
from footfall.learn.task import Task, WalkTask
from footfall.learn.training import Training, default_device, make_training
from footfall.loading import load
from footfall.nests import Given
from footfall.robot.model.description import Robot
from footfall.simulate.identified import read_identified

TASKS: dict[str, Callable[[Robot], WalkTask | RecoverTask | RoughTask]] = {
    "walk": WalkTask.of, "recover": RecoverTask.of, "rough": RoughTask.of, "rough_blind": BlindTask.of,
}  # fmt: skip
DEVICES = ("auto", "cpu", "cuda")
LOOK = {"cpu": 1, "cuda": 5}  # iterations between two rows of the curve
SAVE_EVERY = 30.0  # [s] between checkpoints


@dataclass(frozen=True)
class Trained:
    """What came of a training."""

    training: Training
    policy: Path
    mastered: float | None = None  # of the exam, by the policy that was kept

    @property
    def last(self) -> dict[str, float]:
        return self.training.curve[-1]


def _task(name: str, robot: Robot, history: int | None, file: str | Path | None) -> Task:
    """The task of a robot, with its own history unless another is given, and the motors of a file if there is one."""
    robot, motors, joints = (robot, None, None) if file is None else read_identified(file, robot)
    task = TASKS[name](robot)
    drive = task.drive if history is None else dataclasses.replace(task.drive, history=history)
    if motors is not None and motors.longest(drive.rate) > 1:
        raise InputError(f"the motors of '{file}' are later than a tick of the policy ({1e3 / drive.rate:g} ms)")
    return dataclasses.replace(task, drive=drive, motors=motors, joints=joints)


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
    with. Of a task with an exam (``learn.keeping``) the policy is the one that did best in it.
    """
    policy = Path(out)
    if policy.suffix not in SUFFIXES:
        raise InputError(f"a policy is an {' or '.join(SUFFIXES)} file, got {policy}")
    if policy.suffix == ".onnx":
        onnx_file.library()  # is missing before the training, not after it
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
    exam = exam_of(learned)
    training.keeper = None if exam is None else Keeper(exam)
    if resume:
        training.resume(checkpoint)
    try:
        _iterate(training, iterations, reward, seconds, checkpoint, progress)
    finally:  # an interrupted training can go on
        training.save(checkpoint)
    if not training.curve:
        training.iterate()
    keeper, best = training.keeper, training.policy()
    if keeper is not None:
        keeper.look(best, training.iteration)
        best = keeper.best or best
    dataclasses.replace(best, task=task).save(policy, subject)
    training.save_curve(policy.with_suffix(".csv"))
    curve_figure(training.curve).savefig(policy.with_suffix(".png"))
    return Trained(training, policy, None if keeper is None else keeper.score)


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
    training: Training, iterations: int, reward: float | None, seconds: float | None, checkpoint: Path,
    progress: Callable[[str, int, int], None] | None,
) -> None:  # fmt: skip
    saved = time.monotonic()
    while training.iteration < iterations:
        row = training.iterate(min(LOOK[training.device], iterations - training.iteration))
        if training.keeper is not None and training.iteration % EVERY == 0:
            training.keeper.look(training.policy(), training.iteration)
        if progress is not None:
            progress(f"reward {row['reward']:.4f}", training.iteration, iterations)
        if (reward is not None and row["reward"] >= reward) or (seconds is not None and training.seconds >= seconds):
            return
        if time.monotonic() - saved > SAVE_EVERY:
            training.save(checkpoint)
            saved = time.monotonic()
