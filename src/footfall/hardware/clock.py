"""Real time by an absolute clock: tick k is due at start + k period, whatever the ticks before it took.

A tick that comes late does not move those after it. One that is later than ``patience`` is given up together with those
that it made late: they are counted as skipped, and time goes on from the present, so that no lag ever grows.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from footfall.checks import checked_number
from nptrace._types import Json

LATE = 4e-3  # [s] beyond which a tick counts as late
_ROOM = 1 << 20  # lateness of the last so many ticks is kept: half an hour at 500 Hz


@runtime_checkable
class Clock(Protocol):
    """Paces a loop."""

    @property
    def period(self) -> float: ...

    def now(self) -> float:
        """[s] since the start."""
        ...

    def wait(self) -> int:
        """Return at the next tick; how many ticks have passed since the last call, 1 if all is well."""
        ...

    def report(self) -> dict[str, Json]:
        """How well time was kept, in numbers; empty where it is not the wall's."""
        ...


@dataclass(kw_only=True)
class RealTime:
    """A clock of the wall. ``read`` [s] and ``sleep`` may be replaced, by tests that move time by hand."""

    period: float
    patience: float = 0.1  # [s]
    read: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], None] = time.sleep
    ticks: int = 0
    skipped: int = 0  # ticks that were given up
    _late: deque[float] = field(default_factory=lambda: deque(maxlen=_ROOM), repr=False)

    def __post_init__(self) -> None:
        checked_number(self.period, "period of a clock", 0.0, above=True)
        self.restart()

    def restart(self) -> None:
        """Begin now: what was made ready before does not count."""
        self.start = self._begun = self.read()
        self.ticks, self.skipped = 0, 0
        self._late.clear()

    def now(self) -> float:
        return self.read() - self._begun

    def wait(self) -> int:
        self.ticks += 1
        due = self.start + self.ticks * self.period
        left = due - self.read()
        if left > 0:
            self.sleep(left)
        late = max(0.0, self.read() - due)
        self._late.append(late)
        if late <= self.patience:
            return 1
        lost = int(late / self.period)
        self.skipped += lost
        self.start += lost * self.period
        return 1 + lost

    def behind(self) -> float:
        """How much later than the next tick it is now [s]: negative while there is time left."""
        return self.read() - (self.start + (self.ticks + 1) * self.period)

    def report(self, limit: float = LATE) -> dict[str, Json]:
        """Lateness of the ticks in numbers: percentiles [s], how many were more than a period and ``limit`` late.

        ``late_share`` is of all ticks that were due: one that was skipped never came, and counts as late.
        """
        late = np.array(self._late) if self._late else np.zeros(1)
        half, too_late = max(1, len(late) // 2), int((late > limit).sum())
        return {
            "ticks": self.ticks,
            "rate": 1.0 / self.period,
            "skipped": self.skipped,
            "overruns": int((late > self.period).sum()),
            "late": too_late,
            "late_share": (too_late + self.skipped) / max(1, self.ticks + self.skipped),
            "limit": limit,
            "jitter": {f"p{p:g}": float(np.percentile(late, p)) for p in (50, 90, 99, 99.9, 100)},
            "median_halves": [float(np.median(late[:half])), float(np.median(late[-half:]))],
        }


_SWITCH = 5e-4  # [s] after which a thread hands over the interpreter to the loop
_LEVEL = 10  # of 99: above everything ordinary, below what the kernel needs


def raise_priority() -> str:
    """Ask for real-time priority of all threads of this process, and return in words whether it was given.

    Threads that are started later have it too: an ordinary one that is put aside while it holds the interpreter's lock
    would make the loop wait with it.
    """
    sys.setswitchinterval(_SWITCH)
    try:
        for thread in Path("/proc/self/task").iterdir():
            os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, os.sched_param(_LEVEL))
        return "real-time priority"
    except (AttributeError, OSError):  # no such thing here, or not allowed
        return "no real-time priority: the system does not allow it"


__all__ = ["LATE", "Clock", "RealTime", "raise_priority"]
