"""``footfall derive``: kinematics and dynamics of a robot or a leg as formulas: LaTeX, Python or C."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from footfall.cli.common import (
    JsonOption,
    RobotArgument,
    examples,
    load_robot,
    note,
    print_json,
    progress,
    with_model_options,
)

NAME = "derive"
EXAMPLES = examples(
    "footfall derive mini_cheetah mass_matrix --leg LF",
    "footfall derive dynakat forward_kinematics --leg LF --format python --out foot.py",
    "footfall derive my_robot.urdf jacobian --leg LF --format c --out jacobian.c",
    "footfall derive spined gravity --format python",
)


@with_model_options
def command(
    robot: RobotArgument,
    quantity: Annotated[
        str,
        typer.Argument(
            metavar="QUANTITY",
            help="forward_kinematics, jacobian, mass_matrix, coriolis_matrix, gravity or contact_jacobian.",
        ),
    ],
    leg: Annotated[
        str | None, typer.Option("--leg", help="A leg, by the name of its foot, such as LF (default: the whole robot).")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="Format of the formula: latex, python or c.")] = "latex",
    order: Annotated[str, typer.Option("--order", help="Euler angles of a floating base: xyz or zyx.")] = "xyz",
    digits: Annotated[int, typer.Option("--digits", min=1, max=17, help="Digits of numbers in LaTeX.")] = 4,
    out: Annotated[Path | None, typer.Option("--out", help="File for the formula (default: print it).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a quantity of a robot or of a leg as a formula.

    The formula is simplified as far as possible. Joint positions, and Euler angles and position of a floating base, are
    called q1, q2, ..., their rates v1, v2, ... Formulas of a leg are short enough to read; for a whole robot, use
    --format python or c.
    """
    from footfall._io.whole_file import whole_file
    from footfall.dynamics.formalisms.derive import derive

    model = load_robot(robot)
    with progress(f"deriving {quantity} of {model.name}"):
        found = derive(model, quantity, leg, form, order, digits)
    if out is not None:
        with whole_file(out) as part:
            part.write_text(found.text.rstrip() + "\n", encoding="utf-8")
    if as_json:
        print_json(
            {
                "robot": model.name,
                "leg": leg,
                "quantity": quantity,
                "format": form,
                "formula": found.text,
                "operations": found.operations,
                "characters": len(found.text),
                "seconds": found.seconds,
                "variables": found.variables,
            }
        )
    elif out is None:
        typer.echo(found.text)
    note("; ".join(f"{symbol}: {meaning}" for symbol, meaning in found.variables.items()))
    note(f"{found.operations} operations, {len(found.text)} characters, derived in {found.seconds:.2g} s")
    if form == "latex" and not found.readable:
        legs = "" if leg is not None or not model.nf else f": --leg {model.foot_names[0]} derives a single leg"
        note(f"this is too large to read{legs}; --format python and c are code")
