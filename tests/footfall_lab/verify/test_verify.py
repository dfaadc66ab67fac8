"""``verify``: its report, its honesty about sides it cannot ask, and its arithmetic of errors."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from random_trees import random_link
from specimens import specimen

from footfall import dynamics
from footfall.dynamics.random_states import random_states
from footfall.errors import InputError, MissingExtraError
from footfall.robot import Joint, Link, Robot, library
from footfall_lab.verify import Report, verify
from footfall_lab.verify.report import NOT_FINITE
from footfall_lab.verify.sides import OUTSIDE, QUANTITIES, SIDES, UNTRACED
from footfall_lab.verify.verify import relative_errors


@pytest.fixture(scope="module")
def report() -> Report:
    return verify(library.load("mini_cheetah"), samples=3)


def test_report_has_the_keys_of_the_json(report: Report) -> None:
    found = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert (found["robot"], found["samples"], found["pass"], found["skipped"]) == ("mini_cheetah", 3, True, [])
    for check in found["checks"]:
        assert {"quantity", "left", "right", "max_rel_error", "median_rel_error", "tolerance", "pass"} <= set(check)
        assert check["tolerance"] == 1e-10


def test_every_quantity_meets_at_least_one_outside_referee(report: Report) -> None:
    checks = [*report.checks, *verify(library.load("fivebar"), samples=2).checks]  # whose loops have some of their own
    checked = {check.quantity for check in checks if check.right in ("pinocchio", "mujoco")}
    assert checked == set(QUANTITIES)


def test_all_sides_take_part_and_referees_are_not_compared_with_each_other(report: Report) -> None:
    pairs = {(check.left, check.right) for check in report.checks}
    assert {side for pair in pairs for side in pair} == set(SIDES)
    assert ("pinocchio", "mujoco") not in pairs


def test_a_side_that_cannot_hold_the_robot_is_skipped_with_the_reason() -> None:
    report = verify(library.load("mini_cheetah", hip_inertia="as_published"), samples=2)
    assert report.passed
    assert list(report.skipped) == ["mujoco"]
    assert "not realisable" in report.skipped["mujoco"]
    assert "mujoco" not in {check.right for check in report.checks}


def test_a_missing_engine_is_skipped_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    robot = library.load("mini_cheetah")
    assert "pip install" in verify(robot, samples=1, laws=False).skipped["pinocchio"]
    with pytest.raises(MissingExtraError):
        verify(robot, samples=1, sides=["recursive", "pinocchio"])


def test_a_wrong_algorithm_fails_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    right = dynamics.gravity_terms
    monkeypatch.setattr(dynamics, "gravity_terms", lambda *arguments: 1.001 * right(*arguments))
    report = verify(library.load("mini_cheetah"), samples=2, laws=False)
    assert {check.quantity for check in report.failures()} == {"gravity"}
    assert not report.passed
    assert f"{len(report.failures())} fail" in str(report)


def test_an_algorithm_that_raises_or_returns_nan_fails_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(robot, q):
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(dynamics, "gravity_terms", broken)
    monkeypatch.setattr(dynamics, "mass_matrix", lambda robot, q: np.full((robot.nv, robot.nv), np.nan))
    report = verify(library.load("mini_cheetah"), samples=2, laws=False)
    failed = {check.quantity: check for check in report.failures()}
    assert set(failed) == {"gravity", "mass_matrix"}
    assert "ZeroDivisionError: boom" in failed["gravity"].note
    assert failed["mass_matrix"].max_rel_error == NOT_FINITE
    json.dumps(report.to_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("robot", "backend", "used"),
    [
        ("mini_cheetah", "numpy", "numpy"),
        ("specimen", "auto", "numpy+batch"),
        *(
            pytest.param("mini_cheetah", *b, marks=pytest.mark.slow)
            for b in (("batch", "batch"), ("auto", "numpy+batch"))
        ),
    ],
)
def test_machine_code_is_verified_like_numpy(
    robot: str, backend: str, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a small robot of all kinds of joints in a plain run: whole robots take a while to compile."""
    monkeypatch.setattr(sys.modules["footfall_lab.verify.verify"], "_PLAIN", 2)
    chosen = specimen(False, "armature", 1) if robot == "specimen" else library.load(robot)
    report = verify(chosen, samples=5, laws=False, backend=backend)
    assert report.passed, report.failures()
    assert report.backend == used
    both = [check for check in report.checks if check.quantity == "machine_code_equals_numpy"]
    traced = [side for side in SIDES if side not in (*OUTSIDE, *UNTRACED)]
    assert [check.left for check in both] == (traced if backend == "auto" else [])


def test_relative_error_is_the_largest_difference_over_the_largest_entry() -> None:
    y = np.array([[1.0, -4.0], [0.0, 2.0]])
    x = y + np.array([[0.4, 0.0], [0.0, 1.0]])
    assert relative_errors(x, y) == pytest.approx([0.1, 0.5])
    assert relative_errors(np.array([[np.nan]]), np.array([[1.0]]))[0] == NOT_FINITE


def test_states_stay_within_limits_and_repeat_by_seed() -> None:
    robot = library.load("mini_cheetah")
    states = random_states(robot, 500, seed=5)
    joints = [body.joint for body in robot.tree.bodies[1:]]
    assert (states.q[:, 7:] >= [joint.lower for joint in joints]).all()
    assert (states.q[:, 7:] <= [joint.upper for joint in joints]).all()
    assert np.abs(np.linalg.norm(states.q[:, 3:7], axis=1) - 1).max() < 1e-14
    assert np.array_equal(states.q, random_states(robot, 500, seed=5).q)
    assert not np.array_equal(states.q, random_states(robot, 500, seed=6).q)


def test_robots_without_feet_or_without_joints_are_verified_too() -> None:
    rng = np.random.default_rng(0)
    assert verify(Robot(name="brick", links=[random_link(rng, "brick")]), samples=3).passed
    turntable = Joint(name="turn", kind="revolute", parent="floor", child="disc")
    report = verify(
        Robot(
            name="turntable",
            links=[Link.massless("floor"), random_link(rng, "disc")],
            joints=[turntable],
            floating=False,
        )
    )
    assert report.passed, report.failures()


def test_what_cannot_be_verified_is_refused() -> None:
    robot = library.load("mini_cheetah")
    stone = Robot(name="stone", links=[random_link(np.random.default_rng(0), "stone")], floating=False)
    for wrong, message in (
        (lambda: verify(stone), "robot 'stone' cannot move"),
        (lambda: verify(robot, samples=0), "samples must be at least 1"),
        (lambda: verify(robot, sides=["bullet"]), "unknown side 'bullet': choose recursive, articulated"),
        (lambda: verify(robot, backend="abacus"), "unknown backend 'abacus': choose auto, numpy, batch"),
    ):
        with pytest.raises(InputError, match=message):
            wrong()
