"""What Adak et al. say about contact, with short runs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from footfall.contact.complementarity import Complementarity
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall_lab.papers.adak2021 import adak_contact, adak_steps
from footfall_lab.papers.adak2021.adak_steps import LargestStep

SECONDS = 3.0  # four runs of 3000 steps: more than the 10 000 that must be counted


@pytest.fixture(scope="module")
def runs() -> dict[str, Recording]:
    return adak_contact.perform(library.load("spined"), SECONDS)


def test_least_squares_reaches_the_exact_solution(runs: dict[str, Recording]) -> None:
    claim = adak_contact.exactness(runs)
    assert claim.verdict == "holds"
    assert isinstance(claim.measured, float)
    assert claim.measured >= 99.0
    assert "12000 recorded steps" in claim.note
    assert "as printed" in claim.note


def test_eq_37_as_printed_moves_the_robot_as_the_scaled_problem_does(runs: dict[str, Recording]) -> None:
    scaled, printed = runs["trot"], runs["trot, eq. (37)"]
    early = scaled.time < 0.5
    assert np.abs(scaled.q[early] - printed.q[early]).max() < 1e-6


def test_what_the_fallback_solved_does_not_count(runs: dict[str, Recording]) -> None:
    rec = runs["trot, eq. (37)"]
    swept = np.zeros(len(rec))
    swept[:500] = 7.0
    columns = {**rec.columns, "contact_sweeps": swept}
    helped = Recording(rec.robot, columns, meta=rec.meta)
    assert adak_contact.exact(helped) == (len(rec) - 500, len(rec))
    assert adak_contact.exactness({**runs, "trot, eq. (37)": helped}).verdict == "does_not_hold"


def test_too_few_steps_prove_nothing(runs: dict[str, Recording]) -> None:
    few = {key: runs[key] for key in ("trot", "trot, eq. (37)")}
    assert adak_contact.exactness(few).verdict == "does_not_hold"


def test_it_stands_drops_and_trots(runs: dict[str, Recording]) -> None:
    made = [
        adak_contact.stands(runs["stand"], SECONDS),
        adak_contact.drops(runs["drop"], SECONDS),
        adak_contact.trots(runs["trot"], SECONDS),
    ]
    assert [(claim.id, claim.verdict) for claim in made] == [(key, "holds") for key in ("stands", "drops", "trots")]
    assert all("spine's motors" in claim.note for claim in made)


def test_a_run_cut_short_is_no_success(runs: dict[str, Recording]) -> None:
    assert adak_contact.stands(runs["stand"], 2 * SECONDS).verdict == "does_not_hold"
    standing = adak_contact.trots(runs["stand"], SECONDS)
    assert standing.verdict == "does_not_hold"  # it does not move


def test_the_spine_is_bent_by_command(runs: dict[str, Recording]) -> None:
    rec = runs["trot"]
    pitch = rec["command_position"][:, rec.robot.joint_names.index("spine_pitch")]
    assert np.abs(pitch).max() == pytest.approx(adak_contact.BEND, rel=1e-2)
    assert np.abs(rec.torque[:, 0]).max() > 1.0


def test_hard_contact_stands_and_trots_where_a_stiff_spring_does_not() -> None:
    robot = library.load("spined")
    hard = adak_steps.StandingRobot(robot, Complementarity(method="least_squares"))
    spring = adak_steps.StandingRobot(robot, adak_steps.SpringDamper())
    none, stiff = (1.0, 1.0), (1e6, 50.0)
    assert hard.stands(0.1, none)
    assert hard.trots(1e-2, none)
    assert not spring.stands(5e-3, stiff)
    assert not spring.trots(5e-3, stiff)
    assert spring.stands(1e-3, stiff)
    assert spring.trots(1e-3, stiff)


def test_the_verdict_on_stability_follows_the_steps() -> None:
    hard = LargestStep(name="hard", stands=0.1, trots=0.012, sink=0.0, kind="hard")
    soft, stiff = (
        LargestStep(name="soft", stands=0.02, trots=0.012, sink=7.0, words="50"),
        LargestStep(name="stiff", stands=2e-3, trots=2e-3, sink=0.1, words="50"),
    )
    own = LargestStep(name="own", stands=0.1, trots=0.012, sink=0.1, kind="implicit")
    claim = adak_steps.stability([hard, soft, stiff, own])
    assert claim.verdict == "does_not_hold"  # a tie: 12 ms against 12 ms
    assert "keeps up" in claim.note
    assert "not the spring" in claim.note
    behind = dataclasses.replace(soft, trots=9e-3)
    assert adak_steps.stability([hard, behind, stiff, own]).verdict == "holds"
    near = dataclasses.replace(soft, trots=10e-3)
    assert adak_steps.stability([hard, near, stiff, own]).verdict == "does_not_hold"
