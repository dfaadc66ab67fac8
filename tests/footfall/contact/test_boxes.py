"""Boxes on a ground: true distances, normals along which they grow, and bodies that rest on and against them."""

import numpy as np
import pytest
from simulated_bodies import ball

import footfall as ff
from footfall.contact import Box, Boxes, Plane
from footfall.contact.terrain import from_json
from footfall.errors import InputError

BOXES = Boxes(Plane(0.6), [Box((0.7, 0.1, 0.15), (0.4, 0.6, 0.3), 0.4), Box((-0.5, 0.0, 0.1), (0.3, 0.3, 0.2))])


def test_a_point_is_as_far_from_a_box_as_from_the_nearest_of_its_points():
    rng, box = np.random.default_rng(1), BOXES.boxes[0]
    turned = np.array([[np.cos(0.4), -np.sin(0.4), 0.0], [np.sin(0.4), np.cos(0.4), 0.0], [0.0, 0.0, 1.0]])
    for p in box.center + rng.uniform(-0.5, 0.5, (60, 3)):
        x = turned.T @ (p - box.center)
        near = np.clip(x, -box.size / 2, box.size / 2)
        distance, way = box.nearest(p)
        if (near != x).any():
            assert distance == pytest.approx(np.linalg.norm(x - near))
            assert np.allclose(p - distance * way, box.center + turned @ near)
        else:
            assert distance == pytest.approx(-np.min(box.size / 2 - np.abs(x)))


def test_normals_are_gradients_of_the_distance_also_in_corners():
    rng, h, checked = np.random.default_rng(2), 1e-6, 0
    for p in rng.uniform((-1.0, -0.5, 0.002), (1.2, 0.6, 0.4), (300, 3)):
        ahead, behind = (
            np.array([BOXES.distance(p + s * h * e) - BOXES.distance(p) for e in np.eye(3)]) / (s * h) for s in (1, -1)
        )
        if np.abs(ahead - behind).max() > 1e-3:
            continue  # a crease
        checked += 1
        n = BOXES.frame(p)[:, 2]
        assert np.allclose(n, 0.5 * (ahead + behind), atol=2e-3)
        assert np.allclose(BOXES.frame(p).T @ BOXES.frame(p), np.eye(3), atol=1e-9)
    assert checked > 250


@pytest.mark.parametrize(("x", "height"), [(-0.5, 0.2), (0.0, 0.0)])
def test_a_ball_rests_on_what_is_under_it(x, height):
    robot = ball(mass=0.7, radius=0.05)
    q, v = robot.state(height=height + 0.08)
    q[0] = x
    sim = ff.Simulation(robot, ff.control.Hold(np.zeros(0)), start=(q, v), ground=BOXES, stop_on_fall=False)
    sim.run(1.0)
    assert sim.q[2] == pytest.approx(height + 0.05, abs=5e-4)
    assert sim.state.forces[:, 2].sum() == pytest.approx(0.7 * 9.81, rel=1e-3)


def test_a_rolling_ball_is_stopped_by_the_side_of_a_box():
    robot = ball(mass=0.7, radius=0.05)
    q, v = robot.state(height=0.05)
    v[3] = -1.0
    sim = ff.Simulation(robot, ff.control.Hold(np.zeros(0)), start=(q, v), ground=BOXES, stop_on_fall=False)
    rec = sim.run(1.0)
    assert rec.q[:, 0].min() > -0.35 + 0.05 - 1.1e-3  # the side, the radius, what it travels in a step
    assert rec.q[:, 0].min() < -0.28
    assert sim.v[3] > -1e-3


def test_boxes_are_kept_in_recordings_and_bad_ones_refused():
    again = from_json(BOXES.to_json())
    p = np.array([0.45, 0.2, 0.2])
    assert again.distance(p) == BOXES.distance(p)
    for wrong in (lambda: Box((0, 0, 0), (1, 0, 1)), lambda: Boxes(Plane(), []), lambda: Boxes(Plane(), ["box"])):
        with pytest.raises(InputError):
            wrong()
