"""Where a run begins when nobody says: the controller's first command as posture, every foot on or over the ground."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.ground import Ground, Plane
from footfall.control.interface import Command, Controller, JointCommand, Sensed, as_controller
from footfall.errors import FootfallError, InputError
from footfall.gravity import GRAVITY, Gravity
from footfall.kinematics.forward import body_poses
from footfall.robot.model.description import Robot
from footfall.spatial import quaternion


def standing_start(
    robot: Robot, controller: Controller, ground: Ground | None = None, command: Command | None = None,
    clearance: float = 0.0, gravity: Gravity = GRAVITY,
) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:  # fmt: skip
    """(q, v) at rest: joints where the controller first wants them, the trunk along the ground, the lowest foot
    ``clearance`` [m] over it. A fixed base stays where it is."""
    surface = Plane() if ground is None else ground
    q, v = (array.copy() for array in robot.state("stand" if "stand" in robot.poses else None))
    controller = as_controller(controller)
    joints = controller.posture(robot)
    if joints is None:
        sensed = Sensed(q, v, np.zeros((robot.nf, 3)), gravity=gravity)
        joints = _first_posture(robot, controller, sensed, command or Command())
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


def _first_posture(robot: Robot, controller: Controller, sensed: Sensed, command: Command) -> Float[ndarray, "nj"]:
    """Where a controller first wants the joints; what it does wrong is said with its name."""
    name = controller.name
    try:
        answer = controller(0.0, robot, sensed, command, controller.start(robot))
    except FootfallError:
        raise
    except Exception as error:
        raise FootfallError(f"controller {name} raised {type(error).__name__} at its first tick: {error}") from error
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[0], JointCommand):
        raise InputError(f"controller {name} must return (JointCommand, memory), got {type(answer).__name__}")
    return np.asarray(answer[0].spread(robot.nj).position)
