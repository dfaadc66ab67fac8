"""Loops that run until Ctrl-C or SIGTERM, and then end in good order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

RealtimeOption = Annotated[
    bool, typer.Option("--realtime", help="Ask the operating system for real-time priority (may need rights).")
]


@contextmanager
def until_told() -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether Ctrl-C or SIGTERM has come."""
    ended = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield ended.is_set
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.signal(kind, lambda *_: ended.set()) for kind in kinds}
    try:
        yield ended.is_set
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
