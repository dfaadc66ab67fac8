"""``footfall reproduce``: reproduce the tables and figures of a paper, claim by claim."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.cli.common import JsonOption, console, examples, note, print_json, progress
from footfall_lab.cli import completing

if TYPE_CHECKING:
    from rich.table import Table

    from footfall_lab.papers.claims import Claim, Outcome
    from footfall_lab.report import Written

NAME = "reproduce"
EXAMPLES = examples(
    "footfall reproduce depaula2024",
    "footfall reproduce all --out reports --json",
)


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            autocompletion=completing.experiments,
            help="depaula2024, adak2021, floating_base, yan2021, dynakat, contact_comparison, reality, mini_cheetah, or"
            " all.",
        ),
    ],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the report (default: out/NAME).")] = None,
    recordings: Annotated[
        Path | None, typer.Option("--recordings", help="Folder of the robot's recordings (mini_cheetah).")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Simulate 200 instead of 40 gaits (depaula2024).")] = False,
    as_json: JsonOption = False,
) -> None:
    """Reproduce the claims and figures of a paper.

    Writes a report. A statement holds, does not hold, is refuted, or is open where the paper does not give the set-up;
    an equation is verified or an erratum; computing times are listed side by side. Tolerances were fixed before the
    runs. Exit status 1 if a verdict differs from the recorded one.
    """
    from footfall.errors import unknown
    from footfall_lab import papers as experiments

    names = experiments.names() if name == "all" else (name,)
    known = (*experiments.names(), *experiments.others())
    if not set(names) <= set(known):
        raise unknown("experiment", name, (*known, "all"))
    folder = out or Path("out") / name
    again = shlex.join(
        [
            "footfall",
            "reproduce",
            name,
            *(["--out", str(out)] if out is not None else []),
            *(["--recordings", str(recordings)] if recordings is not None else []),
            *(["--full"] if full else []),
        ]
    )
    outcomes, written = measure(names, folder, again, quick=False, full=full, recordings=recordings)
    if "reality" in names:
        from footfall_lab.reality.study import write_page

        write_page(next(o for o in outcomes if o.experiment == "reality"), folder)
    objects = [o.to_json([str(path) for path in written.figures.get(o.experiment, [])]) for o in outcomes]
    if as_json:
        lines = [str(each["summary"]) for each in objects]
        many = {"experiments": objects, "summary": lines, "report": str(written.report)}
        print_json({**objects[0], "report": str(written.report)} if len(objects) == 1 and name != "all" else many)
    else:
        show(outcomes, written)
    verdict(outcomes)


def measure(
    names: tuple[str, ...],
    folder: Path,
    command: str,
    quick: bool,
    full: bool = False,
    recordings: Path | None = None,
) -> tuple[list[Outcome], Written]:
    """Run experiments and write their report."""
    from footfall.sim.cores import cores
    from footfall_lab import papers as experiments
    from footfall_lab import report

    folder.mkdir(parents=True, exist_ok=True)  # find out now whether the folder is writable
    began, outcomes = time.monotonic(), []
    for name in names:
        with progress(name) as report_progress:
            workers = min(cores(), 8)
            outcomes.append(experiments.run(name, quick, report_progress, workers, full, recordings))
    return outcomes, report.write(outcomes, folder, command, time.monotonic() - began)


def show(outcomes: list[Outcome], written: Written) -> None:
    """Print the claims as tables, one line per paper, and where the report is."""
    from footfall_lab.papers.claims import TABLES, line

    out = console()
    for outcome in outcomes:
        own = "our own questions, not counted"
        for table, heading in (*((key, words.lower()) for key, (words, _) in TABLES.items()), ("ours", own)):
            if any(_listed(claim) == table for claim in outcome.claims):
                out.print(f"{outcome.title}: {heading}", style="italic", highlight=False, soft_wrap=True)
                out.print(claims_table(outcome, table))
    for outcome in outcomes:
        out.print(line(outcome.experiment, outcome.claims), highlight=False, soft_wrap=True)
    out.print(f"report: {written.report}", highlight=False, soft_wrap=True)


def claims_table(outcome: Outcome, table: str) -> Table:
    """Return the claims in one of a paper's tables; ``ours``: our own questions instead."""
    from rich.table import Table as Drawn
    from rich.text import Text

    from footfall_lab.papers.claims import shown

    ours, drawn = table == "ours", Drawn()
    drawn.add_column("question" if ours else "claim")
    for heading in ("measured",) if ours else ("paper", "ours"):
        drawn.add_column(heading, justify="right")
    drawn.add_column("unit")
    drawn.add_column({"ours": "answer", "time": "factor"}.get(table, "verdict"), no_wrap=True)
    for claim in outcome.claims:
        if _listed(claim) == table:
            printed = () if ours else (shown(claim.printed),)
            verdict = Text(claim.words, COLORS[claim.verdict])
            drawn.add_row(claim.claim, *printed, shown(claim.measured), claim.unit, verdict)
    return drawn


def _listed(claim: Claim) -> str:
    """Return the table in which a claim is listed."""
    return "ours" if claim.ours else claim.table


COLORS = {
    "holds": "green",
    "verified": "green",
    "shown": "green",
    "does_not_hold": "cyan",
    "not_shown": "cyan",
    "open": "blue",
    "time": "default",
    "refuted": "yellow",
    "erratum": "yellow",
    "not_testable": "magenta",
}


def verdict(outcomes: list[Outcome]) -> None:
    """Exit with status 1 if a verdict differs from the recorded one."""
    from footfall_lab.papers.recorded import changes

    found = [change for outcome in outcomes for change in changes(outcome)]
    for change in found:
        note(change)
    if found:
        raise typer.Exit(1)
