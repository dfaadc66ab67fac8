"""The method of timing: the least of interleaved rounds on one pinned core.

Other processes, a changing clock rate and page faults only add time, and vary. So every task runs in every round, all
tasks are disturbed alike, and the least of at least twenty rounds counts. The clock is that of the thread if it is fine
enough: it stops while another process has the core, which would otherwise favour short tasks. The cost of entering
compiled code from Python is kept small by long calls, or subtracted.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

ROUNDS = 20
_SHORTEST, _LONGEST = 500e-6, 2e-3  # [s], duration of one measurement
_clock = time.thread_time if time.get_clock_info("thread_time").resolution < 1e-6 else time.perf_counter


@dataclass(kw_only=True)
class Task:
    """A task to time: ``run(n)`` does n units of work, each with ``items`` items of the kind that ``per`` names.

    before: untimed preparation of a measurement. empty: the same call without work, subtracted from each.
    less: the name of a task whose time per unit is subtracted, for a run that is a loop of calls.
    whole: one unit is long (a convergence run, NumPy), so a measurement is one unit.
    hidden: measured only to be subtracted, without a row in the report.
    """

    name: str
    run: Callable[[int], object]
    per: str
    items: int = 1
    before: Callable[[], object] | None = None
    empty: Callable[[], object] | None = None
    less: str | None = None
    whole: bool = False
    hidden: bool = False


@dataclass(frozen=True)
class Row:
    """A measured time: nanoseconds per item of the kind that ``per`` names."""

    name: str
    ns: float
    per: str


@contextlib.contextmanager
def pinned() -> Iterator[int | None]:
    """Pin this thread to one core during a measurement, if the system allows; yield its number or None."""
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    before = os.sched_getaffinity(0)
    core = max(before)
    try:
        os.sched_setaffinity(0, {core})
    except OSError:
        yield None
        return
    try:
        yield core
    finally:
        os.sched_setaffinity(0, before)


def interleaved(
    tasks: Sequence[Task], seconds: float, progress: Callable[[str, int, int], None], rounds: int = ROUNDS
) -> list[Row]:
    """Return the least time of every task over at least ``rounds`` rounds, and as many more as fit into ``seconds``."""
    turn = min(max(seconds / (rounds * max(1, len(tasks))), _SHORTEST), _LONGEST)
    units = {task.name: _calibrated(task, turn) for task in tasks}
    best, spent = dict.fromkeys(units, float("inf")), {task.name: float("inf") for task in tasks if task.empty}
    began, done = time.perf_counter(), 0
    while done < rounds or time.perf_counter() - began < seconds:
        for task in tasks:
            best[task.name] = min(best[task.name], _timed(task, units[task.name]))
            if task.empty is not None:
                spent[task.name] = min(spent[task.name], _clocked(task.empty))
        done += 1
        share = min(1.0, (time.perf_counter() - began) / seconds)
        progress("timing", int(100 * min(share, done / rounds)), 100)
    each = {name: (took - spent.get(name, 0.0)) / units[name] for name, took in best.items()}
    return [
        Row(task.name, 1e9 * (each[task.name] - (each[task.less] if task.less else 0.0)) / task.items, task.per)
        for task in tasks
        if not task.hidden
    ]


def _timed(task: Task, units: int) -> float:
    """Measure a task once; a single unit first runs untimed, since other tasks have evicted it from the caches."""
    if task.whole:
        _made_ready(task)
        task.run(units)
    _made_ready(task)
    return _clocked(lambda: task.run(units))


def _made_ready(task: Task) -> None:
    if task.before is not None:
        task.before()


def _clocked(call: Callable[[], object]) -> float:
    began = _clock()
    call()
    return _clock() - began


def _calibrated(task: Task, turn: float) -> int:
    """Return the units per measurement; the first call, which may load or allocate, does not count."""
    _timed(task, 1)
    if task.whole:
        return 1
    units = 1
    while units < 1 << 22:
        took = _timed(task, units)
        if took >= 0.5 * turn:
            return max(1, round(units * turn / took))
        units = max(2 * units, min(16 * units, int(units * 0.7 * turn / max(took, 1e-7))))
    return units


def looped(function: Callable[..., object], *arguments: object) -> Callable[[int], None]:
    """Return the ``run`` of a task that calls a peer's function repeatedly from Python."""

    def run(count: int) -> None:
        for _ in range(count):
            function(*arguments)

    return run
