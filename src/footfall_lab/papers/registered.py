"""The registration of claims: bounds by kind of quantity, readings and set-ups, read from ``registered.toml``.

That file is fixed before the runs and changes only in commits of its own. The digest of an experiment's bounds is
stored with its results.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from footfall.errors import InputError, unknown
from nptrace._types import Given

FILE = Path(__file__).with_name("registered.toml")
RULES = ("factor", "at most", "at least", "between", "equal", "at most the printed", "holds", "range", "none")
TABLES = ("behaviour", "equation", "time", "survey")  # tables of claims, each with its verdicts

_SLACK = 1e-12  # rounding of a ratio

Value = float | str | bool | None


@dataclass(frozen=True)
class Bound:
    """The allowed difference from the printed value for a kind of quantity."""

    kind: str
    of: str  # the quantity that it bounds
    rule: str
    why: str
    value: Given = None

    def words(self) -> str:
        """Return the bound in a few words."""
        if self.rule == "factor":
            return f"within {self.value:g} times, either way"
        if self.rule == "between":
            return f"{self.value[0]:g} to {self.value[1]:g}"
        if self.rule in ("equal", "range", "none"):
            return {"equal": "equal", "range": "no bound: the range is given", "none": "no verdict"}[self.rule]
        return f"{self.rule} {self.value:g}" if self.value is not None else self.rule

    def met(self, printed: Value, measured: float) -> bool:
        """Return whether a number is within the bound; false for NaN."""
        if not math.isfinite(measured):
            return False
        if self.rule == "factor":
            ratio = measured / float(printed)  # type: ignore[arg-type]
            return 1.0 / self.value <= ratio * (1.0 + _SLACK) and ratio <= self.value * (1.0 + _SLACK)
        if self.rule == "between":
            return bool(self.value[0] <= measured <= self.value[1])
        if self.rule == "at least":
            return bool(measured >= self.value)
        return bool(measured <= (float(printed) if self.rule == "at most the printed" else self.value))  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A registered claim: the printed value, and how it will be assessed."""

    id: str
    claim: str
    kind: str
    unit: str = ""
    printed: Value = None
    reading: str = ""
    missing: str = ""  # what is missing to assess it
    universal: bool = False  # one counterexample refutes it
    ours: bool = False  # our own question, not in any paper
    table: str = "behaviour"  # one of TABLES
    equations: tuple[str, ...] = ()  # for the table of equations: all equations covered by one evaluation
    covers: str = ""  # other authors of the same finding, in a survey
    short: str = ""  # the claim in a few words, for a line about the whole paper

    @property
    def weight(self) -> int:
        """The number of equations it covers; 1 for any other claim."""
        return max(len(self.equations), 1)


@dataclass(frozen=True)
class Registration:
    """The contents of ``registered.toml``."""

    bounds: Mapping[str, Bound]
    setups: Mapping[str, Mapping[str, Given]]
    claims: Mapping[str, Mapping[str, Entry]]  # by experiment, by id
    digests: Mapping[str, str]  # by experiment: digest of its set-up, claims and bounds
    papers: Mapping[str, str]  # short names, by experiment

    def entry(self, experiment: str, id: str) -> Entry:
        if experiment not in self.claims:
            raise unknown("experiment", experiment, self.claims)
        if id not in self.claims[experiment]:
            raise unknown("claim", id, self.claims[experiment], f"registered for {experiment} are")
        return self.claims[experiment][id]


@cache
def registration() -> Registration:
    """Return the registration of this version."""
    return read(FILE.read_bytes())


def read(content: bytes) -> Registration:
    """Return the registration in the text of a file."""
    found = tomllib.loads(content.replace(b"\r\n", b"\n").decode("utf-8"))
    bounds = {kind: Bound(kind, **fields) for kind, fields in found["bounds"].items()}
    claims = {
        name: {
            id: Entry(
                id=id,
                **{
                    "table": "time" if fields.get("kind") == "time" else "behaviour",
                    **fields,
                    "equations": tuple(fields.get("equations", ())),
                },
            )
            for id, fields in entries.items()
        }
        for name, entries in found["claims"].items()
    }
    for bound in bounds.values():
        if bound.rule not in RULES:
            raise unknown("rule", bound.rule, RULES, f"of {bound.kind} must be one of")
    for name, entries in claims.items():
        for entry in entries.values():
            _check(f"{name}.{entry.id}", entry, bounds)
    digests = {}
    for name, entries in found["claims"].items():
        kinds = sorted({fields["kind"] for fields in entries.values()})
        what = [found["setups"][name], entries, {kind: found["bounds"][kind] for kind in kinds}]
        digests[name] = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]
    return Registration(bounds, found["setups"], claims, digests, found["papers"])


def setup(experiment: str) -> Mapping[str, Given]:
    """Return the deciding set-up of an experiment."""
    return registration().setups[experiment]


def _check(name: str, entry: Entry, bounds: Mapping[str, Bound]) -> None:
    if entry.kind not in bounds:
        raise unknown("kind", entry.kind, bounds, f"of claim {name} must be one of")
    if entry.table not in TABLES:
        raise unknown("table", entry.table, TABLES, f"of claim {name} must be one of")
    if entry.ours == (entry.printed is not None):
        raise InputError(f"claim {name} must have a printed value or be our own question, not both")
    if bounds[entry.kind].rule == "holds" and not (entry.reading or entry.missing):
        raise InputError(f"claim {name} holds or does not: its reading must say when")
