"""``footfall demo``: two robots walk in footfall and in MuJoCo, and a published trot is reproduced."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.cli.common import JsonOption, console, examples, note, print_json, progress

if TYPE_CHECKING:
    from footfall_lab.demo.page import Demo

NAME = "demo"
EXAMPLES = examples("footfall demo", "footfall demo --out reports/demo --json")


def command(
    out: Annotated[Path, typer.Option("--out", help="Folder for the report.")] = Path("out/demo"),
    as_json: JsonOption = False,
) -> None:
    """Run the demo and write an HTML report.

    Two robots walk in footfall and in MuJoCo. The report, one self-contained file, also has checks of the dynamics
    against Pinocchio and MuJoCo, the trot of de Paula et al. 2024, computing times and a batch of a thousand robots.
    Exit status 1 if a robot fell or a check failed.
    """
    from footfall._io.whole_file import whole_file
    from footfall.sim.cores import cores
    from footfall_lab.demo.page import Demo, page
    from footfall_lab.demo.runs import perform_runs
    from footfall_lab.report.page import png

    began = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)  # find out now whether the folder is writable
    with progress("demo") as report_progress:
        demo = Demo.of(perform_runs(report_progress, workers=min(cores(), 8)))
        drawn = demo.figures()
    report = out / "report.html"
    files = {report: page(demo, drawn, time.monotonic() - began).encode("utf-8")}
    files |= {out / f"{name}.png": png(figure) for name, figure in drawn.items()}
    for path, content in files.items():
        with whole_file(path) as passing:
            passing.write_bytes(content)
    result = demo.to_json()
    if as_json:
        print_json({"report": str(report), **result})
    else:
        for line in _lines(demo):
            console().print(line, highlight=False)
        console().print(f"report: {report}", highlight=False, soft_wrap=True)
    failed = [check.quantity for each in demo.reports for check in each.failures()]
    for robot in demo.fallen:
        note(f"{robot} fell")
    for quantity in failed:
        note(f"{quantity} differs between simulators")
    if demo.fallen or failed:
        raise typer.Exit(1)


def _lines(demo: Demo) -> list[str]:
    """Return the results, one line each."""
    overlay, (printed, _, mujoco, ours) = demo.overlay, demo.seconds.values()
    x, agreement = overlay["position_difference_mm"][0], overlay["contact_agreement"]
    speeds = ", ".join(
        f"{pair.name} {pair.ours.mean_speed(1.0):.2f} m/s ({pair.theirs.mean_speed(1.0):.2f} in MuJoCo)"
        for pair in demo.pairs
    )
    return [
        f"walking: {speeds}",
        f"dynamics: {demo.dynamics_checks} checks against Pinocchio and MuJoCo, worst relative difference"
        f" {demo.dynamics_worst:.0e}",
        f"same controller in MuJoCo: {x:.1f} mm apart along x in the first second, contacts agree {agreement:.0%}",
        f"10 s of a published trot: {ours:.2f} s here, {mujoco:.2g} s in MuJoCo, {printed:.0f} s in the paper",
        f"{len(demo.many.paths)} different robots: {demo.many.duration:g} s of walking in"
        f" {demo.many.seconds:.1f} s of processor time",
    ]
