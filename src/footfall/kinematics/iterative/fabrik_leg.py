"""Forward and backward reaching (FABRIK) for one leg: Aristidou and Lasenby 2011, as proposed in the DynaKat report.

A chain of points is pulled to the target from the foot inwards, lengths kept, then back to its root from the hip
outwards; the joints follow by pointing each link where its end was pulled. The paper's joints are ball joints. Those of
a leg are hinges, and reaching from point to point alone would not converge for a joint that only rotates the plane of
the others, or would pull a knee through its limit to the other side. So here

* the leg first swings as a whole until its foot is in line with the target, which keeps the knee on its side;
* the last joints with parallel axes (hip, knee, ankle) reach in their plane, as in the paper;
* the joint before them (roll) rotates that plane through the target: the inverse of the paper's projection onto a
  hinge's plane;
* joints before that one (DynaKat's hip) point their links to the positions in the pulled chain.

The backward pass sets angles, each within its limits, so that every iterate is a valid pose of the robot. Plain NumPy
that can be traced: with numbers and compiled alike, it stops at the tolerance and returns the number of iterations.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy import ndarray

import nptrace
from footfall.errors import InputError
from footfall.kinematics.leg_chain import LegChain, Screw, Values, Vector, along, foot_position, pose_of
from footfall.spatial.transform import Transform
from footfall.spatial.vector import cross
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float

ITERATIONS, TOLERANCE = 200, 1e-7  # maximum iterations; distance of the foot [m]
_TINY = 1e-30


class Reached(NamedTuple):
    """Joint values [rad], the distance of the foot, or of each foot, from its target [m], iterations used."""

    joints: Float[ndarray, "n"]
    residual: Scalar
    iterations: Scalar


@dataclass(frozen=True, kw_only=True)
class _Plane:
    """The last, parallel joints of a leg in two dimensions, all joints at zero: a basis, points, links."""

    normal: Vector
    e_1: Vector
    e_2: Vector
    side: float  # position of the foot along the normal [m]
    signs: tuple[int, ...]  # signs of the joints' axes along the normal
    root: tuple[float, float]  # position of the first joint [m]
    lengths: tuple[float, ...]  # lengths of the links, to the next joint or the foot [m]
    angles: tuple[float, ...]  # angles of the links from e_1 to e_2 [rad]

    def flat(self, p: Operand) -> tuple[Scalar, Scalar]:
        return along(self.e_1, p), along(self.e_2, p)

    def solid(self, point: Values) -> Float[ndarray, "3"]:
        """Return a point of the plane in which the foot moves."""
        e_1, e_2, n = np.array(self.e_1), np.array(self.e_2), np.array(self.normal)
        return point[0] * e_1 + point[1] * e_2 + self.side * n

    @property
    def forward(self) -> float:
        """Return +1 if a positive rotation about the normal swings the foot forward."""
        return -1.0 if self.normal[1] > 0 else 1.0


def fabrik_leg(
    leg: LegChain,
    target: Float[ndarray, "3"],
    start: Values,
    foot_pitch: Scalar | None = None,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
) -> Reached:
    """Solve the inverse kinematics of a leg by FABRIK.

    Args:
        leg: Chain of the leg (``leg_chain``).
        target: Position of the foot's centre in the frame of the body that carries the leg [m].
        start: Joint values to start from; a bent knee stays on its side.
        foot_pitch: Contact angle of a redundant last link [rad], as in ``leg_inverse``; None leaves it near the
            start's.
        iterations: Largest number of iterations.
        tolerance: Distance at which the target counts as reached [m].

    Returns:
        Joint values, distance left [m], and iterations used.
    """

    length = 0.0 if foot_pitch is None else _last_length(leg)

    def misses(joints: Operand) -> tuple[Operand, Operand]:
        """Return the errors of the foot, and of its link's direction [m]."""
        far = distance(foot_position(leg, list(joints)), target)
        return far, length * np.abs(_wrapped(contact_angle(leg, list(joints)) - foot_pitch)) if length else 0.0

    def there(carry: tuple[PyTree, PyTree, PyTree, PyTree]) -> PyTree:
        return (carry[1] <= tolerance) & (carry[2] <= tolerance)

    def body(_: Scalar, carry: tuple[PyTree, PyTree, PyTree, PyTree]) -> tuple[PyTree, PyTree, PyTree, PyTree]:
        done, used = there(carry), carry[3]
        better = np.stack(sweep(leg, target, list(carry[0]), foot_pitch))
        fresh = (better, *misses(better))
        kept = [np.where(done, old, new) for old, new in zip(carry, fresh)]
        return kept[0], kept[1], kept[2], used + np.where(done, 0.0, 1.0)

    first = np.stack([screw.within(value) for screw, value in zip(leg.screws, start)])
    found = nptrace.repeat(iterations, body, (first, *misses(first), 0.0), until=there)
    return Reached(found[0], found[1], found[3])


