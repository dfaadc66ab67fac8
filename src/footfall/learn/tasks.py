"""The table of kinds of tasks, and a task from its name or its file."""

from __future__ import annotations

from footfall.learn.recover import RecoverTask
from footfall.learn.rough import BlindTask, RoughTask
from footfall.learn.task import Task, TermTask
from footfall.learn.task_spec import TaskSpec
from footfall.learn.walk import WalkTask
from footfall.robot.model.description import Robot

TASKS: dict[str, type[Task]] = {
    "walk": WalkTask,
    "recover": RecoverTask,
    "rough": RoughTask,
    "rough_blind": BlindTask,
}


def task_from(spec: TaskSpec, robot: Robot) -> TermTask:
    """Return the task of a robot that a file describes (``task_spec``)."""
    kind = TASKS[spec.kind]
    assert issubclass(kind, TermTask)
    return kind.of(robot, spec=spec)
