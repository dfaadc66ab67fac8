"""Laws of the swing and stance curves."""

import math

import numpy as np
import pytest

from footfall import gait
from footfall.errors import InputError
from footfall.gait import foot_path, stance, swing
from nptrace import compile as compiled

FINE = np.linspace(0.0, 1.0, 20001)


def bernstein(points, S):
    n = len(points) - 1
    return sum(math.comb(n, k) * S**k * (1 - S) ** (n - k) * c for k, c in enumerate(points))


@pytest.mark.parametrize("curve", [swing.NORMALISED, swing.CHEETAH], ids=["normalised", "cheetah"])
def test_power_basis_is_the_bernstein_sum(curve):
    for points, values in zip((curve.x, curve.z), curve.position(FINE)):
        assert np.abs(values - bernstein(points, FINE)).max() < 1e-14


def test_published_curve_has_the_known_checkpoints():
    curve = swing.CHEETAH
    assert np.allclose(np.array(curve.position(0.5)) * 1e3, (-47.985, -352.066), atol=1e-3)
    x, z = (1e3 * np.array(v) for v in curve.position(FINE))
    assert math.isclose(z.max() + 500, 155.008, abs_tol=1e-3)
    assert math.isclose(FINE[z.argmax()], 0.6266, abs_tol=1e-4)
    assert np.allclose((x.min(), x.max()), (-273.500, 260.163), atol=1e-3)
    assert np.allclose((1e3 * curve.rate(0.0)[0], 1e3 * curve.rate(1.0)[0]), (-885.5, -908.6), atol=1e-9)


def test_normalised_curve_has_the_known_checkpoints():
    x, z = swing.NORMALISED.position(FINE)
    assert math.isclose(z.max(), 0.97311, abs_tol=1e-5)
    assert math.isclose(FINE[z.argmax()], 0.6116, abs_tol=1e-4)
    assert np.allclose((x.min(), x.max()), (-1.36679, 1.29016), atol=1e-5)


@pytest.mark.parametrize("curve", [swing.NORMALISED, swing.CHEETAH], ids=["normalised", "cheetah"])
def test_doubled_end_points_stop_the_vertical_motion(curve):
    assert abs(curve.rate(0.0)[1]) < 1e-12
    assert abs(curve.rate(1.0)[1]) < 1e-12


def test_end_speeds_can_be_chosen():
    curve = swing.NORMALISED.with_end_speeds(-3.0, -2.0)
    assert np.allclose((curve.rate(0.0)[0], curve.rate(1.0)[0]), (-3.0, -2.0), atol=1e-12)
    assert np.allclose((curve.position(0.0)[0], curve.position(1.0)[0]), (-1.0, 1.0), atol=1e-14)


def test_matched_swing_makes_the_whole_path_smooth_in_x():
    g = gait.trot(duty=0.6)
    curve = swing.matched_ground(g.duty)
    edge = 1e-9
    for before, after in ((g.duty - edge, g.duty + edge), (1 - edge, edge)):
        speeds = [foot_path.foot_rate(g, np.array([p]), curve)[0][0] for p in (before, after)]
        assert math.isclose(speeds[0], speeds[1], rel_tol=1e-6)


@pytest.mark.parametrize("name", gait.names())
def test_foot_path_is_continuous_at_lift_off_and_touchdown(name):
    g = gait.named(name, stride=0.12, height=0.06, depth=0.01)
    edge = 1e-12
    for before, after in ((g.duty - edge, g.duty), (1 - edge, 0.0)):
        p, q = (np.array(foot_path.foot_offset(g, np.array([phase]))) for phase in (before, after))
        assert np.abs(p - q).max() < 1e-11


def test_foot_path_without_penetration_is_continuous_in_vertical_speed():
    g = gait.trot(depth=0.0)
    edge = 1e-9
    for before, after in ((g.duty - edge, g.duty + edge), (1 - edge, edge)):
        speeds = [foot_path.foot_rate(g, np.array([p]))[1][0] for p in (before, after)]
        assert np.abs(speeds).max() < 1e-6


def test_rate_of_the_path_is_its_derivative():
    g = gait.walk(stride=0.1, height=0.05, depth=0.01)
    phase, step = np.linspace(0.01, 0.99, 98), 1e-6
    ahead, behind = (np.array(foot_path.foot_offset(g, phase + s * step)) for s in (1, -1))
    smooth = np.abs(phase - g.duty) > 2 * step
    slope = (ahead - behind) / (2 * step * g.period)
    assert np.abs(slope - np.array(foot_path.foot_rate(g, phase)))[:, smooth].max() < 1e-7


def test_stance_presses_by_the_cosine_of_its_place():
    L, depth = 0.05, 0.01
    x, z = stance.position(FINE, L, depth)
    assert np.abs(z + depth * np.cos(np.pi * x / (2 * L))).max() < 1e-15
    assert (x[0], x[-1]) == (L, -L)
    assert np.isfinite(stance.position(FINE, 0.0, depth)).all()


def test_stance_moves_back_at_the_nominal_speed():
    g = gait.trot()
    assert np.allclose(foot_path.foot_rate(g, np.array([0.1, 0.3]))[0], -g.speed)


def test_swing_stays_above_the_ground_and_stance_below():
    g = gait.trot(depth=0.01)
    z = foot_path.foot_offset(g, FINE[:-1])[1]
    down = FINE[:-1] < g.duty
    assert z[down].max() <= 0
    assert z[~down].min() >= -1e-15


def test_start_ramp_rises_smoothly_from_zero_to_one():
    g = gait.trot(ramp=2.0)
    assert [float(foot_path.start_ramp(g, t)) for t in (0.0, 1.0, 2.0, 9.0)] == [0.0, 0.5, 1.0, 1.0]
    assert foot_path.start_ramp(gait.trot(ramp=0), 0.0) == 1.0


def test_compiled_path_is_the_numpy_path():
    g = gait.trot(depth=0.01)
    phase = np.linspace(0, 0.999, 40)
    fast = compiled(lambda p: foot_path.foot_offset(g, p), phase, target="interpret")
    assert np.abs(np.array(fast(phase)) - np.array(foot_path.foot_offset(g, phase))).max() < 1e-14


@pytest.mark.parametrize(("x", "z"), [((0.0,), (0.0,)), ((0.0, 1.0), (0.0,)), ((0.0, math.nan), (0.0, 0.0))])
def test_a_curve_that_is_none_is_refused(x, z):
    with pytest.raises(InputError, match="Bezier"):
        swing.Bezier(x, z)
    with pytest.raises(InputError, match="duty"):
        swing.matched_ground(1.0)
