"""Distinguish the user's code, which is searched for hidden state, from that of libraries, which is not."""

import functools
import sys
import sysconfig
from pathlib import Path

from nptrace import packages

_CORE = {"numpy", "scipy", "builtins", *sys.stdlib_module_names} - {"__main__"}
_INSTALLED = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}


def package(module: str | None) -> str:
    return (module or "").partition(".")[0]


def is_core(module: str | None) -> bool:
    """Return whether a module belongs to Python, NumPy or a registered package."""
    return package(module) in _CORE or packages.in_package(module)


@functools.cache
def is_installed(name: str) -> bool:
    """Return whether a package was installed, rather than written in the user's working folder."""
    found = getattr(sys.modules.get(name), "__file__", None)
    return found is not None and any(Path(found).is_relative_to(place) for place in _INSTALLED)
