"""Published claims, one experiment a paper: what is printed beside what we measure."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from footfall.errors import unknown
from footfall.experiments.claims import Claim, Outcome, Table

_MODULES = {
    "depaula2024": "footfall.experiments.depaula2024",
    "adak2021": "footfall.experiments.adak2021",
    "floating_base": "footfall.experiments.floating_base",
    "contact_comparison": "footfall.experiments.contact_comparison",
    "yan2021": "footfall.experiments.yan2021",
    "dynakat": "footfall.experiments.dynakat",
    "reality": "footfall.experiments.reality.study",
}


def names() -> tuple[str, ...]:
    """The experiments there are."""
    return tuple(_MODULES)


def run(
    name: str, quick: bool = False, progress: Callable[[str, int, int], None] | None = None, workers: int = 1
) -> Outcome:
    """Do an experiment. ``quick`` measures every claim with fewer variants; ``workers`` processes share the runs."""
    if name not in _MODULES:
        raise unknown("experiment", name, _MODULES)
    return import_module(_MODULES[name]).run(quick=quick, progress=progress, workers=workers)


__all__ = ["Claim", "Outcome", "Table", "names", "run"]
