"""What mechanics says about any robot, on every robot of the library and every backend."""

from __future__ import annotations

import numpy as np
import pytest

from footfall import dynamics, kinematics
from footfall.dynamics.random_states import States
from footfall.robot import Robot, library
from footfall_lab.verify.laws import rate_along

TOLERANCE = 1e-10


def close(x: np.ndarray, y: np.ndarray, tolerance: float = TOLERANCE) -> bool:
    """The relative error of the bars: max |x - y| / max |y|."""
    return bool(np.abs(np.asarray(x) - y).max() <= tolerance * np.abs(y).max())


def without_gravity(robot, q, v, tau):
    return dynamics.forward_dynamics(robot, q, v, tau, gravity=(0.0, 0.0, 0.0))


def test_mass_matrix_is_symmetric_and_positive_definite(robot: Robot, states: States, call) -> None:
    for q in states.q:
        M = call(dynamics.mass_matrix, robot, q)
        assert close(M, M.T, 1e-15)
        assert np.linalg.eigvalsh(M).min() > 0


def test_inverse_dynamics_undoes_forward_dynamics(robot: Robot, states: States, call) -> None:
    for q, v, tau in zip(states.q, states.v, states.tau):
        a = call(dynamics.forward_dynamics, robot, q, v, tau)
        assert close(call(dynamics.inverse_dynamics, robot, q, v, a), tau)


def test_mass_matrix_rate_minus_twice_coriolis_is_skew(robot: Robot, states: States, call) -> None:
    for q, v in zip(states.q, states.v):
        C = call(dynamics.coriolis_matrix, robot, q, v)
        rate = rate_along(robot, lambda x: call(dynamics.mass_matrix, robot, x), q, v)
        S = rate - 2 * C
        assert np.abs(S + S.T).max() <= TOLERANCE * np.abs(rate).max()


def test_coriolis_matrix_times_velocity_is_the_velocity_terms(robot: Robot, states: States, call) -> None:
    for q, v in zip(states.q, states.v):
        assert close(call(dynamics.coriolis_matrix, robot, q, v) @ v, call(dynamics.velocity_terms, robot, q, v))


def test_split_terms_add_up_to_inverse_dynamics(robot: Robot, states: States, call) -> None:
    for q, v, a in zip(states.q, states.v, states.a):
        split = call(dynamics.velocity_terms, robot, q, v) + call(dynamics.gravity_terms, robot, q)
        whole = call(dynamics.inverse_dynamics, robot, q, v, a)
        assert close(call(dynamics.mass_matrix, robot, q) @ a + split, whole)


def test_articulated_bodies_accelerate_as_the_inertia_matrix_says(robot: Robot, states: States, call) -> None:
    for q, v, tau in zip(states.q, states.v, states.tau):
        a = call(dynamics.articulated_body, robot, q, v, tau)
        assert close(call(dynamics.inverse_dynamics, robot, q, v, a), tau)


def test_internal_torques_leave_the_rate_of_total_momentum_zero(robot: Robot, states: States, call) -> None:
    """Momentum as an identity: without gravity nothing outside acts, so d(A v)/dt = 0 whatever the joints do."""
    for q, v, tau in zip(states.q, states.v, states.tau):
        a = call(without_gravity, robot, q, v, tau[6:])
        A = call(dynamics.momentum_matrix, robot, q)
        turning = rate_along(robot, lambda x: call(dynamics.momentum_matrix, robot, x), q, v) @ v
        scale = np.abs(A @ np.diag(a)).max()
        assert np.abs(A @ a + turning).max() <= TOLERANCE * scale


def test_gravity_changes_momentum_by_the_weight_alone(robot: Robot, states: States, call) -> None:
    for q, v, tau in zip(states.q, states.v, states.tau):
        a = call(dynamics.forward_dynamics, robot, q, v, tau[6:])
        A = call(dynamics.momentum_matrix, robot, q)
        turning = rate_along(robot, lambda x: call(dynamics.momentum_matrix, robot, x), q, v) @ v
        weight = robot.mass * np.array([0.0, 0.0, 0.0, *dynamics.GRAVITY])
        assert close(A @ a + turning, weight)


def test_free_fall_is_weightless(robot: Robot, states: States, call) -> None:
    """Without joint torques and at rest a free robot falls as one: the base at g, the joints not at all."""
    for q in states.q:
        a = call(dynamics.forward_dynamics, robot, q, np.zeros(robot.nv), np.zeros(robot.nj))
        fall = np.zeros(robot.nv)
        fall[3:6] = kinematics.base_pose(robot, q).R.T @ np.array(dynamics.GRAVITY)
        assert close(a, fall, 1e-9)


def test_power_of_all_forces_is_the_rate_of_energy(robot: Robot, states: States, call) -> None:
    """d(T + U)/dt = τ·v (springs aside): the work that goes in is the energy that comes out."""
    for q, v, tau in zip(states.q, states.v, states.tau):
        a = call(dynamics.forward_dynamics, robot, q, v, tau)
        M = call(dynamics.mass_matrix, robot, q)
        rate = rate_along(robot, lambda x: call(dynamics.mass_matrix, robot, x), q, v)
        kinetic = v @ M @ a + 0.5 * v @ rate @ v
        potential = v @ call(dynamics.gravity_terms, robot, q)
        scale = np.abs(tau * v).sum()
        assert abs(kinetic + potential - tau @ v) <= TOLERANCE * scale


@pytest.mark.parametrize("rotors", ["none", "armature", "exact"])
@pytest.mark.parametrize("name", library.names())
def test_every_rotor_mode_keeps_the_total_momentum(name: str, rotors: str, call) -> None:
    from footfall.dynamics.random_states import random_states

    robot = library.load(name).replace(rotors=rotors)
    states = random_states(robot, 2, seed=3)
    for q, v, tau in zip(states.q, states.v, states.tau):
        A = call(dynamics.momentum_matrix, robot, q)
        turning = rate_along(robot, lambda x: call(dynamics.momentum_matrix, robot, x), q, v) @ v
        weight = robot.mass * np.array([0.0, 0.0, 0.0, *dynamics.GRAVITY])
        assert close(A @ call(dynamics.forward_dynamics, robot, q, v, tau[6:]) + turning, weight)
