"""The trunk leans the way it is told, and a little only."""

import numpy as np
import pytest

from footfall.control.interface import Command
from footfall.control.legged_plan import LIMITS
from footfall.control.named import on_command
from footfall.control.posture import standing_state
from footfall.robot import library
from footfall.simulate.simulation import Simulation


@pytest.mark.parametrize("stage", ["balance", "mpc", "whole_body"])
def test_the_trunk_leans_the_way_it_is_told(stage):
    robot = library.load("mini_cheetah")
    sim = Simulation(robot, on_command(stage), start=standing_state(robot), command=Command(roll=0.15, pitch=-0.15))
    yaw, pitch, roll = sim.run(1.0).trunk_euler()[-100:].mean(axis=0)
    assert sim.stopped is None
    assert 0.04 < roll < 0.2
    assert -0.2 < pitch < -0.08
    assert abs(yaw) < 0.02


def test_a_posture_beyond_the_robot_is_clipped():
    robot = library.load("mini_cheetah")
    sim = Simulation(robot, on_command("mpc"), start=standing_state(robot), command=Command(pitch=2.0))
    rec = sim.run(0.8)
    assert sim.stopped is None
    assert rec.trunk_euler()[:, 1].max() < LIMITS.pitch + 0.1
    assert np.isfinite(rec.q).all()
