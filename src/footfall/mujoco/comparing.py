"""``ff.compare``: the same robot, controller, ground and start in footfall and in MuJoCo, side by side."""

from __future__ import annotations

import copy
import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from footfall.errors import InputError
from footfall.mujoco.run import run_mujoco
from footfall.recording import metrics
from footfall.recording.comparison import Differences, compare_recordings
from footfall.recording.landings import Landings
from footfall.recording.recording import Recording
from footfall.sim.running import Progress, ProgressBar
from footfall.sim.simulation import Simulation
from nptrace._types import Json


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two recordings of the same run, from footfall and from MuJoCo."""

    footfall: Recording
    mujoco: Recording

    @property
    def differences(self) -> Differences:
        """Return the differences, quantity by quantity."""
        return compare_recordings(self.footfall, self.mujoco)

    def to_json(self) -> dict[str, Json]:
        """Return the JSON object of ``footfall compare``; pairs are footfall's, then MuJoCo's."""
        return distances(self.footfall, self.mujoco)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the main results, as (quantity, footfall, MuJoCo)."""

        def row(name: str, of: Callable[[Recording], str]) -> tuple[str, str, str]:
            return name, of(self.footfall), of(self.mujoco)

        return [
            row("mean speed of the second half", lambda rec: f"{_speed(rec):.3f} m/s"),
            row("fell", lambda rec: "yes" if rec.meta.get("fell") else "no"),
            row("largest vertical force, mean over 10 ms", lambda rec: f"{metrics.peak_force_mean(rec):.0f} N"),
            row("largest vertical force in a step", lambda rec: f"{metrics.peak_force(rec):.0f} N"),
            row("time spent stepping", lambda rec: f"{metrics.wall_seconds(rec):.3f} s"),
        ]

    def __repr__(self) -> str:
        rows = [("", "footfall", "MuJoCo"), *self.rows()]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        lines = [
            "  ".join((row[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(row[1:], widths[1:])))) for row in rows
        ]
        return "\n".join([*lines, why_peaks_differ(self.footfall, self.mujoco), repr(self.differences)])

    def _repr_html_(self) -> str:
        rows = [("", "footfall", "MuJoCo"), *self.rows()]
        cells = ["<tr>" + "".join(f"<td>{html.escape(x)}</td>" for x in row) + "</tr>" for row in rows]
        why = html.escape(why_peaks_differ(self.footfall, self.mujoco))
        return f"<table>{''.join(cells)}</table><p>{why}</p>{self.differences._repr_html_()}"


def compare(simulation: Simulation, duration: float = 10.0, progress: Progress = False) -> Comparison:
    """Run a simulation in footfall and in MuJoCo, from its current state, and compare them.

    The controller, which may be user-defined, is compiled once and called in both. MuJoCo has the ground and the
    contact settings of ``footfall compare``. The simulation itself is not changed.

    Args:
        simulation: Robot, controller, ground, command and pushes; on the true state, without sensors.
        duration: Duration of the run [s].
        progress: True shows a bar; a function is called with (what, ticks done, ticks in all).

    Returns:
        Both recordings, with a table of their differences: ``print(ff.compare(sim))``.
    """
    if not isinstance(simulation, Simulation):
        raise InputError(f"compare takes a Simulation, got {type(simulation).__name__}")
    if simulation.sensors is not None:
        raise InputError("compare runs controllers on the true state in both simulators: remove the sensors")
    ticks = max(1, round(duration / simulation.model.period))
    with ProgressBar(progress, 2 * ticks) as bar:
        theirs = run_mujoco(simulation, duration, progress=bar)
        ours = copy.copy(simulation).run(duration, progress=False)
        bar(ticks)
    return Comparison(footfall=ours, mujoco=theirs)


def distances(ours: Recording, theirs: Recording) -> dict[str, Json]:
    """Return the JSON object of a comparison; pairs are ours, then theirs."""
    landings = [Landings.of(rec) for rec in (ours, theirs)]
    return {
        "position_mae": metrics.position_mae(ours, theirs).tolist(),
        "euler_mae_deg": metrics.euler_mae_deg(ours, theirs).tolist(),
        "force_mae": metrics.force_mae(ours, theirs),
        "force_mean_mae": metrics.force_mean_mae(ours, theirs),
        "contact_agreement": metrics.contact_agreement(ours, theirs),
        "peak_force": [metrics.peak_force(rec) for rec in (ours, theirs)],
        "peak_force_mean": [metrics.peak_force_mean(rec) for rec in (ours, theirs)],
        "landing_speed": [None if landing is None else landing.speed for landing in landings],
        "stop_time": [None if landing is None else landing.stop_time for landing in landings],
        "why_peaks_differ": why_peaks_differ(ours, theirs, landings),
        "wall_seconds": [metrics.wall_seconds(rec) for rec in (ours, theirs)],
    }


def why_peaks_differ(ours: Recording, theirs: Recording, landings: Sequence[Landings | None] | None = None) -> str:
    """Return a sentence on the largest forces: how long each contact takes to stop a landing foot, and what follows.

    Equal impulses stop a foot of a given speed in both; the mean force is inversely proportional to the duration."""
    here, there = [Landings.of(rec) for rec in (ours, theirs)] if landings is None else landings
    if here is None or there is None:
        return "No foot lands in both runs, so that the largest forces are those of stance."
    step, mean = (f(ours) / f(theirs) for f in (metrics.peak_force, metrics.peak_force_mean))
    times = " and ".join(f"{1e3 * t:.0f}" for t in theirs.meta.get("contact_times", ()))
    expected = here.speed / here.stop_time * there.stop_time / there.speed
    return (
        f"Largest forces: in the median of {here.count} and {there.count} landings, footfall's contact stops a foot of"
        f" {here.speed:.2f} m/s within {1e3 * here.stop_time:.3g} ms, MuJoCo's a foot of {there.speed:.2f} m/s within"
        f" {1e3 * there.stop_time:.3g} ms{f' (time constants of its contact: {times} ms)' if times else ''}, so that"
        f" stopping alone takes {expected:.2g} times the mean force here; the largest in a step is {step:.2g} times"
        f" MuJoCo's, the largest mean over 10 ms, in which the foot's whole landing counts, {mean:.2g} times."
    )


def _speed(rec: Recording) -> float:
    half = 0.5 * float(rec.time[0] + rec.time[-1]) if len(rec) else 0.0
    return rec.mean_speed(half) if len(rec) > 2 and rec.robot.floating else float(np.nan)


__all__ = ["Comparison", "compare", "distances"]
