"""Spines given wrongly are refused in a sentence, and one joint's name stands for a list of it."""

import numpy as np
import pytest

import footfall as ff
from footfall.control import Hold, Spine
from footfall.errors import InputError
from footfall.robot import with_spine


@pytest.mark.parametrize(
    "bad", [{"joints": 3}, {"joints": ("spine_pitch", 2)}, {"moves": 3}, {"phase": None}, {"phase": np.nan}]
)
def test_settings_of_another_kind_are_refused_by_name(bad):
    with pytest.raises(InputError, match=f"{next(iter(bad))} of Spine must be"):
        Spine(inner=Hold(), **bad)


def test_a_name_stands_for_a_list_of_one():
    robot = ff.load("spined")
    assert Spine(inner=Hold(), joints="spine_roll").motors(robot) == ("spine_roll",)
    assert with_spine(robot, "rigid", joints="spine_roll").nj == robot.nj - 1


@pytest.mark.parametrize("name", ["spine", "s"])
def test_a_joint_that_is_none_is_said_whole(name):
    robot = ff.load("spined")
    with pytest.raises(InputError, match=f"unknown (spine )?joint '{name}'"):
        ff.Simulation(robot, Spine(inner=Hold(), joints=name))
    with pytest.raises(InputError, match=f"unknown spine joint '{name}'"):
        with_spine(robot, "passive", joints=name)


def test_the_name_of_a_robot_is_no_robot():
    with pytest.raises(InputError, match="got str"):
        with_spine("spined", "rigid")
