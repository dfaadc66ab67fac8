"""What a simulated robot lies on, and how it lies."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.hardware.glide import lying_joints
from footfall.kinematics.forward import foot_positions, joint_transforms, poses_in_base
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Foot

_BELLY = 0.13  # of the stretched leg: how far the trunk reaches below the hips


def belly(robot: Robot) -> list[Foot]:
    """What the robot lies on when its legs give way: a sphere under and over every hip, where its trunk would be."""
    tree = robot.tree
    poses = poses_in_base(robot, joint_transforms(robot, robot.state()[0]))
    hips = [next(body for body in tree.support[foot] if body) for foot in tree.feet]
    drop = np.array([0.0, 0.0, _BELLY * leg_geometry(robot, robot.foot_names[0], nearly=True).stretch - 0.01])
    places = [poses[hip].p + side * drop for hip in hips for side in (-1.0, 1.0)]
    return [Foot(f"belly_{k}", tree.bodies[0].name, place, 0.01) for k, place in enumerate(places)]


def lying_state(robot: Robot) -> tuple[ndarray, ndarray]:
    """(q, v) at rest on folded legs."""
    q, v = robot.state(lying_joints(robot))
    soles = foot_positions(robot, q)[:, 2] - np.array([foot.radius for foot in robot.feet])
    q[2] -= float(soles.min())
    return q, v


__all__ = ["belly", "lying_state"]
