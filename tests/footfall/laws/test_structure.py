"""The structure of floating-base dynamics (lecture slides), on every library robot and every backend."""

from __future__ import annotations

import numpy as np
import pytest

from footfall import dynamics, kinematics
from footfall.dynamics import coordinates
from footfall.dynamics.formalisms.constrained import constrained_dynamics, contact_jacobian
from footfall.dynamics.formalisms.modes import all_modes
from footfall.dynamics.random_states import States
from footfall.errors import InputError
from footfall.robot import Robot
from footfall.spatial import Inertia, Transform, rotation, skew
from footfall.spatial.quaternion import rate, rotated, to_rotation
from footfall_lab.verify.laws import rate_along

TOLERANCE = 1e-10


def close(x: np.ndarray, y: np.ndarray, tolerance: float = TOLERANCE) -> bool:
    return bool(np.abs(np.asarray(x) - y).max() <= tolerance * np.abs(y).max())


def base_about_com(robot: Robot, q: np.ndarray) -> Transform:
    return Transform(to_rotation(q[3:7]), q[:3] - kinematics.center_of_mass(robot, q))


def momentum_rate(call, robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    turning = rate_along(robot, lambda x: call(dynamics.momentum_matrix, robot, x), q, v) @ v
    return call(dynamics.momentum_matrix, robot, q) @ a + turning


def test_first_block_of_M_is_the_inertia_of_the_locked_robot(robot: Robot, states: States, call) -> None:
    """Σ Xᵀ I X over the links, each with its mass, first and second moment, and none of the joints' rotors."""
    for q in states.q:
        X_W0, whole = kinematics.base_pose(robot, q), Inertia.zero()
        for body, X_WB in zip(robot.tree.bodies, kinematics.body_poses(robot, q)):
            whole = whole + body.inertia.to_parent(X_W0.inverse() @ X_WB)
        assert close(call(dynamics.mass_matrix, robot, q)[:6, :6], whole.matrix())


def test_first_rows_of_M_are_the_momentum_matrix(robot: Robot, states: States, call) -> None:
    for q in states.q:
        M, X = call(dynamics.mass_matrix, robot, q), base_about_com(robot, q)
        moved = np.stack([X.wrench_to_parent(column) for column in M[:6].T], axis=1)
        assert close(moved, call(dynamics.momentum_matrix, robot, q))


def test_last_block_of_M_is_the_mass_matrix_on_a_fixed_base(robot: Robot, states: States, call) -> None:
    clamped = robot.replace(floating=False)
    for q in states.q:
        M = call(dynamics.mass_matrix, robot, q)
        assert close(M[6:, 6:], call(dynamics.mass_matrix, clamped, q[7:]))


def test_gravity_terms_are_minus_M_times_g(robot: Robot, states: States, call) -> None:
    for q in states.q:
        g = np.concatenate([np.zeros(3), to_rotation(q[3:7]).T @ np.array(dynamics.GRAVITY), np.zeros(robot.nj)])
        assert close(-call(dynamics.mass_matrix, robot, q) @ g, call(dynamics.gravity_terms, robot, q))


def test_base_rows_are_the_rate_of_total_momentum(robot: Robot, states: States, call) -> None:
    for q, v, a in zip(states.q, states.v, states.a):
        rows = base_about_com(robot, q).wrench_to_parent(call(dynamics.inverse_dynamics, robot, q, v, a)[:6])
        weight = robot.mass * np.array([0.0, 0.0, 0.0, *dynamics.GRAVITY])
        assert close(rows, momentum_rate(call, robot, q, v, a) - weight)


def test_contact_forces_are_all_that_changes_momentum_beside_the_weight(robot: Robot, states: States, call) -> None:
    """In every fifth mode: rate of momentum about the centre of mass = Σ (r x f, f) + weight, whatever the torques."""
    q, v, tau = states.q[0], states.v[0], states.tau[0]
    levers = kinematics.foot_positions(robot, q) - kinematics.center_of_mass(robot, q)
    weight = robot.mass * np.array([0.0, 0.0, 0.0, *dynamics.GRAVITY])
    for mode in all_modes(robot)[::5]:
        a, f = constrained_dynamics(robot, q, v, tau[6:], mode)
        pushed = np.concatenate([np.cross(levers, f).sum(axis=0), f.sum(axis=0)])
        assert close(momentum_rate(call, robot, q, v, a), pushed + weight)


def test_base_columns_of_the_contact_jacobian_hold_the_lever(robot: Robot, states: States, call) -> None:
    """J_cb = [1, -[x_f - x_b]x; 0, 1] in inertial axes, linear part first."""
    swap = [3, 4, 5, 0, 1, 2]
    for q in states.q:
        R = to_rotation(q[3:7])
        turn = np.block([[R, np.zeros((3, 3))], [np.zeros((3, 3)), R]])
        for J, x_f in zip(call(kinematics.feet_jacobian, robot, q), kinematics.foot_positions(robot, q)):
            J_cb = (J[:, :6] @ turn.T)[np.ix_(swap, swap)]
            lever = -skew(x_f - q[:3])
            assert close(J_cb, np.block([[np.eye(3), lever], [np.zeros((3, 3)), np.eye(3)]]))


def test_joint_columns_of_the_contact_jacobian_are_derivatives_of_the_foot(robot: Robot, states: States, call) -> None:
    """J_cj = ∂(x_f - x_b)/∂q."""
    q = states.q[0]
    J = call(contact_jacobian, robot, q)
    for k in range(robot.nj):
        along = np.zeros(robot.nv)
        along[6 + k] = 1.0
        moved = rate_along(robot, lambda x: kinematics.foot_positions(robot, x).reshape(-1), q, along)
        assert np.abs(J[:, 6 + k] - moved).max() < 1e-11


def test_kinetic_energy_is_that_of_the_links(robot: Robot, states: States, call) -> None:
    for q, v in zip(states.q, states.v):
        T = 0.5 * v @ call(dynamics.mass_matrix, robot, q) @ v
        assert abs(float(call(dynamics.kinetic_energy, robot, q, v)) - T) <= TOLERANCE * T


def test_M_minus_twice_C_is_not_skew_and_its_rate_is(robot: Robot, states: States, call) -> None:
    """Erratum of the slides: the dot over M is missing in print."""
    q, v = states.q[0], states.v[0]
    C, M = call(dynamics.coriolis_matrix, robot, q, v), call(dynamics.mass_matrix, robot, q)
    right = rate_along(robot, lambda x: call(dynamics.mass_matrix, robot, x), q, v) - 2 * C
    printed = M - 2 * C
    assert np.abs(right + right.T).max() < 1e-9 * np.abs(right).max()
    assert np.abs(printed + printed.T).max() > 0.1 * np.abs(printed).max()


# -- coordinates of the base -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", rotation.EULER_ORDERS)
def test_two_axes_of_an_euler_base_meet_at_ninety_degrees(order: str) -> None:
    """Gimbal lock: the determinant of the rate map is the cosine of the middle angle."""
    for middle in np.radians([0.0, 30.0, 60.0, 89.0, 90.0]):
        G = rotation.euler_rates_to_world(np.array([0.4, middle, -0.7]), order)
        assert abs(np.linalg.det(G)) == pytest.approx(np.cos(middle), abs=1e-15)
    assert abs(G[:, 0] @ G[:, 2]) == pytest.approx(1.0)
    assert np.linalg.matrix_rank(G, tol=1e-9) == 2


def test_a_quaternion_turns_alike_at_every_attitude() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        quat = rotated(np.array([1.0, 0.0, 0.0, 0.0]), 3.0 * rng.normal(size=3))
        W = np.stack([rate(quat, axis) for axis in np.eye(3)], axis=1)
        assert np.abs(W.T @ W - 0.25 * np.eye(3)).max() < 1e-15


def test_dynamics_do_not_know_ninety_degrees_of_pitch(robot: Robot, states: States, call) -> None:
    """Without gravity a free robot accelerates alike whichever way it points; on virtual joints it cannot be asked."""
    q, v, tau = np.array(states.q[0]), states.v[0], states.tau[0]
    found = []
    for pitch in (0.0, np.pi / 2):
        q[3:7] = rotated(np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.0, pitch, 0.0]))
        weightless = call(dynamics.forward_dynamics, robot, q, v, tau) + _fall(robot, q)
        found.append(weightless)
    assert close(found[0], found[1], 1e-9)
    with pytest.raises(InputError, match=r"middle Euler angle is 90\.00 deg.*use the quaternion state, or the other"):
        coordinates.to_virtual_coordinates(robot, q)


def _fall(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Minus the acceleration of free fall, which is the same for all links."""
    return np.concatenate([np.zeros(3), -to_rotation(q[3:7]).T @ np.array(dynamics.GRAVITY), np.zeros(robot.nj)])
