"""Recordings of a real Mini Cheetah: read from a folder, with their time reconstructed and checked.

Lin, Zhang, Yu and Ghaffari, "Legged Robot State Estimation using Invariant Kalman Filtering and Learned Contact Events"
(2021). The recordings are not part of footfall. Their rows have no time stamps, most of them repeat the last reading,
and readings are lost: ``footfall.analysis.row_times`` reconstructs the times from joint angles and rates. Independent
data check it: the gyroscope against the attitude, and the mean row time in the files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy import ndarray

import footfall as ff
from footfall.analysis.row_times import RowTimes, rebuild_times
from footfall.errors import InputError, reason
from footfall.robot.model.description import Robot
from nptrace.array_types import Float, Int

LEG_ORDER = (3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8)  # theirs is RF, LF, RH, LH
BLOCK = 0.5  # [s], block of the bootstrap
FIT, GAP = 0.6, 1.0  # fraction of a recording that is fitted, and seconds omitted after it
_DRAWS = 400
_BAND = (4.0, 30.0)  # [Hz], in which a suspended trunk rotates against its legs
_GRID = 1e-3  # [s]
_LAGS = np.arange(-20, 21)  # ms
_KEYS = ("dt", "q", "v", "torques", "imu_acc", "imu_ori", "imu_ang_vel")


@dataclass(frozen=True, eq=False, kw_only=True)
class Log:
    """A recording, in the order of ``ff.load("mini_cheetah")``'s joints."""

    name: str
    row_time: float  # mean row time [s] in the file
    q: Float[ndarray, "rows 12"]
    v: Float[ndarray, "rows 12"]
    command: Float[ndarray, "rows 12"]  # joint torque commanded by the controller [N m]; not measured
    gyroscope: Float[ndarray, "rows 3"]
    attitude: Float[ndarray, "rows 3"]  # roll, pitch, yaw [rad], from a filter

    @cached_property
    def times(self) -> RowTimes:
        """The times of the joint readings [s]."""
        return rebuild_times(self.q, self.v)

    @cached_property
    def imu_rows(self) -> Int[ndarray, "m"]:
        """The rows with a new attitude."""
        return np.flatnonzero(np.r_[True, np.abs(np.diff(self.attitude, axis=0)).max(axis=1) > 0.0])

    @property
    def hangs(self) -> bool:
        """Whether the robot was suspended in the air."""
        return self.name.startswith("air_")


@dataclass(frozen=True, kw_only=True)
class Timing:
    """The reconstructed time of a recording, and its checks."""

    name: str
    readings: int
    span: float  # [s]
    span_deviation: float  # [s], standard deviation from independent intervals
    interval_deviation: float  # [s], the median
    file_ratio: float  # span over number of rows times mean row time in the file
    gyro_scale: tuple[
        float, float, float
    ]  # rotation by the attitude over that by gyroscope and reconstructed time; 95 % interval
    halves: float  # rms difference of 100 intervals by left and right legs, in standard deviations
    by_rows: float  # correlation of accelerations from q and from v, if rows were equally spaced
    by_readings: float  # with the reconstructed time
    imu_lag: tuple[float, float, float] | None  # [s], delay of the IMU relative to the joints; 95 % interval


def read(folder: str | Path) -> list[Log]:
    """Return the recordings of a folder, .npz files with ``q``, ``v``, ``torques`` and IMU readings a row.

    Args:
        folder: The folder. Files whose names end in ``-test`` are reserved for acceptance, and are not opened.

    Raises:
        InputError: The folder does not exist or contains no recording.
    """
    paths = [p for p in sorted(Path(folder).glob("*.npz")) if not p.stem.endswith("-test")]
    if not paths:
        raise InputError(f"there are no recordings (.npz) of a Mini Cheetah in '{folder}'")
    return [_read(path) for path in paths]


def _read(path: Path) -> Log:
    try:
        with np.load(path, allow_pickle=False) as data:
            found = {key: np.asarray(data[key], dtype=float) for key in _KEYS}
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path} is not a recording of a Mini Cheetah: {reason(error)}") from None
    rows = len(found["q"])
    for key in _KEYS[1:]:
        width = 3 if key.startswith("imu") else 12
        if found[key].shape != (rows, width) or not np.isfinite(found[key]).all():
            raise InputError(f"{path}: {key} must be finite and of shape ({rows}, {width}), got {found[key].shape}")
    order = list(LEG_ORDER)
    return Log(
        name=path.stem,
        row_time=float(found["dt"]),
        q=found["q"][:, order],
        v=found["v"][:, order],
        command=found["torques"][:, order],
        gyroscope=found["imu_ang_vel"],
        attitude=found["imu_ori"],
    )


