"""What the papers print about Coriolis terms, and why it is not so."""

from __future__ import annotations

import numpy as np
from random_trees import random_tree

from footfall import dynamics
from footfall.dynamics import coordinates
from footfall.dynamics.formalisms import lagrange, link_jacobians
from footfall.robot import Link, Robot
from footfall.spatial import rotation
from nptrace.autodiff import nested

ORDER = "xyz"


def test_correcting_by_E_t_alone_counts_omega_cross_I_omega_twice() -> None:
    """Adak 2021, below eq. (27): M is written in ω_W = E_t⁻¹ dξ/dt, derivatives are corrected by E_t, no more."""
    body = Robot(
        name="body", links=[Link(name="body", mass=2.0, com=np.zeros(3), inertia=np.diag([0.3, 0.5, 0.7]))], joints=[]
    )
    x = np.array([0.3, -0.5, 0.8, 0.1, 0.2, 0.3])
    omega_W, v_W = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.2])
    w = np.concatenate([omega_W, v_W])
    R_WB = rotation.from_euler(x[:3], ORDER)
    I_W = R_WB @ np.diag([0.3, 0.5, 0.7]) @ R_WB.T
    gyroscopic = np.concatenate([np.cross(omega_W, I_W @ omega_W), np.zeros(3)])

    assert np.allclose(_as_printed(body, x, w), 2 * gyroscopic, atol=1e-12)
    assert np.allclose(_derived_then_mapped(body, x, w), gyroscopic, atol=1e-12)


def test_derived_in_euler_coordinates_then_mapped_is_right_for_a_whole_robot() -> None:
    robot = random_tree(np.random.default_rng(11), bodies=4, floating=True, rotors="none")
    rng = np.random.default_rng(12)
    x, w = rng.uniform(-1, 1, robot.nv), rng.normal(size=robot.nv)
    q = coordinates.from_euler_coordinates(robot, x, ORDER)
    R_WB = rotation.from_euler(x[:3], ORDER)
    turn = np.eye(robot.nv)
    turn[:3, :3] = turn[3:6, 3:6] = R_WB.T  # v of w: world axes to base axes
    # recursive, with the classical acceleration of the base: the rate of w in world axes
    expected = turn.T @ dynamics.velocity_terms(robot, q, turn @ w, classical=True)
    assert np.allclose(_derived_then_mapped(robot, x, w), expected, atol=1e-10)
    assert not np.allclose(_as_printed(robot, x, w), expected, atol=1e-2)


def test_without_the_half_christoffel_symbols_double_the_coriolis_forces() -> None:
    """The DynaKat paper prints c_kj = Σ (∂M_kj/∂q_i + ∂M_ki/∂q_j - ∂M_ij/∂q_k) q̇_i."""
    robot = random_tree(np.random.default_rng(0), bodies=6, floating=False)
    q, v = np.random.default_rng(6).normal(size=(2, robot.nv))
    slope = nested.interpreted(lambda y: nested.jacobian(_mass_matrix_of(robot), (y,)), q)(q)
    printed = (slope + np.transpose(slope, (0, 2, 1)) - np.transpose(slope, (2, 1, 0))) @ v
    truth = dynamics.velocity_terms(robot, q, v)
    assert np.allclose(0.5 * printed @ v, truth, atol=1e-10)
    assert np.allclose(printed @ v, 2 * truth, atol=1e-10)
    assert np.allclose(0.5 * printed, lagrange.euler_coriolis_matrix(robot, q, v), atol=1e-10)


