"""The table of tasks: a new one is a file and a line here."""

from footfall.learn.recover import RecoverTask
from footfall.learn.rough import BlindTask, RoughTask
from footfall.learn.task import Task
from footfall.learn.walk import WalkTask

TASKS: dict[str, type[Task]] = {
    "walk": WalkTask,
    "recover": RecoverTask,
    "rough": RoughTask,
    "rough_blind": BlindTask,
}
