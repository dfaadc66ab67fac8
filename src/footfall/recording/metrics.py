"""Distances between two runs of the same robot: the figures of section 7 of de Paula et al. 2024.

Both recordings are compared at the times they share, so that a run that stopped early is compared while it lasted.
A mean absolute error is the mean of |a - b| over those times.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.errors import InputError
from footfall.recording.recording import Recording
from nptrace.array_types import Float

_TICKS = 1e7  # times are equal if they agree to 0.1 microseconds


def position_mae(a: Recording, b: Recording) -> Float[ndarray, "3"]:
    """Return the mean absolute error of the trunk's position, x, y, z [m]."""
    rows_a, rows_b = shared_rows(a, b)
    return np.abs(a.trunk_position[rows_a] - b.trunk_position[rows_b]).mean(axis=0)


def euler_mae_deg(a: Recording, b: Recording, order: str = "zyx") -> Float[ndarray, "3"]:
    """Return the mean absolute error of the trunk's Euler angles [deg], in their order: yaw, pitch, roll for ``zyx``.

    A difference is taken in the shorter direction.
    """
    rows_a, rows_b = shared_rows(a, b)
    apart = a.trunk_euler(order)[rows_a] - b.trunk_euler(order)[rows_b]
    return np.degrees(np.abs((apart + np.pi) % (2.0 * np.pi) - np.pi)).mean(axis=0)


def force_mae(a: Recording, b: Recording, foot: str | None = None) -> float:
    """Return the mean absolute error of the vertical ground reaction force in a step [N], for one foot or all of
    them.
    """
    rows_a, rows_b = shared_rows(a, b)
    feet = _feet(a, foot)
    return float(np.abs(a.force[rows_a][:, feet, 2] - b.force[rows_b][:, feet, 2]).mean())


def contact_agreement(a: Recording, b: Recording, foot: str | None = None) -> float:
    """Return the fraction of the time, 0 to 1, in which both report the same contact; for one foot or all of them."""
    rows_a, rows_b = shared_rows(a, b)
    feet = _feet(a, foot)
    return float((a.contact[rows_a][:, feet] == b.contact[rows_b][:, feet]).mean())


def peak_force(rec: Recording, foot: str | None = None, percentile: float = 100.0) -> float:
    """Return the largest vertical ground reaction force in a step [N]; a ``percentile`` below 100 ignores rare spikes.

    It grows as steps get shorter where feet strike the ground: ``peak_force_mean`` converges.
    """
    if not 0.0 <= percentile <= 100.0:
        raise InputError(f"a percentile must lie between 0 and 100, got {percentile}")
    return float(np.percentile(rec.force[:, _feet(rec, foot), 2], percentile))


def force_mean_mae(a: Recording, b: Recording, foot: str | None = None) -> float:
    """Return the mean absolute error of the vertical ground reaction force, mean over 10 ms [N], for one foot or
    all.
    """
    rows_a, rows_b = shared_rows(a, b)
    feet = _feet(a, foot)
    return float(np.abs(a.force_mean[rows_a][:, feet, 2] - b.force_mean[rows_b][:, feet, 2]).mean())


def peak_force_mean(rec: Recording, foot: str | None = None) -> float:
    """Return the largest vertical ground reaction force, mean over 10 ms [N]."""
    return float(rec.force_mean[:, _feet(rec, foot), 2].max(initial=0.0))


def wall_seconds(rec: Recording) -> float:
    """Return the time spent stepping [s], as measured by the engine that made the recording."""
    if "wall_seconds" not in rec.meta:
        raise InputError(f"this recording of '{rec.robot.name}' does not record how long it took")
    return float(rec.meta["wall_seconds"])


def shared_rows(a: Recording, b: Recording) -> tuple[ndarray, ndarray]:
    """Return the rows of each at common times."""
    if a.robot.foot_names != b.robot.foot_names or a.robot.nq != b.robot.nq:
        raise InputError(
            f"robots '{a.robot.name}' and '{b.robot.name}' cannot be compared: their feet or joints differ"
        )
    ticks_a, ticks_b = (np.round(rec.time * _TICKS).astype(np.int64) for rec in (a, b))
    common, rows_a, rows_b = np.intersect1d(ticks_a, ticks_b, return_indices=True)
    if not len(common):
        raise InputError("the recordings share no times: record both at the same rate")
    return rows_a, rows_b


def _feet(rec: Recording, foot: str | None) -> list[int]:
    return list(range(rec.robot.nf)) if foot is None else [rec.robot.foot_index(foot)]
