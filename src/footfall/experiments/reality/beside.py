"""What is asked of the real world: our figure beside that of others, and whether what was hoped for holds."""

from __future__ import annotations

from footfall.experiments.claims import Claim
from footfall.experiments.registered import Value


def answer(id: str, claim: str, theirs: Value, ours: Value, holds: bool, unit: str = "", note: str = "") -> Claim:
    """A question of our own, with what others have beside it."""
    verdict = "reproduced" if holds else "differs"
    return Claim(id, claim, None, ours, unit, verdict, note, ours=True, beside=theirs)  # type: ignore[arg-type]
