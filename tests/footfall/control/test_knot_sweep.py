"""The sweep over knots as they are expanded finds what the sweep over whole matrices finds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from footfall import compiling
from footfall.control.locomotion.whole_body import torque_bounds
from footfall.control.optimal.between_solves import lowest_points
from footfall.control.optimal.gait_goals import GaitGoals, GaitState, Prices
from footfall.control.optimal.horizon import HorizonProblem, KnotsModel
from footfall.control.optimal.knot import KnotModel, KnotTerms
from footfall.control.optimal.knot_sweep import sweep_backward
from footfall.control.optimal.sweep import backward
from footfall.control.posture import standing_state
from footfall.gait.pattern import trot
from footfall.robot import library

NV, M, N = 10, 4, 5  # four joints behind a base
MODEL = SimpleNamespace(robot=SimpleNamespace(nv=NV, nj=M))


def knots(seed: int, effort: float = 0.1) -> KnotsModel:
    random = np.random.default_rng(seed)
    root = random.normal(size=(N + 1, NV, NV))
    friction = random.normal(size=(N + 1, 4, M + 2 * NV))
    friction[-1] = 0.0  # no foot of the last state is said to stand
    terms = KnotTerms(
        0.5 * random.normal(size=(N + 1, M + 2 * NV, 6 + NV)),
        random.normal(size=(N + 1, M + 2 * NV)),
        root @ root.swapaxes(1, 2),
        np.full((N + 1, M), effort),
        friction,
    )
    goals = SimpleNamespace(
        weights=random.uniform(0.1, 1.0, (N + 1, 2 * NV)), interval=random.uniform(0.01, 0.1, N + 1)
    )
    size = M + 2 * NV + 1
    Z, L = np.zeros((N, size, 2 * NV + 1)), np.zeros((N + 1, size, size))

    def sweep(*given):
        with np.errstate(invalid="ignore"):
            return sweep_backward(MODEL, *given)

    return KnotsModel(terms=terms, goals=goals, nv=NV, sweep=sweep, Z=Z, L=L)


@pytest.mark.parametrize("seed", range(5))
def test_both_sweeps_make_one_plan(seed):
    model, free = knots(seed), np.full((N, M), np.inf)
    ours, whole = model.backward_pass(-free, free, 0.0), backward(model.assembled, -free, free, 0.0)
    np.testing.assert_allclose(ours.gains, whole.gains, rtol=1e-7, atol=1e-9 * np.abs(whole.gains).max())
    np.testing.assert_allclose(ours.changes, whole.changes, rtol=1e-7, atol=1e-9 * np.abs(whole.changes).max())
    assert (ours.linear, ours.quadratic) == pytest.approx((whole.linear, whole.quadratic), rel=1e-9)


def test_limits_and_prices_are_heeded_and_a_knot_without_a_minimum_is_said():
    model, free = knots(0), np.full((N, M), np.inf)
    tight = model.backward_pass(np.full((N, M), -0.01), np.full((N, M), 0.01), 0.0)
    assert np.abs(tight.changes).max() <= 0.01
    priced = model.backward_pass(-free, free, 10.0)
    assert np.abs(priced.changes).sum() < np.abs(model.backward_pass(-free, free, 0.0).changes).sum()
    assert knots(0, effort=-1e4).backward_pass(-free, free, 0.0) is None


@pytest.mark.slow
def test_a_horizon_that_sweeps_as_one_compiled_call_makes_the_plan_of_one_that_does_not():
    robot = library.load("mini_cheetah")
    stand, rest = standing_state(robot)
    model = KnotModel(robot=robot, limits=torque_bounds(robot), low=stand[7:] - 1.5, high=stand[7:] + 1.5)
    holds = GaitGoals.of(model, 3, 0.02, None, None, Prices())
    x, feet = np.concatenate([stand, rest]), lowest_points(robot, stand)
    still = GaitState(
        x=x,
        pose_des=np.zeros(3),
        velocity=np.zeros(3),
        v_mean=np.zeros(2),
        cycle=np.zeros(4),
        is_walking=False,
        feet=feet,
        lift_off=feet,
        plane=np.zeros(3),
        time_left=0.02,
    )
    goals = holds(trot(duty=0.6), still)
    problem = HorizonProblem(model, goals, compiling.compile, sweeps=True)
    u = goals.torque[:-1] + np.random.default_rng(1).normal(size=(3, 12))
    states, inputs, _ = problem.roll(x, np.tile(x, (4, 1)), u, 0.0 * u, np.zeros((3, 12, 36)), 0.0)
    made, free = problem.quadratic(states, inputs), np.full((3, 12), np.inf)
    ours, whole = made.backward_pass(-free, free, 0.0), backward(made.assembled, -free, free, 0.0)
    np.testing.assert_allclose(ours.gains, whole.gains, atol=1e-9 * np.abs(whole.gains).max())
    np.testing.assert_allclose(ours.changes, whole.changes, atol=1e-9 * np.abs(whole.changes).max())
