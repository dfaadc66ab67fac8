"""The study of DynaKat's fourth joint."""

from __future__ import annotations

from dataclasses import replace

import fourth_joint
import pytest

import footfall as ff


def test_a_lowered_toe_costs_more_on_level_ground_and_goes_no_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fourth_joint, "SECONDS", 4.0)
    robot = ff.load("dynakat")
    tuned = ff.control.JointPD.tuned(robot, "walk")
    lowered, raised = (
        fourth_joint.walk(robot, replace(tuned, gait=tuned.gait.replace(foot_pitch=angle)), 0.0, 0)
        for angle in (-0.6, 0.2)
    )
    assert not lowered.fell
    assert not raised.fell
    assert lowered.cost > 1.3 * raised.cost
    assert lowered.distance > raised.distance > 0.1
