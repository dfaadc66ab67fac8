"""The emergency stop by key: whatever is typed, or written to standard input, stops the robot."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def any_key() -> Iterator[threading.Event]:
    """Yields an event that is set by the first byte on standard input; its end (no terminal) is none."""
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


__all__ = ["any_key"]
