"""``footfall recover``: a broken recording made whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from footfall.cli.common import JsonOption, examples, print_json, tell

NAME = "recover"
EXAMPLES = examples("footfall recover trot.mcap", "footfall recover trot.mcap --out saved.mcap --json")


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recording (.mcap) of a run that was cut off.")],
    out: Annotated[Path | None, typer.Option(help="The new file; NAME.recovered.mcap unless given.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Save what can be read of a truncated or damaged recording as a whole one."""
    from footfall.recording.recording_file import recover

    saved = recover(file, out)
    if as_json:
        print_json({"messages": saved.messages, "lost_bytes": saved.lost_bytes, "out": str(saved.out)})
    else:
        tell(f"{saved.messages} messages saved, {saved.lost_bytes} bytes lost: {saved.out}")
