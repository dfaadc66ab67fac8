"""The constraint matrix C of a contact mode, block by block: eqs. (12)-(15), (20), (21) of Yan et al. 2021.

Rows are links, six each, the ground first where anything touches it. Columns are their connections: ``fix`` holds the
ground, ``weld`` a fixed base, ``foot`` is the spherical joint of a stance foot (three forces), ``constraint`` the five
wrenches that a joint transmits and ``drive`` that of its motor. A column has +W on the child and -W on the parent; the
ground is the parent of the feet, so that foot forces are forces *on the robot* (in the paper, on the ground). All
quantities are in one frame: world axes, with the origin at the base's present origin.

Errata. Eqs. (15), (20), (21) have -1 at r21 and m21 in the row of L11; leg 2 is attached to the body alone. Eq. (20) is
described as having legs 1, 2 and 4 on the ground and has the columns of legs 1 and 3. Here C follows from the tree and
the mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from numpy import ndarray

from footfall.dynamics.checks import check_finite
from footfall.dynamics.formalisms.screw_structure import Known, Solved, solve_by_structure
from footfall.dynamics.forward_dynamics import generalised
from footfall.errors import InputError, unknown
from footfall.kinematics.forward import base_pose, base_twist, check_shape, joint_rates
from footfall.kinematics.iterative.product_of_exponentials import screw_feet_jacobian, screw_poses
from footfall.robot.model.description import Robot
from footfall.spatial import Transform, cross, cross_force, cross_force_matrix
from footfall.spatial.gravity import GRAVITY
from footfall.spatial.screw import adjoint, coadjoint, constraint_screws, drive_screw, motion_screw, spherical_screws
from nptrace import is_tracing
from nptrace.array_types import Float

GROUND = -1  # index of the ground among the links


@dataclass(frozen=True)
class Links:
    """All links at one instant, in the common frame G: poses, twists, inertias (eq. 14), screws of their joints."""

    poses: list[Transform]
    twists: list[ndarray]
    inertias: list[ndarray]
    screws: list[ndarray]
    rates: ndarray


@dataclass(frozen=True, kw_only=True)
class Column:
    """One block column of C: the wrenches W on link ``child`` (and -W on ``parent``), and their bias dWᵀ/dt V."""

    kind: str
    name: str
    child: int
    parent: int | None
    W: Float[ndarray, "6 k"]
    bias: Float[ndarray, "k"]


def links_of(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Links:
    """Return poses by the product of exponentials, and twists by summing screws from the base outwards."""
    check_shape(robot, v=(v, robot.nv))
    X_G0, rates = Transform(base_pose(robot, q).R, np.zeros(3)), joint_rates(robot, v)
    poses = [X_G0 @ X_0B for X_0B in screw_poses(robot, q)]
    twists, screws = [adjoint(X_G0) @ base_twist(robot, v)], [np.zeros(6)]
    for i, body in enumerate(robot.tree.bodies[1:], start=1):
        screws.append(adjoint(poses[i]) @ motion_screw(body.kind, body.axis))
        twists.append(twists[body.parent] + screws[i] * rates[i - 1])
    inertias = []
    for X_GB, body in zip(poses, robot.tree.bodies):
        T = coadjoint(X_GB)
        inertias.append(T @ body.inertia.matrix() @ T.T)
    return Links(poses, twists, inertias, screws, rates)


def columns_of(robot: Robot, links: Links, mode: Float[ndarray, "nf"]) -> list[Column]:
    """Return the block columns of a mode, in the order of the paper: fix, s, r, m."""
    tree, out = robot.tree, []
    if grounded(robot, mode):
        out.append(Column(kind="fix", name="ground", child=GROUND, parent=None, W=np.eye(6), bias=np.zeros(6)))
    if not robot.floating:
        out.append(Column(kind="weld", name="base", child=0, parent=GROUND, W=np.eye(6), bias=np.zeros(6)))
    for foot, stands in enumerate(mode):
        if stands:
            out.append(_foot(robot, links, foot))
    for kind in ("constraint", "drive"):
        out += [_joint(robot, links, i, kind) for i in range(1, len(tree.bodies))]
    return out


def grounded(robot: Robot, mode: Float[ndarray, "nf"]) -> bool:
    """Return whether the ground is one of the links: in flight it is not, eq. (21)."""
    return not robot.floating or bool(np.any(mode))


def _foot(robot: Robot, links: Links, foot: int) -> Column:
    """Return a spherical joint at the centre of a stance foot. Its forces keep their axes and move with the point."""
    i, name = robot.tree.feet[foot], robot.foot_names[foot]
    p = links.poses[i].point(robot.tree.foot_positions[foot])
    omega, v = links.twists[i][:3], links.twists[i][3:]
    return Column(
        kind="foot", name=name, child=i, parent=GROUND, W=spherical_screws(p), bias=cross(omega, v + cross(omega, p))
    )


def _joint(robot: Robot, links: Links, i: int, kind: str) -> Column:
    """Return the wrenches that joint i transmits by its constraints or its motor: fixed in the child, so dW/dt = V ⊛
    W.
    """
    body = robot.tree.bodies[i]
    home = constraint_screws if kind == "constraint" else drive_screw
    W = (coadjoint(links.poses[i]) @ home(body.kind, body.axis)).reshape(6, -1)
    bias = (cross_force_matrix(links.twists[i]) @ W).T @ (links.screws[i] * links.rates[i - 1])
    return Column(
        kind=kind, name=body.joint.name if body.joint else body.name, child=i, parent=body.parent, W=W, bias=bias
    )


def assembled(robot: Robot, columns: list[Column], ground: bool) -> scipy.sparse.csc_array:
    """Return C as a sparse matrix: 6 links x all columns."""
    first = 6 if ground else 0
    rows, cols, values, at = [], [], [], 0
    for column in columns:
        width = column.W.shape[1]
        r, c = np.indices(column.W.shape)
        for link, sign in ((column.child, 1.0), (column.parent, -1.0)):
            if link is not None:
                rows.append((r + (first + 6 * link if link != GROUND else 0)).ravel())
                cols.append((c + at).ravel())
                values.append(sign * column.W.ravel())
        at += width
    shape = (first + 6 * len(robot.tree.bodies), at)
    if not rows:
        return scipy.sparse.csc_array(shape)
    found = scipy.sparse.coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))), shape=shape
    ).tocsc()
    found.eliminate_zeros()
    return found


def constraint_matrix(
    robot: Robot, q: Float[ndarray, "nq"], mode: Float[ndarray, "nf"]
) -> tuple[scipy.sparse.csc_array, list[str]]:
    """Return (C, names of its columns) of a mode: eq. (15) with all feet down, eq. (21) in flight."""
    links = links_of(robot, q, np.zeros(robot.nv))
    columns = columns_of(robot, links, mode)
    names = [f"{column.kind} {column.name}" for column in columns for _ in range(column.W.shape[1])]
    return assembled(robot, columns, grounded(robot, mode)), names


def weights_and_turning(
    robot: Robot, links: Links, gravity: Float[ndarray, "3"] | tuple[float, float, float]
) -> list[ndarray]:
    """Return v ⊛ I v - I g of every link, the terms of f_p in eq. (18) without forces."""
    fall = np.concatenate([np.zeros(3), np.asarray(gravity, dtype=float)])
    return [cross_force(V, inertia @ V) - inertia @ fall for V, inertia in zip(links.twists, links.inertias)]


# -- all links and all constraint screws in one sparse system: eqs. (16)-(19) of Yan et al. 2021 ----------------------
#     [ -I  C ] [ a ]   [ f_p ]      f_p = v ⊛ I v - I g - f_e,   c_a = (0; joint accelerations) - dCᵀ/dt v
#     [ Cᵀ  0 ] [ η ] = [ c_a ]
#
# a are the spatial accelerations of all links and η the magnitudes of all wrenches between them, so that every joint's
# reaction is part of the solution. Formulated without recursion: it shares only the robot's numbers and rotations with
# the other algorithms.
#
# Erratum of eq. (19): with two or more feet down the inverse problem has many solutions, internal forces that joint
# torques balance (a trot's C is 84 x 84 of rank 83). Three problems have solutions: forward dynamics with torques
# given; inverse dynamics with measured foot forces, as in the paper; and the solution of least foot forces, marked as
# such.
#
# Numbers and symbols alike are solved by structure (``screw_structure``); ``sparse`` and ``dense`` solve the system as
# printed, as independent checks, and the least foot forces of a redundant stance need the whole system, with numbers.
#
# Rotors, which the paper does not have, couple links: armature J adds J d dᵀ to I, with d the drive's column of C; an
# exact rotor with momentum h in link i, geared to joint k, adds u dᵀ + d uᵀ, with u the couple h on link i.
Gravity = Float[ndarray, "3"] | tuple[float, float, float]
SOLVERS = ("structure", "sparse", "dense")
_RANK = 1e-9  # singular values relative to the largest that count as zero
_ROUNDING = 1e-12  # the threshold for the whole system, which has light links beside heavy ones
_CONSISTENT = 1e-8  # residual of consistent constraints, relative to the largest right-hand side


@dataclass(frozen=True)
class ScrewSolution:
    """Everything that the system determines.

    ``reactions[i]``: the wrench (n, f) that joint i passes on to body i, at the body's origin in its axes; entry 0 is
    the reaction of a fixed base, or the wrench that the motion of a free base needs beyond the given forces (inverse
    dynamics with a given acceleration of the base). ``redundancy`` counts independent patterns of internal forces:
    if it is not zero, the foot forces have the least norm, and torques and reactions correspond to them.
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
    """Return accelerations, foot forces and all joint reactions for given torques, by the screw formulation.

    In a trace the feet in contact must be independent (``contact_set`` says whether they are).

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.
        tau: Joint torques [N m].
        mode: 1 for each foot that is held; none unless given.
        gravity: Acceleration of gravity in world axes [m/s²].
        solver: ``structure`` exploits the structure of the system; ``sparse`` and ``dense`` solve it as printed.

    Returns:
        Accelerations, torques, foot forces and joint reactions.
    """
    mode = np.zeros(robot.nf) if mode is None else np.asarray(mode)
    check_shape(robot, mode=(mode, robot.nf))
    traced, force, base = is_tracing(), generalised(robot, tau), robot.nv - robot.nj
    if not traced:
        check_finite(robot, q=q, v=v, tau=tau, mode=mode)
    if traced or _by_structure(solver, _redundant_rows(robot, q, mode)):
        none = np.zeros(robot.nj)
        known = Known(force=force, accelerations=none, given=none, mode=mode, foot_forces=np.zeros((robot.nf, 3)))
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
    joints = D.T @ acceleration  # dDᵀ/dt v is zero: both links of a joint rotate its axis equally
    passed = force[base:] - _rotor_torques(robot, links, joints, acceleration, ground)
    return _read(
        robot,
        links,
        held + drives,
        np.concatenate([eta, passed]),
        acceleration,
        joints,
        force[base:],
        ground,
        redundancy,
    )


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
    """Return torques and joint reactions for given joint accelerations, by the screw formulation.

    - With ``foot_forces`` (measured): the solution is unique and includes the acceleration of the base.
    - With ``base_acceleration`` as well, from an IMU: ``reactions[0]`` is the wrench on the base that the measured
      forces do not explain. Without foot forces, it is the base rows of inverse dynamics.
    - With a ``mode`` instead of measurements: the feet are held, with the foot forces of least norm; not in a trace.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.
        joint_accelerations: Joint accelerations [rad/s²].
        foot_forces: Forces of the ground on the robot, world axes [N].
        base_acceleration: Spatial, base axes [rad/s², m/s²].
        mode: 1 for each foot that is held.
        gravity: Acceleration of gravity in world axes [m/s²].
        solver: ``structure`` exploits the structure of the system; ``sparse`` and ``dense`` solve it as printed.

    Returns:
        Torques, accelerations, foot forces and joint reactions.
    """
    traced = is_tracing()
    _check_inverse(robot, joint_accelerations, foot_forces, base_acceleration, mode, traced)
    stands = np.zeros(robot.nf) if mode is None else np.asarray(mode, dtype=float)
    check_shape(robot, mode=(stands, robot.nf))
    if not traced:
        check_finite(
            robot,
            q=q,
            v=v,
            mode=stands,
            joint_accelerations=joint_accelerations,
            foot_forces=foot_forces,
            base_acceleration=base_acceleration,
        )
    if traced or (mode is None and _by_structure(solver, 0)):
        forces = np.zeros((robot.nf, 3)) if foot_forces is None else foot_forces
        known = Known(
            force=np.zeros(robot.nv),
            accelerations=joint_accelerations,
            given=np.ones(robot.nj),
            mode=stands,
            foot_forces=forces,
            base=base_acceleration,
        )
        return _solution(solve_by_structure(robot, q, v, known, gravity))
    links = links_of(robot, q, v)
    columns = columns_of(robot, links, stands)
    ground = 6 if grounded(robot, stands) else 0
    if base_acceleration is not None:
        columns.append(Column(kind="imu", name="base", child=0, parent=None, W=np.eye(6), bias=np.zeros(6)))
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
    """Return f_e: measured forces at the feet's centres as wrenches on their links."""
    out = np.zeros(ground + 6 * len(links.poses))
    for i, p, force in zip(robot.tree.feet, robot.tree.foot_positions, forces):
        at = ground + 6 * i
        out[at : at + 6] += np.concatenate([cross(links.poses[i].point(p), force), force])
    return out


