"""Benchmarks: every timing that footfall quotes, interleaved with timings of its peers in one run.

    report = bench.run("step", seconds=20)
    print(report.to_json()["ratios"])

``timing`` is the method, ``subject`` the robot that is timed, ``targets`` the goals; the other files are the benches.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from footfall.errors import InputError, unknown
from nptrace._types import Named

if TYPE_CHECKING:
    from footfall_lab.bench.report import BenchReport

NAMES = (
    "dynamics",
    "step",
    "simulated_second",
    "batch",
    "gpu",
    "formalisms",
    "control",
    "derivatives",
    "sampling",
    "screws",
)
_MAY_BE_UNAVAILABLE = ("gpu",)  # benches that may be unavailable on this machine, and report it
SECONDS = 20.0  # default seconds of timing for one bench

Progress = Callable[[str, int, int], None]


def run(name: str, seconds: float = SECONDS, progress: Progress | None = None, robot: str | None = None) -> BenchReport:
    """Run one bench, or with ``all`` every one after another; ``seconds`` bounds the timing of each.

    robot: a library robot or a file, for the bench of steps; every other bench times the Mini Cheetah.
    """
    from footfall_lab.bench.report import merged

    if name not in (*NAMES, "all"):
        raise unknown("bench", name, (*NAMES, "all"))
    if not 0.0 < seconds < float("inf"):
        raise InputError(f"the seconds of a bench must be positive, got {seconds}")
    reported = progress or _silent
    if robot is not None:
        if name != "step":
            raise InputError(f"bench {name} takes no --robot: only bench step does")
        return _bench(name).measure(seconds, reported, robot)
    if name != "all":
        return _bench(name).measure(seconds, reported)
    reports, notes = [], []
    for each in NAMES:
        why = _bench(each).unavailable() if each in _MAY_BE_UNAVAILABLE else None
        if why is None:
            reports.append(_bench(each).measure(seconds, reported))
        else:
            notes.append(f"bench {each} was skipped: {why}")
    return merged(reports, notes)


def _bench(name: str) -> Named:
    return import_module(f"footfall_lab.bench.{name}")


def _silent(what: str, done: int, of: int) -> None:
    pass


__all__ = ["NAMES", "SECONDS", "run"]
