"""Loops that may end early: the same numbers on every target, in every company of lanes, and their derivatives."""

import numpy as np
import pytest

import nptrace
import nptrace as trace


def root(a):
    """sqrt(a) by Newton's rule, left alone once it is good."""

    def better(_, x):
        closer = 0.5 * (x + a / x)
        return np.where(np.abs(x * x - a) < 1e-12 * a, x, closer)

    return nptrace.repeat(60, better, 0.5 * (a + 1.0), until=lambda x: np.all(np.abs(x * x - a) < 1e-12 * a))


A = np.array([2.0, 9.0, 1e4])


@pytest.mark.parametrize("target", ["interpret", "native"])
def test_an_early_end_changes_no_number(target):
    found = trace.compile(root, A, target=target, cache=None)(A)
    np.testing.assert_allclose(found, np.sqrt(A), rtol=1e-12)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_robots_in_one_block_wait_for_each_other_and_keep_their_bits(lanes):
    many = np.exp(np.random.default_rng(0).uniform(-8, 8, (21, 3)))
    native = trace.compile(root, A, cache=None)
    batch = trace.compile(root, A, target="batch", lanes=lanes, cache=None)
    assert (batch(many) == np.stack([native(a) for a in many])).all()


def test_the_loop_ends_early():
    def turns(x):
        return nptrace.repeat(1000, lambda i, c: c + 1.0, x, until=lambda c: c > 4.5)

    assert trace.compile(turns, 0.0, cache=None)(0.0) == 5.0
    assert turns(0.0) == 5.0


def test_derivatives_of_a_loop_that_ends_early():
    slope = trace.jacobian(root, A, wrt=0, cache=None)(A)
    np.testing.assert_allclose(np.diag(slope), 0.5 / np.sqrt(A), rtol=1e-5)
    gradient = trace.gradient(lambda a: np.sum(root(a)), A, wrt=0, cache=None)(A)
    np.testing.assert_allclose(gradient, 0.5 / np.sqrt(A), rtol=1e-5)


def test_a_listing_shows_the_condition():
    assert "until" in str(trace.program_of(root, A))


@pytest.mark.parametrize("target", ["interpret", "native", "batch"])
def test_loop_that_asks_first_makes_no_turn_where_nothing_is_left_to_do(target):
    """Lanes that are done before the first turn keep what they had while others go on."""

    def halved(x):
        def once(_, carry):
            value, turns = carry
            done = value <= 1.0
            return np.where(done, value, 0.5 * value), np.where(done, turns, turns + 1.0)

        return nptrace.repeat(20, once, (x, 0.0), until=lambda carry: carry[0] <= 1.0, check_first=True)

    numbers = np.array([0.3, 1.0, 5.0, 0.7, 1000.0])
    expected = [halved(x) for x in numbers]
    compiled = trace.compile(halved, 1.0, target=target)
    found = list(zip(*compiled(numbers))) if target == "batch" else [compiled(x) for x in numbers]
    np.testing.assert_array_equal(np.array(found, dtype=float), np.array(expected, dtype=float))
    assert [turns for _, turns in expected] == [0.0, 0.0, 3.0, 0.0, 10.0]
