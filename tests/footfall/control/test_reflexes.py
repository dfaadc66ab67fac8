"""Reflexes: what each of them is, and runs in which one alone decides."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reflex_decisions import CASES, decide, decided

import footfall as ff
from footfall.control.locomotion.reflexes import (
    NAMES,
    Reflexes,
    responses,
    safe_stop,
    sidestep,
    slip,
    stumble,
    touchdown,
)
from footfall.control.locomotion.reflexes.log import new_events
from footfall.control.locomotion.reflexes.state import ReflexMemory
from footfall.errors import InputError

DT, ONES = 1e-3, np.ones(4)
UP = np.array([0.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def cheetah():
    return ff.load("mini_cheetah")


# -- switches ----------------------------------------------------------------------------------------------------------
def test_a_switch_is_found_by_its_name_and_a_wrong_name_by_its_nearest():
    assert Reflexes().slip
    assert not Reflexes(slip=False).slip
    assert Reflexes.only("slip").numbers().sum() == 1
    assert Reflexes.of(False).numbers().sum() == 0
    assert Reflexes.of(["slip", "stumble"]) == Reflexes.only("slip", "stumble")
    with pytest.raises(InputError, match="did you mean 'early_touchdown'"):
        Reflexes(early_tuchdown=True)
    with pytest.raises(InputError, match="unknown reflex 'stumbles'"):
        ff.control.Locomotion(reflexes=["stumbles"])
    with pytest.raises(InputError, match="True or False"):
        Reflexes(slip=1.5)
    with pytest.raises(InputError, match=r"reflexes must be .*got 3\.0"):
        ff.control.Locomotion(reflexes=3.0)


def test_every_reflex_has_a_case_in_which_it_decides():
    assert set(CASES) == set(NAMES)


# -- what each does ----------------------------------------------------------------------------------------------------
@settings(deadline=None, max_examples=40)
@given(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3))
def test_the_margin_of_a_point_is_its_distance_from_the_nearest_side(x, y):
    feet = np.array([[0.2, 0.1, 0], [0.2, -0.1, 0], [-0.2, 0.1, 0], [-0.2, -0.1, 0]])
    expected = min(0.2 - abs(x), 0.1 - abs(y))
    assert sidestep.margin(np.array([x, y]), feet) == pytest.approx(expected, abs=1e-9)


def test_a_capture_point_is_where_a_pendulum_comes_to_rest():
    height, velocity = 0.3, np.array([0.6, -0.2, 0.0])
    foot = sidestep.capture_point(np.zeros(3), velocity, np.zeros(3), height)
    place, moving, dt = np.zeros(2), velocity[:2].copy(), 5e-4
    for _ in range(3_000):  # the linear inverted pendulum on that foot
        moving = moving + dt * 9.81 / height * (place - foot)
        place = place + dt * moving
        if np.linalg.norm(moving) < 0.01:
            break
    assert np.linalg.norm(moving) < 0.02
    np.testing.assert_allclose(place, foot, atol=0.01)


@settings(deadline=None, max_examples=40)
@given(st.floats(0.0, 2.5))
def test_a_gear_is_kept_between_its_thresholds(speed):
    for before in (0.0, 1.0, 2.0):
        first = responses.gear(before, speed, 0.3)
        assert responses.gear(first, speed, 0.3) == first  # no hunting
        assert 0 <= first < len(responses.GEARS)
    up = responses.gear(0.0, speed, 0.3)
    down = responses.gear(2.0, speed, 0.3)
    assert up <= down


def test_a_gear_follows_a_speed_up_and_down_with_hysteresis():
    speeds, gear, changes = np.concatenate([np.linspace(0, 2, 400), np.linspace(2, 0, 400)]), 0.0, []
    for speed in speeds:
        after = float(responses.gear(gear, speed, 0.3))
        if after != gear:
            changes.append((speed, gear, after))
        gear = after
    assert [c[1:] for c in changes] == [(0, 1), (1, 2), (2, 1), (1, 0)]
    assert changes[0][0] > changes[3][0] + 0.03
    assert changes[1][0] > changes[2][0] + 0.03


@pytest.mark.parametrize("friction", [0.05, 0.2, 0.4])
def test_a_sliding_foot_tells_the_friction(friction):
    forces = np.tile([friction * 30.0, 0.0, 30.0], (4, 1))
    velocities, trust, slid = np.tile([-0.5, 0.0, 0.0], (4, 1)), 0.5, np.zeros(4)
    for _ in range(200):
        slides, measured, slid = slip.detect_slip(True, ONES, velocities, forces, UP, 90.0, slid, DT)
        trust = slip.trusted_friction(trust, 0.5, UP, slides, measured, DT)
    assert slides.all()
    assert trust == pytest.approx(max(slip.MIN_FRICTION, slip.TRUSTED_FRACTION * friction), rel=1e-3)
    for _ in range(1000):
        trust = slip.trusted_friction(trust, 0.5, UP, np.zeros(4, dtype=bool), measured, 20 * DT)
    assert trust == pytest.approx(0.5, abs=0.01)


def test_a_rolling_foot_does_not_slide_and_an_unloaded_one_neither():
    turning, radii = np.tile([0.0, 20.0, 0.0], (4, 1)), np.full(4, 0.02)
    rolling = np.tile(np.cross(turning[0], radii[0] * UP), (4, 1))
    np.testing.assert_allclose(slip.contact_velocities(rolling, turning, radii, UP), 0, atol=1e-15)
    fast, long = np.tile([0.5, 0.0, 0.0], (4, 1)), np.ones(4)
    assert not slip.detect_slip(True, ONES, fast, np.tile([0.0, 0.0, 1.0], (4, 1)), UP, 90.0, long, DT)[0].any()
    assert not slip.detect_slip(True, 0 * ONES, fast, np.tile(30 * UP, (4, 1)), UP, 90.0, long, DT)[0].any()
    against, along = np.tile([-9.0, 0.0, 30.0], (4, 1)), np.tile([9.0, 0.0, 30.0], (4, 1))
    assert slip.detect_slip(True, ONES, fast, against, UP, 90.0, long, DT)[0].all()
    assert not slip.detect_slip(True, ONES, fast, along, UP, 90.0, long, DT)[0].any()  # friction never drives


def test_touchdowns_early_and_missed():
    planned, part = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.7, 0.3, 1.0, 1.0])
    felt = np.array([True, True, False, True])
    assert touchdown.early(True, planned, part, felt, False).tolist() == [True, False, False, False]
    assert not touchdown.early(True, planned, part, felt, True).any()  # in a sidestep the foot goes on
    assert touchdown.early(True, planned, part + 0.1, felt, True).tolist() == [True, False, False, False]
    assert not touchdown.early(False, planned, part, felt, False).any()
    reaching, since = touchdown.missed(True, planned, felt, np.zeros(4), np.zeros(4), DT)
    assert reaching.tolist() == [False, False, True, False]
    assert since[2] == DT
    long = np.full(4, touchdown.REACH_TIME)
    assert not touchdown.missed(True, planned, felt, np.zeros(4), long, DT)[0].any()


@pytest.mark.parametrize("height", [0.1, 0.3, 0.5])
def test_a_late_foot_of_a_robot_that_tips_over_keeps_up_with_its_hips(height):
    calm, falling = (touchdown.reach_speed(sidestep, height) for sidestep in (False, True))
    assert calm == touchdown.reach_speed(False, 2.0 * height)
    assert touchdown.reach_speed(True, 4.0 * height) == pytest.approx(2.0 * falling)  # dynamic similarity
    # an inverted pendulum that begins to fall at sqrt(g h) lowers its hips so fast at 37 degrees
    assert falling == pytest.approx(np.sqrt(9.80665 * height) * np.sin(np.radians(36.87)), rel=0.01)
    depth, speed = touchdown.reach_down(np.array([0.0, 0.1]), falling)
    assert depth.tolist() == [0.0, 0.1 * falling]
    assert speed.tolist() == [0.0, falling]


def test_only_a_force_against_the_swing_bars_it():
    way = stumble.direction(np.zeros(3), np.array([0.2, 0.0, 0.0]))
    wall, landing = np.array([-10.0, 0.0, 2.0]), np.array([-6.0, 0.0, 10.0])
    assert stumble.is_blocked(True, 1.0, 0.4, True, wall, way)
    assert not stumble.is_blocked(True, 1.0, 0.4, True, landing, way)
    assert not stumble.is_blocked(True, 1.0, 0.4, True, -wall, way)
    assert not stumble.is_blocked(False, 1.0, 0.4, True, wall, way)
    again, lasting, higher = stumble.repeat_swing(True, 0.05, 0.0, 0.0, 0.0, DT)
    assert again == lasting == stumble.MIN_SWING_TIME
    assert higher == stumble.EXTRA_CLEARANCE
    left, lasting, kept = stumble.repeat_swing(False, 0.05, again, lasting, higher, DT)
    assert left == pytest.approx(again - DT)
    assert kept == higher


def test_legs_fold_only_when_a_fall_stays_certain_and_for_good():
    time, folded = 0.0, 0.0
    ticks = round(safe_stop.FALL_CONFIRM_TIME / DT)
    for _ in range(ticks - 5):
        time, folded = safe_stop.update_folding(True, safe_stop.fall_is_certain(0.2), time, folded, DT)
    assert folded == 0.0
    for _ in range(10):
        time, folded = safe_stop.update_folding(True, True, time, folded, DT)
    assert folded == 1.0
    assert safe_stop.update_folding(True, safe_stop.fall_is_certain(1.0), time, folded, DT) == (0.0, 1.0)


def test_rough_ground_lifts_feet_and_level_ground_does_not():
    assert responses.rough_ground_margins(True, 0.0)[0] < 1e-5
    assert responses.rough_ground_margins(False, 0.01) == (0.0, 0.0)
    square = responses.update_unevenness(0.0, np.ones(4, dtype=bool), np.full(4, 0.02))
    clear, rise = responses.rough_ground_margins(True, square)
    assert 0 < rise < clear <= responses.MAX_CLEARANCE


def test_an_event_is_told_once_with_its_leg():
    before = ReflexMemory.at_start(Reflexes(), 0.5)
    acting = before.acting.copy()
    acting[NAMES.index("slip"), 2] = 1.0
    after, told = ReflexMemory(**{**vars(before), "acting": acting}), {}
    assert new_events(0.5, before, after, told) == [(0.5, "LH slips: friction 0.50 is assumed")]
    assert new_events(0.501, after, after, told) == []
    assert new_events(0.52, before, after, told) == []  # flickers
    assert len(new_events(0.9, before, after, told)) == 1


# -- in runs -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["slip", "sidestep"])
def test_a_reflex_alone_decides(cheetah, name):
    with_it, without = decide(cheetah, name, True), decide(cheetah, name, False)
    assert with_it.passed, with_it.value
    assert not without.passed, without.value
    word = {"slip": "slips", "sidestep": "sidestep"}[name]
    assert any(word in text for _, text in with_it.events)
    assert not any(word in text for _, text in without.events)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("slip", "sidestep")])
def test_each_other_reflex_alone_decides(cheetah, name):
    found = decided(cheetah, [(name, on, seed) for on in (True, False) for seed in range(5)])
    with_it, without = ([outcome.passed for outcome in some] for some in (found[:5], found[5:]))
    assert sum(with_it) >= 4
    assert sum(with_it) - sum(without) >= 2


@pytest.mark.slow
def test_reflexes_raise_the_rough_ground_that_is_crossed(cheetah):
    from reflex_decisions import rough_heights

    off, on = rough_heights(cheetah, (False, True), (0, 1), halvings=3).mean(axis=1)
    assert on > off


def test_a_quiet_walk_needs_no_reflex(cheetah):
    controller = ff.control.Locomotion()
    simulation = ff.Simulation(
        cheetah, controller, start=ff.control.standing_state(cheetah), command=ff.Command(forward=0.3)
    )
    simulation.run(1.2)
    assert simulation.stopped is None
    assert controller.log == []
