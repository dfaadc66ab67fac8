"""Waiting for what other threads and processes do, on a machine that may be busy with something else."""

from __future__ import annotations

import contextlib
import gc
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from footfall.view.driver import SimulationThread

PATIENCE = 120.0  # [s]: against hangs alone


def until(what: Callable[[], object], seconds: float = PATIENCE, again: Callable[[], object] | None = None) -> float:
    """Wait until something holds; how long that took [s]. ``again``: what is done once more every five seconds."""
    began = asked = time.monotonic()
    while not what():
        now = time.monotonic()
        assert now < began + seconds, "it never came to that"
        if again is not None and now > asked + 5.0:
            again()
            asked = time.monotonic()
        time.sleep(0.005)
    return time.monotonic() - began


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """What is done takes less than this of the process's own time: garbage that other tests left is not collected."""
    collects = gc.isenabled()
    gc.disable()
    began = time.process_time()
    try:
        yield
    finally:
        took = time.process_time() - began
        if collects:
            gc.enable()
    assert took < seconds


def finish(driver: SimulationThread) -> None:
    """Wait until all that a driver was asked for is done, and the frame that was on its way."""
    for _ in range(2):
        done = threading.Event()
        driver.do(done.set)
        assert done.wait(PATIENCE)


def interrupt(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Ctrl-C, and what the process still says; once more where it came at a moment that swallows it."""
    for _ in range(4):
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=60.0)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("it does not end")
