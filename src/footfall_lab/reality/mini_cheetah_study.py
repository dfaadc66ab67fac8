"""``footfall reproduce mini_cheetah --recordings FOLDER``: the Mini Cheetah's model against a real one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import footfall as ff
from footfall.draw.style import COLORS, new_figure, style
from footfall.errors import InputError
from footfall_lab.papers.claims import Claim, Outcome, Table
from footfall_lab.reality import mini_cheetah_air as air
from footfall_lab.reality.mini_cheetah import Log, Timing, read, timing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "mini_cheetah"
TITLE = "A real Mini Cheetah: recordings without time stamps"
SUMMARY = (
    "Recordings of a real Mini Cheetah (Lin, Zhang, Yu and Ghaffari 2021) in the air and on the ground. Their rows have"
    " no time stamps; time is reconstructed from joint angles and rates, and checked against gyroscope, attitude and"
    " the mean row time in the files."
)
CAPTIONS = {
    "time": "Intervals between readings of the joints; rotation by the attitude over that by gyroscope and this time."
}
PLANTED = np.array([[6.0, 0.8, 1.0, 30.0, 0.1], [8.0, 0.7, 2.0, 50.0, 0.2], [10.0, 0.6, 1.5, 40.0, 0.3]])  # in UNITS
_LENGTH = 0.05  # [s], length of the fitted windows
_GAINS = (0.4, 0.6, 0.8, 1.0, 1.2)
_SHIFT = 0.05  # largest deviation of an independent scale from 1


def run(
    quick: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    workers: int = 1,
    recordings: str | Path | None = None,
) -> Outcome:
    """Reconstruct and check the time of every recording of a folder; ``quick``: of the first three."""
    if recordings is None:
        raise InputError("the recordings of a Mini Cheetah are not part of footfall: name their folder")
    logs = read(recordings)[: 3 if quick else None]
    rows = []
    for k, log in enumerate(logs):
        if progress is not None:
            progress(f"time of {log.name}", k, len(logs))
        rows.append(timing(log))
    tables = [table(rows)]
    if {"air_walking_gait", "air_jumping_gait"} <= {log.name for log in logs}:
        if progress is not None:
            progress("legs in the air", len(logs) - 1, len(logs))
        tables += air_tables(logs, draws=4 if quick else 20)
    return Outcome(
        experiment=NAME,
        title=TITLE,
        summary=SUMMARY,
        claims=claims(rows),
        figures={"time": figure(logs, rows)},
        captions=CAPTIONS,
        tables=tuple(tables),
        settings={
            "bootstrap": "blocks of 0.5 s",
            "legs": "RF, LF, RH, LH in the files",
            "split": "first 60 % fitted, 1 s omitted, the rest for testing; fitted only to walking in the air",
        },
    )


def air_tables(logs: Sequence[Log], draws: int) -> list[Table]:
    """Fit the response from command to motion to walking in the air; return tables of parameters and predictions."""
    named = {log.name: log for log in logs}
    walk, jump = named["air_walking_gait"], named["air_jumping_gait"]
    ours, theirs = air.Ours(), air.Theirs()
    fitted = air.windows(walk, _LENGTH, "fit")
    found = air.fit(ours, [fitted], rounds=20)
    their = air.fit(theirs, [fitted])
    drawn = [
        air.fit(ours, [air.drawn_blocks(fitted, seed)], begin=found.parameters, rounds=6).parameters
        for seed in range(draws)
    ]
    return [
        _foretold(walk, jump, (ours, found), (theirs, their)),
        _found(found, np.array(drawn), their),
        _gains(ours, fitted, found),
        _recovered(walk, ours),
    ]


def _foretold(
    walk: Log, jump: Log, ours: tuple[air.Ours, air.Response], theirs: tuple[air.Theirs, air.Response]
) -> Table:
    rows = []
    for log, part, words in ((walk, "test", "walking, test"), (jump, "all", "jumping, not fitted")):
        for length in (0.05, 0.2):
            here = air.windows(log, length, part)
            still = [s[0] + g[:, None] * s[1] for s, g in zip(here.start, here.grid)]
            errors = [np.concatenate([(q - read).ravel() for q, read in zip(still, here.read)])]
            for model, response in (ours, theirs):
                errors += [air.residuals(model, [here], p) for p in (air.NOMINAL, response.parameters)]
            cells = [f"{1e3 * np.sqrt(np.mean(e**2)):.0f}" for e in errors]
            rows.append((words, f"{1e3 * length:.0f} ms", str(len(here.start)), *cells))
    header = ("recording", "window", "windows", "constant rate", "model", "identified", "MuJoCo", "MuJoCo, identified")
    note = "Rms error of the joint angles over a window [mrad], rolled out from its first reading; no free parameters."
    return Table(title="Legs in the air, predicted", header=header, rows=tuple(rows), note=note)


def _found(found: air.Response, drawn: np.ndarray, their: air.Response) -> Table:
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    model = _model_inertia()
    rows = []
    for k, kind in enumerate(air.KINDS):
        own, draw, other = found.parameters[k], drawn[:, k], their.parameters[k]
        combined = (model[k] + draw[:, 2]) / draw[:, 1]
        a, b = np.percentile(combined, [2.5, 97.5])
        rows.append(
            (
                kind,
                f"{own[0]:.1f} ({low[k, 0]:.1f} to {high[k, 0]:.1f})",
                f"{(model[k] + own[2]) / own[1]:.1f} ({a:.1f} to {b:.1f})",
                f"{model[k]:.1f}",
                f"{own[1]:.2f}",
                f"{own[2]:.1f}",
                f"{own[4]:.2f}",
                f"{found.correlation[5 * k + 1, 5 * k + 2]:.2f}",
                f"{other[0]:.1f}",
                f"{(model[k] + other[2]) / other[1]:.1f}",
            )
        )
    header = (
        "joints",
        "delay [ms]",
        "inertia over gain [g m²]",
        "of the model",
        "gain",
        "further inertia [g m²]",
        "dry friction [N m]",
        "correlation of gain and inertia",
        "MuJoCo: delay",
        "inertia over gain",
    )
    note = (
        "Fitted to windows of 50 ms of the first 60 % of walking in the air. In brackets 95 % intervals by refits to"
        " blocks of 0.5 s. Inertia: of the joint with everything that it carries, standing, rotor included."
    )
    return Table(title="From command to motion", header=header, rows=tuple(rows), note=note)


def _gains(model: air.Ours, fitted: air.Windows, found: air.Response) -> Table:
    inertia, rows = _model_inertia(), []
    for kind in (1, 2):
        for gain, cost, own in air.profile(model, [fitted], found, kind, _GAINS):
            combined = (inertia[kind] + own[2]) / gain
            rows.append(
                (air.KINDS[kind], f"{gain:g}", f"{100 * (cost - 1):+.1f} %", f"{combined:.1f}", f"{own[0]:.1f}")
            )
    header = ("joints", "fixed gain", "cost", "inertia over gain [g m²]", "delay [ms]")
    note = "All other parameters refitted: a gain alone is not determined by this recording; inertia over gain is."
    return Table(title="Profile of the gain", header=header, rows=tuple(rows), note=note)


def _recovered(walk: Log, model: air.Ours) -> Table:
    rows = []
    for noise in (0.0, 0.1):
        made = air.simulated(walk, PLANTED, noise=noise)
        got = air.fit(model, [air.windows(made, _LENGTH, "fit")], rounds=20)
        for k, kind in enumerate(air.KINDS):
            cells = (f"{PLANTED[k, i]:g}: {got.parameters[k, i]:.2f}" for i in range(5))
            rows.append((f"{noise:g} rad/s", kind, *cells))
    header = ("noise of rates", "joints", *(f"{name} [{unit}]" for name, unit in zip(air.NAMES, air.UNITS)))
    note = "True and identified values, for a simulated plant under PD on noisy readings."
    return Table(title="Recovery of known values", header=header, rows=tuple(rows), note=note)


def _model_inertia() -> np.ndarray:
    """Return the inertia about abad, hip and knee of the library's robot, standing [g m²]."""
    robot = ff.load("mini_cheetah").replace(floating=False)
    return 1e3 * np.diag(ff.dynamics.mass_matrix(robot, np.array(robot.poses["stand"].joints)))[:3]


