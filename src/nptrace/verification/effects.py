"""Side effects of a call (clocks, printing, files, sockets), detected in calls from Python to C."""

import datetime
import io
import queue
import socket
import sys
import threading
import types
from collections.abc import Callable

from nptrace.runtime.gc_paused import gc_paused

_BUILTINS = {print: "print", input: "input", open: "open"}
_NOW = {"now", "today", "utcnow"}
_MODULES = {"time": "a clock", "posix": "the operating system", "nt": "the operating system", "_socket": "a socket"}
_PURE = {"fspath", "strftime", "strptime", "mktime"}
_SETTINGS = {("decimal", "getcontext"), ("_decimal", "getcontext"), ("sys", "getrecursionlimit")}
_LOCKS = (type(threading.Lock()), type(threading.RLock()))


def effect_of(call: Callable[[], object]) -> str | None:
    """Return the first side effect of a call, in words; None without one, or if a profiler is active."""
    if sys.getprofile() is not None:
        call()
        return None
    found: list[str] = []

    def watch(frame: types.FrameType, event: str, function: object) -> None:
        if event == "c_call" and not found:
            found.extend(_words(function))

    with gc_paused():  # libraries have garbage collection callbacks that read clocks
        sys.setprofile(watch)
        try:
            call()
        finally:
            sys.setprofile(None)
    return found[0] if found else None


def _words(function: object) -> list[str]:
    name, owner = getattr(function, "__name__", ""), getattr(function, "__self__", None)
    for known, word in _BUILTINS.items():
        if function is known:
            return [f"calls {word}"]
    if isinstance(owner, types.ModuleType) and owner.__name__ in _MODULES and name not in _PURE:
        return [f"calls {_MODULES[owner.__name__]} ({name})"]
    if isinstance(owner, type) and issubclass(owner, datetime.date) and name in _NOW:
        return [f"reads a clock ({name})"]
    if (getattr(function, "__module__", None), name) in _SETTINGS:
        return [f"reads a setting of the process ({name})"]
    if isinstance(owner, queue.SimpleQueue) or (isinstance(owner, _LOCKS) and name == "locked"):
        return [f"reads the state of other threads ({name})"]
    if isinstance(owner, (io.IOBase, socket.socket)):
        return [f"reads or writes a file ({name})"]
    return []
