"""Gaits by CMA-ES over a batch: what a search finds holds outside it."""

from __future__ import annotations

import gait_front
import numpy as np
import pytest
from gait_optimisation import Best, Front, Track, Walked, search, starting, undominated
from hypothesis import given, settings
from hypothesis import strategies as st

import footfall as ff
from footfall.errors import FootfallError
from footfall.robot.model.parametric import quadruped

CHEETAH = ff.load("mini_cheetah")


@pytest.fixture(scope="module")
def trot() -> Track:
    return Track(CHEETAH, "trot")


@pytest.fixture(scope="module")
def found(trot: Track) -> Best:
    return search(trot, 0.4, generations=12, population=16, seed=3)


def test_what_a_search_finds_walks_as_fast_and_as_cheaply_in_a_plain_simulation(found):
    rec = ff.Simulation(CHEETAH, found.controller(), ground=ff.contact.Plane(0.75)).run(6.0)
    assert found.holds
    assert rec.mean_speed(after=2.0) == pytest.approx(0.4, rel=0.12)
    assert rec.cost_of_transport(after=2.0) == pytest.approx(found.cost, rel=0.15)


def test_a_search_beats_the_constants_it_began_with(trot, found):
    before = ff.Simulation(CHEETAH, starting(CHEETAH, "trot")).run(6.0)
    assert found.cost < 0.8 * before.cost_of_transport(after=2.0)


def test_the_same_seed_finds_the_same_gait(trot):
    first, second = (search(trot, 0.3, generations=2, population=8, seed=1) for _ in range(2))
    assert first == second


def test_a_candidate_walks_the_same_alone_and_among_others(trot):
    unit = np.random.default_rng(0).uniform(size=(9, len(trot.ranges)))
    together, alone = trot.walk(unit), trot.walk(unit[4:5])
    assert (together.speed[4], together.cost[4]) == (alone.speed[0], alone.cost[0])


@given(st.lists(st.tuples(st.floats(0.0, 2.0), st.floats(0.1, 5.0)), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_nothing_beats_the_front_in_both(points):
    cloud = np.array(points)
    front = undominated(cloud)
    assert (np.diff(front[:, 0]) > 0).all()
    for speed, cost in cloud:
        assert ((front[:, 0] >= speed) & (front[:, 1] <= cost)).any()


def test_falling_missing_the_speed_and_going_crooked_all_cost():
    walked = Walked(np.full(4, 0.4), np.full(4, 0.5), np.ones(4), np.zeros(4))
    plain = walked.objective(0.4)[0]
    for changed in (
        Walked(np.full(1, 0.3), np.full(1, 0.5), np.ones(1), np.zeros(1)),
        Walked(np.full(1, 0.4), np.full(1, 0.5), np.full(1, 0.75), np.zeros(1)),
        Walked(np.full(1, 0.4), np.full(1, 0.5), np.ones(1), np.full(1, 0.5)),
    ):
        assert changed.objective(0.4)[0] > plain


def test_the_table_marks_the_cheapest_and_leaves_out_what_fell():
    best = (
        Best(robot="r", pattern="walk", asked=0.2, speed=0.2, cost=0.7, numbers={}, holds=True, evaluations=1),
        Best(robot="r", pattern="trot", asked=0.2, speed=0.2, cost=0.5, numbers={}, holds=True, evaluations=1),
        Best(robot="r", pattern="walk", asked=0.6, speed=0.3, cost=0.4, numbers={}, holds=False, evaluations=1),
        Best(robot="r", pattern="trot", asked=0.6, speed=0.6, cost=0.6, numbers={}, holds=True, evaluations=1),
    )
    front = Front("r", best, {"walk": np.array([[0.2, 0.7]]), "trot": np.array([[0.2, 0.5], [0.6, 0.6]])})
    text = gait_front.table(front)
    assert "| 0.2 | 0.70 | **0.50** |" in text
    assert "| 0.6 | - | **0.60** |" in text
    assert front.winner(0.9) is None
    assert gait_front.draw(front).axes


@pytest.mark.parametrize(
    "ask",
    [
        lambda: starting(CHEETAH, "trott"),
        lambda: starting(quadruped(), "trot"),
        lambda: search(Track(CHEETAH, "trot"), -0.1),
        lambda: search(Track(CHEETAH, "trot"), 0.3, population=1),
    ],
)
def test_a_search_that_cannot_be_is_refused(ask):
    with pytest.raises(FootfallError):
        ask()
