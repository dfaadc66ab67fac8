"""``footfall recover``: repair a damaged recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from footfall.cli.common import JsonOption, examples, print_json, tell

NAME = "recover"
EXAMPLES = examples("footfall recover trot.mcap", "footfall recover trot.mcap --out saved.mcap --json")


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The damaged recording (.mcap).")],
    out: Annotated[Path | None, typer.Option(help="File to write (default: NAME.recovered.mcap).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Recover a truncated or damaged recording."""
    from footfall.recording.recording_file import recover

    saved = recover(file, out)
    if as_json:
        print_json({"messages": saved.messages, "lost_bytes": saved.lost_bytes, "out": str(saved.out)})
    else:
        tell(f"{saved.messages} messages saved, {saved.lost_bytes} bytes lost: {saved.out}")
