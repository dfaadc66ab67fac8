"""Identities of screws and of robots in contact, as in ``laws`` for free robots.

Each uses only a few states (``samples``): one costs ten times as much as forward dynamics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy import ndarray

from footfall import dynamics, kinematics
from footfall.dynamics.formalisms import constrained, contact_sets, reduced, screw_system
from footfall.dynamics.formalisms.modes import all_modes
from footfall.dynamics.random_states import holds
from footfall.kinematics.iterative import product_of_exponentials
from footfall.robot.model.description import Foot, Robot
from footfall.spatial import screw
from footfall.spatial.rotation import about_axis

Sides = tuple[ndarray, ndarray] | None
Law = Callable[[Robot, ndarray, ndarray, ndarray, ndarray], Sides]
_SLOPE = about_axis(np.array([0.48, 0.6, -0.64]), 0.5)  # axes of a ground on which feet roll
_FEW = 8
_BY = ("sparse", "dense", "structure")


SAMPLES: dict[Law, int] = {}  # states for laws that take long


def _few(law: Law) -> Law:
    SAMPLES[law] = _FEW
    return law


def _standing(robot: Robot, q: ndarray) -> ndarray | None:
    """Return the feasible mode with the most feet down, or None."""
    return next(iter(_held(robot, q)), None)


def _held(robot: Robot, q: ndarray) -> list[ndarray]:
    """Return at most four feasible modes, those with most feet first, single feet included."""
    J = kinematics.feet_jacobian(robot, q)[:, 3:]
    found = [mode for mode in sorted(all_modes(robot), key=lambda mode: -mode.sum()) if mode.any() and holds(J, mode)]
    return found[:1] + [mode for mode in found[1:] if mode.sum() == 1][:3]


@_few
def screw_velocities_are_consistent(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """Exponential and logarithm are inverse for all rotations; adjoints transform screws as poses do frames."""
    found: list[ndarray] = []
    requested: list[ndarray] = []
    along = np.resize(v, 6)
    for angle in (0.0, 1e-9, 1e-3, 0.7, 3.0):
        twist = along * np.concatenate([np.full(3, angle / np.sqrt(along[:3] @ along[:3])), np.ones(3)])
        X = screw.exponential(twist)
        half = screw.exponential(0.5 * twist)
        found += [screw.logarithm(X), (half @ half).R.ravel(), (half @ half).p]
        requested += [twist, X.R.ravel(), X.p]
    turned = screw.exponential(along)
    at = about_axis(along[:3] / np.sqrt(along[:3] @ along[:3]), float(np.sqrt(along[:3] @ along[:3])))
    W, V = np.resize(tau, 6) / np.abs(tau).max(), np.resize(a, 6)
    found += [turned.R.ravel(), screw.adjoint(turned) @ V, screw.coadjoint(turned) @ W]
    requested += [at.ravel(), turned.to_parent(V), turned.wrench_to_parent(W)]
    return np.concatenate(found), np.concatenate(requested)


@_few
def constraint_screws_do_no_work(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """Constraints are reciprocal to a joint's motion, its motor is not; together they are an orthonormal basis.

    Forces of a spherical joint do no work in any rotation about its centre, and span all of its velocity.
    """
    found: list[ndarray] = []
    requested: list[ndarray] = []
    for body in robot.tree.bodies[1:]:
        motion = screw.motion_screw(body.kind, body.axis)[:, None]
        held, drive = screw.constraint_screws(body.kind, body.axis), screw.drive_screw(body.kind, body.axis)[:, None]
        wrenches = np.concatenate([held, drive], axis=1)
        found += [screw.reciprocal(wrenches, motion)[:, 0], (wrenches.T @ wrenches).ravel()]
        requested += [np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), np.eye(6).ravel()]
    point = np.resize(a, 3)
    turns = np.concatenate([np.eye(3), np.cross(point, np.eye(3))], axis=1).T  # about the point, at the origin
    shifts = np.concatenate([np.zeros((3, 3)), np.eye(3)])
    forces = screw.spherical_screws(point)
    found += [screw.reciprocal(forces, turns).ravel(), screw.reciprocal(forces, shifts).ravel()]
    requested += [np.zeros(9), np.eye(3).ravel()]
    return np.concatenate(found), np.concatenate(requested)


@_few
def screw_poses_match_forward_kinematics(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """The product of exponentials equals forward kinematics; the screw Jacobian gives every body's twist."""
    X_W0 = kinematics.base_pose(robot, q)
    poses = [X_W0 @ X_0B for X_0B in product_of_exponentials.screw_poses(robot, q)]
    chain = kinematics.body_poses(robot, q)
    twists, speeds = [], kinematics.body_velocities(robot, q, v)
    for i, X_WB in enumerate(chain):
        at_base = product_of_exponentials.screw_jacobian(robot, q, i) @ v
        twists.append(at_base)
        speeds[i] = (X_W0.inverse() @ X_WB).to_parent(speeds[i])
    found = [*(np.concatenate([X.R.ravel(), X.p]) for X in poses), *twists]
    requested = [*(np.concatenate([X.R.ravel(), X.p]) for X in chain), *speeds]
    return np.concatenate(found), np.concatenate(requested)


