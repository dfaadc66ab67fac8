"""Forward derivatives agree with central differences, and reverse ones with forward ones."""

import numpy as np
import pytest
from replaying import check_derivatives, flat, pull, push

from footfall.errors import TraceError
from nptrace import lookup, norm, repeat, smoothstep
from nptrace.autodiff import derivative
from nptrace.codegen import interpret
from nptrace.frontend.tracer import trace
from nptrace.ir import program

random = np.random.default_rng(7)
TABLE = random.normal(size=(9, 7))


def smooth(x):
    y = [np.sin(x), np.cos(x), np.exp(0.3 * x), np.log(x * x + 1), np.sqrt(x * x + 1), np.abs(x) ** 2.2]
    z = [(x * x + 1) ** x, np.where(x > 0, x * x, x), np.maximum(x, 0.1), np.minimum(x, x[::-1]), np.abs(x)]
    return np.concatenate([*y, *z, 1 / (2 + x), np.arctan2(x, x[::-1]), np.floor(x) * x, smoothstep(x)])


def nested(x):
    def outer(i, c):
        return repeat(3, lambda j, d: np.sin(d) + 0.1 * i * x + 0.01 * j * d * x[0], c * x) + 0.2 * c

    return repeat(4, outer, 0.3 * np.ones(3)) * x


def gauss_seidel(A, b, mu):
    """Contact impulses in a friction pyramid, one loop of sweeps."""

    def sweep(_, z):
        z = list(z)
        for k in range(6):
            free = z[k] - (A[k] @ np.stack(z) + b[k]) / A[k, k]
            z[k] = np.maximum(free, 0) if k % 3 == 0 else np.clip(free, -mu * z[k - k % 3], mu * z[k - k % 3])
        return np.stack(z)

    return repeat(12, sweep, np.zeros(6))


def height(table, cell, x, y):
    """Bilinear height of a grid at (x, y)."""
    i, j = np.floor(x / cell), np.floor(y / cell)
    u, v = x / cell - i, y / cell - j
    low = (1 - v) * lookup(table, i, j) + v * lookup(table, i, j + 1)
    return (1 - u) * low + u * ((1 - v) * lookup(table, i + 1, j) + v * lookup(table, i + 1, j + 1))


def rolling(table, x):
    """Loops, tables and an inner loop at once."""

    def body(i, c):
        inner = repeat(2, lambda j, d: 0.9 * d + 0.1 * lookup(table, 2 * i + j, 1.5) * x[0], c)
        return inner + 0.1 * lookup(table, i, 3.0) * x

    return repeat(4, body, x)


def test_derivatives_of_operations():
    check_derivatives(smooth, random.normal(size=5))


def test_derivatives_through_nested_loops():
    check_derivatives(nested, random.normal(size=3))


def test_derivatives_through_solver_sweeps():
    J = random.normal(size=(6, 9))
    check_derivatives(gauss_seidel, J @ J.T + np.eye(6), random.normal(size=6), np.array(0.6))


def test_derivatives_through_a_constant_table():
    check_derivatives(lambda p: height(TABLE, 0.25, p[0], p[1]), np.array([0.4, 0.9]))


def test_derivatives_by_a_run_time_table_and_its_position():
    check_derivatives(lambda t, p: height(t, 0.25, p[0], p[1]), TABLE, np.array([0.4, 0.9]))


def test_derivatives_by_a_run_time_table_through_loops():
    check_derivatives(rolling, TABLE, random.normal(size=3))


def test_flat_functions_have_no_slope():
    traced = trace(
        lambda x: np.floor(x) + np.sign(x) + lookup(TABLE, x, x) + (x > 0) + np.rint(x), random.normal(size=4)
    )
    assert (push(traced, random.normal(size=4), np.ones(4))[1] == 0).all()
    assert (pull(traced, random.normal(size=4), np.ones(4)) == 0).all()


def test_a_table_without_tangents_is_a_constant():
    traced = trace(lambda t, x: lookup(t, x[0]) * x[1], np.arange(5.0), np.array([2.0, 3.0]))
    graph, _, tangents = derivative.jvp(traced.graph, traced.outputs, {5: 7, 6: 8})
    code = program.build(graph, tangents, 9)
    assert interpret.evaluate(code, [*np.arange(5.0), 2.0, 3.0, 1.0, 1.0]) == [2.0]


