"""``footfall compare``: the same robot, controller and ground in footfall and in MuJoCo, or two recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.cli import completing
from footfall.cli.common import JsonOption, console, examples, note, noted_warnings, print_json, progress
from footfall.cli.run_options import planned, with_run_options
from footfall.sim.run_options import keys_with
from nptrace._types import Given, Json

if TYPE_CHECKING:
    from footfall.recording.recording import Recording
    from footfall.sim.runfile import PlannedRun

NAME = "compare"
EXAMPLES = examples(
    "footfall compare mini_cheetah --against mujoco",
    "footfall compare mini_cheetah --against mujoco --dt 1e-4 --constants B --json",
    "footfall compare mini_cheetah --controller my_module:my_controller --duration 3",
    "footfall compare before.mcap after.mcap",
)
REFEREES = ("mujoco",)
_RECORDINGS = (".mcap", ".nc")


@with_run_options(*keys_with("compare"))
def command(
    robot: Annotated[
        str,
        typer.Argument(
            metavar="ROBOT|RUN.toml|RECORDING",
            autocompletion=completing.robots,
            help="A library name, a URDF or MJCF file, a run file, or a recording (.mcap, .nc).",
        ),
    ],
    other: Annotated[str | None, typer.Argument(metavar="[RECORDING]", help="The second recording.")] = None,
    against: Annotated[str, typer.Option("--against", help="The other simulator: mujoco.")] = "mujoco",
    *,
    given: dict[str, Given],
    as_json: JsonOption = False,
) -> None:
    """Compare footfall with MuJoCo, or two recordings.

    The run in MuJoCo has the same robot, controller and ground; its contact parameters are those of de Paula et al.
    2024 (solref -1600 -100, elliptic cone). With --out FILE.mcap, its recording is written to FILE.mujoco.mcap. Exit
    status 1 if a robot fell or footfall's run diverged. In the JSON output, pairs are footfall's value, then MuJoCo's.
    Largest forces in one step cannot be compared: footfall's contact stops a landing foot within one step, MuJoCo's
    softer contact takes several. Compare means over 10 ms; a sentence below the table has the figures of this run.
    """
    from footfall.errors import InputError, unknown

    if other is not None or robot.endswith(_RECORDINGS):
        _two_recordings(robot, other, list(given), as_json)
        return

    if against not in REFEREES:
        raise unknown("simulator", against, REFEREES)
    run = planned(robot, given)
    if run.options.estimate:
        raise InputError("compare runs controllers on the true state in both simulators: it takes no estimate")
    _against_mujoco(run, as_json)


def _against_mujoco(run: PlannedRun, as_json: bool) -> None:
    from footfall.mujoco.comparing import distances
    from footfall.mujoco.run import run_mujoco

    ticks, done = max(1, round(run.options.duration / run.simulation.model.period)), 0
    with noted_warnings(), progress(f"comparing {run.simulation.robot.name}") as report_progress:

        def report_mujoco(count: int) -> None:
            nonlocal done
            done += count
            report_progress("MuJoCo", done, 2 * ticks)

        report_progress("MuJoCo", 0, 2 * ticks)
        theirs = run_mujoco(run.simulation, run.options.duration, progress=report_mujoco)
        report_progress("footfall", ticks, 2 * ticks)
        ours = run.simulation.run(run.options.duration, run.options.out)
    if run.options.out is not None:
        theirs.save(Path(run.options.out).with_suffix(".mujoco.mcap"))
    result = distances(ours, theirs) | outcomes(run, ours, theirs)
    if as_json:
        print_json(result)
    else:
        _print(run.simulation.robot.name, result)
    trouble = [f"{words}{where}" for words, where in zip(result["stopped"], ("", ", in MuJoCo")) if words is not None]
    for text in trouble:
        note(text)
    if trouble:
        raise typer.Exit(1)


def _two_recordings(first: str, second: str | None, options: list[str], as_json: bool) -> None:
    from footfall.errors import InputError
    from footfall.recording.comparison import compare_recordings, comparison_json
    from footfall.recording.recording import Recording

    if second is None:
        raise InputError(f"{first} is a recording: compare takes a second one, footfall compare {first} OTHER.mcap")
    if options:
        raise InputError(f"recordings are compared as they are: --{options[0].replace('_', '-')} is for runs")
    for path in (first, second):
        if not path.endswith(_RECORDINGS):
            raise InputError(f"compare needs two recordings, and {path} is not one: {', '.join(_RECORDINGS)}")
    a, b = Recording.load(first), Recording.load(second)
    if as_json:
        print_json(comparison_json(a, b))
        return
    from rich.table import Table

    differences = compare_recordings(a, b)
    head, *rows = differences.cells()
    table = Table(title=f"{Path(first).name} (a) and {Path(second).name} (b): {differences.title}")
    for k, title in enumerate(head):
        table.add_column(title, justify="left" if k < 2 else "right")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def outcomes(run: PlannedRun, ours: Recording, theirs: Recording) -> dict[str, Json]:
    """Return the speeds of the two robots and whether each fell."""
    from footfall.analysis.run_summary import steady_after, stopped

    moving = ours.robot.floating
    return {
        "commanded_speed": run.commanded_speed,
        "mean_speed": [
            rec.mean_speed(steady_after(run.ramp, rec)) if moving and len(rec) > 2 else None for rec in (ours, theirs)
        ],
        "fell": [bool(rec.meta["fell"]) for rec in (ours, theirs)],
        "stopped": [stopped(rec) for rec in (ours, theirs)],
    }


def _print(robot: str, result: dict[str, Json]) -> None:
    from rich.table import Table

    apart = Table(title=f"{robot}: mean absolute difference between footfall and MuJoCo", title_justify="left")
    apart.add_column("")
    apart.add_column("", justify="right")
    for axis, value in zip("xyz", result["position_mae"]):
        apart.add_row(f"trunk position {axis}", f"{1e3 * value:.1f} mm")
    for angle, value in zip(("yaw", "pitch", "roll"), result["euler_mae_deg"]):
        apart.add_row(f"trunk {angle}", f"{value:.2f} deg")
    apart.add_row("vertical force, mean over 10 ms, all feet", f"{result['force_mean_mae']:.2f} N")
    apart.add_row("contact agrees, all feet", f"{100 * result['contact_agreement']:.1f} % of the time")
    both = Table()
    both.add_column("")
    for title in ("footfall", "MuJoCo"):
        both.add_column(title, justify="right")
    speeds = ("" if value is None else f"{value:.3f} m/s" for value in result["mean_speed"])
    commanded = result["commanded_speed"]
    both.add_row("mean speed" if not commanded else f"mean speed, of {commanded:.3g} m/s", *speeds)
    both.add_row("fell", *("yes" if fell else "no" for fell in result["fell"]))
    both.add_row("largest vertical force, mean over 10 ms", *(f"{value:.0f} N" for value in result["peak_force_mean"]))
    both.add_row("largest vertical force in a step", *(f"{value:.0f} N" for value in result["peak_force"]))
    both.add_row("time spent stepping", *(f"{value:.3f} s" for value in result["wall_seconds"]))
    for table in (apart, both):
        table.show_header = table is both
        console().print(table)
    console().print(result["why_peaks_differ"], soft_wrap=False)
