"""Published claims, one experiment a paper: what is printed beside what we measure."""

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
_FAMILIES = ("depaula2024",)  # experiments whose ranges are those of a family of set-ups
_OTHERS = {  # assessed by no paper, and not a part of "all"
    "reality": "footfall_lab.reality.study",
    "mini_cheetah": "footfall_lab.reality.mini_cheetah_study",
}
_RECORDED = ("mini_cheetah",)  # experiments on recordings that are not ours to ship


def names() -> tuple[str, ...]:
    """The experiments that papers are assessed by."""
    return tuple(_MODULES)


def others() -> tuple[str, ...]:
    """Experiments beside those of papers."""
    return tuple(_OTHERS)


def run(
    name: str,
    quick: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    workers: int = 1,
    full: bool = False,
    recordings: str | Path | None = None,
) -> Outcome:
    """Do an experiment.

    Args:
        name: Of the experiment.
        quick: Measure every claim with fewer variants.
        progress: Called with what is done, the number of things done and the number of all.
        workers: Processes that share the runs.
        full: Larger families, of experiments that have one.
        recordings: Folder of recordings, of experiments on those of others.
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
