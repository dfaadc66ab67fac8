"""Base parameters (Mayeda, Gautier, Khalil): inertia that joints cannot distinguish is moved to the parent.

Mass on the axis of a revolute joint moves the same whether it belongs to the body behind the joint or to the one before
it. So a body's mass m, and the components of its moments along the axis, n·h and nᵀJn, may be moved to its parent as
points on the axis. M, velocity terms and gravity are unchanged, and seven of ten numbers per body remain, none of them
its mass: a dynamics algorithm has less to multiply. The inertia of a single body no longer has a meaning.
"""

from __future__ import annotations

import numpy as np

from footfall.robot.model.tree import Tree
from footfall.spatial import Inertia


def base_parameters(tree: Tree) -> list[Inertia]:
    """Return an inertia for every body, in its own axes; together they are dynamically equivalent to the robot's."""
    inertias = [body.inertia for body in tree.bodies]
    for i in reversed(range(1, len(inertias))):
        body, own = tree.bodies[i], inertias[i]
        if body.kind == "revolute":
            n, j = body.axis, tree.parent[i]
            on_axis = Inertia(own.m, (n @ own.h) * n, (n @ own.J @ n) * np.outer(n, n))
            inertias[i] = Inertia(0.0, own.h - on_axis.h, own.J - on_axis.J)
            inertias[j] = inertias[j] + on_axis.to_parent(body.X_PJ)
    return inertias
