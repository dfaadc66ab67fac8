"""``footfall export``: a robot as a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from footfall.commands.common import JsonOption, RobotArgument, examples, load_robot, print_json

NAME = "export"
EXAMPLES = examples(
    "footfall export mini_cheetah urdf --out models",
    "footfall export go2.urdf mjcf --out models",
)


def command(
    robot: RobotArgument,
    what: Annotated[str, typer.Argument(metavar="WHAT", help="urdf or mjcf.")],
    out: Annotated[Path, typer.Option(help="Folder to write to; made if it is not there.")],
    as_json: JsonOption = False,
) -> None:
    """Write a robot as a URDF or MJCF file."""
    from footfall.errors import unknown
    from footfall.robot.export import FORMATS, write

    if what not in FORMATS:
        raise unknown("thing to export", what, FORMATS)
    files = [str(write(load_robot(robot), what, out))]
    if as_json:
        print_json({"files": files})
    else:
        for file in files:
            typer.echo(file)
