"""Quadratic programs: solved, or refused with a reason; never NaN, never a hang."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footfall.control.locomotion.single_body import friction_pyramid
from footfall_lab.verify.daqp import solve_bounded, solve_qp

I3 = np.eye(3)


def test_a_free_minimum_is_found():
    solution = solve_qp(I3, -np.array([1.0, 2.0, 3.0]), np.zeros((1, 3)), np.array([-1.0]), np.array([1.0]))
    assert solution.status == "solved"
    np.testing.assert_allclose(solution.x, [1, 2, 3], atol=1e-9)


def test_equal_bounds_are_equalities_and_spare_bounds_are_of_x():
    A = np.array([[1.0, 1.0, 1.0]])
    low, high = np.array([-9.0, 0.0, -9.0, 3.0]), np.array([9.0, 0.0, 9.0, 3.0])
    solution = solve_bounded(I3, np.zeros(3), A, low, high)
    np.testing.assert_allclose(solution.x, [1.5, 0.0, 1.5], atol=1e-9)


@pytest.mark.parametrize("where", ["H", "f", "A", "lower", "upper"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(where, value):
    problem = {"H": I3.copy(), "f": np.zeros(3), "A": I3.copy(), "lower": -np.ones(3), "upper": np.ones(3)}
    problem[where].flat[0] = value
    solution = solve_qp(*problem.values())
    assert solution.x is None or (np.isfinite(solution.x).all() and value == np.inf and where == "upper")


def test_contradictions_are_infeasible():
    A = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    solution = solve_qp(I3, np.zeros(3), A, np.array([1.0, -2.0]), np.array([2.0, -1.0]))
    assert solution.x is None
    assert solution.status != "solved"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 20), st.sampled_from([0, 1, 3]))
def test_random_and_degenerate_programs_end_by_a_count_and_finite(seed, n, m, rank_loss):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, max(1, n - rank_loss)))
    A = rng.normal(size=(m, n)) * 10.0 ** rng.integers(-6, 6)
    low = rng.normal(size=m)
    solution = solve_qp(root @ root.T, rng.normal(size=n), A, low, low + rng.exponential(size=m), time_limit=20.0)
    assert solution.status != "time limit"  # whatever goes round in circles is ended by a count, not by a clock
    assert solution.iterations <= 2000
    assert solution.x is None or np.isfinite(solution.x).all()


@given(st.floats(0.05, 2.0), st.floats(-0.6, 0.6), st.floats(-0.6, 0.6))
def test_a_force_in_the_pyramid_is_in_the_cone(mu, a, b):
    normal = np.array([a, b, 1.0]) / np.sqrt(1 + a * a + b * b)
    P = friction_pyramid(mu, normal)
    rng = np.random.default_rng(0)
    for force in rng.normal(size=(200, 3)) + 2 * normal:
        if (P @ force >= 0).all():
            along = force @ normal
            assert np.linalg.norm(force - along * normal) <= mu * along + 1e-12
