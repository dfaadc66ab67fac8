"""Closed-form inverse kinematics of a leg: eqs. (1)-(6) of Yan et al. 2021, for any offsets, knee direction and side.

Errata of Yan et al.: eq. (6) gives the interior knee angle, whereas the joint's angle is π minus it, and signs that fit
half of the legs; here the cosine rule is written once, in angles that increase as the foot swings forward. Arc tangents
of two arguments replace the paper's cases and arc cosines.

A leg has up to four solutions: knee behind or in front of the hip (``knee`` = +1, -1), and the leg's plane below or
above the roll axis (``above``). Out of reach, the foot is placed at the nearest point that the leg can reach, and
``reachable`` is false. Joint limits are ignored here: ``within_limits`` checks them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from footfall.errors import InputError
from footfall.kinematics.iterative.numerical_leg import numerical_leg
from footfall.kinematics.leg_chain import leg_chain
from footfall.kinematics.leg_geometry import Leg, Segment, has_closed_form, leg_geometry
from footfall.robot.model.description import Robot
from nptrace import is_tracing
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float

FRAMES = ("carrier", "hip")
_SLACK = 1e-12  # relative: a target exactly at the limit of reach counts as reached


class LegPose(NamedTuple):
    """Angles of a leg's joints, root to foot [rad], and whether the target was in reach."""

    joints: Float[ndarray, "n"]
    reachable: Scalar


def leg_inverse(
    robot: Robot,
    leg: str,
    position: Float[ndarray, "3"],
    knee: int = 1,
    *,
    above: bool = False,
    foot_pitch: float = 0.0,
    frame: str = "carrier",
    nearly: bool = False,
) -> LegPose:
    """Return joint angles that put the centre of a leg's foot at ``position`` [m].

    Args:
        robot: The robot.
        leg: Name of the leg's foot.
        position: Centre of the foot's sphere.
        knee: +1 puts the knee behind the line from hip to foot, -1 in front of it.
        above: The leg's plane points upwards from the roll axis: the other solution of the roll joint.
        foot_pitch: Pitch of a fourth joint's link [rad], relative to hanging down at zero; positive lifts the toe. With
            the roll joint second (DynaKat) and rolled, it is the foot's angle in the leg's plane to the line from hip
            to foot, plus that line's pitch, which is equal at zero roll.
        frame: ``carrier``: the frame of the body that carries the leg (the trunk; a spined robot's front or hind
            body). ``hip``: relative to the point above the foot at zero roll, along the leg's axes.
        nearly: Accept legs with skewed axes too: solved by iteration (``numerical_leg``) from the closed form with
            straightened axes.
    """
    if frame not in FRAMES:
        raise InputError(f"unknown frame of a foot '{frame}': choose {', '.join(FRAMES)}")
    if np.shape(position) != (3,):
        raise InputError(f"position of the foot {leg} must be three numbers, got shape {np.shape(position)}")
    if not is_tracing() and not np.isfinite(position).all():
        raise InputError(f"position of the foot {leg} is not finite: {np.asarray(position).tolist()}")
    if knee not in (1, -1):
        raise InputError(f"knee must be +1 (behind the hip) or -1 (in front of it), got {knee!r}")
    geometry = leg_geometry(robot, leg, nearly)
    if frame == "carrier":
        x, y, z = geometry.along([position[k] - geometry.origin[k] for k in range(3)])
    else:
        x, y, z = _from_hip(geometry, position)
    angles, reachable = _SOLVERS[geometry.kind](geometry, x, y, z, knee, above, foot_pitch)
    if nearly and not has_closed_form(robot, leg):
        return LegPose(*numerical_leg(leg_chain(robot, leg), place_of(geometry, x, y, z), _signed(geometry, angles)))
    return LegPose(_signed(geometry, angles), reachable)


def place_of(leg: Leg, x: Scalar, y: Scalar, z: Scalar) -> Float[ndarray, "3"]:
    """Return a point in the carrier's frame [m], given from the leg's first joint along the leg's axes."""
    return np.stack([leg.origin[i] + sum(e[i] * a for e, a in zip(leg.basis, (x, y, z))) for i in range(3)])


