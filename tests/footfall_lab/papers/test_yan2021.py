"""The claims of Yan et al. 2021."""

from __future__ import annotations

import numpy as np
import pytest
from on_record import changed, unjudged

from footfall.recording.recording import Recording
from footfall.sensing.sensors import Sensors
from footfall_lab import papers as experiments
from footfall_lab.papers.claims import Outcome
from footfall_lab.papers.yan2021.runs import noisy_torques, perform, sensed_torques, xiling


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return experiments.run("yan2021", quick=True)


@pytest.fixture(scope="module")
def walk() -> Recording:
    return perform(xiling(), cycles=2)["walk"].rec


def test_every_claim_is_judged_as_recorded(outcome: Outcome) -> None:
    assert unjudged(outcome) == set()
    assert changed(outcome) == []
    assert all(claim.note for claim in outcome.claims)


def test_torques_from_ideal_sensors_are_those_that_acted(outcome: Outcome) -> None:
    # with the angular velocity in the middle of a step, at which a step takes gyroscopic forces
    assert outcome.claim("ideal_sensors_give_torques").measured < 1e-9


def test_sensors_that_err_give_torques_that_err_and_ideal_ones_do_not(walk: Recording) -> None:
    rows, acted = np.arange(700, 1500, 40), walk.torque[700:1500:40]
    sensors = {"ideal": Sensors(), "typical": Sensors.typical(1), "worse": Sensors.realistic(1)}
    found = {name: noisy_torques(walk, rows, those) for name, those in sensors.items()}
    np.testing.assert_allclose(found["ideal"], sensed_torques(walk, rows, central=True)[0], atol=1e-10)
    error = {name: float(np.median(np.abs(torques - acted))) for name, torques in found.items()}
    assert error["ideal"] < 0.05  # [N m]; one of the rows is an impact, which has no derivative
    assert 5 * error["ideal"] < error["typical"] < error["worse"]


def test_inverse_kinematics_is_exact_on_every_branch(outcome: Outcome) -> None:
    assert outcome.claim("closed_form_is_exact").measured < 1e-12
    assert outcome.claim("ik_all_branches").measured == 2


def test_a_trot_saves_half_the_time(outcome: Outcome) -> None:
    assert abs(outcome.claim("fig10_trot_same_distance_half_time").measured - 0.5) < 0.05


def test_the_loop_is_timed_on_the_screw_model(outcome: Outcome) -> None:
    assert "screw system" in outcome.claim("loop_under_1ms").note
    assert "recursive Newton-Euler" in outcome.claim("loop_under_1ms").note  # beside it, not instead


def test_figures_have_captions_and_units(outcome: Outcome) -> None:
    assert set(outcome.figures) == set(outcome.captions)
    for figure in outcome.figures.values():
        labels = [axis.get_xlabel() for axis in figure.axes if axis.get_xlabel()]
        assert labels
        assert all("[" in label for label in labels)


def test_sensors_alone_explain_the_motion_of_the_base(walk: Recording) -> None:
    _, left = sensed_torques(walk, np.arange(700, 1500, 40))
    assert np.abs(left).max() < 1e-5  # as above


def test_runs_are_kept_for_replays(outcome: Outcome) -> None:
    assert len(outcome.replays) == 3
    assert all(rec.duration > 0.5 for shown in outcome.replays.values() for rec in shown.values())
