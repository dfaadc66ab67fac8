"""Kinematics of closed loops: their violation, its Jacobian, and the joint positions that close them.

Every loop gives rows e(q) = 0, in the axes of its first link; de/dt = G v, d²e/dt² = G a + γ. They do not depend on the
base: the relative motion of two links of one robot is due to their joints (Featherstone 2008, section 8.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy import ndarray

import nptrace
from footfall.errors import InputError
from footfall.kinematics.forward import joint_positions, joint_rates, joint_transforms, poses_in_base
from footfall.robot.model.description import Robot
from footfall.robot.model.loops import Loop
from footfall.spatial import Transform, cross
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float
from nptrace.solve.elimination import least_squares
from nptrace.solve.factor import cholesky, cholesky_solve

CLOSED = 1e-12  # [m] or [rad]: loops with a smaller violation are closed
_ITERATIONS = 20  # maximum iterations of Newton's method
_STARTS = 40  # random postures from which Newton's method is tried
_ENOUGH = 6  # solutions to choose from
LinkPose = Callable[[str], Transform]


@dataclass(frozen=True)
class LoopRows:
    """All loops in one state: e, G and γ, with rows for points in metres, and for rotations and joints in radians."""

    error: Float[ndarray, "m"]
    G: Float[ndarray, "m nv"]
    bias: Float[ndarray, "m"]

    def __len__(self) -> int:
        return int(self.error.shape[0])


def loop_rows(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"] | None = None) -> LoopRows:
    """Return every loop's rows at q, with γ for the velocities v (zero without)."""
    poses = poses_in_base(robot, joint_transforms(robot, q))
    rates = np.zeros(robot.nj) if v is None else joint_rates(robot, v)
    return rows_of(robot, poses, lambda link: _own_pose(robot, poses, link), joint_positions(robot, q), rates)


def loop_error(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "m"]:
    """Return the constraint violation of the kinematic loops.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].

    Returns:
        One entry per constraint [m, rad]; zero if the loops are closed.
    """
    return loop_rows(robot, q).error


def rows_of(
    robot: Robot,
    poses: Sequence[Transform],
    link_pose: LinkPose,
    q_J: Float[ndarray, "nj"],
    rates: Float[ndarray, "nj"],
) -> LoopRows:
    """Return ``loop_rows`` for bodies at ``poses``, in any common frame."""
    errors: list[Operand] = []
    rows: list[ndarray] = []
    biases: list[Operand] = []
    for loop, axes in zip(robot.loops, robot.loop_axes):
        error, J, bias = (
            _coupling(robot, loop, q_J, rates) if loop.kind == "joint" else _tie(robot, loop, poses, link_pose, rates)
        )
        for column in axes.T:
            errors.append(_along(column, error))
            rows.append(_along(column, J))
            biases.append(_along(column, bias))
    if not rows:
        return LoopRows(np.zeros(0), np.zeros((0, robot.nv)), np.zeros(0))
    return LoopRows(np.stack(errors), np.stack(rows), np.stack(biases))


def _along(direction: ndarray, rows: PyTree) -> Operand:
    """Return direction · rows; a coordinate axis selects its row."""
    plain = np.flatnonzero(direction == 1.0)
    if len(plain) == 1 and np.count_nonzero(direction) == 1:
        return rows[int(plain[0])]
    return sum(float(c) * rows[k] for k, c in enumerate(direction) if c != 0.0)


def _own_pose(robot: Robot, poses: Sequence[Transform], link: str) -> Transform:
    body, X_BL = robot.tree.frames[link]
    return poses[body] @ X_BL


