"""The recorded verdicts, ``recorded.toml``: this version's verdict on every claim, with its bounds."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from footfall_lab.papers.claims import VERDICTS, Outcome, Verdict
from footfall_lab.papers.registered import registration

FILE = Path(__file__).with_name("recorded.toml")


@dataclass(frozen=True)
class Record:
    """Verdicts by experiment and claim, digests of their bounds, and a line about every paper."""

    bounds: Mapping[str, str]
    verdicts: Mapping[str, Mapping[str, Verdict]]
    summary: Mapping[str, str]

    def counts(self) -> dict[Verdict, int]:
        """Return how many claims of papers have each verdict."""
        claims = registration().claims
        counted = [
            verdict
            for name, found in self.verdicts.items()
            for id, verdict in found.items()
            if id in claims.get(name, {}) and not claims[name][id].ours
            for _ in range(claims[name][id].weight)
        ]
        return {verdict: counted.count(verdict) for verdict in VERDICTS}


@cache
def record() -> Record:
    """Return the record of this version."""
    return read(FILE.read_text(encoding="utf-8"))


def read(text: str) -> Record:
    found = tomllib.loads(text)
    return Record(found.pop("bounds"), summary=found.pop("summary"), verdicts=found)


def written(
    outcomes: Iterable[tuple[str, str, Mapping[str, str]]], bounds: Mapping[str, str], summary: Mapping[str, str]
) -> str:
    """Return the text of a record: (experiment, title, verdicts by claim) of every outcome."""
    lines = [
        "# What `footfall reproduce all` says of every claim, written from its results.json by",
        "# docs/generate_verdicts.py. A verdict that changes fails the command until it is recorded.",
        "",
        "[bounds]  # digests of the bounds of every experiment",
        *(f'{name} = "{digest}"' for name, digest in bounds.items()),
        "",
        "[summary]",
        *(f'{name} = "{line}"' for name, line in summary.items()),
    ]
    for name, title, verdicts in outcomes:
        lines += ["", f"[{name}]  # {title}", *(f'"{id}" = "{verdict}"' for id, verdict in verdicts.items())]
    return "\n".join(lines) + "\n"


def changes(outcome: Outcome, kept: Record | None = None) -> list[str]:
    """Return sentences on how an outcome differs from the record; empty if all verdicts are as recorded."""
    kept = record() if kept is None else kept
    known_bounds = kept.bounds.get(outcome.experiment, outcome.bounds)
    if outcome.bounds != known_bounds:
        return [
            f"{outcome.experiment} was assessed by bounds {outcome.bounds}, the verdicts on record by {known_bounds}:"
            " record them again"
        ]
    if all(claim.ours for claim in outcome.claims) and outcome.experiment not in kept.verdicts:  # not on a paper
        return [f"{claim.id} does not hold: {claim.claim}" for claim in outcome.claims if claim.verdict != "holds"]
    known = kept.verdicts.get(outcome.experiment, {})
    reported = []
    for claim in outcome.claims:
        if claim.id not in known:
            reported.append(f"{claim.id} is assessed as {claim.verdict} and has no recorded verdict")
        elif claim.verdict != known[claim.id]:
            reported.append(
                f"{claim.id} is assessed as {claim.verdict}, on record is {known[claim.id]}: printed {claim.printed},"
                f" measured {claim.measured} {claim.unit}".rstrip()
            )
    checked = {claim.id for claim in outcome.claims}
    return reported + [f"{id} is recorded and was not assessed" for id in known if id not in checked]
