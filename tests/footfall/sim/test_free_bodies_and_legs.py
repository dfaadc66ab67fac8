"""Free bodies beside and on robots with legs: what they do not touch stands as alone, what they load bears it."""

import numpy as np
import pytest

import footfall as ff

G = 9.81


@pytest.mark.parametrize("name", ["mini_cheetah", "fivebar"])
def test_a_robot_stands_as_it_does_alone_beside_what_it_does_not_touch(name):
    robot = ff.load(name)
    alone, beside = (
        ff.Simulation(robot),
        ff.Simulation(robot, objects=[ff.FreeBall(radius=0.07, mass=0.4, position=(4.0, 1.0, 0.3))]),
    )
    for sim in (alone, beside):
        sim.run(0.1)
    np.testing.assert_allclose(beside.q, alone.q, atol=1e-9)
    np.testing.assert_allclose(beside.v, alone.v, atol=1e-7)
    np.testing.assert_allclose(beside.state.forces[: robot.nf], alone.state.forces, atol=1e-5)
    assert alone.state.forces[:, 2].sum() > 0.5 * robot.mass * G


def test_feet_bear_a_payload_and_a_ball_on_the_back_rolls_at_five_sevenths():
    """A ball that comes down on the trunk while it moves along is caught by friction: it rolls without slip."""
    robot = ff.load("mini_cheetah")
    speed, load = 0.28, ff.FreeBox(size=(0.1, 0.08, 0.06), mass=1.1, position=(-0.1, 0.0, 0.4))
    ball = ff.FreeBall(radius=0.03, mass=0.2, position=(0.02, 0.0, 0.38), velocity=(speed, 0.0, 0.0))
    sim = ff.Simulation(robot, objects=[load, ball])
    sim.run(0.4)
    found = sim.object("ball")
    assert found.velocity[0] == pytest.approx(5 / 7 * speed, rel=0.06)  # the back gives way a little
    turns = found.rotation @ found.omega
    assert turns[1] * 0.03 == pytest.approx(found.velocity[0] - sim.v[3], abs=5e-3)
    weight = (robot.mass + 1.1 + 0.2) * G
    assert sim.state.forces[: robot.nf, 2].sum() == pytest.approx(weight, rel=0.01)
