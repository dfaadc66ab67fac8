"""What a controller sees, may call, and how it is debugged (frictions F4, F7, F8, F9)."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import footfall as ff
from nptrace.solve import pivoted

DOCS = Path(__file__).parents[2] / "docs"
ROBOT = ff.load("xiling")
STAND = ROBOT.poses["stand"].joints
PAGE = (DOCS / "guides" / "traceable-controllers.md").read_text()


def test_the_table_of_traceable_functions_is_current(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import generate_traceable

    assert generate_traceable.page(PAGE) == PAGE, "python docs/generate_traceable.py"
    assert generate_traceable.verdict(ff.kinematics.inverse) == "traces"
    assert generate_traceable.verdict(ff.kinematics.whole_body_inverse) == "refuses"
    packages = generate_traceable.PACKAGES.values()
    named = [name for package in packages for name in generate_traceable.functions(package)]
    assert len(named) > 100
    assert not [name for name in named if f"`{name}`" not in PAGE]  # tried, or said not to be
    sys.modules.pop("generate_traceable")


@pytest.mark.parametrize("seen", [ff.Sensed, ff.Command, ff.JointCommand])
def test_every_field_that_a_controller_meets_is_on_the_page(seen):
    missing = [f.name for f in dataclasses.fields(seen) if f"`{f.name}`" not in PAGE]
    assert not missing


# -- linear algebra ----------------------------------------------------------------------------------------------------
def solved(A, b, B):
    return np.linalg.solve(A, b), np.linalg.solve(A, B), np.linalg.inv(A), np.linalg.cholesky(A @ A.T)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_small_systems_trace_and_agree_with_numpy(n):
    random = np.random.default_rng(n)
    A, b, B = random.normal(size=(n, n)), random.normal(size=n), random.normal(size=(n, 2))
    fast = ff.compile(solved, None, A, b, B)
    for _ in range(4):
        A = random.normal(size=(n, n))
        A[0, 0] = 0.0 if n > 1 else 1.0  # rows must be swapped
        for got, expected in zip(fast(A, b, B), solved(A, b, B)):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-10)


def test_a_solution_is_differentiated_as_the_implicit_function_theorem_says():
    A, b = np.array([[0.0, 2.0], [3.0, 1.0]]), np.array([1.0, -2.0])
    slope = ff.jacobian(lambda A, b: np.linalg.solve(A, b), None, A, b, wrt="b")
    np.testing.assert_allclose(slope(A, b), np.linalg.inv(A), atol=1e-12)


def test_pivots_are_the_largest_of_their_column():
    A = np.array([[1e-18, 1.0], [1.0, 1.0]])  # without pivots all digits are lost
    np.testing.assert_allclose(pivoted.solve(A, np.array([1.0, 2.0])), [1.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(pivoted.inverse(A) @ A, np.eye(2), atol=1e-12)


def test_what_needs_a_decision_or_is_large_is_refused_with_a_way_out():
    with pytest.raises(ff.TraceError, match=r"its rank depends on values; the damped form is J\.T @ np\.linalg\.solve"):
        ff.compile(lambda J: np.linalg.pinv(J), None, np.ones((2, 3)))
    with pytest.raises(ff.TraceError, match="of 19 unknowns cannot be traced"):
        ff.compile(lambda A: np.linalg.inv(A), None, np.eye(19))


def test_refusals_name_the_users_own_line_not_that_of_a_package():
    import scipy.linalg

    def exponential(A):
        return scipy.linalg.expm(A)  # blamed

    def whole_body(targets):
        return ff.kinematics.whole_body_inverse(ROBOT, targets).q  # blamed

    feet = ff.kinematics.foot_positions(ROBOT, ROBOT.state("stand")[0])
    for function, argument in ((exponential, np.eye(3)), (whole_body, feet)):
        with pytest.raises(ff.TraceError, match=r"at test_inside_a_controller\.py:\d+: `return .*# blamed`"):
            ff.compile(function, None, argument)


# -- inverse kinematics ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["xiling", "dynakat"])
def test_the_inverse_traces_and_puts_feet_where_they_are_wanted(name):
    robot = ff.load(name)
    q = robot.state("stand")[0]
    feet = ff.kinematics.foot_positions(robot, q)

    def joints(targets):
        found = ff.kinematics.inverse(robot, targets, q=q)
        return found.q, found.residual, found.reachable

    fast = ff.compile(joints, None, feet, target="interpret")
    wanted = feet + np.array([[0.01, 0.005, 0.02], [-0.01, 0.0, 0.01], [0.0, 0.004, 0.03], [0.01, -0.005, 0.0]])
    there, residual, reachable = fast(wanted)
    np.testing.assert_allclose(ff.kinematics.foot_positions(robot, there), wanted, atol=1e-6)
    assert residual.max() < 1e-6
    assert reachable.all()
    assert not fast(feet - np.array([0.0, 0.0, 5.0]))[2].any()


# -- looking inside ----------------------------------------------------------------------------------------------------
def test_debug_print_shows_numbers_at_every_tick_that_is_due_and_nothing_else(capsys):
    @ff.controller(rate=200)
    def shown(t, robot, sensed, command, memory):
        ff.debug.print("rates", sensed.v[6:8] * 0.0, 2.5, t=t, every=0.02)
        return ff.JointCommand(position=STAND, kp=60.0, kd=2.0), memory

    with pytest.warns(UserWarning, match=r"runs in Python at 200 Hz: it calls ff\.debug\.print"):
        ff.Simulation(ROBOT, shown).run(0.05)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["0.0000", "0.0200", "0.0400"]
    assert lines[1].endswith("2.5")
    with pytest.raises(ff.InputError, match="needs the controller's time"):
        ff.debug.print(1.0, every=0.1)


def test_debug_print_changes_no_number():
    def law(loud):
        @ff.controller(rate=500)
        def held(t, robot, sensed, command, memory):
            if loud:
                ff.debug.print(sensed.q[2], t=t, every=10.0)
            return ff.JointCommand(position=STAND, kp=60.0, kd=2.0), memory

        return held

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = [ff.Simulation(ROBOT, law(loud)).run(0.05) for loud in (True, False)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-12)


def test_a_dict_that_is_changed_between_runs_is_noticed_by_simulations_and_batches():
    gains = {"kp": 80.0}

    @ff.controller(rate=500)
    def held(t, robot, sensed, command, memory):
        return ff.JointCommand(position=STAND, kp=gains["kp"], kd=2.0), memory

    sim, batch = ff.Simulation(ROBOT, held), ff.Batch(ROBOT, 2, held)
    batch.run(50)
    high = [sim.run(0.1).q[-1, 2], batch.q[0, 2]]
    gains["kp"] = 15.0
    sim.reset()
    batch.reset()
    batch.run(50)
    low = [sim.run(0.1).q[-1, 2], batch.q[0, 2]]
    assert high[0] == pytest.approx(high[1], abs=1e-9)
    assert low[0] == pytest.approx(low[1], abs=1e-9)
    assert low[0] < high[0] - 1e-4
