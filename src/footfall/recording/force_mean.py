"""Contact forces independent of the step size: means over the last 10 ms, from impulses.

Where a foot strikes the ground, the force of one step grows as steps get shorter: it is the impulse of the step over
its length. The impulse over a fixed time converges.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from nptrace.array_types import Float

WINDOW = 0.01  # [s]
_SAME = 1e-9  # [s] between two times that count as equal


def ticks_in_window(period: float) -> int:
    """Return how many whole ticks of a period [s] fit into the window."""
    return int(WINDOW / period + 1e-6)


def rest_of_window(period: float) -> float:
    """Return by how much the window exceeds whole ticks of a period: this long before its end, a tick is read a
    second time [s].
    """
    rest = WINDOW - ticks_in_window(period) * period
    return rest if rest > 1e-6 * period else 0.0


def window_stride(every: int, period: float) -> int:
    """Return the interval in ticks at which impulses must be known if every ``every``-th is recorded; it divides
    ``every``.
    """
    return int(np.gcd(every, ticks_in_window(period)))


class ForceMeans:
    """Means over the last ``WINDOW``, of impulses since the start of a run, which come in tick by tick.

    Impulses before the first time count as zero. An impulse is (m, nf, 3) [N s]: at the end of a tick, and if ticks do
    not fill the window also ``rest_of_window`` before it.
    """

    def __init__(self, time: float, impulse: Float[ndarray, "m nf 3"], period: float) -> None:
        self.rest, self.time, self.impulse = rest_of_window(period), np.array([time]), impulse[None, 0]

    def add(self, time: Float[ndarray, "T"], impulse: Float[ndarray, "T m nf 3"]) -> Float[ndarray, "T nf 3"]:
        """Return the means at later times [N]."""
        if not len(time):
            return impulse[:, 0]
        new_time, new = time, impulse[:, 0]
        if self.rest > 0.0:
            new_time = np.stack([time - self.rest, time], axis=1).ravel()
            new = np.reshape(impulse[:, ::-1], (2 * len(time), *impulse.shape[2:]))
        self.time, self.impulse = np.concatenate([self.time, new_time]), np.concatenate([self.impulse, new])
        begins = np.maximum(time - WINDOW, self.time[0])
        after = np.searchsorted(self.time, begins - _SAME)
        earlier, left = np.maximum(after - 1, 0), self.time[after] - begins
        # nothing remains if the window starts with a tick: then the mean has the same bits for any rows
        part = np.where(left > _SAME, left / np.maximum(self.time[after] - self.time[earlier], _SAME), 0.0)
        before = self.impulse[after] - part[:, None, None] * (self.impulse[after] - self.impulse[earlier])
        kept = max(0, int(np.searchsorted(self.time, self.time[-1] - WINDOW)) - 1)
        self.time, self.impulse = self.time[kept:], self.impulse[kept:]
        return (impulse[:, 0] - before) / WINDOW


def means_of_rows(time: Float[ndarray, "T"], force: Float[ndarray, "T nf 3"]) -> Float[ndarray, "T nf 3"]:
    """Return means over the window without impulses: a force holds from the previous row to its own [N]."""
    if len(time) < 2:
        return np.array(force, dtype=float)
    spans = np.diff(time, prepend=2.0 * time[0] - time[1])
    impulse = np.cumsum(np.nan_to_num(force) * spans[:, None, None], axis=0)
    return ForceMeans(float(time[0] - spans[0]), 0.0 * impulse[:1], WINDOW).add(time, impulse[:, None])
