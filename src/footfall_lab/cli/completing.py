"""Shell completions: names of experiments and benches."""

from __future__ import annotations

from collections.abc import Iterable

from footfall.cli.completing import offer


def _experiments() -> Iterable[str]:
    from footfall_lab.papers import names

    return (*names(), "all")


def _benches() -> Iterable[str]:
    from footfall_lab.bench import NAMES

    return (*NAMES, "all")


experiments, benches = offer(_experiments), offer(_benches)
