"""A simulation of a gait that nobody placed starts as the gait stands, not as the robot's pose ``stand`` does."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.sim.start import standing_start


@pytest.mark.parametrize("wrapped", [lambda inner: inner, ff.control.GravityCompensation], ids=["pd", "gravity"])
@pytest.mark.parametrize("name", ["mini_cheetah", "dynakat"])
def test_a_gait_starts_with_the_knees_that_it_walks_with_as_the_command_line_does(name, wrapped):
    robot = ff.load(name)
    controller = wrapped(ff.control.JointPD.tuned(robot, "walk"))
    sim = ff.Simulation(robot, controller)
    np.testing.assert_allclose(sim.q, standing_start(robot, controller)[0], atol=1e-12)
    asked = controller.inner if wrapped is ff.control.GravityCompensation else controller
    first = asked(0.0, robot, ff.Sensed(q=sim.q, v=sim.v, forces=np.zeros((4, 3))), sim.command, asked.start(robot))[0]
    np.testing.assert_allclose(sim.q[7:], first.position, atol=1e-12)
    sim.run(2.0)
    assert sim.stopped is None


def test_a_change_of_gait_starts_as_its_first_gait():
    robot = ff.load("dynakat")
    walk = ff.gait.for_robot(robot, "walk").gait
    change = ff.gait.Transition(walk, walk.replace(period=0.8), 1.0, 0.5)
    controller = ff.control.ChangingPD(transition=change, kp=(14.0, 14.0), kd=(0.3, 0.3))
    sim = ff.Simulation(robot, controller)
    first = controller(
        0.0, robot, ff.Sensed(q=sim.q, v=sim.v, forces=np.zeros((4, 3))), sim.command, controller.start(robot)
    )[0]
    np.testing.assert_allclose(sim.q[7:], first.position, atol=1e-12)
