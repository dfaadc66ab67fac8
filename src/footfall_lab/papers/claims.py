"""A published claim beside what we measure, and the verdict that its registered bound gives.

``reproduced``: within the bound, which holds either way. ``differs``: outside it, by the factor that the note gives.
``refuted``: a statement without exception, and the note has the exception. ``not_testable``: the note says what is
missing. A question of our own carries the mark ``ours`` and is never counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from footfall.errors import InputError, unknown
from footfall_lab.papers.registered import Bound, Entry, Value, registration
from nptrace._types import Json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from footfall.recording.recording import Recording

Verdict = Literal["reproduced", "differs", "refuted", "not_testable"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "differs", "refuted", "not_testable")
COUNTED: dict[Verdict, str] = {
    "reproduced": "reproduced",
    "differs": "differ",
    "refuted": "refuted",
    "not_testable": "not testable",
}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement of a paper, as printed and as measured; ``unit`` holds for both, ``note`` says how and why."""

    id: str
    claim: str
    printed: Value
    measured: Value
    unit: str
    verdict: Verdict
    note: str = ""
    ours: bool = False
    bound: str = ""  # that it was judged by, in words
    beside: Value = None  # what others have, for a question of our own that is asked of them too

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InputError(f"the verdict of claim '{self.id}' must be one of {', '.join(VERDICTS)}: {self.verdict!r}")
        if self.verdict != "reproduced" and not self.note and not self.ours:
            words = self.verdict.replace("_", " ")
            raise InputError(f"claim '{self.id}' is called '{words}' without a reason: its note must give it")
        if self.ours and self.printed is not None:
            raise InputError(f"claim '{self.id}' is a question of our own: nothing is printed about it")

    @property
    def words(self) -> str:
        """The verdict for people; a question of our own is answered by yes or no."""
        if self.ours:
            return "yes" if self.verdict == "reproduced" else "no"
        return self.verdict.replace("_", " ")

    def to_json(self) -> dict[str, Json]:
        values = {"printed": _json(self.printed), "measured": _json(self.measured)}
        return {
            "id": self.id,
            "claim": self.claim,
            **values,
            "unit": self.unit,
            "verdict": self.verdict,
            "ours": self.ours,
            "note": self.note,
            **({} if self.beside is None else {"beside": _json(self.beside)}),
        }


def judge(
    experiment: str,
    id: str,
    measured: Value,
    note: str = "",
    holds: bool | None = None,
    compared: float | None = None,
    missing: str = "",
) -> Claim:
    """The verdict of a claim by its registered bound.

    Args:
        experiment: Its name on the command line.
        id: Of a registered claim.
        measured: What we found.
        note: How it was measured, and why it differs as far as known.
        holds: Whether a statement in words is so; only for those that are registered as ``holds``.
        compared: The number that the bound is asked about, where ``measured`` is none (several numbers in words): for
            a factor, the worst ratio to the printed.
        missing: What a measurement lacks that gave no number, such as a run that stays up: nothing can be judged.
    """
    entry = registration().entry(experiment, id)
    bound = registration().bounds[entry.kind]
    if (bound.rule == "holds") != (holds is not None) and not (entry.missing or missing):
        raise InputError(f"claim '{id}' is judged by '{bound.words()}': {'say' if holds is None else 'not by'} holds=")
    if entry.missing or missing:
        verdict: Verdict = "not_testable"
        note = f"Missing: {entry.missing or missing}. {note}".rstrip()
    else:
        good, how_far = _within(entry, bound, measured, holds, compared)
        verdict = "reproduced" if good else "refuted" if entry.universal else "differs"
        note = " ".join(part for part in ("" if good else how_far, note) if part)
    return Claim(
        id=id,
        claim=entry.claim,
        printed=entry.printed,
        measured=measured,
        unit=entry.unit,
        verdict=verdict,
        note=note,
        ours=entry.ours,
        bound=asked(entry),
    )