# -- rotors ------------------------------------------------------------------------------------------------------------
def _with_rotors(robot: Robot, links: Links, inertia: ndarray, D: ndarray, ground: int) -> ndarray:
    """Return the inertia of all links with the couplings of rotors while joint accelerations are unknown."""
    inertia = inertia + (D * np.array([body.armature for body in robot.tree.bodies[1:]])) @ D.T
    for i, body in enumerate(robot.tree.bodies):
        for spin in body.spins:
            u, d = np.zeros(len(inertia)), D[:, spin.joint - 1]
            u[ground + 6 * i : ground + 6 * i + 3] = links.poses[i].R @ spin.momentum
            inertia = inertia + np.outer(u, d) + np.outer(d, u)
    return inertia


def _spin_wrenches(robot: Robot, links: Links, joint_accelerations: ndarray, ground: int) -> ndarray:
    """Return the wrenches of exact rotors on the links that carry them: the rate of their momentum h θ̇."""
    out = np.zeros(ground + 6 * len(links.poses))
    for i, body in enumerate(robot.tree.bodies):
        for spin in body.spins:
            h, k, at = links.poses[i].R @ spin.momentum, spin.joint - 1, ground + 6 * i
            out[at : at + 3] += h * joint_accelerations[k] + cross(links.twists[i][:3], h) * links.rates[k]
    return out


