"""Notebooks of the examples, executed: `python examples/make_notebooks.py` writes examples/notebooks/*.ipynb.

A script's first string is the first cell, in Markdown; every line `# %% words` begins a cell of code under those words.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NAMES = ("first_walk", "own_controller", "identification")


def cells_of(script: str) -> list[tuple[str, str]]:
    """(kind, text) of every cell."""
    words = ast.get_docstring(ast.parse(script)) or ""
    found = [("markdown", words)]
    for part in script.split("\n# %% ")[1:]:
        title, _, code = part.partition("\n")
        found += [("markdown", f"**{title.strip()}**"), ("code", code.strip())]
    return found


def executed(script: str) -> list[dict[str, Any]]:
    """The cells of a notebook with what they print, and the figures that they make."""
    space: dict[str, Any] = {"__name__": "__main__"}
    cells: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(cells_of(script)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text}
        if kind == "code":
            said, before = io.StringIO(), set(space)
            with contextlib.redirect_stdout(said), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(text, f"cell {number}", "exec"), space)
            outputs = [{"output_type": "stream", "name": "stdout", "text": said.getvalue()}] if said.getvalue() else []
            for name in sorted(set(space) - before):
                if type(space[name]).__name__ == "Figure":
                    data = {"image/png": _png(space[name])}
                    outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
            cell |= {"execution_count": 1 + sum(c["cell_type"] == "code" for c in cells), "outputs": outputs}
        cells.append(cell)
    return cells


def notebook(cells: list[dict[str, Any]]) -> str:
    """A notebook, format 4.5."""
    about = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _png(figure: Any) -> str:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=70, metadata={"Software": None})
    return base64.b64encode(file.getvalue()).decode()


def main() -> None:
    (HERE / "notebooks").mkdir(exist_ok=True)
    for name in NAMES:
        script = (HERE / f"{name}.py").read_text()
        with tempfile.TemporaryDirectory() as folder:
            here = os.getcwd()
            os.chdir(folder)  # examples may write files
            try:
                text = notebook(executed(script))
            finally:
                os.chdir(here)
        (HERE / "notebooks" / f"{name}.ipynb").write_text(text)
        print(f"wrote {name}.ipynb")


if __name__ == "__main__":
    main()
