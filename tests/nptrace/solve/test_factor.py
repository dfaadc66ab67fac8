"""Factors: their product is the matrix, as loops and unrolled, as numbers and traced."""

import numpy as np
import pytest

import nptrace as trace
from nptrace.runtime.compiled import program
from nptrace.solve.factor import cholesky, cholesky_solve, ldl, ldl_solve
from nptrace.solve.looped import ldl_rows, ldl_rows_solve, weighted_squares
from nptrace.solve.riccati import before, riccati_step


def definite(n, seed=0):
    G = np.random.default_rng(seed).normal(size=(n, n))
    return G @ G.T + 0.1 * np.eye(n)


def quasi_definite(n, p):
    K = np.zeros((n + p, n + p))
    K[:n, :n], K[n:, :n] = definite(n), np.random.default_rng(1).normal(size=(p, n))
    K[:n, n:] = K[n:, :n].T
    return K


def test_cholesky_factor_times_its_transpose_is_the_matrix():
    A = definite(6)
    L = cholesky(A)
    np.testing.assert_allclose(L @ L.T, A, rtol=1e-12)
    assert (np.triu(L, 1) == 0).all()
    b = np.random.default_rng(2).normal(size=(6, 3))
    np.testing.assert_allclose(A @ cholesky_solve(L, b), b, atol=1e-11)


def test_ldl_of_a_quasi_definite_matrix_needs_no_pivots():
    K = quasi_definite(5, 2)
    L, inverse = ldl(K)
    np.testing.assert_allclose(L @ np.diag(1.0 / inverse) @ L.T, K, rtol=1e-11, atol=1e-11)
    assert (inverse[:5] > 0).all()
    assert (inverse[5:] < 0).all()


@pytest.mark.parametrize("target", ["numpy", "interpret", "native"])
@pytest.mark.parametrize("kind", ["unrolled", "looped"])
def test_solutions_solve(kind, target):
    K, b = quasi_definite(6, 3), np.random.default_rng(4).normal(size=9)

    def solve(K, b):
        return ldl_solve(ldl(K), b) if kind == "unrolled" else ldl_rows_solve(ldl_rows(K), b)

    found = solve(K, b) if target == "numpy" else trace.compile(solve, K, b, target=target, cache=None)(K, b)
    np.testing.assert_allclose(K @ found, b, atol=1e-10)


def test_known_zeros_cost_nothing():
    """An arrow: its blocks do not touch each other, and the work grows with their number, not with its cube."""

    def count(blocks):
        n = 3 * blocks + 2
        pattern = np.kron(np.eye(blocks), np.ones((3, 3)))
        mask = np.ones((n, n))
        mask[: 3 * blocks, : 3 * blocks] = pattern
        return program(lambda A, b: ldl_solve(ldl(A * mask), b), np.eye(n), np.zeros(n)).live_operations

    assert count(8) - count(4) <= 1.1 * (count(4) - count(2)) * 2


def test_looped_factor_is_small_code():
    n = 30
    unrolled = program(lambda A, b: ldl_solve(ldl(A), b), np.eye(n), np.zeros(n)).live_operations
    looped = program(lambda A, b: ldl_rows_solve(ldl_rows(A), b), np.eye(n), np.zeros(n)).live_operations
    assert looped < 0.2 * unrolled


def test_squares_of_rows_add_up():
    random = np.random.default_rng(5)
    A, w = random.normal(size=(7, 4)), random.uniform(size=7)
    np.testing.assert_allclose(weighted_squares(A, w), np.tril(A.T @ np.diag(w) @ A), rtol=1e-12)


def test_riccati_step_is_the_minimum_over_the_input():
    random = np.random.default_rng(6)
    n, m = 4, 2
    A, B, S = random.normal(size=(n, n)), random.normal(size=(n, m)), 0.1 * random.normal(size=(m, n))
    P, R, p, r, x = definite(n), definite(m, 3), random.normal(size=n), random.normal(size=m), random.normal(size=n)

    def cost(u):
        after = A @ x + B @ u
        return 0.5 * after @ P @ after + p @ after + 0.5 * u @ R @ u + u @ S @ after + r @ u

    gains, P_before = riccati_step(A, B, R, S, P)
    y, p_before = before(gains, A, B, r, p)
    u = gains.input(y, x)
    for du in np.eye(m):
        assert abs(cost(u + 1e-5 * du) - cost(u - 1e-5 * du)) < 1e-9
    value = 0.5 * x @ P_before @ x + p_before @ x - 0.5 * y @ y
    assert value == pytest.approx(cost(u), rel=1e-10)
    np.testing.assert_array_equal(P_before, P_before.T)
