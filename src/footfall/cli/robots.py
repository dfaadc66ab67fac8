"""``footfall robots``: the library at a glance."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from footfall.cli.common import JsonOption, console, examples, print_json
from nptrace._types import Json

if TYPE_CHECKING:
    from footfall.robot.model.description import Robot

NAME = "robots"
EXAMPLES = examples(
    "footfall robots",
    "footfall robots --json",
)


def command(as_json: JsonOption = False) -> None:
    """List the robots of the library."""
    from footfall.robot import library

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


def summary(robot: Robot) -> dict[str, Json]:
    """One entry of the JSON list; ``provenance`` counts the parameters of each status."""
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
