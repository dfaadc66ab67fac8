"""The facts of the lecture slides, the limits they imply, and the structure of the equations, each as a claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy import ndarray
from scipy.optimize import linprog

from footfall import dynamics, kinematics
from footfall.dynamics.formalisms.constrained import constrained_dynamics, contact_jacobian
from footfall.dynamics.formalisms.modes import all_modes
from footfall.dynamics.forward_dynamics import bias_terms
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.dynamics.random_states import States
from footfall.kinematics.forward import center_of_mass, foot_positions
from footfall.robot.model.description import Robot
from footfall.spatial import Transform, skew
from footfall.spatial.gravity import GRAVITY, STANDARD
from footfall.spatial.quaternion import to_rotation
from footfall_lab.papers.claims import Claim
from footfall_lab.papers.claims import assess as assess_claim
from footfall_lab.papers.registered import Value, registration
from footfall_lab.verify.laws import rate_along
from nptrace.array_types import Float

NAME = "floating_base"
ROUNDING = registration().bounds["identity"].value  # relative error up to which an identity holds

Measured = tuple[Robot, ndarray, ndarray, ndarray, ndarray]  # robot, q, v, a, tau


def every(robots: Sequence[Robot], states: Sequence[States]) -> list[Measured]:
    return [(robot, *row) for robot, few in zip(robots, states) for row in zip(few.q, few.v, few.a, few.tau)]


def error(x: ndarray, y: ndarray) -> float:
    """Return max |x - y| / max |y|."""
    return float(np.abs(np.asarray(x) - y).max() / max(float(np.abs(y).max()), 1e-300))


def worst(errors: Sequence[float] | Callable[..., float], samples: Sequence[Measured] = ()) -> float:
    return max(errors(*sample) for sample in samples) if callable(errors) else max(errors)


def assess(id: str, measured: Value, note: str, holds: bool | None = None) -> Claim:
    """Assess a claim of the slides by its registered bound."""
    return assess_claim(NAME, id, measured, note, holds=holds)


def weight(robot: Robot) -> ndarray:
    return robot.mass * np.array([0.0, 0.0, 0.0, *dynamics.GRAVITY])


def about_com(robot: Robot, q: ndarray) -> Transform:
    """Return the pose of the base in a frame at the centre of mass with world axes."""
    return Transform(to_rotation(q[3:7]), q[:3] - kinematics.center_of_mass(robot, q))


def momentum_rate(robot: Robot, q: ndarray, v: ndarray, a: ndarray) -> ndarray:
    """Return d(A v)/dt about the centre of mass, with A differentiated along the motion."""
    turning = rate_along(robot, lambda x: dynamics.momentum_matrix(robot, x), q, v) @ v
    return dynamics.momentum_matrix(robot, q) @ a + turning


_SIDES = 16


def largest_acceleration(
    robot: Robot, q: Float[ndarray, "nq"], direction: Float[ndarray, "6"], friction: float | None, limited: bool
) -> float:
    """Return the largest acceleration of a level base along a direction (angular, linear), at rest on all feet.

    friction: coefficient; None for a ground that transmits any force. limited: whether motors have limits. Infinite
    without a bound.
    """
    n, m, nj = robot.nv, 3 * robot.nf, robot.nj
    M, J, h = mass_matrix(robot, q), contact_jacobian(robot, q), bias_terms(robot, q, np.zeros(robot.nv))
    # unknowns: acceleration along the direction, joint accelerations, forces, torques
    base = np.zeros((n, 1 + nj))
    base[:6, 0], base[6:, 1:] = direction, np.eye(nj)
    S = np.concatenate([np.zeros((6, nj)), np.eye(nj)])
    equal = np.block([[M @ base, -J.T, -S], [J @ base, np.zeros((m, m)), np.zeros((m, nj))]])
    limits = np.array([_limit(robot, name) if limited else np.inf for name in robot.joint_names])
    bounds = [(None, None)] * (1 + nj + m) + [(-limit, limit) for limit in limits]
    cone = np.zeros((0, equal.shape[1]))
    if friction is not None:
        forces = _pyramids(robot.nf, friction)
        cone = np.concatenate([np.zeros((len(forces), 1 + nj)), forces, np.zeros((len(forces), nj))], axis=1)
    return _most(equal, np.concatenate([-h, np.zeros(m)]), cone, bounds)


def largest_com_acceleration(
    robot: Robot, q: Float[ndarray, "nq"], direction: Float[ndarray, "3"], friction: float | None
) -> float:
    """Return the largest acceleration of the centre of mass along a direction by foot forces without moment."""
    levers = foot_positions(robot, q) - center_of_mass(robot, q)
    W = np.concatenate([np.concatenate([skew(r) for r in levers], axis=1), np.tile(np.eye(3), (1, robot.nf))])
    wanted = np.concatenate([np.zeros(3), robot.mass * direction])
    equal = np.concatenate([-wanted[:, None], W], axis=1)
    cone = np.zeros((0, equal.shape[1]))
    if friction is not None:
        forces = _pyramids(robot.nf, friction)
        cone = np.concatenate([np.zeros((len(forces), 1)), forces], axis=1)
    weight = robot.mass * np.array([0.0, 0.0, 0.0, *GRAVITY])
    return _most(equal, -weight, cone, [(None, None)] * equal.shape[1])


def _pyramids(feet: int, friction: float) -> Float[ndarray, "rows forces"]:
    """Return the rows of the friction pyramids of all feet: row @ forces <= 0."""
    angles = 2 * np.pi * np.arange(_SIDES) / _SIDES
    one = np.stack([np.cos(angles), np.sin(angles), np.full(_SIDES, -friction * np.cos(np.pi / _SIDES))], axis=1)
    return np.kron(np.eye(feet), one)


def _most(equal: ndarray, right: ndarray, cone: ndarray, bounds: list[tuple[float | None, float | None]]) -> float:
    """Return the maximum of the first unknown; infinite without a bound."""
    goal = np.zeros(equal.shape[1])
    goal[0] = -1.0
    found = linprog(goal, cone, np.zeros(len(cone)), equal, right, bounds=bounds, method="highs")
    return float(-found.fun) if found.status == 0 else np.inf


def _limit(robot: Robot, joint: str) -> float:
    return next((actuator.torque_limit for actuator in robot.actuators if actuator.joint == joint), np.inf)


FRICTION = 0.6


def fact1(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    def one(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> float:
        x = dynamics.forward_dynamics(robot, q, v, tau[6:])
        return error(momentum_rate(robot, q, v, x), weight(robot))

    robot, q, v, _, tau = every(robots, states)[0]
    rest = dynamics.forward_dynamics(robot, q, v, 0.0 * tau[6:])
    push = dynamics.forward_dynamics(robot, q, v, 10.0 * np.sign(tau[6:])) - rest
    return assess(
        "fact1_torque_does_not_reach_base_row",
        worst(one, every(robots, states)),
        "in flight, torques of the size of the weight: the rate of total momentum is always the weight; through M_bj"
        f" they still move the base against the legs (10 N m at every joint of {robot.name}:"
        f" {np.linalg.norm(push[3:6]):.0f} m/s² at the base's origin)",
    )


def fact2(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    errors, ranks = [], {}
    for robot, q, v, _, tau in every(robots, states):
        A, J = dynamics.momentum_matrix(robot, q), contact_jacobian(robot, q)
        turning = momentum_rate(robot, q, v, np.zeros(robot.nv))
        levers = kinematics.foot_positions(robot, q) - kinematics.center_of_mass(robot, q)
        for mode in all_modes(robot):
            x, f = constrained_dynamics(robot, q, v, tau[6:], mode)
            pushed = np.concatenate([np.cross(levers, f).sum(axis=0), f.sum(axis=0)])
            errors.append(error(A @ x + turning, pushed + weight(robot)))
            ranks[int(mode.sum())] = int(np.linalg.matrix_rank(J[np.repeat(mode, 3) > 0, :6], tol=1e-9))
    reach = ", ".join(f"{rank} with {count}" for count, rank in sorted(ranks.items()))
    return assess(
        "fact2_base_moved_by_contact_forces",
        worst(errors),
        "rate of momentum about the centre of mass = moments and forces of the feet + weight, with random torques, in"
        f" all modes; of the six base rows the feet reach {reach} standing",
    )


def fact4(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    ahead, below = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, -1.0])
    rows: list[tuple[str, float, float, float]] = []
    for robot in robots:
        q = robot.state("stand")[0]
        forward, down = (largest_com_acceleration(robot, q, d, FRICTION) for d in (ahead, below))
        rows.append((robot.name, forward, down, largest_com_acceleration(robot, q, ahead, None)))
    words = "; ".join(f"{name} {forward:.2f} and {down:.2f}" for name, forward, down, _ in rows)
    return assess(
        "fact4_contact_forces_limited",
        max(forward for _, forward, _, _ in rows),
        "largest acceleration of the centre of mass, forward and downward, with all feet standing and no change of"
        f" angular momentum, friction μ = {FRICTION} and a ground that cannot pull (linear program) [m/s²]: {words};"
        f" bounds μ g = {FRICTION * STANDARD:.2f} and g. With a ground that can also pull there is no bound",
        holds=all(
            forward <= 1.0001 * FRICTION * STANDARD and down <= 1.0001 * STANDARD and np.isinf(free)
            for _, forward, down, free in rows
        ),
    )


def fact5(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    up = np.array([0, 0, 0, 0, 0, 1.0])
    rows: list[tuple[str, float, float]] = []
    for robot in robots:
        q = robot.state("stand")[0]
        limited, free = (largest_acceleration(robot, q, up, FRICTION, limited=x) for x in (True, False))
        rows.append((robot.name, limited, free))
    words = "; ".join(f"{name} {limited:.1f}" for name, limited, _ in rows)
    return assess(
        "fact5_joint_torque_limited",
        max(limited for _, limited, _ in rows),
        f"largest upward acceleration of a level base with all feet still, by the motors' limits [m/s²]: {words};"
        " without limits there is no bound",
        holds=all(np.isfinite(limited) and np.isinf(free) for _, limited, free in rows),
    )


def fact6(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    def one(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> float:
        rows = dynamics.inverse_dynamics(robot, q, v, a)[:6]
        return error(about_com(robot, q).wrench_to_parent(rows), momentum_rate(robot, q, v, a) - weight(robot))

    return assess(
        "fact6_base_rows_are_newton_euler",
        worst(one, every(robots, states)),
        "base rows of inverse dynamics, moved to the centre of mass, against the rate of linear and angular momentum"
        " (differentiated along the motion) minus the weight, for random accelerations",
    )


def fact7(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    errors = []
    for robot, q, v, a, _ in every(robots, states):
        J, turning = contact_jacobian(robot, q), kinematics.feet_bias_acceleration(robot, q, v)[:, 3:].reshape(-1)
        for mode in all_modes(robot):
            if mode.sum() >= 3:
                rows = np.repeat(mode, 3) > 0
                x = np.array(a)
                x[6:] += np.linalg.lstsq(J[rows, 6:], -turning[rows] - J[rows] @ x, rcond=None)[0]
                if np.abs(J[rows] @ x + turning[rows]).max() > 1e-9:
                    continue  # a straight leg cannot follow the given base motion
                need = dynamics.inverse_dynamics(robot, q, v, x)
                f = np.zeros(3 * robot.nf)
                f[rows] = np.linalg.lstsq(J[rows, :6].T, need[:6], rcond=None)[0]  # stage 1: base rows
                torques = need[6:] - J[:, 6:].T @ f  # stage 2: joint rows
                back = constrained_dynamics(robot, q, v, torques, mode)
                errors.append(max(error(back[0], x), error(back[1].reshape(-1), f)))
    return assess(
        "fact7_two_stages",
        worst(errors),
        "random accelerations of the base with 3 or 4 feet down; stage 1 finds the least forces for them, stage 2 the"
        f" torques; in the KKT system, these torques give the same accelerations and contact forces ({len(errors)}"
        " stances)",
    )


def jcb_structure(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    def one(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> float:
        R, x_b = to_rotation(q[3:7]), q[:3]
        found, requested = [], []
        for J, x_f in zip(kinematics.feet_jacobian(robot, q), kinematics.foot_positions(robot, q)):
            turned = np.concatenate([J[[3, 4, 5, 0, 1, 2], 3:6] @ R.T, J[[3, 4, 5, 0, 1, 2], :3] @ R.T], axis=1)
            found.append(turned)
            lever = -skew(x_f - x_b)
            requested.append(np.block([[np.eye(3), lever], [np.zeros((3, 3)), np.eye(3)]]))
        return error(np.array(found), np.array(requested))

    return assess(
        "jcb_structure",
        worst(one, every(robots, states)),
        "base columns of the foot Jacobians by the support path, rotated to world axes and (linear, angular) order",
    )


def gravity(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    def one(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> float:
        g = np.concatenate([np.zeros(3), to_rotation(q[3:7]).T @ np.array(dynamics.GRAVITY), np.zeros(robot.nj)])
        return error(-dynamics.mass_matrix(robot, q) @ g, dynamics.gravity_terms(robot, q))

    return assess(
        "gravity_is_minus_M_g",
        worst(one, every(robots, states)),
        "Algorithm 3 against the mass matrix; with velocities in base axes, g is rotated into these",
    )


def momentum_rows(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    def one(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> float:
        M, X = dynamics.mass_matrix(robot, q), about_com(robot, q)
        moved = np.stack([X.wrench_to_parent(column) for column in M[:6].T], axis=1)
        locked = M[:6, :6] @ v[:6]
        still = np.concatenate([v[:6], np.zeros(robot.nj)])
        whole = X.wrench_to_child(dynamics.momentum(robot, q, still))
        return max(error(moved, dynamics.momentum_matrix(robot, q)), error(locked, whole))

    return assess(
        "momentum_rows",
        worst(one, every(robots, states)),
        "rows moved to the centre of mass against the centroidal momentum matrix, summed body by body; M_b against the"
        " momentum of the robot moving as one rigid body",
    )


def skew_property(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    right: list[float] = []
    printed: list[float] = []
    for robot, q, v, _, _ in every(robots, states):
        C, M = dynamics.coriolis_matrix(robot, q, v), dynamics.mass_matrix(robot, q)
        change = rate_along(robot, lambda x, robot=robot: dynamics.mass_matrix(robot, x), q, v)  # type: ignore[misc]
        for S, found in ((change - 2 * C, right), (M - 2 * C, printed)):
            found.append(float(np.abs(S + S.T).max() / max(np.abs(S).max(), 1e-300)))
    return assess(
        "skew",
        max(right),
        "S = dM/dt - 2C, dM/dt by differentiation along the motion. Our copy of the slides, converted from handwriting,"
        f" has M - 2C, for which |S + Sᵀ| / |S| is {min(printed):.2g} at least: no choice of C makes it skew. The same"
        " copy has ẍ for ẋ in the base's velocity, C q̈ for C q̇ and q̇ for q in the minimal coordinates: it loses and"
        " adds dots, so this is not counted against the slides",
    )


def energy(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    def one(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> float:
        half = 0.5 * v @ dynamics.mass_matrix(robot, q) @ v
        return abs(dynamics.kinetic_energy(robot, q, v) - half) / half

    return assess(
        "kinetic_energy",
        worst(one, every(robots, states)),
        "link by link (rotors included) against the mass matrix",
    )
