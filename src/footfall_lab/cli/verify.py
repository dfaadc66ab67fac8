"""``footfall verify``: compare all formalisms with each other and with Pinocchio and MuJoCo."""

from __future__ import annotations

from typing import Annotated

import typer

from footfall.cli.common import (
    JsonOption,
    RobotArgument,
    console,
    examples,
    load_robot,
    note,
    print_json,
    progress,
    with_model_options,
)

_QUICK_SAMPLES = 10
NAME = "verify"
EXAMPLES = examples(
    "footfall verify mini_cheetah",
    "footfall verify go2.urdf --quick",
    "footfall verify go2.urdf --samples 2000 --json",
)


@with_model_options
def command(
    robot: RobotArgument,
    samples: Annotated[int | None, typer.Option(min=1, help="Number of random states (default 200).")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random states.")] = 0,
    backend: Annotated[
        str, typer.Option(help="How footfall's algorithms run: numpy, batch (machine code), or auto (both).")
    ] = "auto",
    quick: Annotated[
        bool, typer.Option("--quick", help="Quick check: ten states, nothing compiled, a one-line result.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check the dynamics of a robot against Pinocchio and MuJoCo.

    All formulations of the dynamics are also compared with each other, at random states. A model file is also read by
    MuJoCo or Pinocchio themselves, and the models are compared. An error is max |x - y| / max |y| over the entries of a
    quantity. Exit status 1 if any check fails.
    """
    model = load_robot(robot)
    from footfall_lab.verify.verify import verify

    samples = samples if samples is not None else _QUICK_SAMPLES if quick else 200
    backend = "numpy" if quick and backend == "auto" else backend
    with progress(f"verifying {model.name}") as report_progress:
        report = verify(model, samples, seed, backend=backend, progress=report_progress, file=model.model_file)
    if as_json:
        print_json(report.to_json())
    else:
        out = console()
        if not quick:
            out.print(report.table())
        for side, reason in report.skipped.items():
            out.print(f"not compared with {side}: {reason}", highlight=False)
        out.print(str(report), highlight=False)
    if not report.passed:
        for check in report.failures():
            note(f"{check.quantity} fails: {check.left} against {check.right}, error {check.max_rel_error:.1e}")
        raise typer.Exit(1)
