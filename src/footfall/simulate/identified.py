"""Motors that were identified, as simulations take them: parameters of the robot, motors, and effects in the joints.

robot, motors, joints = read_identified("go2_motors.json", ff.load("go2"))
sim = ff.Simulation(robot, motors.of(controller), joints=joints)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall.errors import SPOILED, InputError
from footfall.hardware.motor_model import MotorModel
from footfall.json_file import read_json
from footfall.robot.model.description import Robot
from footfall.simulate.actuators import JointModel

OF_ROBOT = ("armature", "damping", "dry_friction")
OF_MOTORS = ("bias", "gain", "delay")
COLUMNS = (*OF_ROBOT, "static_ratio", *OF_MOTORS)  # of a table of one row a joint


def read_identified(path: str | Path, robot: Robot) -> tuple[Robot, MotorModel, JointModel]:
    """(robot, motors, joint effects) from the file that ``footfall identify motors`` writes."""
    wrong = f"'{path}' holds no motors: footfall identify motors writes such a file"
    content = read_json(path, "the motors", wrong)
    try:
        whose, joints, table = content["robot"], tuple(content["joints"]), np.array(content["table"], dtype=float)
    except SPOILED:
        raise InputError(wrong) from None
    if whose != robot.name:
        raise InputError(f"the motors of '{path}' are those of robot '{whose}', not of '{robot.name}'")
    if joints != robot.joint_names or table.shape != (robot.nj, len(COLUMNS)):
        raise InputError(f"the motors of '{path}' are of other joints than those of robot '{robot.name}'")
    return applied(robot, joints, table)


def applied(robot: Robot, joints: tuple[str, ...], table: ndarray) -> tuple[Robot, MotorModel, JointModel]:
    """A table of parameters as robot, motors and joint effects."""
    own = {f"{name}.{key}": float(table[j, k]) for k, key in enumerate(OF_ROBOT) for j, name in enumerate(joints)}
    return robot.replace(own), motors_of(table), JointModel(static_ratio=table[:, len(OF_ROBOT)])


def motors_of(table: ndarray) -> MotorModel:
    """The motors of a table."""
    return MotorModel(*(table[:, COLUMNS.index(key)] for key in OF_MOTORS))


__all__ = ["COLUMNS", "OF_MOTORS", "OF_ROBOT", "applied", "motors_of", "read_identified"]
