"""Tuned gait constants and gains: measured in MuJoCo, 10 s each, without a fall under changes of ±10 %.

The Mini Cheetah's walk was tuned and measured in footfall itself (0.10 to 0.18 m/s within ±10 %).
Mini Cheetah's set A was fixed beforehand, B to E were picked among 200 random sets. The other robots' numbers are for
a friction of 0.8. All are chosen here; none is published.

In units of hip height, robot weight and sqrt(H / g) these numbers nearly agree (dynamic similarity), and so they are
scaled to any other robot: ``scaled``. Where its motors are too slow for that, steps are lower and shorter, and joints
stiffer, since feet that are lifted less must sink less.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from footfall.errors import InputError, unknown
from footfall.gait.foot_path import foot_offset
from footfall.gait.pattern import LEGS, Gait, named
from footfall.kinematics.forward import center_of_mass, foot_positions
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import hip_height, knee_direction, planar_inverse, within_limits
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import STANDARD, weight_of


@dataclass(frozen=True)
class Tuned:
    """A tuned gait with joint gains [N m/rad, N m s/rad], and the speed measured with them [m/s], if it was.

    If steps are shortened, it contains the reason.
    """

    gait: Gait
    kp: float
    kd: float
    speed: float | None
    shortened: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Entry:
    half_stride: float
    height: float
    period: float
    duty: float
    hip_height: float
    depth: float
    kp: float
    kd: float
    speeds: Mapping[tuple[int, ...], float]  # by knee directions, preferred first
    ramp: float = 1.5
    foot_pitch: float = 0.0


_BEHIND, _FRONT, _INWARD = (1, 1, 1, 1), (-1, -1, -1, -1), (1, 1, -1, -1)
_TABLE: Mapping[str, Mapping[str, Mapping[str, _Entry]]] = {
    "mini_cheetah": {
        "trot": {
            "A": _Entry(
                half_stride=0.05,
                height=0.05,
                period=0.5,
                duty=0.5,
                hip_height=0.28,
                depth=0.002,
                kp=40.0,
                kd=1.0,
                speeds={_BEHIND: 0.244},
                ramp=1.0,
            ),
            "B": _Entry(
                half_stride=0.03,
                height=0.045,
                period=0.38,
                duty=0.56,
                hip_height=0.27,
                depth=0.002,
                kp=40.0,
                kd=1.0,
                speeds={_FRONT: 0.286},
                ramp=1.0,
            ),
            "C": _Entry(
                half_stride=0.04,
                height=0.075,
                period=0.46,
                duty=0.54,
                hip_height=0.27,
                depth=0.010,
                kp=40.0,
                kd=1.0,
                speeds={_BEHIND: 0.230},
                ramp=1.0,
            ),
            "D": _Entry(
                half_stride=0.045,
                height=0.04,
                period=0.30,
                duty=0.53,
                hip_height=0.30,
                depth=0.003,
                kp=40.0,
                kd=1.0,
                speeds={_FRONT: 0.632},
                ramp=1.0,
            ),
            "E": _Entry(
                half_stride=0.055,
                height=0.07,
                period=0.45,
                duty=0.64,
                hip_height=0.31,
                depth=0.012,
                kp=40.0,
                kd=1.0,
                speeds={_INWARD: 0.402},
                ramp=1.0,
            ),
        },
        "walk": {
            "A": _Entry(
                half_stride=0.04,
                height=0.045,
                period=0.80,
                duty=0.84,
                hip_height=0.28,
                depth=0.005,
                kp=60.0,
                kd=1.5,
                speeds={_FRONT: 0.131},
            )
        },  # tuned in footfall
    },
    "xiling": {
        "trot": {
            "A": _Entry(
                half_stride=0.09,
                height=0.09,
                period=0.55,
                duty=0.58,
                hip_height=0.50,
                depth=0.005,
                kp=400.0,
                kd=14.0,
                speeds={_FRONT: 0.69, _BEHIND: 0.44},
            )
        },
        "walk": {
            "A": _Entry(
                half_stride=0.075,
                height=0.06,
                period=1.1,
                duty=0.85,
                hip_height=0.51,
                depth=0.005,
                kp=600.0,
                kd=18.0,
                speeds={_FRONT: 0.22},
            )
        },
    },
    "spined": {
        "trot": {
            "A": _Entry(
                half_stride=0.085,
                height=0.06,
                period=0.45,
                duty=0.65,
                hip_height=0.45,
                depth=0.010,
                kp=450.0,
                kd=13.0,
                speeds={_FRONT: 0.66, _BEHIND: 0.55},
            )
        },
        "walk": {
            "A": _Entry(
                half_stride=0.055,
                height=0.06,
                period=0.84,
                duty=0.84,
                hip_height=0.47,
                depth=0.005,
                kp=350.0,
                kd=9.0,
                speeds={_FRONT: 0.21},
            )
        },
    },
    "dynakat": {
        "trot": {
            "A": _Entry(
                half_stride=0.02,
                height=0.028,
                period=0.30,
                duty=0.60,
                hip_height=0.18,
                depth=0.003,
                kp=12.0,
                kd=0.24,
                speeds={_BEHIND: 0.245},
                ramp=1.0,
            )
        },
        "walk": {
            "A": _Entry(
                half_stride=0.03,
                height=0.035,
                period=0.93,
                duty=0.85,
                hip_height=0.18,
                depth=0.002,
                kp=14.0,
                kd=0.3,
                speeds={_FRONT: 0.06},
                ramp=1.0,
                foot_pitch=-0.2,
            )
        },
    },
}


@dataclass(frozen=True, kw_only=True)
class _Similar:
    """A gait in the units of a robot: hip height H, weight w, time sqrt(H / g)."""

    half_stride: float  # over H
    height: float  # over H
    period: float  # over sqrt(H / g)
    duty: float
    depth: float  # over H
    kp: float  # over w H
    kd: float  # over w H sqrt(H / g)


_SIMILAR = {
    "walk": _Similar(half_stride=0.14, height=0.14, period=4.8, duty=0.84, depth=0.012, kp=2.7, kd=0.37),
    # any other gait, with its own duty and, except for a trot, its own period
    None: _Similar(half_stride=0.15, height=0.17, period=2.4, duty=0.58, depth=0.010, kp=2.2, kd=0.30),
}
# fraction of the hip height: a foot lifted less drags; by how much a cycle may be lengthened to lift it higher
_LEAST_LIFT, _MOST_SLOWER = 0.02, 2.0
# duty from which a gait is a walk; for a walk whose feet drag: its duty, and the factor on its cycle
_WALKS, _SLOW_DUTY, _SLOWER_WALK = 0.7, 0.8, 4.0
_LOWER, _SPEED_MARGIN = 0.5, 0.9  # of the height of steps; of the motors' speeds
_SPEED_TRIGGER = 1.2  # of the motors' speeds: a smaller excess only causes a lag that is made up
MOST_STRIDES = _SPEED_TRIGGER / _SPEED_MARGIN  # of steps that are as long as motors allow
_MAX_STIFFER = 6.0
_STRAIGHT, _BENT = 0.85, 0.72  # of leg length: robots that stand straighter than the first walk bent to the second
# hip heights off a diagonal that the normal trot tolerates: a Barkour's 0.10 works, 0.17 falls
_MAX_OFF_DIAGONAL = 0.11


def scaled(robot: Robot, gait: str = "trot", **changes: Any) -> Tuned:
    """Return a gait and gains that scale with a robot.

    Lengths scale with the height H of its hips, times with sqrt(H / g), gains with its weight. A robot whose centre of
    mass is far from the diagonals of its feet trots at the same speed with shorter, quicker steps. The robot needs a
    pose ``stand`` and four feet.

    Args:
        robot: The robot.
        gait: Name of the gait.
        **changes: Fields of ``Gait`` to change: ``period=0.4, stride=0.08``.

    Returns:
        Gait and gains.
    """
    H = hip_height_of(robot)
    bent = _bent_height(robot, H)
    H = H if bent is None else bent
    unit, weight = math.sqrt(H / STANDARD), weight_of(robot.mass)
    similar = _SIMILAR.get(gait, _SIMILAR[None])
    timing = {"duty": similar.duty, "period": similar.period * unit} if gait in ("walk", "trot") else {}
    time_scale = 1.0
    # with the centre of mass off the line of two feet by d, the trunk falls by about d t² g / 2H: keep it at the
    # others' value
    if gait == "trot":
        time_scale = math.sqrt(_MAX_OFF_DIAGONAL / max(distance_off_diagonal(robot) / H, _MAX_OFF_DIAGONAL))
        timing["period"] *= time_scale
    made = named(
        gait,
        stride=2.0 * time_scale * similar.half_stride * H,
        height=similar.height * H,
        depth=similar.depth * H,
        ramp=1.5,
        hip_height=bent,
        **timing,
    )
    made, shortened = within_motors(robot, made)
    stiffer = min((similar.height * H / made.height) ** 1.5, _MAX_STIFFER)  # by sinking less when feet are lifted less
    kp, kd = stiffer * similar.kp * weight * H, stiffer * similar.kd * weight * H * unit
    joint_damping = [joint.damping for joint in robot.joints if joint.kind != "fixed"]
    # existing damping counts: the gain makes up the rest, or the spring grows with it
    damping = sum(joint_damping) / len(joint_damping)
    return Tuned(made.replace(**changes), kp * max(1.0, damping / kd), max(kd - damping, 0.1 * kd), None, shortened)


def _bent_height(robot: Robot, height: float) -> float | None:
    """Return a hip height for a gait of a robot from a file whose stand is nearly straight, like the keyframes of hobby
    robots; None if the stand suffices, or the joints do not bend as far.
    """
    legs = [leg_geometry(robot, name, nearly=True) for name in LEGS]
    length = sum(leg.stretch + (leg.foot.length if leg.foot else 0.0) for leg in legs) / len(legs)
    radius = sum(leg.radius for leg in legs) / len(legs)
    if robot.model_file is None or height - radius < _STRAIGHT * length:
        return None
    stand = robot.poses["stand"].joints
    for leg in legs:
        knee = knee_direction(leg, stand[list(leg.joints)])
        found = planar_inverse(leg, 0.0, -_BENT * length, knee)
        if not (bool(found.reachable) and bool(within_limits(robot, leg.name, found.joints))):
            return None
    return _BENT * length + radius


def within_motors(robot: Robot, gait: Gait) -> tuple[Gait, str | None]:
    """Return the gait with steps that the motors' speeds permit, and a sentence that names the slowest motor if it is
    changed.

    First, feet are lifted only half as high, since lifting needs most of the speed; then the whole step is scaled down.
    Feet that would then hardly leave the ground would drag the robot back while they swing: they take fewer, longer and
    higher steps at the same speed. The cycle of a trot becomes at most twice as long, because the trunk falls between
    steps. That of a walk, which always has three feet in contact, becomes four times as long, with a longer swing; at
    twice the length the trunk would tip in step with it (LittleDog walks at 0.0129, -0.0030 and 0.0175 m/s in cycles
    once, twice and four times as long).
    """
    ratio, joint, limit = _fastest_joint(robot, gait)
    if ratio <= _SPEED_TRIGGER:
        return gait, None
    made, least = _slowed(robot, gait), _LEAST_LIFT * hip_height_of(robot)
    slower = min(_MOST_SLOWER, max(1.0, least / max(made.height, 1e-9)))
    if made.duty >= _WALKS:
        drags = made.height < least
        slower = _SLOWER_WALK if drags else 1.0
        made = _slowed(robot, gait.replace(duty=min(_SLOW_DUTY, gait.duty))) if drags else made
    longer = {key: slower * getattr(made, key) for key in ("period", "stride", "height", "depth")}
    made = made.replace(**longer)
    why = f"'{joint}' turns at {limit:.3g} rad/s at most, and would turn at {ratio * limit:.3g}"
    return made, f"steps of {made.stride:.2g} m, not {gait.stride:.2g}, at {made.speed:.2g} m/s: {why}"


def _slowed(robot: Robot, gait: Gait) -> Gait:
    """Return the gait with smaller steps, of half its height over stride, that joints make at 0.9 of their speeds."""
    made = gait.replace(height=_LOWER * gait.height)
    for _ in range(3):  # nearly in proportion
        scale = min(1.0, _SPEED_MARGIN / _fastest_joint(robot, made)[0])
        made = made.replace(stride=scale * made.stride, height=scale * made.height, depth=scale * made.depth)
    return made


def _fastest_joint(robot: Robot, gait: Gait, samples: int = 60) -> tuple[float, str, float]:
    """Return (the highest joint rate of a cycle over the limit of its motor, the joint, that limit [rad/s])."""
    limits = {a.joint: a.speed_limit for a in robot.actuators if 0.0 < a.speed_limit < math.inf}
    stand = robot.poses["stand"].joints
    worst = (0.0, "", math.inf)
    for name in LEGS:
        leg = leg_geometry(robot, name, nearly=True)
        joints = [stand[j] for j in leg.joints]
        depth = hip_height(leg, joints) - leg.radius
        x, z = foot_offset(gait, np.arange(samples) / samples)
        knee = knee_direction(leg, np.array(joints))
        poses = [planar_inverse(leg, a, b - depth, knee, gait.foot_pitch).joints for a, b in zip(x, z)]
        for j, path in zip(leg.joints, np.array(poses).T):
            joint = robot.joint_names[j]
            if joint in limits:
                change = np.angle(np.exp(1j * (np.roll(path, -1) - path)))
                rate = float(np.abs(change).max()) * samples / gait.period
                worst = max(worst, (rate / limits[joint], joint, limits[joint]))
    return worst


def hip_height_of(robot: Robot) -> float:
    """Return the mean height of the hips above the ground in the robot's stand [m]."""
    if not set(LEGS) <= set(robot.foot_names):
        feet = ", ".join(robot.foot_names) or "none"
        raise InputError(f"a gait is for the feet {', '.join(LEGS)}, and the feet of robot '{robot.name}' are: {feet}")
    legs = [leg_geometry(robot, name, nearly=True) for name in LEGS]  # or raises with the reason
    stand = robot.poses.get("stand")
    if stand is None:
        raise InputError(
            f"a gait needs a pose 'stand', which robot '{robot.name}' lacks: footfall.control.posture.why_no_stand"
            " gives the reason"
        )
    return sum(hip_height(leg, [stand.joints[j] for j in leg.joints]) for leg in legs) / len(legs)


