"""Timestamps for a log without them, from joint positions and velocities, by dq = v dt.

A log merged from several messages has rows that repeat the last reading, and readings may be lost. Where a joint moves,
the time between two readings follows from its displacement and velocity. All joints together give the interval by least
squares, and its standard deviation from their agreement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.draw.notebook import Summarised
from footfall.errors import InputError
from nptrace.array_types import Float, Int

_ROUNDS = 3  # number of fits through the velocities: they change intervals of 10 ms by some percent, then no more
_FASTEST = 1e-5  # [s], the shortest interval between two readings
# fraction of the usual power below which joints carry little information: the interval is then near the usual one
_STILL = 1e-3


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RowTimes(Summarised):
    """When the readings of a log were taken: ``rows[k]`` is the row of a new reading at ``time[k]`` [s]."""

    rows: Int[ndarray, "n"]
    time: Float[ndarray, "n"]
    deviation: Float[ndarray, "n-1"]  # [s], standard deviation of each interval

    def _summary(self) -> tuple[str, list[tuple[str, str]]]:
        intervals = np.diff(self.time)
        return f"times of {len(self.rows)} readings", [
            ("span", f"{self.time[-1] - self.time[0]:.3f} s"),
            ("interval", f"{1e3 * np.median(intervals):.2f} ms"),
            ("its deviation", f"{1e3 * np.median(self.deviation):.3f} ms"),
        ]

    @property
    def span_deviation(self) -> float:
        """Return the standard deviation of the whole span [s], for independent intervals.

        There is also a bias: noise in the rates makes joints seem faster, and spans shorter by some 0.05 percent.
        """
        return float(np.sqrt(np.sum(self.deviation**2)))

    def at(self, rows: ndarray) -> Float[ndarray, "m"]:
        """Return times of any rows [s], interpolated between readings by their row number."""
        return np.interp(rows, self.rows, self.time)


def rebuild_times(
    q: Float[ndarray, "rows n"], v: Float[ndarray, "rows n"], joints: ndarray | slice = slice(None)
) -> RowTimes:
    """Return the times of a log's readings from joint positions and the velocities that were recorded with them.

    The interval between two readings is the one over which the velocities, as cubic splines through the readings, lead
    from the first positions to the second, by least squares over the joints.

    Args:
        q: Joint positions [rad], by row; rows that repeat the previous one are not readings.
        v: Joint velocities of the same rows [rad/s].
        joints: Joints to use; all unless given.

    Returns:
        Rows of readings, their times, the first at 0, and the deviation of every interval.

    Raises:
        InputError: The joints do not move, or fewer than three readings are there.
    """
    from scipy.interpolate import CubicSpline

    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    if q.ndim != 2 or q.shape != v.shape:
        raise InputError(f"q and v of a log must have the same shape (rows, joints), got {q.shape} and {v.shape}")
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        raise InputError("q and v of a log must be finite")
    rows = np.flatnonzero(np.r_[True, np.abs(np.diff(q, axis=0)).max(axis=1, initial=0.0) > 0.0])
    if len(rows) < 3:
        raise InputError(f"a log needs at least three readings that differ, got {len(rows)}")
    moved, speed = np.diff(q[rows][:, joints], axis=0), v[rows][:, joints]
    mean = 0.5 * (speed[1:] + speed[:-1])
    interval, deviation = _intervals(moved, mean, np.full(len(moved), np.nan))
    for _ in range(_ROUNDS):
        time = np.r_[0.0, np.cumsum(interval)]
        integral = CubicSpline(time, speed, axis=0).antiderivative()(time)
        interval, deviation = _intervals(moved, np.diff(integral, axis=0) / interval[:, None], interval)
    return RowTimes(rows=rows, time=np.r_[0.0, np.cumsum(interval)], deviation=deviation)


def _intervals(
    moved: Float[ndarray, "n joints"], mean: Float[ndarray, "n joints"], before: Float[ndarray, "n"]
) -> tuple[Float[ndarray, "n"], Float[ndarray, "n"]]:
    """Return intervals [s] and their standard deviations, from displacements and mean velocities of every joint."""
    power = np.sum(mean**2, axis=1)
    if not power.max() > 0.0:
        raise InputError("the joints of a log do not move: the times of its rows cannot be determined")
    free = np.maximum(np.sum(moved * mean, axis=1) / np.maximum(power, 1e-12), _FASTEST)
    usual, typical = np.median(free[power >= np.median(power)]), np.median(power)
    rest = moved - mean * free[:, None]
    # the error of a reading: of positions, and of velocities times the interval; their shares by least squares
    squares = np.sum(rest**2, axis=1) / max(1, moved.shape[1] - 1)
    fit = np.stack([np.ones(len(free)), free**2], axis=1)
    weight = 1.0 / np.maximum(squares, np.median(squares))
    constant, growing = np.maximum(np.linalg.lstsq(fit * weight[:, None], squares * weight, rcond=None)[0], 0.0)
    # where joints contradict each other, the error of the interval itself
    error = np.maximum(constant + growing * free**2, squares)
    error = np.maximum(error, 1e-16)
    trust = power / (power + _STILL * typical + constant / usual**2)
    variance = np.minimum(error / np.maximum(power, 1e-12), (2.0 * usual) ** 2)
    interval = np.maximum(trust * free + (1.0 - trust) * usual, _FASTEST)
    return interval, np.sqrt(variance)


__all__ = ["RowTimes", "rebuild_times"]
