"""A published claim, our measurement, and the verdict by its registered bound.

Statements and numbers: ``holds`` or ``does_not_hold`` in our runs of the published set-up; ``refuted``: a proof or a
counterexample that no unpublished number can change; ``open``: a number whose set-up is not published, with its range
over possible set-ups; ``not_testable``: the note tells what is missing. Equations: ``verified`` or ``erratum``.
Computing times have no verdict, ``time``. Sentences of a survey, about other robots, are ``shown`` or ``not_shown`` by
our runs. Our own questions are marked ``ours``, answered by ``holds`` or ``does_not_hold``, and never counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from footfall.errors import InputError, unknown
from footfall_lab.papers.registered import Bound, Entry, Value, registration
from nptrace._types import Json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from footfall.recording.recording import Recording

Verdict = Literal[
    "holds",
    "does_not_hold",
    "refuted",
    "open",
    "not_testable",
    "verified",
    "erratum",
    "time",
    "shown",
    "not_shown",
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
TABLES: dict[str, tuple[str, tuple[Verdict, ...]]] = {  # heading, and the possible verdicts, none for times
    "behaviour": ("Statements and numbers", ("holds", "does_not_hold", "refuted", "open", "not_testable")),
    "equation": ("Equations", ("verified", "erratum")),
    "survey": ("Sentences of a survey", ("shown", "not_shown", "not_testable")),
    "time": ("Computing times", ()),
}
MEANS: dict[Verdict, str] = {
    "holds": "our runs of the printed set-up show it, within a bound fixed before the runs",
    "does_not_hold": "our runs do not show it; the note states by how much, and why as far as we know",
    "refuted": "a proof or a counterexample that no unprinted number can change",
    "open": "a number with an unprinted set-up: its range, and whether the printed value lies inside",
    "not_testable": "the note states what is missing",
    "verified": "the equation as printed agrees with an independent computation",
    "erratum": "the equation as printed is wrong; the note has the correct form",
    "time": "a computing time: theirs, ours and the factor, without a verdict",
    "shown": "a sentence about other robots that our runs show as well",
    "not_shown": "a sentence about other robots that our runs do not show, which is not evidence against it",
}


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The result over a family of set-ups where the paper prints none: a range, or the share of runs that agree."""

    of: str  # the family, in a few words
    runs: int
    low: float | None = None  # 5th percentile
    middle: float | None = None
    high: float | None = None  # 95th percentile
    inside: bool | None = None  # whether the printed value lies between both
    share: float | None = None  # share of runs in which the sentence holds by its bound

    @property
    def words(self) -> str:
        """Return the range or the share as a sentence."""
        if self.share is not None:
            between = "" if self.middle is None else f", {shown(self.low)} to {shown(self.high)}"
            return f"Holds in {round(self.share * self.runs)} of {self.runs} {self.of}{between}."
        where = "" if self.inside is None else f"; the printed value is {'inside' if self.inside else 'outside'}"
        return (
            f"{shown(self.low)} to {shown(self.high)} over {self.runs} {self.of}, median {shown(self.middle)}{where}."
        )

    def to_json(self) -> dict[str, Json]:
        return {key: _json(value) for key, value in vars(self).items() if value is not None}