def distance_off_diagonal(robot: Robot) -> float:
    """Return the largest distance of the centre of mass from the lines between diagonal feet, in the robot's stand
    [m].
    """
    q, _ = robot.state("stand")
    feet = dict(zip(robot.foot_names, foot_positions(robot, q)))
    x, y, _ = center_of_mass(robot, q)
    off = []
    for front, hind in (("LF", "RH"), ("RF", "LH")):
        (x0, y0, _), (x1, y1, _) = feet[hind], feet[front]
        length = math.hypot(x1 - x0, y1 - y0) or math.inf
        off.append(abs(float((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0))) / length)
    return max(off)


def for_robot(robot: str | Robot, gait: str = "trot", choice: str = "A", **changes: Any) -> Tuned:
    """Return a tuned gait with gains for a robot.

    Library robots have tuned constants; for other robots and gaits they are scaled (``scaled``). Given a Robot rather
    than a name, the knees bend as its joint limits allow.

    Args:
        robot: Name of a library robot, or a Robot.
        gait: Name of the gait.
        choice: Which set of constants: A to E for the Mini Cheetah's trot.
        **changes: Fields of ``Gait`` to change: ``period=0.4, stride=0.08``.

    Returns:
        Gait, gains, and the measured speed.
    """
    name = robot.name if isinstance(robot, Robot) else robot
    if isinstance(robot, Robot) and not choices(robot, gait):
        similar = scaled(robot, gait, **changes)
        known = next((_TABLE[name][other] for other in ("trot", "walk") if choices(robot, other)), None)
        if known is None:
            return similar
        return replace(similar, kp=known["A"].kp, kd=known["A"].kd)
    if name not in _TABLE:
        raise unknown("robot", name, _TABLE, "gaits are tuned for")
    if gait not in _TABLE[name]:
        raise unknown(f"tuned gait of {name}", gait, _TABLE[name], "choose from")
    sets = _TABLE[name][gait]
    if choice not in sets:
        raise unknown(f"set of constants of {name}'s {gait}", choice, sets, "choose from")
    entry = sets[choice]
    knees = next(iter(entry.speeds))
    if isinstance(robot, Robot):
        knees = next((k for k in (*entry.speeds, _BEHIND, _FRONT) if _fits(robot, k)), knees)
    made = named(
        gait,
        period=entry.period,
        duty=entry.duty,
        stride=2.0 * entry.half_stride,
        height=entry.height,
        hip_height=entry.hip_height,
        depth=entry.depth,
        ramp=entry.ramp,
        knees=knees,
        foot_pitch=entry.foot_pitch,
    )
    return Tuned(made.replace(**changes), entry.kp, entry.kd, entry.speeds.get(knees))


