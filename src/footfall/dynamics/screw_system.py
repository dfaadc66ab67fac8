"""All links and all constraint screws in one sparse system: eqs. (16)-(19) of Yan et al. 2021.

    [ -I  C ] [ a ]   [ f_p ]      f_p = v ⊛ I v - I g - f_e,   c_a = (0; joint accelerations) - dCᵀ/dt v
    [ Cᵀ  0 ] [ η ] = [ c_a ]

a are the spatial accelerations of all links and η the magnitudes of all wrenches between them, so that every joint's
reaction comes with the answer. Formulated without recursion: shares the robot's numbers and rotations with the other
algorithms, and nothing else.

Erratum of eq. (19): with two or more feet down the inverse problem has many solutions, internal forces that joint
torques balance (a trot's C is 84 x 84 of rank 83). Three questions have answers: forward dynamics with torques given;
inverse dynamics with measured foot forces, as the paper does; and the solution of least foot forces, said to be so.

Numbers and symbols alike are solved by structure (``screw_structure``); ``sparse`` and ``dense`` solve the system as it
is printed, as referees, and the least foot forces of a redundant stance need it whole: numbers alone.

Rotors, which the paper does not have, couple links: armature J adds J d dᵀ to I, with d the drive's column of C; an
exact rotor with momentum h in link i, geared to joint k, adds u dᵀ + d uᵀ, with u the couple h on link i.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from jaxtyping import Float
from numpy import ndarray

from footfall.dynamics.checks import check_finite
from footfall.dynamics.forward_dynamics import generalised
from footfall.dynamics.screw_matrix import Column, Links, assembled, columns_of, grounded, links_of, weights_and_turning
from footfall.dynamics.screw_structure import Known, Solved, solve_by_structure
from footfall.errors import InputError, unknown
from footfall.gravity import GRAVITY
from footfall.kinematics.forward import check_shape
from footfall.kinematics.product_of_exponentials import screw_feet_jacobian
from footfall.numeric import tracer
from footfall.robot.model.description import Robot
from footfall.spatial import cross
from footfall.spatial.screw import spherical_screws

Gravity = Float[ndarray, "3"] | tuple[float, float, float]
SOLVERS = ("structure", "sparse", "dense")
_RANK = 1e-9  # singular values beside the largest that count as zero
_ROUNDING = 1e-12  # the same for the whole system, which holds light links beside heavy ones
_CONSISTENT = 1e-8  # residual of constraints that do not contradict each other, beside the largest right-hand side


@dataclass(frozen=True)
class ScrewSolution:
    """Everything that the system determines.

    ``reactions[i]``: the wrench (n, f) that joint i passes on to body i, at the body's origin in its axes; entry 0 is
    what holds a fixed base, or what the motion of a free one would need beyond the forces given (inverse dynamics with
    the base's acceleration given). ``redundancy`` counts independent patterns of internal forces: where it is not zero
    the foot forces are the least in norm and torques and reactions belong to them.
    """

    a: Float[ndarray, "nv"]
    torques: Float[ndarray, "nj"]
    foot_forces: Float[ndarray, "nf 3"]
    reactions: Float[ndarray, "nb 6"]
    redundancy: int = 0

    @property
    def unique(self) -> bool:
        return self.redundancy == 0


def screw_forward_dynamics(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    tau: Float[ndarray, "nj"],
    mode: Float[ndarray, "nf"] | None = None,
    gravity: Gravity = GRAVITY,
    solver: str = "structure",
) -> ScrewSolution:
    """Torques given, feet of the mode held: accelerations, foot forces and all joint reactions.

    In a trace the feet that stand must not depend on each other (``dynamics.contact_set`` says whether they do).
    """
    mode = np.zeros(robot.nf) if mode is None else np.asarray(mode)
    check_shape(robot, mode=(mode, robot.nf))
    traced, force, base = tracer.get() is not None, generalised(robot, tau), robot.nv - robot.nj
    if not traced:
        check_finite(robot, q=q, v=v, tau=tau, mode=mode)
    if traced or _by_structure(solver, _redundant_rows(robot, q, mode)):
        none = np.zeros(robot.nj)
        known = Known(force, none, none, mode, np.zeros((robot.nf, 3)))
        return _solution(solve_by_structure(robot, q, v, known, gravity))
    links = links_of(robot, q, v)
    columns = columns_of(robot, links, mode)
    held = [column for column in columns if column.kind != "drive"]
    drives = [column for column in columns if column.kind == "drive"]
    C, D = (assembled(robot, part, grounded(robot, mode)) for part in (held, drives))
    ground = 6 if grounded(robot, mode) else 0
    inertia = _with_rotors(robot, links, _inertias(links, ground), D.toarray(), ground)
    f_p = _stacked(weights_and_turning(robot, links, gravity), ground) - D @ force[base:]
    f_p += _spin_wrenches(robot, links, np.zeros(robot.nj), ground)
    if robot.floating:
        f_p[ground : ground + 6] -= links.poses[0].wrench_to_parent(force[:6])
    c_a = -np.concatenate([np.zeros(0), *(column.bias for column in held)])
    redundancy = _redundant_rows(robot, q, mode)
    acceleration, eta = _solved(inertia, C, f_p, c_a, solver, redundancy, held)
    joints = D.T @ acceleration  # dDᵀ/dt v is zero: a joint's two links turn its axis alike
    passed = force[base:] - _rotor_torques(robot, links, joints, acceleration, ground)
    return _read(robot, links, held + drives, np.concatenate([eta, passed]), acceleration, joints, force[base:],
                 ground, redundancy)  # fmt: skip


def screw_inverse_dynamics(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    joint_accelerations: Float[ndarray, "nj"],
    foot_forces: Float[ndarray, "nf 3"] | None = None,
    base_acceleration: Float[ndarray, "6"] | None = None,
    mode: Float[ndarray, "nf"] | None = None,
    gravity: Gravity = GRAVITY,
    solver: str = "structure",
) -> ScrewSolution:
    """Torques and reactions for joint accelerations, in one of three ways.

    - ``foot_forces`` measured [N, on the robot, world axes]: unique, and the base's acceleration is part of the answer.
    - ``base_acceleration`` too, from an IMU (spatial, base axes): ``reactions[0]`` is the wrench on the base that the
      measured forces do not explain; without foot forces, the base rows of inverse dynamics.
    - a ``mode`` instead of measurements: feet are held, and the least foot forces are taken of all that do it; of
      numbers, not in a trace.
    """
    traced = tracer.get() is not None
    _check_inverse(robot, joint_accelerations, foot_forces, base_acceleration, mode, traced)
    stands = np.zeros(robot.nf) if mode is None else np.asarray(mode, dtype=float)
    check_shape(robot, mode=(stands, robot.nf))
    if not traced:
        check_finite(robot, q=q, v=v, mode=stands, joint_accelerations=joint_accelerations,
                     foot_forces=foot_forces, base_acceleration=base_acceleration)  # fmt: skip
    if traced or (mode is None and _by_structure(solver, 0)):
        forces = np.zeros((robot.nf, 3)) if foot_forces is None else foot_forces
        known = Known(np.zeros(robot.nv), joint_accelerations, np.ones(robot.nj), stands, forces, base_acceleration)
        return _solution(solve_by_structure(robot, q, v, known, gravity))
    links = links_of(robot, q, v)
    columns = columns_of(robot, links, stands)
    ground = 6 if grounded(robot, stands) else 0
    if base_acceleration is not None:
        columns.append(Column("imu", "base", 0, None, np.eye(6), np.zeros(6)))
    C = assembled(robot, columns, bool(ground))
    f_p = _stacked(weights_and_turning(robot, links, gravity), ground)
    f_p += _spin_wrenches(robot, links, joint_accelerations, ground)
    if foot_forces is not None:
        f_p -= _foot_wrenches(robot, links, foot_forces, ground)
    given = {"drive": joint_accelerations}
    if base_acceleration is not None:
        given["imu"] = links.poses[0].to_parent(base_acceleration)
    c_a = -np.concatenate([np.zeros(0), *(column.bias for column in columns)])  # eq. (17)
    for kind, values in given.items():
        c_a[_places(columns, kind)] = values
    redundancy = _internal_forces(robot, links, stands)
    acceleration, eta = _solved(_inertias(links, ground), C, f_p, c_a, solver, redundancy, columns)
    drives = np.array([eta[k] for k in _places(columns, "drive")])
    torques = drives + _rotor_torques(robot, links, joint_accelerations, acceleration, ground)
    found = _read(robot, links, columns, eta, acceleration, joint_accelerations, torques, ground, redundancy)
    if foot_forces is None:
        return found
    return ScrewSolution(found.a, found.torques, np.asarray(foot_forces, dtype=float), found.reactions, redundancy)


# -- right-hand sides --------------------------------------------------------------------------------------------------
def _foot_wrenches(robot: Robot, links: Links, forces: ndarray, ground: int) -> ndarray:
    """f_e: measured forces at the feet's centres as wrenches on their links."""
    out = np.zeros(ground + 6 * len(links.poses))
    for i, p, force in zip(robot.tree.feet, robot.tree.foot_positions, forces):
        at = ground + 6 * i
        out[at : at + 6] += np.concatenate([cross(links.poses[i].point(p), force), force])
    return out


# -- rotors ------------------------------------------------------------------------------------------------------------
def _with_rotors(robot: Robot, links: Links, inertia: ndarray, D: ndarray, ground: int) -> ndarray:
    """Inertia of all links with the couplings that rotors make while joint accelerations are unknown."""
    inertia = inertia + (D * np.array([body.armature for body in robot.tree.bodies[1:]])) @ D.T
    for i, body in enumerate(robot.tree.bodies):
        for spin in body.spins:
            u, d = np.zeros(len(inertia)), D[:, spin.joint - 1]
            u[ground + 6 * i : ground + 6 * i + 3] = links.poses[i].R @ spin.momentum
            inertia = inertia + np.outer(u, d) + np.outer(d, u)
    return inertia


def _spin_wrenches(robot: Robot, links: Links, joint_accelerations: ndarray, ground: int) -> ndarray:
    """What exact rotors ask of the links that carry them: the rate of their momentum h θ̇."""
    out = np.zeros(ground + 6 * len(links.poses))
    for i, body in enumerate(robot.tree.bodies):
        for spin in body.spins:
            h, k, at = links.poses[i].R @ spin.momentum, spin.joint - 1, ground + 6 * i
            out[at : at + 3] += h * joint_accelerations[k] + cross(links.twists[i][:3], h) * links.rates[k]
    return out


def _rotor_torques(robot: Robot, links: Links, joint_accelerations: ndarray, a: ndarray, ground: int) -> ndarray:
    """What rotors ask of the motors: J θ̈, and h · α of the link that carries an exact one."""
    out = np.array([body.armature for body in robot.tree.bodies[1:]]) * joint_accelerations
    for i, body in enumerate(robot.tree.bodies):
        for spin in body.spins:
            at = ground + 6 * i
            out[spin.joint - 1] += (links.poses[i].R @ spin.momentum) @ a[at : at + 3]
    return out


# -- solving -----------------------------------------------------------------------------------------------------------
def _by_structure(solver: str, redundancy: int) -> bool:
    if solver not in SOLVERS:
        raise unknown("solver", solver, SOLVERS)
    return solver == "structure" and not redundancy


def _solution(found: Solved) -> ScrewSolution:
    return ScrewSolution(found.a, found.torques, found.foot_forces, found.reactions)


def _check_inverse(
    robot: Robot, joint_accelerations: ndarray, foot_forces: ndarray | None, base_acceleration: ndarray | None,
    mode: ndarray | None, traced: bool,
) -> None:  # fmt: skip
    """Refuse shapes and sets of arguments that make no problem with one solution."""
    check_shape(robot, joint_accelerations=(joint_accelerations, robot.nj))
    if mode is not None and (foot_forces is not None or base_acceleration is not None):
        raise InputError("inverse dynamics takes a mode, or measured foot forces and base acceleration, not both")
    if traced and mode is not None:
        raise InputError("a mode leaves the foot forces of inverse dynamics open: in a trace they must be given")
    if base_acceleration is not None and not robot.floating:
        raise InputError(f"robot '{robot.name}' has a fixed base, whose acceleration is zero")
    if base_acceleration is not None:
        check_shape(robot, base_acceleration=(base_acceleration, 6))
    if foot_forces is not None and np.shape(foot_forces) != (robot.nf, 3):
        shape = np.shape(foot_forces)
        raise InputError(f"foot_forces of robot '{robot.name}' must have shape ({robot.nf}, 3), got {shape}")


def _inertias(links: Links, ground: int) -> ndarray:
    """I = diag(I_ij), eq. (14); the ground's may be anything, since it is held."""
    return scipy.linalg.block_diag(*([np.eye(6)] if ground else []), *links.inertias)


def _stacked(wrenches: list[ndarray], ground: int) -> ndarray:
    return np.concatenate([np.zeros(ground), *wrenches])


def _solved(
    inertia: ndarray, C: scipy.sparse.csc_array, f_p: ndarray, c_a: ndarray, solver: str, redundancy: int,
    columns: list[Column],
) -> tuple[ndarray, ndarray]:  # fmt: skip
    """(a, η) of eq. (19)."""
    n, b = len(f_p), np.concatenate([f_p, c_a])
    if redundancy:
        return _least_norm(inertia, C, b, columns)
    if solver == "sparse":
        K = scipy.sparse.block_array([[-scipy.sparse.csc_array(inertia), C], [C.T, None]], format="csc")
        solve = scipy.sparse.linalg.splu(K).solve
    else:
        K = _dense(inertia, C)
        solve = partial(scipy.linalg.lu_solve, scipy.linalg.lu_factor(K))
    x = solve(b)
    x = x + solve(b - K @ x)  # light links beside heavy ones: one refinement takes the error down to rounding
    return x[:n], x[n:]


def _dense(inertia: ndarray, C: scipy.sparse.csc_array) -> ndarray:
    n, m = C.shape
    K = np.zeros((n + m, n + m))
    K[:n, :n], K[:n, n:] = -inertia, C.toarray()
    K[n:, :n] = K[:n, n:].T
    return K


def _least_norm(
    inertia: ndarray, C: scipy.sparse.csc_array, b: ndarray, columns: list[Column]
) -> tuple[ndarray, ndarray]:
    """Of all solutions of a redundant system the one with the least foot forces [N²], every other wrench to match."""
    K, n = _dense(inertia, C), C.shape[0]
    x = np.linalg.lstsq(K, b, rcond=_ROUNDING)[0]
    if np.abs(K @ x - b).max() > _CONSISTENT * max(float(np.abs(b).max()), 1.0):
        feet = ", ".join(column.name for column in columns if column.kind == "foot")
        raise InputError(
            f"over-constrained stance: the feet {feet} cannot all stand still in the motion asked for"
            " (let one of them go, or ask for accelerations that keep them where they are)"
        )
    internal, feet_rows = scipy.linalg.null_space(C.toarray(), rcond=_RANK), _places(columns, "foot")
    eta = x[n:]
    return x[:n], eta - internal @ np.linalg.lstsq(internal[feet_rows], eta[feet_rows], rcond=None)[0]


def _redundant_rows(robot: Robot, q: ndarray, mode: ndarray) -> int:
    """Dependent rows among the constraints of the standing feet (joints of a tree never depend on each other)."""
    J = screw_feet_jacobian(robot, q)[mode > 0, 3:].reshape(-1, robot.nv)
    return len(J) - _rank(J)


def _internal_forces(robot: Robot, links: Links, mode: ndarray) -> int:
    """Patterns of foot forces that make no wrench on the robot as a whole; joint torques can balance any of them."""
    tree = robot.tree
    points = [links.poses[tree.feet[k]].point(tree.foot_positions[k]) for k in range(robot.nf) if mode[k]]
    if not points:
        return 0
    W = np.concatenate([spherical_screws(p) for p in points], axis=1)
    return W.shape[1] - (_rank(W) if robot.floating else 0)  # a weld balances any wrench


def _rank(A: ndarray) -> int:
    if not A.size:
        return 0
    sizes = np.linalg.svd(A, compute_uv=False)
    return int((sizes > _RANK * max(float(sizes.max()), np.finfo(float).tiny)).sum())


# -- reading the answer ------------------------------------------------------------------------------------------------
def _places(columns: list[Column], kind: str) -> list[int]:
    """Numbers of the scalar columns of one kind."""
    out: list[int] = []
    at = 0
    for column in columns:
        width = column.W.shape[1]
        if column.kind == kind:
            out += range(at, at + width)
        at += width
    return out


def _read(
    robot: Robot, links: Links, columns: list[Column], eta: ndarray, acceleration: ndarray, joints: ndarray,
    torques: ndarray, ground: int, redundancy: int,
) -> ScrewSolution:  # fmt: skip
    """From the common frame to footfall's coordinates."""
    reactions, forces, at = np.zeros((len(links.poses), 6)), np.zeros((robot.nf, 3)), 0
    for column in columns:
        width = column.W.shape[1]
        size = eta[at : at + width]
        at += width
        if column.kind == "foot":
            forces[robot.foot_index(column.name)] = size
        elif column.kind != "fix":
            reactions[column.child] += links.poses[column.child].wrench_to_child(column.W @ size)
    base = [links.poses[0].to_child(acceleration[ground : ground + 6])] if robot.floating else []
    return ScrewSolution(
        np.concatenate([*base, joints]), np.asarray(torques, dtype=float), forces, reactions, redundancy
    )
