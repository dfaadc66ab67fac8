"""JSON files that nobody vouches for: of a bounded size, and what is wrong with one is said in one sentence."""

from __future__ import annotations

import json
import os
from typing import Any

from footfall.errors import SPOILED, InputError, reason


def read_json(path: str | os.PathLike[str], what: str, wrong: str, most_bytes: int = 1_000_000) -> Any:
    """The content of a file; ``what`` names it ("the motors"), ``wrong`` is said where it is no JSON."""
    try:
        with open(path, "rb") as file:
            data = file.read(most_bytes + 1)
    except (OSError, ValueError) as error:  # a null character in a name is a ValueError
        raise InputError(f"cannot read {what} {path}: {reason(error)}") from None
    if len(data) > most_bytes:
        raise InputError(f"{path} is larger than {most_bytes / 1e6:g} MB, too large for {what}")
    try:
        return json.loads(data)
    except SPOILED:
        raise InputError(wrong) from None


__all__ = ["read_json"]
