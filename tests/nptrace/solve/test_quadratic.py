"""Quadratic programs inside a trace: DAQP's solutions, honest status, derivatives, never NaN."""

import dataclasses

import numpy as np
import pytest
from random_programs import random_program

import nptrace as trace
from footfall_lab.verify.daqp import solve_bounded
from nptrace.runtime.compiled import program as program_of
from nptrace.solve import quadratic
from nptrace.solve.quadratic import QP, solve, start_again, start_at


def by_daqp(program):
    rows = np.concatenate([program.E, program.A])
    low, high = np.concatenate([program.e, program.low]), np.concatenate([program.e, program.high])
    return solve_bounded(program.H, program.f, rows, low, high)


def kkt(program, solution):
    """Largest violation of a condition that defines the solution, from the data alone."""
    x, point = solution.x, solution.point
    reach, push = program.A @ x, point.mult_upper - point.mult_lower
    slope = program.H @ x + program.f + program.A.T @ push + program.E.T @ point.y
    over = np.maximum(program.low - reach, 0.0).max(initial=0.0), np.maximum(reach - program.high, 0.0).max(initial=0.0)
    slack = np.abs(point.mult_lower * np.where(program.low > -1e20, reach - program.low, 0.0))
    return max(np.abs(slope).max(), *over, np.abs(program.E @ x - program.e).max(initial=0.0), slack.max(initial=0.0))


@pytest.mark.parametrize("seed", range(25))
def test_solution_is_that_of_the_referee(seed):
    program = random_program(seed)
    found, referee = solve(program), by_daqp(program)
    assert referee.solved
    assert found.converged == 1.0
    assert found.infeasible == 0.0
    np.testing.assert_allclose(found.x, referee.x, atol=2e-6)
    assert kkt(program, found) < 1e-7


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("target", ["interpret", "native"])
def test_traced_solver_is_the_plain_one(target, dense):
    program = random_program(3)
    compiled = trace.compile(lambda p: solve(p, dense=dense), program, target=target, cache=None, verify=False)
    for seed in (3, 4, 5):
        given = random_program(seed)
        found, plain = compiled(given), solve(given, dense=dense)
        np.testing.assert_allclose(found.x, plain.x, atol=1e-8)
        assert found.iterations == plain.iterations


def test_robots_in_one_block_keep_their_bits():
    """Lanes end together; what is done first stays as it is."""
    programs = [random_program(seed) for seed in range(11)]
    stacked = QP(**{f: np.stack([getattr(p, f) for p in programs]) for f in QP.__dataclass_fields__})
    native = trace.compile(solve, programs[0], cache=None, verify=False)
    batch = trace.compile(solve, programs[0], target="batch", lanes=4, cache=None, verify=False)(stacked)
    alone = [native(p) for p in programs]
    assert len({float(a.iterations) for a in alone}) > 1
    for k, one in enumerate(alone):
        assert (batch.x[k] == one.x).all()
        assert batch.iterations[k] == one.iterations


def test_single_precision_reaches_its_own_tolerance():
    programs = [random_program(seed) for seed in range(8)]
    stacked = QP(**{f: np.stack([getattr(p, f) for p in programs]) for f in QP.__dataclass_fields__})
    found = trace.compile(solve, programs[0], target="batch", dtype=np.float32, cache=None, verify=False)(stacked)
    assert np.sum(found.converged) >= 7  # one is too near to degenerate, and says so
    for k in np.flatnonzero(found.converged):
        np.testing.assert_allclose(found.x[k], by_daqp(programs[k]).x, atol=5e-3)


def test_redundant_and_repeated_rows_do_no_harm():
    program = random_program(7)
    twice = dataclasses.replace(
        program,
        A=np.concatenate([program.A, program.A, np.zeros((1, 7))]),
        low=np.concatenate([program.low, program.low, [-1.0]]),
        high=np.concatenate([program.high, program.high, [0.0]]),
    )
    found = solve(twice)
    assert found.converged == 1.0
    np.testing.assert_allclose(found.x, by_daqp(program).x, atol=1e-6)


def test_bounds_that_leave_one_point_are_met():
    """No interior: low equals high on a row."""
    program = random_program(8)
    low = program.low.copy()
    high = program.high.copy()
    reach = program.A[0] @ by_daqp(program).x
    low[0] = high[0] = reach
    found = solve(dataclasses.replace(program, low=low, high=high))
    assert np.isfinite(found.x).all()
    np.testing.assert_allclose(found.x, by_daqp(program).x, atol=1e-3)


