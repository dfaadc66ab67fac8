"""Ends of loops: Ctrl-C, SIGTERM or a key press."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

RealtimeOption = Annotated[bool, typer.Option("--realtime", help="Request real-time priority (may need permission).")]


@contextmanager
def until_signal() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C or SIGTERM was received."""
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


@contextlib.contextmanager
def any_key() -> Iterator[threading.Event]:
    """Yield an event that the first byte on standard input sets; end of file (no terminal) does not."""
    pressed = threading.Event()
    if sys.stdin is None or sys.stdin.closed:
        yield pressed
        return
    descriptor = sys.stdin.fileno()

    def listen() -> None:
        with contextlib.suppress(OSError):
            if os.read(descriptor, 1):
                pressed.set()

    threading.Thread(target=listen, name="footfall-keys", daemon=True).start()
    if not os.isatty(descriptor):
        yield pressed
        return
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)  # a key counts at once, not after Enter
    try:
        yield pressed
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
