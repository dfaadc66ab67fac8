"""The style of all figures: one look, a colour-blind-safe palette, no window."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from footfall.errors import InputError
from nptrace._types import Given

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#404040")  # Okabe, Ito
Dashes: TypeAlias = Literal["-", "--", "-.", ":"] | tuple[float, tuple[float, ...]]  # dashes of a line
GREY, PALE = "#707070", "#e9edf1"
_STYLE: dict[Given, Given] = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.1,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "axes.formatter.useoffset": False,
}


def style(**other: Any) -> AbstractContextManager[None]:
    """Return a context in which figures are made; ``other`` settings are Matplotlib's with "_" for "."."""
    import matplotlib

    changed: dict[Given, Given] = {key.replace("_", "."): value for key, value in other.items()}
    return matplotlib.rc_context({**_STYLE, **changed})


def new_figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Figure:
    """Return an empty figure [inch]."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:  # a plain dependency, but a stripped installation may lack it
        raise InputError("a drawing needs matplotlib: install it with  pip install matplotlib") from None

    if "IPython" in sys.modules:
        import matplotlib.pyplot  # noqa: F401 - teaches notebooks to show figures
    figure = Figure(figsize=(width, height), dpi=110, layout=layout)
    FigureCanvasAgg(figure)
    return figure