def _rotor_torques(robot: Robot, links: Links, joint_accelerations: ndarray, a: ndarray, ground: int) -> ndarray:
    """Return the motor torques for rotors: J θ̈, and h · α of the link that carries an exact one."""
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
    robot: Robot,
    joint_accelerations: ndarray,
    foot_forces: ndarray | None,
    base_acceleration: ndarray | None,
    mode: ndarray | None,
    traced: bool,
) -> None:
    """Raise for shapes and combinations of arguments without a unique solution."""
    check_shape(robot, joint_accelerations=(joint_accelerations, robot.nj))
    if mode is not None and (foot_forces is not None or base_acceleration is not None):
        raise InputError("inverse dynamics takes a mode, or measured foot forces and base acceleration, not both")
    if traced and mode is not None:
        raise InputError("with a mode, foot forces of inverse dynamics are not unique: in a trace they must be given")
    if base_acceleration is not None and not robot.floating:
        raise InputError(f"robot '{robot.name}' has a fixed base, whose acceleration is zero")
    if base_acceleration is not None:
        check_shape(robot, base_acceleration=(base_acceleration, 6))
    if foot_forces is not None and np.shape(foot_forces) != (robot.nf, 3):
        shape = np.shape(foot_forces)
        raise InputError(f"foot_forces of robot '{robot.name}' must have shape ({robot.nf}, 3), got {shape}")


