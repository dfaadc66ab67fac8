"""``footfall policy``: does a policy fit a robot, and how well does it walk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.commands import completing
from footfall.commands.common import JsonOption, console, examples, load_robot, print_json, progress, tell

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


def command(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="check or evaluate.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The policy, .onnx or .npz.")],
    robot: Annotated[str, typer.Option("--robot", autocompletion=completing.robots, help="Whom it is to drive.")],
    mapping: Annotated[
        Path | None, typer.Option("--mapping", help="How a policy made elsewhere is wired to the robot (TOML).")
    ] = None,
    engine: Annotated[str, typer.Option("--in", help="The simulator: footfall or mujoco.")] = "footfall",
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.0, max=600.0, help="Of walking; check: 4, 0 for none.")
    ] = None,
    robots: Annotated[int, typer.Option("--robots", min=1, help="How many evaluate lets walk.")] = 100,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of what evaluate draws.")] = 2_000_000,
    as_json: JsonOption = False,
) -> int:
    """Check that a policy fits a robot, or evaluate it on many robots that differ.

    check names every mismatch (joint order, sign, unit, missing joint, gains, rate, clip, action scale, pose,
    observation, history, frame), then lets the policy walk. Exit status 1 when something does not fit, it falls, or it
    does not keep the speed.
    """
    from footfall.errors import unknown

    if what not in WHAT:
        raise unknown("thing to do with a policy", what, WHAT)
    model = load_robot(robot)
    if what == "check":
        return _check(file, model, mapping, engine, 4.0 if seconds is None else seconds, as_json)
    from footfall.learn.preflight import task_of

    if mapping is None and task_of(file) == "recover":
        return _evaluate_recovery(file, model, engine, 4.0 if seconds is None else seconds, robots, seed, as_json)
    return _evaluate(file, model, mapping, engine, 10.0 if seconds is None else seconds, robots, seed, as_json)


def _check(file: Path, robot: Robot, mapping: Path | None, engine: str, seconds: float, as_json: bool) -> int:
    from footfall.learn.preflight import preflight

    found = preflight(file, robot, mapping, engine=engine, seconds=seconds)
    trial = found.trial
    if as_json:
        walked = None if trial is None else {
            "engine": trial.engine, "seconds": trial.seconds, "commanded_speed": trial.command, "fell": trial.fell,
            "mean_velocity": list(trial.velocity), "tracking_error": trial.error,
        }  # fmt: skip
        listed = [{"kind": m.kind, "words": m.words} for m in found.mismatches]
        print_json({"ok": found.ok, "mismatches": listed, "policy": str(file), "robot": robot.name, "trial": walked})
        return 0 if found.ok else _FAILED
    if found.mismatches:
        from rich.table import Table

        table = Table("mismatch", "what")
        for m in found.mismatches:
            table.add_row(m.kind.replace("_", " "), m.words)
        console().print(table)
    if trial is not None:
        what = "fell" if trial.fell else f"walked at {trial.velocity[0]:.3f} m/s"
        tell(f"told to walk at {trial.command:g} m/s for {trial.seconds:g} s in {trial.engine}, it {what}")
    tell(f"{file} fits {robot.name}" if found.ok else f"{file} does not fit {robot.name}")
    return 0 if found.ok else _FAILED


def _evaluate_recovery(
    file: Path, robot: Robot, engine: str, seconds: float, robots: int, seed: int, as_json: bool
) -> int:
    from footfall.control.learned.policy import Policy
    from footfall.errors import InputError
    from footfall.learn.assess_recovery import MOST_DOWN, assess_recovery

    policy = Policy.load(file)
    if not isinstance(policy, Policy):
        raise InputError(f"{file} is not wired as footfall wires policies that get up: see footfall policy check")
    with progress(f"getting {robot.name} up") as report_progress:
        part = assess_recovery(
            policy, robot, engine=engine, robots=robots, seconds=seconds, seed=seed, progress=report_progress
        )
    ok = part >= 1.0 - MOST_DOWN
    if as_json:
        print_json({
            "ok": ok, "policy": str(file), "robot": robot.name, "engine": engine, "robots": robots, "seconds": seconds,
            "up": part, "seed": seed,
        })  # fmt: skip
    else:
        tell(f"{robots} robots that differ, turned any way, in {engine}: {100 * part:.1f} % up after {seconds:g} s")
    return 0 if ok else _FAILED


def _evaluate(
    file: Path, robot: Robot, mapping: Path | None, engine: str, seconds: float, robots: int, seed: int, as_json: bool
) -> int:
    from footfall.control.learned.policy import Policy
    from footfall.errors import InputError
    from footfall.learn.assessment import assess

    if seconds < 2.0:
        raise InputError(f"a policy is evaluated over at least 2 s, got {seconds:g}")
    policy = Policy.load(file, mapping)
    policy.start(robot)
    with progress(f"walking {robot.name}") as report_progress:
        done = assess(policy, robot, engine=engine, robots=robots, seconds=seconds, seed=seed, progress=report_progress)
    share, error = float(done.fallen.mean()), done.tracking_error
    if as_json:
        print_json({
            "ok": done.ok, "policy": str(file), "robot": robot.name, "engine": engine, "robots": robots,
            "seconds": seconds, "fallen": share, "tracking_error": error if share < 1.0 else None, "seed": seed,
        })  # fmt: skip
    else:
        tell(
            f"{robots} robots that differ, a command each, {seconds:g} s in {engine}: {100 * share:.1f} % fell, the"
            f" others' speed was off by {error:.3f} m/s"
        )
    return 0 if done.ok else _FAILED
