"""Print values inside a controller.

A compiled controller is traced: its values are symbols, so that ``print`` shows symbols, once. ``debug.print`` shows
numbers: a controller that calls it runs in Python, at the same rate and with the same results, until the call is
removed. For breakpoints, ``Simulation(..., compile_controller=False)`` runs any controller in Python.
"""

from __future__ import annotations

import builtins
import math

import numpy as np

import nptrace
from footfall.errors import InputError, TraceMismatch
from nptrace._types import Scalar
from nptrace.ir.refusal import refusal
from nptrace.numeric import verifying

__all__ = ["print"]


def print(*values: Scalar, t: float | None = None, every: float | None = None) -> None:
    """Print values from a controller that runs in Python; arrays with four digits.

    Args:
        values: Numbers, arrays or words.
        t: The controller's time [s], printed first.
        every: Print at most once per this many seconds of ``t``.
    """
    if nptrace.is_tracing():
        raise refusal("ff.debug.print needs numbers, and a trace has only symbols")
    if verifying.get():
        raise TraceMismatch("it calls ff.debug.print, which needs numbers that compiled code does not return")
    if every is not None and (t is None or not every > 0):
        raise InputError("ff.debug.print(..., every=0.1) needs the controller's time: t=t, and a positive every")
    if every is not None and t is not None and not _due(t, every):
        return
    words = [] if t is None else [f"{t:.4f} s:"]
    for value in values:
        shown = np.array2string(np.asarray(value), precision=4, suppress_small=True) if np.ndim(value) else value
        words.append(f"{shown:.6g}" if isinstance(shown, float) else str(shown))
    builtins.print(*words)


def _due(t: float, every: float) -> bool:
    """Return whether a time is the first of a period, up to the rounding of a multiple of the tick."""
    return t - every * math.floor(t / every + 1e-9) < 1e-9


def __dir__() -> list[str]:
    return sorted(__all__)
