"""``footfall robots``: list the library, and write a table for a new robot."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.cli.common import JsonOption, console, examples, note, print_json, tell
from nptrace._types import Json

if TYPE_CHECKING:
    from footfall.robot.model.description import Robot

NAME = "robots"
EXAMPLES = examples(
    "footfall robots",
    "footfall robots --json",
    "footfall robots new mydog.toml",
    "footfall robots new mycat.toml --kind dh",
)


def command(
    action: Annotated[str | None, typer.Argument(metavar="[new]", help="new: write a table for a robot.")] = None,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE.toml]", help="The file to write.")] = None,
    kind: Annotated[
        str,
        typer.Option("--kind", help="With new: quadruped (lengths and masses), or dh (a Denavit-Hartenberg table)."),
    ] = "quadruped",
    as_json: JsonOption = False,
) -> None:
    """List the robots of the library.

    ``footfall robots new FILE.toml`` writes an annotated table for your own robot; every command accepts the edited
    file in place of a robot's name.
    """
    from footfall.robot import library

    if action is not None or file is not None:
        _new(action, file, kind, as_json)
        return

    rows = [summary(library.load(name)) for name in (*library.names(), *library.machines())]
    if as_json:
        print_json({"robots": rows})
        return
    from rich.table import Table

    table = Table()
    table.add_column("robot")
    for title in ("DOF", "bodies", "mass [kg]", "feet"):
        table.add_column(title, justify="right")
    table.add_column("source of the parameters")
    for row in rows:
        sources = ", ".join(f"{count} {status}" for status, count in row["provenance"].items())
        table.add_row(row["name"], str(row["dof"]), str(row["bodies"]), f"{row['mass']:.3f}", str(row["feet"]), sources)
    console().print(table)


def _new(action: str | None, file: Path | None, kind: str, as_json: bool) -> None:
    """Write an example table for a robot."""
    from footfall._io.whole_file import whole_file
    from footfall.errors import InputError, unknown
    from footfall.robot.files.table import example

    if action != "new":
        raise unknown("action", str(action), ("new",))
    if file is None or file.suffix.lower() != ".toml":
        raise InputError("robots new takes the file to write: footfall robots new mydog.toml")
    if file.exists():
        raise InputError(f"{file} already exists: choose another name")
    text = example(kind, file)
    with whole_file(file) as part:
        part.write_text(text, encoding="utf-8")
    if as_json:
        print_json({"file": str(file)})
        return
    tell(str(file))
    note(f"edit it, then: footfall verify {file}; footfall simulate {file} --controller whole_body --speed 0.3")


def summary(robot: Robot) -> dict[str, Json]:
    """Return one entry of the JSON list; ``provenance`` counts the parameters of each status."""
    from footfall.errors import InputError
    from footfall.robot.model.description import PROVENANCE

    statuses: Counter[str] = Counter()
    for path in robot.parameter_names():
        try:
            statuses[robot.provenance_of(path).status] += 1
        except InputError:
            statuses["unstated"] += 1
    return {
        "name": robot.name,
        "dof": robot.nv,
        "bodies": len(robot.tree.bodies),
        "mass": robot.mass,
        "feet": robot.nf,
        "provenance": {status: statuses[status] for status in (*PROVENANCE, "unstated") if statuses[status]},
    }
