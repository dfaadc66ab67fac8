"""The geometry of a leg for closed-form inverse kinematics, from the robot's tree.

A leg is the set of joints that move one foot and no other. Its axes, with all joints at zero, are e_x along its roll
axis (forward), e_y along its pitch axes (left), e_z upwards: those of the trunk for most robots. Angles of pitch joints
are measured about -e_y, so that a positive one swings the foot forward, whatever the sign of the joint's axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.robot.model.tree import Tree
from footfall.spatial.transform import Transform
from nptrace._types import Operand, Scalar

Vector = tuple[float, float, float]
KINDS = {
    "RPP": "roll, pitch, pitch",
    "RPPP": "roll, pitch, pitch, pitch",
    "PP": "pitch, pitch",
    "PPP": "pitch, pitch, pitch",
    "PRP": "pitch, roll, pitch",
    "PRPP": "pitch, roll, pitch, pitch",
}
_PARALLEL = 1e-9  # tolerance of an axis [rad]
_NEARLY = 0.8  # tolerance for legs with skewed axes (4.4 degrees in Barkour): with straightened axes, they give a guess
_PLANAR = 0.1  # [rad], tolerance for legs of pitch joints alone, whose axes are then straightened
_SNAP = 1e-10  # rounding of angles in model files: a smaller component is zero


@dataclass(frozen=True)
class Segment:
    """Distance between two joints in the leg's plane [m], and its direction at zero [rad]: 0 is down, positive is
    forward.
    """

    length: float
    angle: float

    @staticmethod
    def of(vector: Vector) -> Segment:
        return Segment(math.hypot(vector[0], vector[2]), math.atan2(vector[0] + 0.0, -vector[2] + 0.0))


@dataclass(frozen=True, kw_only=True)
class Leg:
    """A leg as seen by its inverse kinematics."""

    name: str
    robot: str
    kind: str  # one of KINDS
    carrier: int  # body that carries the leg
    joints: tuple[int, ...]  # indices of its joints in the robot's joint vector
    # +1 where a joint rotates about e_x (roll) or -e_y (pitch), -1 where in the opposite direction
    signs: tuple[int, ...]
    limits: tuple[tuple[float, float], ...]  # [rad]
    origin: Vector  # position of the first joint, in the carrier's frame [m]
    basis: tuple[Vector, Vector, Vector]  # e_x, e_y, e_z in the carrier's frame
    hip: (
        Vector  # from the first joint to the second (roll-pitch, pitch-roll) along e_x, e_y, e_z; zero if there is none
    )
    side: float  # offset of the foot from the hip along e_y [m]
    thigh: Segment
    shank: Segment
    foot: Segment | None  # link below the ankle, if there is one
    radius: float  # radius of the foot's sphere [m]

    @property
    def stretch(self) -> float:
        """Return the length of thigh and shank in line [m]."""
        return self.thigh.length + self.shank.length

    def along(self, vector: Sequence[float]) -> list[float]:
        """Return components along e_x, e_y, e_z of a vector in the carrier's axes."""
        return [_dot(e, vector) for e in self.basis]


def leg_geometry(robot: Robot, leg: str, nearly: bool = False) -> Leg:
    """Return the geometry of the leg with the given foot, or an InputError that says why it has no closed form.

    ``nearly`` treats axes within 45 degrees of parallel or perpendicular as if they were exact: feet are then
    centimetres off, and ``numerical_leg`` continues from there.
    """
    robot.foot(leg)
    return _leg_geometry(robot, leg, _NEARLY if nearly else _PARALLEL)


@lru_cache(maxsize=128)
def has_closed_form(robot: Robot, leg: str) -> bool:
    """Return whether closed-form inverse kinematics puts the leg's foot where it should be.

    A leg of pitch joints alone cannot move its foot sideways, so an iteration could not correct slightly skewed axes.
    """
    try:
        leg_geometry(robot, leg)
    except InputError:
        try:
            return "R" not in _leg_geometry(robot, leg, _PLANAR).kind
        except InputError:
            return False
    return True


