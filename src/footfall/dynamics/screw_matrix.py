"""The constraint matrix C of a contact mode, block by block: eqs. (12)-(15), (20), (21) of Yan et al. 2021.

Rows are links, six each, the ground first where anything touches it. Columns are what joins them: ``fix`` holds the
ground, ``weld`` a base that cannot move, ``foot`` is the spherical joint of a standing foot (three forces),
``constraint`` the five wrenches that a joint passes on and ``drive`` the one of its motor. A column holds +W on the
child and -W on the parent; the ground is the parent of the feet, so that foot forces are forces *on the robot* (the
paper counts them on the ground). All in one frame: world axes, origin where the base's origin is now.

Errata. Eqs. (15), (20), (21) have -1 at r21 and m21 in the row of L11; leg 2 hangs on the body alone. Eq. (20) is said
to have legs 1, 2 and 4 on the ground and has the columns of legs 1 and 3. Here C follows from the tree and the mode.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from jaxtyping import Float
from numpy import ndarray

from footfall.kinematics.forward import base_pose, base_twist, check_shape, joint_rates
from footfall.kinematics.product_of_exponentials import screw_poses
from footfall.robot.model.description import Robot
from footfall.spatial import Transform, cross, cross_force, cross_force_matrix
from footfall.spatial.screw import adjoint, coadjoint, constraint_screws, drive_screw, motion_screw, spherical_screws

GROUND = -1  # number of the ground among the links


@dataclass(frozen=True)
class Links:
    """All links at one instant, in the common frame G: poses, twists, inertias (eq. 14), screws of their joints."""

    poses: list[Transform]
    twists: list[ndarray]
    inertias: list[ndarray]
    screws: list[ndarray]
    rates: ndarray


@dataclass(frozen=True)
class Column:
    """One block column of C: the wrenches W on link ``child`` (and -W on ``parent``), and their bias dWᵀ/dt V."""

    kind: str
    name: str
    child: int
    parent: int | None
    W: Float[ndarray, "6 k"]
    bias: Float[ndarray, "k"]


def links_of(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Links:
    """Poses by the product of exponentials, twists by adding up screws from the base outwards."""
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
    """The block columns of a mode, in the order of the paper: fix, s, r, m."""
    tree, out = robot.tree, []
    if grounded(robot, mode):
        out.append(Column("fix", "ground", GROUND, None, np.eye(6), np.zeros(6)))
    if not robot.floating:
        out.append(Column("weld", "base", 0, GROUND, np.eye(6), np.zeros(6)))
    for foot, stands in enumerate(mode):
        if stands:
            out.append(_foot(robot, links, foot))
    for kind in ("constraint", "drive"):
        out += [_joint(robot, links, i, kind) for i in range(1, len(tree.bodies))]
    return out


def grounded(robot: Robot, mode: Float[ndarray, "nf"]) -> bool:
    """Whether the ground is one of the links: in flight it is not, eq. (21)."""
    return not robot.floating or bool(np.any(mode))


def _foot(robot: Robot, links: Links, foot: int) -> Column:
    """A spherical joint at the centre of a standing foot. Its forces keep their axes and move with the point."""
    i, name = robot.tree.feet[foot], robot.foot_names[foot]
    p = links.poses[i].point(robot.tree.foot_positions[foot])
    omega, v = links.twists[i][:3], links.twists[i][3:]
    return Column("foot", name, i, GROUND, spherical_screws(p), cross(omega, v + cross(omega, p)))


def _joint(robot: Robot, links: Links, i: int, kind: str) -> Column:
    """What joint i passes on, by its constraints or by its motor: fixed in the child, so dW/dt = V ⊛ W."""
    body = robot.tree.bodies[i]
    home = constraint_screws if kind == "constraint" else drive_screw
    W = (coadjoint(links.poses[i]) @ home(body.kind, body.axis)).reshape(6, -1)
    bias = (cross_force_matrix(links.twists[i]) @ W).T @ (links.screws[i] * links.rates[i - 1])
    return Column(kind, body.joint.name if body.joint else body.name, i, body.parent, W, bias)


def assembled(robot: Robot, columns: list[Column], ground: bool) -> scipy.sparse.csc_array:
    """C as a sparse matrix: 6 links x all columns."""
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
    """(C, names of its columns) of a mode: eq. (15) with all feet down, eq. (21) in flight."""
    links = links_of(robot, q, np.zeros(robot.nv))
    columns = columns_of(robot, links, mode)
    names = [f"{column.kind} {column.name}" for column in columns for _ in range(column.W.shape[1])]
    return assembled(robot, columns, grounded(robot, mode)), names


def weights_and_turning(
    robot: Robot, links: Links, gravity: Float[ndarray, "3"] | tuple[float, float, float]
) -> list[ndarray]:
    """v ⊛ I v - I g of every link, the part of f_p in eq. (18) that needs no forces."""
    fall = np.concatenate([np.zeros(3), np.asarray(gravity, dtype=float)])
    return [cross_force(V, inertia @ V) - inertia @ fall for V, inertia in zip(links.twists, links.inertias)]
