"""The figures of the DynaKat report reproduced, and those behind our verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.draw.style import Dashes, new_figure, style
from footfall.kinematics.iterative.fabrik_chain import link_lengths, reached_backward, reached_forward
from footfall_lab.papers.dynakat.leg_race import METHODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from footfall.analysis.run_stability import Stability
    from footfall.recording.recording import Recording


_COLORS = {
    "fabrik": "#0072b2",
    "ccd": "#009e73",
    "levenberg": "#d55e00",
    "manipulability": "#e69f00",
    "constant": "#cc79a7",
    "pseudo_inverse": "#56b4e9",
    "transpose": "#606060",
}
_DASHES: dict[str, Dashes] = {
    "fabrik": "-",
    "ccd": (0, (2, 1)),
    "pseudo_inverse": (0, (8, 2)),
    "levenberg": (0, (5, 1.5)),
    "manipulability": (0, (3, 1, 1, 1)),
    "constant": (0, (1, 1)),
    "transpose": (0, (6, 2, 1, 2)),
}


def errors(counts: Sequence[int], curves: Mapping[str, ndarray]) -> Figure:
    """Draw Fig. 1: remaining distance over iterations."""
    with style():
        figure = new_figure(8.0, 4.0)
        axis = figure.subplots()
        for method, quartiles in curves.items():
            color = _COLORS[method]
            shown = np.maximum(1e3 * quartiles, 1e-12)
            axis.plot(counts, shown[:, 1], color=color, linestyle=_DASHES[method], label=METHODS[method], lw=1.6)
            axis.fill_between(counts, shown[:, 0], shown[:, 2], color=color, alpha=0.08, lw=0)
        axis.set(xscale="log", yscale="log", xlabel="iterations", ylim=(1e-10, 300.0), xlim=(counts[0], counts[-1]))
        axis.set_title("distance of the foot from its target [mm]")
        axis.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
        axis.minorticks_off()
        axis.set_ylabel("median, and quartiles shaded")
        axis.legend(loc="lower left", framealpha=0.9)
        return figure


def reaching() -> Figure:
    """Draw Fig. 2: a chain of four points, its target, and the result of each pull."""
    points = np.array([[0.0, 0.0, 0.0], [0.25, 0.9, 0.0], [1.1, 1.25, 0.0], [2.0, 1.1, 0.0]])
    target, root = np.array([2.45, -0.6, 0.0]), points[0]
    lengths = link_lengths(points)
    pulled = [reached_forward(points, lengths, target, links) for links in range(4)]
    back = [reached_backward(pulled[-1], lengths, root, links) for links in (0, 3)]
    panels = [
        ("(a) the chain and its target", points, points),
        ("(b) the end goes to the target", pulled[0], points),
        ("(c) the next point after it", pulled[1], points),
        ("(d) and so on to the root", pulled[3], points),
        ("(e) the root goes back", back[0], pulled[3]),
        ("(f) and the others after it", back[1], pulled[3]),
    ]
    with style():
        figure = new_figure(9.0, 5.2)
        for axis, (title, now, before) in zip(figure.subplots(2, 3).flat, panels):
            axis.plot(before[:, 0], before[:, 1], "o-", color="#c8c8c8", ms=5, lw=1.2)
            axis.plot(now[:, 0], now[:, 1], "o-", color="#0072b2", ms=6, lw=2.0)
            axis.plot(*target[:2], "x", color="#d55e00", ms=9, mew=2.2)
            axis.plot(*root[:2], "s", color="#606060", ms=7, mfc="none")
            axis.set_title(title, loc="left")
            axis.set(xlim=(-0.6, 2.7), ylim=(-0.9, 1.6), aspect="equal")
            axis.tick_params(labelbottom=False, labelleft=False, length=0)
            axis.grid(False)
        figure.axes[4].set_xlabel("square: root; cross: target; grey: before [links keep their lengths]")
        return figure


def margins(found: Stability) -> Figure:
    """Draw the two margins over a walk."""
    with style():
        figure = new_figure(8.0, 3.2)
        axis = figure.subplots()
        axis.axhline(0.0, color="#606060", lw=0.8)
        axis.plot(found.time, 1e3 * found.wide, color="#0072b2", label="all four feet (wide)")
        axis.plot(found.time, 1e3 * found.static, color="#d55e00", lw=0.8, label="feet that touch")
        axis.set(xlabel="time [s]", xlim=(float(found.time[0]), float(found.time[-1])))
        low = max(float(1e3 * found.static[np.isfinite(found.static)].min()), -80.0)
        axis.set_ylim(low - 5.0, 1e3 * found.wide.max() + 5.0)
        axis.set_title("margin of the projected centre of mass [mm]")
        figure.legend(*axis.get_legend_handles_labels(), loc="outside upper right", ncols=2)
        return figure


def drop(rec: Recording) -> Figure:
    """Draw height and forces of a fall."""
    with style():
        figure = new_figure(8.0, 4.0)
        above, below = figure.subplots(2, 1, sharex=True)
        above.plot(rec.time, 1e3 * rec.trunk_position[:, 2], color="#0072b2")
        above.set_title("trunk's height [mm]")
        above.set_ylim(bottom=0.0)
        for k, foot in enumerate(rec.robot.foot_names):  # pairs fall alike: the second foot is dashed
            below.plot(rec.time, rec.force[:, k, 2], lw=1.0, label=foot, linestyle=("-", (0, (3, 3)))[k % 2])
        below.set_title("vertical force on the paws [N]")
        landed = float(rec.time[np.argmax(rec.force[:, :, 2].max(axis=1) > 0.0)])
        below.set(xlabel="time [s]", xlim=(0.0, min(float(rec.time[-1]), 3.0 * landed)))  # the rest is at rest
        figure.legend(*below.get_legend_handles_labels(), loc="outside upper right", ncols=4)
        return figure


def bursts(intervals: Mapping[str, ndarray]) -> Figure:
    """Draw intervals between bursts, one panel per map."""
    with style():
        figure = new_figure(8.0, 2.8)
        for axis, (name, values) in zip(figure.subplots(1, len(intervals), sharey=True), intervals.items()):
            low, high = float(values.min()), float(values.max())
            pad = max(0.1 * (high - low), 0.02 * high)
            bins = np.linspace(low - pad, high + pad, 30)
            axis.hist(values, bins, weights=np.full(len(values), 100.0 / len(values)), color="#0072b2")
            axis.set_title(name)
            axis.set_xlabel("steps between bursts")
        figure.axes[0].set_ylabel("of the bursts [%]")
        return figure
