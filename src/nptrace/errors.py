"""Errors that are raised on purpose. Every message is one sentence that names the culprit and the choices."""

import difflib
import math
import sys
import types
from collections.abc import Iterable
from typing import SupportsFloat

from nptrace import packages

_MOST_SHOWN = 24


_MOST_CHARACTERS = 2000  # of a message: a quoted value may be of any length


class NptraceError(Exception):
    """Base of all errors that are raised on purpose, here and in packages that build on this one."""

    def __str__(self) -> str:
        text = super().__str__()
        if len(text) <= _MOST_CHARACTERS:
            return text
        return f"{text[: _MOST_CHARACTERS - 400]} … {text[-300:]}"


class InputError(NptraceError):
    """A value, shape, name or option that a function does not accept."""


class TraceError(NptraceError):
    """Code used a traced value in a way that a trace cannot record.

    Not a TypeError or ValueError, so that code that catches those does not hide it.
    """


class TraceMismatch(TraceError):
    """A trace differs from its function: hidden state, random numbers, or a branch on a value."""


def callers_level() -> int:
    """Return the ``stacklevel`` with which a warning names the user's line, however deep it is raised."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and (packages.in_folder(frame.f_code.co_filename) or _of_dataclass(frame)):
        level, frame = level + 1, frame.f_back
    return level


def _of_dataclass(frame: types.FrameType) -> bool:
    """Return whether a frame is the generated ``__init__`` of one of our dataclasses."""
    return frame.f_code.co_name == "__init__" and packages.in_folder(str(frame.f_globals.get("__file__", "")))


def finite(value: SupportsFloat) -> bool:
    """Return whether a number is finite as a float; an integer may be too large to be one."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def unknown(what: str, name: object, known: Iterable[str], owner: str = "choose") -> InputError:
    """Return the error for an unknown name; lists the known names and suggests the nearest."""
    names = [str(k) for k in known]
    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    shown = names if len(names) <= _MOST_SHOWN else [*names[:_MOST_SHOWN], f"and {len(names) - _MOST_SHOWN} more"]
    return InputError(f"unknown {what} {str(name)!r}{hint}: {owner} {', '.join(shown) if shown else 'none'}")
