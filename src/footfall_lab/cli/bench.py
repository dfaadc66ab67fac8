"""``footfall bench``: timings of footfall, MuJoCo and Pinocchio."""

from __future__ import annotations

from typing import Annotated

import typer

from footfall.cli.common import JsonOption, console, examples, print_json, progress
from footfall.cli.completing import robots
from footfall_lab.bench import NAMES
from footfall_lab.cli import completing

NAME = "bench"
EXAMPLES = examples(
    "footfall bench step",
    "footfall bench step --robot go2.urdf --json",
    "footfall bench all --seconds 60 --json",
)


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            autocompletion=completing.benches,
            help=f"{', '.join(NAMES)}, or all.",
        ),
    ],
    seconds: Annotated[
        float,
        typer.Option(help="Time limit of each benchmark, without compilation and the search for step lengths [s]."),
    ] = 20.0,
    robot: Annotated[
        str | None,
        typer.Option(
            metavar="ROBOT",
            autocompletion=robots,
            help="For bench step: a library name, or a URDF or MJCF file (default: mini_cheetah).",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure computing times of footfall and other programs.

    All are timed in one interleaved run on one core. Times drift on a shared machine: compare ratios within a run, not
    times of different runs. A missed target is shown, but is not an error.
    """
    from footfall_lab import bench

    with progress(f"bench {name}") as report_progress:
        report = bench.run(name, seconds, report_progress, robot)
    if as_json:
        print_json(report.to_json())
        return
    out = console()
    for table in report.tables():
        out.print(table)
    for line in (*report.notes, f"Method: {report.method}", report.machine_description()):
        out.print(line, highlight=False)
