"""The claims of Yan et al. 2021."""

from __future__ import annotations

import numpy as np
import pytest

from footfall import experiments
from footfall.experiments.claims import Outcome

IDS = {
    "ik_all_branches", "fig9_paths_continuous", "fig10_trot_same_distance_half_time", "fig11_jump_at_switch",
    "fig11_knee_torque_matches_simulation", "fig12_postures", "fig13_yaw_15_in_0.9s", "fig14_tracking",
    "loop_under_1ms", "knee_torque_within_motor", "joint_torque_from_imu_and_foot_force",
}  # fmt: skip


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return experiments.run("yan2021", quick=True)


def test_every_claim_is_there_and_nothing_is_left_unexplained(outcome: Outcome) -> None:
    assert {claim.id for claim in outcome.claims} == IDS
    assert [claim.id for claim in outcome.claims if claim.verdict == "not_reproduced"] == []
    assert all(claim.note for claim in outcome.claims)


def test_torques_from_ideal_sensors_are_those_that_acted(outcome: Outcome) -> None:
    assert (
        outcome.claim("joint_torque_from_imu_and_foot_force").measured < 1e-6
    )  # the base turns freely within a step, which its mean acceleration does not tell


def test_inverse_kinematics_is_exact_on_every_branch(outcome: Outcome) -> None:
    assert outcome.claim("ik_all_branches").measured < 1e-12


def test_a_trot_saves_half_the_time(outcome: Outcome) -> None:
    assert abs(outcome.claim("fig10_trot_same_distance_half_time").measured - 0.5) < 0.05


def test_one_loop_takes_far_less_than_a_millisecond(outcome: Outcome) -> None:
    assert outcome.claim("loop_under_1ms").measured < 0.2


def test_figures_have_captions_and_units(outcome: Outcome) -> None:
    assert set(outcome.figures) == set(outcome.captions)
    for figure in outcome.figures.values():
        labels = [axis.get_xlabel() for axis in figure.axes if axis.get_xlabel()]
        assert labels
        assert all("[" in label for label in labels)


def test_sensors_alone_explain_the_motion_of_the_base() -> None:
    from footfall.experiments.yan2021.yan_runs import perform, sensed_torques, xiling

    run = perform(xiling(), cycles=2)["walk"]
    _, left = sensed_torques(run.rec, np.arange(700, 1500, 40))
    assert np.abs(left).max() < 1e-5  # as above


def test_runs_are_kept_for_replays(outcome: Outcome) -> None:
    assert len(outcome.replays) == 3
    assert all(rec.duration > 0.5 for shown in outcome.replays.values() for rec in shown.values())