def range_of(
    values: Iterable[float], printed: float | None, of: str, ends: tuple[float, float] = (5.0, 95.0)
) -> Spread:
    """Return the spread of a number; ``ends`` are percentiles."""
    known = np.array([value for value in values if math.isfinite(value)])
    low, middle, high = (float(x) for x in np.percentile(known, (ends[0], 50.0, ends[1])))
    inside = None if printed is None else bool(low <= printed <= high)
    return Spread(of=of, runs=len(known), low=low, middle=middle, high=high, inside=inside)


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
    table: str = "behaviour"  # a key of TABLES
    equations: tuple[str, ...] = ()  # equations covered by one evaluation
    short: str = ""  # the claim in a few words
    bound: str = ""  # the bound of the verdict, in words
    beside: Value = None  # the result of others, for one of our questions that applies to them too
    spread: Spread | None = None
    as_first_registered: Claim | None = None  # the claim for the set-up that was replaced

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InputError(f"the verdict of claim '{self.id}' must be one of {', '.join(VERDICTS)}: {self.verdict!r}")
        if self.verdict not in ("holds", "verified", "time", "shown") and not self.note and not self.ours:
            words = self.verdict.replace("_", " ")
            raise InputError(f"claim '{self.id}' is called '{words}' without a reason: give it in the note")
        if self.ours and self.printed is not None:
            raise InputError(f"claim '{self.id}' is one of our own questions: it has no printed value")

    @property
    def words(self) -> str:
        """Return the verdict in words: yes or no for one of our questions, a factor for a time."""
        if self.ours:
            return "yes" if self.verdict == "holds" else "no"
        if self.verdict == "time":
            return factor(self.printed, self.measured)
        return self.verdict.replace("_", " ")

    @property
    def weight(self) -> int:
        """The number of equations it covers; 1 for any other claim."""
        return max(len(self.equations), 1)

    def to_json(self) -> dict[str, Json]:
        values = {"printed": _json(self.printed), "measured": _json(self.measured)}
        return {
            "id": self.id,
            "claim": self.claim,
            **values,
            "unit": self.unit,
            "verdict": self.verdict,
            "table": self.table,
            "ours": self.ours,
            "note": self.note,
            **({"equations": list(self.equations)} if self.equations else {}),
            **({} if self.beside is None else {"beside": _json(self.beside)}),
            **({} if self.spread is None else {"spread": self.spread.to_json()}),
            **({} if self.as_first_registered is None else {"as_first_registered": self._first()}),
        }

    def _first(self) -> dict[str, Json]:
        first = self.as_first_registered
        assert first is not None
        spread = {} if first.spread is None else {"spread": first.spread.to_json()}
        return {"measured": _json(first.measured), "verdict": first.verdict, "note": first.note, **spread}


def factor(printed: Value, measured: Value) -> str:
    """Return how much faster a measured computing time is than a printed one, in words."""
    ratio = _or_nan(printed) / _or_nan(measured)
    if not math.isfinite(ratio) or ratio <= 0.0:
        return "–"
    return f"{_digits(ratio)} times faster" if ratio >= 1.0 else f"{_digits(1.0 / ratio)} times slower"


def with_first(main: Iterable[Claim], first: Iterable[Claim]) -> list[Claim]:
    """Return the claims of the main column, each with the claim for the set-up that was registered first."""
    others = {claim.id: claim for claim in first}
    return [replace(claim, as_first_registered=others.get(claim.id)) for claim in main]


def assess(
    experiment: str,
    id: str,
    measured: Value,
    note: str = "",
    holds: bool | None = None,
    compared: float | None = None,
    missing: str = "",
    spread: Spread | None = None,
    by_spread: bool = False,
) -> Claim:
    """Return a claim with the verdict by its registered bound.

    Args:
        experiment: Name on the command line.
        id: Name of a registered claim.
        measured: Our result.
        note: How it was measured, and why it differs as far as known.
        holds: Whether a statement in words holds; only for claims registered as ``holds``.
        compared: The number to compare with the bound, if ``measured`` is not one (several numbers in words): for a
            factor, the worst ratio to the printed number.
        missing: Why a measurement gave no number, such as the lack of a run without a fall: nothing can be assessed.
        spread: Range over unpublished choices; required for an open number.
        by_spread: Whether the share of runs decides instead of ``measured``: the claim must hold in all of them.
    """
    entry = registration().entry(experiment, id)
    bound = registration().bounds[entry.kind]
    if (bound.rule == "holds") != (holds is not None) and not (entry.missing or missing or by_spread):
        raise InputError(
            f"claim '{id}' is assessed by '{bound.words()}': {'say' if holds is None else 'not by'} holds="
        )
    if bound.rule == "range" and spread is None and not (entry.missing or missing):
        raise InputError(f"claim '{id}' is open: give its range over unpublished choices")
    if entry.missing or missing:
        verdict: Verdict = "not_testable"
        note = f"Missing: {entry.missing or missing}. {note}".rstrip()
    elif bound.rule == "none":
        verdict = "time"
    elif bound.rule == "range":
        verdict = "open"
    elif by_spread:
        if spread is None or spread.share is None:
            raise InputError(f"claim '{id}' is assessed by a share of runs: its spread must have one")
        verdict = _verdict(entry, spread.share == 1.0)
    else:
        good, how_far = _within(entry, bound, measured, holds, compared)
        verdict = _verdict(entry, good)
        note = " ".join(part for part in ("" if good else how_far, note) if part)
    if spread is not None:
        note = f"{note} {spread.words}".lstrip()
    if entry.covers:
        note = f"{note} The row covers: {entry.covers}.".lstrip()
    return Claim(
        id=id,
        claim=entry.claim,
        printed=entry.printed,
        measured=measured,
        unit=entry.unit,
        verdict=verdict,
        note=note,
        ours=entry.ours,
        table=entry.table,
        equations=entry.equations,
        short=entry.short,
        bound=requested(entry),
        spread=spread,
    )


