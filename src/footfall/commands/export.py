"""``footfall export``: a robot as a model file, or one of its functions as dependency-free C99."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.commands.common import JsonOption, RobotArgument, examples, load_robot, print_json, tell

if TYPE_CHECKING:
    from footfall.robot.model.description import Robot

NAME = "export"
EXAMPLES = examples(
    "footfall export mini_cheetah urdf --out models",
    "footfall export go2.urdf mjcf --out models",
    "footfall export mini_cheetah forward_dynamics --out c",
    "footfall export mini_cheetah locomotion --out c",
)
FUNCTIONS = {
    "kinematics": (
        "body_velocities", "center_of_mass", "feet_bias_acceleration", "feet_jacobian", "foot_positions",
        "foot_velocities",
    ),
    "dynamics": (
        "articulated_body", "bias_terms", "coriolis_matrix", "forward_dynamics", "gravity_terms", "inverse_dynamics",
        "kinetic_energy", "mass_matrix", "momentum", "momentum_matrix", "potential_energy", "velocity_terms",
    ),
}  # fmt: skip


def command(
    robot: RobotArgument,
    what: Annotated[
        str, typer.Argument(metavar="WHAT", help="urdf, mjcf, a function such as forward_dynamics, or locomotion.")
    ],
    out: Annotated[Path, typer.Option(help="Folder to write to; made if it is not there.")],
    as_json: JsonOption = False,
) -> None:
    """Write a robot as a URDF or MJCF file, or a function of it or its locomotion as C99 with a header and a test."""
    from footfall.errors import unknown
    from footfall.robot.files.export import FORMATS, write

    functions = {name: part for part, names in FUNCTIONS.items() for name in names}
    if what not in FORMATS and what not in functions and what != "locomotion":
        raise unknown("thing to export", what, (*FORMATS, *functions, "locomotion"))
    model = load_robot(robot)
    if what == "locomotion":
        from footfall.commands.export_controller import write_locomotion

        files = write_locomotion(model, out)
    else:
        files = [write(model, what, out)] if what in FORMATS else _write_c(model, functions[what], what, out)
    if as_json:
        print_json({"files": [str(file) for file in files]})
    else:
        for file in files:
            tell(str(file))


def _write_c(robot: Robot, part: str, name: str, folder: Path) -> list[Path]:
    """The traced function as C, and a test that holds it to plain NumPy at a few random states."""
    from importlib import import_module

    import numpy as np

    from footfall.compare.states import random_states
    from footfall.compiling import compile
    from footfall.trace.targets.c_source import write_c

    function = getattr(import_module(f"footfall.{part}"), name)
    traced = compile(function, robot, target="interpret", cache=False)
    signature = traced.signature
    arguments = [(argument, shapes[0]) for argument, shapes in zip(signature.names, signature.shapes)]
    outputs = [("result", signature.output_shapes[0])]
    states = random_states(robot, 4)
    rows = [[getattr(states, argument)[k][-shape[0] :] for argument, shape in arguments] for k in range(len(states))]
    return write_c(
        traced.program, folder, name, arguments=arguments, outputs=outputs,
        samples=np.array([np.concatenate(row) for row in rows]),
        expected=np.array([np.ravel(function(robot, *row)) for row in rows]),
    )  # fmt: skip
