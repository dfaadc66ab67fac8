"""Laws of the elliptic swing and of trapezoidal speed."""

import math

import numpy as np
import pytest

from footfall.errors import InputError
from footfall.gait.ellipse import Ellipse, Trapezoid, swing_between, trapezoid
from nptrace import compile as compiled

FINE = np.linspace(0.0, 1.0, 20001)


def printed(t, a, v, T):
    """Eq. (22) as printed."""
    t_a = v / a
    if t <= t_a:
        return 0.5 * a * t * t
    if t <= T - t_a:
        return v * t - v * v / (2 * a)
    return (2 * a * v * T - 2 * v * v - a * a * (t - T) ** 2) / (2 * a)


@pytest.mark.parametrize("ramp", [0.1, 0.25, 0.5])
def test_profile_is_eq_22(ramp):
    profile, T, way = Trapezoid(ramp), 0.4, math.pi
    v = way * profile.top_speed / T
    for t in np.linspace(0, T, 41):
        expected = printed(t, v / (ramp * T), v, T)
        assert math.isclose(way * float(profile.position(t / T)), expected, abs_tol=1e-12)


@pytest.mark.parametrize("ramp", [0.1, 0.25, 0.5])
def test_speed_is_the_slope_of_the_way_and_is_continuous(ramp):
    profile = Trapezoid(ramp)
    way, speed = profile.position(FINE), profile.rate(FINE)
    assert way[0] == 0.0
    assert way[-1] == 1.0
    assert speed[0] == 0.0
    assert speed[-1] == 0.0
    slope = np.diff(way) / np.diff(FINE)
    assert np.abs(slope - 0.5 * (speed[1:] + speed[:-1])).max() < 1e-3 * profile.top_speed
    assert np.abs(np.diff(speed)).max() <= profile.acceleration * FINE[1] * (1 + 1e-6)
    assert math.isclose(speed.max(), profile.top_speed, rel_tol=1e-3)


def test_before_and_after_nothing_moves():
    profile = Trapezoid()
    assert profile.position(-3.0) == 0.0
    assert profile.position(7.0) == 1.0
    assert profile.rate(-3.0) == 0.0
    assert profile.rate(7.0) == 0.0
    assert profile.second_rate(7.0) == 0.0


def test_transition_of_given_speed_and_acceleration():
    profile, time = trapezoid(2.0, 1.0, 2.0)
    assert math.isclose(time, 2.5)
    assert math.isclose(profile.ramp, 0.2)
    assert math.isclose(2.0 * profile.top_speed / time, 1.0)
    short, time = trapezoid(0.1, 10.0, 2.0)
    assert short.ramp == 0.5
    assert math.isclose(time, 2 * math.sqrt(0.05))


def test_foot_travels_twice_l_and_w_and_rises_by_h():
    swing = Ellipse(0.08, -0.03, 0.06)
    path = swing.position(FINE)
    assert np.abs(path[:, 0]).max() < 1e-15
    assert np.abs(path[:, -1] - [0.16, -0.06, 0.0]).max() < 1e-12
    assert math.isclose(path[2].max(), 0.06, rel_tol=1e-6)
    assert path[2].min() > -1e-12
    inside = ((path[0] - 0.08) / 0.08) ** 2 + (path[2] / 0.06) ** 2
    assert np.abs(inside - 1.0).max() < 1e-12  # an ellipse


def test_foot_lifts_and_lands_at_rest_and_its_rate_is_the_slope():
    swing = Ellipse(0.08, 0.02, 0.06)
    path, rate = swing.position(FINE), swing.rate(FINE)
    assert np.abs(rate[:, [0, -1]]).max() < 1e-12
    assert np.abs(np.diff(path) / FINE[1] - 0.5 * (rate[:, 1:] + rate[:, :-1])).max() < 1e-4
    assert np.abs(np.diff(rate)).max() < 1e-3  # no jump


def test_turning_step_takes_the_foot_round_the_centre():
    turn, place = 0.3, np.array([0.3, 0.2])
    end = Ellipse.turning((0.3, 0.2), 0.0, 0.0, turn).position(1.0)[:2] + place
    assert math.isclose(np.hypot(*end), np.hypot(*place))
    assert math.isclose(math.atan2(end[1], end[0]) - math.atan2(place[1], place[0]), turn)
    assert np.abs(Ellipse.turning((0.3, 0.2), 0.1, 0.04, 0.0).position(1.0) - [0.1, 0.04, 0.0]).max() < 1e-15


def test_path_between_footholds_is_the_ellipse():
    swing, start = Ellipse(0.05, 0.01, 0.04), np.array([0.3, 0.1, 0.02])
    for u in (0.0, 0.2, 0.7, 1.0):
        between = swing_between(start, start + np.array([0.1, 0.02, 0.0]), 0.04, u, swing.profile)
        assert np.abs(between - (start + swing.position(u))).max() < 1e-15


def test_compiled_path_is_the_numpy_one():
    swing = Ellipse(0.05, 0.01, 0.04)
    fast = compiled(lambda u: (swing.position(u), swing.rate(u)), 0.3, target="interpret")
    for u in (-0.1, 0.1, 0.5, 0.9, 1.2):
        for ours, theirs in zip(fast(u), (swing.position(u), swing.rate(u))):
            assert np.abs(ours - theirs).max() < 1e-14


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Ellipse(0.05, height=-0.01), "height of an elliptic swing must be 0 or more"),
        (lambda: Ellipse(math.nan), "half_step of an elliptic swing must be finite"),
        (lambda: Trapezoid(0.0), "ramp of a trapezoidal speed"),
        (lambda: Trapezoid(0.7), "ramp of a trapezoidal speed"),
        (lambda: trapezoid(1.0, -1.0, 1.0), "speed of a trapezoidal transition must be positive"),
        (lambda: Ellipse.turning((0.1, math.nan), 0, 0, 0), "finite"),
    ],
)
def test_bad_numbers_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
