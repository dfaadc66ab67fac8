"""Loops over rows: the i-th rows in, the i-th rows out, on every target, with derivatives both ways."""

import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from cuda_on_processor import COMPILER, emulate, pointer

import nptrace
import nptrace as trace
from footfall.errors import TraceError
from nptrace.codegen.c_source import write_c
from nptrace.codegen.emit import first_is_state
from nptrace.runtime.compiled import program

ROWS, WIDTH = 5, 3


def forwards(x, u):
    """A little dynamic system: all its states, and the last one."""

    def turn(state, force):
        after = state + 0.3 * np.sin(state) * force - 0.1 * state[::-1]
        return after, (after, state @ force)

    last, (states, work) = nptrace.scan(turn, x, u)
    return last, states, work


def backwards(x, u):
    """The cost to go of the forwards one: the second scan reads what the first has made."""

    def cost(value, row):
        state, force = row
        value = value + state @ state + 0.1 * np.exp(0.2 * force @ force) * value
        return value, value

    _, states, work = forwards(x, u)
    whole, to_go = nptrace.scan(cost, 0.1 * work[0], (states, u), reverse=True)
    return whole, to_go


def inside_repeat(x, u):
    """A scan within a loop, whose rows are made outside, within, and carried by it."""

    def sweep(i, carry):
        guess, plan = carry
        _, (states, _) = nptrace.scan(lambda s, f: (s + f, (np.cos(s + f), s)), guess, u * 0.5)
        end, moved = nptrace.scan(lambda s, row: (s + row[0] * row[1], s - row[2]), guess, (plan, u, states), True)
        return 0.1 * end + 0.01 * i, 0.5 * plan + 0.2 * np.sin(moved)

    guess, plan = nptrace.repeat(3, sweep, (x, u))
    return guess, plan


def repeat_inside(x, u):
    """A loop within a scan."""

    def turn(state, force):
        settled = nptrace.repeat(4, lambda i, s: s - 0.2 * (s**3 - force), state)
        return settled, settled * force

    return nptrace.scan(turn, x, u)


CASES = {f.__name__: f for f in (forwards, backwards, inside_repeat, repeat_inside)}
X = np.array([0.4, -0.3, 0.9])
U = np.random.default_rng(3).normal(size=(ROWS, WIDTH))


def flat(nest):
    return np.concatenate([np.ravel(part) for part in nest])


def unrolled(x, u):
    """``forwards`` in plain words."""
    states, work = [], []
    for force in u:
        work.append(x @ force)
        x = x + 0.3 * np.sin(x) * force - 0.1 * x[::-1]
        states.append(x)
    return x, np.array(states), np.array(work)


def test_scan_is_the_loop_over_the_rows():
    np.testing.assert_allclose(flat(forwards(X, U)), flat(unrolled(X, U)), rtol=1e-14)


@pytest.mark.parametrize("target", ["interpret", "native"])
@pytest.mark.parametrize("name", CASES)
def test_traced_scan_gives_the_numbers_of_numpy(name, target):
    function = CASES[name]
    np.testing.assert_allclose(
        flat(trace.compile(function, X, U, target=target, cache=None)(X, U)), flat(function(X, U)), rtol=1e-11
    )


@pytest.mark.parametrize("lanes", [1, 2, 8])
@pytest.mark.parametrize("name", CASES)
def test_lanes_have_the_bits_of_one_robot(name, lanes):
    random = np.random.default_rng(1)
    many_x, many_u = random.normal(size=(11, WIDTH)), 0.5 * random.normal(size=(11, ROWS, WIDTH))
    native = trace.compile(CASES[name], X, U, cache=None)
    batch = trace.compile(CASES[name], X, U, target="batch", lanes=lanes, cache=None)(many_x, many_u)
    for k in range(11):
        alone = native(many_x[k], many_u[k])
        assert all((np.asarray(whole)[k] == one).all() for whole, one in zip(batch, alone))


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("name", CASES)
def test_cuda_source_of_a_scan_is_numpy_robot_by_robot(name, tmp_path):
    code = program(CASES[name], X, U)
    library = emulate(code, first_is_state([X.size, U.size]), np.float64, tmp_path)
    robots = 7
    factors = 1.0 + 0.1 * np.random.default_rng(2).normal(size=robots)
    state, rest = np.outer(X, factors), np.outer(U.ravel(), factors)
    out = np.zeros((len(code.outputs), robots))
    library.run_evaluate(pointer(state), pointer(rest), None, pointer(out), robots)
    expected = np.stack([flat(CASES[name](X * f, U * f)) for f in factors], axis=1)
    np.testing.assert_allclose(out, expected, rtol=1e-11)


