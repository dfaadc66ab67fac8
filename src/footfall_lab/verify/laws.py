"""Identities that footfall's algorithms must satisfy for any robot.

A law takes a robot and one random state and returns the two sides of an equation, or None where it does not apply
(Euler angles near their singularity, a robot without feet). Derivatives in time are taken along the motion by an
eight-point stencil, which is exact to rounding at the steps used here: no step of the algorithms under test enters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy import ndarray

from footfall import dynamics, kinematics
from footfall.dynamics import coordinates
from footfall.dynamics.factor import factor_unsymmetric, solve_unsymmetric
from footfall.dynamics.formalisms import lagrange
from footfall.robot.model.description import Robot
from footfall.spatial import cross_force, cross_force_matrix, cross_motion, cross_motion_matrix, quaternion, rotation
from footfall.spatial.gravity import weight_of
from nptrace.array_types import Float

Sides = tuple[ndarray, ndarray] | None
_STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
_STEP = 0.02
_STEEPEST = np.radians(80.0)  # largest middle Euler angle at which Euler formalisms are compared


def rate_along(
    robot: Robot, f: Callable[[ndarray], ndarray], q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]
) -> ndarray:
    """Return df/dt of a function of q along v, exact to about 1e-13 of f: the direction is scaled to one rad/s."""
    size = max(float(np.abs(v).sum()), 1e-12)

    def at(t: float) -> ndarray:
        return f(dynamics.integrate(robot, q, v / size, t))

    total = sum(weight * (at(k * _STEP) - at(-k * _STEP)) for k, weight in _STENCIL)
    return np.asarray(total) * (size / _STEP)


def mass_matrix_is_symmetric(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    M = dynamics.mass_matrix(robot, q)
    return M, M.T


def mass_matrix_is_positive(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """Every eigenvalue is positive: all signs are one."""
    return np.sign(np.linalg.eigvalsh(dynamics.mass_matrix(robot, q))), np.ones(robot.nv)


def mass_matrix_rate_is_twice_the_symmetric_coriolis_part(
    robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray
) -> Sides:
    """dM/dt - 2 C is skew-symmetric, so dM/dt = C + Cᵀ."""
    C = dynamics.coriolis_matrix(robot, q, v)
    return C + C.T, rate_along(robot, lambda x: dynamics.mass_matrix(robot, x), q, v)


def coriolis_times_velocity_and_gravity_is_bias(
    robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray
) -> Sides:
    C = dynamics.coriolis_matrix(robot, q, v)
    return C @ v + dynamics.gravity_terms(robot, q), dynamics.bias_terms(robot, q, v)


def christoffel_matrix_shares_rate_and_product_with_the_recursive_one(
    robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray
) -> Sides:
    """C is not unique, but C + Cᵀ = dM/dt and C v are: the matrix of Christoffel symbols has the same."""
    C, other = lagrange.coriolis_matrix(robot, q, v), dynamics.coriolis_matrix(robot, q, v)
    return np.append((C + C.T).ravel(), C @ v), np.append((other + other.T).ravel(), other @ v)


def split_terms_add_up_to_inverse_dynamics(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """M a + c + g equals inverse dynamics."""
    split = dynamics.velocity_terms(robot, q, v) + dynamics.gravity_terms(robot, q)
    return dynamics.mass_matrix(robot, q) @ a + split, dynamics.inverse_dynamics(robot, q, v, a)


def inverse_undoes_forward_dynamics(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    return dynamics.inverse_dynamics(robot, q, v, dynamics.forward_dynamics(robot, q, v, tau)), tau


def joint_torques_and_external_forces_add(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """Joint torques plus external forces give the same acceleration as their sum."""
    base = robot.nv - robot.nj
    outside = np.concatenate([tau[:base], 0.5 * tau[base:]])
    found = dynamics.forward_dynamics(robot, q, v, 0.5 * tau[base:], external=outside)
    return found, dynamics.forward_dynamics(robot, q, v, tau)


def classical_acceleration_is_that_of_the_base_origin(
    robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray
) -> Sides:
    """The classical form differs from the spatial one by ω x v in the base, in acceleration as in bias."""
    turning = np.zeros(robot.nv)
    if robot.floating:
        turning[3:6] = np.cross(v[:3], v[3:6])
    spatial = dynamics.forward_dynamics(robot, q, v, tau)
    classical = dynamics.forward_dynamics(robot, q, v, tau, classical=True)
    force = dynamics.mass_matrix(robot, q) @ classical + dynamics.bias_terms(robot, q, v, classical=True)
    return np.concatenate([classical - spatial, force]), np.concatenate([turning, tau])


def factors_multiply_to_mass_matrix(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """M = LᵀDL; the factors of an unsymmetric matrix as sparse as M, as friction makes it, solve it."""
    M = dynamics.mass_matrix(robot, q)
    L, d = dynamics.factor(robot, M)
    A = np.tril(M) + 1.1 * np.triu(M, 1)
    back = solve_unsymmetric(robot, *factor_unsymmetric(robot, A), A @ a)
    return np.concatenate([(L.T @ np.diag(d) @ L).ravel(), M @ back]), np.concatenate([M.ravel(), M @ a])


def kinetic_energy_is_half_of_vMv(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    return np.array(dynamics.kinetic_energy(robot, q, v)), np.array(0.5 * v @ dynamics.mass_matrix(robot, q) @ v)


def potential_energy_decreases_by_the_power_of_gravity(
    robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray
) -> Sides:
    """dU/dt = v · (g(q) - springs)."""
    force = dynamics.gravity_terms(robot, q)
    force[robot.nv - robot.nj :] -= dynamics.spring_torques(robot, q)
    power = rate_along(robot, lambda x: np.array(dynamics.potential_energy(robot, x)), q, v)
    weight = weight_of(robot.mass)  # the power may be zero: compare relative to the weight at 1 m/s
    return np.array([v @ force, weight]), np.array([float(power), weight])


def momentum_is_its_matrix_times_velocity(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    return dynamics.momentum_matrix(robot, q) @ v, dynamics.momentum(robot, q, v)


def momentum_changes_by_external_forces_only(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """A free robot driven by its joints: d(A v)/dt = (0, m g), whatever the joints do (momentum as an identity)."""
    if not robot.floating:
        return None
    driven = dynamics.forward_dynamics(robot, q, v, tau[6:])
    A = dynamics.momentum_matrix(robot, q)
    turning = rate_along(robot, lambda x: dynamics.momentum_matrix(robot, x), q, v) @ v
    return A @ driven + turning, robot.mass * np.array([0.0, 0.0, 0.0, *dynamics.GRAVITY])


def foot_velocities_are_jacobian_times_velocity(
    robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray
) -> Sides:
    """Twists of the feet are J v, and the linear part is the rate of their positions along the motion."""
    if not robot.nf:
        return None
    twists = kinematics.foot_velocities(robot, q, v)
    moved = rate_along(robot, lambda x: kinematics.foot_positions(robot, x), q, v)
    return np.concatenate([twists, twists[:, 3:]], axis=1), np.concatenate(
        [kinematics.feet_jacobian(robot, q) @ v, moved], axis=1
    )


def configuration_rate_is_the_derivative_of_q(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """``integrate`` starts along ``configuration_rate``, and ``difference`` undoes it."""
    start = rate_along(robot, lambda x: x, q, v)
    step = 0.5 * v / max(1.0, float(np.abs(v).max()))
    back = dynamics.difference(robot, q, dynamics.integrate(robot, q, step, 1.0))
    return np.concatenate([dynamics.configuration_rate(robot, q, v), back]), np.concatenate([start, step])


def index_sets_agree_with_the_topology(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """λ, κ, μ, ν, PRED and SUCC of the paper agree with their definitions from the parents."""
    tree, n = robot.tree, len(robot.tree.bodies)
    above = np.zeros((n, n))  # above[i, j]: body j is i, or carries it
    children = np.zeros((n, n))
    for i in range(n):
        j = i
        while j >= 0:
            above[i, j], j = 1.0, tree.parent[j]
        if tree.parent[i] >= 0:
            children[tree.parent[i], i] = 1.0
    sets = (
        np.array([[float(j in found[i]) for j in range(n)] for i in range(n)])
        for found in (tree.support, tree.children, tree.subtree)
    )
    joints = above.copy()
    joints[:, 0] = 0.0  # the base is not a joint
    ends = [tree.parent[0], *tree.pred, *tree.succ]
    found = [np.array(ends, dtype=float), *(each.ravel() for each in sets)]
    requested = [
        np.array([-1, *tree.parent[1:], *range(1, n)], dtype=float),
        joints.ravel(),
        children.ravel(),
        above.T.ravel(),
    ]
    return np.concatenate(found), np.concatenate(requested)


def joint_losses_and_energies_are_consistent(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """Springs, damping and dry friction agree joint by joint, the last at rates well beyond sticking."""
    base = robot.nv - robot.nj
    fast = np.where(v < 0, v - 1.0, v + 1.0)
    found = [
        dynamics.spring_torques(robot, q),
        dynamics.damping_torques(robot, v),
        dynamics.friction_torques(robot, fast),
    ]
    joints = [robot.joint(name) for name in robot.joint_names]
    requested = [
        np.array([joint.stiffness * (joint.rest - x) for joint, x in zip(joints, q[len(q) - robot.nj :])]),
        np.array([joint.damping * -rate for joint, rate in zip(joints, v[base:])]),
        np.array([joint.dry_friction * (1.0 if rate < 0 else -1.0) for joint, rate in zip(joints, v[base:])]),
    ]
    return (np.concatenate(found), np.concatenate(requested)) if joints else None


def power_does_not_depend_on_the_frame(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """All transformations of twists and wrenches between frames agree, and none changes the power."""
    X = kinematics.body_poses(robot, q)[-1]
    V_A, W_A = np.resize(a, 6), np.resize(tau, 6) / np.abs(tau).max()
    V_B, W_B = X.to_child(V_A), X.wrench_to_child(W_A)
    found = [X.to_parent(V_B), X.wrench_to_parent(W_B), X.inverse().to_child(V_B), X.inverse().wrench_to_child(W_B)]
    requested = [V_A, W_A, V_A, W_A]
    found += [X.motion_matrix() @ V_A, X.force_matrix() @ W_A, np.array([V_B @ W_B])]
    requested += [V_B, W_B, np.array([V_A @ W_A])]
    found += [cross_motion_matrix(V_A) @ V_B, cross_force_matrix(V_A) @ W_A, cross_motion_matrix(V_A).T @ W_A]
    requested += [cross_motion(V_A, V_B), cross_force(V_A, W_A), -cross_force(V_A, W_A)]
    return np.concatenate(found), np.concatenate(requested)


def quaternions_agree_with_rotation_matrices(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """Conversions between quaternions, matrices and rotation vectors agree, for rotations of every size and axis."""
    along = np.resize(v, 3) / np.linalg.norm(np.resize(v, 3))
    found: list[ndarray] = []
    requested: list[ndarray] = []
    for main in range(4):
        quat = np.resize(a, 4) / (8.0 * np.abs(a).max()) + np.eye(4)[main]
        quat = quat / np.sqrt(quat @ quat)
        R = quaternion.to_rotation(quat)
        back = quaternion.from_rotation(R)
        found += [quaternion.to_rotation(back).ravel(), np.sign(back[:1]), quaternion.conjugate(quat)]
        requested += [R.ravel(), np.ones(1), quat * np.array([1.0, -1.0, -1.0, -1.0])]
        for angle in (1e-14, 0.19, 0.21, 2.9):
            turned = quaternion.rotated(quat, angle * along)
            step = quaternion.multiply(quaternion.conjugate(quat), turned)
            found += [quaternion.to_rotation(turned).ravel(), *(quaternion.rotation_vector(s * step) for s in (1, -1))]
            requested += [(R @ rotation.about_axis(along, angle)).ravel(), angle * along, angle * along]
    return np.concatenate(found), np.concatenate(requested)


def euler_rates_map_to_velocity(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """v = N(x) dx/dt for both orders of angles, and x gives q back."""
    if not robot.floating or _near_singular(q):
        return None
    found, requested = [], []
    for order in rotation.EULER_ORDERS:
        x = coordinates.to_euler_coordinates(robot, q, order)
        back = coordinates.from_euler_coordinates(robot, x, order)

        def smooth(y: ndarray, order: str = order, at: ndarray = x) -> ndarray:
            moved = coordinates.to_euler_coordinates(robot, y, order)
            turns = np.concatenate([np.round((moved - at)[:3] / (2 * np.pi)), np.zeros(robot.nv - 3)])
            return moved - 2 * np.pi * turns

        N = coordinates.euler_velocity_map(robot, x, order)
        R, R_back = quaternion.to_rotation(q[3:7]), quaternion.to_rotation(back[3:7])
        found += [N @ rate_along(robot, smooth, q, v / 20) * 20, back[:3], R_back.ravel(), back[7:]]
        requested += [v, q[:3], R.ravel(), q[7:]]
    return np.concatenate(found), np.concatenate(requested)


def virtual_joints_have_the_same_mass_matrix(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """A floating base is three sliders and three hinges: M' = Nᵀ M N, g' = Nᵀ g (the lecture slides)."""
    if not robot.floating or _near_singular(q):
        return None
    found, requested = [], []
    for order in rotation.EULER_ORDERS:
        twin = coordinates.with_virtual_joints(robot, order)
        x, N = coordinates.to_virtual_coordinates(robot, q, order), coordinates.virtual_velocity_map(robot, q, order)
        found += [dynamics.mass_matrix(twin, x).ravel(), dynamics.gravity_terms(twin, x)]
        requested += [(N.T @ dynamics.mass_matrix(robot, q) @ N).ravel(), N.T @ dynamics.gravity_terms(robot, q)]
    return np.concatenate(found), np.concatenate(requested)


def _near_singular(q: ndarray) -> bool:
    R_WB = quaternion.to_rotation(q[3:7])
    return any(abs(rotation.to_euler(R_WB, order)[1]) > _STEEPEST for order in rotation.EULER_ORDERS)


Law = Callable[[Robot, ndarray, ndarray, ndarray, ndarray], Sides]
LAWS: tuple[Law, ...] = (
    mass_matrix_is_symmetric,
    mass_matrix_is_positive,
    mass_matrix_rate_is_twice_the_symmetric_coriolis_part,
    coriolis_times_velocity_and_gravity_is_bias,
    christoffel_matrix_shares_rate_and_product_with_the_recursive_one,
    split_terms_add_up_to_inverse_dynamics,
    inverse_undoes_forward_dynamics,
    joint_torques_and_external_forces_add,
    classical_acceleration_is_that_of_the_base_origin,
    factors_multiply_to_mass_matrix,
    kinetic_energy_is_half_of_vMv,
    potential_energy_decreases_by_the_power_of_gravity,
    momentum_is_its_matrix_times_velocity,
    momentum_changes_by_external_forces_only,
    foot_velocities_are_jacobian_times_velocity,
    configuration_rate_is_the_derivative_of_q,
    joint_losses_and_energies_are_consistent,
    index_sets_agree_with_the_topology,
    power_does_not_depend_on_the_frame,
    quaternions_agree_with_rotation_matrices,
    euler_rates_map_to_velocity,
    virtual_joints_have_the_same_mass_matrix,
)
