"""The figures of de Paula et al. 2024 reproduced, and those behind our verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import numpy as np

from footfall.draw.style import new_figure, style
from footfall.recording.recording import Recording
from footfall_lab.papers.depaula2024.convergence import ENOUGH, Study
from footfall_lab.papers.depaula2024.runs import DT, READINGS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


OURS, THEIRS, GREY = "#0072b2", "#d55e00", "#606060"
_COLORS = {
    "explicit": "#0072b2",
    "heun": "#56b4e9",
    "implicit_soft": "#009e73",
    "implicit": "#cc79a7",
    "explicit_damped": "#e69f00",
    "printed": "#1d232a",
}
_MARKERS = {"explicit": "o", "heun": "s", "implicit_soft": "D", "implicit": "^", "explicit_damped": "v", "printed": "*"}


def trunk(ours: Recording, theirs: Recording) -> Figure:
    """Draw Fig. 5: the trunk's position and orientation in both simulators."""
    with _style():
        figure = new_figure(10.0, 4.8)
        axes = figure.subplots(2, 3, sharex=True)
        titles = (("x, forward", "y, left", "z, up"), ("yaw ψ", "pitch θ", "roll φ"))
        for rec, label, color, dash in ((ours, "footfall", OURS, "-"), (theirs, "MuJoCo", THEIRS, (0, (4, 1.5)))):
            position = 1e3 * rec.trunk_position
            angles = np.degrees(np.unwrap(rec.trunk_euler(), axis=0))
            for row, values in enumerate((position, angles)):
                for column in range(3):
                    axes[row, column].plot(
                        rec.time, values[:, column], color=color, linestyle=dash, label=label, lw=0.9
                    )
        for row in range(2):
            for column in range(3):
                axes[row, column].set_title(f"{titles[row][column]} [{('mm', 'deg')[row]}]")
        for axis in axes[1]:
            axis.set_xlabel("time [s]")
            axis.set_xlim(0.0, float(ours.time[-1]))
        _legend(figure, axes[0, 0])
        return figure


def contact(
    ours: Recording, theirs: Recording, implicit: Recording, foot: str = "LF", window: tuple[float, float] = (5.0, 6.2)
) -> Figure:
    """Draw Fig. 6: contact and vertical force of a foot; below, a part enlarged, with our default scheme."""
    from footfall.analysis.plots import spans

    k = ours.robot.foot_names.index(foot)
    runs = ((ours, "footfall", OURS), (theirs, "MuJoCo", THEIRS))
    with _style():
        figure = new_figure(10.0, 6.6)
        bars, force, near = figure.subplots(3, 1, gridspec_kw={"height_ratios": [0.8, 1.5, 2.2]})
        for row, (rec, label, color) in enumerate(runs):
            touching = [(start, end - start) for start, end in spans(rec.time, rec.contact[:, k])]
            bars.broken_barh(touching, (row - 0.38, 0.76), facecolors=color, linewidth=0)
            for axis, width in ((force, 0.7), (near, 1.2)):
                axis.plot(rec.time, rec.force[:, k, 2], color=color, lw=(1.0 + 0.5 * row) * width, label=label)
        label = f"footfall, {READINGS['implicit_soft'].label}"
        near.plot(implicit.time, implicit.force[:, k, 2], color=_COLORS["implicit_soft"], lw=1.2, label=label)
        bars.set_yticks((0, 1), ("footfall", "MuJoCo"))
        bars.set_ylim(1.6, -0.6)
        bars.grid(False, axis="y")
        bars.set_title(f"{foot} contact activation")
        top = 1.25 * max(float(np.percentile(rec.force[:, k, 2], 99.5)) for rec, _, _ in runs)
        for axis in (force, near):
            axis.set_ylim(-0.03 * top, top)
            axis.set_ylabel("$f_z$ [N]")
        highest = max(float(rec.force[:, k, 2].max()) for rec, _, _ in runs)
        cut = f"; spikes up to {highest:.0f} N are cut off" if highest > top else ""
        force.set_title(f"{foot} vertical ground reaction force{cut}")
        near.set_title(f"the same, {window[0]:g} to {window[1]:g} s, with the linearly implicit scheme")
        for axis, (start, end) in ((bars, (0.0, ours.time[-1])), (force, (0.0, ours.time[-1])), (near, window)):
            axis.set_xlim(start, end)
        force.axvspan(*window, color="#f0f0f0", zorder=0)
        near.set_xlabel("time [s]")
        _legend(figure, near)
        return figure


