"""Excess coordinates: the KKT system of every contact mode, its Delassus matrix, touchdown, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import footfall as ff
from footfall import dynamics, kinematics
from footfall.dynamics.formalisms.constrained import (
    constrained_dynamics,
    contact_jacobian,
    delassus_matrix,
    impact_map,
)
from footfall.dynamics.formalisms.contact_sets import check_stance, contact_set, stance_dynamics
from footfall.dynamics.formalisms.modes import all_modes, mode_name, mode_of, single_transitions, transitions
from footfall.dynamics.random_states import States, random_states
from footfall.errors import InputError
from footfall.robot import Foot, Robot, library


def kkt(robot: Robot, q, v, tau, mode) -> tuple[np.ndarray, np.ndarray]:
    """The system of the slides as printed, by a dense solver."""
    rows = np.repeat(mode, 3) > 0
    M, J = dynamics.mass_matrix(robot, q), contact_jacobian(robot, q)[rows]
    turning = kinematics.feet_bias_acceleration(robot, q, v)[:, 3:].reshape(-1)[rows]
    K = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    x = np.linalg.solve(K, np.concatenate([tau - dynamics.bias_terms(robot, q, v), -turning]))
    forces = np.zeros(3 * robot.nf)
    forces[rows] = x[robot.nv :]
    return x[: robot.nv], forces.reshape(-1, 3)


def close(x: np.ndarray, y: np.ndarray, tolerance: float = 1e-11) -> bool:
    return bool(np.abs(x - y).max() <= tolerance * max(float(np.abs(y).max()), 1.0))


def test_every_mode_solves_the_kkt_system_of_the_slides(robot: Robot, states: States) -> None:
    for q, v, tau in zip(states.q[:2], states.v, states.tau):
        for mode in all_modes(robot):
            a, f = constrained_dynamics(robot, q, v, tau, mode)
            x, g = kkt(robot, q, v, tau, mode)
            assert close(a, x)
            assert close(f, g)
            assert not f[mode == 0].any()


def test_flight_is_forward_dynamics(robot: Robot, states: States) -> None:
    for q, v, tau in zip(states.q, states.v, states.tau):
        a, f = constrained_dynamics(robot, q, v, tau, np.zeros(robot.nf))
        assert close(a, dynamics.forward_dynamics(robot, q, v, tau))
        assert not f.any()


def test_one_compiled_program_serves_all_modes() -> None:
    robot = library.load("mini_cheetah")
    states = random_states(robot, 2, seed=3)
    fast = ff.compile(constrained_dynamics, robot, stabilisation=(100.0, 20.0))
    landing = ff.compile(impact_map, robot)
    for q, v, tau in zip(states.q, states.v, states.tau):
        for mode in all_modes(robot):
            a, f = constrained_dynamics(robot, q, v, tau[6:], mode, stabilisation=(100.0, 20.0))
            x, g = fast(q, v, tau[6:], mode)
            assert close(x, a)
            assert close(g, f)
            assert close(landing(q, v, mode)[0], impact_map(robot, q, v, mode)[0])


def test_delassus_matrix_is_symmetric_and_positive(robot: Robot, states: States, call) -> None:
    for q in states.q[:2]:
        A = call(delassus_matrix, robot, q)
        J = contact_jacobian(robot, q)
        assert close(A, A.T, 1e-13)
        assert close(A, J @ np.linalg.solve(dynamics.mass_matrix(robot, q), J.T), 1e-11)
        assert np.linalg.eigvalsh(A).min() > 0


def test_stabilisation_brings_a_drifting_foot_back() -> None:
    """A standing robot whose feet are 5 mm off and slide: after a second of Baumgarte's feedback they are home."""
    robot = library.load("mini_cheetah")
    q, v = robot.state("stand")
    anchors = kinematics.foot_positions(robot, q) + 0.005 * np.array([[1.0, -1.0, 0.5]] * 4)
    step = ff.compile(constrained_dynamics, robot, stabilisation=(400.0, 40.0), anchors=anchors)
    hold = dynamics.gravity_terms(robot, q)[6:]
    v = v + 0.01
    for _ in range(1000):
        a, _ = step(q, v, hold - 2.0 * v[6:] - 40.0 * (q[7:] - robot.poses["stand"].joints), np.ones(4), anchors)
        v = v + 1e-3 * a
        q = dynamics.integrate(robot, q, v, 1e-3)
    assert np.abs(kinematics.foot_positions(robot, q) - anchors).max() < 1e-5
    assert np.abs(contact_jacobian(robot, q) @ v).max() < 1e-4


def test_touchdown_loses_energy_and_never_makes_any(robot: Robot, states: States) -> None:
    for q, v in zip(states.q, states.v):
        before = dynamics.kinetic_energy(robot, q, v)
        for mode in all_modes(robot):
            after, impulse = impact_map(robot, q, v, mode)
            assert np.abs(contact_jacobian(robot, q)[np.repeat(mode, 3) > 0] @ after).max(initial=0.0) < 1e-11
            assert dynamics.kinetic_energy(robot, q, after) <= before * (1 + 1e-12)
            assert close(impact_map(robot, q, after, mode)[0], after)  # a second one finds nothing to stop
            assert mode.any() or not impulse.any()


