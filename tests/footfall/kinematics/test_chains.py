"""Chains of balls: FABRIK as published, CCD and the Jacobian methods, and what each of them promises."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.errors import InputError
from footfall.kinematics import ccd_chain, ccd_leg, fabrik_chain, leg_chain, resolved_rate_chain
from footfall.kinematics.iterative.fabrik_chain import reached_backward, reached_forward
from footfall.kinematics.leg_chain import foot_position

RANDOM = np.random.default_rng(11)
LENGTHS = np.array([0.21, 0.17, 0.3, 0.05, 0.12])
STEPS = RANDOM.normal(size=(5, 3))
CHAIN = np.array([0.3, -0.1, 0.2]) + np.concatenate(
    [np.zeros((1, 3)), np.cumsum(LENGTHS[:, None] * STEPS / np.linalg.norm(STEPS, axis=1, keepdims=True), axis=0)]
)
METHODS = {
    "fabrik": fabrik_chain,
    "ccd": ccd_chain,
    "pseudo_inverse": lambda p, t, n, e: resolved_rate_chain(p, t, "pseudo_inverse", n, e),
    "damped": lambda p, t, n, e: resolved_rate_chain(p, t, "damped", n, e),
    "transpose": lambda p, t, n, e: resolved_rate_chain(p, t, "transpose", n, e),
}


def targets(count: int, far: float) -> np.ndarray:
    d = np.random.default_rng(12).normal(size=(count, 3))
    return CHAIN[0] + far * LENGTHS.sum() * d / np.linalg.norm(d, axis=1, keepdims=True)


@pytest.mark.parametrize("method", METHODS)
def test_links_keep_their_lengths_and_the_root_its_place(method):
    for target in targets(3, 0.6):
        found = METHODS[method](CHAIN, target, 30, 1e-4)
        np.testing.assert_allclose(np.linalg.norm(np.diff(found.points, axis=0), axis=1), LENGTHS, rtol=1e-9)
        np.testing.assert_allclose(found.points[0], CHAIN[0], atol=1e-15)
        assert found.residual == pytest.approx(np.linalg.norm(found.points[-1] - target))


@pytest.mark.parametrize(
    ("method", "to"), [("fabrik", 1e-6), ("pseudo_inverse", 1e-6), ("damped", 1e-6), ("ccd", 1e-3)]
)
def test_targets_in_reach_are_reached_and_it_says_after_how_many_iterations(method, to):
    for target in targets(4, 0.7):
        found = METHODS[method](CHAIN, target, 300, to)
        assert found.residual <= to
        fewer = METHODS[method](CHAIN, target, int(found.iterations) - 1, to)
        assert fewer.residual > to


def test_every_iteration_of_the_published_algorithm_comes_nearer():
    """The proof of convergence in the paper's section 3.2, and the points of Algorithm 1 by hand for one link."""
    left = [fabrik_chain(CHAIN, targets(1, 0.5)[0], n, 0.0).residual for n in range(6)]
    assert (np.diff(left) < 0.0).all()
    two = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    found = fabrik_chain(two, np.array([0.0, 0.5, 0.0]), 1, 0.0)
    # forward: the root is pulled to (0, -0.5); it then goes back to the origin, and the link points at (0, 0.5)
    np.testing.assert_allclose(found.points[1], [0.0, 1.0, 0.0], atol=1e-12)


def test_out_of_reach_the_published_chain_is_straight_towards_the_target():
    for target in targets(3, 1.3):
        found = fabrik_chain(CHAIN, target)
        direction = (target - CHAIN[0]) / np.linalg.norm(target - CHAIN[0])
        np.testing.assert_allclose(found.points[-1], CHAIN[0] + LENGTHS.sum() * direction, atol=1e-12)
        assert found.iterations == 0
        assert found.residual == pytest.approx(0.3 * LENGTHS.sum())


def test_straight_chain_that_is_pulled_along_itself_stays_straight():
    """The singularity that the published rule has: nothing moves off the line."""
    line = np.cumsum(np.concatenate([np.zeros((1, 3)), np.outer(LENGTHS, [1.0, 0.0, 0.0])]), axis=0)
    found = fabrik_chain(line, np.array([0.4, 0.0, 0.0]), 50)
    assert np.abs(found.points[:, 1:]).max() == 0.0
    assert found.residual > 0.01


def test_partial_stages_are_those_of_the_whole():
    target, lengths = targets(1, 0.8)[0], list(LENGTHS)
    np.testing.assert_array_equal(reached_forward(CHAIN, lengths, target, 5), reached_forward(CHAIN, lengths, target))
    partly = reached_forward(CHAIN, lengths, target, 2)
    np.testing.assert_array_equal(partly[:3], CHAIN[:3])
    back = reached_backward(partly, lengths, CHAIN[0])
    np.testing.assert_allclose(np.linalg.norm(np.diff(back, axis=0), axis=1), LENGTHS)


@pytest.mark.parametrize("method", ["fabrik", "ccd", "damped"])
def test_compiled_chains_find_what_plain_numpy_finds(method):
    solve = METHODS[method]
    made = ff.compile(reach, None, CHAIN, CHAIN[0], solve=solve, verify=False)
    for target in targets(2, 0.6):
        plain = solve(CHAIN, target, 20, 1e-5)
        points, _, used = made(CHAIN, target)
        np.testing.assert_allclose(points, plain.points, atol=1e-9)
        assert used == plain.iterations


def reach(points, target, solve):
    return tuple(solve(points, target, 20, 1e-5))


@pytest.mark.parametrize("name", ["xiling", "dynakat"])
def test_coordinate_descent_takes_a_legs_foot_to_its_target_within_the_limits(name):
    robot = ff.load(name)
    leg = leg_chain(robot, "RH")
    stand = robot.poses["stand"].joints[list(leg.joints)]
    target = foot_position(leg, stand + 0.15 * np.cos(np.arange(len(leg))))
    found = ccd_leg(leg, target, stand, 400, 1e-5)
    assert found.residual <= 1e-5
    assert (found.joints >= leg.lower).all()
    assert (found.joints <= leg.upper).all()
    left = [float(ccd_leg(leg, target, stand, n, 0.0).residual) for n in range(5)]
    assert (np.diff(left) < 0.0).all()  # no turn takes the foot farther


def test_bad_chains_are_refused_in_one_sentence():
    for points, target in ((np.zeros((1, 3)), np.zeros(3)), (CHAIN, np.zeros(2)), (CHAIN[:, :2], np.zeros(3))):
        with pytest.raises(InputError, match="a chain needs"):
            fabrik_chain(points, target)
    with pytest.raises(InputError, match="pseudo_inverse, damped, transpose"):
        resolved_rate_chain(CHAIN, np.zeros(3), "newton")
