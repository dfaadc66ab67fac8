"""Where a run begins when nobody says: the controller's first command as posture, every foot on or over the ground."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.ground import Ground, Plane
from footfall.control.interface import Command, Controller, Sensed
from footfall.errors import InputError
from footfall.kinematics.forward import body_poses
from footfall.robot.description import Robot
from footfall.spatial import quaternion


def standing_start(
    robot: Robot, controller: Controller, ground: Ground | None = None, command: Command | None = None,
    clearance: float = 0.0,
) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:  # fmt: skip
    """(q, v) at rest: joints where the controller first wants them, the trunk along the ground, the lowest foot
    ``clearance`` [m] over it. A fixed base stays where it is."""
    surface = Plane() if ground is None else ground
    q, v = (array.copy() for array in robot.state("stand" if "stand" in robot.poses else None))
    if hasattr(controller, "posture"):
        joints = controller.posture(robot)
    else:
        sensed = Sensed(q, v, np.zeros((robot.nf, 3)))
        asked, _ = controller(0.0, robot, sensed, command or Command(), controller.start(robot))
        joints = asked.spread(robot.nj).position
    if not robot.floating:
        return np.array(joints, dtype=float), np.zeros(robot.nv)
    R_WB = surface.frame(np.zeros(3))
    q = np.concatenate([np.zeros(3), quaternion.from_rotation(R_WB), joints])
    poses, tree = body_poses(robot, q), robot.tree
    heights = [
        float(surface.distance(poses[body].point(p))) - foot.radius
        for foot, body, p in zip(robot.feet, tree.feet, tree.foot_positions)
    ]
    if not heights:
        raise InputError(f"robot '{robot.name}' has no feet to stand on")
    q[2] += (clearance - min(heights)) / R_WB[2, 2]
    return q, np.zeros(robot.nv)
