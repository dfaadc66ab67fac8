"""Processor time of calls, for comparison."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np


def best_times(calls: Mapping[str, Callable[[], object]], rounds: int = 20, least: float = 2e-3) -> dict[str, float]:
    """Return the processor time of each call, the best of several interleaved rounds.

    Load by other processes then affects all alike.

    Args:
        calls: Calls by name.
        rounds: Number of rounds.
        least: Time that a round spends on each call [s].

    Returns:
        Seconds, by name.
    """
    counts, best = dict.fromkeys(calls, 1), dict.fromkeys(calls, np.inf)
    for name, call in calls.items():
        while _spent(call, counts[name]) < least:
            counts[name] *= 2
    for _ in range(rounds):
        for name, call in calls.items():
            best[name] = min(best[name], _spent(call, counts[name]) / counts[name])
    return best


def _spent(call: Callable[[], object], count: int) -> float:
    began = time.process_time()
    for _ in range(count):
        call()
    return time.process_time() - began