def claims(rows: Sequence[Timing]) -> tuple[Claim, ...]:
    """Return the questions about the reconstructed time."""
    scales = np.array([row.gyro_scale[0] for row in rows])
    ratios, after = np.array([row.file_ratio for row in rows]), np.array([row.by_readings for row in rows])
    halves = np.array([row.halves for row in rows])
    worst, ratio = scales[np.argmax(np.abs(scales - 1.0))], ratios[np.argmax(np.abs(ratios - 1.0))]
    asked = (
        ("gyro", "attitude over gyroscope and reconstructed time, worst", worst, "1", abs(worst - 1.0) < _SHIFT),
        ("rows", "span over rows times the file's mean row time, worst", ratio, "1", abs(ratio - 1.0) < _SHIFT),
        (
            "acceleration",
            "correlation of accelerations by angles and by rates, least",
            after.min(),
            "1",
            after.min() > 0.95,
        ),
        (
            "halves",
            "difference of left and right legs in standard deviations, largest",
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
    """Return a table of the reconstructed time of every recording with its checks."""
    header = (
        "recording",
        "readings",
        "span [s]",
        "over the file's",
        "attitude over gyroscope",
        "left and right legs",
        "correlation, rows equally spaced",
        "reconstructed",
        "IMU delay [ms]",
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
        " 100 readings, in standard deviations. Correlation: of joint accelerations by angles and by rates, smoothed"
        " over"
        " 22 ms."
    )
    return Table(title="Reconstructed time", header=header, rows=tuple(cells(row) for row in rows), note=note)


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
