"""Laws of support polygons, margins, ZMP and capture point."""

import math

import numpy as np
import pytest

from footfall.analysis import run_stability
from footfall.errors import InputError
from footfall.gait import stability as st

SQUARE = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]])
ALL = np.ones(4, dtype=bool)


def test_hull_is_convex_anticlockwise_and_holds_every_point():
    rng = np.random.default_rng(3)
    for _ in range(30):
        points = rng.normal(size=(rng.integers(3, 12), 2))
        hull = st.support_polygon(points)
        edges = np.roll(hull, -1, axis=0) - hull
        turns = edges[:, 0] * np.roll(edges[:, 1], -1) - edges[:, 1] * np.roll(edges[:, 0], -1)
        assert np.all(turns > 0)
        assert min(st.polygon_margin(hull, p) for p in points) > -1e-12


def test_margin_is_the_distance_to_the_nearest_side():
    square = st.support_polygon(SQUARE)
    assert math.isclose(st.polygon_margin(square, np.array([0.3, 0.2])), 0.7)
    assert math.isclose(st.polygon_margin(square, np.array([1.5, 0.0])), -0.5)
    assert math.isclose(st.polygon_margin(square, np.array([2.0, 2.0])), -math.sqrt(2))  # from the corner


def test_margin_does_not_change_when_the_robot_is_moved_and_turned():
    rng = np.random.default_rng(5)
    feet, point = rng.normal(size=(4, 2)), rng.normal(size=2) * 0.3
    before = st.polygon_margin(st.support_polygon(feet), point)
    c, s = math.cos(1.1), math.sin(1.1)
    turn = np.array([[c, -s], [s, c]])
    after = st.polygon_margin(st.support_polygon(feet @ turn.T + 3.0), turn @ point + 3.0)
    assert math.isclose(before, after, abs_tol=1e-12)


def test_two_feet_or_fewer_never_have_a_positive_margin():
    center = np.array([0.0, 0.0, 0.3])
    diagonal = st.static_margin(SQUARE, [True, False, False, True], center)
    assert abs(diagonal) < 1e-12
    assert st.static_margin(SQUARE, [True, True, False, False], center) == -1.0
    assert math.isclose(st.static_margin(SQUARE, [True, False, False, False], center), -math.sqrt(2))
    assert st.static_margin(SQUARE, [False] * 4, center) == -math.inf


def test_wide_margin_counts_feet_in_the_air():
    """The erratum: with a foot up, the report's contact points would give the support polygon's margin."""
    center = np.array([0.1, 0.1, 0.3])
    up = [False, True, True, True]
    assert math.isclose(st.wide_stability_margin(SQUARE, center), 0.9)
    assert math.isclose(st.static_margin(SQUARE, up, center), -0.1 * math.sqrt(2))
    assert math.isclose(st.static_margin(SQUARE, ALL, center), st.wide_stability_margin(SQUARE, center))


def test_energy_margin_is_the_rise_over_the_nearest_side():
    center = np.array([0.4, 0.0, 0.5])
    expected = 2.0 * 9.81 * (math.hypot(0.6, 0.5) - 0.5)
    assert math.isclose(st.energy_margin(SQUARE, ALL, center, 2.0), expected)
    assert st.energy_margin(SQUARE, ALL, np.array([0.4, 0.0, 1.0]), 2.0) < expected  # a higher robot tips more easily
    outside = st.energy_margin(SQUARE, ALL, np.array([1.3, 0.0, 0.5]), 2.0)
    assert math.isclose(outside, -2.0 * 9.81 * (math.hypot(0.3, 0.5) - 0.5))
    assert st.energy_margin(SQUARE, [False] * 4, center, 2.0) == -math.inf


def test_zmp_of_a_robot_at_rest_is_under_its_centre_and_moves_against_acceleration():
    center = np.array([0.2, -0.1, 0.4])
    assert np.all(st.zero_moment_point(center, np.zeros(3)) == center[:2])
    ahead = st.zero_moment_point(center, np.array([1.0, 0.0, 0.0]))
    assert math.isclose(ahead[0], 0.2 - 0.4 / 9.81)
    assert np.isnan(st.zero_moment_point(center, np.array([0.0, 0.0, -9.81]))).all()


def test_zmp_is_the_centre_of_pressure_of_the_forces_that_cause_the_motion():
    rng = np.random.default_rng(2)
    points = np.column_stack([rng.normal(size=(4, 2)), np.zeros(4)])
    forces = rng.normal(size=(4, 3)) + np.array([0.0, 0.0, 9.0])
    center, mass = np.array([0.1, 0.2, 0.6]), 3.0
    acceleration = forces.sum(axis=0) / mass - np.array([0.0, 0.0, 9.81])
    spin = np.cross(points - center, forces).sum(axis=0)
    zmp = st.zero_moment_point(center, acceleration, spin, mass)
    assert np.abs(zmp - st.center_of_pressure(points, forces)).max() < 1e-12


def test_capture_point_is_where_a_pendulum_comes_to_rest():
    """The linear inverted pendulum standing on its capture point ends over it."""
    center, velocity, g = np.array([0.0, 0.0, 0.5]), np.array([0.4, -0.1, 0.0]), 9.81
    foot = st.capture_point(center, velocity)
    p, v, dt = center[:2].copy(), velocity[:2].copy(), 1e-4
    for _ in range(10000):
        middle = v + 0.5 * dt * g / 0.5 * (p - foot)
        p = p + dt * middle
        v = middle + 0.5 * dt * g / 0.5 * (p - foot)
    assert np.abs(p - foot).max() < 5e-3


def test_margins_of_a_recording():
    from footfall.control.joint.joint_pd import JointPD
    from footfall.robot import library
    from footfall.sim.simulation import Simulation
    from footfall.sim.start import standing_start

    robot = library.load("mini_cheetah")
    controller = JointPD.tuned(robot)
    rec = Simulation(robot, controller, start=standing_start(robot, controller)).run(2.0)
    found = run_stability.stability(rec.between(1.0, 1.6), rows=600)
    assert np.all(found.wide > 0.08)
    assert np.all(found.wide >= found.static - 1e-12)
    assert found.static.min() < 0.0 < found.static.max()  # a trot stands on diagonals
    assert np.all(
        np.sign(found.energy[np.abs(found.static) > 1e-3]) == np.sign(found.static[np.abs(found.static) > 1e-3])
    )
    apart = np.abs(found.zmp - found.pressure)  # one from motion alone, one from forces alone
    assert np.nanmedian(apart) < 0.01
    for figure in (
        run_stability.plot_stability(rec.between(1.0, 1.6), 60),
        run_stability.plot_support(rec, (1.2, 1.4)),
    ):
        labels = [axis.get_ylabel() + axis.get_xlabel() for axis in figure.axes]
        assert any("[m]" in label for label in labels)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: st.support_polygon([[0.0, math.nan]]), "must be finite"),
        (lambda: st.static_margin(SQUARE, [True], np.zeros(3)), "4 feet, got 1"),
        (lambda: st.capture_point(np.array([0.0, 0.0, -0.1]), np.zeros(3)), "above the ground"),
    ],
)
def test_bad_input_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_a_margin_does_not_depend_on_the_order_of_the_corners():
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    for point in ([0.2, 0.0], [3.0, 0.0], [0.9, -0.9]):
        assert st.polygon_margin(square[::-1], np.array(point)) == st.polygon_margin(square, np.array(point))


def test_a_margin_of_corners_in_a_line_is_never_positive():
    line = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    assert st.polygon_margin(line, np.array([5.0, 0.0])) == -3.0