@pytest.mark.parametrize("tangents", [{0: 5, 1: 6}, {0: 9, 1: 8, 2: 7, 3: 6, 4: 5}])
def test_a_table_with_scattered_tangents_is_refused(tangents):
    traced = trace(lambda t, x: lookup(t, x), np.arange(5.0), 1.0)
    with pytest.raises(TraceError, match="in the same order"):
        derivative.jvp(traced.graph, traced.outputs, tangents)


def test_a_gradient_by_a_large_table_is_refused_but_not_beside_it():
    table = np.arange(100.0)
    traced = trace(lambda t, x: lookup(t, x[0]) * x[1], table, np.array([2.0, 3.0]))
    with pytest.raises(TraceError, match="at most 64"):
        derivative.vjp(traced.graph, traced.outputs, [102], range(102))
    graph, _, pulled = derivative.vjp(traced.graph, traced.outputs, [102], [100, 101])
    assert interpret.evaluate(program.build(graph, pulled, 103), [*table, 2.0, 3.0, 1.0]).tolist() == [0, 2]


def test_the_norm_has_a_slope_at_zero_if_it_is_rounded():
    traced = trace(lambda x: norm(x, 1e-3), np.zeros(3))
    assert (pull(traced, np.zeros(3), np.ones(1)) == 0).all()


def test_second_derivatives_forward_over_forward_and_reverse_over_forward():
    x = np.array([0.4, 0.7, 1.3])
    traced = trace(lambda x: np.stack([np.sin(x[0] * x[1]) * x[2] ** 2.2 + np.arctan2(x[0], x[2])]), x)
    n = 3
    graph, _, slopes = derivative.jvp(traced.graph, traced.outputs, {k: n + k for k in range(n)})
    d = random.normal(size=n)

    def slope(z):
        return interpret.evaluate(program.build(graph, slopes, 2 * n), np.concatenate([z, d]))

    numeric = [((slope(x + 1e-6 * e) - slope(x - 1e-6 * e)) / 2e-6).item() for e in np.eye(n)]
    back, _, pulled = derivative.vjp(graph, slopes, [2 * n], range(n))
    hessian = interpret.evaluate(program.build(back, pulled, 2 * n + 1), np.concatenate([x, d, [1.0]]))
    np.testing.assert_allclose(hessian, numeric, rtol=1e-6)
    twice, _, curved = derivative.jvp(graph, slopes, {k: 2 * n + k for k in range(n)})
    for e, expected in zip(np.eye(n), numeric):
        got = interpret.evaluate(program.build(twice, curved, 3 * n), np.concatenate([x, d, e]))
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_derivatives_of_loops_that_carry_their_tangents_late():
    """A carried value that starts as a constant gets its tangent only in the second turn."""
    check_derivatives(
        lambda x: repeat(4, lambda i, c: (c[1] * x, c[0] + x), (np.ones(2), np.zeros(2))), random.normal(size=2)
    )


def test_the_derivative_graph_computes_the_values_too():
    x = random.normal(size=3)
    np.testing.assert_allclose(push(trace(nested, x), x, np.ones(3))[0], flat(nested(x)), rtol=1e-12)


UNTAKEN = {
    "sqrt": lambda x: np.where(x > 0, np.sqrt(x), 0),
    "scaled sqrt": lambda x: np.where(x > 0, 3 * np.sqrt(x) * x[2], x),
    "log": lambda x: np.where(x > 0, -np.log(x) * x, 2 * x),
    "quotient": lambda x: np.where(x > 0, x[2] / x, 0),
    "quotient by the else": lambda x: np.where(x <= 0, 0, x[2] / x + 1 / np.sqrt(x)),
    "arctan2": lambda x: np.where(np.abs(x) > 0, np.arctan2(x, x * x), x),
}


@pytest.mark.parametrize("name", UNTAKEN)
def test_a_branch_that_is_not_taken_adds_nothing(name):
    x, d, w = np.array([0.0, -1.0, 2.0]), random.normal(size=3), random.normal(size=3)
    traced = trace(UNTAKEN[name], x)
    tangents, pulled = push(traced, x, d)[1], pull(traced, x, w)
    assert np.isfinite(pulled).all()
    np.testing.assert_allclose(pulled @ d, w @ tangents, rtol=1e-12)
