"""``footfall reproduce``: a paper's tables and figures again, claim by claim."""

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

    from footfall_lab.papers.claims import Outcome
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
            help="depaula2024, adak2021, floating_base, yan2021, dynakat, contact_comparison, reality, or all.",
        ),
    ],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the report; out/NAME unless given.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure every claim of a paper again, and write a report with its figures.

    Verdicts: reproduced, differs, refuted, not testable, by bounds that were fixed before the runs. Exit status 1 when
    a verdict is not the one on record.
    """
    from footfall.errors import unknown
    from footfall_lab import papers as experiments

    names = experiments.names() if name == "all" else (name,)
    known = (*experiments.names(), *experiments.others())
    if not set(names) <= set(known):
        raise unknown("experiment", name, (*known, "all"))
    folder = out or Path("out") / name
    again = shlex.join(["footfall", "reproduce", name, *(["--out", str(out)] if out is not None else [])])
    outcomes, written = measure(names, folder, again, quick=False)
    if "reality" in names:
        from footfall_lab.reality.study import write_page

        write_page(next(o for o in outcomes if o.experiment == "reality"), folder)
    objects = [o.to_json([str(path) for path in written.figures.get(o.experiment, [])]) for o in outcomes]
    if as_json:
        many = {"experiments": objects, "report": str(written.report)}
        print_json({**objects[0], "report": str(written.report)} if len(objects) == 1 and name != "all" else many)
    else:
        show(outcomes, written)
    verdict(outcomes)


def measure(names: tuple[str, ...], folder: Path, command: str, quick: bool) -> tuple[list[Outcome], Written]:
    """Run experiments and write their report."""
    from footfall.sim.cores import cores
    from footfall_lab import papers as experiments
    from footfall_lab import report

    folder.mkdir(parents=True, exist_ok=True)  # a place that cannot be written to is found now
    began, outcomes = time.monotonic(), []
    for name in names:
        with progress(name) as report_progress:
            outcomes.append(experiments.run(name, quick, report_progress, workers=min(cores(), 8)))
    return outcomes, report.write(outcomes, folder, command, time.monotonic() - began)


def show(outcomes: list[Outcome], written: Written) -> None:
    """Print the claims as tables, the four counts, and where the report is."""
    from footfall_lab.papers.claims import counts, sentence

    out = console()
    for outcome in outcomes:
        for ours, heading in ((False, outcome.title), (True, f"{outcome.title}: questions of our own, not counted")):
            if any(claim.ours == ours for claim in outcome.claims):
                out.print(heading, style="italic", highlight=False, soft_wrap=True)
                out.print(claims_table(outcome, ours))
    out.print(sentence(counts(claim for outcome in outcomes for claim in outcome.claims)), highlight=False)
    out.print(f"report: {written.report}", highlight=False, soft_wrap=True)


def claims_table(outcome: Outcome, ours: bool = False) -> Table:
    """The claims of a paper, or the questions of our own beside them."""
    from rich.table import Table
    from rich.text import Text

    from footfall_lab.papers.claims import shown

    colors = {"reproduced": "green", "differs": "cyan", "refuted": "yellow", "not_testable": "magenta"}
    table = Table()
    table.add_column("question" if ours else "claim")
    for heading in ("measured",) if ours else ("paper", "ours"):
        table.add_column(heading, justify="right")
    table.add_column("unit")
    table.add_column("answer" if ours else "verdict", no_wrap=True)
    for claim in outcome.claims:
        if claim.ours == ours:
            printed = () if ours else (shown(claim.printed),)
            verdict = Text(claim.words, colors[claim.verdict])
            table.add_row(claim.claim, *printed, shown(claim.measured), claim.unit, verdict)
    return table


def verdict(outcomes: list[Outcome]) -> None:
    """Exit status 1 if a verdict is not the one on record."""
    from footfall_lab.papers.recorded import changes

    found = [change for outcome in outcomes for change in changes(outcome)]
    for change in found:
        note(change)
    if found:
        raise typer.Exit(1)
