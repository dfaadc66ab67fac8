"""Loops in loops, flattened for lanes: every robot does what it does alone."""

import numpy as np
import pytest

import nptrace
import nptrace as trace
from nptrace.ir.statements import all_loops
from nptrace.passes.flattening import flattened

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