def from_hip(leg: Leg, position: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
    """Return a point in the carrier's frame [m], given in the frame ``hip``."""
    return place_of(leg, *_from_hip(leg, position))


def _from_hip(leg: Leg, position: Float[ndarray, "3"]) -> tuple[Operand, ...]:
    return tuple(position[k] + offset for k, offset in enumerate(_under_hip(leg)))


def planar_inverse(leg: Leg, x: Scalar, z: Scalar, knee: int = 1, foot_pitch: float = 0.0) -> LegPose:
    """Return joint angles with the roll at zero: the foot at x forward of and z above the hip's pitch axis [m].

    The planar leg of section 6.2 of de Paula et al. 2024.
    """
    pitches, reachable = _plane(leg, x, z, knee, foot_pitch)
    rest = iter(pitches)
    return LegPose(_signed(leg, [0.0 if letter == "R" else next(rest) for letter in leg.kind]), reachable)


def branches(robot: Robot, leg: str, position: Float[ndarray, "3"], **options: Any) -> list[LegPose]:
    """Return every solution: knee behind and in front, the leg's plane below and above the roll axis if it has one."""
    sides = (False, True) if "R" in leg_geometry(robot, leg, bool(options.get("nearly"))).kind else (False,)
    return [leg_inverse(robot, leg, position, knee, above=side, **options) for side in sides for knee in (1, -1)]


def within_limits(robot: Robot, leg: str, joints: Float[ndarray, "n"]) -> Operand:
    """Return whether every joint of a leg is within its limits."""
    limits = leg_geometry(robot, leg, nearly=True).limits
    inside = [(lower <= q) & (q <= upper) for q, (lower, upper) in zip(joints, limits)]
    return np.all(np.stack(inside))


def knee_direction(leg: Leg, joints: Float[ndarray, "n"]) -> int:
    """Return on which side of the line from hip to foot the knee is (+1 behind, -1 in front), for numeric joint
    angles.
    """
    pitches = [s * q for s, q, letter in zip(leg.signs, joints, leg.kind) if letter == "P"]
    bend = float(pitches[1]) + leg.shank.angle - leg.thigh.angle
    return 1 if math.sin(bend) >= 0 else -1


def hip_height(leg: Leg, joints: Sequence[float]) -> float:
    """Return the height of the hip's pitch axis over the sole of its foot [m], in the leg's plane, at numeric joint
    angles.
    """
    pitch, depth = 0.0, 0.0
    segments = [s for s in (leg.thigh, leg.shank, leg.foot) if s is not None]
    pitches = [s * float(q) for s, q, letter in zip(leg.signs, joints, leg.kind) if letter == "P"]
    for segment, angle in zip(segments, pitches):
        pitch += angle
        depth += segment.length * math.cos(segment.angle + pitch)
    return depth + leg.radius


# -- the plane of the leg ----------------------------------------------------------------------------------------------
def _bend(thigh: Segment, shank: Segment, square: Scalar, knee: int) -> tuple[Scalar, Scalar, Operand]:
    """Return cosine and sine of the angle from thigh to shank whose ends are sqrt(square) apart, and whether it
    exists.
    """
    a, b = thigh.length, shank.length
    cosine = square * (0.5 / (a * b)) - 0.5 * (a / b + b / a)
    inside = np.abs(cosine) <= 1.0 + _SLACK
    cosine = np.clip(cosine, -1.0, 1.0)
    return cosine, knee * np.sqrt(1.0 - cosine * cosine), inside


def _plane(leg: Leg, x: Scalar, z: Scalar, knee: int, foot_pitch: float) -> tuple[list[Scalar], Scalar]:
    """Return pitch angles for a foot at (x, z) from the hip in the leg's plane."""
    down = -z
    if leg.foot is not None:  # to the ankle
        hang = leg.foot.angle + foot_pitch
        x, down = x - leg.foot.length * np.sin(hang), down - leg.foot.length * np.cos(hang)
    cosine, sine, inside = _bend(leg.thigh, leg.shank, x * x + down * down, knee)
    across, ahead = leg.shank.length * sine, leg.thigh.length + leg.shank.length * cosine
    hip = _angle(x * ahead - down * across, down * ahead + x * across, leg.thigh.angle)
    knee_angle = np.arctan2(sine, cosine) + _wrapped(leg.thigh.angle - leg.shank.angle)
    angles = [hip, knee_angle]
    if leg.foot is not None:
        angles.append(foot_pitch - hip - knee_angle)
    return angles, inside


def _angle(y: Scalar, x: Scalar, less: float) -> Scalar:
    """Return atan2(y, x) - less, within ±π."""
    if less == 0.0:
        return np.arctan2(y, x)
    c, s = math.cos(less), math.sin(less)
    return np.arctan2(c * y - s * x, c * x + s * y)


# -- the roll joint ----------------------------------------------------------------------------------------------------
def _roll_first(
    leg: Leg, x: Operand, y: Operand, z: Operand, knee: int, above: bool, foot_pitch: float
) -> tuple[list[Operand], Operand]:
    """Solve roll, then the plane: the roll rotates (side, height) into (y, z), eqs. (2)-(4)."""
    x = x - leg.hip[0]
    side = leg.hip[1] + leg.side
    square = y * y + z * z
    inside = square >= side * side * (1.0 - _SLACK)
    # the boundary of the reachable set is a sphere about the roll axis: go there
    if leg.hip[2] == 0.0 and leg.foot is None:
        far = x * x + square
        inner, outer = ((leg.thigh.length + s * leg.shank.length) ** 2 + side * side for s in (-1, 1))
        scale = np.sqrt(np.clip(far, inner, outer) / np.maximum(far, 1e-300))
        x, square = x * scale, square * (scale * scale)
    height = np.sqrt(np.maximum(square - side * side, 0.0))
    height = height if above else -height
    if side == 0.0:  # only the sign of the height is used
        roll = np.arctan2(-y, z) if above else np.arctan2(y, -z)
    else:
        roll = _angle_about_x(side, height, y, z)
    angles, reached = _plane(leg, x, height - leg.hip[2], knee, foot_pitch)
    if leg.hip[2] == 0.0 and leg.foot is None:
        reached = (far >= inner * (1.0 - _SLACK)) & (far <= outer * (1.0 + _SLACK))
    return [roll, *angles], inside & reached


def _angle_about_x(a: float, b: Scalar, y: Scalar, z: Scalar) -> Scalar:
    """Return the angle about e_x that rotates (a, b) into the direction of (y, z)."""
    return np.arctan2(a * z - b * y, a * y + b * z)


def _pitch_first(
    leg: Leg, x: Scalar, y: Scalar, z: Scalar, knee: int, above: bool, foot_pitch: float
) -> tuple[list[Scalar], Scalar]:
    """Solve pitch, roll, then the plane (DynaKat): the distance from hip to foot first determines the plane's
    triangle.
    """
    assert leg.foot is not None
    y = y - leg.hip[1]
    flat = x * x + z * z
    square = flat + y * y - leg.side * leg.side
    line = np.sqrt(np.maximum(square, 1e-300))  # from hip to foot in the leg's plane
    scale = 1.0 / np.sqrt(np.maximum(flat, 1e-300))
    sin_pitch, cos_pitch = x * scale, -z * scale  # angle of that line, seen from the side
    hang = foot_pitch + leg.foot.angle
    c, s = leg.foot.length * np.cos(hang), leg.foot.length * np.sin(hang)
    # the ankle, along and across the line: the foot's link makes the angle foot_pitch - pitch with it
    along, across = line - (c * cos_pitch + s * sin_pitch), c * sin_pitch - s * cos_pitch
    distance = along * along + across * across
    cosine, sine, inside = _bend(leg.thigh, leg.shank, distance, knee)
    b, a = leg.shank.length * sine, leg.thigh.length + leg.shank.length * cosine
    # the line's direction in the leg's plane, where the thigh's is fixed
    across, along = along * b - across * a, along * a + across * b
    c, s = math.cos(leg.thigh.angle), math.sin(leg.thigh.angle)
    scale = 1.0 / np.sqrt(np.maximum(distance * (a * a + b * b), 1e-300))
    sin_lean, cos_lean = (c * across + s * along) * scale, (c * along - s * across) * scale
    ahead, down = line * sin_lean, line * cos_lean
    height_square = leg.side * leg.side + down * down - y * y
    height = np.sqrt(np.maximum(height_square, 0.0))
    height = height if above else -height
    inside = inside & (height_square >= -_SLACK * square) & (flat > _SLACK * square)
    roll = _angle_about_x(leg.side, -down, y, height)
    hip = np.arctan2(z * ahead - x * height, z * height + x * ahead)
    knee_angle = np.arctan2(sine, cosine) + _wrapped(leg.thigh.angle - leg.shank.angle)
    turn = np.arctan2(sin_lean * cos_pitch - cos_lean * sin_pitch, cos_lean * cos_pitch + sin_lean * sin_pitch)
    return [hip, roll, knee_angle, foot_pitch + turn - knee_angle], inside


def _pitch_roll_pitch(
    leg: Leg, x: Scalar, y: Scalar, z: Scalar, knee: int, above: bool, foot_pitch: float
) -> tuple[list[Scalar], Scalar]:
    """Solve pitch, roll, knee (Pupper v3): the distance from hip to foot determines the knee, the sideways position
    the roll, and the remainder the pitch.
    """
    y = y - leg.hip[1]
    flat = x * x + z * z
    square = flat + y * y - leg.side * leg.side
    cosine, sine, inside = _bend(leg.thigh, leg.shank, square, knee)
    # the foot in the leg's plane, where the thigh's direction is fixed: ahead and below
    a, b = leg.thigh.length + leg.shank.length * cosine, leg.shank.length * sine
    c, s = math.cos(leg.thigh.angle), math.sin(leg.thigh.angle)
    ahead, down = s * a + c * b, c * a - s * b
    height_square = leg.side * leg.side + down * down - y * y
    height = np.sqrt(np.maximum(height_square, 0.0))
    height = height if above else -height
    inside = inside & (height_square >= -_SLACK * (square + leg.side * leg.side)) & (flat > _SLACK * square)
    roll = _angle_about_x(leg.side, -down, y, height)
    hip = np.arctan2(z * ahead - x * height, z * height + x * ahead)
    knee_angle = np.arctan2(sine, cosine) + _wrapped(leg.thigh.angle - leg.shank.angle)
    return [hip, roll, knee_angle], inside


def _roll_missing(
    leg: Leg, x: Operand, y: Operand, z: Operand, knee: int, above: bool, foot_pitch: float
) -> tuple[list[Operand], Operand]:
    angles, inside = _plane(leg, x, z, knee, foot_pitch)
    return angles, inside & (np.abs(y - leg.side) <= 1e-9)


_SOLVERS = {
    "RPP": _roll_first,
    "RPPP": _roll_first,
    "PP": _roll_missing,
    "PPP": _roll_missing,
    "PRP": _pitch_roll_pitch,
    "PRPP": _pitch_first,
}


# -- small things ------------------------------------------------------------------------------------------------------
def _under_hip(leg: Leg) -> tuple[float, float, float]:
    """Return the offset from the leg's first joint to the point above the foot at zero roll, along the leg's axes."""
    x, y, z = leg.hip
    return x, y + leg.side, z


def _signed(leg: Leg, angles: list[Scalar]) -> Float[ndarray, "n"]:
    return np.array([s * angle + 0.0 for s, angle in zip(leg.signs, angles)])


def _wrapped(angle: float) -> float:
    return math.remainder(angle, 2.0 * math.pi)
