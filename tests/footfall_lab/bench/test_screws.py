"""The formulations that ``footfall bench screws`` times compute the same numbers, in every topology."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall_lab.bench import screws


@pytest.mark.parametrize("topology", screws.TOPOLOGIES)
@pytest.mark.parametrize("problem", ["inverse", "forward"])
def test_every_formulation_gives_the_same_numbers(problem: str, topology: str) -> None:
    robot = ff.load("xiling")
    rows = [array[0] for array in screws.sampled(robot, problem, topology, 1)]
    ways = screws.ways_of(problem, topology)
    if topology in ("walk", "trot"):  # Euler-Lagrange takes seconds to derive
        ways = {name: way for name, way in ways.items() if name != "Lagrange"}
    found = {name: way(robot, *rows) for name, way in ways.items()}
    for solver in ("dense", "sparse"):
        found[solver] = screws.ways_of(problem, topology)["screw"](robot, *rows, solver=solver)
    wanted = found["CRBA"]
    assert np.abs(wanted).max() > 1.0
    assert len(found) == (5 if "Lagrange" not in found else 6) + ("ABA" in found) - (problem == "forward")
    for name, numbers in found.items():
        np.testing.assert_allclose(numbers, wanted, atol=1e-9 * np.abs(wanted).max(), err_msg=name)


def test_feet_that_stand_do_not_accelerate() -> None:
    robot = ff.load("xiling")
    q, v, tau = (array[0] for array in screws.sampled(robot, "forward", "walk", 1))
    a = screws.ways_of("forward", "walk")["screw"](robot, q, v, tau)
    J, bias = ff.kinematics.feet_jacobian(robot, q)[:, 3:], ff.kinematics.feet_bias_acceleration(robot, q, v)[:, 3:]
    moved = np.abs(J @ a + bias).max(axis=1)
    assert moved[[0, 1, 3]].max() < 1e-8
    assert moved[2] > 1.0
