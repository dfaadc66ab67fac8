"""A box by itself, on the corners that collide: it slides as far, and tips where, as by hand."""

import numpy as np
import pytest

import footfall as ff
from footfall.robot import Link, Robot
from footfall.robot.model.shapes import box_inertia
from footfall.sim.pushes import Push

G, MU = 9.81, 0.45


def box(size, mass=3.0):
    return Robot(name="box", links=[Link(name="box", mass=mass, inertia=box_inertia(mass, size), box=size)])


def moving(robot, height, speed=0.0, yaw=0.0, pushes=()):
    q, v = robot.state(height=height)
    q[3], q[6] = np.cos(yaw / 2), np.sin(yaw / 2)
    v[3], v[4] = speed * np.cos(yaw), -speed * np.sin(yaw)  # along x of the world
    return ff.Simulation(
        robot,
        ff.control.Hold(np.zeros(0)),
        start=(q, v),
        ground=ff.contact.Plane(MU),
        collisions=True,
        stop_on_fall=False,
        pushes=pushes,
    )


@pytest.mark.parametrize("yaw", [0.0, 0.5])
def test_a_sliding_box_stops_after_its_speed_squared_over_twice_friction_and_gravity(yaw):
    size, speed = (0.5, 0.4, 0.06), 1.4
    sim = moving(box(size), 0.03, speed, yaw)
    sim.run(0.6)
    assert sim.q[0] == pytest.approx(speed**2 / (2 * MU * G), rel=5e-3)
    assert abs(sim.q[1]) < 2e-3
    assert np.abs(sim.v).max() < 1e-3


@pytest.mark.parametrize(("part", "moves"), [(0.97, False), (1.05, True)])
def test_a_box_moves_under_more_than_its_friction(part, moves):
    robot = box((0.4, 0.4, 0.1))
    force = part * MU * 3.0 * G
    low = Push(start=0.1, duration=0.5, force=(force, 0.0, 0.0))  # at the centre of mass, well below where it would tip
    sim = moving(robot, 0.05, pushes=[low])
    sim.run(0.6)
    assert (sim.q[0] > 0.01) == moves
    if moves:  # 0.5 m/s² of excess for half a second
        excess = (part - 1.0) * MU * G
        speed = excess * 0.5
        assert sim.q[0] == pytest.approx(0.5 * excess * 0.5**2 + speed**2 / (2 * MU * G), rel=0.05)


@pytest.mark.parametrize(("part", "tips"), [(0.97, False), (1.06, True)])
def test_a_tall_box_tips_where_the_push_outweighs_half_its_base(part, tips):
    """At its centre of mass, before friction gives way: F h > m g b / 2."""
    size = (0.12, 0.3, 0.4)
    force = part * 3.0 * G * (size[0] / 2) / (size[2] / 2)
    assert force < 0.8 * MU * 3.0 * G  # it does not slide
    sim = moving(box(size), 0.2, pushes=[Push(start=0.1, duration=2.5, force=(force, 0.0, 0.0))])
    sim.run(2.5)
    lean = np.arccos(1.0 - 2.0 * (sim.q[4] ** 2 + sim.q[5] ** 2))
    assert (lean > 0.5) == tips
    if not tips:
        assert lean < 0.01