def contact_angle(leg: LegChain, joints: Values) -> Operand:
    """Return the angle ``foot_pitch`` between the last link of a redundant leg and the ground; see ``leg_inverse``.

    Args:
        leg: Chain of the leg (``leg_chain``).
        joints: Joint values of the leg.

    Returns:
        Angle [rad].
    """
    plane = _plane(leg)
    assert plane is not None
    X, foot = pose_of(leg, joints, leg.tail), foot_position(leg, joints)
    angle_sum = sum(sign * value for sign, value in zip(plane.signs, list(joints)[leg.tail :]))
    level = _contact_angle(leg, plane, X, foot, plane.flat(X.inverse().point(foot)), 0.0)
    return plane.forward * _wrapped(plane.angles[-1] + angle_sum - level)


def bent(leg: LegChain, knee: int) -> LegChain:
    """Return the leg with its knee kept behind (+1) or in front (-1) of the line from hip to foot, by narrower
    limits.
    """
    plane = _plane(leg)
    if knee not in (1, -1):
        raise InputError(f"knee must be +1 (behind the hip) or -1 (in front of it), got {knee!r}")
    at = None if plane is None else _knee(leg, plane)
    if plane is None or at is None:
        raise InputError(f"leg {leg.name} of robot '{leg.robot}' has no knee: its last hinges are not parallel")
    sign = plane.signs[at - leg.tail]
    straight = -sign * math.remainder(_bend(leg, plane, at, 0.0), 2.0 * math.pi)
    far = straight + math.pi * sign * plane.forward * knee
    screw = leg.screws[at]
    lower, upper = max(screw.lower, min(straight, far)), min(screw.upper, max(straight, far))
    if lower > upper:
        where = "behind the hip" if knee > 0 else "in front of the hip"
        raise InputError(
            f"the limits {screw.lower:g} to {screw.upper:g} rad of the knee of leg {leg.name} of robot '{leg.robot}'"
            f" do not let it bend {where}"
        )
    narrow = dataclasses.replace(screw, lower=lower, upper=upper)
    return dataclasses.replace(leg, screws=(*leg.screws[:at], narrow, *leg.screws[at + 1 :]))


# -- one iteration -----------------------------------------------------------------------------------------------------
def sweep(leg: LegChain, target: Operand, joints: list[Operand], foot_pitch: Operand) -> list[Operand]:
    plane = _plane(leg)
    if plane is None:
        return joint_by_joint(leg, target, joints)
    if leg.tail > 1:
        foot = [foot_position(leg, joints)] * (leg.tail - 1)
        joints = _aimed(leg, joints, foot, [target] * (leg.tail - 1))
        joints = _turned_to_target(leg, plane, target, joints)
        pulled = _pulled(leg, plane, target, joints, foot_pitch)
        X = pose_of(leg, joints, leg.tail)
        joints = _turned_to_target(leg, plane, target, _carried(leg, plane, pulled, joints))
        back = pose_of(leg, joints, leg.tail).inverse() @ X  # the plane has moved relative to the pulled points
        pulled = [plane.flat(back.point(plane.solid(p))) for p in pulled]
    else:
        joints = _turned_to_target(leg, plane, target, joints)
        joints = _swung(leg, plane, target, joints)
        pulled = _pulled(leg, plane, target, joints, foot_pitch)
    return joints[: leg.tail] + _reached(leg, plane, pulled, joints)


