"""``footfall simulate``: simulate one run and print its summary."""

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

_MOST_RESIDUAL = 0.1  # fraction of the energy moved: above it, the numbers of a run mean little


@with_run_options(*(key for key in KEYS if key != "robot"))
def command(
    robot: Annotated[
        str | None,
        typer.Argument(
            metavar="ROBOT|RUN.toml",
            autocompletion=completing.robots,
            help="A library name, a URDF or MJCF file, or a run file.",
        ),
    ] = None,
    *,
    given: dict[str, Given],
    like: Annotated[
        Path | None,
        typer.Option("--like", help="Repeat the run of a recording (.mcap); other options override its own."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a robot with a controller.

    A run file (TOML) holds any of the options; options on the command line take precedence. Exit status 1 if the run
    stopped early, for example because the robot fell; ``stopped`` gives the reason.
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
        note(f"the energy balance is off by {result['energy_residual']:.0%}: use a smaller --dt")
    if result["stopped"] is not None:
        note(result["stopped"])
        raise typer.Exit(1)


def _print(result: dict[str, Json]) -> None:
    from rich.table import Table

    from footfall.analysis.run_summary import UNITS

    table = Table(show_header=False)
    for key, value in result.items():
        if value is None and key != "recording":
            continue  # a run without commanded speed, or that was not stopped
        if key == "mean_velocity":
            shown = "{:.3f} m/s forward, {:.3f} m/s left, {:.3f} rad/s".format(*value)
        elif key == "averaged_over":
            shown = "{:g} to {:g} s (speeds, cost of transport)".format(*value)
        elif key == "energy_residual":
            shown = f"{100 * value:.2g} % of the energy moved"
        elif key == "recording" and value is None:
            shown = "none (use --out FILE.mcap)"
        elif isinstance(value, float):
            shown = f"{value:.4g} {UNITS.get(key, '')}".rstrip()
        elif isinstance(value, bool):
            shown = "yes" if value else "no"
        else:
            shown = str(value)
        table.add_row(key.replace("_", " "), shown)
    console().print(table)