def _coupling(robot: Robot, loop: Loop, q_J: ndarray, rates: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Return q_first - c(q_second): a polynomial, its derivative and its curvature, by Horner's scheme."""
    first, second = (robot.joint_names.index(name) for name in (loop.first, loop.second))
    x, rate = q_J[second], rates[second]
    value: Scalar = 0.0
    slope: Scalar = 0.0
    bend: Scalar = 0.0
    for c in reversed(loop.coefficients):
        bend, slope, value = bend * x + 2.0 * slope, slope * x + value, value * x + c
    J, base = np.zeros((1, robot.nv)), robot.nv - robot.nj
    J[0, base + first], J[0, base + second] = 1.0, -slope
    return np.stack([q_J[first] - value]), J, np.stack([-bend * rate * rate])


@dataclass(frozen=True)
class _Motion:
    """A body's motion at zero joint acceleration: of the body, and of its point ``at``."""

    at: ndarray
    omega: ndarray
    alpha: ndarray
    v: ndarray
    a: ndarray

    def moved(self, x: ndarray) -> _Motion:
        """Return the motion of the body at another of its points."""
        r = x - self.at
        turned = cross(self.omega, r)
        return _Motion(
            x, self.omega, self.alpha, self.v + turned, self.a + cross(self.alpha, r) + cross(self.omega, turned)
        )


def _tie(
    robot: Robot, loop: Loop, poses: Sequence[Transform], link_pose: LinkPose, rates: ndarray
) -> tuple[ndarray, ndarray, ndarray]:
    """Return (e, G, γ) of a point or frame, all rows, in the axes of the first link; common ancestors are at rest."""
    tree = robot.tree
    a, b = tree.frames[loop.first][0], tree.frames[loop.second][0]
    shared = set(tree.support[a]) & set(tree.support[b])
    X_A, X_B = link_pose(loop.first), link_pose(loop.second)
    p, R_A = X_B.point(loop.to), X_A.R
    has_axes = loop.kind == "frame"
    J = np.zeros((6 if has_axes else 3, robot.nv))
    ends = []
    for body, sign in ((a, -1.0), (b, 1.0)):
        motion = _Motion(np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3))
        for j in (j for j in tree.support[body] if j not in shared):
            axis, at, rate = poses[j].R @ tree.bodies[j].axis, poses[j].p, rates[j - 1]
            revolute, spun = tree.bodies[j].kind == "revolute", cross(motion.omega, axis * rate)
            motion = motion.moved(at)
            if revolute:
                motion = _Motion(at, motion.omega + axis * rate, motion.alpha + spun, motion.v, motion.a)
            else:
                motion = _Motion(at, motion.omega, motion.alpha, motion.v + axis * rate, motion.a + 2.0 * spun)
            column = R_A.T @ (cross(axis, p - at) if revolute else axis)
            if has_axes:
                column = np.concatenate([column, R_A.T @ axis if revolute else np.zeros(3)])
            J[:, tree.dof(j)] = sign * column
        ends.append(motion.moved(p))
    A, B = ends
    bias = R_A.T @ (B.a - A.a - 2.0 * cross(A.omega, B.v - A.v))
    if has_axes:
        bias = np.concatenate([bias, R_A.T @ (B.alpha - A.alpha - cross(A.omega, B.omega))])
    return loop.error(X_A, X_B), J, bias


# -- the joints that close the loops -----------------------------------------------------------------------------------
def closed_joints(
    robot: Robot, joints: Float[ndarray, "nj"], given: Sequence[int] | None = None
) -> Float[ndarray, "nj"]:
    """Return joint positions with every kinematic loop closed.

    Newton's method from the given positions, at most 20 iterations: the solution is near them, on the same side of the
    linkage. It can be traced and differentiated.

    Args:
        robot: The robot.
        joints: Joint positions [rad or m], also the start of the iteration.
        given: Indices of the joints that keep their positions, as many as the loops leave free; ``loop_joints(robot)``
            by default.

    Returns:
        All joint positions; those in ``given`` are unchanged.
    """
    if not robot.loops:
        return joints
    known = loop_joints(robot)
    loose = known.dependent if given is None else tuple(j for j in known.involved if j not in set(given))
    if len(loose) != len(known.dependent):
        raise InputError(
            f"the loops of robot '{robot.name}' determine {len(known.dependent)} joints, but {len(loose)} of their"
            " joints are"
            " not given"
        )

    def closer(joints: ndarray) -> ndarray:
        rows = loop_rows(robot, _at(robot, joints))
        step = least_squares(_columns(robot, rows.G, loose), rows.error)
        out = [joints[j] for j in range(robot.nj)]
        for j, change in zip(loose, step):
            out[j] = out[j] - change
        return np.stack(out)

    def iterate(_: float, carry: tuple[ndarray, PyTree]) -> tuple[ndarray, PyTree]:
        joints, far = carry
        found = closer(joints)
        return nptrace.select(far <= CLOSED, joints, found), np.max(np.abs(loop_rows(robot, _at(robot, found)).error))

    found, _ = nptrace.repeat(_ITERATIONS, iterate, (joints, np.inf), until=lambda carry: carry[1] <= CLOSED)
    return nptrace.custom_fixed_point(found, closer)


