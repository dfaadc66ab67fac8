"""``footfall video``: render a recording as a GIF or an MP4."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from footfall.cli.common import JsonOption, ModelOption, examples, load_recording, print_json, progress, tell

NAME = "video"
EXAMPLES = examples(
    "footfall video trot.mcap",
    "footfall video trot.mcap --out trot.gif --width 480 --fps 20 --start 2 --end 4",
    "footfall video trot.mcap --pace 0.25 --json",
)


def command(
    recording: Annotated[str, typer.Argument(metavar="RECORDING", help="A recording (.mcap).")],
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write, .mp4 or .gif (default: an .mp4 beside the recording).")
    ] = None,
    fps: Annotated[float, typer.Option("--fps", help="Frames per second.")] = 25.0,
    width: Annotated[int, typer.Option("--width", help="Width [pixels].")] = 640,
    height: Annotated[
        int | None, typer.Option("--height", help="Height [pixels] (default: 9/16 of the width).")
    ] = None,
    start: Annotated[float | None, typer.Option("--start", help="Time at which the video starts [s].")] = None,
    end: Annotated[float | None, typer.Option("--end", help="Time at which the video ends [s].")] = None,
    pace: Annotated[float, typer.Option("--pace", help="Playback speed; below 1 is slow motion.")] = 1.0,
    model: ModelOption = None,
    as_json: JsonOption = False,
) -> None:
    """Render a recording as a video (MP4 or GIF).

    Shows the robot, its ground, contact forces and path. Needs no browser and no graphics card; MP4 needs the extra
    ``video``.
    """
    from footfall.draw.video import save_video

    file = out if out is not None else Path(recording).with_suffix(".mp4")
    rec = load_recording(recording, model)
    with progress("video") as report_progress:
        save_video(rec, file, fps, width, height, start, end, pace, report_progress)
    if as_json:
        print_json({"video": str(file), "bytes": file.stat().st_size})
    else:
        tell(f"{file}: {file.stat().st_size / 1e6:.2f} MB")
