"""Read untrusted JSON files of bounded size; errors name the fault in one sentence."""

from __future__ import annotations

import json
import os

from footfall.errors import SPOILED, InputError, reason
from nptrace._types import Given

MOST_BYTES = 1_000_000


def bounded_bytes(path: str | os.PathLike[str], what: str, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a file below a size limit; ``what`` names it in messages ("the motors")."""
    try:
        with open(path, "rb") as file:
            data = file.read(most_bytes + 1)
    except (OSError, ValueError) as error:  # a null character in a name is a ValueError
        raise InputError(f"cannot read {what} {path}: {reason(error)}") from None
    if len(data) > most_bytes:
        raise InputError(f"{path} is larger than {most_bytes / 1e6:g} MB, too large for {what}")
    return data


def read_json(path: str | os.PathLike[str], what: str, wrong: str, most_bytes: int = MOST_BYTES) -> Given:
    """Return the content of a JSON file; ``what`` names it in messages ("the motors"), ``wrong`` is the message for
    invalid JSON.
    """
    data = bounded_bytes(path, what, most_bytes)
    try:
        return json.loads(data)
    except SPOILED:
        raise InputError(wrong) from None


__all__ = ["MOST_BYTES", "bounded_bytes", "read_json"]
