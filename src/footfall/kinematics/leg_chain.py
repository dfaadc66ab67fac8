"""A leg as a chain of screws: the data that iterative inverse kinematics needs, for any kind of leg.

A leg is the set of joints that move one foot and no other. All its axes and points are in the frame of the body that
carries it, with the leg's joints at zero: a pose is then a product of exponentials, one per joint (Yan et al. 2021,
eqs. (7)-(9)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy import ndarray

from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.spatial.rotation import about_axis
from footfall.spatial.transform import Transform
from footfall.spatial.vector import cross
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float

Vector = tuple[float, float, float]
Values = Sequence[Scalar] | ndarray  # joint values
_SNAP = 1e-10  # rounding of angles in model files: a component this close to an integer is that integer
_PARALLEL = 1e-9  # tolerance of an axis [rad]


@dataclass(frozen=True)
class Screw:
    """A joint: its axis and a point on it in the carrier's frame, and its limits [rad or m]."""

    kind: str  # revolute or prismatic
    axis: Vector
    point: Vector
    lower: float
    upper: float

    def pose(self, value: Operand) -> Transform:
        """Return the displacement by the joint, relative to its zero position."""
        if self.kind == "prismatic":
            return Transform(np.eye(3), np.array(self.axis) * value)
        R, point = about_axis(self.axis, value), np.array(self.point)
        return Transform(R, point - R @ point)

    def within(self, value: Scalar) -> Operand:
        """Return the value nearest to the given one within the limits; an angle may be shifted by full turns."""
        if self.kind == "revolute" and math.isfinite(self.lower) and math.isfinite(self.upper):
            turns = np.round((value - 0.5 * (self.lower + self.upper)) * (0.5 / math.pi))
            inside = (value >= self.lower) & (value <= self.upper)
            value = np.where(inside, value, value - 2.0 * math.pi * turns)
        return np.clip(value, self.lower, self.upper)


@dataclass(frozen=True, kw_only=True)
class LegChain:
    """The joint screws of a leg, from root to foot."""

    name: str
    robot: str
    carrier: int  # body that carries the leg
    joints: tuple[int, ...]  # indices of its joints in the robot's joint vector
    screws: tuple[Screw, ...]
    foot: Vector  # centre of the foot's sphere, all joints at zero
    tail: int  # index of the first of the last, parallel joints: from there on the leg moves in a plane

    def __len__(self) -> int:
        return len(self.screws)

    @property
    def lower(self) -> list[float]:
        return [screw.lower for screw in self.screws]

    @property
    def upper(self) -> list[float]:
        return [screw.upper for screw in self.screws]

    @property
    def reach(self) -> float:
        """Upper bound of the distance of any point of the leg from its first joint [m], without sliding joints."""
        points = [screw.point for screw in self.screws] + [self.foot]
        return sum(math.dist(a, b) for a, b in pairwise(points))


def leg_chain(robot: Robot, foot: str) -> LegChain:
    """Return the kinematic chain of a leg, for closed-form and iterative inverse kinematics.

    Args:
        robot: The robot.
        foot: Name of the foot.

    Returns:
        The chain from the body that carries the leg to the foot.
    """
    robot.foot(foot)
    return _leg_chain(robot, foot)


@lru_cache(maxsize=256)
def _leg_chain(robot: Robot, foot: str) -> LegChain:
    tree, index = robot.tree, robot.foot_index(foot)
    moved = tree.leg_of(index)
    if not moved:
        raise InputError(f"leg {foot} of robot '{robot.name}' has no joint that moves it alone")
    X, screws = Transform.identity(), []
    for j in moved:
        body = tree.bodies[j]
        X = X @ body.X_PJ
        joint = body.joint
        assert joint is not None
        screws.append(Screw(body.kind, _snapped(X.R @ body.axis), _snapped(X.p), joint.lower, joint.upper))
    if tree.feet[index] != moved[-1]:  # a wheel, whose own joint does not move its centre
        X = X @ tree.bodies[tree.feet[index]].X_PJ
    return LegChain(
        name=foot,
        robot=robot.name,
        carrier=tree.parent[moved[0]],
        joints=tuple(j - 1 for j in moved),
        screws=tuple(screws),
        foot=_snapped(X.point(tree.foot_positions[index])),
        tail=_tail(screws),
    )


def _tail(screws: list[Screw]) -> int:
    """Return where the chain of parallel hinges at the end of the leg starts; the number of joints if there is none."""
    tail = len(screws)
    while tail > 0 and screws[tail - 1].kind == "revolute":
        a, b = screws[tail - 1].axis, screws[-1].axis
        if math.hypot(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]) > _PARALLEL:
            break
        tail -= 1
    return tail


def foot_position(leg: LegChain, angles: Values) -> Float[ndarray, "3"]:
    """Return the position of a leg's foot.

    Args:
        leg: Chain of the leg (``leg_chain``).
        angles: Joint values of the leg.

    Returns:
        Centre of the foot in the frame of the body that carries the leg [m].
    """
    p = np.array(leg.foot)
    for screw, angle in zip(reversed(leg.screws), reversed(list(angles))):
        p = screw.pose(angle).point(p)
    return p


def foot_jacobian(leg: LegChain, angles: Values) -> tuple[Float[ndarray, "3"], Float[ndarray, "3 n"]]:
    """Return the position of a leg's foot and its Jacobian.

    Args:
        leg: Chain of the leg (``leg_chain``).
        angles: Joint values of the leg.

    Returns:
        Centre of the foot in the frame of the body that carries the leg [m], and its derivative with respect to the
        leg's joints.
    """
    p, columns = np.array(leg.foot), list[Scalar]()
    for screw, angle in zip(reversed(leg.screws), reversed(list(angles))):
        X = screw.pose(angle)
        p, columns = X.point(p), [X.R @ column for column in columns]
        axis = np.array(screw.axis)
        columns.insert(0, axis if screw.kind == "prismatic" else cross(axis, p - np.array(screw.point)))
    return p, np.stack(columns, axis=1)


def pose_of(leg: LegChain, angles: Values, count: int) -> Transform:
    """Return the displacement by the first ``count`` joints."""
    X = Transform.identity()
    for screw, angle in zip(leg.screws[:count], angles):
        X = X @ screw.pose(angle)
    return X


def along(axis: Values, p: Operand) -> Operand:
    """Return the component of a vector along a unit vector; constants stay numbers while a trace runs."""
    return axis[0] * p[0] + axis[1] * p[1] + axis[2] * p[2]


def _snapped(v: Operand) -> Vector:
    x, y, z = (float(round(c)) if abs(c - round(c)) < _SNAP else c for c in (float(v[0]), float(v[1]), float(v[2])))
    return (x + 0.0, y + 0.0, z + 0.0)
