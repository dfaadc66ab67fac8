"""The trunk leans the way it is told, and a little only."""

import numpy as np
import pytest

from footfall.control.interface import Command
from footfall.control.locomotion.types import COMMAND_LIMITS
from footfall.control.named import on_command
from footfall.control.posture import standing_state
from footfall.robot import library
from footfall.sim.simulation import Simulation


@pytest.mark.parametrize("stage", ["balance", "mpc", "whole_body"])
def test_the_trunk_leans_the_way_it_is_told(stage):
    robot = library.load("mini_cheetah")
    sim = Simulation(robot, on_command(stage), start=standing_state(robot), command=Command(roll=0.15, pitch=-0.15))
    yaw, pitch, roll = sim.run(1.0).trunk_euler()[-100:].mean(axis=0)
    assert sim.stopped is None
    assert 0.04 < roll < 0.2
    assert -0.2 < pitch < -0.08
    assert abs(yaw) < 0.02


def _leans(name, forward, **posture):
    """(what the command asks, what the trunk does on the mean of a second): roll, pitch [rad], height [m]."""
    robot = library.load(name)
    controller = on_command("whole_body")
    command = Command(forward=forward, **posture)
    sim = Simulation(robot, controller, start=standing_state(robot), command=command)
    rec = sim.run(3.0)
    assert sim.stopped is None
    settled = rec.time > 2.0
    _, pitch, roll = rec.trunk_euler()[settled].mean(axis=0)
    high = rec.q[settled, 2].mean() - controller.model.height
    return np.array([command.roll, command.pitch, command.height]), np.array([roll, pitch, high])


IN_PLACE = 0.025  # [m/s]: a command small enough to trot on the spot


@pytest.mark.parametrize("forward", [0.0, IN_PLACE])
def test_a_commanded_posture_is_reached_within_an_eighth_in_stance_and_at_a_trot(forward):
    """Dry friction holds the joints of a robot that stands a little before they are where they should be."""
    asked, got = _leans("mini_cheetah", forward, roll=0.2, pitch=-0.1, height=-0.03)
    np.testing.assert_allclose(got, asked, rtol=0.125)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mini_cheetah", "xiling", "dynakat"])
@pytest.mark.parametrize("forward", [0.0, IN_PLACE])
@pytest.mark.parametrize(
    "posture", [{"roll": 0.2}, {"roll": -0.1}, {"pitch": 0.2}, {"pitch": -0.2}, {"height": 0.03}, {"height": -0.05}]
)
def test_each_part_of_a_posture_is_reached_within_an_eighth(name, forward, posture):
    asked, got = _leans(name, forward, **posture)
    on = asked != 0.0
    np.testing.assert_allclose(got[on], asked[on], rtol=0.125)
    assert np.abs(got[~on]).max() < 0.01


def test_a_posture_beyond_the_robot_is_clipped():
    robot = library.load("mini_cheetah")
    sim = Simulation(robot, on_command("mpc"), start=standing_state(robot), command=Command(pitch=2.0))
    rec = sim.run(0.8)
    assert sim.stopped is None
    assert rec.trunk_euler()[:, 1].max() < COMMAND_LIMITS.pitch + 0.1
    assert np.isfinite(rec.q).all()
