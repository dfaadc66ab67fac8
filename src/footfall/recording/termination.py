"""SIGTERM during open recordings: they are closed first.

A plain SIGTERM ends a process at once and leaves a recording without its end. While a recording started in the main
thread is open and there is no other handler, SIGTERM raises SystemExit instead, as Ctrl-C raises KeyboardInterrupt:
runs then close their files during unwinding. Any others are closed as the process ends.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
import weakref
from types import FrameType
from typing import Protocol

from nptrace._types import Json

STATUS = 128 + signal.SIGTERM
_WHY = "the process was terminated by SIGTERM"


class Closes(Protocol):
    """A recording that is being written."""

    meta: dict[str, Json]

    def close(self) -> None: ...


_open: weakref.WeakKeyDictionary[Closes, int] = weakref.WeakKeyDictionary()  # by the process that opened it
_answering = False


def opened(recording: Closes) -> None:
    """Register an opened recording."""
    global _answering
    _open[recording] = os.getpid()
    main = threading.current_thread() is threading.main_thread()
    if main and not _answering and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _told)
        _answering = True


def closed(recording: Closes) -> None:
    """Unregister a closed recording; after the last one the previous signal handler is restored."""
    global _answering
    _open.pop(recording, None)
    main = threading.current_thread() is threading.main_thread()
    if _answering and not _open and main:
        if signal.getsignal(signal.SIGTERM) is _told:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _answering = False


def _told(number: int, frame: FrameType | None) -> None:
    if os.getpid() not in _open.values():  # a child process has a copy that it must not complete
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTERM)
    atexit.register(_close_left)
    raise SystemExit(STATUS)


def _close_left() -> None:
    for recording, process in list(_open.items()):
        if process == os.getpid():
            recording.meta.setdefault("interrupted", _WHY)
            with contextlib.suppress(Exception):  # save as much as possible
                recording.close()
