"""Jacobians that are written out: no tangent that is zero by structure, and the numbers of any other way."""

import numpy as np
import pytest
from differences import differences

import nptrace
import nptrace as trace
from nptrace.autodiff.columns import columns
from nptrace.autodiff.written_jacobian import WrittenJacobian
from nptrace.codegen import interpret
from nptrace.frontend import tracer
from nptrace.ir import program as ssa
from nptrace.passes import slp
from nptrace.runtime import machine

needs_compiler = pytest.mark.skipif(machine.unavailable() is not None, reason="no compiler here")


def written(function, *examples, at=None):
    """(program of all slopes that are not zero by structure, their places) by the first argument."""
    traced = tracer.trace(function, *examples, differentiable=True)
    graph, _, slopes = columns(traced.graph, traced.outputs, range(np.size(examples[0])), at)
    places = [(row, k) for row, found in enumerate(slopes) for k in found]
    return ssa.build(graph, [slopes[row][k] for row, k in places], traced.input_size), places


def test_a_tangent_that_is_zero_by_structure_is_never_made():
    def chains(x):  # four legs that meet in one sum
        legs = np.sin(x) * np.cos(x)
        return np.concatenate([legs, np.stack([np.sum(legs)])])

    program, places = written(chains, np.ones(4))
    assert places == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 0), (4, 1), (4, 2), (4, 3)]
    assert program.size == 4 * 4  # a sine, a cosine and the slope of their product in two: the sum adds nothing


def test_a_linear_system_is_differentiated_by_its_equation_and_not_through_its_factors():
    A = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]])

    def solve(L, b):  # forward substitution and back, on the factor
        y = [b[0] / L[0, 0]]
        for k in (1, 2):
            y.append((b[k] - sum(L[k, j] * y[j] for j in range(k))) / L[k, k])
        x = [0.0, 0.0, y[2] / L[2, 2]]
        for k in (1, 0):
            x[k] = (y[k] - sum(L[j, k] * x[j] for j in range(k + 1, 3))) / L[k, k]
        return np.stack(x)

    def factor(A):
        L = np.zeros((3, 3))
        for i in range(3):
            for j in range(i + 1):
                left = A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))
                L[i, j] = np.sqrt(left) if i == j else left / L[j, j]
        return (L,)

    def by_rule(s):
        M, b = A * (1.0 + s * s), np.array([1.0, 2.0, 3.0]) * np.sin(s)
        return nptrace.solution(factor(M), solve, b, lambda x: b - M @ x)

    def through(s):
        M, b = A * (1.0 + s * s), np.array([1.0, 2.0, 3.0]) * np.sin(s)
        return solve(*factor(M), b)

    s = np.array(0.7)
    for made in (trace.jacobian, lambda *a, **k: trace.jacobian(*a, **k, lanes=2)):
        got = made(by_rule, s, cache=None)(s)
        np.testing.assert_allclose(got, differences(through, (s,), 0), rtol=1e-8)
        np.testing.assert_allclose(got, made(through, s, cache=None)(s), rtol=1e-12)
    total = trace.gradient(lambda s: np.sum(by_rule(s)), s, cache=None)(s)
    np.testing.assert_allclose(total, got.sum(), rtol=1e-12)
    assert written(by_rule, s)[0].operations()["inv"] == written(through, s)[0].operations()["inv"] == 3


def test_what_follows_a_narrow_place_is_differentiated_by_it_alone():
    def long(y):
        for _ in range(30):
            y = y * np.cos(y) + 1.0
        return y

    x = np.linspace(0.1, 0.8, 8)
    plain = written(lambda x: np.stack([long(np.sum(x * x))]), x)[0]
    through = written(lambda x: np.stack([long(nptrace.gradient_bottleneck(np.sum(x * x)))]), x)[0]
    assert through.size < 0.4 * plain.size
    np.testing.assert_allclose(interpret.evaluate(through, x), interpret.evaluate(plain, x), rtol=1e-12)
    gradient = trace.gradient(lambda x: long(nptrace.gradient_bottleneck(np.sum(x * x))), x, cache=None)(x)
    np.testing.assert_allclose(interpret.evaluate(plain, x), gradient, rtol=1e-12)


def test_a_deviation_that_is_zero_is_folded_away():
    def turned(d, x):
        return np.sin(d) * x + np.cos(d) * x * x

    program, _ = written(turned, np.zeros(3), np.ones(3), at=dict.fromkeys(range(3), 0.0))
    assert program.size == 0  # cos 0 x is x
    J = trace.jacobian(turned, np.zeros(3), np.ones(3), at_zero=True, cache=None)
    np.testing.assert_array_equal(J(np.zeros(3), np.array([1.0, 2.0, 3.0])), np.diag([1.0, 2.0, 3.0]))


@needs_compiler
def test_a_doubted_solution_has_the_derivative_of_its_turns():
    def root(a):  # Newton's turns from 1, two of them: not yet the root
        found = nptrace.repeat(2, lambda _, x: 0.5 * (x + a / x), np.array(1.0))

        def closer(x):
            nptrace.mark_derivative_invalid(np.abs(a - 1.0) > 0.5)
            return x - (x * x - a) / (2.0 * x)

        return nptrace.custom_fixed_point(found, closer, always=False)

    J = trace.jacobian(root, np.array(1.0), cache=None)
    assert isinstance(J, WrittenJacobian)
    at = np.array([0.9, 1.1, 4.0, 1.2, 0.2])
    found = J.matrices(at)[:, 0, 0]
    exact = np.array([differences(root, (np.array(a),), 0) for a in at])
    near = np.abs(at - 1.0) <= 0.5
    np.testing.assert_allclose(found[~near], exact[~near], rtol=1e-8)
    np.testing.assert_allclose(found[near], 0.5 / root(at[near]), rtol=1e-12)  # of the root's, as the closer says
    assert [float(J(np.array(a))) for a in at] == list(found)


def test_numbers_of_two_legs_meet_in_one_wide_operation():
    def meeting(x):  # every leg with each of the others, as in an inverse
        legs = [np.sin(x[3 * k]) * x[3 * k + 1] + x[3 * k + 2] for k in range(4)]
        return np.stack([np.cos(legs[j]) * legs[(j + s) % 4] + 0.3 for s in range(1, 4) for j in range(4)])

    x = np.linspace(0.3, 1.4, 12)
    program = trace.program_of(meeting, x)
    apart, across = (slp.vectorised(program, worth=2.0, smallest=1, across=flag) for flag in (False, True))
    assert across.operations()["permute"] == 3
    assert across.size < apart.size
    np.testing.assert_array_equal(interpret.evaluate(across, x), interpret.evaluate(program, x))
    if machine.unavailable() is None:
        alone = trace.compile(meeting, x, vectorize=False, verify=False, cache=None)(x)
        np.testing.assert_array_equal(trace.compile(meeting, x, verify=False, cache=None)(x), alone)
