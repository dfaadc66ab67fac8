"""Derivatives inside a traced function."""

from __future__ import annotations

import numpy as np
import pytest

import nptrace
from footfall.errors import InputError, TraceError
from nptrace import compile
from nptrace.autodiff import nested


def curve(x, y):
    return np.stack([np.sin(x[0]) * y, x[1] * x[0] ** 2 / y])


def test_push_is_the_derivative_along_a_direction():
    def f(x, y, d):
        return nested.push(curve, (x, y), (d, None))

    x, y, d = np.array([0.4, -1.2]), 1.7, np.array([0.3, 2.0])
    value, slope = nested.interpreted(f, x, y, d)(x, y, d)
    assert np.allclose(value, curve(x, y), atol=1e-14)
    J = np.array([[np.cos(x[0]) * y, 0.0], [2 * x[0] * x[1] / y, x[0] ** 2 / y]])
    assert np.allclose(slope, J @ d, atol=1e-14)


def test_gradient_and_jacobian_agree_with_each_other():
    def energy(x, y):
        return curve(x, y) @ curve(x, y)

    def f(x, y):
        value = curve(x, y)
        return nested.gradient(energy, (x, y)), 2 * value @ nested.jacobian(curve, (x, y))

    x, y = np.array([0.4, -1.2]), 1.7
    reverse, forward = nested.interpreted(f, x, y)(x, y)
    assert np.allclose(reverse, forward, atol=1e-14)


def test_derivatives_nest_and_read_what_is_around_them():
    """d/dx (x a cos(a x)) with a from outside, itself found by differentiation."""

    def f(x, a):
        def inner(z):
            return z * nested.gradient(lambda w: np.sin(a * w), (z,))

        return nested.gradient(inner, (x,))

    x, a = 0.7, 1.3
    expected = a * np.cos(a * x) - a * a * x * np.sin(a * x)
    assert nested.interpreted(f, x, a)(x, a) == pytest.approx(expected, rel=1e-14)
    assert compile(f, x, a, verify=False)(x, a) == pytest.approx(expected, rel=1e-13)


def test_what_does_not_depend_on_the_argument_has_no_slope():
    def f(x, y):
        return nested.push(lambda z: np.stack([y * y, 3.0 * y, z[0]]), (x,), (x,))

    value, slope = nested.interpreted(f, np.ones(1), 2.0)(np.array([5.0]), 2.0)
    assert value.tolist() == [4.0, 6.0, 5.0]
    assert slope.tolist() == [0.0, 0.0, 5.0]


def test_rows_are_many_states_at_once():
    f = nested.interpreted(curve, np.zeros(2), 1.0)
    x, y = np.random.default_rng(0).normal(size=(5, 2)), np.random.default_rng(1).uniform(1, 2, 5)
    assert np.allclose(f.rows(x, y), [curve(a, b) for a, b in zip(x, y)], atol=1e-14)


def test_numbers_that_floats_cannot_say_are_those_of_numpy():
    f = nested.interpreted(lambda x: np.stack([1 / x, np.sqrt(x), np.sin(x)]), 1.0)
    with np.errstate(all="ignore"):
        assert np.array_equal(f(0.0), [np.inf, 0.0, 0.0])
        assert np.array_equal(f(np.inf), [0.0, np.inf, np.nan], equal_nan=True)
    g = nested.interpreted(lambda x: np.maximum(x, 0.0), 1.0)  # an operation that only NumPy's evaluation knows
    assert g(-2.0) == 0.0


def test_bad_use_is_refused():
    with pytest.raises(TraceError, match="need a running trace"):
        nested.gradient(lambda x: x * x, (1.0,))
    with pytest.raises(TraceError, match="returns 2 numbers"):
        nested.interpreted(lambda x: nested.gradient(lambda z: np.stack([z, z]), (x,)), 1.0)
    with pytest.raises(TraceError, match="different shapes"):
        nested.interpreted(lambda x: nested.push(lambda z: z, (x,), (np.zeros(3),)), np.zeros(2))
    with pytest.raises(InputError, match="takes 2 numbers, got 3"):
        nested.interpreted(lambda x: x, np.zeros(2))(np.zeros(3))


@pytest.mark.parametrize("start", ["the argument", "a constant"])
def test_loops_are_refused_rather_than_taken_for_constant(start):
    def loop(z):
        return nptrace.repeat(3, lambda i, c: c * z, z if start == "the argument" else 1.0)

    with pytest.raises(TraceError, match="with a loop"):
        nested.interpreted(lambda x: nested.gradient(loop, (x,)), 1.0)


def test_inside_of_a_loop_derivatives_work():
    """Newton's method on x² = 2, its slope found at every turn."""

    def newton(x):
        def turn(i, y):
            value, slope = nested.push(lambda z: z * z - 2.0, (y,), (1.0,))
            return y - value / slope

        return nptrace.repeat(6, turn, x)

    assert nested.interpreted(newton, 1.0)(1.0) == pytest.approx(np.sqrt(2.0), rel=1e-14)


def test_jacobian_follows_the_branch_that_is_taken():
    def kinked(x):
        return np.stack([np.abs(x[0]), np.maximum(x[0], x[1]), np.where(x[1] < 0, x[1] ** 2, x[0])])

    f = nested.interpreted(lambda x: nested.jacobian(kinked, (x,)), np.zeros(2))
    assert f(np.array([-2.0, -1.0])).tolist() == [[-1.0, 0.0], [0.0, 1.0], [0.0, -2.0]]
    assert f(np.array([2.0, 1.0])).tolist() == [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]