@_few
def stance_feet_follow_their_feedback(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """M a + h = τ + Jᵀf and J a + dJ/dt v = -k_d J v - k_p (p - anchor), for fixed feet and feet rolling on a slope."""
    mode = _standing(robot, q)
    if mode is None:
        return None
    rows = np.repeat(mode, 3) > 0
    anchors = kinematics.foot_positions(robot, q) + np.resize(a, (robot.nf, 3))
    found: list[ndarray] = []
    requested: list[ndarray] = []
    for frame, R_WC in (("world", None), ("contact", _SLOPE)):
        J = constrained.contact_jacobian(robot, q, frame, R_WC)
        if not holds(J.reshape(robot.nf, 3, robot.nv), mode):
            continue
        x, f = constrained.constrained_dynamics(
            robot, q, v, tau, mode, stabilisation=(300.0, 40.0), anchors=anchors, frame=frame, R_WC=R_WC
        )
        turning = kinematics.feet_bias_acceleration(robot, q, v, frame, R_WC)[:, 3:].reshape(-1)
        axes = np.eye(3) if R_WC is None else R_WC
        away = (axes.T @ (kinematics.foot_positions(robot, q) - anchors).T).T.reshape(-1)
        found += [(J @ x + turning)[rows], dynamics.inverse_dynamics(robot, q, v, x) - J.T @ f.reshape(-1)]
        requested += [(-40.0 * (J @ v) - 300.0 * away)[rows], tau]
    return (np.concatenate(found), np.concatenate(requested)) if found else None


@_few
def touchdown_stops_the_feet(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """J v⁺ = 0 and M (v⁺ - v) = JᵀΛ; a damped touchdown leaves the fraction of velocity that its damping specifies."""
    J, M = constrained.contact_jacobian(robot, q), dynamics.mass_matrix(robot, q)
    found: list[ndarray] = []
    requested: list[ndarray] = []
    for k, mode in enumerate(_held(robot, q)):
        rows, damping = np.repeat(mode, 3) > 0, 0.3 * (k % 2)
        after, impulse = constrained.impact_map(robot, q, v, mode, damping=damping)
        push = impulse.reshape(-1)
        slack = damping * np.trace(constrained.delassus_matrix(robot, q)[np.ix_(rows, rows)]) / len(rows)
        found += [(J @ after)[rows], M @ (after - v), push[~rows], reduced.reduced_touchdown(robot, q, v, mode)]
        undamped = constrained.impact_map(robot, q, v, mode)[0]
        requested += [-slack * push[rows], J.T @ push, np.zeros(int((~rows).sum())), undamped]
    return (np.concatenate(found), np.concatenate(requested)) if found else None


@_few
def a_foot_counted_twice_shares_its_force(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """An over-constrained stance has the same motion, with half of the force each, by three formalisms."""
    mode = _standing(robot, q)
    if mode is None:
        return None
    k = int(np.argmax(mode))
    foot = robot.feet[k]
    twin = replace(
        robot,
        feet=(Foot(name="counted twice", link=foot.link, position=foot.position, radius=foot.radius), *robot.feet),
    )
    x, f = constrained.constrained_dynamics(robot, q, v, tau, mode)
    shared = np.concatenate([0.5 * f[k : k + 1], f])
    shared[k + 1] *= 0.5
    twice = np.append(1.0, mode)
    stance = contact_sets.stance_dynamics(twin, q, v, tau, twice)
    less = reduced.reduced_dynamics(twin, q, v, tau, twice)
    links = screw_system.screw_forward_dynamics(twin, q, v, tau, twice)
    once = screw_system.screw_forward_dynamics(robot, q, v, tau, mode)
    report = stance.contacts
    count = 3.0 * float(mode.sum())
    pattern = np.abs(report.patterns).sum(axis=(0, 2)) > 1e-9
    found = [stance.a, less[0], links.a, stance.forces.ravel(), less[1].ravel(), links.foot_forces.ravel()]
    requested = [x, x, x, shared.ravel(), shared.ravel(), shared.ravel()]
    counts = [report.rows, report.rank, report.redundancy, report.mobility, links.redundancy, once.redundancy]
    found.append(np.array([*counts, *pattern], dtype=float))
    standing = [name for name, stands in zip(twin.foot_names, twice) if stands]
    requested.append(
        np.array(
            [count + 3, count, 3, robot.nv - count, 3, 0, *(name in (foot.name, "counted twice") for name in standing)]
        )
    )
    return np.concatenate(found), np.concatenate(requested)


@_few
def condition_numbers_of_contact_sets_are_correct(
    robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray
) -> Sides:
    """Singular values are roots of the Delassus matrix's eigenvalues; base rows give the number of internal forces."""
    mode = _standing(robot, q)
    if mode is None:
        return None
    rows = np.repeat(mode, 3) > 0
    report = contact_sets.check_stance(robot, q, mode)
    values = np.linalg.eigvalsh(constrained.delassus_matrix(robot, q)[np.ix_(rows, rows)])[::-1]
    held = 0
    if robot.floating:
        held = int(np.linalg.matrix_rank(constrained.contact_jacobian(robot, q)[rows, :6], tol=1e-9))
    flight = contact_sets.contact_set(robot, q, np.zeros(robot.nf))
    found = [report.singular_values, np.array([report.conditioning / 1e3, report.internal, flight.conditioning])]
    requested = [np.sqrt(values), np.array([values[0] / values[-1] / 1e3, rows.sum() - held, 1.0])]
    return np.concatenate(found), np.concatenate(requested)


@_few
def torques_are_recovered_from_foot_forces(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> Sides:
    """Inverse dynamics undoes forward dynamics: with measured forces, and without them with the least forces."""
    mode = _standing(robot, q)
    if mode is None:
        return None
    base = robot.nv - robot.nj
    torques = tau[base:]
    x, f = constrained.constrained_dynamics(robot, q, v, torques, mode)
    measured = screw_system.screw_inverse_dynamics(robot, q, v, x[base:], foot_forces=f)
    ways = (screw_system.screw_forward_dynamics(robot, q, v, torques, mode, solver=s) for s in _BY)
    found, requested = [measured.a, measured.torques, *(way.a for way in ways)], [x, torques, *([x] * len(_BY))]
    if base:
        both = screw_system.screw_inverse_dynamics(robot, q, v, x[base:], f, base_acceleration=x[:6])
        found += [both.reactions[0], both.torques]
        requested += [np.zeros(6), torques]
    least = screw_system.screw_inverse_dynamics(robot, q, v, x[base:], mode=mode)
    J = constrained.contact_jacobian(robot, q)
    needed = dynamics.inverse_dynamics(robot, q, v, x)
    patterns = _null(J[np.repeat(mode, 3) > 0, :base].T) if base else np.eye(3 * int(mode.sum()))
    found += [least.a, J.T @ least.foot_forces.ravel() + np.concatenate([np.zeros(base), least.torques])]
    requested += [x, needed]
    found += [patterns.T @ least.foot_forces[mode > 0].ravel(), np.array([float(least.redundancy)])]
    requested += [np.zeros(patterns.shape[1]), np.array([float(patterns.shape[1])])]
    return np.concatenate(found), np.concatenate(requested)


def _null(A: ndarray) -> ndarray:
    """Return a basis of the null space of A."""
    _, sizes, rows = np.linalg.svd(A, full_matrices=True)
    rank = int((sizes > 1e-9 * sizes.max(initial=1e-300)).sum())
    return rows[rank:].T


STANCE_LAWS: tuple[Law, ...] = (
    screw_velocities_are_consistent,
    constraint_screws_do_no_work,
    screw_poses_match_forward_kinematics,
    stance_feet_follow_their_feedback,
    touchdown_stops_the_feet,
    a_foot_counted_twice_shares_its_force,
    condition_numbers_of_contact_sets_are_correct,
    torques_are_recovered_from_foot_forces,
)