def _verdict(entry: Entry, good: bool) -> Verdict:
    if entry.table == "equation" and not entry.ours:
        return "verified" if good else "erratum"
    if entry.table == "survey":
        return "shown" if good else "not_shown"
    return "holds" if good else "refuted" if entry.universal else "does_not_hold"


def _within(
    entry: Entry, bound: Bound, measured: Value, holds: bool | None, compared: float | None
) -> tuple[bool, str]:
    """Return (whether a claim is within its bound, a sentence on the difference)."""
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


def requested(entry: Entry) -> str:
    """Return the bound and the reading of a claim as a sentence; "" if it cannot be assessed."""
    bound = registration().bounds[entry.kind]
    if entry.missing or bound.rule == "none":
        return ""
    parts = (bound.words() if bound.rule != "holds" else "", entry.reading)
    return ": ".join(part for part in parts if part)


def times(ratio: float) -> str:
    """Return a factor in words."""
    if not math.isfinite(ratio):
        return "no value for comparison"
    if ratio < 0.1:
        return f"1/{_digits(1 / ratio)} of" if ratio > 0.0 else "0 times"
    return f"{_digits(ratio, 4 if 0.9 < ratio < 1.1 else 3)} times"


def _digits(value: float, count: int = 3) -> str:
    """Return a number with ``count`` digits, and without exponent from a thousand on."""
    return f"{value:.{count}g}" if abs(value) < 1000 else f"{float(f'{value:.{count}g}'):.0f}"


@dataclass(frozen=True)
class Table:
    """A table of the numbers behind the verdicts: rows of cells under a heading."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The results of an experiment."""

    experiment: str  # its name on the command line
    title: str
    summary: str  # a few sentences: question and results
    claims: tuple[Claim, ...]
    figures: dict[str, Figure] = field(default_factory=dict)  # by id
    captions: dict[str, str] = field(default_factory=dict)  # captions of the figures
    tables: tuple[Table, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)  # fixed settings, in words
    replays: dict[str, dict[str, Recording]] = field(default_factory=dict)  # by caption, recordings shown together
    bounds: str = ""  # digest of the bounds, by default the current one

    def __post_init__(self) -> None:
        if not self.bounds:
            object.__setattr__(self, "bounds", registration().digests.get(self.experiment, ""))

    def claim(self, id: str) -> Claim:
        for claim in self.claims:
            if claim.id == id:
                return claim
        raise unknown("claim", id, [c.id for c in self.claims], f"{self.experiment} has")

    def to_json(self, figures: Sequence[str] = ()) -> dict[str, Json]:
        """Return the outcome as JSON; ``figures``: paths of the written figures."""
        return {
            "experiment": self.experiment,
            "summary": line(self.experiment, self.claims),
            "claims": [claim.to_json() for claim in self.claims],
            "figures": list(figures) or list(self.figures),
            "bounds": self.bounds,
        }


def counts(claims: Iterable[Claim], table: str = "") -> dict[Verdict, int]:
    """Return how many claims of papers, all or those of one table, got each verdict; equations by their number."""
    found: Counter[str] = Counter()
    for claim in claims:
        if not claim.ours and table in ("", claim.table):
            found[claim.verdict] += claim.weight
    return {verdict: found[verdict] for verdict in VERDICTS}


