"""Loops that may end early: the same numbers on every target, in every company of lanes, and their derivatives."""

import numpy as np
import pytest

import nptrace
import nptrace as trace
from nptrace.runtime import machine


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


def drifts(x):
    """A loop whose body goes on changing what is finished: the loop itself must hold it."""
    return nptrace.repeat(
        12, lambda i, c: 0.7 * c + 0.2 * np.cos(c) * i / (1 + i), x, until=lambda c: np.sum(c * c) < 0.5
    )


def drifts_first(x):
    count = lambda i, c: (0.6 * c[0] + 0.01 * i, c[1] + 1.0, ~c[2])  # noqa: E731
    settled = lambda c: np.max(np.abs(c[0])) < 0.7  # noqa: E731
    return nptrace.repeat(9, count, (x, 0.0, x[0] > 0.0), until=settled, check_first=True)


def nested(x):
    def inner(y, i):
        return nptrace.repeat(6, lambda j, c: 0.8 * c + 0.1 * i - 0.01 * j, y, until=lambda c: np.abs(c[0]) < 0.3)

    return nptrace.repeat(3, lambda i, y: 1.3 * inner(y, i) + 0.05 * x, x)


POINTS = np.random.default_rng(3).normal(size=(13, 4)) * np.geomspace(0.1, 10, 13)[:, None]


@pytest.mark.parametrize("function", [drifts, drifts_first, nested])
@pytest.mark.parametrize("lanes", [2, 8])
def test_a_finished_carry_is_kept_while_other_lanes_go_on(function, lanes):
    native = trace.compile(function, POINTS[0], cache=None)
    flat = lambda found: np.concatenate([np.ravel(x) for x in (found if isinstance(found, tuple) else (found,))])  # noqa: E731
    alone = np.stack([flat(native(x)) for x in POINTS])
    np.testing.assert_allclose(alone, np.stack([flat(function(x)) for x in POINTS]), rtol=1e-12, atol=1e-12)
    interpreted = trace.compile(function, POINTS[0], cache=None, target="interpret")
    np.testing.assert_allclose(np.stack([flat(interpreted(x)) for x in POINTS]), alone, rtol=1e-12, atol=1e-12)
    found = trace.compile(function, POINTS[0], cache=None, target="batch", lanes=lanes)(POINTS)
    found = found if isinstance(found, tuple) else (found,)
    together = np.concatenate([np.reshape(x, (len(POINTS), -1)) for x in found], axis=1)
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("function", [drifts, nested])
@pytest.mark.parametrize("target", ["native", "interpret"])
def test_derivatives_are_those_of_the_iterations_that_are_made(function, target):
    weights = np.array([1.0, 2.0, -1.0, 0.5])
    gradient = trace.gradient(lambda x: function(x) @ weights, POINTS[0], wrt=0, cache=None, target=target)
    jacobian = trace.jacobian(function, POINTS[0], wrt=0, cache=None, target=target)
    for x in POINTS[3:]:
        h = 1e-6
        differences = np.stack([(function(x + h * e) - function(x - h * e)) / (2 * h) for e in np.eye(4)], axis=1)
        np.testing.assert_allclose(jacobian(x), differences, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(gradient(x), weights @ differences, rtol=1e-6, atol=1e-6)


def test_a_body_that_holds_a_finished_carry_costs_no_choice():
    good = lambda c: np.all(np.abs(c) < 0.5)  # noqa: E731

    def count(body, **options):
        return trace.program_of(lambda x: nptrace.repeat(5, body, x, until=good, **options), A).operations()["select"]

    own = count(lambda _, c: np.where(good(c), c, 0.5 * c))
    assert own == count(lambda _, c: np.where(good(c), c, 0.5 * c), body_holds=True)
    assert own == count(lambda _, c: np.where(~good(c), 0.5 * c, c))
    bare = count(lambda _, c: 0.5 * c, body_holds=True)
    assert count(lambda _, c: 0.5 * c) == bare + len(A) + 1 == own + 1


def test_a_broken_promise_that_the_body_holds_is_refused():
    def halved(x):
        return nptrace.repeat(9, lambda _, c: 0.5 * c, x, until=lambda c: c < 0.5, body_holds=True)

    with pytest.warns(machine.FallbackWarning, match="runs in Python.*leave body_holds out"):
        compiled = trace.compile(halved, 4.0, cache=None)
    assert compiled(4.0) == halved(4.0)