def choices(robot: str | Robot, gait: str = "trot") -> tuple[str, ...]:
    """Return the names of the tuned sets of constants of a robot and gait.

    Args:
        robot: The robot.
        gait: Name of the gait.

    Returns:
        Names for ``for_robot(choice=...)``; none for a robot that only has the name of a library robot.
    """
    if isinstance(robot, Robot):
        ours = robot.model_file is None and all(f"{leg}_knee" in robot.joint_names for leg in LEGS)
        return choices(robot.name, gait) if ours else ()
    return tuple(_TABLE.get(robot, {}).get(gait, {}))


def at_speed(gait: Gait, speed: float) -> Gait:
    """Return a gait with stride and period for a speed.

    Up to 1.4 times its stride the gait keeps its period; for higher speeds the period is shortened, down to 0.6 of its
    value, and beyond that the stride is lengthened again.

    Args:
        gait: The gait.
        speed: Speed [m/s].

    Returns:
        The changed gait.
    """
    stride = speed * gait.duty * gait.period
    own = 1.4 * abs(gait.stride)
    hurry = 1.0 if abs(stride) <= own or not own else max(own / abs(stride), 0.6)
    return gait.replace(stride=stride * hurry, period=gait.period * hurry)


def _fits(robot: Robot, knees: tuple[int, ...]) -> bool:
    """Return whether the knees' limits permit the direction in which each bends."""
    for leg, knee in zip(LEGS, knees):
        joint = robot.joint(f"{leg}_knee")
        sign = -1.0 if joint.axis[1] > 0 else 1.0  # the knees of library robots rotate about +y or -y
        low, high = sorted((sign * joint.lower, sign * joint.upper))
        if not (high > 0.5 if knee > 0 else low < -0.5):
            return False
    return True
