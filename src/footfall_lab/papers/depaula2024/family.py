"""A family of gaits besides set A: the possible effect of the paper's unpublished constants on its figures.

Gaits are drawn one after the other, by a seed, from registered ranges. A gait is admitted if the robot in MuJoCo, with
the contact of Table I, stays up for ten seconds and moves forward, independently of footfall. Then footfall runs it
with both readings of K. If the robot falls in footfall, no sentence holds for that gait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from footfall.errors import InputError
from footfall_lab.papers.claims import Spread, range_of
from footfall_lab.papers.depaula2024.comparison import Comparison
from footfall_lab.papers.depaula2024.runs import (
    ADMITTED_SPEED,
    FIRST_STIFFNESS,
    READING,
    STIFFNESS,
    Job,
    perform,
    stands,
)
from footfall_lab.papers.registered import registration
from footfall_lab.processes import Progress, run_all

NAME = "depaula2024"
OF = "gaits"


@dataclass(frozen=True, kw_only=True)
class Member:
    """One gait of the family: whether it was admitted, and its results with both readings of K."""

    number: int
    admitted: bool
    found: Mapping[float, Comparison | None]  # by K [N/mm^2.2]; None where the robot fell in footfall


def examine(number: int) -> Member:
    """Run one gait in MuJoCo and, if it is admitted, in footfall."""
    try:
        theirs = perform(Job(scheme="mujoco", choice=f"family {number}"))
    except InputError:  # out of reach of the legs
        return Member(number=number, admitted=False, found={})
    if not stands(theirs) or theirs.mean_speed(1.0) < ADMITTED_SPEED:
        return Member(number=number, admitted=False, found={})
    found: dict[float, Comparison | None] = {}
    for stiffness in (STIFFNESS, FIRST_STIFFNESS):
        ours = perform(Job(scheme=READING, choice=f"family {number}", stiffness=stiffness))
        found[stiffness] = Comparison.of(ours, theirs) if stands(ours) else None
    return Member(number=number, admitted=True, found=found)


@dataclass(frozen=True)
class Family:
    """The admitted gaits, and the number drawn."""

    members: tuple[Member, ...]
    drawn: int

    @staticmethod
    def of(size: int, progress: Progress | None = None, workers: int = 1) -> Family:
        """Draw gaits until ``size`` are admitted."""
        found: list[Member] = []
        while True:
            admitted = [member for member in found if member.admitted]
            if len(admitted) >= size:
                last = admitted[size - 1].number
                return Family(tuple(admitted[:size]), last + 1)
            more = range(len(found), len(found) + max(size - len(admitted), 2))
            made = run_all(examine, more, lambda number: f"gait {number} of the family", progress, workers)
            found += [made[number] for number in more]

    def comparisons(self, stiffness: float) -> list[Comparison | None]:
        return [member.found[stiffness] for member in self.members]

    def range(self, stiffness: float, key: str, printed: float) -> Spread:
        """Return the range of an error over the gaits in which our robot stays up."""
        values = [getattr(each, key) for each in self.comparisons(stiffness) if each is not None]
        return range_of(values, printed, OF)

    def share(self, stiffness: float, ids: Sequence[str]) -> Spread:
        """Return the share of gaits in which all given sentences hold by their registered bounds."""
        held = [
            each is not None and all(holds(id, each.sentences[id]) for id in ids)
            for each in self.comparisons(stiffness)
        ]
        return Spread(of=OF, runs=len(held), share=float(np.mean(held)))


def holds(id: str, value: float) -> bool:
    """Return whether a sentence holds by its registered bound."""
    entry = registration().entry(NAME, id)
    if id == "spurious_contacts_are_mujocos":
        return value > 0.0
    return registration().bounds[entry.kind].met(entry.printed, value)
