"""TOML files that nobody vouches for, as tables; an error names what is wrong in one sentence."""

from __future__ import annotations

import tomllib
from pathlib import Path

from footfall._io.json_file import bounded_bytes
from footfall.errors import SPOILED, InputError
from nptrace._types import Given

_DEEPEST = 20  # tables and lists inside each other


def read_toml_text(path: Path, what: str) -> str:
    """The text of a file; ``what`` names it: "the run file"."""
    data = bounded_bytes(path, what)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from None


def parse_toml(text: str, where: str) -> dict[str, Given]:
    """The tables of a text; ``where`` names it in messages."""
    try:
        found = tomllib.loads(text)
        deep = _deeper(found, _DEEPEST)
    except RecursionError:
        deep = True
    except SPOILED as error:  # beyond its own errors, the parser passes on those of numbers and dates
        raise InputError(f"{where} is not TOML: {error}") from None
    if deep:
        raise InputError(f"{where} is nested too deep")
    return found


def _deeper(value: object, left: int) -> bool:
    """Whether values lie inside each other more than so many times."""
    if not isinstance(value, (dict, list)):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return left == 0 or any(_deeper(part, left - 1) for part in parts)


__all__ = ["parse_toml", "read_toml_text"]
