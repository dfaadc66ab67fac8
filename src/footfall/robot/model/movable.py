"""Check that every motion of a robot moves some mass: otherwise its mass matrix is singular."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from footfall.errors import ModelError
from footfall.robot.model.tree import Tree
from footfall.spatial.inertia import Inertia
from footfall.spatial.screw import motion_screw, screw_motion

if TYPE_CHECKING:
    from footfall.robot.model.description import Robot

_THIN = 1e-13  # fraction of the largest: less is rounding


def check_masses(robot: Robot, tree: Tree) -> None:
    """Raise unless every motion moves some mass, since the mass matrix would be singular."""
    masses = [body.inertia.m for body in tree.bodies]
    for i in range(0 if robot.floating else 1, len(masses)):
        if sum(masses[k] for k in tree.subtree[i]) <= 0:
            raise ModelError(f"link '{tree.bodies[i].name}' and its descendants have no mass: its motion is undefined")
    if any(_is_thin(body.inertia) for body in tree.bodies):
        _check_inertias(robot, tree)


def _is_thin(inertia: Inertia) -> bool:
    """Return whether some motion of a body alone moves no mass: a massless frame, or a needle that rotates about
    itself.
    """
    if inertia.m <= 0:
        return True
    c = inertia.h / inertia.m
    J = inertia.J - inertia.m * np.outer(c, c)  # about the centre of mass
    moments = np.linalg.eigvalsh(np.trace(J) * np.eye(3) - J)
    return bool(moments[0] <= _THIN * moments[2])


def _check_inertias(robot: Robot, tree: Tree) -> None:
    """Check, by articulated bodies in random states, that no joint and not the base can move without inertia."""
    articulated = [body.inertia.matrix() for body in tree.bodies]
    for i in range(len(tree.bodies) - 1, 0, -1):
        body = tree.bodies[i]
        S = motion_screw(body.kind, body.axis)
        U = articulated[i] @ S
        d = float(S @ U) + body.armature
        if d <= _THIN * max(float(np.abs(articulated[i]).max()), body.armature):
            raise ModelError(
                f"joint '{body.joint.name if body.joint else body.name}' moves nothing that has inertia about its axis:"
                f" give link '{body.name}' some, or the joint an armature"
            )
        X_PB = body.X_PJ @ screw_motion(S, 0.3 + 0.1 * i)
        to_child = X_PB.motion_matrix()
        articulated[body.parent] = (
            articulated[body.parent] + to_child.T @ (articulated[i] - np.outer(U, U) / d) @ to_child
        )
    if robot.floating:
        base = articulated[0]
        size = np.sqrt(np.maximum(np.diag(base), 0.0))
        if size.min() <= 0 or np.linalg.eigvalsh(base / np.outer(size, size))[0] <= _THIN:
            raise ModelError(
                f"link '{tree.bodies[0].name}' can move without moving anything that has mass: give it some, or an"
                " armature to the joints on it"
            )
