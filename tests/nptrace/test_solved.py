"""The derivative of a solution: by the implicit function theorem, whatever turns the solver made, in both modes."""

import numpy as np
import pytest

import nptrace
import nptrace as trace
from footfall.errors import TraceError
from nptrace.autodiff import nested


def steps_to_root(a, guess):
    """sqrt(a) by Newton's rule from a guess, which may be good enough already."""

    def better(_, x):
        return np.where(np.abs(x * x - a) < 1e-12 * a, x, 0.5 * (x + a / x))

    return nptrace.repeat(60, better, guess, until=lambda x: np.all(np.abs(x * x - a) < 1e-12 * a), check_first=True)


def root(a, guess):
    found = steps_to_root(a, guess)
    return nptrace.custom_fixed_point(found, lambda x: x - (x * x - a) / (2.0 * x))


A = np.array([2.0, 7.0, 1.3e4])


@pytest.mark.parametrize("target", ["interpret", "native"])
@pytest.mark.parametrize("start", [np.sqrt(A), 0.3 * A], ids=["from the solution", "from afar"])
def test_slope_is_that_of_the_solution_from_any_guess(start, target):
    slope, by_guess = trace.jacobian(root, A, start, wrt=(0, 1), target=target, cache=None)(A, start)
    np.testing.assert_allclose(slope, np.diag(0.5 / np.sqrt(A)), rtol=1e-12)
    assert not by_guess.any()
    pulled = trace.gradient(lambda a, x: root(a, x) @ [1.0, 2.0, 3.0], A, start, wrt=0, target=target, cache=None)
    np.testing.assert_allclose(pulled(A, start), [1.0, 2.0, 3.0] * (0.5 / np.sqrt(A)), rtol=1e-12)


def test_slope_holds_where_the_solution_of_one_turn_is_the_guess_of_the_next():
    """As a simulator's steps are: a fourth root by two square roots, then a turn that is warm from the start."""

    def chain(a):
        def once(_, carry):
            value, guess = carry
            return root(value + a, guess), root(value + a, guess)

        return nptrace.repeat(3, once, (a, a))[0]

    def plain(a):
        for value in (a,) * 3:
            a = np.sqrt(a + value)
        return a

    h = 1e-5
    expected = (plain(2.0 + h) - plain(2.0 - h)) / (2 * h)
    assert trace.compile(chain, 2.0, cache=None)(2.0) == pytest.approx(plain(2.0), rel=1e-11)
    assert trace.jacobian(chain, 2.0, wrt=0, cache=None)(2.0) == pytest.approx(expected, rel=1e-8)
    assert trace.gradient(chain, 2.0, wrt=0, cache=None)(2.0) == pytest.approx(expected, rel=1e-8)


def test_program_without_derivative_is_the_solver_alone():
    def bare(a, guess):
        return steps_to_root(a, guess)

    assert str(trace.program_of(root, A, A)) == str(trace.program_of(bare, A, A)).replace("bare", "root")


@pytest.mark.parametrize("mode", [trace.jacobian, trace.gradient])
def test_loop_that_may_make_no_turn_is_refused_unless_it_says_what_its_slope_is(mode):
    def summed(a, guess):
        return np.sum(steps_to_root(a, guess))

    with pytest.raises(TraceError, match=r"may execute no iteration.*nptrace.custom_fixed_point"):
        mode(summed, A, A, wrt=0, cache=None)
    with pytest.raises(TraceError, match="may execute no iteration"):
        mode(summed, A, A, wrt=1, cache=None)


@pytest.mark.parametrize("mode", [trace.jacobian, trace.gradient])
def test_loop_that_may_make_no_turn_is_fine_where_nothing_moves_it(mode):
    def scaled(a, factor):
        return np.sum(factor * steps_to_root(a, a)) + np.sum(a * nptrace.stop_gradient(steps_to_root(a, a)))

    np.testing.assert_allclose(mode(scaled, A, A, wrt=1, cache=None)(A, A), np.sqrt(A), rtol=1e-11)


@pytest.mark.parametrize("mode", [trace.jacobian, trace.gradient])
def test_what_is_held_has_no_slope(mode):
    def product(x):
        return np.sum(x * nptrace.stop_gradient({"of": x * x})["of"])

    np.testing.assert_allclose(mode(product, A, wrt=0, cache=None)(A), A * A, rtol=1e-15)
    assert product(A) == np.sum(A**3)


def test_what_is_held_or_solved_has_its_slope_inside_a_trace_too():
    def inner(x):
        return nptrace.custom_fixed_point(np.exp(x), lambda y: 3.0 * x) * nptrace.stop_gradient(x)

    def slopes(x):
        return (
            nested.jacobian(inner, (x,)),
            nested.push(inner, (x,), (np.ones(3),))[1],
            nested.gradient(lambda x: np.sum(inner(x)), (x,)),
        )

    x = np.array([0.5, 1.0, 2.0])
    whole, pushed, pulled = trace.compile(slopes, x, cache=None, verify=False)(x)
    for found in (np.diag(whole), pushed, pulled):
        np.testing.assert_allclose(found, 3.0 * x, rtol=1e-14)


def test_step_closer_of_another_form_is_refused():
    with pytest.raises(TraceError, match="the Newton step must return a value like its argument"):
        trace.jacobian(lambda x: nptrace.custom_fixed_point(x, lambda y: np.sum(y)), A, wrt=0, cache=None)
    with pytest.raises(TraceError, match="the Newton step must return a value like its argument"):
        trace.jacobian(lambda x: nptrace.custom_fixed_point((x, x), lambda y: y[0])[0], A, wrt=0, cache=None)
