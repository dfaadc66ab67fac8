"""Joint gains that hold a robot up, in proportion to its weight, for stands without tuned gains."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.errors import InputError
from footfall.gait.tuned import for_robot
from footfall.hints import takes
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, STANDARD, Gravity, strength
from nptrace.array_types import Float

STIFFNESS, DAMPING = 0.5, 0.012  # gains of every joint, per newton of weight [m/rad, m s/rad]
MIN_GRAVITY = 0.1 * STANDARD  # legs have inertia to control, however weak gravity is [m/s²]


def supported_weight(robot: Robot, gravity: Gravity | Float[ndarray, "3"] = GRAVITY) -> float:
    """Return the weight that joints support: in this gravity, or in a tenth of the Earth's if it is weaker [N]."""
    return robot.mass * np.maximum(strength(gravity), MIN_GRAVITY)


@takes({})
def stand_gains(robot: Robot, gravity: Gravity | Float[ndarray, "3"] = GRAVITY) -> tuple[float, float]:
    """Return PD gains for standing, proportional to the weight that a leg supports; for walking see ``walk_gains``.

    Args:
        robot: The robot.
        gravity: Acceleration of gravity [m/s²].

    Returns:
        kp [N m/rad] and kd [N m s/rad], for every joint.
    """
    _check(robot)
    weight = supported_weight(robot, gravity)
    return STIFFNESS * weight, DAMPING * weight


@takes({})
def walk_gains(robot: Robot, gait: str = "trot") -> tuple[float, float]:
    """Return joint gains for walking, those of ``JointPD.tuned``.

    With them swing legs follow their targets; with ``stand_gains`` many robots lag behind and sink.

    Args:
        robot: A robot that can stand on the four feet LF, RF, LH, RH.
        gait: Name of the gait.

    Returns:
        kp [N m/rad] and kd [N m s/rad].
    """
    _check(robot)
    setup = for_robot(robot, gait)
    return setup.kp, setup.kd


def _check(robot: Robot) -> None:
    if not isinstance(robot, Robot):
        hint = f"ff.load({robot!r})" if isinstance(robot, str) else "ff.load(...)"
        raise InputError(f"gains are those of a Robot, such as {hint}, got {type(robot).__name__}")


__all__ = ["DAMPING", "MIN_GRAVITY", "STIFFNESS", "stand_gains", "supported_weight", "walk_gains"]
