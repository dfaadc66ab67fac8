"""The origin of a run: settings of its parts, its command, the options it was planned from, the code's revision."""

from __future__ import annotations

import dataclasses
import math
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall.adapters import unadapted
from footfall.control.interface import Command
from footfall.errors import InputError
from nptrace._types import Given, Json

_LONGEST = 64  # largest array that is written out
_DEEPEST = 6


def settings_of(part: Given, depth: int = 0) -> Json:
    """Return the settings of a part as JSON; a class by its name, without large arrays."""
    part = unadapted(part)
    if part is None or isinstance(part, (bool, str)):
        return part
    if isinstance(part, (int, float, np.number)):
        return part.item() if isinstance(part, np.number) else part if math.isfinite(part) else str(part)
    if isinstance(part, ndarray):
        return part.tolist() if part.dtype.kind in "fiub" and part.size <= _LONGEST else None
    if depth > _DEEPEST:
        return None
    if isinstance(part, (list, tuple)) and len(part) <= _LONGEST:
        return [settings_of(each, depth + 1) for each in part]
    if isinstance(part, Mapping):
        return {str(key): settings_of(value, depth + 1) for key, value in part.items()}
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        values = {f.name: vars(part).get(f.name) for f in dataclasses.fields(part) if not f.name.startswith("_")}
        found = {name: settings_of(value, depth + 1) for name, value in values.items() if value is not None}
        return {"class": type(part).__name__, **{name: value for name, value in found.items() if value is not None}}
    return {"class": type(part).__name__} if not callable(part) else getattr(part, "__name__", type(part).__name__)


def command_words(command: Command | Callable[[float], Command]) -> Json:
    """Return a command as its fields, a schedule as its text, and a function as its name."""
    if isinstance(command, Command):
        return {key: float(value) for key, value in dataclasses.asdict(command).items() if value}
    return str(command) if dataclasses.is_dataclass(command) else f"function {getattr(command, '__name__', 'of time')}"


def revisions() -> dict[str, str]:
    """Return the git revisions of the working directory and of footfall's own source, where there are any."""
    places = {"directory": Path.cwd(), "footfall": Path(__file__).parents[1]}
    found = {name: _revision(place) for name, place in places.items()}
    return {name: revision for name, revision in found.items() if revision is not None}


def _revision(folder: Path) -> str | None:
    """Return the target of HEAD of a folder's repository; git itself is not run."""
    for place in (folder, *folder.parents):
        dot_git = place / ".git"
        try:
            if dot_git.is_dir():
                return _head(dot_git)
            if dot_git.is_file():  # a worktree
                return _head(place / dot_git.read_text(encoding="utf-8").partition("gitdir:")[2].strip())
        except (OSError, ValueError):
            return None
    return None


def _head(folder: Path) -> str | None:
    head = (folder / "HEAD").read_text(encoding="utf-8").strip()
    if not head.startswith("ref: "):
        return head or None
    name, places = head.removeprefix("ref: "), [folder]
    if (folder / "commondir").is_file():
        places.append(folder / (folder / "commondir").read_text(encoding="utf-8").strip())
    for place in places:
        if (place / name).is_file():
            return (place / name).read_text(encoding="utf-8").strip()
        if (place / "packed-refs").is_file():
            for line in (place / "packed-refs").read_text(encoding="utf-8").splitlines():
                if line.endswith(f" {name}"):
                    return line.split()[0]
    return None


# -- the command that makes the run again ------------------------------------------------------------------------------
def rerun_command(meta: Mapping[str, Json]) -> str:
    """Return the command line that repeats a run, from the options in its recording."""
    words = meta.get("rerun")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(
            "this recording was made by a Python program, so no command repeats it: see"
            " meta['controller_settings'] and meta['command']"
        )
    return shlex.join(words)


__all__ = ["command_words", "rerun_command", "revisions", "settings_of"]
