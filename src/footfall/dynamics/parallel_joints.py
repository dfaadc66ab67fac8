"""Axes that do not rotate with parallel joints: a leg's hip and knee both pitch, so their bodies share the hip's axes.

Algorithms pass every twist, wrench and inertia from body to body and rotate it at each joint. Where a joint's axis is
parallel to its parent's, or to a child's, this is unnecessary: the bodies of such a chain are described in axes fixed
to the body before the chain, and only quantities fixed in a body (its inertia, the next joint, its foot) are rotated,
once, by the sum of the chain's angles. The recursions are unchanged, since they hold for vectors in any axes. A body's
origin may also lie anywhere on its joint's axis: here, at the point nearest to the parent's origin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

from footfall.dynamics.base_parameters import base_parameters
from footfall.kinematics.forward import base_pose, check_robot, check_shape, joint_positions
from footfall.robot.model.description import Robot
from footfall.robot.model.tree import Tree
from footfall.spatial import Inertia, Transform
from footfall.spatial.rotation import about_axis
from nptrace.array_types import Float


@dataclass(frozen=True)
class PosedRobot:
    """A robot at one q, for algorithms that traverse its tree: they use ``robot`` and ``X`` for it and its
    transforms.
    """

    robot: Robot  # the inertias of its bodies are base parameters, rotated to q like its feet
    X: list[Transform]  # axes and origin of every body in its parent's; 0: the base in the world
    rotations: list[Float[ndarray, "3 3"]]  # rotations of the bodies in their axes
    origins: list[Float[ndarray, "3"]]  # origins of the bodies' own frames, before rotation
    still: frozenset[int]  # bodies whose axes do not rotate in their parents'

    def point(self, body: int, p: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
        """Return a point of a body, given in the body's own frame."""
        return self.rotations[body] @ (self.origins[body] + p)


def posture(robot: Robot, q: Float[ndarray, "nq"]) -> PosedRobot:
    """Return the robot at q."""
    check_robot(robot)
    check_shape(robot, q=(q, robot.nq))
    tree, senses, fixed = robot.tree, robot.parallel_joints, base_parameters(robot.tree)
    shares = {k for i in senses for k in (i, tree.parent[i])}
    still = frozenset(i for i in shares if i in senses or tree.parent[i] not in shares)
    at = PosedRobot(robot, [base_pose(robot, q)], [np.eye(3)], [np.zeros(3)], still)
    angles, inertias = [0.0, *joint_positions(robot, q)], fixed[:1]
    for i, body in enumerate(tree.bodies[1:], start=1):
        j, axis_P = tree.parent[i], body.X_PJ.R @ body.axis
        ahead = axis_P @ (at.origins[j] + body.X_PJ.p) if j > 0 and body.kind == "revolute" else 0.0
        p, R = at.point(j, body.X_PJ.p - ahead * axis_P), body.X_PJ.R if i in senses else at.rotations[j] @ body.X_PJ.R
        rotation = np.eye(3)
        if i in shares:
            angles[i] = angles[i] + senses.get(i, 0.0) * angles[j]
            rotation = about_axis(body.axis, angles[i])
        elif body.kind == "revolute":
            R = R @ about_axis(body.axis, angles[i])
        else:
            p = p + (R @ body.axis) * angles[i]
        at.X.append(Transform(R, p))
        at.rotations.append(rotation)
        at.origins.append(ahead * body.axis)
        inertias.append(
            fixed[i].to_parent(Transform(np.eye(3), at.origins[i])).to_parent(Transform(rotation, np.zeros(3)))
        )
    return replace(at, robot=robot.with_tree(_standing(at, inertias)))


def _standing(at: PosedRobot, inertias: list[Inertia]) -> Tree:
    """Return the tree with the quantities fixed in its bodies rotated to q."""
    tree = at.robot.tree
    bodies = [
        replace(
            body,
            inertia=inertia,
            spins=tuple(replace(spin, momentum=rotation @ spin.momentum) for spin in body.spins),
        )
        for body, inertia, rotation in zip(tree.bodies, inertias, at.rotations)
    ]
    feet = tuple(at.point(i, p) for i, p in zip(tree.feet, tree.foot_positions))
    return replace(tree, bodies=tuple(bodies), foot_positions=feet)
