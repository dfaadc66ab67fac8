"""Reports: one self-contained HTML page, its figures as files, and the results as JSON with digests of their bounds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from footfall._io.whole_file import whole_file
from footfall_lab.papers.claims import Outcome


@dataclass(frozen=True)
class Written:
    """The paths of a written report."""

    report: Path
    figures: dict[str, list[Path]]  # by experiment


def write(outcomes: Sequence[Outcome], folder: str | Path, command: str, took: float | None = None) -> Written:
    """Write ``report.html``, ``results.json`` and every figure as a PNG to a folder, created if necessary."""
    from footfall_lab.report.page import page, png

    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    figures: dict[str, list[Path]] = {}
    for outcome in outcomes:
        for id, figure in outcome.figures.items():
            path = out / f"{outcome.experiment}-{id}.png"
            _write(path, png(figure))
            figures.setdefault(outcome.experiment, []).append(path)
    report = out / "report.html"
    _write(report, page(outcomes, command, took).encode("utf-8"))
    found = [{"title": o.title, **o.to_json([path.name for path in figures.get(o.experiment, [])])} for o in outcomes]
    _write(out / "results.json", json.dumps({"experiments": found}, indent=1, ensure_ascii=False).encode("utf-8"))
    return Written(report, figures)


def _write(path: Path, content: bytes) -> None:
    with whole_file(path) as passing:
        passing.write_bytes(content)


__all__ = ["Written", "write"]