def _inertias(links: Links, ground: int) -> ndarray:
    """Return I = diag(I_ij), eq. (14); the ground's is arbitrary, since it is fixed."""
    return scipy.linalg.block_diag(*([np.eye(6)] if ground else []), *links.inertias)


def _stacked(wrenches: list[ndarray], ground: int) -> ndarray:
    return np.concatenate([np.zeros(ground), *wrenches])


def _solved(
    inertia: ndarray,
    C: scipy.sparse.csc_array,
    f_p: ndarray,
    c_a: ndarray,
    solver: str,
    redundancy: int,
    columns: list[Column],
) -> tuple[ndarray, ndarray]:
    """Return (a, η) of eq. (19)."""
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
    x = x + solve(b - K @ x)  # light links beside heavy ones: one refinement reduces the error to rounding
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
    """Return the solution of a redundant system with the least foot forces [N²], and all other wrenches for them."""
    K, n = _dense(inertia, C), C.shape[0]
    x = np.linalg.lstsq(K, b, rcond=_ROUNDING)[0]
    if np.abs(K @ x - b).max() > _CONSISTENT * max(float(np.abs(b).max()), 1.0):
        feet = ", ".join(column.name for column in columns if column.kind == "foot")
        raise InputError(
            f"over-constrained stance: the feet {feet} cannot all stand still in the given motion"
            " (release one of them, or give accelerations that keep them where they are)"
        )
    internal, feet_rows = scipy.linalg.null_space(C.toarray(), rcond=_RANK), _places(columns, "foot")
    eta = x[n:]
    return x[:n], eta - internal @ np.linalg.lstsq(internal[feet_rows], eta[feet_rows], rcond=None)[0]


def _redundant_rows(robot: Robot, q: ndarray, mode: ndarray) -> int:
    """Return dependent rows among the constraints of the stance feet (joints of a tree are always independent)."""
    J = screw_feet_jacobian(robot, q)[mode > 0, 3:].reshape(-1, robot.nv)
    return len(J) - _rank(J)


def _internal_forces(robot: Robot, links: Links, mode: ndarray) -> int:
    """Return patterns of foot forces without a resultant wrench on the robot; joint torques can balance any of them."""
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
    """Return indices of the scalar columns of one kind."""
    out: list[int] = []
    at = 0
    for column in columns:
        width = column.W.shape[1]
        if column.kind == kind:
            out += range(at, at + width)
        at += width
    return out


def _read(
    robot: Robot,
    links: Links,
    columns: list[Column],
    eta: ndarray,
    acceleration: ndarray,
    joints: ndarray,
    torques: ndarray,
    ground: int,
    redundancy: int,
) -> ScrewSolution:
    """Convert from the common frame to footfall's coordinates."""
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
