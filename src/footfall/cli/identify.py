"""``footfall identify``: identify motors from joint encoders, or inertias and friction from a recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.cli import completing
from footfall.cli.common import JsonOption, console, examples, load_robot, print_json, progress, with_model_options

if TYPE_CHECKING:
    from rich.table import Table

    from footfall.analysis.identification import Identified
    from footfall.analysis.joint_order import Order
    from footfall.analysis.motor_report import MotorReport
    from footfall.analysis.motors import Motors
    from footfall.analysis.named_parameters import NamedFit
    from footfall.robot.model.description import Robot
    from nptrace._types import Json, Operand

NAME = "identify"
EXAMPLES = examples(
    "footfall identify motors go2_joints.npz --robot go2",
    "footfall identify motors go2_joints.npz --robot go2 --method gradients --out go2_motors.json",
    "footfall identify inertia loaded.mcap --robot mini_cheetah --parameters trunk.mass",
    "footfall identify friction walk.mcap --out friction.json",
)
WHAT = ("motors", "inertia", "friction")


@with_model_options
def command(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="What to identify: motors, inertia or friction.")],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Motors: NumPy archive with time, commanded and measured angles (see above). Otherwise a recording.",
        ),
    ],
    robot: Annotated[
        str | None,
        typer.Option(
            "--robot",
            autocompletion=completing.robots,
            help="The robot: a library name, or a URDF or MJCF file (default for a recording: its own).",
        ),
    ] = None,
    parameters: Annotated[
        str | None,
        typer.Option(help="With inertia: the unknown parameters, trunk.mass,LF_knee.damping (default: all)."),
    ] = None,
    acceleration: Annotated[
        str,
        typer.Option(help="With a recording: smooth, from measured velocities, or step: exact for a simulation."),
    ] = "smooth",
    kp: Annotated[float, typer.Option(min=0.0, help="Stiffness of the joint PD controllers [N m/rad].")] = 20.0,
    kd: Annotated[float, typer.Option(min=0.0, help="Damping of the joint PD controllers [N m s/rad].")] = 1.5,
    method: Annotated[str, typer.Option(help="Method: gradients, search (CMA-ES), or both.")] = "both",
    generations: Annotated[int, typer.Option(min=1, help="Generations of the search.")] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="File for the parameters (JSON).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Identify motors, inertias or friction from recorded data.

    With motors, the robot must be suspended in the air, with its joints under PD control. For every joint, reflected
    inertia, damping, dry friction, stiction, zero offset, gain and delay are identified from the first half of the
    recording, and validated on the second half. FILE holds the arrays ``time`` [s], ``wanted`` and ``measured`` [rad],
    with one row per time and one column per joint; the order of the columns is found automatically. Exit status 1 if
    the identified parameters do not predict the second half better than the robot's own.

    With inertia or friction, FILE is a recording (.mcap) of motion, torques and foot forces. Named parameters are
    found with their standard deviations; inertia without --parameters identifies all parameters that the motion
    excites.
    """
    from footfall.errors import InputError, unknown

    if what not in WHAT:
        raise unknown("thing to identify", what, WHAT)
    if what != "motors":
        _from_recording(what, file, robot, parameters, acceleration, out, as_json)
        return
    if parameters is not None:
        raise InputError("motors takes no --parameters: inertia does")
    if robot is None:
        raise InputError("motors needs the robot that was recorded: --robot ROBOT")
    from footfall.analysis.hanging import Encoders
    from footfall.analysis.motor_report import identify_motors

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


def _from_recording(
    what: str,
    file: Path,
    robot: str | None,
    parameters: str | None,
    acceleration: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Identify inertias or friction from a recording of a robot."""
    from footfall._io.whole_file import whole_file
    from footfall.analysis.identification import Identified, identify
    from footfall.errors import InputError
    from footfall.recording.recording import Recording

    recording = Recording.load(file)
    believed = recording.robot if robot is None else load_robot(robot)
    names: list[str] | None = None
    if what == "friction":
        if parameters is not None:
            raise InputError(
                "--parameters applies to inertia; friction identifies damping and dry friction of every joint"
            )
        names = [f"{joint}.{key}" for joint in believed.joint_names for key in ("damping", "dry_friction")]
    elif parameters is not None:
        names = [name.strip() for name in parameters.split(",")]
    found = identify(recording, prior=believed, parameters=names, acceleration=acceleration)
    if isinstance(found, Identified):
        result, rows, title = _links(found), *_link_rows(found)
    else:
        result, rows, title = _named(found, believed), *_named_rows(found, believed)
    if out is not None:
        with whole_file(out) as part:
            part.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if as_json:
        print_json(result)
        return
    from rich.table import Table

    table = Table(title=f"{believed.name}: {title[0]}", title_justify="left")
    for column in title[1:]:
        table.add_column(column, justify="left" if column in ("parameter", "link") else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console().print(table)


def _named(found: NamedFit, believed: Robot) -> dict[str, Json]:
    import numpy as np

    return {
        "robot": believed.name,
        "parameters": {name: np.asarray(value).tolist() for name, value in found.values.items()},
        "deviations": {name: np.asarray(value).tolist() for name, value in found.deviations.items()},
        "believed": {name: np.asarray(believed.parameter(name)).tolist() for name in found.values},
    }


def _named_rows(found: NamedFit, believed: Robot) -> tuple[list[list[str]], tuple[str, ...]]:
    rows = [
        [name, *(_number(x) for x in (believed.parameter(name), value, found.deviations[name]))]
        for name, value in found.values.items()
    ]
    return rows, ("with one standard deviation, for noise on the loads", "parameter", "believed", "found", "±")


def _number(value: Operand) -> str:
    import numpy as np

    return " ".join(f"{x:.4g}" for x in np.ravel(value))


def _links(found: Identified) -> dict[str, Json]:
    bodies = zip(found.robot.tree.bodies, found.inertias)
    return {
        "robot": found.robot.name,
        "rows": found.rows,
        "condition": found.condition,
        "links": {
            body.name: {"mass": float(own.m), "com": (own.h / own.m).tolist(), "inertia": own.J.tolist()}
            for body, own in bodies
        },
        **{key: dict(zip(found.robot.joint_names, found.joint(key).tolist())) for key in ("damping", "dry_friction")},
    }


def _link_rows(found: Identified) -> tuple[list[list[str]], tuple[str, ...]]:
    rows = [
        [body.name, f"{float(body.inertia.m):.4g}", f"{float(own.m):.4g}", *(f"{x:.3g}" for x in 1e3 * own.h / own.m)]
        for body, own in zip(found.robot.tree.bodies, found.inertias)
    ]
    return rows, ("masses [kg] and centres of mass [mm]", "link", "believed", "found", "x", "y", "z")


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
        f"validation half: {1e3 * before:.1f} mrad rms before, {1e3 * after:.1f} after"
        f" ({found.found[found.best].method}); in brackets: not identifiable from this recording",
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
