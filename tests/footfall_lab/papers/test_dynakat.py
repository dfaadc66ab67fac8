"""The claims of the DynaKat report."""

from __future__ import annotations

import numpy as np
import pytest
from on_record import changed, unjudged

import footfall as ff
from footfall.control import JointPD
from footfall.kinematics import foot_positions
from footfall.robot import library
from footfall.sim.start import standing_start
from footfall_lab import papers as experiments
from footfall_lab.papers.claims import Outcome
from footfall_lab.papers.dynakat import leg_race


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return experiments.run("dynakat", quick=True)


@pytest.mark.slow
def test_every_claim_is_judged_as_recorded(outcome: Outcome) -> None:
    assert unjudged(outcome) == set()
    assert changed(outcome) == []


@pytest.mark.slow
def test_weaknesses_are_said_beside_the_verdicts(outcome: Outcome) -> None:
    assert "closed form" in outcome.claim("fabrik_no_weakness").note
    assert "crawls" in outcome.claim("fabrik_resists_singularity").note
    assert outcome.claim("fabrik_keeps_limits").measured == 0.0  # rad beyond a limit
    assert "closed form" in outcome.claim("fabrik_keeps_limits").note  # which reaches more
    assert outcome.claim("mcg_time").measured < 1.0  # of 25 ms


def test_the_closed_form_reaches_all_that_three_joints_can() -> None:
    for name in ("mini_cheetah", "xiling", "spined"):
        robot = library.load(name)
        entry = leg_race.race_closed(robot, leg_race.random_targets(robot, 300))
        assert entry.failures == 0.0
        assert entry.violation == 0.0


def test_on_three_feet_a_robot_tips_within_its_wide_margin() -> None:
    from footfall_lab.papers.dynakat.margins import on_three_feet

    tipping = on_three_feet(library.load("dynakat"))
    assert tipping.static < 0.0 < 0.05 < tipping.wide
    assert tipping.when is not None
    assert np.degrees(np.abs(tipping.rec.trunk_euler()[:, 1:])).max() > 15.0


@pytest.mark.slow
def test_figures_and_tables_are_there_and_captioned(outcome: Outcome) -> None:
    assert set(outcome.figures) == set(outcome.captions)
    assert len(outcome.tables[0].rows) == 2 * (len(leg_race.METHODS) + 1)  # and the closed form


def test_the_race_is_fair() -> None:
    """All start alike, see the same reachable targets, keep their limits, and say truly what is left."""
    robot = library.load("xiling")
    targets = leg_race.random_targets(robot, 300)
    for entry in leg_race.race(robot, targets).values():
        assert entry.violation == 0.0
        assert ((entry.residual <= entry.tolerance) | (entry.iterations > 20)).all()
        assert entry.iterations.max() <= leg_race.MOST
    assert leg_race.operations(robot, "fabrik") < 1000


@pytest.mark.parametrize("pattern", ["trot", "walk"])
def test_dynakat_goes_ten_seconds_with_fabrik_in_the_compiled_loop(pattern: str) -> None:
    robot = library.load("dynakat")
    ends = {}
    for inverse in ("closed", "fabrik"):
        controller = JointPD.tuned(robot, pattern, inverse=inverse)
        sim = ff.Simulation(robot, controller, start=standing_start(robot, controller))
        assert sim.controller_is_compiled
        rec = sim.run(10.0)
        assert sim.stopped is None
        assert rec.distance > 0.3
        ends[inverse] = rec.trunk_position[-1]
    assert np.abs(ends["fabrik"] - ends["closed"]).max() < 0.1  # the same feet, to a micrometre, and some chaos


def test_fabrik_in_a_controller_asks_for_the_closed_form_s_feet() -> None:
    from footfall.control.joint.joint_pd import iterative_joint_targets, joint_targets

    robot = library.load("dynakat")
    for pattern in ("trot", "walk"):
        gait = JointPD.tuned(robot, pattern).gait
        last = joint_targets(robot, gait, np.zeros(4), 0.0)
        for t in np.arange(0.0, gait.period, 0.01):
            phase = ff.gait.clock_phase(gait, t)
            last = iterative_joint_targets(robot, gait, phase, last)
            wanted = joint_targets(robot, gait, phase)
            feet = [foot_positions(robot, robot.state(joints)[0]) for joints in (last, wanted)]
            assert np.abs(feet[0] - feet[1]).max() < 2e-6


@pytest.mark.slow
def test_runs_are_kept_for_replays(outcome: Outcome) -> None:
    assert len(outcome.replays) == 3
    assert all(rec.duration > 0.5 for shown in outcome.replays.values() for rec in shown.values())
