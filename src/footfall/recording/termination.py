"""SIGTERM while recordings are open: they are closed first.

A plain SIGTERM ends a process at once and leaves a recording without its end. While one is open that was begun in the
main thread, and nobody else answers the signal, it raises SystemExit instead, as Ctrl-C raises KeyboardInterrupt: runs
then close their files on the way out. What nobody closes on that way is closed as the process ends.
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


_open: weakref.WeakKeyDictionary[Closes, int] = weakref.WeakKeyDictionary()  # with the process that began it
_answering = False


def opened(recording: Closes) -> None:
    """A recording was begun."""
    global _answering
    _open[recording] = os.getpid()
    main = threading.current_thread() is threading.main_thread()
    if main and not _answering and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _told)
        _answering = True


def closed(recording: Closes) -> None:
    """It has its end; after the last one the signal is answered as it was before."""
    global _answering
    _open.pop(recording, None)
    main = threading.current_thread() is threading.main_thread()
    if _answering and not _open and main:
        if signal.getsignal(signal.SIGTERM) is _told:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _answering = False


def _told(number: int, frame: FrameType | None) -> None:
    if os.getpid() not in _open.values():  # a child of ours has a copy of what it must not finish
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTERM)
    atexit.register(_close_left)
    raise SystemExit(STATUS)


def _close_left() -> None:
    for recording, process in list(_open.items()):
        if process == os.getpid():
            recording.meta.setdefault("interrupted", _WHY)
            with contextlib.suppress(Exception):  # as much as can be saved
                recording.close()