def _turned_to_target(leg: LegChain, plane: _Plane, target: Operand, joints: list[Operand]) -> list[Operand]:
    """Rotate the plane of the parallel joints, by the joint before them and at its distance from the axis, through the
    target.

    (R n) · τ = side is A cos θ + B sin θ = C: of its two solutions, the one within the limits, otherwise the nearer.
    """
    k = leg.tail - 1
    if k < 0 or leg.screws[k].kind != "revolute":
        return joints
    screw = leg.screws[k]
    axis, n = screw.axis, plane.normal
    tau = pose_of(leg, joints, k).inverse().point(target) - np.array(screw.point)
    side = plane.side - along(n, screw.point)
    n_along = along(n, axis)
    n_across = [n[i] - n_along * axis[i] for i in range(3)]
    n_turned = [axis[1] * n[2] - axis[2] * n[1], axis[2] * n[0] - axis[0] * n[2], axis[0] * n[1] - axis[1] * n[0]]
    A, B, C = along(n_across, tau), along(n_turned, tau), side - n_along * along(axis, tau)
    middle = np.arctan2(B, A)
    open_ = np.arccos(np.clip(C / np.sqrt(A * A + B * B + _TINY), -1.0, 1.0))
    one, other = (screw.within(joints[k] + _wrapped(middle + s * open_ - joints[k])) for s in (1.0, -1.0))

    def cost(angle: Scalar) -> Scalar:
        off = A * np.cos(angle) + B * np.sin(angle) - C  # remainder due to the limits
        return 1e3 * off * off / (A * A + B * B + _TINY) + 1e-3 * (angle - joints[k]) ** 2

    return [*joints[:k], np.where(cost(one) <= cost(other), one, other), *joints[k + 1 :]]


def _swung(leg: LegChain, plane: _Plane, target: Operand, joints: list[Operand]) -> list[Operand]:
    """Rotate the whole chain about its root until the foot is in line with the target, which keeps the knee's side."""
    tau = plane.flat(pose_of(leg, joints, leg.tail).inverse().point(target))
    foot, root, k = _points(plane, joints[leg.tail :])[-1], plane.root, leg.tail
    a, b = (foot[0] - root[0], foot[1] - root[1]), (tau[0] - root[0], tau[1] - root[1])
    by = np.arctan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1])
    return [*joints[:k], leg.screws[k].within(joints[k] + plane.signs[0] * by), *joints[k + 1 :]]


def _pulled(
    leg: LegChain, plane: _Plane, target: Operand, joints: list[Operand], foot_pitch: Operand
) -> list[tuple[Operand, Operand]]:
    """Run forward reaching: the points of the plane's chain, foot on the target, each next point towards its
    previous position.
    """
    X = pose_of(leg, joints, leg.tail)
    p = plane.flat(X.inverse().point(target))
    points, count = _kinked(leg, plane, _points(plane, joints[leg.tail :]), p), len(plane.lengths)
    pulled = [p]
    for k in reversed(range(count)):
        if foot_pitch is not None and k == count - 1:
            angle = _contact_angle(leg, plane, X, target, p, foot_pitch)
            d = (-np.cos(angle), -np.sin(angle))
        else:
            d = _unit(points[k][0] - p[0], points[k][1] - p[1])
        p = (p[0] + plane.lengths[k] * d[0], p[1] + plane.lengths[k] * d[1])
        pulled.insert(0, p)
    return pulled


def _kinked(
    leg: LegChain, plane: _Plane, points: list[tuple[Operand, Operand]], target: Operand
) -> list[tuple[Operand, Operand]]:
    """Return the points with the knee pushed off the line from hip to foot, if the leg must fold but is too straight.

    A straight chain pulled along itself stays straight: the one posture from which the paper's rule does not move.
    """
    at = _knee(leg, plane)
    if at is None:
        return points
    before = at == leg.tail
    hip = plane.flat(leg.screws[leg.tail - 1].point) if before else points[0]
    knee, foot = points[at - leg.tail], points[-1]
    line = _unit(foot[0] - hip[0], foot[1] - hip[1])
    long = np.sqrt((foot[0] - hip[0]) ** 2 + (foot[1] - hip[1]) ** 2 + _TINY)
    wanted = np.sqrt((target[0] - hip[0]) ** 2 + (target[1] - hip[1]) ** 2 + _TINY)
    off = line[0] * (knee[1] - hip[1]) - line[1] * (knee[0] - hip[0])
    least = 0.5 * np.sqrt(min(plane.lengths) * np.maximum(long - wanted, 0.0))
    low, high = (_bend(leg, plane, at, value) for value in (leg.screws[at].lower, leg.screws[at].upper))
    low, high = min(low, high), max(low, high)
    side = -1.0 if low >= 0.0 else 1.0 if high <= 0.0 else np.where(off > 0.0, 1.0, -1.0)
    push = np.where(np.abs(off) < least, side * least - off, 0.0)
    moved = (knee[0] - push * line[1], knee[1] + push * line[0])
    return [*points[: at - leg.tail], moved, *points[at - leg.tail + 1 :]]


