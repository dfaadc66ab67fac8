"""The packages whose code is the library's own, as opposed to a user's: one registry that everything else asks."""

import functools
from pathlib import Path

folders: dict[str, Path] = {}  # by name


def register(package: str, folder: str | Path) -> None:
    """Add a package: its functions are compiled under a key, and messages name the user's line, not one of its."""
    folders[package] = Path(folder)
    in_folder.cache_clear()


def in_package(module: str | None) -> bool:
    """Return whether a module's name lies in a registered package. Of its code a name says nothing: see ownership."""
    return (module or "").partition(".")[0] in folders


@functools.lru_cache(maxsize=4096)
def in_folder(filename: str) -> bool:
    """Return whether a file lies in a registered package."""
    filename = filename.replace("\\", "/")
    return any(filename.startswith(folder.as_posix() + "/") for folder in folders.values())


def listed() -> str:
    """Return the names of the registered packages for a message."""
    return " or ".join(folders)
