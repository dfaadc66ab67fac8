"""The number of cores available to this process."""

from __future__ import annotations

import os


def cores() -> int:
    """Return how many cores are available to this process, possibly fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
