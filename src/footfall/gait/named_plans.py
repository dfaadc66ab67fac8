"""Plans as text, on the command line and the web page: ``walk``, or ``trot; 4: postures`` (seconds).

A name may be followed by parameters: ``walk step=0.15 side=0.05 turn=0.1 height=0.06 time=0.4``. Without a time, the
next plan starts where the previous one has come to rest: ``walk step=0.2 cycles=3; postures``.
"""

from __future__ import annotations

import math

from footfall.errors import InputError, finite, unknown
from footfall.gait.planner import Footprint, MotionPlan, PosturePlan, WalkPlan, plan_walk, standing_postures, yaw_swing
from footfall.gait.takeover import Takeover
from footfall.robot.model.description import Robot
from nptrace._types import Given

PLANS = ("walk", "trot", "postures", "yaw")
_STEPPING = {  # parameter: argument of plan_walk
    "step": "step",
    "side": "side",
    "turn": "turn",
    "height": "height",
    "time": "swing_time",
    "cycles": "cycles",
    "duty": "duty",
    "sway": "sway",
    "rest": "rest",
    "base": "base_height",
}
WORDS: dict[str, dict[str, str]] = {
    "walk": _STEPPING,
    "trot": _STEPPING,
    "postures": {key: key for key in ("move", "hold", "share")},
    "yaw": {key: key for key in ("degrees", "move", "hold")},
}
_STEP_RATIO, _HEIGHT_RATIO, _SWAY_RATIO = 0.3, 0.12, 0.06  # fraction of the base's height, as chosen for XiLing
_SWING_TIME_PER_ROOT_METRE = 0.56  # [s] for a base one metre high; scales with the square root of the height
_REST_SWINGS = 1.25  # duration of a transition, in swings: feet in the air land during it
_USUAL_CYCLES = 5  # cycles of a walk before a plan without a time
_MOST_CYCLES = 10_000


def named_plan(robot: Robot, text: str, speed: float | None = None, duration: float = 10.0) -> MotionPlan:
    """Return a motion plan from a text, such as ``"trot; 4: postures"`` or ``"walk step=0.15 turn=0.1"``.

    Args:
        robot: The robot.
        text: A name, with ``word=value`` (``WORDS``: step, side, height [m], turn [rad], time of a swing [s], ...),
            followed by others that start at their times [s], or without a time once the previous one has come to rest.
        speed: Speed of walks and trots [m/s].
        duration: Duration of these, until they stand [s].

    Returns:
        The plan.
    """
    entries = [_timed(entry, text) for entry in text.split(";")]
    if entries[0][0] is not None:
        raise _misread(text)
    later = [when for when, _ in entries[1:]]
    plan: MotionPlan | None = None
    begin = 0.0
    for (when, words), then in zip(entries, [*later, math.inf]):
        if plan is not None:
            last, begin = begin, plan.duration if when is None else when
            if begin <= last:
                raise _misread(text)
        made = _plan_of(robot, words, speed, max(duration - begin, 0.0), untimed=then is None)
        plan = made if plan is None else Takeover(first=plan, second=made, when=begin)
    assert plan is not None
    return plan


def _misread(text: str) -> InputError:
    return InputError(f"a plan is a name followed by others with their times, 'walk; 3: trot; 6: yaw', got {text!r}")


def _timed(entry: str, text: str) -> tuple[float | None, list[str]]:
    """Return when a plan starts [s], and its text."""
    when, colon, words = entry.rpartition(":")
    if not words.split():
        raise _misread(text)
    if not colon:
        return None, words.split()
    try:
        begin = float(when)
    except ValueError:
        begin = math.nan
    if not math.isfinite(begin):
        raise _misread(text)
    return begin, words.split()


def _plan_of(
    robot: Robot, words: list[str], speed: float | None, duration: float, untimed: bool
) -> WalkPlan | PosturePlan:
    """Return the plan of a name and its parameters; ``untimed``: another plan follows when it ends."""
    name, *pairs = words
    if name not in PLANS:
        raise unknown("plan", name, PLANS)
    said = {WORDS[name][key]: value for key, value in (_pair(name, pair) for pair in pairs)}
    if name == "postures":
        return standing_postures(robot, **said)
    if name == "yaw":
        return yaw_swing(robot, **said)
    height = Footprint.of(robot, said.get("base_height")).height
    swing = said.get("swing_time", _SWING_TIME_PER_ROOT_METRE * math.sqrt(height))
    options: dict[str, Given] = {
        "swing_time": swing,
        "height": _HEIGHT_RATIO * height,
        "rest": _REST_SWINGS * swing,
        "sway": _SWAY_RATIO * height if name == "walk" else 0.0,
        **said,
    }
    if speed is not None and "step" in said:
        raise InputError(f"a {name} with a step has its own speed: remove the speed, or the step")
    step, cycles = options.pop("step", None), options.pop("cycles", _USUAL_CYCLES if untimed else None)
    made = plan_walk(robot, name, 0.0, cycles=4, **options)
    cycles = _filling(made, duration) if cycles is None else _whole(cycles)
    if cycles > _MOST_CYCLES:
        raise InputError(f"a plan has at most {_MOST_CYCLES} cycles, got {cycles}")
    if step is None:
        step = _STEP_RATIO * height if speed is None else speed * made.gait.period
    return plan_walk(robot, name, step, cycles=cycles, **options)


def _filling(plan: WalkPlan, duration: float) -> int:
    """Return how many cycles of a walk end at rest within a duration."""
    return max(2, math.floor((duration - 2.0 * plan.rest) / plan.gait.period))


def _whole(cycles: float) -> int:
    if cycles != math.floor(cycles) or cycles < 1:
        raise InputError(f"the cycles of a plan are a whole number, got {cycles:g}")
    return int(cycles)


def _pair(name: str, pair: str) -> tuple[str, float]:
    """Return key and value of ``step=0.1``."""
    key, given, value = pair.partition("=")
    if key not in WORDS[name]:
        raise unknown(f"parameter of the plan {name}", key, WORDS[name], "choose from")
    try:
        number = float(value) if given else math.nan
    except ValueError:
        number = math.nan
    if not finite(number):
        raise InputError(f"{key} of the plan {name} needs a number, as in {key}=0.1, got {pair!r}")
    return key, number


__all__ = ["PLANS", "WORDS", "named_plan"]
