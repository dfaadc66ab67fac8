"""Robots walk and trot, whichever network of oscillators paces them."""

import numpy as np
import pytest

import footfall as ff
from footfall.control.interface import Command, Sensed
from footfall.control.joint.changing_pd import ChangingPD
from footfall.control.joint.joint_pd import JointPD
from footfall.errors import InputError
from footfall.gait.oscillators.networks import NAMES
from footfall.gait.transition import Transition
from footfall.gait.tuned import for_robot
from footfall.sim.runfile import RunOptions, plan
from footfall.sim.start import standing_start

ROBOTS = ("mini_cheetah", "xiling", "spined", "dynakat")


def walked(robot, controller, seconds=10.0):
    sim = ff.Simulation(robot, controller, start=standing_start(robot, controller))
    rec = sim.run(seconds)
    assert sim.controller_is_compiled
    return rec


def check(name, gait, oscillator, touchdown):
    """Ten seconds on its feet, as fast as Kuramoto's oscillators walk it within a third."""
    robot = ff.load(name)
    usual = walked(robot, JointPD.tuned(robot, gait))
    rec = walked(robot, JointPD.tuned(robot, gait, oscillator=oscillator, touchdown=touchdown))
    assert not rec.meta["fell"]
    assert rec.time[-1] == pytest.approx(10.0, abs=2e-3)
    assert rec.mean_speed(2.0) == pytest.approx(usual.mean_speed(2.0), rel=0.34)
    return rec


@pytest.mark.parametrize(("name", "oscillator"), [("mini_cheetah", "rulkov"), ("dynakat", "hopf")])
def test_robots_walk_for_ten_seconds_on_either_network(name, oscillator):
    rec = check(name, "walk", oscillator, touchdown=True)
    lifted = (np.linalg.norm(rec.force, axis=2) < 1e-6).mean(axis=0)
    assert (lifted > 0.03).all()  # every foot steps


@pytest.mark.slow
@pytest.mark.parametrize("touchdown", [False, True])
@pytest.mark.parametrize("oscillator", ["hopf", "rulkov"])
@pytest.mark.parametrize("gait", ["walk", "trot"])
@pytest.mark.parametrize("name", ROBOTS)
def test_every_robot_walks_and_trots_on_every_network(name, gait, oscillator, touchdown):
    check(name, gait, oscillator, touchdown)


@pytest.mark.parametrize(
    ("name", "oscillator"),
    [("xiling", "rulkov"), *(pytest.param(r, o, marks=pytest.mark.slow) for r in ROBOTS for o in NAMES)],
)
def test_robots_change_from_walk_to_trot_on_every_network(name, oscillator):
    robot = ff.load(name)
    walk, trot = (for_robot(robot, g) for g in ("walk", "trot"))
    change = Transition(walk.gait, trot.gait.replace(knees=walk.gait.knees), 3.0, 2.0)
    controller = ChangingPD(
        transition=change, kp=(walk.kp, trot.kp), kd=(walk.kd, trot.kd), oscillator=oscillator, touchdown=True
    )
    rec = walked(robot, controller, 9.0)
    assert not rec.meta["fell"]
    assert rec.mean_speed(6.0) > 1.2 * rec.between(1.5, 3.0).mean_speed(1.5)


@pytest.mark.parametrize("oscillator", NAMES)
def test_a_foot_that_feels_the_ground_late_in_its_swing_begins_its_stance(oscillator):
    robot, trot = ff.load("xiling"), ff.gait.trot(duty=0.5)
    q, v = robot.state("stand")
    forces = np.zeros((4, 3))
    forces[1, 2] = 0.2 * robot.mass * 9.81
    for touchdown in (False, True):
        controller = JointPD(gait=trot, oscillator=oscillator, touchdown=touchdown)
        memory = controller.start(robot)
        while memory["phase"][1] < 0.8:
            _, memory = controller(0.0, robot, Sensed(q=q, v=v, forces=0 * forces), Command(), memory)
        _, after = controller(0.0, robot, Sensed(q=q, v=v, forces=forces), Command(), memory)
        assert (after["phase"][1] < 0.05) == touchdown
        assert after["phase"][2] > 0.8  # its diagonal feels nothing and swings on


def test_a_run_is_paced_by_the_oscillator_that_its_options_name():
    robot = ff.load("dynakat")
    run = plan(robot, RunOptions(robot="dynakat", gait="walk", oscillator="hopf", touchdown=True, then="trot:2"))
    assert run.simulation.controller.oscillator == "hopf"
    rec = run.simulation.run(7.0)
    assert not rec.meta["fell"]
    assert rec.mean_speed(5.0) > 1.2 * rec.between(1.0, 2.0).mean_speed(1.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"oscillator": "van der pol"}, "unknown oscillator"),
        ({"then": "trot:soon"}, "such as trot:4"),
        ({"then": "trott"}, "did you mean 'trot'"),
        ({"then": "trot:-3"}, "begin of a transition"),
        ({"controller": "whole_body", "oscillator": "hopf"}, "has its own clock"),
        ({"controller": "hold", "touchdown": True}, "has its own clock"),
    ],
)
def test_what_cannot_be_paced_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        plan(ff.load("mini_cheetah"), RunOptions(robot="mini_cheetah", **options))


def test_a_clock_takes_no_oscillator():
    with pytest.raises(InputError, match="has no oscillators"):
        JointPD(gait=ff.gait.trot(), clock=True, oscillator="hopf")