def _reached(
    leg: LegChain, plane: _Plane, pulled: list[tuple[Operand, Operand]], joints: list[Operand]
) -> list[Operand]:
    """Run backward reaching: from the root outwards every link points to the pulled position of its end, within the
    limits.
    """
    p, angle_sum, found = plane.root, 0.0, list[Operand]()
    for k, (length, angle) in enumerate(zip(plane.lengths, plane.angles)):
        screw, sign, now = leg.screws[leg.tail + k], plane.signs[k], joints[leg.tail + k]
        wanted = np.arctan2(pulled[k + 1][1] - p[1], pulled[k + 1][0] - p[0]) - angle - angle_sum
        value = screw.within(now + _wrapped(sign * wanted - now))
        angle_sum = angle_sum + sign * value
        p = (p[0] + length * np.cos(angle + angle_sum), p[1] + length * np.sin(angle + angle_sum))
        found.append(value)
    return found


def _carried(
    leg: LegChain, plane: _Plane, pulled: list[tuple[Operand, Operand]], joints: list[Operand]
) -> list[Operand]:
    """Rotate the joints before the plane's: each points its link to the pulled position."""
    X, points = pose_of(leg, joints, leg.tail), _points(plane, joints[leg.tail :])
    first = [_first_off(leg, screw) for screw in leg.screws[: leg.tail - 1]]
    solid = [[X.point(plane.solid(p[m])) for m in first] for p in (points, pulled)]
    return _aimed(leg, joints, solid[0], solid[1])


def _aimed(leg: LegChain, joints: list[Operand], points: list[Operand], wanted: list[Operand]) -> list[Operand]:
    """Return the joints, root first, each rotated to take its point to its target."""
    for k, screw in enumerate(leg.screws[: leg.tail - 1]):
        X = pose_of(leg, joints, k).inverse()
        by = towards(screw, [X.point(points[k])], [X.point(wanted[k])])
        joints = [*joints[:k], screw.within(joints[k] + by), *joints[k + 1 :]]
    return joints


def joint_by_joint(leg: LegChain, target: Operand, joints: list[Operand]) -> list[Operand]:
    """Solve a leg that ends in a prismatic joint: every joint in turn, foot first, brings the foot as near as it
    can.
    """
    for k in reversed(range(len(leg))):
        X = pose_of(leg, joints, k).inverse()
        by = towards(leg.screws[k], [X.point(foot_position(leg, joints))], [X.point(target)])
        joints = [*joints[:k], leg.screws[k].within(joints[k] + by), *joints[k + 1 :]]
    return joints


def towards(screw: Screw, points: list[Operand], wanted: list[Operand]) -> Operand:
    """Return how much a joint must move to bring points on its links as near as possible, together, to their
    targets.
    """
    if screw.kind == "prismatic":
        return sum(along(screw.axis, b - a) for a, b in zip(points, wanted)) / len(points)
    sine, cosine, o = 0.0, 0.0, np.array(screw.point)
    for a, b in zip(points, wanted):
        a, b = a - o, b - o
        sine = sine + along(screw.axis, cross(a, b))
        cosine = cosine + along(a, b) - along(screw.axis, a) * along(screw.axis, b)
    return np.arctan2(sine, cosine)


def _contact_angle(
    leg: LegChain, plane: _Plane, X: Transform, target: Operand, p: Operand, foot_pitch: Operand
) -> Operand:
    """Return the direction of the last link in the plane for a contact angle; see ``leg_inverse`` for its
    definition.
    """
    hanging = math.atan2(-plane.e_2[2], -plane.e_1[2])  # downwards, all joints at zero
    forward = plane.forward
    if _thigh_before(leg, plane):  # from that line to the foot
        hip = leg.screws[leg.tail - 1].point
        at = plane.flat(hip)
        line = np.arctan2(p[1] - at[1], p[0] - at[0])
        first = leg.screws[0].point
        down = line - forward * np.arctan2(target[0] - first[0], first[2] - target[2])
    else:
        z = X.R[2]
        down = np.arctan2(-along(plane.e_2, z), -along(plane.e_1, z))
    return down + (plane.angles[-1] - hanging) + forward * foot_pitch


