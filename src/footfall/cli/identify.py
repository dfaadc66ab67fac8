"""``footfall identify motors``: a robot's motors from its joint encoders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.cli import completing
from footfall.cli.common import JsonOption, console, examples, load_robot, print_json, progress, with_model_options

if TYPE_CHECKING:
    from rich.table import Table

    from footfall.analysis.joint_order import Order
    from footfall.analysis.motor_report import MotorReport
    from footfall.analysis.motors import Motors

NAME = "identify"
EXAMPLES = examples(
    "footfall identify motors go2_joints.npz --robot go2",
    "footfall identify motors go2_joints.npz --robot go2 --method gradients --out go2_motors.json",
)
WHAT = ("motors",)


@with_model_options
def command(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="What to identify: motors.")],
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="NumPy archive with time, commanded and measured angles (see above)."),
    ],
    robot: Annotated[
        str,
        typer.Option(
            "--robot", autocompletion=completing.robots, help="The robot: a library name, or a URDF or MJCF file."
        ),
    ],
    kp: Annotated[float, typer.Option(min=0.0, help="Stiffness of the joint PD controllers [N m/rad].")] = 20.0,
    kd: Annotated[float, typer.Option(min=0.0, help="Damping of the joint PD controllers [N m s/rad].")] = 1.5,
    method: Annotated[str, typer.Option(help="Method: gradients, search (CMA-ES), or both.")] = "both",
    generations: Annotated[int, typer.Option(min=1, help="Generations of the search.")] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="File for the parameters (JSON).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Identify motor parameters from joint angles.

    The robot must be suspended in the air, with its joints under PD control. For every joint, reflected inertia,
    damping, dry friction, stiction, zero offset, gain and delay are identified from the first half of the recording,
    and validated on the second half. FILE holds the arrays ``time`` [s], ``wanted`` and ``measured`` [rad], with one
    row per time and one column per joint; the order of the columns is found automatically. Exit status 1 if the
    identified parameters do not predict the second half better than the robot's own.
    """
    from footfall.analysis.hanging import Encoders
    from footfall.analysis.motor_report import identify_motors
    from footfall.errors import unknown

    if what not in WHAT:
        raise unknown("thing to identify", what, WHAT)
    encoders, model = Encoders.read(file), load_robot(robot)
    with progress(f"motors of {model.name}") as report_progress:
        found = identify_motors(
            model, encoders, kp, kd, method=method, generations=generations, seed=seed, progress=report_progress
        )
    if out is not None:
        found.save(out)
    if as_json:
        print_json(found.to_json())
    else:
        _show(found)
    before, after = found.total
    if not after < before:
        raise typer.Exit(1)


def _show(found: MotorReport) -> None:
    from footfall.analysis.joint_order import indistinguishable_orders

    out = console()
    for motors in found.found:
        out.print(_table(found, motors))
    alike = indistinguishable_orders(list(found.orders))
    others = [order for order in found.orders if order not in alike]
    text = f"order of the joints: {_columns(alike[0])} leaves {alike[0].remainder:.3f} N m unexplained"
    if len(alike) > 1:
        text += f", and so do {len(alike) - 1} others that cannot be distinguished from it"
    if others:
        text += f"; the next best leaves {others[0].remainder:.3f}"
    out.print(text, highlight=False)
    before, after = found.total
    out.print(
        f"held-out half: {1e3 * before:.1f} mrad rms before, {1e3 * after:.1f} after"
        f" ({found.found[found.best].method}); in brackets: what this recording does not show",
        highlight=False,
    )


def _table(found: MotorReport, motors: Motors) -> Table:
    from rich.table import Table

    from footfall.analysis.hanging import COLUMNS
    from footfall.analysis.motor_report import cell

    titles = (
        "armature\n[g m²]",
        "damping\n[N m s/rad]",
        "friction\n[N m]",
        "static\nratio",
        "bias\n[mrad]",
        "gain",
        "delay\n[ms]",
    )
    table = Table(title=f"{found.robot}: {motors.method}, with 95 % intervals", title_justify="left")
    table.add_column("joint")
    for title in (*titles, "before\n[mrad]", "after\n[mrad]"):
        table.add_column(title, justify="right", no_wrap=True)
    after = found.after[found.found.index(motors)]
    for j, name in enumerate(found.joints):
        cells = [cell(found, motors, j, k) for k in range(len(COLUMNS))]
        table.add_row(name.removesuffix("_joint"), *cells, f"{1e3 * found.before[j]:.1f}", f"{1e3 * after[j]:.1f}")
    return table


def _columns(order: Order) -> str:
    return " ".join(str(k) for k in order.columns)
