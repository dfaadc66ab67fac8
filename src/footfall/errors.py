"""Everything footfall raises on purpose. Every message is one sentence that names the culprit and the choices."""

import difflib
import math
import struct
import sys
import tokenize
import types
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import SupportsFloat

_MOST_SHOWN = 24
_PACKAGE = str(Path(__file__).parent)

# What parsers make of a spoiled file, ours and those of packages: each is turned into one sentence that names the file.
SPOILED = (
    ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, LookupError, MemoryError, RuntimeError,
    StopIteration, SyntaxError, TypeError, ValueError, struct.error, tokenize.TokenError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip


_MOST_CHARACTERS = 2000  # of a sentence: a culprit that was quoted may be of any length


def reason(error: BaseException) -> str:
    """What an error says; one of the operating system without its number and the file's name."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


class FootfallError(Exception):
    """Base of all errors that footfall raises on purpose."""

    def __str__(self) -> str:
        text = super().__str__()
        if len(text) <= _MOST_CHARACTERS:
            return text
        return f"{text[: _MOST_CHARACTERS - 400]} … {text[-300:]}"


class ModelError(FootfallError):
    """A robot description or a model file that cannot be a robot."""


class InputError(FootfallError):
    """A value, shape, name or option that the called function cannot take."""


class MissingExtraError(FootfallError):
    """An optional dependency that is not installed."""

    def __init__(self, purpose: str, extra: str, package: str) -> None:
        super().__init__(f"{purpose} needs {package}: install it with  pip install 'footfall[{extra}]'")
        self.extra = extra


class TraceError(FootfallError):
    """Plain NumPy code did something with a traced value that a trace cannot record.

    Not a TypeError or ValueError: code that catches those must not swallow it and go on with a wrong number.
    """


class TraceMismatch(TraceError):
    """A trace is not the function it was made from: hidden state, random numbers, a branch on a value."""


def callers_level() -> int:
    """``stacklevel`` of a warning that is to name the user's line, however deep in footfall it is given."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and (frame.f_code.co_filename.startswith(_PACKAGE) or _of_dataclass(frame)):
        level, frame = level + 1, frame.f_back
    return level


def _of_dataclass(frame: types.FrameType) -> bool:
    """Whether a frame is the ``__init__`` that a dataclass of footfall wrote for itself."""
    return frame.f_code.co_name == "__init__" and str(frame.f_globals.get("__file__", "")).startswith(_PACKAGE)


def printable(text: str) -> str:
    """A text without what a terminal would obey: escapes, bells, reversed writing. Lines and tabs stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def finite(value: SupportsFloat) -> bool:
    """Whether a number is finite as a float; a whole number may be too large for one."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def unknown(what: str, name: object, known: Iterable[str], owner: str = "choose") -> InputError:
    """The error for a name that is not there; lists the known ones and offers the nearest."""
    names = [str(k) for k in known]
    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    shown = names if len(names) <= _MOST_SHOWN else [*names[:_MOST_SHOWN], f"and {len(names) - _MOST_SHOWN} more"]
    return InputError(f"unknown {what} {str(name)!r}{hint}: {owner} {', '.join(shown) if shown else 'none'}")
