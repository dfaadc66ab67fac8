"""Read and replace numbers deep inside frozen dataclasses by a dotted path, without checks: values may be traced."""

from __future__ import annotations

import dataclasses

from footfall.adapters import Adapter, unadapted
from footfall.errors import unknown
from nptrace._types import PyTree


def look_up(part: PyTree, path: str, inside: str) -> PyTree:
    """Look up a number: ``look_up(controller, "gait.period", "controller")``; an unknown name raises, with the nearest
    one.
    """
    for key in path.split("."):
        part = unadapted(part)
        known = [f.name for f in dataclasses.fields(part)] if dataclasses.is_dataclass(part) else []
        if key not in known:
            raise unknown("parameter", f"{inside}.{key}", [f"{inside}.{name}" for name in known], f"the {inside} has")
        part, inside = getattr(part, key), f"{inside}.{key}"
    return part


def replaced(part: PyTree, path: str, value: PyTree) -> PyTree:
    """Return a copy of a frozen dataclass with one number replaced; nothing is validated again."""
    if isinstance(part, Adapter):
        path = f"adapted.{path}"
    key, _, rest = path.partition(".")
    copy = object.__new__(type(part))
    for name, old in vars(part).items():
        object.__setattr__(copy, name, old)
    object.__setattr__(copy, key, replaced(getattr(part, key), rest, value) if rest else value)
    return copy
