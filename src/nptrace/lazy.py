"""Packages whose names are loaded on first use, so that importing them stays fast."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # NumPy, which it needs, takes a tenth of a second to load
    from nptrace._types import Named


def lazy_exports(
    package: str, files: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Named], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package from a table: the public names of each file."""
    homes = {name: file for file, names in files.items() for name in names.split()}

    def load(name: str) -> Named:
        if name not in homes:
            known = {home.lower(): home for home in homes}
            near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.7)
            hint = f": did you mean {known[near[0]]!r}?" if near else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        module = import_module(f"{package}.{homes[name]}")
        return module if homes[name].rpartition(".")[2] == name else getattr(module, name)

    return sorted(homes), load, lambda: sorted(homes)
