"""Real-time priority: the loop, and the threads that bring its messages, run before all that is ordinary here."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SWITCH = 5e-4  # [s] after which a thread hands over the interpreter to the loop
_LEVEL = 10  # of 99: above everything ordinary, below what the kernel needs


def raise_priority() -> str:
    """Ask for it, for all threads of this process; what came of it, in words.

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


__all__ = ["raise_priority"]
