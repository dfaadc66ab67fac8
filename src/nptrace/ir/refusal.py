"""Errors for operations that a trace cannot record: a TraceError that names the user's line.

The running trace remembers the first error and raises it at its end, because user code may swallow it (``except
Exception``) and NumPy may replace it (an error of ``__index__`` becomes an IndexError).
"""

import functools
import linecache
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from nptrace import numeric, packages
from nptrace.errors import TraceError

_NPTRACE = Path(__file__).parents[1]
_PARTS = ("autodiff", "codegen", "frontend", "ir", "passes", "runtime", "verification", "numeric.py")
_OURS = (*(str(_NPTRACE / part) for part in _PARTS), str(Path(np.__file__).parent) + "/")
_TRACER = str(_NPTRACE / "frontend" / "tracer.py")
_LIBRARY = tuple({sysconfig.get_path("stdlib") + "/", "<frozen"})
_INSTALLED = ("site-packages/", "dist-packages/")


def refusal(message: str) -> TraceError:
    """Return the error to raise; the running trace remembers it."""
    active = numeric.tracer.get()
    if active is None:
        return TraceError(message)
    error = TraceError(message + place(_frames(sys._getframe(1))))
    active.refusals.append(error)
    return error


def place(lines: Iterable[tuple[str, int]]) -> str:
    """Return " at file:line: `source`" of the innermost line of the user, or ""; ``lines``: innermost first.

    A line of our algorithms or of an installed package is named only if no line of the user leads to it.
    """
    seen = [line for line in lines if _is_users(line[0])]
    for filename, number in sorted(seen, key=lambda line: _is_installed(line[0]))[:1]:
        text = linecache.getline(filename, number).strip()
        text = text if len(text) <= 100 else text[:97] + "..."
        return f" at {Path(filename).name}:{number}" + (f": `{text}`" if text else "")
    return ""


def place_of(error: BaseException) -> str:
    """Return the line of code at which an exception was raised."""
    lines, trail = [], error.__traceback__
    while trail is not None:
        lines.append((trail.tb_frame.f_code.co_filename, trail.tb_lineno))
        trail = trail.tb_next
    return place(reversed(lines))


def foreign(error: BaseException) -> str | None:
    """Return a message for an exception that another package raised on a traced value; None for any other."""
    trail, innermost, package = error.__traceback__, "", ""
    while trail is not None:
        innermost = trail.tb_frame.f_code.co_filename.replace("\\", "/")
        for part in _INSTALLED:
            package = innermost.split(part)[-1].split("/")[0] if part in innermost else package
        trail = trail.tb_next
    if innermost.startswith(_OURS) or packages.in_folder(innermost) or not _is_installed(innermost):
        return None
    message = " ".join(str(error).split())
    return (
        f"{package or 'another package'} cannot compute with traced values ({type(error).__name__}: {message}):"
        f" write it with arithmetic, np.where, lookup or repeat{place_of(error)}"
    )


def _frames(frame: types.FrameType | None) -> Iterator[tuple[str, int]]:
    while frame is not None and frame.f_code.co_filename != _TRACER:  # the caller of the trace lies beyond it
        yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back


@functools.lru_cache(maxsize=1000)
def _is_installed(filename: str) -> bool:
    """Return whether a file belongs to an installed or registered package rather than to the user."""
    filename = filename.replace("\\", "/")
    return packages.in_folder(filename) or filename.endswith(".pyx") or any(part in filename for part in _INSTALLED)


@functools.lru_cache(maxsize=1000)
def _is_users(filename: str) -> bool:
    filename = filename.replace("\\", "/")
    if filename.startswith(_OURS):
        return False
    return not filename.startswith(_LIBRARY) or any(part in filename for part in _INSTALLED)
