"""Robots that are timed stand."""

import pytest

import footfall as ff
from footfall.bench import subject
from footfall.control.stand_gains import stand_gains


@pytest.mark.parametrize("name", ["xiling", "dynakat", "fivebar"])
def test_a_robot_that_is_timed_is_held_at_least_as_stiffly_as_it_stands_in_a_simulation(name):
    robot = ff.load(name)
    assert all(held >= least for held, least in zip(subject.gains(robot), stand_gains(robot)))


def test_the_mini_cheetah_of_the_bench_keeps_its_gains():
    assert subject.gains(ff.load("mini_cheetah")) == (subject.KP, subject.KD)
