"""Controllers by name, as the command line asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from footfall.control.foot_impedance import FootImpedance
from footfall.control.joint_level import ComputedTorque, GravityCompensation
from footfall.control.joint_pd import Hold, JointPD
from footfall.control.locomotion import Locomotion
from footfall.control.posture import standing_joints
from footfall.errors import unknown
from footfall.gait.pattern import Gait, named
from footfall.gait.tuned import for_robot
from footfall.robot.description import Robot

NAMES = ("hold", "pd", "gravity", "computed_torque", "impedance", "balance", "mpc", "whole_body")
_MOVING = {  # schedules that the force controllers run well; the open-loop ones have constants of their own
    "trot": {"duty": 0.6, "period": 0.5}, "walk": {"duty": 0.78, "period": 0.9}, "pace": {"duty": 0.6, "period": 0.4},
    "bound": {"duty": 0.5, "period": 0.4}, "pronk": {"duty": 0.6, "period": 0.5},
}  # fmt: skip


def controller_by_name(name: str, robot: Robot, gait: str = "trot", **options: Any) -> Any:
    """``pd`` and its kin follow a tuned open-loop gait; ``balance``, ``mpc`` and ``whole_body`` follow a command."""
    if name not in NAMES:
        raise unknown("controller", name, NAMES)
    if name == "hold":
        weight = 9.81 * robot.mass
        return Hold(standing_joints(robot), kp=0.5 * weight, kd=0.012 * weight, **options)
    if name in ("balance", "mpc", "whole_body"):
        return Locomotion(gait=moving_gait(gait), stage=name, **options)
    inner = _open_loop(robot, gait)
    wrap: dict[str, Callable[..., Any]] = {
        "pd": lambda pd: pd, "gravity": GravityCompensation, "computed_torque": ComputedTorque,
        "impedance": FootImpedance,
    }  # fmt: skip
    return wrap[name](inner, **options) if name != "pd" else inner


def moving_gait(name: str) -> Gait:
    """A gait's schedule for controllers that find their own forces."""
    return named(name, **_MOVING.get(name, {}))


def _open_loop(robot: Robot, gait: str) -> JointPD:
    try:
        known = for_robot(robot, gait)
    except Exception:  # not a robot with known constants: its own size decides
        weight = 9.81 * robot.mass
        return JointPD(named(gait), kp=0.5 * weight, kd=0.012 * weight)
    return JointPD(known.gait, kp=known.kp, kd=known.kd)
