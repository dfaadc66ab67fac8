"""The inward pass that Algorithms 2, 3 and 4 of de Paula et al. 2024 share, eqs. (22)-(23) and (25).

A wrench on a body is passed to its parent, and its component along each joint's axis is recorded. The pass is linear,
so the wrenches of several terms may be added first and passed once.
"""

import numpy as np
from numpy import ndarray

from footfall.robot.model.description import Robot
from footfall.spatial import Transform
from nptrace.array_types import Float


def joint_space_forces(robot: Robot, X: list[Transform], wrenches: list[ndarray]) -> Float[ndarray, "nv"]:
    """Return generalised forces of one wrench (n, f) per body, at its origin in its axes: the base's wrench, then
    the joints.
    """
    tree, f = robot.tree, list(wrenches)
    along = []
    for i in reversed(range(1, len(f))):
        body, j = tree.bodies[i], tree.parent[i]
        along.append(body.axis @ (f[i][:3] if body.kind == "revolute" else f[i][3:]))
        f[j] = f[j] + X[i].wrench_to_parent(f[i])
    parts = [f[0]] if robot.floating else []
    if along:
        parts.append(np.stack(along[::-1]))
    return np.concatenate(parts)
