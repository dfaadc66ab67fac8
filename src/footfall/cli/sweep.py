"""``footfall sweep``: a parameter study, on local processes or a Dask cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.cli.common import JsonOption, console, examples, note, print_json, progress
from nptrace._types import Json

if TYPE_CHECKING:
    from footfall.sweep import StudyResult

NAME = "sweep"
EXAMPLES = examples(
    "footfall sweep study.toml",
    "footfall sweep study.toml --resume",
    "footfall sweep study.toml --cluster tcp://login1:8786 --out results --json",
)
_MOST_ROWS, _MOST_COLUMNS, _MOST_FAILURES = 30, 6, 5


def command(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study file.")],
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="Address of a Dask scheduler, tcp://host:8786 (default: local processes)."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a study; finished items are kept.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Continue a study and repeat failed items.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the results (default: out/NAME).")] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Number of local processes (default: one per core).")
    ] = None,
    allow_code: Annotated[
        bool,
        typer.Option(
            "--allow-code",
            help="Allow the study to run its own function, which is code; remembered for --resume.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run a parameter study.

    Simulates every point of the study's grid and samples, and writes a NetCDF table and a plot. Finished items are
    saved at once: after Ctrl-C, a crash or the loss of a cluster, --resume continues. Exit status 1 if items failed;
    the table has their messages.
    """
    from footfall import sweep

    with progress(f"sweep {study.stem}") as report_progress:
        outcome = sweep.run(
            study,
            out,
            resume=resume,
            retry_failed=retry_failed,
            cluster=cluster,
            workers=workers,
            progress=report_progress,
            allow_code=allow_code,
        )
    if outcome.dropped:
        note(f"{outcome.dropped} lines of the journal could not be read; their items were repeated")
    if as_json:
        print_json(_json(outcome))
    else:
        _print(outcome)
    failures = outcome.failures()
    for own, message in failures[:_MOST_FAILURES]:
        note(f"failed: {_parameters_text(own)}: {message}")
    if len(failures) > _MOST_FAILURES:
        note(f"failed: {len(failures) - _MOST_FAILURES} more, see 'item_message' in {outcome.table}")
    if failures:
        raise typer.Exit(1)


def _json(outcome: StudyResult) -> dict[str, Json]:
    return {
        "study": outcome.study.name,
        "items": len(outcome.items),
        "done": outcome.done,
        "failed": outcome.failed,
        "table": str(outcome.table),
        "plot": str(outcome.plot),
        "dims": outcome.study.dims,
        "failures": [{"parameters": own, "message": message} for own, message in outcome.failures()],
    }


def _parameters_text(own: dict[str, Json]) -> str:
    return ", ".join(f"{key} = {_shown(value)}" for key, value in own.items())


def _print(outcome: StudyResult) -> None:
    from rich.table import Table
    from rich.text import Text

    from footfall.sweep.item import result_units

    results = [(item, outcome.entries[item.digest]) for item in outcome.items]
    columns = _columns([entry["result"] for _, entry in results])
    units = result_units(outcome.study)

    def heading(name: str) -> str:
        unit = units.get(name, "")
        return name.replace("_", " ") + (f" [{unit}]" if unit not in ("", "1") else "")

    out = console()
    if len(results) <= _MOST_ROWS:
        table = Table(title=f"study {outcome.study.name}", title_justify="left")
        for name in (*outcome.study.varying, *map(heading, columns)):
            table.add_column(name.replace("_", " "), justify="right")
        table.add_column("")
        for item, entry in results:
            own = [_shown(item.parameters[name]) for name in outcome.study.varying]
            cells = [_shown(entry["result"].get(name)) for name in columns]
            table.add_row(*own, *cells, "" if entry["status"] == "done" else Text("failed", "bold red"))
    else:
        table = Table(title=f"study {outcome.study.name}: {len(results)} items", title_justify="left")
        table.add_column("column")
        for name in ("least", "median", "largest"):
            table.add_column(name, justify="right")
        for name in columns:
            numbers = sorted(v for _, e in results if isinstance(v := e["result"].get(name), int | float))
            if numbers:
                table.add_row(heading(name), *map(_shown, (numbers[0], numbers[len(numbers) // 2], numbers[-1])))
    out.print(table)
    out.print(f"{outcome.done} of {len(results)} items done, {outcome.failed} failed", highlight=False)
    out.print(f"table: {outcome.table}\nplot:  {outcome.plot}", highlight=False, soft_wrap=True)


def _columns(results: list[dict[str, Json]]) -> list[str]:
    """Return the columns to show, those that differ between items first."""
    names = list(dict.fromkeys(name for result in results for name in result))
    plain = [n for n in names if not any(isinstance(result.get(n), list) for result in results) and n != "wall_seconds"]
    differing = [n for n in plain if len({str(result.get(n)) for result in results}) > 1]
    return (differing or plain)[:_MOST_COLUMNS]


def _shown(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
