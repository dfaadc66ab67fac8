"""``ff.load``: load a robot by name or from a file, with a standing pose.

A file rarely defines a standing pose: its keyframe ``home`` or ``standing`` becomes the pose ``stand``; otherwise the
feet are placed below the hips (``control.posture``).
"""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from footfall.control.posture import load_of_standing, own_joints, stands_in, why_no_stand, with_stand
from footfall.errors import callers_level
from footfall.robot.files import loading
from footfall.robot.files.draft import stand_of
from footfall.robot.files.guard import ModelWarning
from footfall.robot.model.description import Robot

_PLACEHOLDER = 1.0  # [N m]


def load(source: str | Path, /, **options: Any) -> Robot:
    """Load a robot by name, or from a URDF, MJCF or TOML file.

    >>> ff.load("mini_cheetah", rotors="exact")
    >>> ff.load("my_robot.urdf", feet=["toe_1", "toe_2", "toe_3", "toe_4"])

    The robot has a pose ``stand`` if its legs can stand.

    Args:
        source: Name of a library robot, of an installed third-party robot (``go2``, ``a1``, ``anymal_c``, ...), or a
            path.
        **options: Variant of a library robot, or options of ``robot.files.urdf_mjcf.load_model``: ``feet``,
            ``forward``, ``root``, ``repair_inertia``, ``lock_wheels``; of a TOML table (``footfall robots new``)
            ``table``, values by their path in it: ``{"quadruped.segments.1": 0.25}``.

    Returns:
        The robot.
    """
    robot = with_stand(loading.load(source, **options))
    file = robot.model_file
    if file is None:
        return robot
    if "stand" not in robot.poses:
        if robot.floating and any(len(own_joints(robot, k)) > 1 for k in range(robot.nf)):
            reported = f"{file.name}: it has no standing pose: {why_no_stand(robot)}"
            warnings.warn(reported, ModelWarning, stacklevel=callers_level())
        return robot
    remarks = []
    given = stand_of({name: pose for name, pose in robot.poses.items() if name != "stand"})
    if given is not None and not stands_in(robot, robot.poses[given].joints):
        remarks.append(f"its pose '{given}' does not stand and is not used")
    robot, weak = _strong_enough(robot)
    remarks += weak
    if remarks:
        warnings.warn(f"{file.name}: {'; '.join(remarks)}", ModelWarning, stacklevel=callers_level())
    return robot


def _strong_enough(robot: Robot) -> tuple[Robot, list[str]]:
    """Return (the robot, a remark on torque limits that cannot carry it)."""
    needed = np.abs(load_of_standing(robot))
    limits = {actuator.joint: actuator.torque_limit for actuator in robot.actuators}
    weak = [joint for joint, most in zip(robot.joint_names, needed) if limits.get(joint, np.inf) < most]
    if not weak:
        return robot, []
    of_all = {actuator.torque_limit for actuator in robot.actuators}
    if of_all and max(of_all) == min(of_all) <= _PLACEHOLDER:
        free = [dataclasses.replace(actuator, torque_limit=np.inf) for actuator in robot.actuators]
        remark = f"an effort of {max(of_all):g} N m at every joint cannot carry its weight and is ignored"
        return robot.replace(actuators=free), [remark]
    worst = max(weak, key=lambda joint: needed[robot.joint_names.index(joint)] / max(limits[joint], 1e-9))
    return robot, [
        f"the torque limit {limits[worst]:g} N m of joint '{worst}' is less than the"
        f" {needed[robot.joint_names.index(worst)]:.3g} N m that standing needs"
    ]


__all__ = ["load"]
