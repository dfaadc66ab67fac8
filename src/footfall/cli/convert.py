"""``footfall convert``: a recording in a form that others open."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from footfall.cli.common import JsonOption, examples, load_recording, print_json, tell
from footfall.errors import InputError, unknown

NAME = "convert"
EXAMPLES = examples(
    "footfall convert run.mcap --format foxglove --out run.foxglove.mcap",
    "footfall convert run.mcap --format ros2 --out run.ros2.mcap",
    "footfall convert run.mcap --format lerobot --out dataset --rate 50",
    "footfall convert run.mcap --format csv",
)
TABLES = {"csv": ".csv", "parquet": ".parquet", "netcdf": ".nc"}
FORMATS = ("foxglove", "ros2", "lerobot", *TABLES)


def command(
    recording: Annotated[str, typer.Argument(metavar="RECORDING", help="A recording of footfall (.mcap).")],
    format: Annotated[str, typer.Option("--format", help=", ".join(FORMATS) + ".")] = "foxglove",
    out: Annotated[Path | None, typer.Option("--out", help="The file, or for lerobot the folder.")] = None,
    rate: Annotated[float | None, typer.Option("--rate", help="Frames a second; foxglove and lerobot: 50.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Convert a recording to another format: Foxglove's schemas, a ROS 2 bag, a LeRobot dataset, or a table."""
    from footfall.recording.formats import foxglove, lerobot, ros2

    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    if format in TABLES and rate is not None:
        raise InputError(f"a table in {format} has every row of the recording: it takes no --rate")
    found = load_recording(recording)
    source = Path(recording)
    ending = TABLES.get(format, "_lerobot" if format == "lerobot" else f".{format}.mcap")
    target = out or source.with_name(source.stem + ending)
    if target.exists() and target.samefile(source):
        raise InputError(f"{source} would be overwritten with less than it holds: choose another --out")
    if format in TABLES:
        if target.suffix != TABLES[format]:
            raise InputError(f"a table in {format} is a {TABLES[format]} file, got {str(target)!r}")
        found.save(target)
        count = len(found)
    elif format == "lerobot":
        count = lerobot.write(found, target, rate or 50.0)
    elif format == "ros2":
        count = ros2.write(found, target, rate)
    else:
        count = foxglove.write(found, target, rate or 50.0)
    if as_json:
        print_json({"format": format, "out": str(target), "count": count})
    else:
        tell(f"{target}: {count} {'rows' if format in TABLES else 'messages' if format == 'ros2' else 'frames'}")
