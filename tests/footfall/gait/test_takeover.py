"""A plan taken over in the middle of another: nothing jumps, no foot is dragged, and the robot walks through it."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.errors import InputError
from footfall.gait.planner import plan_walk, standing_postures, yaw_swing
from footfall.gait.takeover import Takeover

ROBOT = ff.load("mini_cheetah")


def walk(**options):
    return plan_walk(ROBOT, "walk", 0.06, swing_time=0.25, height=0.03, cycles=4, rest=0.4, **options)


def trot(**options):
    return plan_walk(ROBOT, "trot", 0.09, swing_time=0.22, height=0.04, cycles=5, rest=0.35, **options)


def sampled(plan, t):
    placed = plan.at(t)
    return np.concatenate([placed.position, placed.euler, placed.feet.reshape(12, -1)])


PAIRS = {
    "walk to trot": lambda: (walk(), trot(turn=0.2)),
    "trot to walk": lambda: (trot(turn=0.15), walk(side=0.02)),
    "trot to postures": lambda: (trot(), standing_postures(ROBOT, move=0.6, hold=0.4)),
    "turning to trot": lambda: (yaw_swing(ROBOT, move=0.5, hold=0.3), trot()),
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("when", [0.93, 1.217])
def test_neither_places_nor_velocities_jump_at_the_takeover(pair, when):
    first, second = PAIRS[pair]()
    plan = Takeover(first=first, second=second, when=when)
    t = np.arange(0.0, plan.duration, 1e-3)
    usual = max(
        np.abs(np.diff(sampled(each, np.arange(0.0, each.duration, 1e-3)), 2)).max() for each in (first, second)
    )
    assert np.abs(np.diff(sampled(plan, t), 2)).max() < 1.5 * usual + 2e-5
    # the law itself, at the moment: the limits from both sides, of places and of velocities
    before, after = (sampled(plan, np.array([when + d, when + d + s])) for d, s in ((-2e-6, 1e-6), (1e-6, 1e-6)))
    np.testing.assert_allclose(before[:, 1], after[:, 0], atol=1e-5)
    np.testing.assert_allclose(np.diff(before)[:, 0] / 1e-6, np.diff(after)[:, 0] / 1e-6, atol=2e-3)


def test_before_it_is_the_first_plan_and_in_the_end_the_second_from_where_the_body_stood():
    first, second = walk(), trot()
    plan = Takeover(first=first, second=second, when=1.1)
    t = np.linspace(0.0, 1.09, 50)
    np.testing.assert_array_equal(sampled(plan, t), sampled(first, t))
    end, alone = plan.at(plan.duration), second.at(second.duration)
    begun = first.at(1.1).position
    np.testing.assert_allclose(end.position[1:], alone.position[1:], atol=0.01)
    assert end.position[0] - begun[0] == pytest.approx(alone.position[0], abs=0.03)
    np.testing.assert_allclose(end.feet - end.position[:, None].T, alone.feet - alone.position[:, None].T, atol=1e-9)


@pytest.mark.parametrize("when", np.arange(0.5, 1.6, 0.21))
def test_feet_that_stand_are_not_dragged(when):
    plan = Takeover(first=trot(turn=0.1), second=walk(), when=float(when))
    t = np.arange(0.0, plan.duration, 2e-3)
    feet, stands = plan.at(t).feet, plan.stands(t)
    moved = np.linalg.norm(np.diff(feet[:, :2], axis=2), axis=1)
    assert moved[(stands[:, :-1] > 0.5) & (stands[:, 1:] > 0.5)].max() < 1e-9
    assert (stands.sum(axis=0) >= 2).all()
    load = plan.at(t).load
    assert load.min() >= 0.0
    assert load.max() <= 1.0
    assert np.abs(np.diff(load)).max() < 0.1  # handed over, not switched


def test_robot_walks_through_a_takeover():
    plan = Takeover(first=trot(), second=walk(sway=0.02), when=1.21)
    follow = ff.control.PlanFollower(plan=plan, kp=80.0, kd=2.0)
    sim = ff.Simulation(ROBOT, follow, start=ff.sim.standing_start(ROBOT, follow))
    rec = sim.run(plan.duration)
    assert not rec.meta["fell"]
    gone = plan.at(plan.duration).position[0] - plan.at(0.0).position[0]
    assert rec.trunk_position[-1, 0] - rec.trunk_position[0, 0] == pytest.approx(gone, abs=0.2 * gone)
    command = rec["command_position"]
    assert np.abs(np.diff(command, 2, axis=0)).max() < 0.02  # [rad] a tick squared: no joint is asked to jump


def test_what_cannot_be_taken_over_is_refused_in_one_sentence():
    with pytest.raises(InputError, match="0 or more"):
        Takeover(first=walk(), second=trot(), when=-1.0)
    with pytest.raises(InputError, match="longer rest"):
        Takeover(first=trot(), second=plan_walk(ROBOT, "trot", 0.05, rest=0.01), when=0.9)
    with pytest.raises(InputError, match="WalkPlan or a PosturePlan"):
        Takeover(first=walk(), second="trot", when=1.0)
