"""The summary plot of a study: a line for one dimension, a map for two, and the effect of each axis for more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall._io.whole_file import whole_file
from footfall.draw.style import COLORS, new_figure
from footfall.errors import unknown
from footfall.sweep.study import SAMPLE, SIMULATE, Study, dim_name
from footfall.sweep.table import OWN, SECONDS, STATUS
from nptrace._types import Given

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHOWN = {SIMULATE: ("mean_speed", "cost_of_transport")}
_MOST_ROWS, _MOST_COLUMNS, _MOST_NUMBERS = 4, 4, 120
_COLOR = COLORS[0]


def figure(table: xarray.Dataset, study: Study) -> Figure:
    """Return a matplotlib figure of the columns in the study's ``plot``, or of the first numeric ones."""
    columns = _columns(table, study)
    dims = list(study.dims)
    flat = len(dims) == 2 and SAMPLE not in dims
    axes = [dim for dim in dims if dim != SAMPLE]
    axes += [dim_name(name) for name in study.samples.of] if study.samples else []
    across = 1 if flat else min(len(axes), _MOST_COLUMNS)
    rows, across = (1, len(columns)) if flat or len(axes) == 1 else (len(columns), across)
    shown = new_figure(max(4.6, 3.9 * across), 0.6 + 3.1 * rows)
    panels = shown.subplots(rows, max(1, across), squeeze=False)
    for k, column in enumerate(columns):
        if flat:
            _map(shown, panels[0, k], table, column, dims)
        elif len(axes) == 1:
            _effect(panels[0, k], table, column, axes[0])
        else:
            for j, axis in enumerate(axes[:_MOST_COLUMNS]):
                _effect(panels[k, j], table, column, axis)
    counts = {status: int((table[STATUS] == status).sum()) for status in ("done", "failed")}
    failed = f", {counts['failed']} failed" if counts["failed"] else ""
    shown.suptitle(f"{study.name}: {counts['done']} items done{failed}", fontsize=11, x=0.01, ha="left")
    return shown


def write(table: xarray.Dataset, study: Study, path: Path) -> Path:
    """Write the figure as a PNG file, atomically."""
    shown = figure(table, study)
    with whole_file(path) as passing:
        shown.savefig(passing, format="png")
    return path


def _columns(table: xarray.Dataset, study: Study) -> list[str]:
    dims = set(study.dims)
    numeric = [
        str(name)
        for name, column in table.data_vars.items()
        if name not in OWN and column.dtype.kind in "fib" and set(column.dims) == dims
    ]
    for name in study.plot:
        if name not in numeric:
            raise unknown("column to plot", name, numeric, "this study has")
    chosen = list(study.plot) or [name for name in _SHOWN.get(study.function, ()) if name in numeric] or numeric
    return chosen[:_MOST_ROWS] or [SECONDS]


def _label(table: xarray.Dataset, name: str) -> str:
    words = str(table[name].attrs.get("parameter", name.replace("_", " ")))
    unit = table[name].attrs.get("units")
    return f"{words} [{unit}]" if unit else words


def _places(values: ndarray) -> tuple[ndarray, list[str] | None]:
    """Return (positions of the values along an axis, their names if they are not numbers)."""
    if values.dtype.kind in "fiu":
        return values.astype(float), None
    names = list(dict.fromkeys(str(value) for value in values))
    return np.array([names.index(str(value)) for value in values], dtype=float), names


def _effect(panel: Axes, table: xarray.Dataset, column: str, axis: str) -> None:
    """Plot every item as a dot over one axis, and the median over all others as a line."""
    values = table[column].astype(float)
    along = table[axis].broadcast_like(values) if axis in table.coords else table[axis]
    x, names = _places(np.asarray(along.values).ravel())
    y = np.asarray(values.values).ravel()
    one = len(x) == len(set(x))
    panel.plot(x, y, "o", color=_COLOR, markersize=4.5 if one else 3.0, alpha=1.0 if one else 0.35)
    positions = np.unique(x)
    if axis in table.dims and len(positions) > 1:
        middle = [_median(y[x == position]) for position in positions]
        style = {"linestyle": "-"} if names is None else {"linestyle": "", "marker": "_", "markersize": 22.0}
        if names is None or not one:
            panel.plot(positions, middle, color=_COLOR, linewidth=1.2, **style)
    if names is not None:
        panel.set_xticks(range(len(names)), names, rotation=20 if max(map(len, names)) > 8 else 0)
        panel.set_xlim(-0.5, len(names) - 0.5)
    elif _logarithmic(positions):
        panel.set_xscale("log")
    panel.set_xlabel(_label(table, axis))
    panel.set_ylabel(_label(table, column))
    panel.grid(color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)


def _median(values: ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else float("nan")


def _logarithmic(positions: ndarray) -> bool:
    """Return whether values are spaced by a factor rather than by a difference."""
    if len(positions) < 3 or positions[0] <= 0 or positions[-1] / positions[0] < 8:
        return False
    steps = np.diff(positions)
    return bool(steps[-1] > 3 * steps[0])


def _map(shown: Figure, panel: Axes, table: xarray.Dataset, column: str, dims: list[str]) -> None:
    """Plot one column over two axes as colours; failed items are grey."""
    values = table[column].transpose(*dims).astype(float).values
    panel.set_facecolor("#cccccc")
    panel.grid(False)
    image = panel.imshow(np.ma.masked_invalid(values), origin="lower", aspect="auto", cmap="viridis")
    shown.colorbar(image, ax=panel, label=_label(table, column))
    for set_ticks, dim in ((panel.set_yticks, dims[0]), (panel.set_xticks, dims[1])):
        count = table.sizes[dim]
        kept = np.unique(np.linspace(0, count - 1, min(count, 9)).round().astype(int))
        set_ticks(kept, [_short(table[dim].values[k]) for k in kept])
    panel.set_ylabel(_label(table, dims[0]))
    panel.set_xlabel(_label(table, dims[1]))
    if values.size <= _MOST_NUMBERS:
        for row, across in np.ndindex(values.shape):
            if np.isfinite(values[row, across]):
                dark = float(image.norm(float(values[row, across]))) < 0.6  # type: ignore[arg-type]
                color = "white" if dark else "black"
                panel.text(across, row, _short(values[row, across]), ha="center", va="center", color=color, fontsize=7)


def _short(value: Given) -> str:
    return f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)