def _within(
    entry: Entry, bound: Bound, measured: Value, holds: bool | None, compared: float | None
) -> tuple[bool, str]:
    """(whether a claim is within its bound, how far off it is in a sentence)."""
    if bound.rule == "holds":
        return bool(holds), ""
    if bound.rule == "equal":
        return measured == entry.printed, ""
    if compared is not None and bound.rule == "factor":
        return bound.met(1.0, compared), f"{times(compared)} the printed."
    number = compared if compared is not None else _or_nan(measured)
    good = bound.met(entry.printed, number)
    if bound.rule in ("factor", "at most the printed"):
        return good, f"{times(number / _or_nan(entry.printed))} the printed."
    return good, ""


def asked(entry: Entry) -> str:
    """The bound and the reading of a claim, in a sentence; none where it cannot be judged."""
    bound = registration().bounds[entry.kind]
    if entry.missing:
        return ""
    parts = (bound.words() if bound.rule != "holds" else "", entry.reading)
    return ": ".join(part for part in parts if part)


def times(ratio: float) -> str:
    """A factor for people."""
    if not math.isfinite(ratio):
        return "no number beside"
    if ratio < 0.1:
        return f"1/{_digits(1 / ratio)} of" if ratio > 0.0 else "0 times"
    return f"{_digits(ratio, 4 if 0.9 < ratio < 1.1 else 3)} times"


def _digits(value: float, count: int = 3) -> str:
    """A number with so many digits, and no exponent from a thousand on."""
    return f"{value:.{count}g}" if abs(value) < 1000 else f"{float(f'{value:.{count}g}'):.0f}"


@dataclass(frozen=True)
class Table:
    """Numbers behind the verdicts, for people: rows of cells under a heading."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The findings of an experiment."""

    experiment: str  # its name on the command line
    title: str
    summary: str  # a few sentences: what was asked, what was found
    claims: tuple[Claim, ...]
    figures: dict[str, Figure] = field(default_factory=dict)  # by id
    captions: dict[str, str] = field(default_factory=dict)  # of the figures
    tables: tuple[Table, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)  # what was fixed, in words
    replays: dict[str, dict[str, Recording]] = field(default_factory=dict)  # by caption: recordings shown together
    bounds: str = field(default_factory=lambda: registration().digest)  # digest of what the claims were judged by

    def claim(self, id: str) -> Claim:
        for claim in self.claims:
            if claim.id == id:
                return claim
        raise unknown("claim", id, [c.id for c in self.claims], f"{self.experiment} has")

    def to_json(self, figures: Sequence[str] = ()) -> dict[str, Json]:
        """``figures``: where they were written, if they were."""
        return {
            "experiment": self.experiment,
            "claims": [claim.to_json() for claim in self.claims],
            "figures": list(figures) or list(self.figures),
            "bounds": self.bounds,
        }


def counts(claims: Iterable[Claim]) -> dict[Verdict, int]:
    """How many claims of papers got each verdict; questions of our own are not counted."""
    found = Counter(claim.verdict for claim in claims if not claim.ours)
    return {verdict: found[verdict] for verdict in VERDICTS}


def beside_others(
    id: str, claim: str, theirs: Value, ours: Value, holds: bool, unit: str = "", note: str = ""
) -> Claim:
    """A question of our own, with what others have beside it."""
    verdict: Verdict = "reproduced" if holds else "differs"
    return Claim(
        id=id, claim=claim, printed=None, measured=ours, unit=unit, verdict=verdict, note=note, ours=True, beside=theirs
    )


def sentence(numbers: dict[Verdict, int]) -> str:
    """The four counts in words: what a report opens with."""
    if not sum(numbers.values()):
        return "No paper is judged here: all questions are our own."
    parts = [f"{numbers[verdict]} {COUNTED[verdict]}" for verdict in VERDICTS]
    return f"Of {sum(numbers.values())} published claims {', '.join(parts[:-1])} and {parts[-1]}."


def shown(value: Value) -> str:
    """A value of a claim for people."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return "no number"
    if value == 0 or abs(value) >= 1e4 or abs(value) < 1e-2:
        return f"{value:.2g}"
    return _digits(value)


def _or_nan(value: Value) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def _json(value: Value) -> Value:
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no infinity
    return value
