"""Euler-Lagrange agrees with the recursive algorithms, which it shares nothing with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_trees import random_tree

import footfall
from footfall import dynamics, kinematics
from footfall.dynamics.formalisms import lagrange, link_jacobians
from footfall.dynamics.random_states import States, random_states
from footfall.errors import InputError
from footfall.robot import Robot, library
from footfall.spatial.quaternion import from_rotation
from footfall.spatial.rotation import EULER_ORDERS, from_euler

TOLERANCE = 1e-10
STEEPEST = np.radians(80.0)


def level_states(robot: Robot, samples: int, order: str, seed: int = 0) -> States:
    """Random states whose middle Euler angle stays below 80 degrees."""
    states, rng = random_states(robot, samples, seed), np.random.default_rng(seed)
    if robot.floating:
        for q in states.q:
            first, last = rng.uniform(-np.pi, np.pi, 2)
            angles = np.array([first, rng.uniform(-STEEPEST, STEEPEST), last])
            q[3:7] = from_rotation(from_euler(angles, order))
    return states


def error(x: Any, y: Any, floor: float = 1e-12) -> float:
    return float(np.abs(np.asarray(x) - y).max() / max(np.abs(y).max(), floor))


def worst_error(robot: Robot, states: States, order: str) -> float:
    """Of all quantities that both sides know, over all states."""
    weight, found = 1e-4 * 9.81 * robot.mass, []
    for q, v, a, tau in zip(states.q, states.v, states.a, states.tau):
        solved = lagrange.forward_dynamics(robot, q, v, tau, order=order)
        found += [
            error(lagrange.mass_matrix(robot, q, order), dynamics.mass_matrix(robot, q)),
            error(lagrange.velocity_terms(robot, q, v, order), dynamics.velocity_terms(robot, q, v), weight),
            error(lagrange.gravity_terms(robot, q, order=order), dynamics.gravity_terms(robot, q), weight),
            error(lagrange.bias_terms(robot, q, v, order=order), dynamics.bias_terms(robot, q, v), weight),
            error(lagrange.inverse_dynamics(robot, q, v, a, order=order), dynamics.inverse_dynamics(robot, q, v, a)),
            error(dynamics.inverse_dynamics(robot, q, v, solved), tau),
            error(lagrange.kinetic_energy(robot, q, v, order), dynamics.kinetic_energy(robot, q, v)),
            error(lagrange.feet_jacobian(robot, q, order), kinematics.feet_jacobian(robot, q)),
        ]
    return max(found)


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_agrees_with_the_recursive_algorithms_on_every_robot(robot: Robot, order: str) -> None:
    assert worst_error(robot, level_states(robot, 5, order, seed=3), order) < TOLERANCE


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_the_recursive_algorithms_on_random_trees(seed: int) -> None:
    """Fixed bases, prismatic joints, armature, exact rotors, massless frames, links held by fixed joints."""
    robot = random_tree(np.random.default_rng(seed), bodies=3 + seed % 5)
    order = EULER_ORDERS[seed % 2]
    assert worst_error(robot, level_states(robot, 3, order, seed), order) < TOLERANCE


def test_agrees_on_real_robots_of_other_makers(third_party: Robot) -> None:
    states = level_states(third_party, 2, "zyx", seed=5)
    for q, v in zip(states.q, states.v):
        assert error(lagrange.mass_matrix(third_party, q), dynamics.mass_matrix(third_party, q)) < TOLERANCE
        assert error(lagrange.bias_terms(third_party, q, v), dynamics.bias_terms(third_party, q, v)) < TOLERANCE


def test_counts_the_kinetic_energy_of_exact_rotors() -> None:
    robot = library.load("mini_cheetah", rotors="exact")
    assert worst_error(robot, level_states(robot, 3, "xyz", seed=4), "xyz") < TOLERANCE


def test_best_order_holds_at_any_attitude() -> None:
    """Where one order of angles is singular the other one is not."""
    robot = random_tree(np.random.default_rng(1), bodies=3, floating=True)
    states = random_states(robot, 2)
    for middle in (-np.pi / 2, np.pi / 2):
        for order in EULER_ORDERS:
            q, v = states.q[0].copy(), states.v[0]
            q[3:7] = from_rotation(from_euler(np.array([0.4, middle, 1.1]), order))
            assert error(lagrange.bias_terms(robot, q, v), dynamics.bias_terms(robot, q, v)) < TOLERANCE
            with pytest.raises(InputError, match=r"middle Euler angle is -?90.00 deg.*quaternion state"):
                lagrange.bias_terms(robot, q, v, order=order)


def test_gravity_may_point_anywhere() -> None:
    robot = random_tree(np.random.default_rng(2), bodies=4, floating=True)
    q, gravity = random_states(robot, 1).q[0], (1.0, -2.0, 3.0)
    assert error(lagrange.gravity_terms(robot, q, gravity), dynamics.gravity_terms(robot, q, gravity)) < TOLERANCE


# -- in the coordinates of the papers --------------------------------------------------------------------------------
def euler_rate(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """df/dt along a rate, by an eight-point stencil: exact to rounding."""
    stencil, h = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280)), 0.02 / np.abs(rate).sum()
    return sum(w * (f(x + k * h * rate) - f(x - k * h * rate)) for k, w in stencil) / h


@pytest.fixture(params=[("spined", "xyz"), ("dynakat", "zyx")], ids="-".join)
def euler_case(request: pytest.FixtureRequest) -> tuple[Robot, str, np.ndarray, np.ndarray]:
    name, order = request.param
    robot = library.load(name)
    rng = np.random.default_rng(8)
    return robot, order, rng.uniform(-1.0, 1.0, robot.nv), rng.normal(size=robot.nv)


def test_mass_matrix_rate_minus_twice_the_christoffel_matrix_is_skew(euler_case: tuple) -> None:
    robot, order, x, rate = euler_case
    M_rate = euler_rate(lambda y: lagrange.euler_mass_matrix(robot, y, order), x, rate)
    S = M_rate - 2 * lagrange.euler_coriolis_matrix(robot, x, rate, order)
    assert error(S, -S.T) < TOLERANCE


def test_christoffel_matrix_times_rates_is_the_vector_of_seed_001(euler_case: tuple) -> None:
    """Eq. (27): Σ (∂M_ij/∂q_k - ∂M_kj/∂q_i / 2) q̇_j q̇_k."""
    robot, order, x, rate = euler_case
    terms = lagrange.euler_coriolis_terms(robot, x, rate, order)
    assert error(lagrange.euler_coriolis_matrix(robot, x, rate, order) @ rate, terms) < TOLERANCE


def test_mapped_coriolis_matrix_keeps_the_skew_property(euler_case: tuple) -> None:
    robot, order, x, rate = euler_case
    q = dynamics.coordinates.from_euler_coordinates(robot, x, order)
    v = dynamics.coordinates.euler_velocity_map(robot, x, order) @ rate
    C = lagrange.coriolis_matrix(robot, q, v, order)

    def moved(y: np.ndarray) -> np.ndarray:
        return lagrange.mass_matrix(robot, dynamics.coordinates.from_euler_coordinates(robot, y, order), order)

    assert error(C + C.T, euler_rate(moved, x, rate)) < TOLERANCE
    assert error(C @ v, lagrange.velocity_terms(robot, q, v, order)) < TOLERANCE


def test_potential_energy_has_the_slope_of_gravity_terms(euler_case: tuple) -> None:
    robot, order, x, rate = euler_case
    power = euler_rate(lambda y: link_jacobians.potential_energy(robot, y, lagrange.GRAVITY, order), x, rate)
    assert error(lagrange.euler_gravity_terms(robot, x, order=order) @ rate, power) < TOLERANCE


def test_link_jacobians_are_derivatives_of_positions(euler_case: tuple) -> None:
    """Eq. (9) of Adak et al. 2021: ẋ = ∂x/∂q q̇."""
    robot, order, x, rate = euler_case
    foot = robot.feet[1]

    def place(y: np.ndarray) -> np.ndarray:
        return link_jacobians.placed_links(robot, y, order)[foot.link].point(foot.position)

    J = lagrange.euler_feet_jacobian(robot, x, order)[1]
    assert error(J[3:] @ rate, euler_rate(place, x, rate)) < TOLERANCE


# -- use --------------------------------------------------------------------------------------------------------------
def test_is_the_same_traced_and_compiled(call: Callable[..., Any]) -> None:
    robot = random_tree(np.random.default_rng(3), bodies=4, floating=True, rotors="exact")
    states = level_states(robot, 1, "zyx", seed=2)
    q, v, tau = states.q[0], states.v[0], states.tau[0]
    assert error(call(lagrange.mass_matrix, robot, q), dynamics.mass_matrix(robot, q)) < TOLERANCE
    assert error(call(lagrange.bias_terms, robot, q, v), dynamics.bias_terms(robot, q, v)) < TOLERANCE
    a = call(lagrange.forward_dynamics, robot, q, v, tau)
    assert error(dynamics.inverse_dynamics(robot, q, v, a), tau) < TOLERANCE


def test_parameters_may_stay_free() -> None:
    robot = library.load("spined")
    x = np.random.default_rng(0).normal(size=robot.nv)
    f = footfall.compile(lagrange.euler_gravity_terms, robot, target="interpret", free=["trunk.mass"])
    heavier = robot.replace({"trunk.mass": 9.0})
    assert error(f(x, {"trunk.mass": 9.0}), lagrange.euler_gravity_terms(heavier, x)) < TOLERANCE


def test_a_robot_is_traced_once() -> None:
    robot = random_tree(np.random.default_rng(9), bodies=3, floating=False)
    q, v = np.random.default_rng(0).normal(size=(2, robot.nv))
    lagrange.forget()
    first = lagrange.bias_terms(robot, q, v)
    kept = dict(lagrange._programs)
    assert np.array_equal(lagrange.bias_terms(robot, q, v), first)
    assert lagrange._programs == kept


def test_bad_input_is_refused_in_one_sentence() -> None:
    robot = library.load("spined")
    (q, v), short = robot.state("stand"), np.zeros(3)
    with pytest.raises(InputError, match=r"v of robot 'spined' must have shape \(20,\), got \(3,\)"):
        lagrange.bias_terms(robot, q, short)
    with pytest.raises(InputError, match=r"q of robot 'spined' must have shape \(21,\), got \(3,\)"):
        lagrange.mass_matrix(robot, short)
    with pytest.raises(InputError, match="v of robot 'spined' has a value that is not finite"):
        lagrange.velocity_terms(robot, q, v * np.nan)
    with pytest.raises(InputError, match=r"unknown order of Euler angles 'yxz'.*best, zyx, xyz"):
        lagrange.mass_matrix(robot, q, order="yxz")
    with pytest.raises(InputError, match=r"unknown order of Euler angles 'best'.*zyx, xyz"):
        lagrange.euler_mass_matrix(robot, np.zeros(20), order="best")
