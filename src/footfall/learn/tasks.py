"""The table of kinds of tasks, and loading a task by name or from a file."""

from __future__ import annotations

from pathlib import Path

from footfall.learn.recover import RecoverTask
from footfall.learn.rough import BlindTask, RoughTask
from footfall.learn.task import Task, TermTask
from footfall.learn.task_spec import TaskSpec, task_spec
from footfall.learn.walk import WalkTask
from footfall.loading import load
from footfall.robot.model.description import Robot

TASKS: dict[str, type[Task]] = {
    "walk": WalkTask,
    "recover": RecoverTask,
    "rough": RoughTask,
    "rough_blind": BlindTask,
}


def load_task(file: str | Path, robot: Robot | str, *, allow_code: bool = False) -> TermTask:
    """Return the task of a robot that a TOML file of terms describes.

    Args:
        file: A file such as ``footfall train --example-task walk`` writes.
        robot: the robot to train: a Robot, a name or a model file.
        allow_code: terms ``module:name`` of the file may run; modules beside it are found.

    Returns:
        The task, for environments and trainings: ``WalkEnv(task=task)``.
    """
    return task_from(task_spec(file, allow_code=allow_code), load(robot) if isinstance(robot, str) else robot)


def task_from(spec: TaskSpec, robot: Robot) -> TermTask:
    """Return the task of a robot that a file describes (``task_spec``)."""
    kind = TASKS[spec.kind]
    assert issubclass(kind, TermTask)
    return kind.of(robot, spec=spec)
