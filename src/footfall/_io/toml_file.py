"""Read untrusted TOML files as tables; errors name the fault in one sentence."""

from __future__ import annotations

import tomllib
from pathlib import Path

from footfall._io.json_file import bounded_bytes
from footfall.errors import SPOILED, InputError
from nptrace._types import Given

_DEEPEST = 20  # maximum depth of nested tables and lists


def read_toml_text(path: Path, what: str) -> str:
    """Return the text of a file; ``what`` names it in messages ("the run file")."""
    data = bounded_bytes(path, what)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from None


def parse_toml(text: str, where: str) -> dict[str, Given]:
    """Return the tables of a TOML text; ``where`` names it in messages."""
    try:
        found = tomllib.loads(text)
        deep = _deeper(found, _DEEPEST)
    except RecursionError:
        deep = True
    except SPOILED as error:  # besides its own errors, the parser raises those of numbers and dates
        raise InputError(f"{where} is not TOML: {error}") from None
    if deep:
        raise InputError(f"{where} is nested too deep")
    return found


def _deeper(value: object, left: int) -> bool:
    """Return whether values are nested deeper than a limit."""
    if not isinstance(value, (dict, list)):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return left == 0 or any(_deeper(part, left - 1) for part in parts)


__all__ = ["parse_toml", "read_toml_text"]