@lru_cache(maxsize=128)
def _leg_geometry(robot: Robot, leg: str, askew: float) -> Leg:
    tree = robot.tree
    index = robot.foot_index(leg)
    moved = tree.leg_of(index)
    what = f"leg {leg} of robot '{robot.name}'"
    if not moved:
        raise InputError(f"{what} has no joint of its own")
    for j in moved:
        if tree.bodies[j].kind != "revolute":
            raise InputError(f"{what} has the {tree.bodies[j].kind} joint '{tree.joint_names[j - 1]}': {_closed()}")
    carrier = tree.parent[moved[0]]
    forward, left = _trunk_axes(robot, carrier)
    origin = _floats(tree.bodies[moved[0]].X_PJ.p)
    ends = [tree.bodies[j].X_PJ.p for j in moved[1:]] + [_foot_on(tree, moved[-1], index)]
    R, axes, vectors = Transform.identity().R, [], []
    for j, end in zip(moved, ends):
        R = R @ tree.bodies[j].X_PJ.R
        axes.append(_floats(R @ tree.bodies[j].axis))
        vectors.append(_floats(R @ end))  # to the next joint, or the foot
    kind = "".join(_letter(axis, forward, left) for axis in axes)
    if kind not in KINDS:
        raise InputError(f"{what} has the joint axes {kind} (roll, pitch, yaw from the trunk out): {_closed()}")
    e_x, e_y, e_z = _basis(kind, axes, forward, left, what, askew)
    steps = [_snapped([_dot(e, vector) for e in (e_x, e_y, e_z)]) for vector in vectors]
    two_axes = "R" in kind
    hip, links = (steps[0], steps[1:]) if two_axes else ((0.0, 0.0, 0.0), steps)
    if kind in ("PRP", "PRPP"):
        if abs(hip[2]) > 0 and askew <= _PARALLEL:
            raise InputError(f"{what} has a roll axis {hip[2]:g} m above its first pitch axis: {_closed()}")
        # the position along the roll axis is arbitrary: count it as part of the thigh
        links = [(links[0][0] + hip[0], links[0][1], links[0][2]), *links[1:]]
        hip = (0.0, hip[1], 0.0)
    segments = [Segment.of(step) for step in links]
    for segment, part in zip(segments, ("thigh", "shank")):
        if segment.length <= 0:
            raise InputError(f"{what} has a {part} of zero length: its pitch axes coincide")
    signs = tuple(
        round(_dot(axis, e_x)) if letter == "R" else -round(_dot(axis, e_y)) for letter, axis in zip(kind, axes)
    )
    limits = tuple((joint.lower, joint.upper) if (joint := tree.bodies[j].joint) else (0.0, 0.0) for j in moved)
    return Leg(
        name=leg,
        robot=robot.name,
        kind=kind,
        carrier=carrier,
        joints=tuple(j - 1 for j in moved),
        signs=signs,
        limits=limits,
        origin=origin,
        basis=(e_x, e_y, e_z),
        hip=hip,
        side=sum(step[1] for step in links),
        thigh=segments[0],
        shank=segments[1],
        foot=segments[2] if len(segments) > 2 else None,
        radius=robot.feet[index].radius,
    )


def _foot_on(tree: Tree, body: int, foot: int) -> Scalar:
    """Return the centre of a foot in the frame of its leg's last body, which carries the wheel if it is one."""
    own = tree.feet[foot]
    return tree.foot_positions[foot] if own == body else tree.bodies[own].X_PJ.point(tree.foot_positions[foot])


def _trunk_axes(robot: Robot, carrier: int) -> tuple[Vector, Vector]:
    """Return the trunk's forward and left axes in the axes of a body, all joints at zero."""
    X = Transform.identity()
    for j in robot.tree.support[carrier]:
        X = X @ robot.tree.bodies[j].X_PJ
    return _floats(X.R[0]), _floats(X.R[1])


def _letter(axis: Vector, forward: Vector, left: Vector) -> str:
    along = {"R": abs(_dot(axis, forward)), "P": abs(_dot(axis, left)), "Y": abs(_dot(axis, _cross(forward, left)))}
    return max(along, key=lambda letter: along[letter])


def _basis(
    kind: str, axes: list[Vector], forward: Vector, left: Vector, what: str, askew: float
) -> tuple[Vector, Vector, Vector]:
    pitch = axes[kind.index("P")]
    e_y = _snapped(pitch if _dot(pitch, left) > 0 else _times(-1.0, pitch))
    for letter, axis in zip(kind, axes):
        if letter == "P" and math.hypot(*_cross(axis, e_y)) > askew:
            raise InputError(f"the pitch axes of {what} are not parallel: {_closed()}")
    if "R" in kind:
        roll = axes[kind.index("R")]
        e_x = _snapped(roll if _dot(roll, forward) > 0 else _times(-1.0, roll))
        if abs(_dot(e_x, e_y)) > askew:
            raise InputError(f"the roll and pitch axes of {what} are not at right angles: {_closed()}")
        if abs(_dot(e_x, e_y)) > _PARALLEL:
            flat = _minus(e_x, _times(_dot(e_x, e_y), e_y))
            e_x = _times(1.0 / math.hypot(*flat), flat)
    else:
        flat = _minus(forward, _times(_dot(forward, e_y), e_y))
        e_x = _snapped(_times(1.0 / math.hypot(*flat), flat))
    return e_x, e_y, _snapped(_cross(e_x, e_y))


def _closed() -> str:
    return f"closed-form inverse kinematics supports revolute legs of {'; '.join(KINDS.values())}"


# -- three floats: plain Python, since inside a trace NumPy would make symbols of constants ----------------------------
def _floats(v: Operand) -> Vector:
    return (float(v[0]), float(v[1]), float(v[2]))


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _minus(a: Vector, b: Vector) -> Vector:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def _times(s: float, a: Vector) -> Vector:
    return (s * a[0], s * a[1], s * a[2])


def _cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def _snapped(v: Sequence[float]) -> Vector:
    x, y, z = (float(round(c)) if abs(c - round(c)) < _SNAP else c for c in v)
    return (x + 0.0, y + 0.0, z + 0.0)
