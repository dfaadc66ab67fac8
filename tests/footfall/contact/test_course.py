"""Courses from a few numbers: the same ground as steps of a table, planes where they are slopes, and one per robot."""

import numpy as np
import pytest

import footfall as ff
from footfall.contact import Plane, Steps
from footfall.contact.course import Course
from footfall.errors import InputError

POINTS = np.random.default_rng(3).uniform((-0.5, -1.0, -0.3), (3.0, 1.0, 0.9), (200, 3))


def test_stairs_of_a_course_are_steps_of_a_table():
    course = Course(rise=0.07, tread=0.2, start=0.4)
    steps = Steps(np.array([0.0, *(0.07 * (k // 2 + 1) for k in range(30))]), 0.2, 0.4, fillet=0.01)
    for p in POINTS:
        assert course.distance(p) == pytest.approx(steps.distance(p), abs=1e-12)
        assert np.allclose(course.frame(p), steps.frame(p), atol=1e-12)
        assert course.height(p[0]) == pytest.approx(steps.height(p[0]))


def test_a_slope_of_a_course_is_a_plane():
    course, plane = Course(slope=0.23), Plane.slope(np.degrees(0.23))
    for p in POINTS:
        assert course.distance(p) == pytest.approx(plane.distance(p), abs=2e-9)
        assert np.allclose(course.frame(p)[:, 2], plane.normal, atol=1e-9)
    assert course.height(1.7) == pytest.approx(1.7 * np.tan(0.23))


def test_behind_every_tread_is_a_trench():
    course = Course(gap=0.07, deep=0.5, tread=0.12, start=0.6)
    stones, trenches = (0.6 + 0.19 * np.arange(12) + middle for middle in (0.06, 0.155))
    assert np.allclose([course.height(x) for x in stones], 0.0)
    assert np.allclose([course.height(x) for x in trenches], -0.5)
    assert course.height(0.3) == course.height(0.58) == 0.0  # before the start


def test_distances_of_trenches_are_those_of_their_boxes():
    """Of points over the treads and in the trenches, to the nearest of two edges and the bottom."""
    course = Course(gap=0.2, deep=0.4, tread=0.3, start=0.0, fillet=0.0)
    rng = np.random.default_rng(5)
    for x, z in rng.uniform((0.01, -0.39), (2.4, 0.3), (300, 2)):
        cell, along = np.divmod(x, 0.5)
        if along < 0.3 and z < 0.0:  # inside a stone
            continue
        if along < 0.3:
            nearest = z
        else:
            lands = [max(along - 0.3, 0.0), 0.5 - along]  # sideways from the stones before and after
            nearest = min(z + 0.4, *(np.hypot(aside, max(z, 0.0)) for aside in lands))
        assert course.distance(np.array([x, 0.1, z])) == pytest.approx(nearest, abs=1e-6), (cell, along, z)


@pytest.mark.parametrize("course", [Course(slope=-0.2, rise=0.05), Course(bumps=0.06, tread=0.1), Course(gap=0.1)])
def test_normals_of_a_course_are_gradients_of_its_distance(course):
    h, checked = 1e-6, 0
    for p in POINTS:
        ahead, behind = (
            np.array([course.distance(p + s * h * e) - course.distance(p) for e in np.eye(3)]) / (s * h)
            for s in (1, -1)
        )
        if np.abs(ahead - behind).max() < 1e-3 and course.distance(p) > 0.0:
            checked += 1
            assert np.allclose(course.frame(p)[:, 2], 0.5 * (ahead + behind), atol=1e-3)
    assert checked > 80


def test_robots_of_a_batch_stand_on_courses_of_their_own():
    robot = ff.load("mini_cheetah")
    heights = np.array([-0.1, 0.0, 0.1])
    batch = ff.Batch(
        robot,
        3,
        ff.control.Hold(kp=60.0, kd=2.0),
        ground=Course(start=-5.0, tread=2.0),
        free=["ground.rise"],
        threads=1,
        stop_on_fall=False,
    )
    batch.set({"ground.rise": heights})
    q = np.tile(batch.first.q, (3, 1))
    level = np.array([Course(start=-5.0, tread=2.0, rise=h).height(0.0) for h in heights])
    q[:, 2] += level
    batch.set_state(q)
    batch.run(300)
    assert np.allclose(batch.q[:, 2] - level, batch.q[1, 2], atol=1e-3)
    assert np.ptp(level) > 0.3


@pytest.mark.parametrize("wrong", [{"slope": 1.0}, {"tread": 0.01}, {"gap": -0.1}, {"bumps": np.nan}])
def test_a_course_that_cannot_be_is_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Course(**wrong)