def test_standing_still_carries_the_weight(robot: Robot) -> None:
    q, v = robot.state("stand")
    J, g = contact_jacobian(robot, q), dynamics.gravity_terms(robot, q)
    f = np.linalg.lstsq(J[:, :6].T, g[:6], rcond=None)[0]
    a, found = constrained_dynamics(robot, q, v, (g - J.T @ f)[6:], np.ones(4))
    assert np.abs(a).max() < 1e-9
    assert found[:, 2].sum() == pytest.approx(9.81 * robot.mass, rel=1e-12)
    assert close(found.reshape(-1), f)


# -- contact sets ------------------------------------------------------------------------------------------------------
def test_contact_sets_count_internal_forces_and_freedom() -> None:
    robot = library.load("mini_cheetah")
    q = random_states(robot, 1, seed=4).q[0]
    found = [contact_set(robot, q, mode_of(robot, m)) for m in ("flight", "LF", "LF+RH", "LF+RF+RH", "LF+RF+LH+RH")]
    assert [x.rank for x in found] == [0, 3, 6, 9, 12]
    assert [x.internal for x in found] == [0, 0, 1, 3, 6]
    assert [x.mobility for x in found] == [18, 15, 12, 9, 6]
    assert all(not x.redundancy and x.conditioning < 1e4 for x in found)
    assert "12 contact rows of rank 12" in str(found[-1])
    assert "in flight" in str(found[0])


def doubled(robot: Robot) -> Robot:
    foot = robot.feet[0]
    return replace(robot, feet=(*robot.feet, Foot(name="LF again", link=foot.link, position=foot.position + 0.01)))


def test_an_over_constrained_stance_is_reported_and_refused_by_name() -> None:
    """Two feet on one shin: the bar between them cannot be stretched, and the ground can press on it as it likes."""
    robot = doubled(library.load("mini_cheetah"))
    q, v = robot.state("stand")
    mode = mode_of(robot, ["LF", "RF", "LF again"])
    found = contact_set(robot, q, mode)
    assert (found.rows, found.rank, found.redundancy) == (9, 8, 1)
    assert found.culprits == ("LF", "LF again")
    assert found.conditioning == np.inf
    pattern = found.patterns[0]
    assert np.abs(pattern[[0, 2]].sum(axis=0)).max() < 1e-9  # equal and opposite
    with pytest.raises(InputError, match=r"stance LF\+RF\+LF again .* over-constrained: .* 9 contact rows have rank 8"):
        check_stance(robot, q, mode)
    still = stance_dynamics(robot, q, v, np.zeros(12), mode)  # at rest the feet agree: least forces, said so
    assert not still.unique
    assert abs(float(np.sum(pattern * still.forces[[0, 1, 4]]))) < 1e-9 * np.abs(still.forces).max()
    spinning = v + 1.0
    with pytest.raises(InputError, match="over-constrained"):
        stance_dynamics(robot, q, spinning, np.zeros(12), mode)


def test_damping_solves_a_redundant_stance_at_a_small_price() -> None:
    robot = doubled(library.load("mini_cheetah"))
    q, v = robot.state("stand")
    mode = mode_of(robot, ["LF", "RF", "LF again"])
    exact = stance_dynamics(robot, q, v, np.zeros(12), mode)
    a, f = constrained_dynamics(robot, q, v, np.zeros(12), mode, damping=1e-9)
    assert close(a, exact.a, 1e-4)
    assert close(f, exact.forces, 1e-4)


# -- modes and bad input -----------------------------------------------------------------------------------------------
def test_modes_have_names_and_are_all_there(robot: Robot) -> None:
    modes = all_modes(robot)
    assert len(modes) == len({mode_name(robot, mode) for mode in modes}) == 16
    assert all((mode_of(robot, mode_name(robot, mode)) == mode).all() for mode in modes)
    assert len(list(transitions(robot))) == 16 * 15
    assert len(list(single_transitions(robot))) == 16 * 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("LF+XX", "unknown foot 'XX': a mode of robot 'mini_cheetah' is made of LF, RF, LH, RH"),
        (["FL"], "unknown foot 'FL'"),
        ([1.0, 0.0], "a mode of robot 'mini_cheetah' is 4 numbers, each 0 or 1"),
        ([0.5, 0.0, 0.0, 1.0], "each 0 or 1"),
        ([np.nan, 0.0, 0.0, 1.0], "each 0 or 1"),
    ],
)
def test_a_mode_that_is_none_is_refused(wrong, message: str) -> None:
    with pytest.raises(InputError, match=message):
        mode_of(library.load("mini_cheetah"), wrong)


def test_wrong_shapes_and_numbers_that_are_none_are_refused() -> None:
    robot = library.load("mini_cheetah")
    q, v = robot.state("stand")
    for wrong, message in (
        (
            lambda: constrained_dynamics(robot, q, v, np.zeros(12), np.ones(3)),
            "is 4 numbers, 1 for each foot in contact",
        ),
        (lambda: impact_map(robot, q, v, np.ones(5)), "is 4 numbers"),
        (lambda: contact_set(robot, q * np.nan, np.ones(4)), "q of robot 'mini_cheetah' has a value that is not"),
        (lambda: stance_dynamics(robot, q, v + np.inf, np.zeros(12), "LF"), "v of robot 'mini_cheetah' has"),
    ):
        with pytest.raises(InputError, match=message):
            wrong()
