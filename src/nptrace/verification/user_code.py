"""Whose code is it: the user's, whose state is looked for, or a library's, which is taken to keep none."""

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
    """Whether it is Python's own, NumPy's or ours."""
    return package(module) in _CORE or packages.in_package(module)


@functools.cache
def is_installed(name: str) -> bool:
    """Whether a package was installed from elsewhere, rather than written where the user works."""
    found = getattr(sys.modules.get(name), "__file__", None)
    return found is not None and any(Path(found).is_relative_to(place) for place in _INSTALLED)
