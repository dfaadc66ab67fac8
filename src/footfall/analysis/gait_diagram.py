"""Footfall diagrams after Hildebrand 1965, one bar per foot during stance, from gait tables and from recordings.

Feet are ordered from top to bottom as Hildebrand drew them: LH, LF, RF, RH, round the animal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.draw.style import COLORS, GREY, PALE, new_figure, style
from footfall.errors import InputError
from footfall.gait.pattern import LEGS, PATTERNS, Gait
from footfall.gait.pattern import named as gait_named
from nptrace.array_types import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from footfall.recording.recording import Recording

ORDER = ("LH", "LF", "RF", "RH")
GAP = 0.03  # [s]: shorter gaps between contacts are closed, and shorter contacts dropped
Spans = list[tuple[float, float]]


# -- when feet are down ------------------------------------------------------------------------------------------------
def stances_of_gait(gait: Gait, cycles: float = 1.0) -> dict[str, Spans]:
    """Return when each foot stands, in cycles from the touchdown of the left fore foot."""
    _checked_cycles(cycles)
    found: dict[str, Spans] = {}
    for leg, delay in zip(LEGS, gait.delays):
        begins = np.arange(-1, int(np.ceil(cycles)) + 1) + delay
        spans = [(max(b, 0.0), min(b + gait.duty, cycles)) for b in begins.tolist()]
        found[leg] = [(start, end) for start, end in spans if end > start]
    return found


def stances_of_recording(rec: Recording, gap: float = GAP) -> dict[str, Spans]:
    """Return when each foot stood [s]; shorter gaps than ``gap`` [s] are closed, shorter contacts dropped."""
    return {name: _merged(rec.time, rec.contact[:, k], gap) for k, name in enumerate(rec.robot.foot_names)}


def _merged(time: Float[ndarray, "T"], active: ndarray, gap: float) -> Spans:
    if not len(time):
        return []
    edges = np.flatnonzero(np.diff(np.concatenate([[False], np.asarray(active, dtype=bool), [False]]).astype(int)))
    ends = np.concatenate([time, time[-1:]])
    merged: Spans = []
    for a, b in zip(edges[::2], edges[1::2]):
        start, end = float(ends[a]), float(ends[b])
        if merged and start - merged[-1][1] < gap:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return [(start, end) for start, end in merged if end - start >= gap]


def phases_of_recording(rec: Recording, gap: float = GAP) -> dict[str, float]:
    """Return the measured mean delay of each foot's touchdown after LF's [cycles]; NaN for a foot that never lands."""
    stances = stances_of_recording(rec, gap)
    first = rec.time[0] if len(rec) else 0.0
    landings = {leg: np.array([start for start, _ in spans if start > first]) for leg, spans in stances.items()}
    lead = landings.get("LF", np.zeros(0))
    if len(lead) < 2:
        raise InputError("phases need at least two touchdowns of LF in the recording")
    found = {}
    for leg, times in landings.items():
        at = np.searchsorted(lead, times, side="right") - 1
        inside = (at >= 0) & (at < len(lead) - 1)
        phasors = 2j * np.pi * (times[inside] - lead[at[inside]]) / np.diff(lead)[at[inside]]
        phase = float(np.angle(np.exp(phasors).mean()) / (2 * np.pi)) if inside.any() else float("nan")
        found[leg] = max(phase, 0.0) if phase > -1e-3 else phase % 1.0
    return found


# -- figures -----------------------------------------------------------------------------------------------------------
def footfall_diagram(gaits: Gait | str | Sequence[Gait | str] | None = None, cycles: float = 2.0) -> Figure:
    """Plot the gait diagrams of gaits, one panel each.

    Args:
        gaits: Gaits or their names; all patterns unless given.
        cycles: Length of the diagram in gait cycles.

    Returns:
        The figure.
    """
    _checked_cycles(cycles)
    given = [gaits] if isinstance(gaits, (str, Gait)) else list(PATTERNS if gaits is None else gaits)
    known = [gait_named(g) if isinstance(g, str) else g for g in given]
    if not known:
        raise InputError("a gait diagram needs at least one gait")
    columns = min(3, len(known))
    rows = -(-len(known) // columns)
    with style():
        figure = new_figure(1.2 + 2.9 * columns, 0.55 + 1.35 * rows)
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        for axis, gait in zip(grid.ravel(), known):
            _bars(axis, stances_of_gait(gait, cycles), ORDER)
            _count(axis, gait, cycles)
            axis.set_title(f"{gait.name.replace('_', ' ')}, duty {gait.duty:g}", loc="left")
            axis.set_xlim(0.0, cycles)
            axis.set_xticks(np.arange(0, cycles + 0.25, 0.5))
        for axis in grid.ravel()[len(known) :]:
            axis.set_visible(False)
        for axis in grid[-1]:
            axis.set_xlabel("time [cycles]")
        return figure


def footfall_diagram_of(
    rec: Recording, between: tuple[float, float] | None = None, gait: Gait | None = None, gap: float = GAP
) -> Figure:
    """Plot the gait diagram of a recording.

    Args:
        rec: The recording.
        between: Start and end [s]; the whole recording unless given.
        gait: Also print its delays and duty factor beside the measured ones.
        gap: Breaks in contact shorter than this are ignored [s].

    Returns:
        The figure.
    """
    span = rec.between(*between) if between else rec
    stances = stances_of_recording(span, gap)
    order = tuple(leg for leg in ORDER if leg in stances) or tuple(stances)
    if not order:
        raise InputError(f"robot '{rec.robot.name}' has no feet, which a gait diagram needs")
    with style():
        figure = new_figure(9.0, 2.3)
        axis = figure.subplots()
        _bars(axis, stances, order)
        axis.set_xlim(span.time[0], span.time[-1])
        axis.set_xlabel("time [s]")
        try:
            delays = phases_of_recording(span, gap)
        except InputError:
            delays = {}
        for row, leg in enumerate(order):
            duty = sum(end - start for start, end in stances[leg]) / span.duration
            words = f"duty {duty:.2f}" + (f", delay {delays[leg]:.2f}" if leg in delays else "")
            if gait is not None and leg in LEGS:
                words += f"  (gait {gait.duty:.2f}, {gait.delays[LEGS.index(leg)]:.2f})"
            axis.text(1.01, row, words, transform=axis.get_yaxis_transform(), va="center", fontsize=8, color=GREY)
        axis.set_title(f"{rec.robot.name}: footfalls" + (f" of a {gait.name}" if gait else ""), loc="left")
        return figure


def _bars(axis: Axes, stances: dict[str, Spans], order: Sequence[str]) -> None:
    for row, leg in enumerate(order):
        bars = [(start, end - start) for start, end in stances[leg]]
        axis.broken_barh(bars, (row - 0.36, 0.72), facecolors=COLORS[_color(leg)], linewidth=0)
    axis.set_yticks(range(len(order)), order)
    axis.set_ylim(len(order) - 0.4, -0.6)
    axis.grid(False, axis="y")


def _count(axis: Axes, gait: Gait, cycles: float) -> None:
    """Shade the times without any foot on the ground."""
    grid = np.linspace(0.0, cycles, 2001)
    phase = grid[:, None] - np.array(gait.delays)
    flying = ~((phase - np.floor(phase)) < gait.duty).any(axis=1)
    for start, end in _merged(grid, flying, 1e-3):
        axis.axvspan(start, end, color=PALE, zorder=0)


def _color(leg: str) -> int:
    return LEGS.index(leg) if leg in LEGS else 6


def _checked_cycles(cycles: float) -> None:
    if not np.isfinite(cycles) or not 0 < cycles <= 100:
        raise InputError(f"a gait diagram shows more than 0 and at most 100 cycles, got {cycles!r}")
