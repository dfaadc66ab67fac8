"""A quadruped from a handful of lengths and masses: the parametric robot that the DynaKat report sets out to build.

The trunk is a box, cut by spine joints into equal sections on request; four legs of two to four joints are attached to
it, mirrored left to right and front to back. Every number is the caller's choice, as recorded in the robot's
provenance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from footfall.checks import finite_number, positive_number, three_numbers
from footfall.errors import InputError, unknown
from footfall.robot.model.description import Actuator, Foot, Joint, Link, Provenance, Robot
from footfall.robot.model.legs import LEGS, knee_bend, leg_vector
from footfall.robot.model.placement import standing_pose, two_link_angles
from footfall.robot.model.shapes import box_inertia, capsule_inertia, cylinder_inertia, rod_inertia
from nptrace._types import Given

AXES = {"roll": (1.0, 0.0, 0.0), "pitch": (0.0, 1.0, 0.0), "yaw": (0.0, 0.0, 1.0)}
SHAPES = ("box", "rod")
_JOINT_NAMES = {"roll": ("abad", "abad_2"), "pitch": ("hip", "knee", "ankle", "toe"), "yaw": ("yaw", "yaw_2")}

Segment = float | Sequence[float]


def quadruped(
    name: str = "quadruped",
    *,
    trunk_size: Sequence[float] = (0.40, 0.20, 0.10),
    trunk_mass: float = 6.0,
    hips: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    axes: Sequence[str] = ("roll", "pitch", "pitch"),
    segments: Sequence[Segment] = ((0.0, 0.06, 0.0), 0.20, 0.20),
    segment_masses: Sequence[float] = (0.5, 0.6, 0.15),
    thickness: float = 0.03,
    shape: str = "box",
    spine: Sequence[str] = (),
    foot_radius: float = 0.02,
    knees: str | Mapping[str, str] = "behind",
    crouch: float = 0.85,
    limits: Sequence[tuple[float, float]] | None = None,
    torque_limit: float = math.inf,
    damping: float = 0.0,
    armature: float = 0.0,
) -> Robot:
    """Return a quadruped with 2 to 4 joints per leg and any number of spine joints.

    Args:
        name: Name of the robot.
        trunk_size: Lengths of the trunk's box along x, y, z [m].
        trunk_mass: Mass of the trunk [kg], shared equally by its sections.
        hips: First joint of the left fore leg from the trunk's centre [m], mirrored for the others, or one position per
            leg; the side faces' corners at mid height if not given.
        axes: Axis of each joint of a leg, from the trunk outwards: roll (+x), pitch (+y) or yaw (+z).
        segments: Segment that each joint carries, to the next joint or the foot: a length straight down [m], or a
            vector of a left fore leg [m], mirrored for the others.
        segment_masses: Mass of each segment [kg].
        thickness: Width of a segment's square section, or diameter of a rod [m].
        shape: Solid of the segments: ``box`` or ``rod``.
        spine: Axes of the joints between the trunk's sections, front to back; empty for a rigid trunk.
        foot_radius: Radius of the spheres at the ends of the legs [m].
        knees: ``behind`` or ``front`` of the hips when standing, for all legs or by leg.
        crouch: Height of the hips over the feet's centres in the pose ``stand``, as a fraction of the stretched leg.
        limits: Lower and upper limit of each joint of a leg [rad]; none if not given.
        torque_limit: Limit of every joint [N m].
        damping: Damping of every joint [N m s/rad].
        armature: Armature of every joint [kg m²].

    Returns:
        The robot, with a pose ``stand``.
    """
    plan = _leg_plan(axes, segments, segment_masses, limits, shape, thickness, crouch)
    x, y, z = (positive_number(s, "a length of the trunk") for s in three_numbers(trunk_size, "size of the trunk"))
    for axis in spine:
        _axis(axis, "spine joint")
    positions = _hips(hips, (x / 2, y / 2, 0.0))
    mass = positive_number(trunk_mass, "mass of the trunk")
    body = _Assembly((x, y, z), mass, spine, {"damping": damping, "armature": armature})
    for side in (1, -1):
        section, section_x = body.add_sections(side)
        for leg in (leg for leg in LEGS if LEGS[leg][0] == side):
            end, origin = body.add_leg(leg, plan, section, positions[leg] - [section_x, 0.0, 0.0], thickness, shape)
            body.feet.append(Foot(name=leg, link=end, position=origin, radius=foot_radius))
    actuators = [Actuator(joint=j.name, torque_limit=torque_limit) for j in body.joints]
    source = Provenance("chosen", "an argument of footfall.robot.model.parametric.quadruped")
    robot = Robot(
        name=name, links=body.links, joints=body.joints, feet=body.feet, actuators=actuators, provenance={"*": source}
    )
    bends = {leg: knee_bend(knees if isinstance(knees, str) else _of_leg(knees, leg, "knee direction")) for leg in LEGS}
    stand = {f"{leg}_{part}": q for leg in LEGS for part, q in _standing(plan, crouch, bends[leg]).items()}
    return robot.replace(poses={"stand": standing_pose(robot, [stand.get(j, 0.0) for j in robot.joint_names])})


class _Assembly:
    """Links, joints and feet during construction, from the middle section of the trunk outwards."""

    def __init__(
        self,
        trunk_size: tuple[float, float, float],
        trunk_mass: float,
        spine: Sequence[str],
        options: dict[str, Given],
    ) -> None:
        """Start with the trunk. options: settings of every joint."""
        x, y, z = trunk_size
        self.spine, self.front, self.options = spine, x / 2, options
        self.mass, self.size = trunk_mass / (len(spine) + 1), (x / (len(spine) + 1), y, z)
        self.tensor = box_inertia(self.mass, self.size)
        self.links = [Link(name="trunk", mass=self.mass, inertia=self.tensor, box=self.size)]
        self.joints: list[Joint] = []
        self.feet: list[Foot] = []

    def add_sections(self, side: int) -> tuple[str, float]:
        """Add sections before (1) or behind (-1) the middle one; return (name of the last, x of its frame in the
        trunk [m]).
        """
        length, sections, middle = self.size[0], len(self.spine) + 1, (len(self.spine) + 1) // 2
        section, x = "trunk", self.front - (middle + 0.5) * length
        for number in range(middle, 0, -1) if side > 0 else range(middle + 1, sections):
            face, child = self.front - number * length, f"spine_{number}_link"
            self._add_joint(f"spine_{number}", section, child, np.array([face - x, 0.0, 0.0]), self.spine[number - 1])
            self.links.append(
                Link(
                    name=child,
                    mass=self.mass,
                    com=np.array([side * length / 2, 0.0, 0.0]),
                    inertia=self.tensor,
                    box=self.size,
                )
            )
            section, x = child, face
        return section, x

    def add_leg(
        self, leg: str, plan: Sequence[_Part], parent: str, origin: np.ndarray, thickness: float, shape: str
    ) -> tuple[str, np.ndarray]:
        """Add a leg; return (last link, position of the foot on it [m])."""
        for part in plan:
            vector, child = leg_vector(leg, part.vector.tolist()), f"{leg}_{part.name}_link"
            limits = {"lower": part.lower, "upper": part.upper}
            self._add_joint(f"{leg}_{part.name}", parent, child, origin, part.axis, **limits)
            self.links.append(_segment_link(child, part.mass, vector, thickness, shape))
            parent, origin = child, vector
        return parent, origin

    def _add_joint(self, name: str, parent: str, child: str, origin: np.ndarray, axis: str, **limits: float) -> None:
        options = self.options | limits
        self.joints.append(
            Joint(
                name=name,
                kind="revolute",
                parent=parent,
                child=child,
                origin=origin,
                axis=np.array(AXES[axis]),
                **options,
            )
        )


@dataclass(frozen=True, kw_only=True)
class _Part:
    """One joint of a leg and the segment it carries."""

    name: str
    axis: str
    vector: np.ndarray
    mass: float
    lower: float
    upper: float


def _leg_plan(
    axes: Sequence[str],
    segments: Sequence[Segment],
    masses: Sequence[float],
    limits: Sequence[tuple[float, float]] | None,
    shape: str,
    thickness: float,
    crouch: float,
) -> list[_Part]:
    if isinstance(axes, str) or not 2 <= len(axes) <= 4:
        raise InputError(f"a leg has 2 to 4 joints, got the axes {axes!r}")
    for values, what in ((segments, "segments"), (masses, "segment masses"), (limits, "limits")):
        if values is not None and len(values) != len(axes):
            raise InputError(f"a leg of {len(axes)} joints needs as many {what}, got {len(values)}")
    if shape not in SHAPES:
        raise InputError(f"unknown shape of segments '{shape}': choose {', '.join(SHAPES)}")
    positive_number(thickness, "thickness of the segments")
    if not 0 < finite_number(crouch, "crouch") <= 1:
        raise InputError(f"crouch must lie in (0, 1], got {crouch:g}")
    parts, count = [], dict.fromkeys(AXES, 0)
    for i, axis in enumerate(axes):
        _axis(axis, "leg joint")
        if count[axis] == len(_JOINT_NAMES[axis]):
            raise InputError(f"a leg may have at most {count[axis]} {axis} joints, got {axes.count(axis)}")
        part = _JOINT_NAMES[axis][count[axis]]
        count[axis] += 1
        segment = segments[i]
        if isinstance(segment, (int, float)):
            vector = np.array([0.0, 0.0, -positive_number(segment, f"length of the segment at {part}")])
        else:
            vector = three_numbers(segment, f"segment at {part}")
        lower, upper = limits[i] if limits is not None else (-math.inf, math.inf)
        mass = positive_number(masses[i], f"mass of the segment at {part}")
        parts.append(_Part(name=part, axis=axis, vector=vector, mass=mass, lower=lower, upper=upper))
    return parts


def _segment_link(name: str, mass: float, vector: np.ndarray, thickness: float, shape: str) -> Link:
    """Return a square bar or a round rod from the link's origin to ``vector``; a cube or ball-like stub if that is
    zero.
    """
    length = float(np.sqrt(vector @ vector))
    along = vector / length if length > 0 else np.array([0.0, 0.0, 1.0])
    solid_length = max(length, thickness)
    if shape == "box":
        moments = box_inertia(mass, (thickness, thickness, solid_length))
    else:
        moments = rod_inertia(mass, solid_length, thickness / 2)
    spin, across = moments[2, 2], moments[0, 0]
    tensor = across * np.eye(3) + (spin - across) * np.outer(along, along)
    straight = np.count_nonzero(vector) <= 1
    width, depth, height = (max(abs(float(c)), thickness) for c in vector)
    return Link(name=name, mass=mass, com=vector / 2, inertia=tensor, box=(width, depth, height) if straight else None)


def _standing(plan: Sequence[_Part], crouch: float, bend: int) -> dict[str, float]:
    """Return angles [rad] of a leg that bends its first two pitch joints; a third keeps its link vertical."""
    pitch = [i for i, part in enumerate(plan) if part.axis == "pitch"]
    if len(pitch) < 2:
        return {}
    ends = [*pitch[1:3], len(plan)]
    upper, lower = (float(-sum(part.vector[2] for part in plan[a:b])) for a, b in zip(pitch[:2], ends[:2]))
    if upper <= 0 or lower <= 0:
        return {}
    depth = max(crouch * (upper + lower), abs(upper - lower))
    hip, knee = two_link_angles(depth, upper, lower, -bend)
    angles = {plan[pitch[0]].name: hip, plan[pitch[1]].name: knee}
    if len(pitch) > 2:
        angles[plan[pitch[2]].name] = -hip - knee
    return angles


def _hips(hips: Given, default: tuple[float, float, float]) -> dict[str, np.ndarray]:
    if hips is None:
        hips = default
    if isinstance(hips, Mapping):
        for leg in hips:
            if leg not in LEGS:
                raise unknown("leg", leg, LEGS, "a quadruped has")
        return {leg: three_numbers(_of_leg(hips, leg, "hip position"), f"hip position of leg {leg}") for leg in LEGS}
    return {leg: leg_vector(leg, three_numbers(hips, "hip position").tolist()) for leg in LEGS}


def _of_leg(values: Mapping[str, Given], leg: str, what: str) -> Given:
    if leg not in values:
        raise InputError(f"no {what} given for leg {leg}: give one each for {', '.join(LEGS)}")
    return values[leg]


def _axis(axis: str, what: str) -> None:
    if axis not in AXES:
        raise unknown(f"axis of a {what}", axis, AXES)


__all__ = ["box_inertia", "capsule_inertia", "cylinder_inertia", "quadruped", "rod_inertia"]
