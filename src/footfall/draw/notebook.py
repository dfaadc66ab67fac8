"""Display of objects: one short line at a prompt, a small table in a notebook."""

from __future__ import annotations

import html


class Summarised:
    """Provide ``__repr__`` and ``_repr_html_`` for a class whose ``_summary`` returns a title and rows of (name,
    value).
    """

    def _summary(self) -> tuple[str, list[tuple[str, str]]]:
        raise NotImplementedError

    def __repr__(self) -> str:
        title, rows = self._summary()
        return f"{type(self).__name__}({title}: {', '.join(f'{name} {value}' for name, value in rows)})"

    def _repr_html_(self) -> str:
        title, rows = self._summary()
        left = 'style="text-align:left"'  # overrides the notebook's style
        cells = [(type(self).__name__, title), *rows]
        lines = "".join(f"<tr><th {left}>{html.escape(k)}</th><td {left}>{html.escape(v)}</td></tr>" for k, v in cells)
        return f"<table>{lines}</table>"
