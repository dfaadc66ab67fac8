"""``footfall policy``: check whether a policy fits a robot, and evaluate how well it walks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.cli import completing
from footfall.cli.common import (
    JsonOption,
    console,
    examples,
    load_robot,
    print_json,
    progress,
    tell,
    with_model_options,
)

if TYPE_CHECKING:
    from footfall.robot.model.description import Robot

NAME = "policy"
EXAMPLES = examples(
    "footfall policy check trot.onnx --robot mini_cheetah",
    "footfall policy check theirs.onnx --robot go2 --mapping theirs.toml --in mujoco",
    "footfall policy evaluate trot.onnx --robot mini_cheetah --in mujoco --robots 100",
)
WHAT = ("check", "evaluate")
_FAILED = 1


@with_model_options
def command(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="check or evaluate.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The policy file (.onnx or .npz).")],
    robot: Annotated[
        str,
        typer.Option(
            "--robot", autocompletion=completing.robots, help="The robot: a library name, or a URDF or MJCF file."
        ),
    ],
    mapping: Annotated[
        Path | None,
        typer.Option("--mapping", help="Mapping file (TOML) that describes the wiring of a policy trained elsewhere."),
    ] = None,
    engine: Annotated[str, typer.Option("--in", help="The simulator: footfall or mujoco.")] = "footfall",
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", min=0.0, max=600.0, help="Duration of each trial [s] (check: default 4; 0 skips the trial)."
        ),
    ] = None,
    robots: Annotated[int, typer.Option("--robots", min=1, help="Number of robots to evaluate.")] = 100,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the random robots of evaluate.")] = 2_000_000,
    as_json: JsonOption = False,
) -> int:
    """Check or evaluate a policy on a robot.

    ``check`` lists every mismatch between policy and robot (joint order, sign, unit, missing joint, gains, rate, clip,
    action scale, pose, observation, history, frame), then runs the policy. ``evaluate`` runs it on many randomized
    robots. Exit status 1 if there is a mismatch, the robot falls, or it does not follow its command.
    """
    from footfall.errors import unknown

    if what not in WHAT:
        raise unknown("thing to do with a policy", what, WHAT)
    model = load_robot(robot)
    if what == "check":
        return _check(file, model, mapping, engine, 4.0 if seconds is None else seconds, as_json)
    return _evaluate(file, model, mapping, engine, seconds, robots, seed, as_json)


def _check(file: Path, robot: Robot, mapping: Path | None, engine: str, seconds: float, as_json: bool) -> int:
    from footfall.learn.preflight import preflight

    found = preflight(file, robot, mapping, engine=engine, seconds=seconds)
    trial = found.trial
    if as_json:
        walked = (
            None
            if trial is None
            else {
                "engine": trial.engine,
                "seconds": trial.seconds,
                "commanded_speed": trial.command,
                "fell": trial.fell,
                "mean_velocity": list(trial.velocity),
                "tracking_error": trial.error,
            }
        )
        listed = [{"kind": m.kind, "words": m.message} for m in found.mismatches]
        print_json({"ok": found.ok, "mismatches": listed, "policy": str(file), "robot": robot.name, "trial": walked})
        return 0 if found.ok else _FAILED
    if found.mismatches:
        from rich.table import Table

        table = Table("mismatch", "what")
        for m in found.mismatches:
            table.add_row(m.kind.replace("_", " "), m.message)
        console().print(table)
    if trial is not None:
        what = "fell" if trial.fell else f"walked at {trial.velocity[0]:.3f} m/s"
        tell(f"commanded to walk at {trial.command:g} m/s for {trial.seconds:g} s in {trial.engine}, it {what}")
    tell(f"{file} fits {robot.name}" if found.ok else f"{file} does not fit {robot.name}")
    return 0 if found.ok else _FAILED


def _evaluate(
    file: Path,
    robot: Robot,
    mapping: Path | None,
    engine: str,
    seconds: float | None,
    robots: int,
    seed: int,
    as_json: bool,
) -> int:
    from footfall.control.learned.policy import Policy
    from footfall.learn.preflight import task_of
    from footfall.learn.tasks import TASKS
    from footfall.learn.walk import WalkTask

    kind = WalkTask if mapping is not None else TASKS.get(task_of(file), WalkTask)
    policy = Policy.load(file, mapping)
    with progress(f"evaluating on {robot.name}") as report_progress:
        done = kind.of(robot).assess(
            policy, engine=engine, robots=robots, seconds=seconds, seed=seed, progress=report_progress
        )
    if as_json:
        print_json(
            {
                "ok": done.ok,
                "policy": str(file),
                "robot": robot.name,
                "engine": engine,
                "robots": robots,
                "seconds": done.seconds,
                **done.numbers,
                "seed": seed,
            }
        )
    else:
        tell(done.words)
    return 0 if done.ok else _FAILED
