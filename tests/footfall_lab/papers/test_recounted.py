"""What a recount of the documents added: the rod without a motion, the toes, quaternions, the change of gait."""

from __future__ import annotations

import numpy as np
import pytest

from footfall.control.joint.plan_follower import PlanFollower
from footfall.dynamics.random_states import random_states
from footfall.robot import library
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall_lab.papers.adak2021 import experiment as adak
from footfall_lab.papers.adak2021 import painleve
from footfall_lab.papers.dynakat import further
from footfall_lab.papers.floating_base import equations as slides
from footfall_lab.papers.floating_base import modes
from footfall_lab.papers.yan2021 import equations as yan
from footfall_lab.papers.yan2021.experiment import WalkFindings
from footfall_lab.papers.yan2021.runs import KD, KP, Run, plans, xiling


def test_the_rod_has_the_inverse_inertia_of_a_rod() -> None:
    mass, half, angle = painleve.MASS, painleve.HALF, painleve.ANGLE
    x, z = half * np.cos(angle), -half * np.sin(angle)
    J = np.array([[1.0, 0.0, z], [0.0, 1.0, -x]])  # of the end, by velocities of the centre and the turn about y
    A = J @ np.linalg.inv(np.diag([mass, mass, mass * (2.0 * half) ** 2 / 12.0])) @ J.T
    np.testing.assert_allclose(painleve.inverse_inertia()[np.ix_([0, 2], [0, 2])], A, atol=1e-12)


def test_with_little_friction_the_rod_slides_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert painleve.claim().verdict == "holds"
    monkeypatch.setattr(painleve, "FRICTION", 1.3)  # below 4/3 no position of a slender rod is without a motion
    assert painleve.claim().verdict == "does_not_hold"


def test_toes_below_the_hip_do_not_keep_the_hip_below_a_right_angle() -> None:
    claim = yan._toes_below(xiling())
    assert claim.verdict == "erratum"
    assert 0.0 < claim.measured < 100.0


def test_a_wrong_mass_matrix_is_no_solution_of_the_slides_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    robots = [library.load("mini_cheetah")]
    states = [random_states(robot, 1, seed=11) for robot in robots]
    for claim in slides.CLAIMS:
        assert claim(robots, states).verdict in ("verified", "holds")
    real = slides.constrained_dynamics

    def off(*given: object) -> tuple[np.ndarray, np.ndarray]:
        a, f = real(*given)  # type: ignore[arg-type]
        return a, 1.001 * f

    monkeypatch.setattr(slides, "constrained_dynamics", off)
    assert slides.full_dynamics(robots, states).verdict == "erratum"


def test_the_pseudo_inverse_tracks_and_a_transpose_would_not(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = library.load("dynakat")
    assert further._tracks(robot).verdict == "holds"
    monkeypatch.setattr(np.linalg, "pinv", np.transpose)
    assert further._tracks(robot).verdict == "does_not_hold"


def test_columns_of_zeros_add_nothing_to_the_mass_matrix() -> None:
    rng = np.random.default_rng(1)
    J, inertia = rng.normal(size=(3, 6, 8)), np.array([np.diag(rng.uniform(1.0, 2.0, 6)) for _ in range(3)])
    used = ((0, 1, 2), (0, 1, 5), (0, 1, 2, 7))
    for k, columns in enumerate(used):
        J[k][:, [c for c in range(8) if c not in columns]] = 0.0
    right = np.einsum("kia,kij,kjb->ab", J, inertia, J)
    np.testing.assert_allclose(adak._summed(J, inertia, used), right, atol=1e-12)
    np.testing.assert_allclose(adak._summed(J, inertia, ((*range(8),),) * 3), right, atol=1e-12)


def test_minimal_coordinates_that_let_a_foot_move_embed_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    robots = [library.load("mini_cheetah")]
    states = [random_states(robot, 1, seed=11) for robot in robots]
    assert modes.embedded(robots, states).verdict == "holds"
    assert modes.foot_takes_six(robots, states).verdict == "holds"
    real = modes.ModeCoordinates.basis
    monkeypatch.setattr(modes.ModeCoordinates, "basis", lambda self, q: real(self, q) + 1e-6)
    assert modes.embedded(robots, states).verdict == "does_not_hold"


def test_legs_with_a_torque_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, limp = library.load("dynakat"), further.Hold
    assert further._limp(robot).verdict == "holds"
    monkeypatch.setattr(further, "Hold", lambda posture, **gains: limp("stand"))
    assert further._limp(robot).verdict == "does_not_hold"


def test_a_closed_form_without_a_number_is_susceptible(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, real = library.load("dynakat"), further.branches
    assert further._singular_closed(robot, 10).verdict == "does_not_hold"

    def breaking(*given: object, **options: object) -> list:
        return [pose._replace(joints=np.full(4, np.nan)) for pose in real(*given, **options)]  # type: ignore[arg-type]

    monkeypatch.setattr(further, "branches", breaking)
    claim = further._singular_closed(robot, 10)
    assert claim.verdict == "holds"
    assert claim.measured == 100.0


def test_a_control_that_pushes_the_base_does_not_act_through_joints(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, real = library.load("dynakat"), further.forward_dynamics
    assert further._through_joints(robot).verdict == "holds"

    def pushed(robot: object, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        return real(robot, q, v, u + np.sum(u) * np.eye(len(u))[0])  # type: ignore[arg-type]

    monkeypatch.setattr(further, "forward_dynamics", pushed)
    assert further._through_joints(robot).verdict == "does_not_hold"


def test_half_steps_and_the_cause_of_the_jump_are_those_of_the_runs() -> None:
    robot = xiling()
    wanted, runs = plans(robot, 3), {}
    for name in ("walk", "trot"):
        controller = PlanFollower(plan=wanted[name], kp=KP, kd=KD)
        rec = Simulation(robot, controller, start=standing_start(robot, controller)).run(wanted[name].duration + 0.3)
        runs[name] = Run(robot, wanted[name], rec, controller)
    found = object.__new__(WalkFindings)
    found.robot, found.runs = robot, runs
    assert found._half_steps().verdict == found._cause().verdict == "holds"
    runs["walk"].rec.columns["force"][:] = 0.0  # no foot carries: nothing is explained
    assert found._cause().verdict == "does_not_hold"


def test_minimal_coordinates_without_their_centripetal_part_are_another_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert modes.minimal_dynamics([], []).verdict == "verified"
    monkeypatch.setattr(modes.OneLeg, "jacobian_rate", lambda self, q, v: np.zeros(5))
    assert modes.minimal_dynamics([], []).verdict == "erratum"
