"""``footfall reproduce mini_cheetah --recordings FOLDER``: what recordings of a real Mini Cheetah say of its model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from footfall.draw.style import COLORS, new_figure, style
from footfall.errors import InputError
from footfall_lab.papers.claims import Claim, Outcome, Table
from footfall_lab.reality.mini_cheetah import Log, Timing, read, timing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "mini_cheetah"
TITLE = "A real Mini Cheetah: recordings without time stamps"
SUMMARY = (
    "Recordings of a real Mini Cheetah (Lin, Zhang, Yu and Ghaffari 2021) in the air and on the ground. Their rows"
    " carry no time; it is rebuilt from joint angles and rates, and checked against gyroscope, attitude and the files'"
    " own mean row time."
)
CAPTIONS = {
    "time": "Intervals between readings of the joints; turns by the attitude over those by gyroscope and rebuilt time."
}
_SHIFT = 0.05  # the most by which an independent scale may differ from 1


def run(
    quick: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    workers: int = 1,
    recordings: str | Path | None = None,
) -> Outcome:
    """Rebuild and check the time of every recording of a folder; ``quick``: of the first three."""
    if recordings is None:
        raise InputError("the recordings of a Mini Cheetah are not part of footfall: name their folder")
    logs = read(recordings)[: 3 if quick else None]
    rows = []
    for k, log in enumerate(logs):
        if progress is not None:
            progress(f"time of {log.name}", k, len(logs))
        rows.append(timing(log))
    return Outcome(
        experiment=NAME,
        title=TITLE,
        summary=SUMMARY,
        claims=claims(rows),
        figures={"time": figure(logs, rows)},
        captions=CAPTIONS,
        tables=(table(rows),),
        settings={"bootstrap": "blocks of 0.5 s, 400 draws", "legs": "RF, LF, RH, LH in the files"},
    )


def claims(rows: Sequence[Timing]) -> tuple[Claim, ...]:
    """Return the questions that the rebuilt time has to answer with yes."""
    scales = np.array([row.gyro_scale[0] for row in rows])
    ratios, after = np.array([row.file_ratio for row in rows]), np.array([row.by_readings for row in rows])
    halves = np.array([row.halves for row in rows])
    worst, ratio = scales[np.argmax(np.abs(scales - 1.0))], ratios[np.argmax(np.abs(ratios - 1.0))]
    asked = (
        ("gyro", "attitude over gyroscope and rebuilt time, the worst", worst, "1", abs(worst - 1.0) < _SHIFT),
        ("rows", "span over rows times the file's mean row time, the worst", ratio, "1", abs(ratio - 1.0) < _SHIFT),
        (
            "acceleration",
            "correlation of accelerations by angles and by rates, the least",
            after.min(),
            "1",
            after.min() > 0.95,
        ),
        (
            "halves",
            "difference of left and right legs in deviations, the largest",
            halves.max(),
            "1",
            halves.max() < 1.5,
        ),
    )
    return tuple(
        Claim(
            id=f"time-{key}",
            claim=words,
            printed=None,
            measured=round(float(value), 3),
            unit=unit,
            verdict="holds" if good else "does_not_hold",
            note=f"of {len(rows)} recordings",
            ours=True,
        )
        for key, words, value, unit, good in asked
    )


def table(rows: Sequence[Timing]) -> Table:
    """Return the rebuilt time of every recording with its checks."""
    header = (
        "recording",
        "readings",
        "span [s]",
        "over the file's",
        "attitude over gyroscope",
        "left and right legs",
        "correlation, rows equally spaced",
        "rebuilt",
        "IMU behind joints [ms]",
    )

    def cells(row: Timing) -> tuple[str, ...]:
        scale, low, high = row.gyro_scale
        lag = "–" if row.imu_lag is None else "{:.0f} ({:.0f} to {:.0f})".format(*(1e3 * x for x in row.imu_lag))
        return (
            row.name.replace("_", " "),
            str(row.readings),
            f"{row.span:.3f} ± {row.span_deviation:.3f}",
            f"{row.file_ratio:.3f}",
            f"{scale:.3f} ({low:.3f} to {high:.3f})",
            f"{row.halves:.2f}",
            f"{row.by_rows:.2f}",
            f"{row.by_readings:.3f}",
            lag,
        )

    note = (
        "In brackets 95 % intervals by blocks of 0.5 s. Left and right legs: rms of the difference of their times over"
        " 100 readings, in its deviations. Correlation: of joint accelerations by angles and by rates, smoothed over"
        " 22 ms."
    )
    return Table(title="Rebuilt time", header=header, rows=tuple(cells(row) for row in rows), note=note)


def figure(logs: Sequence[Log], rows: Sequence[Timing]) -> Figure:
    """Draw the intervals between readings, and the gyroscope's scale of every recording."""
    with style():
        return _figure(logs, rows)


def _figure(logs: Sequence[Log], rows: Sequence[Timing]) -> Figure:
    drawn = new_figure(9.0, 3.4)
    left, right = drawn.subplots(1, 2)
    intervals = 1e3 * np.concatenate([np.diff(log.times.time) for log in logs])
    left.hist(intervals, bins=np.arange(1.0, 14.0, 0.1), color=COLORS[0])
    left.set_xlabel("interval between readings [ms]")
    left.set_ylabel("count")
    left.set_yscale("log")
    scale = np.array([row.gyro_scale for row in rows])
    at = np.arange(len(rows))
    right.errorbar(scale[:, 0], at, xerr=np.abs(scale[:, 1:] - scale[:, :1]).T, fmt="o", color=COLORS[0], capsize=3)
    right.axvline(1.0, color="0.6", linewidth=1.0)
    right.set_yticks(at, [row.name.replace("_", " ") for row in rows], fontsize=7)
    right.invert_yaxis()
    right.set_xlabel("turn by attitude / by gyroscope and time")
    return drawn
