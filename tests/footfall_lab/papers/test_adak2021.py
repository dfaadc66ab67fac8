"""The modelling claims of Adak et al. 2021."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from on_record import changed, unjudged

import footfall as ff
from footfall.dynamics.formalisms import lagrange
from footfall.robot import library
from footfall_lab import papers as experiments
from footfall_lab.papers.adak2021 import experiment as adak2021
from footfall_lab.papers.claims import Outcome


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return experiments.run("adak2021", quick=True)


@pytest.mark.slow
def test_every_claim_is_judged_as_recorded(outcome: Outcome) -> None:
    assert unjudged(outcome) == set()
    assert changed(outcome) == []


@pytest.mark.parametrize(
    ("function", "arguments", "most"),
    [
        (lagrange.euler_mass_matrix, 1, 6000),
        (lagrange.euler_coriolis_terms, 2, 15000),
        (lagrange.euler_gravity_terms, 1, 330),
        (lagrange.euler_feet_jacobian, 1, 720),
    ],
)
def test_matrices_take_no_more_operations_than_their_times_allow(function: Any, arguments: int, most: int) -> None:
    """5 us for M, G and J_C, 15 us for C at about one operation a nanosecond; ``bench formalisms`` times them."""
    robot = library.load("spined")
    counted = ff.program(function, robot, *np.full((arguments, robot.nv), 0.3), order="xyz")
    assert 0.5 * most < counted.live_operations <= most


@pytest.mark.slow
def test_machine_code_is_far_faster_than_stored_expressions(outcome: Outcome) -> None:
    for name in adak2021.PRINTED:
        symbolic = outcome.claim(f"table2_{name}_symbolic").measured
        optimised = outcome.claim(f"table2_{name}_optimised").measured
        assert symbolic > 20 * optimised
        assert outcome.claim(f"table2_{name}_ratio").measured == pytest.approx(symbolic / optimised)


@pytest.mark.slow
def test_notes_say_what_was_measured(outcome: Outcome) -> None:
    assert "evaluated one by one" in outcome.claim("table2_M_symbolic").note
    assert "machine code" in outcome.claim("table2_C_optimised").note
    assert "ours are chosen to it" in outcome.claim("legs_carry_quarter_of_mass").note


@pytest.mark.slow
def test_runs_are_kept_for_replays(outcome: Outcome) -> None:
    assert len(outcome.replays) == 1
    assert all(rec.duration > 0.5 for shown in outcome.replays.values() for rec in shown.values())
