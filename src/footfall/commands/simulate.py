"""``footfall simulate``: one run, and what came of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import typer

from footfall.commands.common import JsonOption, console, examples, note, print_json, progress
from footfall.commands.run_options import (
    ConstantsOption,
    ContactOption,
    ControllerOption,
    DropOption,
    DtOption,
    DurationOption,
    FrictionOption,
    GaitOption,
    GroundOption,
    IntegratorOption,
    KdOption,
    KpOption,
    OutOption,
    SeedOption,
    SidewaysOption,
    SpeedOption,
    SubjectArgument,
    TurnOption,
    planned,
)

if TYPE_CHECKING:
    from footfall.simulate.recording import Recording
    from footfall.simulate.runfile import Planned

NAME = "simulate"
EXAMPLES = examples(
    "footfall simulate mini_cheetah",
    "footfall simulate xiling --gait walk --duration 20 --out walk.mcap",
    "footfall simulate mini_cheetah --ground slope:5 --speed 0.3 --json",
    "footfall simulate run.toml",
)


def command(
    robot: SubjectArgument,
    gait: GaitOption = None,
    constants: ConstantsOption = None,
    speed: SpeedOption = None,
    sideways: SidewaysOption = None,
    turn: TurnOption = None,
    controller: ControllerOption = None,
    kp: KpOption = None,
    kd: KdOption = None,
    contact: ContactOption = None,
    ground: GroundOption = None,
    friction: FrictionOption = None,
    drop: DropOption = None,
    duration: DurationOption = None,
    dt: DtOption = None,
    integrator: IntegratorOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate one run. A run file (TOML) holds any of the options; those given here win.

    Exit status 1 when the robot fell or the run diverged.
    """
    given = {key: value for key, value in locals().items() if key not in ("robot", "as_json")}
    run = planned(robot, given)
    with progress(f"simulating {run.simulation.robot.name}") as report_progress:
        rec = run.simulation.run(run.options.duration, run.options.out, report_progress)
    result = summary(run, rec)
    if as_json:
        print_json(result)
    else:
        _print(result)
    if run.simulation.stopped is not None:
        note(run.simulation.stopped.message)
        raise typer.Exit(1)


def summary(run: Planned, rec: Recording) -> dict[str, Any]:
    """The JSON object of a run. Means leave out the gait's start ramp; what cannot be said is null."""
    after = _after(run.ramp, rec)
    moving = len(rec) > 2 and rec.robot.floating
    return {
        "robot": rec.robot.name,
        "gait": run.gait.name if run.gait else None,
        "controller": run.options.controller,
        "contact": run.options.contact,
        "ground": run.options.ground,
        "duration": float(rec.time[-1]) if len(rec) else 0.0,
        "steps": round(float(rec.time[-1]) / run.options.dt) if len(rec) else 0,
        "wall_seconds": rec.meta["wall_seconds"],
        "distance": rec.distance if moving else 0.0,
        "commanded_speed": run.commanded_speed,
        "mean_speed": rec.mean_speed(after) if moving else None,
        "mean_velocity": list(rec.mean_velocity(after)) if moving else None,
        "fell": bool(rec.meta["fell"]),
        "diverged": bool(rec.meta["diverged"]),
        "cost_of_transport": _finite(rec.cost_of_transport(after)) if moving else None,
        "energy_residual": _finite(rec.energy_residual()) if len(rec) else None,
        "recording": run.options.out,
    }


def _after(ramp: float, rec: Recording) -> float:
    """From when means are taken: the end of the start ramp, or half of a shorter run."""
    if not len(rec):
        return 0.0
    return ramp if rec.time[-1] >= 2.0 * ramp else 0.5 * float(rec.time[0] + rec.time[-1])


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _print(result: dict[str, Any]) -> None:
    from rich.table import Table

    units = {
        "duration": "s", "wall_seconds": "s", "distance": "m", "commanded_speed": "m/s", "mean_speed": "m/s",
    }  # fmt: skip
    table = Table(show_header=False)
    for key, value in result.items():
        if key == "mean_velocity":
            shown = "" if value is None else "{:.3f} m/s forward, {:.3f} m/s left, {:.3f} rad/s".format(*value)
        elif isinstance(value, float):
            shown = f"{value:.4g} {units.get(key, '')}".rstrip()
        elif isinstance(value, bool):
            shown = "yes" if value else "no"
        else:
            shown = "" if value is None else str(value)
        table.add_row(key.replace("_", " "), shown)
    console().print(table)
