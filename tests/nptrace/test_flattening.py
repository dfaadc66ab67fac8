"""Loops in loops, flattened for lanes: every robot does what it does alone."""

import numpy as np
import pytest

import nptrace
import nptrace as trace
from nptrace.ir.statements import all_loops
from nptrace.passes.flattening import across_steps, flattened

TURNS, STEPS = 9, 6


def roots(x, scale):
    """Six steps, each with Newton turns for a root; how many it takes differs between steps and between robots."""

    def step(k, carry):
        x, total = carry
        aim = 1.0 + scale * x * x + k

        def newton(i, inner):
            guess, aim, turns = inner
            better = 0.5 * (guess + aim / guess)
            same = np.abs(better - guess) < 1e-6 * guess
            return np.where(same, guess, better), aim, np.where(same, turns, i + 1.0)

        def found(inner):
            return np.abs(inner[0] * inner[0] - inner[1]) < 1e-5 * inner[1]

        root, _, turns = nptrace.repeat(TURNS, newton, (1.0 + 0.0 * x, aim, 0.0), until=found)
        return np.sin(3.0 * root) + 0.1 * x, total + turns

    return nptrace.repeat(STEPS, step, (x, 0.0))


@pytest.fixture
def given():
    rng = np.random.default_rng(5)
    return rng.normal(size=77), np.exp(3.0 * rng.normal(size=77))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lanes", [4, 16])
def test_robots_in_lanes_do_what_each_does_alone(given, dtype, lanes):
    many = trace.compile(roots, 0.0, 1.0, target="batch", lanes=lanes, dtype=dtype, cache=False)
    one = trace.compile(roots, 0.0, 1.0, dtype=dtype, cache=False)
    x, turns = many(*given)
    for k, (a, b) in enumerate(zip(*given)):
        alone = one(a, b)
        assert (x[k], turns[k]) == (alone[0], alone[1])
    assert len(set(turns)) > 5  # some are done long before others


def test_two_loops_become_one_that_carries_no_more_than_it_must():
    program = trace.program_of(roots, 0.0, 1.0)
    assert [loop.count for loop in all_loops(program.body)] == [STEPS, TURNS]
    (loop,) = all_loops(flattened(program).body)
    assert loop.count == STEPS * TURNS
    outer, inner = all_loops(program.body)
    changes = sum(a != b for a, b in zip(inner.params, inner.results))
    assert len(loop.params) <= len(outer.params) + changes + 4


def test_loops_that_keep_rows_stay_as_they_are():
    def kept(x):
        def step(carry, row):
            root = nptrace.repeat(4, lambda _, y: 0.5 * (y + carry / y), 1.0 + row, until=lambda y: y * y < carry)
            return root, root

        return nptrace.scan(step, x, np.arange(3.0))

    program = trace.program_of(kept, 2.0)
    assert flattened(program) is program


def walked(state, scale):
    """One step of a walk, with Newton iterations for a root, and a number that never changes."""
    x, total, kept = state

    def newton(i, inner):
        guess, count = inner
        better = 0.5 * (guess + (1.0 + scale * x * x) / guess)
        same = np.abs(better - guess) < 1e-6 * guess
        return np.where(same, guess, better), np.where(same, count, i + 1.0)

    root, count = nptrace.repeat(
        TURNS, newton, (1.0 + 0.0 * x, 0.0), until=lambda c: np.abs(c[0] * c[0] - 1.0 - scale * x * x) < 1e-4 * c[0]
    )
    return np.array([np.sin(3.0 * root + total) + 0.1 * x + kept, total + count, kept])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lanes", [4, 16])
@pytest.mark.parametrize("steps", [1, 2, 50])
def test_robots_that_advance_in_lanes_go_where_each_goes_alone(given, dtype, lanes, steps):
    many = trace.compile(walked, np.zeros(3), 1.0, target="batch", lanes=lanes, dtype=dtype, cache=False)
    one = trace.compile(walked, np.zeros(3), 1.0, dtype=dtype, cache=False)
    start = np.stack([given[0], 0.0 * given[0], 0.01 * given[0]], axis=1)
    after = many.advance(steps, start, given[1])
    for k in range(len(start)):
        np.testing.assert_array_equal(after[k], one.advance(steps, start[k], given[1][k]))
    assert len(set(after[:, 1])) > 5 or steps == 1
    np.testing.assert_array_equal(many.advance(1, start, given[1]), many(start, given[1]))
    last, rows = many.roll(steps, start, given[1])
    np.testing.assert_array_equal(last, after)
    np.testing.assert_array_equal(rows[:, -1], after)


def test_steps_and_the_loop_in_them_become_one_loop():
    program = trace.program_of(walked, np.zeros(3), 1.0)
    made = across_steps(program, {0: 0, 1: 1, 2: 2})
    (loop,) = all_loops(made.body)
    assert loop.stop is not None
    assert len(made.outputs) == 3


def test_a_step_that_does_much_beside_its_loop_stays_as_it_is():
    def heavy(state):
        for k in range(40):
            state = np.sin(state + 0.1 * k)
        return nptrace.repeat(4, lambda _, y: 0.5 * y, state, until=lambda y: y[0] < 0.1)

    assert across_steps(trace.program_of(heavy, np.ones(3)), {0: 0, 1: 1, 2: 2}) is None


@pytest.mark.parametrize("lanes", [4, 16])
def test_a_nest_of_three_becomes_one_loop(given, lanes):
    rows = np.arange(5.0)

    def nest(x, scale, rows):
        def piece(carry, row):
            return nptrace.repeat(3, lambda _, c: roots_once(c, scale, row), carry), 0.0

        return nptrace.scan(piece, (x, 0.0), rows)[0]

    def roots_once(carry, scale, row):
        x, total = carry

        def newton(i, inner):
            guess, count = inner
            better = 0.5 * (guess + (2.0 + row + scale * x * x) / guess)
            same = np.abs(better - guess) < 1e-6 * guess
            return np.where(same, guess, better), np.where(same, count, i + 1.0)

        root, count = nptrace.repeat(
            TURNS,
            newton,
            (1.0 + 0.0 * x, 0.0),
            until=lambda c: np.abs(c[0] * c[0] - 2.0 - row - scale * x * x) < 1e-4 * c[0],
        )
        return np.sin(3.0 * root) + 0.1 * x, total + count

    many = trace.compile(nest, 0.0, 1.0, rows, target="batch", lanes=lanes, cache=False)
    one = trace.compile(nest, 0.0, 1.0, rows, cache=False)
    x, count = many(*given, rows)
    for k, (a, b) in enumerate(zip(*given)):
        assert (x[k], count[k]) == one(a, b, rows)
    flat = flattened(trace.program_of(nest, 0.0, 1.0, rows))
    assert len(all_loops(flat.body)) == 1
