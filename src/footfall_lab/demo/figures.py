"""The figures of the demo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.draw.style import COLORS, GREY, new_figure, style
from footfall.recording.recording import Recording
from footfall_lab.demo.runs import Many
from footfall_lab.demo.scene import Pair

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS, THEIRS = COLORS[0], COLORS[1]
FOOT = "LF"


def overlaid(pairs: Sequence[Pair]) -> Figure:
    """Return a figure of trunk position and foot force of every pair, MuJoCo as a wide line, ours on top."""
    with style(axes_titlelocation="left"):
        figure = new_figure(10.0, 2.5 * len(pairs) + 0.3)
        axes = figure.subplots(len(pairs), 3, squeeze=False, gridspec_kw={"width_ratios": [1, 1, 1.6]})
        for row, pair in zip(axes, pairs):
            for axis, column, name in ((row[0], 0, "forward x [m]"), (row[1], 2, "height z [mm]")):
                unit = 1.0 if column == 0 else 1e3
                _both(axis, *((rec.time, unit * rec.trunk_position[:, column]) for rec in (pair.theirs, pair.ours)))
                axis.set_title(f"{pair.name}: {name}")
            _forces(row[2], pair.ours, pair.theirs, (1.0, 2.5))
            row[2].set_title(f"{pair.name}: force on the {FOOT} foot [N], mean over 10 ms")
            row[2].set_ylim(0.0, None)
        for axis in axes[-1]:
            axis.set_xlabel("time [s]")
        _legend(figure, axes[0, 0])
        return figure


def trot(ours: Recording, theirs: Recording) -> Figure:
    """Return a figure of the paper's trot: the trunk over ten seconds, and the force on the left fore foot enlarged."""
    with style(axes_titlelocation="left"):
        figure = new_figure(10.0, 4.4)
        grid = figure.add_gridspec(2, 3, height_ratios=[1.0, 1.15])
        angles = [np.degrees(np.unwrap(rec.trunk_euler(), axis=0)) for rec in (theirs, ours)]
        signals = (
            ("forward x [m]", [rec.trunk_position[:, 0] for rec in (theirs, ours)]),
            ("height z [mm]", [1e3 * rec.trunk_position[:, 2] for rec in (theirs, ours)]),
            ("yaw [deg]", [angle[:, 0] for angle in angles]),
        )
        for column, (name, values) in enumerate(signals):
            axis = figure.add_subplot(grid[0, column])
            _both(axis, (theirs.time, values[0]), (ours.time, values[1]))
            axis.set_title(name)
            if column == 0:
                first = axis
        axis = figure.add_subplot(grid[1, :])
        _forces(axis, ours, theirs, (4.0, 6.0), smooth=False)
        axis.set_title("vertical force on the left fore foot [N], 4 to 6 s")
        axis.set_xlabel("time [s]")
        _legend(figure, first)
        return figure


def times(seconds: Mapping[str, float]) -> Figure:
    """Return computing times on one logarithmic axis [s]."""
    with style(axes_titlelocation="left"):
        figure = new_figure(6.4, 1.75)  # readable on a phone, where it is not scrolled
        axis = figure.subplots()
        names = list(seconds)
        colors = [OURS if name.startswith("footfall") else THEIRS if "MuJoCo" in name else GREY for name in names]
        axis.barh(range(len(names)), list(seconds.values()), color=colors, height=0.66)
        axis.set_yticks(range(len(names)), names)
        axis.invert_yaxis()
        axis.set_xscale("log")
        axis.set_xlim(0.3 * min(seconds.values()), 3.0 * max(seconds.values()))
        for k, value in enumerate(seconds.values()):
            axis.text(1.1 * value, k, f"{value:.2g} s" if value < 10 else f"{value:.0f} s", va="center", fontsize=9)
        axis.set_title("computing time of 10 s of the paper's trot")
        axis.grid(False, axis="y")
        return figure


def many(found: Many) -> Figure:
    """Return a figure of the paths of all robots from above and their speeds, coloured by ground friction."""
    from matplotlib.collections import LineCollection

    with style(axes_titlelocation="left"):
        figure = new_figure(10.0, 4.4)
        axis, beside = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1.0, 1.35]})
        lines = LineCollection(list(found.paths), cmap="viridis", linewidths=0.7, alpha=0.75)
        lines.set_array(found.friction)
        axis.add_collection(lines)
        axis.plot(*found.paths[:, -1].T, ".", color="#1d232a", markersize=1.6)
        axis.set_aspect("equal")
        axis.autoscale()
        axis.set_xlabel("x [m]")
        axis.set_ylabel("y [m]")
        axis.set_title("paths from above")
        beside.plot([0.1, 0.7], [0.1, 0.7], color=GREY, lw=0.8)
        beside.scatter(found.commanded, found.speed, c=found.friction, s=5.0, cmap="viridis")
        beside.set_xlabel("commanded speed [m/s]")
        beside.set_ylabel("speed of the last 2 s [m/s]")
        beside.set_title("every robot's speed")
        figure.colorbar(lines, ax=beside, label="friction coefficient", shrink=0.8)
        return figure


def _forces(axis: Axes, ours: Recording, theirs: Recording, window: tuple[float, float], smooth: bool = True) -> None:
    """Draw MuJoCo's force filled in grey and ours as a line on it."""
    for rec, mine in ((theirs, False), (ours, True)):
        chosen = (rec.time >= window[0]) & (rec.time <= window[1])
        k = rec.robot.foot_names.index(FOOT)
        force = (rec.force_mean if smooth else rec.force)[chosen, k, 2]
        if mine:
            axis.plot(rec.time[chosen], force, color=OURS, lw=1.1)
        else:
            axis.fill_between(rec.time[chosen], force, color=THEIRS, alpha=0.35, lw=0)
    axis.set_xlim(*window)


def _both(axis: Axes, theirs: tuple[ndarray, ndarray], ours: tuple[ndarray, ndarray]) -> None:
    axis.plot(*theirs, color=THEIRS, lw=3.2, alpha=0.45, label="MuJoCo", solid_capstyle="butt")
    axis.plot(*ours, color=OURS, lw=1.1, label="footfall")
    axis.set_xlim(0.0, float(ours[0][-1]))


def _legend(figure: Figure, axis: Axes) -> None:
    handles, labels = axis.get_legend_handles_labels()
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(h_pad=0.08)  # type: ignore[call-arg]
    # on the left, to be visible in a narrow window
    figure.legend(handles, labels, loc="outside upper left", ncols=2, handlelength=2.2, borderaxespad=0.1)