def convergence(study: Study) -> Figure:
    """Draw errors over the time step, scheme by scheme."""
    with _style():
        figure = new_figure(10.0, 4.0)
        axes = figure.subplots(1, 3)
        titles = {
            "drop": "5 mm drop: error of the trunk after 0.5 s",
            "trot": "first second of trot: error at its end",
            "ten_seconds": "10 s of trot: mean |x - x of MuJoCo|",
        }
        for axis, (case, title) in zip(axes, titles.items()):
            for curve in study.curves:
                if curve.case == case:
                    axis.plot(
                        curve.steps,
                        1e3 * np.array(curve.errors),
                        color=_COLORS[curve.scheme],
                        lw=1.3,
                        ms=4.5,
                        marker=_MARKERS[curve.scheme],
                        label=READINGS[curve.scheme].label,
                    )
            axis.set_xscale("log")
            axis.xaxis.set_minor_formatter("")  # over less than a decade matplotlib would label every tick
            axis.set_title(title)
            axis.set_xlabel("time step [s]")
            axis.axvline(DT, color=GREY, lw=0.8, linestyle=":")
            if case != "ten_seconds":
                axis.set_yscale("log")
                least = min(1e3 * min(curve.errors) for curve in study.curves if curve.case != "ten_seconds")
                axis.set_ylim(0.6 * least, 20.0)
                ticks = [tick for tick in (1e-3, 1e-2, 0.1, 1.0, 10.0) if tick > 0.6 * least]
                axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
                axis.axhline(1e3 * ENOUGH, color=GREY, lw=0.8, linestyle="--")
                axis.text(
                    0.985,
                    1.05e3 * ENOUGH,
                    "0.5 mm: small enough",
                    color=GREY,
                    fontsize=7.5,
                    va="bottom",
                    ha="right",
                    transform=axis.get_yaxis_transform(),
                )
            else:
                axis.set_ylim(0.0, 1.15 * axis.get_ylim()[1])
                axis.axhline(63.0, color=GREY, lw=0.8, linestyle="--")
                axis.text(axis.get_xlim()[0] * 1.1, 63.0, "printed: 63 mm", color=GREY, fontsize=7.5, va="bottom")
        axes[0].set_ylabel("error [mm]")
        _legend(figure, axes[0])
        return figure


def spread(errors: Mapping[str, Sequence[Sequence[float]]], printed: Sequence[float]) -> Figure:
    """Draw the seven errors over gaits, by reading of K, and the printed ones: x y z yaw pitch roll force."""
    names = ("x [mm]", "y [mm]", "z [mm]", "yaw [deg]", "pitch [deg]", "roll [deg]", "LF force [N]")
    random = np.random.default_rng(0)
    with _style():
        figure = new_figure(10.0, 3.6)
        axes = figure.subplots(1, len(names))
        for column, (axis, name) in enumerate(zip(axes, names)):
            for k, (label, rows) in enumerate(errors.items()):
                values = np.array([row[column] for row in rows])
                at = k + 0.5 * (random.random(len(values)) - 0.5)
                axis.plot(at, values, ".", color=(OURS, "#e69f00")[k], ms=4.0, alpha=0.7, label=label)
            axis.axhline(printed[column], color=GREY, lw=1.0, linestyle="--", label="printed")
            axis.set_title(name)
            axis.set_xticks([])
            axis.set_xlim(-0.6, len(errors) - 0.4)
            axis.set_yscale("log")
            axis.grid(False, axis="x")
        _legend(figure, axes[0])
        return figure


# -- helpers -----------------------------------------------------------------------------------------------------------
def _style() -> AbstractContextManager[None]:
    return style(axes_titlelocation="left", legend_fontsize=8.5)


def _legend(figure: Figure, axis: Axes) -> None:
    """Add one legend above all panels."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=len(labels), handlelength=2.2, borderaxespad=0.1)
