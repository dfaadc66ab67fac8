"""Whichever inverse kinematics a controller uses, feet are where the gait puts them, and robots walk."""

import numpy as np
import pytest

import footfall as ff
from footfall.control.joint.joint_pd import INVERSES, JointPD, iterative_joint_targets, joint_targets
from footfall.control.joint.plan_follower import planned_joints
from footfall.errors import InputError
from footfall.gait.named_plans import named_plan
from footfall.gait.pattern import clock_phase
from footfall.kinematics.forward import foot_positions
from footfall.sim.runfile import RunOptions, plan
from footfall.sim.start import standing_start


@pytest.mark.parametrize("rule", INVERSES[1:])
@pytest.mark.parametrize("name", ["mini_cheetah", "xiling", "dynakat"])
def test_feet_follow_the_paths_of_the_closed_form(name, rule):
    robot = ff.load(name)
    gait = JointPD.tuned(robot, "walk").gait
    q, _ = robot.state()
    last = joint_targets(robot, gait, clock_phase(gait, 0.0))
    for k in range(0, 400, 4):  # four ticks at a time: harder than in a run
        phase = clock_phase(gait, 1e-3 * k)
        last = iterative_joint_targets(robot, gait, phase, last, rule=rule)
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


@pytest.mark.parametrize("rule", INVERSES[1:])
@pytest.mark.parametrize("name", ["mini_cheetah", "xiling"])
def test_feet_follow_a_plan_as_by_the_closed_form(name, rule):
    robot = ff.load(name)
    walk = named_plan(robot, "walk", None, 4.0)
    last = planned_joints(robot, walk.at(0.0))
    for t in np.arange(0.0, 1.0, 0.02):  # twenty ticks at a time: harder than in a run
        last = planned_joints(robot, walk.at(t), inverse=rule, last=last)
        assert np.abs(last - planned_joints(robot, walk.at(t))).max() < 1e-3


WAYS = {"plan": {"controller": "plan"}, "change": {"then": "walk:1"}, "reflexes": {"gait": "walk", "reflexes": "all"}}


@pytest.mark.parametrize("way", WAYS)
def test_plans_changes_and_reflexes_take_an_inverse(way):
    made = plan(ff.load("xiling"), RunOptions(robot="xiling", inverse="fabrik", **WAYS[way]))
    assert made.simulation.controller.inverse == "fabrik"
    with pytest.raises(InputError, match="inverse kinematics of "):
        plan(ff.load("xiling"), RunOptions(robot="xiling", inverse="fabrick", **WAYS[way]))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rule", INVERSES[1:])
def test_robots_walk_on_either_inverse_by_plans_changes_and_reflexes(way, rule):
    distances = []
    for inverse in ("closed", rule):
        made = plan(ff.load("xiling"), RunOptions(robot="xiling", inverse=inverse, **WAYS[way]))
        rec = made.simulation.run(4.0)
        assert not rec.meta["fell"]
        distances.append(rec.distance)
    assert distances[1] == pytest.approx(distances[0], rel=0.3)
