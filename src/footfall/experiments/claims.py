"""A published claim beside what we measure, and the rules that turn the two into a verdict.

An error figure is reproduced when ours is at most the printed one plus a quarter; a time, when ours is at most the
printed one; a shape or an order, when it is there. ``refuted`` needs evidence, which the note gives. What is neither is
``not_reproduced``: we fall short and cannot say why, and only that fails an experiment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from footfall.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from footfall.recording.recording import Recording

Verdict = Literal["reproduced", "refuted", "not_reproduced"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "refuted", "not_reproduced")
MARGIN = 1.25  # an error may be a quarter larger than the printed one

Value = float | str | bool | None


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, as printed and as measured; ``unit`` holds for both, ``note`` says how and why."""

    id: str
    claim: str
    printed: Value
    measured: Value
    unit: str
    verdict: Verdict
    note: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InputError(f"the verdict of claim '{self.id}' must be one of {', '.join(VERDICTS)}: {self.verdict!r}")
        if self.verdict == "refuted" and not self.note:
            raise InputError(f"claim '{self.id}' is called refuted without evidence: its note must give it")

    def to_json(self) -> dict[str, Any]:
        values = {"printed": _json(self.printed), "measured": _json(self.measured)}
        return {"id": self.id, "claim": self.claim, **values, "unit": self.unit, "verdict": self.verdict,
                "note": self.note}  # fmt: skip


def error_figure(id: str, claim: str, printed: float, measured: float, unit: str, note: str = "") -> Claim:
    """An error (MAE): smaller is better, and a quarter more than printed still counts."""
    return Claim(id, claim, printed, measured, unit, _verdict(measured <= MARGIN * printed), note)


def duration(id: str, claim: str, printed: float, measured: float, note: str = "", unit: str = "s") -> Claim:
    """A time: at most the printed one."""
    return Claim(id, claim, printed, measured, unit, _verdict(measured <= printed), note)


def shape(id: str, claim: str, printed: Value, measured: Value, there: bool, unit: str = "", note: str = "") -> Claim:
    """A shape or an order: it is there or it is not."""
    return Claim(id, claim, printed, measured, unit, _verdict(there), note)


def refuted(id: str, claim: str, printed: Value, measured: Value, evidence: str, unit: str = "") -> Claim:
    """A statement that we show to be false, or not to follow from what is printed."""
    return Claim(id, claim, printed, measured, unit, "refuted", evidence)


@dataclass(frozen=True)
class Table:
    """Numbers behind the verdicts, for people: rows of cells under a heading."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """What an experiment found."""

    experiment: str  # its name on the command line
    title: str
    summary: str  # a few sentences: what was asked, what was found
    claims: tuple[Claim, ...]
    figures: dict[str, Figure] = field(default_factory=dict)  # by id
    captions: dict[str, str] = field(default_factory=dict)  # of the figures
    tables: tuple[Table, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)  # what was fixed, in words
    replays: dict[str, dict[str, Recording]] = field(default_factory=dict)  # by caption: recordings shown together

    @property
    def passed(self) -> bool:
        """Whether nothing is left unexplained."""
        return all(claim.verdict != "not_reproduced" for claim in self.claims)

    def claim(self, id: str) -> Claim:
        for claim in self.claims:
            if claim.id == id:
                return claim
        from footfall.errors import unknown

        raise unknown("claim", id, [c.id for c in self.claims], f"{self.experiment} has")

    def to_json(self, figures: Sequence[str] = ()) -> dict[str, Any]:
        """``figures``: where they were written, if they were."""
        return {
            "experiment": self.experiment,
            "claims": [claim.to_json() for claim in self.claims],
            "figures": list(figures) or list(self.figures),
        }


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
    return f"{value:.3g}"


def _verdict(holds: bool) -> Verdict:
    return "reproduced" if bool(holds) else "not_reproduced"


def _json(value: Value) -> Value:
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no infinity
    return value
