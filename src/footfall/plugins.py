"""Commands and protocols that packages register as entry points."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from importlib.metadata import entry_points as installed
from pathlib import Path

DISTRIBUTION = "footfall"
_PROJECT = Path(__file__).parents[2] / "pyproject.toml"  # in a checkout


def entry_points(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; names of our own distribution win.

    In a checkout its ``pyproject.toml`` is read, which is newer than the metadata of an editable installation, and is
    there without any.
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
