"""Reflexes of joint PD on oscillators: the same runs with all of them and with none."""

import numpy as np
import pytest

import footfall as ff
from footfall.contact.ground import Plane
from footfall.contact.steps import Steps
from footfall.control.interface import Command, Sensed
from footfall.control.locomotion.reflex_pd import ReflexPD
from footfall.control.locomotion.reflexes import Reflexes
from footfall.errors import InputError
from footfall.sim.runfile import RunOptions, plan
from footfall.sim.start import standing_start


def walk(name, reflexes, ground=None, push=0.0, seconds=6.0, gait="trot", speed=None, **options):
    """A run; ``push`` is the change of speed to the left [m/s] that a shove at 2 s would give."""
    robot = ff.load(name)
    controller = ReflexPD.tuned(robot, gait, reflexes=reflexes, **options)
    ground = ground or Plane()
    shoves = [ff.Push(start=2.0, duration=0.1, force=(0.0, 10.0 * push * robot.mass, 0.0))] if push else []
    sim = ff.Simulation(
        robot,
        controller,
        ground=ground,
        start=standing_start(robot, controller, ground),
        pushes=shoves,
        command=Command(forward=controller.gait.speed if speed is None else speed),
    )
    return sim.run(seconds), controller


def forward(rec):
    return float(rec.q[-1, 0] - rec.q[0, 0])


def climbs(height):
    return Steps.flight(0.12 * height, tread=1.2 * height, start=1.5 * height)


SLOW = pytest.mark.slow
HEIGHTS = {"dynakat": 0.18, "xiling": 0.5}


@SLOW
@pytest.mark.parametrize("name", ["dynakat", "xiling"])
def test_reflexes_climb_steps_where_the_gait_alone_does_not(name):
    ground = climbs(HEIGHTS[name])
    without, _ = walk(name, False, ground)
    having, controller = walk(name, True, ground)
    assert not having.meta["fell"]
    assert forward(having) > 1.3 * forward(without)
    assert any("touchdown" in what for _, what in controller.log)
    assert any(event.message in [what for _, what in controller.log] for event in having.events)


@pytest.mark.parametrize("name", ["dynakat", pytest.param("xiling", marks=SLOW)])
def test_the_response_to_a_slope_goes_up_where_the_gait_alone_slides_down(name):
    degrees = {"dynakat": 15.0, "xiling": 20.0}[name]
    without, _ = walk(name, False, Plane.slope(degrees), seconds=4.0)
    having, _ = walk(name, ["slope"], Plane.slope(degrees), seconds=4.0)
    assert not having.meta["fell"]
    assert forward(having) > 0.25
    assert forward(without) < 0.5 * forward(having)


@SLOW
def test_reflexes_catch_a_shove_that_fells_the_gait_alone():
    assert walk("dynakat", False, push=0.8, seconds=4.0)[0].meta["fell"]
    rec, controller = walk("dynakat", True, push=0.8, seconds=4.0)
    assert not rec.meta["fell"]
    assert any("sidestep" in what for _, what in controller.log)


@SLOW
def test_the_gait_follows_the_speed():
    rec, controller = walk("xiling", ["speed_gait"], gait="walk", speed=0.55, seconds=8.0)
    assert not rec.meta["fell"]
    assert any("changes to trot" in what for _, what in controller.log)
    assert rec.mean_speed(5.0) == pytest.approx(0.55, rel=0.25)


@SLOW
@pytest.mark.parametrize("oscillator", ["hopf", "rulkov"])
@pytest.mark.parametrize("name", ["mini_cheetah", "spined", "xiling", "dynakat"])
def test_every_robot_walks_with_reflexes_on_every_network(name, oscillator):
    rec, _ = walk(name, True, gait="walk", seconds=8.0, oscillator=oscillator)
    assert not rec.meta["fell"]
    assert forward(rec) > 0.3


def test_a_fall_that_is_certain_folds_the_legs():
    robot = ff.load("xiling")
    for on in (True, False):
        controller = ReflexPD.tuned(robot, "trot", reflexes=["safe_stop"] if on else False)
        memory = controller.start(robot)
        q, v = robot.state("stand")
        q[3:7] = [np.cos(0.7), np.sin(0.7), 0.0, 0.0]  # rolled by 80 degrees
        for k in range(80):
            answer, memory = controller(1e-3 * k, robot, Sensed(q=q, v=v, forces=np.zeros((4, 3))), Command(), memory)
        assert (np.max(answer.kp) == 0.0) == on
        assert any("safe stop" in what for _, what in controller.log) == on


def test_options_of_a_run_name_reflexes():
    run = plan(ff.load("dynakat"), RunOptions(robot="dynakat", reflexes="slip,stumble", oscillator="hopf"))
    assert run.simulation.controller.reflexes == Reflexes.only("slip", "stumble")
    run = plan(ff.load("mini_cheetah"), RunOptions(robot="mini_cheetah", controller="whole_body", reflexes="none"))
    assert run.simulation.controller.reflexes == Reflexes.only()
    for options in (
        {"reflexes": "stumbles"},
        {"reflexes": "all", "then": "walk"},
        {"reflexes": "all", "controller": "lqr"},
    ):
        with pytest.raises(InputError, match=r"unknown reflex|takes no then|stands still"):
            plan(ff.load("mini_cheetah"), RunOptions(robot="mini_cheetah", **options))
    with pytest.raises(InputError, match="faster"):
        ReflexPD(gait=ff.gait.walk(), reflexes=["speed_gait"])
