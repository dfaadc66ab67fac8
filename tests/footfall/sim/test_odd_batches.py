"""What a newcomer gives a batch: single names for lists, masses below zero, robots that are not there."""

import numpy as np
import pytest

import footfall as ff
from footfall_lab.verify.daqp_locomotion import LocomotionByDaqp

ROBOT = ff.load("mini_cheetah")


@pytest.fixture(scope="module")
def batch():
    return ff.Batch(ROBOT, 3, free="trunk.mass")


def test_one_free_parameter_needs_no_list(batch):
    assert batch.free == ("trunk.mass",)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda b: b.set({"trunk.mass": -1.0}), "'trunk.mass' must be positive, got -1"),
        (lambda b: b.set({"trunk.mass": [3.0, 0.0, 3.0]}), "'trunk.mass' must be positive, got 0"),
        (lambda b: b.randomise({"trunk.mass": (-2.0, -1.0)}, seed=0), "must be positive"),
        (lambda b: b.set_state(np.zeros(19)), "quaternions .* must have length 1"),
        (lambda b: b.set_state(ROBOT.state("stand")[0], which=9), "q of the states does not fit: index 9"),
        (lambda b: b.reset(which=99), "do not fit: index 99"),
        (lambda b: b.run("10"), "whole number of ticks, at least one"),
        (lambda b: b.run(np.nan), "whole number of ticks, at least one"),
        (lambda b: b.run(10, record=3), "record must be a list of robot numbers"),
    ],
)
def test_what_no_robot_can_be_is_one_sentence(batch, call, words):
    before = batch.parameters["trunk.mass"].copy()
    with pytest.raises(ff.InputError, match=words):
        call(batch)
    np.testing.assert_array_equal(batch.parameters["trunk.mass"], before)


def test_a_controller_with_a_solver_is_told_that_it_cannot_be_in_a_batch():
    with pytest.raises(ff.InputError, match="a batch compiles its controller, and LocomotionByDaqp runs in Python"):
        ff.Batch(ROBOT, 3, LocomotionByDaqp())
