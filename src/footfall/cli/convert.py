"""``footfall convert``: write a recording in a format of another program."""

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
    "footfall convert run.mcap --format rerun",
    "footfall convert run.mcap --format plotjuggler",
    "footfall convert run.mcap --format lerobot --out dataset --rate 50",
    "footfall convert run.mcap --format csv",
)
TABLES = {"csv": ".csv", "parquet": ".parquet", "netcdf": ".nc"}
FORMATS = ("foxglove", "ros2", "rerun", "plotjuggler", "lerobot", *TABLES)
ENDINGS = {**TABLES, "plotjuggler": ".plotjuggler.xml", "lerobot": "_lerobot", "rerun": ".rrd"}


def command(
    recording: Annotated[str, typer.Argument(metavar="RECORDING", help="A recording (.mcap).")],
    format: Annotated[str, typer.Option("--format", help=", ".join(FORMATS) + ".")] = "foxglove",
    out: Annotated[Path | None, typer.Option("--out", help="File to write; for lerobot, a folder.")] = None,
    rate: Annotated[float | None, typer.Option("--rate", help="Frames per second (default 50; ros2: all).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Convert a recording for other programs, or to a table.

    Formats are for Foxglove, ROS 2, Rerun, PlotJuggler and LeRobot; tables are CSV, Parquet and NetCDF.
    """
    from footfall.recording.formats import foxglove, lerobot, plotjuggler, rerun, ros2

    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    if format in (*TABLES, "plotjuggler") and rate is not None:
        raise InputError(f"a table in {format} has every row of the recording: it takes no --rate")
    found = load_recording(recording)
    source = Path(recording)
    ending = ENDINGS.get(format, f".{format}.mcap")
    target = out or source.with_name(source.stem + ending)
    if target.exists() and target.samefile(source):
        raise InputError(f"{source} would be overwritten by a reduced copy: choose another --out")
    if format in TABLES:
        if target.suffix != TABLES[format]:
            raise InputError(f"a table in {format} is a {TABLES[format]} file, got {str(target)!r}")
        found.save(target)
        count = len(found)
    elif format == "lerobot":
        count = lerobot.write(found, target, rate or 50.0)
    elif format == "ros2":
        count = ros2.write(found, target, rate)
    elif format == "plotjuggler":
        count = plotjuggler.write(found, target)
    elif format == "rerun":
        count = rerun.write(found, target, rate or 50.0)
    else:
        count = foxglove.write(found, target, rate or 50.0)
    if as_json:
        print_json({"format": format, "out": str(target), "count": count})
    else:
        counted = {"ros2": "messages", "plotjuggler": "series, and the table beside it"}
        tell(f"{target}: {count} {'rows' if format in TABLES else counted.get(format, 'frames')}")
