"""Plain NumPy in, machine code out: tracing, derivatives and the targets. Nothing in here knows robots.

Names load when they are first used, so that importing footfall does not load LLVM.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "compile": "compiled",
    "jacobian": "differentiate",
    "gradient": "differentiate",
    "program_of": "compiled",  # ``program`` is the module of the SSA form
    "trace": "tracer",
}
__all__ = ["compile", "gradient", "jacobian", "program_of", "trace"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
