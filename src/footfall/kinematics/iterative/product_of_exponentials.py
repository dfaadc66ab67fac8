"""Kinematics by screws: home position, product of exponentials, screw Jacobian; eqs. (8)-(11) of Yan et al. 2021.

Every joint is a screw in the body frame, defined once with all joints at zero. The pose of a link is given by the
exponentials of the screws on its path, X_0i = exp(S_1 θ_1) .. exp(S_n θ_n) X_0i(0), without intermediate frames. It
shares the robot's numbers and the rotation of the base with ``forward``, and nothing after that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.kinematics.forward import base_pose, check_shape, joint_positions
from footfall.robot.model.description import Robot
from footfall.spatial import Transform, skew
from footfall.spatial.screw import adjoint, motion_screw, screw_motion
from nptrace.array_types import Float


@dataclass(frozen=True)
class Home:
    """The home position: poses of the bodies and screws of their joints in the base's frame, all joints at zero."""

    poses: tuple[Transform, ...]
    screws: tuple[ndarray, ...]  # screw of joint i; entry 0 is unused


def home_position(robot: Robot) -> Home:
    """Return eqs. (8)-(9): the screw of joint i transformed from its own frame to the base's."""
    poses, screws = [Transform.identity()], [np.zeros(6)]
    for body in robot.tree.bodies[1:]:
        poses.append(poses[body.parent] @ body.X_PJ)
        screws.append(adjoint(poses[-1]) @ motion_screw(body.kind, body.axis))
    return Home(tuple(poses), tuple(screws))


def screw_poses(robot: Robot, q: Float[ndarray, "nq"]) -> list[Transform]:
    """Return X_0B of every body in the base: eq. (10)."""
    home = home_position(robot)
    return [P @ X_0B for P, X_0B in zip(_displacements(robot, home, q), home.poses)]


def screw_foot_positions(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nf 3"]:
    """Return centres of the feet in the world: ee_i of eq. (10)."""
    X_WB, poses, tree = base_pose(robot, q), screw_poses(robot, q), robot.tree
    rows = [X_WB.point(poses[i].point(p)) for i, p in zip(tree.feet, tree.foot_positions)]
    return np.stack(rows) if rows else np.zeros((0, 3))


def screw_jacobian(robot: Robot, q: Float[ndarray, "nq"], body: int) -> Float[ndarray, "6 nv"]:
    """Return eq. (11): column j is the screw of joint j displaced by the joints before it.

    The twist is that of the body at the *base's* origin in base axes: no point of the body enters.
    """
    home = home_position(robot)
    P, tree = _displacements(robot, home, q), robot.tree
    J = np.zeros((6, robot.nv))
    if robot.floating:
        J[:, :6] = np.eye(6)
    for j in tree.support[body]:
        J[:, tree.dof(j)] = adjoint(P[tree.parent[j]]) @ home.screws[j]
    return J


def screw_feet_jacobian(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nf 6 nv"]:
    """Return twists of the feet at their centres in world axes: the screw Jacobian at another point."""
    X_WB, poses, tree = base_pose(robot, q), screw_poses(robot, q), robot.tree
    blocks = []
    for i, p in zip(tree.feet, tree.foot_positions):
        J, r = screw_jacobian(robot, q, i), poses[i].point(p)
        blocks.append(np.concatenate([X_WB.R @ J[:3], X_WB.R @ (J[3:] - skew(r) @ J[:3])]))
    return np.stack(blocks) if blocks else np.zeros((0, 6, robot.nv))


def _displacements(robot: Robot, home: Home, q: Float[ndarray, "nq"]) -> list[Transform]:
    """Return P of every body: the displacement from its home pose to its present one."""
    check_shape(robot, q=(q, robot.nq))
    P = [Transform.identity()]
    for i, angle in enumerate(joint_positions(robot, q), start=1):
        P.append(P[robot.tree.parent[i]] @ screw_motion(home.screws[i], angle))
    return P
