"""Every statement of the lecture slides, measured once on two states of each robot."""

from __future__ import annotations

import json

import numpy as np
import pytest
from on_record import changed, unjudged

from footfall.kinematics.forward import center_of_mass
from footfall.robot import library
from footfall_lab import papers as experiments
from footfall_lab.papers.claims import Outcome
from footfall_lab.papers.floating_base.facts import largest_acceleration, largest_com_acceleration


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return experiments.run("floating_base", quick=True)


def test_every_claim_is_judged_as_recorded(outcome: Outcome) -> None:
    assert unjudged(outcome) == set()
    assert changed(outcome) == []
    assert "M - 2C" in outcome.claim("skew").note  # as our copy has it
    assert all(claim.note for claim in outcome.claims)
    json.dumps(outcome.to_json(), allow_nan=False)


def test_identities_hold_to_rounding(outcome: Outcome) -> None:
    errors = {c.id: c.measured for c in outcome.claims if c.unit == "relative error"}
    assert len(errors) == 14
    assert all(isinstance(e, float) and e < 1e-10 for e in errors.values()), errors
    assert outcome.claim("quadruped_16_modes").measured == 16
    assert outcome.claim("biped_4_modes_12_transitions").measured == "4, 12"
    assert outcome.claim("gimbal_lock_of_euler_base").measured == pytest.approx(0.0, abs=1e-6)


def test_in_flight_legs_move_the_base_and_not_the_centre_of_mass(outcome: Outcome) -> None:
    (shown,) = outcome.replays.values()
    (rec,) = shown.values()
    centers = np.array([center_of_mass(rec.robot, q) for q in rec.q[::100]])
    assert np.ptp(centers, axis=0).max() < 1e-5
    assert np.ptp(np.degrees(rec.trunk_euler()[:, 1])) > 3.0
    assert not rec.contact.any()


def test_the_modes_table_lists_all_sixteen(outcome: Outcome) -> None:
    rows = outcome.tables[0].rows
    assert len(rows) == 16
    assert rows[0][0] == "flight"
    assert rows[-1][0] == "LF+RF+LH+RH"
    assert list(outcome.figures) == list(outcome.captions) == ["gimbal_lock"]


def test_friction_and_motors_bound_what_a_robot_can_do() -> None:
    robot = library.load("mini_cheetah")
    q = robot.state("stand")[0]
    ahead, up = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    grip = [largest_com_acceleration(robot, q, ahead, mu) for mu in (0.2, 0.4)]
    assert grip[0] == pytest.approx(0.2 * 9.81 * np.cos(np.pi / 16), rel=1e-6)
    assert grip[1] == pytest.approx(2 * grip[0], rel=1e-6)
    assert largest_com_acceleration(robot, q, ahead, None) == np.inf
    assert 0 < largest_acceleration(robot, q, up, 0.6, limited=True) < np.inf
    assert largest_acceleration(robot, q, up, 0.6, limited=False) == np.inf