@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_badly_scaled_programs_are_solved_or_say_that_they_are_not(size):
    program = random_program(9)
    scaled = dataclasses.replace(
        program,
        H=program.H * size,
        f=program.f * size,
        A=program.A / size,
        low=np.where(program.low > -1e20, program.low / size, program.low),
        high=np.where(program.high < 1e20, program.high / size, program.high),
    )
    found = solve(scaled, iterations=60, tolerance=1e-8)
    assert np.isfinite(found.x).all()
    if found.converged:
        np.testing.assert_allclose(found.x, by_daqp(program).x, atol=1e-2)


@pytest.mark.parametrize("seed", range(6))
def test_contradictions_are_recognised(seed):
    program = random_program(seed)
    A = np.concatenate([program.A, program.A[:1]])
    low = np.concatenate([program.low, [5.0 + program.A[0] @ np.ones(7)]])
    low[0], high = -1e30, np.concatenate([program.high, [1e30]])
    high[0] = low[-1] - 1.0
    found = solve(dataclasses.replace(program, A=A, low=low, high=high), iterations=40)
    assert found.converged == 0.0
    assert found.infeasible == 1.0
    assert np.isfinite(found.x).all()


@pytest.mark.parametrize("field", ["H", "f", "A", "low", "e"])
def test_what_is_not_finite_never_counts_as_solved(field):
    program = random_program(2)
    broken = getattr(program, field).copy()
    broken.flat[0] = np.nan
    found = solve(dataclasses.replace(program, **{field: broken}))
    assert found.converged == 0.0
    fallback = np.arange(7.0)
    np.testing.assert_array_equal(found.or_else(fallback), fallback)


def test_few_iterations_are_said_to_be_too_few():
    found = solve(random_program(1), iterations=2)
    assert found.converged == 0.0
    assert found.iterations == 2.0
    assert max(found.primal, found.dual, found.gap) > 1e-9


def test_start_from_the_solution_of_a_program_like_it_is_shorter():
    program = random_program(11)
    first = solve(program)
    near = dataclasses.replace(program, f=program.f + 1e-3)
    again = solve(near, start_again(near, first.point))
    assert again.converged == 1.0
    assert again.iterations < first.iterations
    np.testing.assert_allclose(again.x, by_daqp(near).x, atol=1e-6)


def test_start_at_a_guess_finds_the_same_solution():
    program = random_program(12)
    np.testing.assert_allclose(solve(program, start_at(program, np.ones(7))).x, solve(program).x, atol=1e-7)


def test_slope_of_the_solution_by_the_data_is_that_of_differences():
    """Implicit function theorem at the solution: the turns of the solver are not differentiated."""
    program = random_program(5)
    assert (
        np.sum(np.maximum(solve(program).point.mult_lower, solve(program).point.mult_upper) > 1e-3) >= 2
    )  # bounds that act

    def minimiser(f, high):
        return solve(dataclasses.replace(program, f=f, high=high)).x

    by_f, by_high = trace.jacobian(minimiser, program.f, program.high, wrt=(0, 1), cache=None)(program.f, program.high)
    for k in range(7):
        step = 1e-5 * np.eye(7)[k]
        change = (minimiser(program.f + step, program.high) - minimiser(program.f - step, program.high)) / 2e-5
        np.testing.assert_allclose(by_f[:, k], change, atol=2e-4)
    row = int(np.argmax(solve(program).point.mult_upper))
    step = 1e-5 * np.eye(9)[row]
    change = (minimiser(program.f, program.high + step) - minimiser(program.f, program.high - step)) / 2e-5
    np.testing.assert_allclose(by_high[:, row], change, atol=2e-4)
    gradient = trace.gradient(lambda f: np.sum(minimiser(f, program.high)), program.f, cache=None)(program.f)
    np.testing.assert_allclose(gradient, by_f.sum(axis=0), atol=1e-6)


def test_dense_program_is_small_code():
    """Thirty unknowns without a zero: 75 000 operations unrolled."""
    program = random_program(0, n=30, m=44, p=6)
    assert program_of(lambda p: solve(p, dense=True).x, program).live_operations < 20_000


def test_program_without_bounds_is_one_linear_system():
    H, f = np.diag([1.0, 2.0]), np.array([1.0, -4.0])
    found = quadratic.solve(QP.of(H, f))
    np.testing.assert_allclose(found.x, [-1.0, 2.0], atol=1e-9)


def test_program_that_is_not_convex_never_counts_as_solved():
    """Its stationary point is no minimum."""
    program = random_program(6)
    assert solve(dataclasses.replace(program, H=-program.H)).converged == 0.0
    assert solve(QP.of(np.diag([1.0, -2.0]), np.ones(2))).converged == 0.0
