"""``footfall export``: a robot as a model file, and its functions, step and controllers as C99 or as an FMI unit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.cli.common import (
    JsonOption,
    RobotArgument,
    examples,
    load_robot,
    note,
    print_json,
    tell,
    with_model_options,
)
from footfall.cli.run_options import with_run_options
from nptrace._types import Given

if TYPE_CHECKING:
    from footfall.robot.model.description import Robot

NAME = "export"
EXAMPLES = examples(
    "footfall export mini_cheetah urdf --out models",
    "footfall export go2.urdf mjcf --out models",
    "footfall export mini_cheetah forward_dynamics --out c",
    "footfall export mini_cheetah locomotion --out c",
    "footfall export mini_cheetah pd --gait trot --dtype float32 --out c",
    "footfall export mini_cheetah trot.onnx --out c",
    "footfall export mini_cheetah pd --gait trot --format fmu --out units",
)
WRITTEN_AS = ("c", "fmu")
DTYPES = ("float64", "float32")


@with_run_options("gait", "speed", "ground", "dt")
@with_model_options
def command(
    robot: RobotArgument,
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="urdf, mjcf; step, inverse_kinematics, fabrik, resolved_rate, contact, state_rate, output; locomotion"
            " or another controller; a policy's file; a function such as forward_dynamics.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write to; created if necessary.")],
    written_as: Annotated[
        str, typer.Option("--format", help="c: C99 with a header and a test; fmu: an FMI 3.0 unit for co-simulation.")
    ] = "c",
    dtype: Annotated[str, typer.Option(help="Number type of the C code: float64, float32.")] = "float64",
    *,
    given: dict[str, Given],
    as_json: JsonOption = False,
) -> None:
    """Export a robot, functions, steps or controllers.

    Robots are written as URDF or MJCF; functions, simulation steps and controllers as C99 or as an FMI unit. A
    controller takes the options of ``footfall simulate``; an FMI unit of a controller contains the robot and the
    ground.
    """
    from footfall.errors import InputError, unknown
    from footfall.export.subjects import NAMES
    from footfall.robot.files.export import FORMATS, write
    from footfall.sim.runfile import is_policy

    if what not in FORMATS and what not in NAMES and not is_policy(what):
        raise unknown("thing to export", what, (*FORMATS, *NAMES))
    if written_as not in WRITTEN_AS:
        raise unknown("format of an export", written_as, WRITTEN_AS)
    if dtype not in DTYPES:
        raise unknown("number type of the C code", dtype, DTYPES)
    if dtype != DTYPES[0] and (what in FORMATS or written_as != "c"):
        raise InputError(f"--dtype is for C code: {written_as if what not in FORMATS else what} has a fixed type")
    _check_options(what, written_as, given)
    model = load_robot(robot)
    files = [write(model, what, out)] if what in FORMATS else _written(model, what, out, written_as, dtype, given)
    if as_json:
        print_json({"files": [str(file) for file in files]})
    else:
        for file in files:
            tell(str(file))


def _check_options(what: str, written_as: str, options: dict[str, Given]) -> None:
    """Refuse options without effect: only steps and controllers run over time, and only they can be FMI units."""
    from footfall.control.named import NAMES as CONTROLLERS
    from footfall.errors import InputError
    from footfall.export.subjects import LOCOMOTION
    from footfall.sim.runfile import is_policy

    runs = (LOCOMOTION, *CONTROLLERS)
    if what in runs or is_policy(what) or (what == "step" and not {"gait", "speed"} & set(options)):
        return
    if options:
        raise InputError(f"--{next(iter(options))} is for exported controllers; '{what}' takes none")
    if written_as == "fmu" and what != "step":
        raise InputError(f"'{what}' has no state over time: an FMU can be made of step, {', '.join(runs)}")


def _written(
    robot: Robot, name: str, folder: Path, written_as: str, dtype: str, options: dict[str, Given]
) -> list[Path]:
    from footfall.cli.policy_c import write_policy_c
    from footfall.export.subjects import LOCOMOTION, exported_named, simulation_named
    from footfall.sim.runfile import is_policy

    if written_as == "c" and name == LOCOMOTION:
        from footfall.cli.export_controller import write_locomotion
        from footfall.control.locomotion.locomotion import Locomotion

        controller = simulation_named(robot, name, **options).controller
        assert isinstance(controller, Locomotion)
        return write_locomotion(robot, folder, controller, dtype=dtype)
    if written_as == "c" and is_policy(name):
        return write_policy_c(robot, name, folder, dtype)
    if written_as == "c":
        return exported_named(robot, name, **options).write(folder, dtype)
    from footfall.export.fmu import write_fmu

    path, binary = write_fmu(
        simulation_named(robot, name, **options), folder, Path(name).stem, controlled=name != "step"
    )
    if not binary:
        note("no C compiler was found: the FMU contains its sources and their build description, but no binary")
    return [path]
