"""Independent runs distributed among processes."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from footfall.errors import FootfallError

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]


def run_all(
    perform: Callable[[Task], Result],
    tasks: Iterable[Task],
    label: Callable[[Task], str],
    progress: Progress | None = None,
    workers: int = 1,
) -> dict[Task, Result]:
    """Return the result of every task, each performed once.

    Args:
        perform: A function at module level, which processes import by name.
        tasks: Hashable values that can be pickled, the longest tasks first.
        label: Short description of a task.
        progress: Called with a label, the number of finished tasks and their total.
        workers: The number of processes; only this one if 1.
    """
    todo = list(dict.fromkeys(tasks))
    report = progress or (lambda what, done, of: None)
    done: dict[Task, Result] = {}
    if workers <= 1 or len(todo) < 2:
        for task in todo:
            report(label(task), len(done), len(todo))
            done[task] = perform(task)
        return done
    report(label(todo[0]), 0, len(todo))
    others, spawn = set(multiprocessing.active_children()), multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(todo)), spawn, initializer=_ignore_interrupts)
    try:
        waiting = {pool.submit(perform, task): task for task in todo}
        for future in as_completed(waiting):
            done[waiting[future]] = future.result()
            report(label(waiting[future]), len(done), len(todo))
    except BrokenProcessPool as error:
        raise FootfallError("a process was killed, perhaps because memory ran out") from error
    finally:
        if len(done) < len(todo):  # interrupted or failed: do not wait for the rest
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
        pool.shutdown(cancel_futures=True)
    return {task: done[task] for task in todo}


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C, which reaches every process of a terminal; the parent handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
