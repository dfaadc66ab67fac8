"""Robots that are timed stand."""

import sys
from pathlib import Path

import pytest

import footfall as ff
from footfall.control.stand_gains import stand_gains
from footfall.sim.joints import JointModel
from footfall_lab.bench import subject

sys.path.append(str(Path(__file__).parents[3] / "studies"))
from solutions import counted


@pytest.mark.parametrize("name", ["xiling", "dynakat", "fivebar"])
def test_a_robot_that_is_timed_is_held_at_least_as_stiffly_as_it_stands_in_a_simulation(name):
    robot = ff.load(name)
    assert all(held >= least for held, least in zip(subject.gains(robot), stand_gains(robot)))


def test_the_mini_cheetah_of_the_bench_keeps_its_gains():
    assert subject.gains(ff.load("mini_cheetah")) == (subject.KP, subject.KD)


def test_most_steps_of_a_trot_are_solved_once_and_some_more_often():
    (counts,) = counted(ff.load("dynakat"), JointModel(), [0.08], 0.3).values()
    assert counts.min() == 1.0
    assert 1.0 < counts.mean() < 2.0
    assert set(counts) <= set(range(1, 21))
