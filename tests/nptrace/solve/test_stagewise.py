"""Optimal control stage by stage: the solution of the condensed program, in code that does not grow."""

import dataclasses

import numpy as np
import pytest
from random_programs import condensed, random_stages

import nptrace as trace
from footfall_lab.verify.daqp import solve_bounded
from nptrace.runtime.compiled import program as program_of
from nptrace.solve.stagewise import rollout, solve

GUESS = np.zeros((6, 2))


@pytest.mark.parametrize("seed", range(15))
def test_inputs_are_those_of_the_condensed_program(seed):
    stages, x = random_stages(seed)
    found, referee = solve(stages, x, GUESS), solve_bounded(*condensed(stages, x))
    assert referee.solved
    assert found.converged == 1.0
    np.testing.assert_allclose(found.u.ravel(), referee.x, atol=2e-6)
    np.testing.assert_allclose(found.x, rollout(stages, x, found.u), atol=1e-12)


@pytest.mark.parametrize("target", ["interpret", "native"])
def test_traced_solver_is_the_plain_one(target):
    stages, x = random_stages(1)
    found = trace.compile(solve, stages, x, GUESS, target=target, cache=None, verify=False)(stages, x, GUESS)
    plain = solve(stages, x, GUESS)
    np.testing.assert_allclose(found.u, plain.u, atol=1e-9)
    assert found.iterations == plain.iterations


def test_code_does_not_grow_with_the_horizon():
    def count(N):
        stages, x = random_stages(0, N=N)
        return program_of(lambda s, x, u: solve(s, x, u).u[0], stages, x, np.zeros((N, 2))).live_operations

    assert count(24) <= count(6) + 18 * 90  # reading rows that are carried from turn to turn


def test_contradictions_are_recognised():
    stages, x = random_stages(2)
    D, low, high = stages.D.copy(), stages.low.copy(), stages.high.copy()
    D[3, 1], stages.C[3, 1] = D[3, 0], stages.C[3, 0]
    low[3, 0], high[3, 1] = 4.0, 3.0
    found = solve(dataclasses.replace(stages, D=D, low=low, high=high), x, GUESS, iterations=40)
    assert found.converged == 0.0
    assert found.infeasible == 1.0
    assert np.isfinite(found.u).all()


def test_what_is_not_finite_never_counts_as_solved():
    stages, _ = random_stages(4)
    assert solve(stages, np.array([np.nan, 0, 0, 0]), GUESS).converged == 0.0


def test_slope_of_the_first_input_by_the_state_is_that_of_differences():
    stages, x = random_stages(3)
    slope = trace.jacobian(lambda x: solve(stages, x, GUESS).u[0], x, cache=None)(x)
    for k, step in enumerate(1e-5 * np.eye(4)):
        ends = [solve(stages, x + sign * step, GUESS).u[0] for sign in (1, -1)]
        np.testing.assert_allclose(slope[:, k], (ends[0] - ends[1]) / 2e-5, atol=2e-4)
