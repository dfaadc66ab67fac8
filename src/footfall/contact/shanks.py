"""Shanks that meet edges: balls in a row between the last joint of a leg and its foot.

On level ground a knee and a foot touch before anything between them. The edge of a riser touches in between: with balls
four radii apart, one of 90 degrees comes less than a radius past the line from knee to foot before two of them hold it.
"""

from __future__ import annotations

import numpy as np

from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Foot

APART = 4.0  # radii between neighbours, about
_THIN = 0.02  # radius of the shank of a robot whose feet are points [m]


def shank_spheres(robot: Robot) -> list[Foot]:
    """Between knee and foot of every leg, as thick as the foot, about ``APART`` radii apart; at least one."""
    found, tree = [], robot.tree
    length = max((float(np.linalg.norm(p)) for p in tree.foot_positions), default=0.0)
    radius = min((foot.radius for foot in robot.feet), default=_THIN) or _THIN
    count = max(1, round(length / (APART * radius)) - 1)  # alike in all legs
    for foot, body, end in zip(robot.feet, tree.feet, tree.foot_positions):
        name = tree.bodies[body].name
        thick = foot.radius or _THIN
        found += [Foot(f"{foot.name}_shank_{k}", name, end * (k + 1) / (count + 1), thick) for k in range(count)]
    return found


__all__ = ["APART", "shank_spheres"]
