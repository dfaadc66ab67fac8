"""Permission to run user code in a study, stored in the user's own folder and never beside the study.

A permission is an empty file, named by a digest of the function's name, the study's folder and every file there that
Python could import, the function's module first; bytecode in ``__pycache__`` is not imported (``plugins``). Where the
module is, or what lies beside it, has changed: it has to be allowed again. What cannot be identified by its files (a
module that is part of Python, a folder of thousands of files) is allowed for one run at a time.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.machinery
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

_SUFFIXES = tuple(importlib.machinery.all_suffixes())
_MOST_FILES = 2000  # largest number of files that a permission covers
_MOST_ENTRIES = 20_000  # largest number of folder entries searched
_OTHERS_WRITE = 0o022


def default_folder() -> Path | None:
    """Return $XDG_STATE_HOME/footfall/allowed, or ~/.local/state/footfall/allowed; None without a home."""
    with contextlib.suppress(RuntimeError):
        base = os.environ.get("XDG_STATE_HOME")
        return (Path(base) if base else Path.home() / ".local" / "state") / "footfall" / "allowed"
    return None


def is_allowed(function: str, folder: Path) -> bool:
    """Return whether the user has allowed a function ``module:name`` of a study in ``folder``, with its present
    code.
    """
    place, key = default_folder(), code_digest(function, folder)
    if place is None or key is None:
        return False
    try:
        kept = place.stat()
        own = not hasattr(os, "getuid") or (kept.st_uid == os.getuid() and not kept.st_mode & _OTHERS_WRITE)
        return own and (place / key).is_file()
    except OSError:
        return False


def allow(function: str, folder: Path) -> None:
    """Store that a function may run; without a home folder, it must be allowed every time."""
    place, key = default_folder(), code_digest(function, folder)
    if place is None or key is None:
        return
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        (place / key).touch(mode=0o600)


def code_digest(function: str, folder: Path) -> str | None:
    """Return a digest of a function and all code in its study's folder; None if there is none."""
    folder = folder.resolve()
    files = _files(function.partition(":")[0], folder)
    if files is None:
        return None
    state = hashlib.sha256()
    for word in (function, str(folder)):
        state.update(hashlib.sha256(word.encode(errors="surrogateescape")).digest())
    try:
        for file in files:
            state.update(hashlib.sha256(str(file).encode(errors="surrogateescape")).digest())
            state.update(hashlib.sha256(file.read_bytes()).digest())
    except OSError:
        return None
    return state.hexdigest()


def _files(module: str, folder: Path) -> list[Path] | None:
    """Return the files importable from a folder, in order, and that of an installed module; nothing is imported."""
    here = list(_importable(folder))
    if len(here) > _MOST_FILES:
        return None
    top, *inside = module.split(".")
    if (folder / top).is_dir() or any((folder / (top + suffix)).is_file() for suffix in _SUFFIXES):
        return sorted(here)
    try:
        found = importlib.util.find_spec(top)  # a module without dots: nothing is executed to find it
    except (ImportError, ValueError):
        return None
    if found is None:
        return None
    if not inside:
        return sorted([*here, Path(found.origin)]) if found.has_location and found.origin else None
    places = [Path(root).joinpath(*inside) for root in found.submodule_search_locations or ()]
    options = [option for place in places for option in (*_named(place), *_named(place / "__init__"))]
    module_file = next((option for option in options if option.is_file()), None)
    return sorted([*here, module_file]) if module_file is not None else None


def _named(place: Path) -> list[Path]:
    return [place.with_name(place.name + suffix) for suffix in _SUFFIXES]


def _importable(folder: Path) -> Iterator[Path]:
    """Yield files importable from a folder, up to one more than the limit."""
    count = 0
    for root, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
        count += len(folders) + len(names)
        if count > _MOST_ENTRIES:
            yield from (Path() for _ in range(_MOST_FILES + 1))
            return
        yield from (Path(root, name) for name in names if name.endswith(_SUFFIXES))


__all__ = ["allow", "code_digest", "is_allowed"]
