"""Live plots of the page, drawn in the browser by uPlot, which is part of viser."""

from __future__ import annotations

import numpy as np

from footfall.view.history import PlotHistory
from nptrace._types import Foreign

COLORS = ("#2e75b6", "#d66e28", "#1b9e77", "#c2458f", "#8c6d31", "#5e6ad2")
AXES: Foreign = ({"label": "time [s]", "labelSize": 16, "size": 30, "labelGap": 0}, {"size": 62})
_NO_FEET = ("no feet",)
_FEW = 150  # points per line


class Plots:
    """Plots of trunk, vertical forces, torque, margin, energy, power and cost of transport over the last seconds."""

    def __init__(self, gui: Foreign, feet: tuple[str, ...]) -> None:
        feet = feet or _NO_FEET
        self.made = {
            "height": self._plot(gui, "trunk height [mm]", ("height",)),
            "angle": self._plot(gui, "trunk angle [deg]", ("roll", "pitch")),
            "velocity": self._plot(gui, "velocity [m/s]", ("forward", "left")),
            "force": self._plot(gui, "vertical force, mean over 10 ms [N]", feet),
            "torque": self._plot(gui, "largest joint torque [N m]", ("torque",)),
            "margin": self._plot(gui, "support margin [mm]", ("margin",)),
            "energy": self._plot(gui, "energy [J]", ("kinetic", "potential, from the first")),
            "power": self._plot(gui, "positive motor power [W]", ("power",)),
            "cost": self._plot(gui, "cost of transport, over 1 s", ("cost",)),
        }
        self.names = feet
        self._drawn: tuple[float, ...] = ()  # the newest row that was drawn

    def feet(self, names: tuple[str, ...]) -> None:
        """Set the feet of another robot."""
        names = names or _NO_FEET
        if names != self.names:
            self.made["force"].series = _series(names)
            self.names = names

    def show(self, history: PlotHistory, weight: float) -> None:
        """Draw the history, thinned out."""
        if len(history.rows) < 3 or history.rows[-1] == self._drawn:
            return
        columns, self._drawn = history.arrays(), history.rows[-1]
        rows = slice(None, None, max(1, len(columns["time"]) // _FEW))
        time = columns["time"][rows]
        lines = {
            "height": (1e3 * columns["height"],),
            "velocity": (columns["forward"], columns["sideways"]),
            "force": tuple(columns["force"]) or (np.zeros(len(columns["time"])),),
            "torque": (columns["torque"],),
            "margin": (1e3 * columns["margin"],),
            "power": (columns["power"],),
            "angle": (columns["roll"], columns["pitch"]),
            "energy": (columns["kinetic"], columns["potential"] - columns["potential"][0]),
            "cost": (history.costs(weight),),
        }
        for name, values in lines.items():
            self.made[name].data = (time, *(np.ascontiguousarray(_filled(value[rows])) for value in values))

    def _plot(self, gui: Foreign, title: str, names: tuple[str, ...]) -> Foreign:
        empty = tuple(np.zeros(2) for _ in range(len(names) + 1))
        return gui.add_uplot(
            empty,
            _series(names),
            title=title,
            height=150,
            scales={"x": {"time": False}, "y": {"auto": True}},
            legend={"show": len(names) > 1, "live": False},
            axes=AXES,
        )


def _series(names: tuple[str, ...]) -> tuple[Foreign, ...]:
    lines = [
        {"label": name, "stroke": COLORS[k % len(COLORS)], "width": 1.5, "points": {"show": False}}
        for k, name in enumerate(names)
    ]
    return ({"label": "s"}, *lines)


def _filled(values: np.ndarray) -> np.ndarray:
    """Return values with gaps (no margin without contact) filled by the last value before."""
    good = np.isfinite(values)
    if good.all() or not good.any():
        return np.nan_to_num(values)
    last = np.maximum.accumulate(np.where(good, np.arange(len(values)), 0))
    return np.nan_to_num(values[last])