def project_to_loop_closure(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nq"]:
    """Return q after one Newton step that closes slightly violated loops with the least change of the joints."""
    rows, base = loop_rows(robot, q), robot.nv - robot.nj
    G = rows.G[:, base:]
    change = G.T @ cholesky_solve(cholesky(G @ G.T), rows.error)
    return np.concatenate([q[: robot.nq - robot.nj], joint_positions(robot, q) - change])


def loop_map(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nv n"]:
    """Return T with v = T u for u = (rates of the base, of the independent joints): velocities that keep the loops
    closed.
    """
    known, base = loop_joints(robot), robot.nv - robot.nj
    kept = [*range(base), *(base + j for j in known.independent)]
    T = np.zeros((robot.nv, len(kept)))
    for column, row in enumerate(kept):
        T[row, column] = 1.0
    if robot.loops:
        G = loop_rows(robot, q).G
        follows = least_squares(_columns(robot, G, known.dependent), -np.stack([G[:, k] for k in kept], axis=1))
        for j, row in zip(known.dependent, follows):
            T[base + j] = row
    return T


def loop_drift(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    """Return n with a = T du/dt + n for v = T u (``loop_map``): the acceleration of dependent joints at constant u."""
    known, rows, n = loop_joints(robot), loop_rows(robot, q, v), np.zeros(robot.nv)
    if robot.loops:
        drift = least_squares(_columns(robot, rows.G, known.dependent), -rows.bias)
        for j, x in zip(known.dependent, drift):
            n[robot.nv - robot.nj + j] = x
    return n


def motor_torques(robot: Robot, q: Float[ndarray, "nq"], torque: Float[ndarray, "nj"]) -> Float[ndarray, "nj"]:
    """Return torques of the independent joints equivalent to ``torque`` at all joints: Tᵀτ, and none at the others."""
    known, base = loop_joints(robot), robot.nv - robot.nj
    projected = loop_map(robot, q)[base:, base:].T @ torque
    out = [0.0 * torque[j] for j in range(robot.nj)]
    for k, j in enumerate(known.independent):
        out[j] = projected[k]
    return np.stack(out)


@dataclass(frozen=True)
class LoopJoints:
    """Independent and dependent joints of the loops, and all joints that take part in them."""

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    involved: tuple[int, ...]


@lru_cache(maxsize=64)
def loop_joints(robot: Robot) -> LoopJoints:
    """Return the independent joints of a robot with loops: those with motors first, if they determine the others."""
    with nptrace.untraced():
        return _partition(robot)


def _partition(robot: Robot) -> LoopJoints:
    if not robot.loops:
        return LoopJoints(tuple(range(robot.nj)), (), ())
    G = loop_rows(robot, _at(robot, closed_posture(robot))).G[:, robot.nv - robot.nj :]
    involved = tuple(int(j) for j in np.flatnonzero(np.abs(G).max(axis=0) > 0.0))
    driven = {actuator.joint for actuator in robot.actuators}
    dependent: list[int] = []
    left = np.array(G, dtype=float)
    for passive in (True, False):  # joints without a motor become dependent first, best conditioned first
        open_to = [j for j in involved if (robot.joint_names[j] not in driven) == passive]
        while open_to and len(dependent) < len(G):
            sizes = {j: float(np.linalg.norm(left[:, j])) for j in open_to}
            best = max(open_to, key=lambda j: sizes[j])
            if sizes[best] < 1e-6 * np.linalg.norm(G):
                break
            unit = left[:, best] / sizes[best]
            left = left - np.outer(unit, unit @ left)
            dependent.append(best)
            open_to.remove(best)
    if len(dependent) < len(G):
        raise InputError(f"the loops of robot '{robot.name}' constrain the same joints twice: remove the redundant one")
    independent = tuple(j for j in range(robot.nj) if j not in dependent)
    return LoopJoints(independent, tuple(sorted(dependent)), involved)


def closed_posture(robot: Robot) -> Float[ndarray, "nj"]:
    """Return a posture with closed loops: the stand, if there is one; otherwise the one of several furthest from
    singular.
    """
    rng, base = np.random.default_rng(0), robot.nv - robot.nj
    found: list[tuple[float, int, ndarray]] = []
    starts = [robot.poses["stand"].joints] if "stand" in robot.poses else []
    starts += [np.zeros(robot.nj), *(rng.uniform(-1.0, 1.0, robot.nj) for _ in range(_STARTS))]
    for start in starts:
        joints = np.array(start, dtype=float)
        for _ in range(50):
            rows = loop_rows(robot, _at(robot, joints))
            if np.abs(rows.error).max() < 1e-9:
                found.append((float(np.linalg.svd(rows.G, compute_uv=False)[-1]), len(found), joints))
                break
            step = np.linalg.lstsq(rows.G[:, base:], -rows.error, rcond=1e-6)[0]
            joints = joints + step / max(1.0, float(np.abs(step).max()) / 0.5)
        if len(found) == _ENOUGH or (found and "stand" in robot.poses):
            break
    if not found:
        raise InputError(f"the loops of robot '{robot.name}' cannot be closed in any posture that was tried")
    return max(found)[2]


def check_closed(robot: Robot, q: Float[ndarray, "nq"]) -> None:
    """Raise for a start with open loops: the first step would have to close them at once."""
    if robot.loops:
        open_by = float(np.abs(loop_error(robot, q)).max())
        if open_by > 1e-4:
            raise InputError(
                f"the loops of robot '{robot.name}' are open by {1e3 * open_by:.3g} mm (or mrad) at the start:"
                " kinematics.closed_joints closes them"
            )


def _at(robot: Robot, joints: Float[ndarray, "nj"]) -> Float[ndarray, "nq"]:
    """Return q of a robot at the origin, on which loops do not depend."""
    base = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0] if robot.floating else [])
    return np.concatenate([base, joints])


def _columns(robot: Robot, G: Float[ndarray, "m nv"], joints: Sequence[int]) -> Float[ndarray, "m m"]:
    base = robot.nv - robot.nj
    return np.stack([G[:, base + j] for j in joints], axis=1)
