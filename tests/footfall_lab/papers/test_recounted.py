"""What a recount of the documents added: the rod without a motion, the toes, quaternions, the change of gait."""

from __future__ import annotations

import numpy as np
import pytest

from footfall.dynamics.random_states import random_states
from footfall.robot import library
from footfall_lab.papers.adak2021 import painleve
from footfall_lab.papers.dynakat import further
from footfall_lab.papers.floating_base import equations as slides
from footfall_lab.papers.yan2021 import equations as yan
from footfall_lab.papers.yan2021.runs import xiling


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
