"""One version number for each footfall file format; a file of another version is refused in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from footfall.errors import FootfallError, InputError

_MOST_CHARACTERS = 24  # enough of a version to quote it in a message


def version_in(entries: Mapping[str, object]) -> object:
    """Return the version under "format" among arrays or attributes as a plain number; None if there is none."""
    found = entries.get("format")
    return found.item() if isinstance(found, np.ndarray | np.generic) and found.size == 1 else found


def check_version(file: str | Path, found: object, reads: int, error: type[FootfallError] = InputError) -> None:
    """Refuse a file unless it was written in the version of its format that is read.

    Args:
        file: name of the file in the message.
        found: the version stated in the file; None if there is none, which counts as version 0.
        reads: the version that this footfall can read.
        error: type of the error to raise.

    Raises:
        FootfallError: the file has another version; of type ``error``.
    """
    if type(found) is int and found == reads:
        return
    written = 0 if found is None else str(found)[:_MOST_CHARACTERS]
    raise error(
        f"{file} was written in version {written} of its format, and this version of footfall reads version"
        f" {reads}: write it again"
    )


__all__ = ["check_version", "version_in"]
