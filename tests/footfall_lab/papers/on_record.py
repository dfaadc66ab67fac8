"""Whether an experiment assessed its claims as recorded, times aside: a test must not need an idle machine."""

from __future__ import annotations

from footfall_lab.papers.claims import Outcome
from footfall_lab.papers.recorded import changes
from footfall_lab.papers.registered import registration

TIMED = ("time",)  # kinds
ALSO = (  # "faster" and "more", in time too
    "fig1_fabrik_converges_fastest",
    "fig1_as_published",
    "screw_theory_is_faster",
    "sparse_matrix_saves_time",
    "links_add_computing",
    "iteration_beats_recursion",
    "sparse_matrices_save_time",
    "kinematics_derived_once_saves_time",
)


def changed(outcome: Outcome) -> list[str]:
    """What differs from the record."""
    timed = [id for id, entry in registration().claims[outcome.experiment].items() if entry.kind in TIMED or id in ALSO]
    return [said for said in changes(outcome) if said.split()[0] not in timed]


def unjudged(outcome: Outcome) -> set[str]:
    """Claims that are registered and not assessed, or assessed and not registered."""
    return {claim.id for claim in outcome.claims} ^ set(registration().claims[outcome.experiment])
