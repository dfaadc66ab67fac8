"""``footfall reproduce reality``: measurements by others, and the errors of footfall and of MuJoCo."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from footfall.errors import MissingExtraError
from footfall_lab.papers.claims import Outcome, Table, shown
from footfall_lab.reality import bench_study, cube_study, motors_study

NAME = "reality"
TITLE = "Validation against real-world data: real cubes, a real Go2, published benchmarks"
SUMMARY = (
    "570 tosses of a real cube (DAIRLab, University of Pennsylvania) and the encoders of a real Unitree Go2 (DLS Lab,"
    " IIT) test contact models and motors; SimBenchmark, contactbench and mpc_qpbenchmark test steps and solvers."
    " MuJoCo is fitted and timed in the same way."
)
CAPTIONS = {
    "cube": "520 test tosses: where they end, how errors grow, three of them from the side.",
    "motors": "The test half of the recording: two joints, and the error of every joint.",
    "anymal": "SimBenchmark's two ANYmal tests, as its authors plot them; each point of a line is a step length.",
}


def run(quick: bool = False, progress: Callable[[str, int, int], None] | None = None, workers: int = 1) -> Outcome:
    """Run the study, about 20 minutes; ``quick``: fewer candidates, no complementarity, no MuJoCo identification."""
    try:
        import cma  # noqa: F401 - asked for now, not after minutes
    except ImportError:
        raise MissingExtraError("comparison with reality", "studies", "cma") from None
    cube = cube_study.study(quick, progress)
    motors = motors_study.study(quick, progress)
    bench = bench_study.study(quick, progress)
    claims = (*cube_study.claims(cube), *motors_study.claims(motors), *bench_study.claims(bench))
    figures = {
        "cube": cube_study.figure(cube),
        "motors": motors_study.figure(motors),
        "anymal": bench_study.figure(bench),
    }
    tables = (cube_study.table(cube), *motors_study.table(motors), *bench_study.tables(bench))
    settings = {
        "cube": f"dt {1e3 / 148 / 7:.2f} ms, fitted to 50 tosses by CMA-ES",
        "Go2": "kp 20, kd 1.5, first half fitted",
    }
    return Outcome(
        experiment=NAME,
        title=TITLE,
        summary=SUMMARY,
        claims=claims,
        figures=figures,
        captions=CAPTIONS,
        tables=tables,
        settings=settings,
    )


def page(outcome: Outcome) -> str:
    """Return the page of the documentation: the text of ``words.md`` around the claims and tables."""
    text = (files("footfall_lab.reality") / "words.md").read_text()
    words = dict(part.split(" -->\n", 1) for part in text.split("<!-- ")[1:])
    lines = [words["head"].strip(), "", "| what | theirs | ours | unit | note |", "|---|---|---|---|---|"]
    lines += [
        f"| {c.claim} | {shown(c.beside)} | **{shown(c.measured)}** | {c.unit} | {c.note} |" for c in outcome.claims
    ]
    for key, names in (("cube", "Cube"), ("motors", "Go2"), ("bench", "")):
        lines += ["", words[key].strip()]
        for table in outcome.tables:
            if table.title.startswith(names) if names else not table.title.startswith(("Cube", "Go2")):
                lines += ["", *_markdown(table)]
    return "\n".join([*lines, "", words["end"].strip(), ""])


def _markdown(table: Table) -> list[str]:
    rows = [f"**{table.title}**", "", "| " + " | ".join(table.header) + " |", "|" + "---|" * len(table.header)]
    rows += ["| " + " | ".join(row) + " |" for row in table.rows]
    return [*rows, "", table.note] if table.note else rows


def write_page(outcome: Outcome, folder: Path) -> Path:
    """Write ``real-data.md``, its figures and ``reality.json`` to a folder."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for key, drawn in outcome.figures.items():
        drawn.savefig(folder / "figures" / f"reality-{key}.png")
    tables = {t.title: [list(t.header), *map(list, t.rows)] for t in outcome.tables}
    content = {"claims": [claim.to_json() for claim in outcome.claims], "tables": tables}
    (folder / "reality.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    (folder / "real-data.md").write_text(page(outcome))
    return folder / "real-data.md"