@pytest.mark.parametrize("name", CASES)
def test_c_source_of_a_scan_compiles_without_warnings_and_agrees(name, tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler")
    code = program(CASES[name], X, U)
    write_c(code, tmp_path, "rows_of", samples=np.concatenate([X, U.ravel()])[None])
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2"]
    files = [str(tmp_path / "rows_of.c"), str(tmp_path / "rows_of_test.c")]
    subprocess.run(["gcc", *flags, *files, "-lm", "-o", str(tmp_path / "run")], check=True)
    subprocess.run([str(tmp_path / "run")], check=True)


def differences(function, x, u, which):
    """Central differences of all results by one argument."""
    columns, given = [], [x, u]
    for k in range(given[which].size):
        ends = []
        for step in (1e-6, -1e-6):
            moved = given[which].copy()
            moved.flat[k] += step
            ends.append(flat(function(*(moved if j == which else g for j, g in enumerate(given)))))
        columns.append((ends[0] - ends[1]) / 2e-6)
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_jacobian_through_rows_is_that_of_differences(name, which):
    function = CASES[name]
    slope = trace.jacobian(lambda x, u: np.concatenate([np.ravel(p) for p in function(x, u)]), X, U, wrt=which)
    found = slope(X, U)
    np.testing.assert_allclose(found.reshape(len(found), -1), differences(function, X, U, which), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_gradient_through_rows_is_that_of_differences(name, which):
    function = CASES[name]
    weights = np.random.default_rng(4).normal(size=len(flat(function(X, U))))

    def scalar(x, u):
        return np.concatenate([np.ravel(p) for p in function(x, u)]) @ weights

    found = trace.gradient(scalar, X, U, wrt=which)(X, U)
    np.testing.assert_allclose(found.ravel(), weights @ differences(function, X, U, which), rtol=1e-6, atol=1e-7)


def test_gradient_of_a_scan_adds_up_over_the_turns_of_a_loop_around_it():
    """Rows that are read in every turn of an outer loop: their adjoints add up."""

    def outer(x, u):
        def sweep(_, total):
            _, parts = nptrace.scan(lambda s, row: (s, s * row), total, u)
            return total + np.sum(parts * parts, axis=0)

        return np.sum(nptrace.repeat(3, sweep, 0.1 * x))

    found = trace.gradient(outer, X, U, wrt=1)(X, U)
    expected = differences(lambda x, u: [outer(x, u)], X, U, 1)
    np.testing.assert_allclose(found.ravel(), expected.ravel(), rtol=1e-6, atol=1e-8)


def test_code_of_a_scan_does_not_grow_with_its_rows():
    def count(rows):
        return program(lambda x, u: backwards(x, u)[0], X, np.ones((rows, WIDTH))).live_operations

    assert count(40) <= count(4) + 2


@dataclass(frozen=True)
class Row:
    force: Any
    up: Any


@pytest.mark.parametrize("target", ["interpret", "native"])
def test_rows_may_be_nests_and_truths(target):
    def function(x, up):
        rows = Row(np.stack([x, 2.0 * x]), up > 0.5)
        return nptrace.scan(
            lambda c, row: (np.where(row.up, c + row.force, c), {"held": ~row.up, "sum": c}), np.zeros(3), rows
        )

    up = np.array([0.0, 1.0])
    last, kept = trace.compile(function, X, up, target=target, cache=None)(X, up)
    np.testing.assert_allclose(last, 2.0 * X)
    np.testing.assert_allclose(np.asarray(kept["held"], float), [1.0, 0.0])
    plain, rows = function(X, up)
    np.testing.assert_allclose(plain, last)
    np.testing.assert_allclose(rows["sum"], kept["sum"])


def test_unequal_rows_are_refused():
    def function(x):
        return nptrace.scan(lambda c, row: (c, row[0]), 0.0, (x, x[:2]))

    with pytest.raises(TraceError, match="equal length"):
        trace.compile(function, X, cache=None)
    with pytest.raises(ValueError, match="equal length"):
        function(X)


def test_body_that_returns_no_pair_is_refused():
    with pytest.raises(TraceError, match="pair"):
        trace.compile(lambda x: nptrace.scan(lambda c, row: c + row, 0.0, x), X, cache=None)


@pytest.mark.parametrize("reverse", [False, True])
def test_rows_that_are_arguments_are_read_where_they_lie(reverse):
    """Copied, some hundred numbers a row take LLVM minutes."""

    def f(x, first, second):
        def turn(c, row):
            return c + row[0] * row[1][1], c * row[1][2] + row[0]

        return nptrace.scan(turn, x, (first[1:6], second[:5]), reverse)

    random = np.random.default_rng(4)
    given = 0.3, random.normal(size=7), random.normal(size=(7, 3))
    operations = program(f, *given).statistics()["operations"]
    assert "rows" not in operations
    assert operations["lookup_input"] == 3
    said = f(*given)
    for target in ("native", "interpret"):
        found = trace.compile(f, *given, target=target, cache=None)(*given)
        np.testing.assert_allclose(found[0], said[0], rtol=1e-13)
        np.testing.assert_allclose(found[1], said[1], rtol=1e-13)
    scales = np.arange(1.0, 6.0)
    many = trace.compile(f, *given, target="batch", cache=None)(
        np.full(5, 0.3), *(np.multiply.outer(scales, array) for array in given[1:])
    )
    for k, scale in enumerate(scales):
        np.testing.assert_allclose(many[0][k], f(0.3, scale * given[1], scale * given[2])[0], rtol=1e-12)


def test_a_lookup_by_a_counter_past_the_table_still_reads_its_last_entry():
    def f(table):
        return nptrace.repeat(5, lambda i, total: total + nptrace.lookup(table, i, 1.0), 0.0)

    table = np.arange(6.0).reshape(3, 2)
    assert f(table) == 1.0 + 3.0 + 5.0 + 5.0 + 5.0
    assert trace.compile(f, table, cache=None)(table) == f(table)