def timing(log: Log) -> Timing:
    """Reconstruct the time of a recording and check it against independent data."""
    times, robot = log.times, ff.load("mini_cheetah")
    left, right = (rebuild_times(log.q, log.v, np.array(own)) for own in ([0, 1, 2, 6, 7, 8], [3, 4, 5, 9, 10, 11]))
    step = 100
    apart = (np.diff(t.time[::step]) for t in (left, right))
    variances = np.cumsum(np.r_[0.0, left.deviation**2 + right.deviation**2])[::step]
    z = np.subtract(*apart) / np.sqrt(np.diff(variances))
    return Timing(
        name=log.name,
        readings=len(times.rows),
        span=float(times.time[-1]),
        span_deviation=times.span_deviation,
        interval_deviation=float(np.median(times.deviation)),
        file_ratio=float(times.time[-1] / (log.row_time * (times.rows[-1] - times.rows[0]))),
        gyro_scale=gyro_scale(log),
        halves=float(np.sqrt(np.mean(z**2))),
        by_rows=_agreement(log, times.rows * log.row_time),
        by_readings=_agreement(log, times.time),
        imu_lag=imu_lag(log, robot) if log.hangs else None,
    )


def gyro_scale(log: Log) -> tuple[float, float, float]:
    """Return the rotation by the attitude over that by gyroscope and reconstructed time: 1 if correct.

    Neither is used to reconstruct the time. By least squares over all IMU readings, with a 95 % interval by blocks of
    0.5 s.
    """
    from scipy.spatial.transform import Rotation

    rows = log.imu_rows
    time = log.times.at(rows)
    R = Rotation.from_euler("ZYX", log.attitude[rows][:, ::-1])
    turned = (R[:-1].inv() * R[1:]).as_rotvec()
    rate = 0.5 * (log.gyroscope[rows][1:] + log.gyroscope[rows][:-1])
    across, along = np.sum(turned * rate, axis=1), np.sum(rate * rate, axis=1) * np.diff(time)
    block = ((time[1:] - time[0]) / BLOCK).astype(int)
    parts = np.stack([np.bincount(block, weights=x) for x in (across, along)], axis=1)
    return _bootstrap(parts, lambda total: float(total[0] / total[1]))


def imu_lag(log: Log, robot: Robot) -> tuple[float, float, float] | None:
    """Return the delay of the IMU's rates relative to the joints' [s], with a 95 % interval; None if undetermined.

    A suspended trunk rotates against its legs: about the vertical, where its rope constrains it least, the rate that
    conserves angular momentum is compared with the gyroscope's between 4 and 30 Hz.
    """
    from scipy.signal import butter, sosfiltfilt

    momentum = ff.compile(ff.dynamics.momentum_matrix, robot)
    q, _ = robot.state("stand")
    times = log.times
    reaction = np.zeros(len(times.rows))
    for k, row in enumerate(times.rows):
        q[7:] = log.q[row]
        A = np.asarray(momentum(q))
        reaction[k] = -np.linalg.solve(A[:3, :3], A[:3, 6:] @ log.v[row])[2]
    grid = np.arange(times.time[20], times.time[-20], _GRID)
    band = butter(2, _BAND, "bandpass", fs=1.0 / _GRID, output="sos")
    imu = log.imu_rows
    expected = sosfiltfilt(band, np.interp(grid, times.time, reaction))
    measured = sosfiltfilt(band, np.interp(grid, times.at(imu), log.gyroscope[imu, 2]))
    margin = 2 * int(_LAGS[-1])
    here = slice(margin, -margin)
    products = np.stack([expected[here] * np.roll(measured, -lag)[here] for lag in _LAGS], axis=1)
    size = round(BLOCK / _GRID)
    parts = np.add.reduceat(products, np.arange(0, len(products), size), axis=0)
    if parts.sum(axis=0).max() < 0.4 * np.sqrt(np.sum(expected[here] ** 2) * np.sum(measured[here] ** 2)):
        return None
    return _bootstrap(parts, lambda total: float(_LAGS[int(np.argmax(total))]) * 1e-3)


def _bootstrap(parts: Float[ndarray, "blocks n"], of: Callable[[ndarray], float]) -> tuple[float, float, float]:
    """Return a statistic of the sum of blocks, and its 95 % interval by the bootstrap."""
    rng = np.random.default_rng(0)
    drawn = [of(parts[rng.integers(0, len(parts), len(parts))].sum(axis=0)) for _ in range(_DRAWS)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return of(parts.sum(axis=0)), float(low), float(high)


def _agreement(log: Log, time: Float[ndarray, "n"]) -> float:
    """Return the correlation of joint accelerations from angles and from rates, smoothed over 22 ms."""
    from scipy.interpolate import interp1d
    from scipy.signal import savgol_filter

    h, rows = 2e-3, log.times.rows
    grid = np.arange(time[2], time[-3], h)
    q, v = (interp1d(time, x[rows], axis=0)(grid) for x in (log.q, log.v))
    by_v = savgol_filter(v, 11, 2, deriv=1, delta=h, axis=0)
    by_q = savgol_filter(q, 11, 3, deriv=2, delta=h, axis=0)
    return float(np.corrcoef(by_v.ravel(), by_q.ravel())[0, 1])


__all__ = ["Log", "Timing", "gyro_scale", "imu_lag", "read", "timing"]
