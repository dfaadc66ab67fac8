"""Commands and protocols that packages register as entry points, and user-defined objects named as ``module:name``."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from importlib.metadata import EntryPoint
from importlib.metadata import entry_points as installed
from pathlib import Path
from typing import NoReturn

from footfall.errors import InputError, unknown
from nptrace._types import Given

DISTRIBUTION = "footfall"
_PROJECT = Path(__file__).parents[2] / "pyproject.toml"  # in a checkout


def entry_points(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; names of footfall's distribution take precedence.

    In a checkout, ``pyproject.toml`` is read: it is newer than the metadata of an editable installation, and needs no
    installation.
    """
    found = installed(group=group)
    ours = _in_checkout(group)
    if ours is None:
        ours = {point.name: point for point in found if _is_ours(point)}
    return {**{point.name: point for point in found if not _is_ours(point)}, **ours}


def _is_ours(point: EntryPoint) -> bool:
    return point.dist is not None and point.dist.name == DISTRIBUTION


def _in_checkout(group: str) -> dict[str, EntryPoint] | None:
    try:
        project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        return None
    if project.get("name") != DISTRIBUTION:
        return None
    return {
        name: EntryPoint(name, value, group) for name, value in project.get("entry-points", {}).get(group, {}).items()
    }


# -- user-defined code ----------------------------------------------------------------------------------------------
_NAMED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def names_code(text: str) -> bool:
    """Return whether a text has the form ``module:name``."""
    return _NAMED.fullmatch(text) is not None


USER_FOLDERS = set[str]()  # folders in which users' modules were found


class _FromSource(SourceFileLoader):
    """Compile a module from its source: bytecode in ``__pycache__`` may be from other code, which the user has not
    allowed.
    """

    def path_stats(self, path: str) -> NoReturn:
        raise OSError("compiled from source")


def _finder(path: str) -> FileFinder:
    """Return a finder of modules in a user's folder, for ``sys.path_hooks``."""
    if not _is_of_user(path):
        raise ImportError("not a user's folder", path=path)
    loaders = (
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (_FromSource, SOURCE_SUFFIXES),
        (SourcelessFileLoader, BYTECODE_SUFFIXES),
    )
    return FileFinder(path, *loaders)


def _is_of_user(path: str) -> bool:
    """Return whether a folder lies in a user's folder, and not in a nearer path entry such as an environment."""
    around = [entry for entry in sys.path if entry and Path(path).is_relative_to(entry)]
    return max(around, key=len, default="") in USER_FOLDERS


def _look_in(folder: str) -> None:
    """Find modules in a folder, by their source alone."""
    if folder not in sys.path:
        sys.path.insert(0, folder)
    if folder in USER_FOLDERS:
        return
    USER_FOLDERS.add(folder)
    if _finder not in sys.path_hooks:
        sys.path_hooks.insert(0, _finder)
    for path in [path for path in sys.path_importer_cache if _is_of_user(path)]:
        del sys.path_importer_cache[path]


def named_object(name: str, folder: Path, beside: bool = True) -> Given:
    """Import the object named ``module:name``; modules in a folder are found too, unless ``beside`` is False."""
    module_name, _, key = name.partition(":")
    if beside:
        _look_in(str(folder.absolute()))
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise InputError(f"cannot import the module of {name!r}: {error}") from error
    except Exception as error:
        raise InputError(f"the module of {name!r} fails to load: {type(error).__name__}: {error}") from error
    found = getattr(module, key, None)
    if not callable(found):
        known = [k for k, value in vars(module).items() if callable(value) and not k.startswith("_")]
        raise unknown(f"function of module '{module_name}'", key, known, "it has")
    return found
