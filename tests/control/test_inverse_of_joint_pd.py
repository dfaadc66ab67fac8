"""Whichever inverse kinematics a controller uses, feet are where the gait puts them, and robots walk."""

import numpy as np
import pytest

import footfall as ff
from footfall.control.joint.joint_pd import INVERSES, JointPD, joint_targets, reached_targets
from footfall.gait.pattern import clock_phase
from footfall.kinematics.forward import foot_positions
from footfall.simulate.standing import standing_start


@pytest.mark.parametrize("rule", INVERSES[1:])
@pytest.mark.parametrize("name", ["mini_cheetah", "xiling", "dynakat"])
def test_feet_follow_the_paths_of_the_closed_form(name, rule):
    robot = ff.load(name)
    gait = JointPD.tuned(robot, "walk").gait
    q, _ = robot.state()
    last = joint_targets(robot, gait, clock_phase(gait, 0.0))
    for k in range(0, 400, 4):  # four ticks at a time: harder than in a run
        phase = clock_phase(gait, 1e-3 * k)
        last = reached_targets(robot, gait, phase, last, rule=rule)
        q[7:] = joint_targets(robot, gait, phase)
        wanted = foot_positions(robot, q)
        q[7:] = last
        assert np.abs(foot_positions(robot, q) - wanted).max() < 2e-5


@pytest.mark.parametrize(
    ("name", "rule"),
    [("mini_cheetah", "resolved_rate"), pytest.param("dynakat", "resolved_rate", marks=pytest.mark.slow)],
)
def test_robots_walk_on_either_inverse(name, rule):
    robot = ff.load(name)
    distances = []
    for inverse in ("closed", rule):
        controller = JointPD.tuned(robot, "trot", inverse=inverse)
        sim = ff.Simulation(robot, controller, start=standing_start(robot, controller))
        rec = sim.run(4.0)
        assert sim.controller_is_compiled
        assert not rec.meta["fell"]
        distances.append(rec.distance)
    assert distances[1] == pytest.approx(distances[0], rel=0.3)