# -- geometry ----------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=256)
def _plane(leg: LegChain) -> _Plane | None:
    screws = leg.screws[leg.tail :]
    if not screws:
        return None
    n = screws[-1].axis
    k = min(range(3), key=lambda i: abs(n[i]))
    unit = [float(i == k) for i in range(3)]
    flat = [unit[i] - n[k] * n[i] for i in range(3)]
    length = math.hypot(*flat)
    e_1 = (flat[0] / length, flat[1] / length, flat[2] / length)
    e_2 = (n[1] * e_1[2] - n[2] * e_1[1], n[2] * e_1[0] - n[0] * e_1[2], n[0] * e_1[1] - n[1] * e_1[0])
    points = [(along(e_1, p), along(e_2, p)) for p in [*(screw.point for screw in screws), leg.foot]]
    links = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points)]
    return _Plane(
        normal=n,
        e_1=e_1,
        e_2=e_2,
        side=along(n, leg.foot),
        signs=tuple(1 if along(n, screw.axis) > 0 else -1 for screw in screws),
        root=points[0],
        lengths=tuple(math.hypot(*link) for link in links),
        angles=tuple(math.atan2(y, x) for x, y in links),
    )


def _last_length(leg: LegChain) -> float:
    plane = _plane(leg)
    if plane is None or len(plane.lengths) + _thigh_before(leg, plane) < 3:
        raise InputError(
            f"leg {leg.name} of robot '{leg.robot}' has no redundant last link to set a contact angle with"
        )
    return plane.lengths[-1]


@lru_cache(maxsize=256)
def _thigh_before(leg: LegChain, plane: _Plane) -> bool:
    """Return whether the joint that rotates the plane is the hip, and the first of the parallel ones the knee
    (DynaKat).
    """
    if leg.tail < 2:
        return False
    return math.dist(plane.flat(leg.screws[leg.tail - 1].point), plane.root) > 0.5 * plane.lengths[0]


def _knee(leg: LegChain, plane: _Plane) -> int | None:
    """Return which joint is the knee."""
    if _thigh_before(leg, plane):
        return leg.tail
    return leg.tail + 1 if len(plane.lengths) > 1 else None


def _bend(leg: LegChain, plane: _Plane, knee: int, value: float) -> float:
    """Return the angle from thigh to shank, about the normal, for a value of the knee joint [rad]."""
    if _thigh_before(leg, plane):
        hip = plane.flat(leg.screws[leg.tail - 1].point)
        thigh = math.atan2(plane.root[1] - hip[1], plane.root[0] - hip[0])
    else:
        thigh = plane.angles[0]
    return plane.angles[knee - leg.tail] - thigh + plane.signs[knee - leg.tail] * value


@lru_cache(maxsize=256)
def _first_off(leg: LegChain, screw: Screw) -> int:
    """Return the first of the plane's points that a joint moves, all joints at zero."""
    points = [s.point for s in leg.screws[leg.tail :]] + [leg.foot]
    for m, p in enumerate(points):
        if screw.kind == "prismatic":
            return m
        d = [p[i] - screw.point[i] for i in range(3)]
        if math.hypot(*d) - abs(along(screw.axis, d)) > 1e-6:
            return m
    return len(points) - 1


def _points(plane: _Plane, joints: list[Operand]) -> list[tuple[Operand, Operand]]:
    """Return joints and foot of the plane's chain."""
    p: tuple[Operand, Operand] = plane.root
    points, angle_sum = [p], 0.0
    for length, angle, sign, value in zip(plane.lengths, plane.angles, plane.signs, joints):
        angle_sum = angle_sum + sign * value
        p = (p[0] + length * np.cos(angle + angle_sum), p[1] + length * np.sin(angle + angle_sum))
        points.append(p)
    return points


def _unit(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    scale = 1.0 / np.sqrt(x * x + y * y + _TINY)
    return x * scale, y * scale


def distance(a: Scalar, b: Scalar) -> Scalar:
    return np.sqrt(np.sum(np.square(a - b)))


def _wrapped(angle: Scalar) -> Scalar:
    return angle - 2.0 * math.pi * np.round(angle * (0.5 / math.pi))
