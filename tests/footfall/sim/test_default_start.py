"""Without a start or a controller a simulation stands on its ground, whatever the ground, robot and step."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.contact import terrain
from footfall.robot.model.placement import standing_pose


@pytest.mark.parametrize("ground", ["slope:8", "slope:-8", "rough:0.04", "plane"])
def test_a_robot_that_nobody_placed_stands_with_its_feet_at_the_ground(ground):
    robot, surface = ff.load("mini_cheetah"), terrain.named(ground)
    sim = ff.Simulation(robot, ff.control.Hold(kp=60.0, kd=2.0), ground=surface)
    feet = ff.kinematics.foot_positions(robot, sim.q)
    gaps = [float(surface.distance(p)) - foot.radius for p, foot in zip(feet, robot.feet)]
    assert np.abs(gaps).max() < 3e-3
    sim.run(0.3)
    assert sim.stopped is None


@pytest.mark.parametrize("dt", [3e-4, 1e-3, 2e-3, 4e-3])
def test_the_default_controller_fits_any_step(dt):
    sim = ff.Simulation(ff.load("mini_cheetah"), dt=dt)
    assert sim.run(0.24).time[-1] == pytest.approx(0.24, abs=1e-3)
    assert 250.0 <= sim.controller.rate <= 1200.0


def test_another_stand_of_the_same_robot_is_held_not_the_one_compiled_before():
    first = ff.load("mini_cheetah")
    joints = first.poses["stand"].joints + np.tile([0.0, -0.2, 0.4], 4)
    other = first.replace(poses={"stand": standing_pose(first, joints)})
    ff.Simulation(first).run(0.2)
    rec = ff.Simulation(other).run(0.2)
    assert np.abs(rec.q[-1, 7:] - joints).max() < 0.15
