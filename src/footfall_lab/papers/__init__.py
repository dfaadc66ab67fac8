"""Published claims, one experiment per paper, compared with our measurements."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from footfall.errors import InputError, unknown
from footfall_lab.papers.claims import Claim, Outcome, Table
from nptrace._types import Json

_MODULES = {
    "depaula2024": "footfall_lab.papers.depaula2024.experiment",
    "adak2021": "footfall_lab.papers.adak2021.experiment",
    "floating_base": "footfall_lab.papers.floating_base.experiment",
    "contact_comparison": "footfall_lab.papers.contact_comparison.experiment",
    "yan2021": "footfall_lab.papers.yan2021.experiment",
    "dynakat": "footfall_lab.papers.dynakat.experiment",
}
_FAMILIES = ("depaula2024",)  # experiments with ranges over a family of set-ups
_OTHERS = {  # not on a paper, and not part of "all"
    "reality": "footfall_lab.reality.study",
    "mini_cheetah": "footfall_lab.reality.mini_cheetah_study",
}
_RECORDED = ("mini_cheetah",)  # experiments on recordings that we may not distribute


def names() -> tuple[str, ...]:
    """Return the names of the experiments on papers."""
    return tuple(_MODULES)


def others() -> tuple[str, ...]:
    """Return the names of other experiments."""
    return tuple(_OTHERS)


def run(
    name: str,
    quick: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    workers: int = 1,
    full: bool = False,
    recordings: str | Path | None = None,
) -> Outcome:
    """Run an experiment.

    Args:
        name: Name of the experiment.
        quick: Measure every claim with fewer variants.
        progress: Called with the current task, the number of finished tasks and their total.
        workers: Processes that share the runs.
        full: Use larger families, for experiments with a family.
        recordings: Folder of recordings, for experiments on third-party recordings.
    """
    known = {**_MODULES, **_OTHERS}
    if name not in known:
        raise unknown("experiment", name, known)
    larger: dict[str, Json] = {"full": full} if name in _FAMILIES else {}
    if name in _RECORDED:
        if recordings is None:
            raise InputError(f"{name} needs the folder of its recordings: --recordings FOLDER")
        larger["recordings"] = str(recordings)
    elif recordings is not None:
        raise InputError(f"{name} takes no recordings: leave out --recordings")
    return import_module(known[name]).run(quick=quick, progress=progress, workers=workers, **larger)


__all__ = ["Claim", "Outcome", "Table", "names", "others", "run"]
