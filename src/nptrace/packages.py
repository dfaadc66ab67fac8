"""The registry of library packages, whose code is distinguished from that of users."""

import functools
from pathlib import Path

folders: dict[str, Path] = {}  # by name


def register(package: str, folder: str | Path) -> None:
    """Register a package: its functions are compiled under a key, and messages name a user's line instead of its."""
    folders[package] = Path(folder)
    in_folder.cache_clear()


def in_package(module: str | None) -> bool:
    """Return whether a module name lies in a registered package; for the origin of code, see ``ownership``."""
    return (module or "").partition(".")[0] in folders


@functools.lru_cache(maxsize=4096)
def in_folder(filename: str) -> bool:
    """Return whether a file lies in a registered package."""
    filename = filename.replace("\\", "/")
    return any(filename.startswith(folder.as_posix() + "/") for folder in folders.values())


def listed() -> str:
    """Return the names of the registered packages for a message."""
    return " or ".join(folders)
