"""Real time by an absolute clock: tick k is due at start + k period, however long the earlier ticks took.

A late tick does not shift the ticks after it. If a tick is later than ``patience``, it and the ticks that it delayed
are dropped: they are counted as skipped, and time continues from the present, so that no lag accumulates.
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

LATE = 4e-3  # [s], lateness from which a tick counts as late
_ROOM = 1 << 20  # lateness is kept for this many ticks: half an hour at 500 Hz


@runtime_checkable
class Clock(Protocol):
    """Paces a loop."""

    @property
    def period(self) -> float: ...

    def now(self) -> float:
        """Return the time since the start [s]."""
        ...

    def wait(self) -> int:
        """Wait for the next tick; return how many ticks have passed since the last call, 1 if none was skipped."""
        ...

    def report(self) -> dict[str, Json]:
        """Return timing statistics; empty for simulated time."""
        ...


@dataclass(kw_only=True)
class RealTime:
    """A wall clock. ``read`` [s] and ``sleep`` may be replaced, by tests that advance time by hand."""

    period: float
    patience: float = 0.1  # [s]
    read: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], None] = time.sleep
    ticks: int = 0
    skipped: int = 0  # ticks that were skipped
    _late: deque[float] = field(default_factory=lambda: deque(maxlen=_ROOM), repr=False)

    def __post_init__(self) -> None:
        checked_number(self.period, "period of a clock", 0.0, above=True)
        self.restart()

    def restart(self) -> None:
        """Restart now: earlier preparation does not count."""
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
        """Return how late the next tick is now [s]: negative while there is time left."""
        return self.read() - (self.start + (self.ticks + 1) * self.period)

    def report(self, limit: float = LATE) -> dict[str, Json]:
        """Return statistics of the ticks' lateness: percentiles [s], and how many were later than a period and than
        ``limit``.

        ``late_share`` is the fraction of all ticks that were due; a skipped tick counts as late.
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


_SWITCH = 5e-4  # [s] after which a thread yields the interpreter to the loop
_LEVEL = 10  # of 99: above all ordinary processes, below what the kernel needs


def raise_priority() -> str:
    """Request real-time priority for all threads of this process, and return as text whether it was granted.

    Threads started later have it too: an ordinary thread preempted while it holds the interpreter's lock would block
    the loop.
    """
    sys.setswitchinterval(_SWITCH)
    try:
        for thread in Path("/proc/self/task").iterdir():
            os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, os.sched_param(_LEVEL))
        return "real-time priority"
    except (AttributeError, OSError):  # not available here, or not permitted
        return "no real-time priority: the system does not permit it"


__all__ = ["LATE", "Clock", "RealTime", "raise_priority"]
