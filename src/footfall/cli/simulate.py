"""``footfall simulate``: one run, and what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from footfall.cli import completing
from footfall.cli.common import JsonOption, command_line, console, examples, note, noted_warnings, print_json, progress
from footfall.cli.run_options import planned, repeated, with_run_options
from footfall.errors import InputError
from footfall.sim.run_options import KEYS
from nptrace._types import Given, Json

NAME = "simulate"
EXAMPLES = examples(
    "footfall simulate mini_cheetah",
    "footfall simulate xiling --gait walk --duration 20 --out walk.mcap",
    "footfall simulate mini_cheetah --ground slope:5 --speed 0.3 --json",
    "footfall simulate mini_cheetah --controller whole_body --estimate --ground rough:0.03",
    "footfall simulate xiling --gait walk --oscillator rulkov --then trot:4",
    "footfall simulate xiling --controller plan --plan 'trot; 4: postures'",
    "footfall simulate run.toml",
    "footfall simulate --like walk.mcap --speed 0.2",
)

_MOST_RESIDUAL = 0.1  # of the energy moved: more, and the numbers of a run mean little


@with_run_options(*(key for key in KEYS if key != "robot"))
def command(
    robot: Annotated[
        str | None,
        typer.Argument(
            metavar="ROBOT|RUN.toml",
            autocompletion=completing.robots,
            help="A library name, a URDF or MJCF file, or a run file with options.",
        ),
    ] = None,
    *,
    given: dict[str, Given],
    like: Annotated[
        Path | None, typer.Option("--like", help="Repeat the run of a recording (.mcap); options given here win.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate one run. A run file (TOML) holds any of the options; those given here win.

    Exit status 1 when the robot fell or gave up, or the run diverged; ``stopped`` says which.
    """
    if (robot is None) == (like is None):
        raise InputError("simulate takes one of: a robot, a run file, or --like and a recording")
    run = repeated(like, given) if like is not None else planned(str(robot), given)
    run.simulation.provenance["command_line"] = command_line()
    with noted_warnings(), progress(f"simulating {run.simulation.robot.name}") as report_progress:
        rec = run.simulation.run(run.options.duration, run.options.out, report_progress)
    from footfall.analysis.run_summary import summary

    result = summary(run, rec)
    if as_json:
        print_json(result)
    else:
        _print(result)
    if (result["energy_residual"] or 0.0) > _MOST_RESIDUAL:
        note(f"the energy balance is off by {result['energy_residual']:.0%}: take a smaller --dt")
    if result["stopped"] is not None:
        note(result["stopped"])
        raise typer.Exit(1)


def _print(result: dict[str, Json]) -> None:
    from rich.table import Table

    from footfall.analysis.run_summary import UNITS

    table = Table(show_header=False)
    for key, value in result.items():
        if key == "mean_velocity":
            shown = "" if value is None else "{:.3f} m/s forward, {:.3f} m/s left, {:.3f} rad/s".format(*value)
        elif key == "averaged_over":
            shown = "" if value is None else "{:g} to {:g} s: speeds and cost of transport".format(*value)
        elif key == "energy_residual" and value is not None:
            shown = f"{100 * value:.2g} % of the energy moved"
        elif key == "recording" and value is None:
            shown = "none: --out FILE.mcap keeps one"
        elif isinstance(value, float):
            shown = f"{value:.4g} {UNITS.get(key, '')}".rstrip()
        elif isinstance(value, bool):
            shown = "yes" if value else "no"
        else:
            shown = "" if value is None else str(value)
        table.add_row(key.replace("_", " "), shown)
    console().print(table)
