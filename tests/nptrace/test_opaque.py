"""Opaque constants: a trace keeps them as they come, so that functions of unlike numbers have one program."""

from __future__ import annotations

import numpy as np
import pytest

import nptrace as trace
from nptrace import no_fold
from nptrace.codegen import interpret
from nptrace.runtime.compiled import program

ALL = np.ones(3, dtype=bool)
ZEROS_ANYWHERE = np.array([[0.0, 1.0, 0.4], [-1.0, 0.0, 0.3], [0.2, 1.0, 0.0], [0.7, -1.0, 1.0]])


def lever(c, x):
    return c[0] * x[0] + c[1] * x[1] - c[2] * (x[0] - c[1])


def plain(x):
    return np.stack([lever(c, leg) for c, leg in zip(ZEROS_ANYWHERE, x)])


def kept(x):
    constants = [no_fold(c, ALL, ("leg", k)) for k, c in enumerate(ZEROS_ANYWHERE)]
    return np.stack([lever(c, leg) for c, leg in zip(constants, x)])


def in_one_shape(code) -> bool:
    """Whether every operation of a program comes four times, once a leg."""
    return all(count % 4 == 0 for count in code.operations().values())


def test_outside_of_a_trace_an_opaque_number_is_itself() -> None:
    x = np.arange(8.0).reshape(4, 2)
    assert no_fold(ALL, ALL, "name") is ALL
    np.testing.assert_array_equal(kept(x), plain(x))


@pytest.mark.parametrize("target", ["interpret", "native", "batch"])
def test_opaque_constants_change_no_number(target: str) -> None:
    x = np.random.default_rng(2).normal(size=(4, 2))
    compiled = trace.compile(kept, x, target=target, verify=True)
    given = x[None] if target == "batch" else x
    np.testing.assert_allclose(np.squeeze(compiled(given)), plain(x), rtol=1e-15, atol=1e-16)


def test_legs_of_opaque_constants_are_one_program() -> None:
    x = np.ones((4, 2))
    assert not in_one_shape(program(plain, x))
    assert in_one_shape(program(kept, x))


def test_only_the_marked_numbers_are_opaque() -> None:
    def f(x):
        a, b = no_fold(np.array([0.0, 0.0]), np.array([True, False]), "pair")
        return a * x + b * x

    assert program(f, 1.0).operations() == {"mul": 1}


def test_equal_opaque_numbers_of_different_names_stay_two() -> None:
    def f(x):
        a, b = no_fold(np.array([2.0, 2.0]), np.ones(2, dtype=bool), "pair")
        return np.stack([a * x, b * x, no_fold(np.array([2.0, 5.0]), np.ones(2, dtype=bool), "pair")[0] * x])

    code = program(f, 1.0)
    assert code.operations() == {"mul": 2}
    np.testing.assert_array_equal(interpret.evaluate(code, np.array([3.0])), [6.0, 6.0, 6.0])


def test_sums_and_products_of_opaque_constants_are_known_before_the_run() -> None:
    def f(x):
        a, b, c = no_fold(np.array([2.0, 0.5, 0.0]), ALL, "three")
        return (a * b - c + 3.0 * a) * x

    code = program(f, 1.0)
    assert code.operations() == {"mul": 1}
    np.testing.assert_array_equal(interpret.evaluate(code, np.array([2.0])), [14.0])


def test_a_derivative_keeps_opaque_constants_opaque() -> None:
    x = np.random.default_rng(5).normal(size=(4, 2))
    slope = trace.jacobian(kept, x, wrt="x", names=["x"])(x)
    expected = np.zeros((4, 4, 2))
    for k, (a, b, c) in enumerate(ZEROS_ANYWHERE):
        expected[k, k] = a - c, b
    np.testing.assert_allclose(np.reshape(slope, (4, 4, 2)), expected, atol=1e-15)


def test_a_reciprocal_of_an_opaque_number_is_taken() -> None:
    def f(x):
        return x / no_fold(np.array([4.0]), np.ones(1, dtype=bool), "one")[0]

    np.testing.assert_allclose(trace.compile(f, 1.0)(2.0), 0.5)
