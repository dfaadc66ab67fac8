"""The trunk is the heaviest link of the base, wherever it is listed and whatever hangs before it."""

import dataclasses

import numpy as np
import pytest

import footfall as ff
from footfall.analysis.margin_search import _Trials
from footfall.learn import Randomisation, WalkTask
from footfall.learn.lanes import WalkLanes
from footfall.robot import library
from footfall.sim.start import standing_start


def listed_last(robot):
    """The same robot with the link of its base behind all others."""
    return robot.replace(links=(*robot.links[1:], robot.links[0]))


def on_a_frame(robot):
    """The same robot whose trunk is fixed to a root that weighs nothing, as URDF files have it."""
    root = ff.Link.massless("root")
    weld = ff.Joint(name="weld", kind="fixed", parent="root", child="trunk", origin=np.array([0.01, 0.0, 0.02]))
    return robot.replace(links=(root, *robot.links), joints=(weld, *robot.joints))


@pytest.mark.parametrize("name", library.names())
def test_the_trunk_is_the_same_however_the_links_are_listed(name):
    robot = ff.load(name)
    assert listed_last(robot).trunk == robot.trunk == robot.tree.bodies[0].name


def test_a_root_without_mass_is_no_trunk():
    robot = on_a_frame(ff.load("mini_cheetah"))
    assert (robot.tree.bodies[0].name, robot.trunk) == ("root", "trunk")


@pytest.mark.parametrize("changed", [listed_last, on_a_frame])
def test_payload_goes_to_the_trunk(changed):
    robot = changed(ff.load("mini_cheetah"))
    controller = ff.control.Hold("stand", kp=45.0, kd=1.1)
    start = standing_start(robot, controller)
    trials = _Trials(
        robot,
        controller,
        command=ff.Command(),
        start=start,
        duration=0.05,
        settle=0.01,
        friction=0.8,
        sensors=None,
        seed=0,
    )
    assert trials.usual["trunk.mass"] == robot.link("trunk").mass


@pytest.mark.parametrize("changed", [listed_last, on_a_frame])
def test_the_mass_that_is_randomised_is_the_trunks(changed):
    robot = changed(ff.load("mini_cheetah"))
    ranges = dataclasses.replace(Randomisation.none(), mass=(1.1, 1.2))
    lanes = WalkLanes(WalkTask(robot=robot), 8, randomise=ranges, threads=1)
    lanes.generators = [np.random.default_rng(k) for k in range(8)]
    lanes.begin(range(8))
    drawn = lanes.episode(slice(None))["trunk.mass"] / robot.link("trunk").mass
    assert (drawn >= 1.1 - 1e-6).all()
    assert (drawn <= 1.2 + 1e-6).all()
    assert np.ptp(drawn) > 0.01
