"""Plans by name, as the command line and the web page ask for them: ``walk``, or ``trot; 4: postures`` (seconds)."""

from __future__ import annotations

import math

from footfall.errors import InputError, unknown
from footfall.gait.planner import Footprint, MotionPlan, PosturePlan, WalkPlan, plan_walk, standing_postures, yaw_swing
from footfall.gait.takeover import Takeover
from footfall.robot.model.description import Robot

PLANS = ("walk", "trot", "postures", "yaw")
_STEP_RATIO, _HEIGHT_RATIO, _SWAY_RATIO = 0.3, 0.12, 0.06  # of the base's height, as chosen for XiLing
_SWING_TIME_PER_ROOT_METRE = 0.56  # [s] for a base that is a metre high; goes with the root of the height
_REST_SWINGS = 1.25  # swings: what lands, lands in it


def named_plan(robot: Robot, text: str, speed: float | None = None, duration: float = 10.0) -> MotionPlan:
    """Return a motion plan from a text, such as ``"trot; 4: postures"``.

    Args:
        robot: The robot.
        text: A name, and others that take over at their times.
        speed: Speed of walks and trots [m/s].
        duration: When these end, standing [s].

    Returns:
        The plan.
    """
    entries = [entry.strip() for entry in text.split(";")]
    plan: MotionPlan = _plan_of_name(robot, entries[0], speed, duration)
    last = 0.0
    for entry in entries[1:]:
        when, colon, name = entry.partition(":")
        try:
            begin = float(when)
        except ValueError:
            begin = math.nan
        if not colon or not math.isfinite(begin) or begin <= last:
            raise InputError(
                f"a plan is a name followed by others with their times, 'walk; 3: trot; 6: yaw', got {text!r}"
            )
        plan, last = (
            Takeover(
                first=plan, second=_plan_of_name(robot, name.strip(), speed, max(duration - begin, 0.0)), when=begin
            ),
            begin,
        )
    return plan


def _plan_of_name(robot: Robot, name: str, speed: float | None, duration: float) -> WalkPlan | PosturePlan:
    if name not in PLANS:
        raise unknown("plan", name, PLANS)
    if name == "postures":
        return standing_postures(robot)
    if name == "yaw":
        return yaw_swing(robot)
    height = Footprint.of(robot).height
    swing = _SWING_TIME_PER_ROOT_METRE * math.sqrt(height)
    options = {
        "swing_time": swing,
        "height": _HEIGHT_RATIO * height,
        "rest": _REST_SWINGS * swing,
        "sway": _SWAY_RATIO * height if name == "walk" else 0.0,
    }
    made = plan_walk(robot, name, 0.0, cycles=4, **options)
    cycles = max(2, math.floor((duration - 2.0 * made.rest) / made.gait.period))
    step = _STEP_RATIO * height if speed is None else speed * made.gait.period
    return plan_walk(robot, name, step, cycles=cycles, **options)
