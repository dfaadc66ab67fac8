"""Atomic writes: a file appears complete or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside ``path``; the file is moved to ``path`` at the end, or removed after an error.

    Special files such as ``/dev/null`` are written to directly and never replaced.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        yield target
        return
    passing = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield passing
        os.replace(passing, target)
    finally:
        passing.unlink(missing_ok=True)