def test_the_lagrangian_sums_over_both_indices_and_its_rate_has_the_rate_of_the_same_joint() -> None:
    """Seed 001: eq. (24) sums M_ij q̇_i q̇_j over i alone, eq. (25) has dM_ij/dt q̇_i where q̇_j belongs."""
    robot = random_tree(np.random.default_rng(0), bodies=6, floating=False)
    q, v, a = np.random.default_rng(8).normal(size=(3, robot.nv))
    M = dynamics.mass_matrix(robot, q)
    energy = dynamics.kinetic_energy(robot, q, v)
    one_index = 0.5 * (M * v[:, None]).sum(axis=0) * v  # eq. (24), one value for every j that is left free
    assert np.allclose(0.5 * v @ M @ v, energy)
    assert not np.isclose(one_index, energy).any()

    slope = nested.interpreted(lambda y: nested.jacobian(_mass_matrix_of(robot), (y,)), q)(q)
    rate = slope @ v  # dM/dt
    step = 1e-6
    ahead, back = (dynamics.mass_matrix(robot, q + s * v) @ (v + s * a) for s in (step, -step))
    momentum_rate = (ahead - back) / (2 * step)  # d/dt of ∂L/∂q̇
    assert np.allclose(M @ a + rate @ v, momentum_rate, atol=1e-6)
    assert not np.allclose(M @ a + rate.sum(axis=1) * v, momentum_rate, rtol=1e-3)


def test_a_tensor_in_inertial_axes_is_not_turned_again() -> None:
    """Seed 001, eq. (16): R I Rᵀ takes the tensor in link axes; the printed superscript says inertial ones."""
    body = Robot(
        name="body", links=[Link(name="body", mass=2.0, com=np.zeros(3), inertia=np.diag([0.3, 0.5, 0.7]))], joints=[]
    )
    x = np.array([0.3, -0.5, 0.8, 0.0, 0.0, 0.0])
    R_WB, I_B = rotation.from_euler(x[:3], ORDER), np.diag([0.3, 0.5, 0.7])
    I_W = R_WB @ I_B @ R_WB.T
    omega_W = np.array([1.0, -2.0, 0.5])
    v = np.concatenate([R_WB.T @ omega_W, np.zeros(3)])
    energy = dynamics.kinetic_energy(body, coordinates.from_euler_coordinates(body, x, ORDER), v)
    assert np.isclose(0.5 * omega_W @ I_W @ omega_W, energy)
    assert not np.isclose(0.5 * omega_W @ (R_WB @ I_W @ R_WB.T) @ omega_W, energy, rtol=1e-2)


# -- both readings ----------------------------------------------------------------------------------------------------
def _mass_matrix_of(robot: Robot):
    return lambda x: link_jacobians.mass_matrix(robot, x, ORDER)


def _world_map(robot: Robot, x: np.ndarray) -> np.ndarray:
    """T with dx/dt = T w for w = (ω_W, dp/dt, joint rates): diag(E_t, 1, 1), eq. (8) of Adak et al. 2021."""
    phi, theta = x[0], x[1]
    s, c, t = np.sin(phi), np.cos(phi), np.tan(theta)
    T = np.eye(robot.nv)
    T[:3, :3] = np.array([[1.0, t * s, -t * c], [0.0, c, s], [0.0, -s / np.cos(theta), c / np.cos(theta)]])
    return T


def _as_printed(robot: Robot, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Eq. (27) with M in the velocities w and every ∂/∂q_k replaced by the derivative along them, E_t applied."""

    def corrected(y: np.ndarray) -> np.ndarray:
        T = _world_map(robot, y)
        return T.T @ link_jacobians.mass_matrix(robot, y, ORDER) @ T

    slope = nested.interpreted(lambda y: nested.jacobian(corrected, (y,)), x)(x) @ _world_map(robot, x)  # [i, j, k]
    return np.einsum("ijk,j,k->i", slope, w, w) - 0.5 * np.einsum("kji,j,k->i", slope, w, w)


def _derived_then_mapped(robot: Robot, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The same forces from Euler coordinates: Tᵀ (C ẋ + M dT/dt w)."""
    T = _world_map(robot, x)
    rate = T @ w
    T_rate = nested.interpreted(lambda y, d: nested.push(lambda z: _world_map(robot, z), (y,), (d,))[1], x, rate)
    bent = T_rate(x, rate) @ w
    terms = lagrange.euler_coriolis_terms(robot, x, rate, ORDER)
    return T.T @ (terms + lagrange.euler_mass_matrix(robot, x, ORDER) @ bent)
