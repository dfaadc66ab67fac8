"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A passing name beside ``path`` to write to; it becomes ``path`` at the end, or is removed after an error.

    What is no plain file, such as ``/dev/null``, is written to directly and never replaced.
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
