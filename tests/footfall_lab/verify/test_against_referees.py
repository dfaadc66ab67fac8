"""M, bias, forward dynamics and Jacobians against Pinocchio (and MuJoCo): at most 1e-10, median 1e-13."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from random_trees import random_tree

from footfall.robot import Robot, library
from footfall_lab.verify import Report, verify

MEDIAN = 1e-13
STENCIL = 1e-11  # laws with a derivative along the motion are exact to that
QUICK = ["recursive", "articulated", "pinocchio", "mujoco"]  # the other formalisms take their time: fewer robots


def check_medians(reports: list[Report]) -> None:
    """The median over robots and states of the difference to Pinocchio, quantity by quantity.

    MuJoCo's own rounding is larger: its tensors go through principal axes, which light links magnify.
    """
    errors = defaultdict(list)
    for report in reports:
        for check in report.checks:
            of_loops = check.quantity.startswith("closed_")  # which have a bound of their own
            if check.right == "pinocchio" and not of_loops:
                errors[check.quantity, check.left].append(check.median_rel_error)
    assert {key: m for key, found in errors.items() if (m := np.median(found)) > MEDIAN} == {}


ALL_SIDES = ("mini_cheetah", "spined")  # in a plain run


@pytest.mark.parametrize(
    "name", [name if name in ALL_SIDES else pytest.param(name, marks=pytest.mark.slow) for name in library.names()]
)
def test_every_formalism_agrees_with_pinocchio_and_mujoco(name: str) -> None:
    report = verify(library.load(name), samples=20, seed=1)
    assert report.failures() == []
    assert report.skipped == {}
    check_medians([report])


@pytest.mark.parametrize("rotors", ["none", "exact"])
@pytest.mark.parametrize("name", library.names())
def test_every_rotor_mode_agrees_with_pinocchio_and_mujoco(name: str, rotors: str) -> None:
    sides = [side for side in QUICK if rotors == "none" or side != "articulated"]  # it cannot say exact rotors
    report = verify(library.load(name).replace(rotors=rotors), samples=10, seed=2, sides=sides)
    assert report.failures() == []
    assert report.skipped == {}
    check_medians([report])


def test_real_robots_from_urdf_agree_with_pinocchio_and_mujoco(third_party: Robot) -> None:
    report = verify(third_party, samples=10, seed=3, sides=QUICK)
    assert report.failures() == []
    assert report.skipped == {}
    check_medians([report])


@pytest.mark.slow
def test_every_formalism_agrees_on_real_robots(third_party: Robot) -> None:
    report = verify(third_party, samples=10, seed=3)
    assert report.failures() == []
    assert report.skipped == {}
    check_medians([report])


@pytest.mark.parametrize("block", range(10))
def test_random_trees_agree_with_pinocchio_and_mujoco(block: int) -> None:
    """200 trees: any topology and axes, fixed and prismatic joints, rotors, massless links, floating or fixed base."""
    reports = []
    for k in range(20):
        seed = 20 * block + k
        tree = random_tree(np.random.default_rng(seed), bodies=2 + seed % 14)
        sides = None if k == 0 else [side for side in QUICK if tree.rotors != "exact" or side != "articulated"]
        reports.append(verify(tree, samples=3, seed=seed, laws=k % 5 == 0, sides=sides))
        assert reports[-1].failures() == [], f"random_tree(default_rng({seed}), {2 + seed % 14})"
        assert set(reports[-1].skipped) <= {"articulated"}
    check_medians(reports)


def test_laws_of_library_robots_hold_to_rounding(robot: Robot) -> None:
    report = verify(robot, samples=10, seed=4, sides=["recursive"])
    assert all(check.max_rel_error <= STENCIL for check in report.checks)


@pytest.mark.slow
def test_verify_with_2000_samples_passes_for_library_robots(robot: Robot) -> None:
    assert verify(robot, samples=2000).failures() == []


@pytest.mark.slow
def test_verify_with_2000_samples_passes_for_real_robots(third_party: Robot) -> None:
    assert verify(third_party, samples=2000).failures() == []