def line(experiment: str, claims: Sequence[Claim]) -> str:
    """Return a one-line summary of a paper."""
    name = registration().papers.get(experiment, experiment)
    published = [claim for claim in claims if not claim.ours]
    if not published:
        yes = sum(claim.verdict == "holds" for claim in claims)
        return f"{name}: {yes} of {len(claims)} questions of our own answered yes"
    parts = []
    equations = counts(published, "equation")
    if sum(equations.values()):
        total, errata = sum(equations.values()), _many(equations["erratum"], "erratum", "errata")
        parts.append(f"{equations['verified']} of {total} equations verified, {errata}")
    checked = counts(published, "behaviour")
    total = checked["holds"] + checked["does_not_hold"] + checked["refuted"]
    if total:
        words = f"{checked['holds']} of {_many(total, 'statement holds', 'statements hold')}"
        for verdict, reported in (("does_not_hold", "not"), ("refuted", "refuted")):
            names = [_item(c.short or c.claim) for c in published if c.table == "behaviour" and c.verdict == verdict]
            words += f"; {reported}: {', '.join(names)}" if names else ""
        parts.append(words)
    opened = [claim for claim in published if claim.verdict == "open"]
    if opened:
        known = [
            claim.spread.inside for claim in opened if claim.spread is not None and claim.spread.inside is not None
        ]
        words = f"{_many(len(opened), 'number', 'numbers')} open"
        parts.append(f"{words}, {sum(known)} of {len(known)} printed values inside our range" if known else words)
    if sum(counts(published, "survey").values()):
        survey = counts(published, "survey")
        reported = ", ".join(f"{survey[v]} {v.replace('_', ' ')}" for v in TABLES["survey"][1] if survey[v])
        parts.append(f"sentences of its survey: {reported}")
    faster = [
        _or_nan(c.printed) / _or_nan(c.measured) for c in published if c.verdict == "time" and c.unit in ("s", "ms")
    ]
    own = [ratio for ratio, c in zip(faster, _times(published)) if not c.id.startswith("mujoco")]
    if own:
        ends = list(dict.fromkeys(_round(ratio) for ratio in (min(own), max(own))))
        parts.append(f"{' to '.join(ends)} times faster than printed")
    if checked["not_testable"]:
        parts.append(f"{checked['not_testable']} not testable")
    return f"{name}: {'; '.join(parts)}"


def _item(name: str) -> str:
    """Return a name for a list, without commas that could be taken for those of the list."""
    first, _, rest = name.partition(", ")
    return f"{first} ({rest})" if rest else name


def _times(claims: Sequence[Claim]) -> list[Claim]:
    return [c for c in claims if c.verdict == "time" and c.unit in ("s", "ms")]


def _many(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def _round(ratio: float) -> str:
    """Return a factor with two digits and thousands separators."""
    return f"{float(f'{ratio:.2g}'):,.0f}".replace(",", " ") if ratio >= 10 else f"{ratio:.2g}"


def beside_others(
    id: str, claim: str, theirs: Value, ours: Value, holds: bool, unit: str = "", note: str = ""
) -> Claim:
    """Return a claim for one of our questions, with the result of others."""
    verdict: Verdict = "holds" if holds else "does_not_hold"
    return Claim(
        id=id, claim=claim, printed=None, measured=ours, unit=unit, verdict=verdict, note=note, ours=True, beside=theirs
    )


def sentence(numbers: dict[Verdict, int]) -> str:
    """Return the counts in words, as the opening of a report on several papers."""
    if not sum(numbers.values()):
        return "No paper is assessed here: all questions are our own."
    equations = numbers["verified"] + numbers["erratum"]
    statements = {v: numbers[v] for v in TABLES["behaviour"][1] if v != "not_testable"}
    survey = {v: numbers[v] for v in ("shown", "not_shown")}
    parts = []
    if equations:
        errata = _many(numbers["erratum"], "erratum", "errata")
        parts.append(f"of {_many(equations, 'equation', 'equations')} {numbers['verified']} verified, {errata}")
    if sum(statements.values()):
        words = {"holds": "hold", "does_not_hold": "do not", "refuted": "refuted", "open": "open"}
        reported = ", ".join(f"{n} {words[v]}" for v, n in statements.items())
        parts.append(f"of {_many(sum(statements.values()), 'statement', 'statements')} {reported}")
    if sum(survey.values()):
        parts.append(f"of {sum(survey.values())} sentences of a survey {survey['shown']} shown")
    if numbers["time"]:
        parts.append(f"{_many(numbers['time'], 'computing time', 'computing times')} beside ours")
    if numbers["not_testable"]:
        parts.append(f"{numbers['not_testable']} not testable")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def shown(value: Value) -> str:
    """Return a value of a claim as text."""
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
