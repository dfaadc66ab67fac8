"""Real-time priority: the loop runs before all that is not real-time on this machine."""

from __future__ import annotations

import os

_LEVEL = 10  # of 99: above everything ordinary, below what the kernel needs


def raise_priority() -> str:
    """Ask for it; what came of it, in words."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_LEVEL))
        return "real-time priority"
    except (AttributeError, OSError):  # no such thing here, or not allowed
        return "no real-time priority: the system does not allow it"


__all__ = ["raise_priority"]
