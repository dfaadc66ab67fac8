"""The feet of an imported robot: found by name or geometry, or given; each a sphere named LF, RF, LH or RH."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall.errors import InputError, unknown
from footfall.robot.files.draft import Draft, Shape, stand_of
from footfall.robot.files.guard import shown
from footfall.robot.files.mesh import fit_sphere, vertices
from footfall.robot.model.legs import LEGS, leg_of
from footfall.robot.model.parts import Foot, Joint

_FOOT_WORDS = ("foot", "feet", "toe", "paw", "hoof", "contact")
_ARM_WORDS = ("arm", "elbow", "finger", "gripper", "hand", "palm", "wrist")  # a limb with such a name may not be a leg
_SQUARE = 0.9  # cosine of an angle that counts as zero, between axes of the base and directions to legs
_MIRRORED = 0.003  # [m] by which left and right feet may differ

FeetGiven = Sequence["str | Foot"] | Mapping[str, str] | None


@dataclass(frozen=True)
class _Place:
    """The position of a foot: a link, and possibly the one shape that is the foot."""

    link: str
    shape: Shape | None = None
    reported: str = ""  # its name in the file

    @property
    def names(self) -> tuple[str, ...]:
        called = self.shape.called if self.shape else ()
        return tuple(n for n in (self.reported, self.shape.name if self.shape else "", *called, self.link) if n)


class FootFinder:
    """Find feet on a draft; assumptions are collected in ``remarks``."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.remarks: list[str] = []
        self.assumed: dict[str, str] = {}  # foot -> the basis of its sphere, if it is not in the file
        self.wheels: list[str] = []  # joints of wheels on which the robot stands
        self.X_RL = draft.placements()
        stand = stand_of(draft.poses)
        self.X_stand = self.X_RL if stand is None else draft.placements(draft.poses[stand][0])
        self.joint_to = {joint.child: joint for joint in draft.joints}
        self.leaves = self._moving_leaves()

    # -- the three ways ----------------------------------------------------------------------------------------------
    def given(self, feet: Sequence[str | Foot] | Mapping[str, str]) -> list[Foot]:
        """Return user-defined feet: links or collision shapes, as a list or as {foot: link}; or complete Foot
        objects.
        """
        if isinstance(feet, (str, bytes)) or not isinstance(feet, (Sequence, Mapping)):
            raise InputError(f"feet must be a list of links, a dictionary or Foot objects, got {feet!r}")
        if isinstance(feet, Mapping):
            return [self._foot(str(name), self._place(link)) for name, link in feet.items()]
        whole = [foot for foot in feet if isinstance(foot, Foot)]
        if whole:
            if len(whole) < len(feet):
                raise InputError("feet must be all names or all Foot objects, not a mixture")
            for foot in whole:
                self._place(foot.link)
            return whole
        return self._named([self._place(link) for link in feet])

    def found(self) -> list[Foot]:
        """Return feet by their names, otherwise by geometry; none, with a remark, if both fail."""
        called = self._called_feet()
        places = called if len(called) > len(LEGS) else self._by_name() or self._by_geometry() or called
        if not places:
            self.remarks.append("no feet were found: name them with feet=[...]")
            return []
        feet = self._named(places)
        arms = [place.link for place in places if self._is_arm(place)]
        if arms:
            ends = ", ".join(shown(link) for link in arms)
            self.remarks.append(
                f"{ends} belong to arms by their names, but were taken as feet: name the feet with feet=[...]"
            )
        return feet

    def _is_arm(self, place: _Place) -> bool:
        """Return whether a foot was chosen by geometry although its limb is called an arm."""
        words = {t.lower() for name in self._lineage(place) for t in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}
        return not any(is_foot_name(name) for name in place.names) and bool(words & set(_ARM_WORDS))

    def _place(self, name: object) -> _Place:
        for link, shapes in self.draft.shapes.items():
            for shape in shapes:
                if shape.name and shape.name == name and link != name:
                    return _Place(link, shape)
        if name in self.X_RL:
            return _Place(str(name))
        raise unknown("foot link", name, self._candidates(), "candidates are")

    def _candidates(self) -> list[str]:
        named = [link for link in self.X_RL if is_foot_name(link)]
        return named or [link for links in self.leaves for link in links] or list(self.X_RL)

    def _by_name(self) -> list[_Place]:
        """Return one place per leg whose link or collision shape, or its mesh or class, has a foot's name; spheres
        named just FL, ... count too. Links at the end of a limb come first: a wheel before its motor.
        """
        best: dict[str, tuple[tuple[bool, bool, bool, float], _Place]] = {}
        ends = {link for links in self.leaves for link in links}
        options = [_Place(link) for link in self.X_RL if is_foot_name(link)]
        for link, shapes in self.draft.shapes.items():
            for shape in shapes:
                bare = shape.kind == "sphere" and leg_of(shape.name) is not None
                named = any(is_foot_name(name) for name in (shape.name, *shape.called) if name)
                if not shape.visual and (named or bare):
                    options.append(_Place(link, shape))
        for place in options:
            leg = next((leg for leg in map(leg_of, self._lineage(place)) if leg), None)
            if leg is None:
                continue
            sphere = self._sphere_of(place)
            solid = sphere or place.shape
            height = self.X_stand[place.link].p[2] if solid is None else self._height(place.link, solid)
            rank = (place.link in ends, sphere is not None, place.shape is None, -float(height))
            if leg not in best or rank > best[leg][0]:
                best[leg] = (rank, place)
        legs = [best[leg][1] for leg in LEGS if leg in best]
        return legs if len(legs) == len(LEGS) else []

    def _called_feet(self) -> list[_Place]:
        """Return every limb's link that has a foot's name: for bipeds, hexapods, and names without a leg."""
        limbs = [[link for link in links if is_foot_name(link, _FOOT_WORDS[:-1])] for links in self.leaves]
        return [_Place(min(links, key=lambda link: self.X_RL[link].p[2])) for links in limbs if links]

    def _by_geometry(self) -> list[_Place]:
        """Return the sphere, or else the shape, furthest from the joint of each of the four last moving bodies."""
        limbs = [links for links in self.leaves if any(self._solids(link) for link in links)]
        for limbs_tried in (limbs, self.leaves):
            if len(limbs_tried) == len(LEGS):
                return [self._furthest(links) for links in limbs_tried]
        return []

    def _furthest(self, links: list[str]) -> _Place:
        for kinds in (("sphere",), ("capsule", "mesh", "cylinder", "box", "ellipsoid")):
            options = [
                (-self._reach(k, s), i, k, s) for i, k in enumerate(links) for s in self._solids(k) if s.kind in kinds
            ]
            if options:
                _, _, link, shape = min(options, key=lambda option: option[:2])
                return _Place(link, shape)
        return _Place(min(links, key=lambda link: self.X_RL[link].p[2]))

    def facing(self) -> str:
        """Return the axis of the base along which the robot faces, by the names of its legs in the file; x where
        these are undecided or contradict left and right.
        """
        places = self._by_name() or self._called_feet()
        names = [next((leg for leg in map(leg_of, self._lineage(place)) if leg), None) for place in places]
        if sorted(filter(None, names)) != sorted(LEGS):
            return "x"
        hips = dict(zip(names, (self.X_RL[self._hip(place.link)].p[:2] for place in places)))
        ahead = hips["LF"] + hips["RF"] - hips["LH"] - hips["RH"]
        left = hips["LF"] + hips["LH"] - hips["RF"] - hips["RH"]
        length = float(np.hypot(*ahead))
        if length < 1e-6 or ahead[0] * left[1] - ahead[1] * left[0] < _SQUARE * length * float(np.hypot(*left)):
            return "x"
        k = int(np.argmax(np.abs(ahead)))
        if abs(ahead[k]) < _SQUARE * length:
            return "x"
        return ("" if ahead[k] > 0 else "-") + "xy"[k]

    # -- names -------------------------------------------------------------------------------------------------------
    def _named(self, places: list[_Place]) -> list[Foot]:
        """Name feet by their names in the file, otherwise by the positions of the hips; in the order of the legs."""
        names = [next((leg for leg in map(leg_of, self._lineage(place)) if leg), None) for place in places]
        if None in names or len(set(names)) < len(names):
            names = self._by_position(places) if len(places) == len(LEGS) else [place.names[0] for place in places]
        feet = [self._foot(str(name), place) for name, place in zip(names, places)]
        return sorted(feet, key=lambda foot: list(LEGS).index(foot.name) if foot.name in LEGS else len(LEGS))

    def _lineage(self, place: _Place) -> Iterable[str]:
        yield from place.names
        link = place.link
        while link in self.joint_to:
            yield self.joint_to[link].name
            link = self.joint_to[link].parent
            yield link

    def _by_position(self, places: list[_Place]) -> list[str | None]:
        hips = np.array([self.X_RL[self._hip(place.link)].p for place in places])
        if np.ptp(hips[:, 0]) < 1e-9:  # one hip for all: the feet must decide
            hips = np.array([self.X_RL[place.link].p for place in places])
        x, y = (hips - (hips.min(axis=0) + hips.max(axis=0)) / 2)[:, :2].T
        names = [("L" if b > 0 else "R") + ("F" if a > 0 else "H") for a, b in zip(x, y)]
        if len(set(names)) == len(LEGS):
            return list(names)
        self.remarks.append("the feet are not at the corners of a rectangle and keep the names of their links")
        return [place.names[0] for place in places]

    def _hip(self, link: str) -> str:
        """Return the first link of the limb: the last one, from the foot up, that leads to no other limb."""
        shared = [set(self._ancestors(leaf[0])) for leaf in self.leaves]
        hip = link
        for above in self._ancestors(link):
            if sum(above in ancestors for ancestors in shared) > 1:
                break
            hip = above
        return hip

    def _ancestors(self, link: str) -> list[str]:
        chain = [link]
        while chain[-1] in self.joint_to:
            chain.append(self.joint_to[chain[-1]].parent)
        return chain

    # -- spheres -----------------------------------------------------------------------------------------------------
    def _foot(self, name: str, place: _Place) -> Foot:
        shape = self._sphere_of(place)
        solids = [place.shape] if place.shape else self._solids(place.link)
        turning = self._wheel(place.link, solids)
        if turning is not None:
            rim, ball = turning
            self.assumed[name] = ball.how
            joint = self._moved_by(place.link)
            assert joint is not None
            axis = self.X_RL[place.link].R.T @ self.X_RL[joint.child].R @ joint.axis
            return Foot(
                name=name,
                link=place.link,
                position=rim.X_LS.point(ball.centre),
                radius=ball.radius,
                axis=tuple(axis.tolist()),
                tyre=ball.tyre,
            )
        if shape is not None:
            if shape.visual:
                self.assumed[name] = f"a sphere of radius {shape.size[0]:.4g} m that is only drawn"
            return Foot(name=name, link=place.link, position=shape.X_LS.p, radius=radius_of(shape))
        if not solids:
            near = self._near(place.link)
            if near is None:
                self.assumed[name] = "without a shape, taken as a point at the origin of its link"
                return Foot(name=name, link=place.link, position=np.zeros(3), radius=0.0)
            centre, radius, how = near
            if how:
                self.assumed[name] = how
            return Foot(name=name, link=place.link, position=centre, radius=radius)
        solid = min(solids, key=lambda s: self._height(place.link, s))
        ball = self._ball(place.link, solid)
        self.assumed[name] = ball.how
        return Foot(name=name, link=place.link, position=solid.X_LS.point(ball.centre), radius=ball.radius)

    def _ball(self, link: str, solid: Shape) -> Ball:
        """Return the ball for a shape that is not one."""
        down = -(self.X_stand[link].R @ solid.X_LS.R)[2]
        X_SL = solid.X_LS.inverse()
        sites = [X_SL.point(p) for name, p in self.draft.sites.get(link, ()) if is_foot_name(name)]
        return stated(solid, down, self._axis(link, solid), sites)

    def _wheel(self, link: str, solids: list[Shape]) -> tuple[Shape, Ball] | None:
        """Return the shape and the ball of a wheel: a link that rotates without limits about its own axis at the end
        of a leg.
        """
        joint = self._moved_by(link)
        if joint is None or joint.kind != "revolute" or np.isfinite([joint.lower, joint.upper]).any():
            return None
        above = self._moved_by(joint.parent)
        if above is None or self._moved_by(above.parent) is None:
            return None  # a leg has at least two joints of its own
        for solid in solids:
            axis = self._axis(link, solid)
            ball = wheel(solid, axis) if axis is not None else None
            if ball is not None:
                self.wheels.append(joint.name)
                return solid, ball
        return None

    def _sphere_of(self, place: _Place) -> Shape | None:
        solids = [place.shape] if place.shape is not None else self._solids(place.link)
        spheres = [shape for shape in solids if shape.kind == "sphere"]
        return min(spheres, key=lambda s: self._height(place.link, s)) if spheres else None

    def _near(self, link: str) -> tuple[ndarray, float, str] | None:
        """Return (centre, radius, assumption) of a sphere on a link welded to this one, if this link's origin lies
        in it; or as thick as a mesh called a foot there, if the origin lies in that.
        """
        welded = next((links for links in self._bodies() if link in links), [])
        for other in welded:
            X = self.X_RL[link].inverse() @ self.X_RL[other]
            for shape in self._solids(other):
                if shape.kind == "sphere" and np.linalg.norm(X.point(shape.X_LS.p)) <= shape.size[0] * (1 + 1e-6):
                    return X.point(shape.X_LS.p), radius_of(shape), ""
        for other in welded:
            X_SL = (self.X_RL[link].inverse() @ self.X_RL[other]).inverse()
            for shape in self._solids(other):
                if shape.kind == "mesh" and any(is_foot_name(name) for name in (shape.name, *shape.called)):
                    place = shape.X_LS.inverse().point(X_SL.point(np.zeros(3)))
                    ball = stated(shape, np.array([0.0, 0.0, -1.0]), None, [place])
                    if ball.how.endswith(AT_PLACE):
                        return np.zeros(3), ball.radius, ball.how
        return None

    def _solids(self, link: str) -> list[Shape]:
        """Collision shapes; visual ones when there are none."""
        shapes = self.draft.shapes.get(link, [])
        return [s for s in shapes if not s.visual] or [s for s in shapes if s.visual]

    def _height(self, link: str, shape: Shape) -> float:
        """Return the height of a shape's lowest point over the root, in the file's stand, or with all joints at zero
        [m].
        """
        X_RS = self.X_stand[link] @ shape.X_LS
        return float(X_RS.p[2] - extent(shape, -X_RS.R[2]))

    def _reach(self, link: str, shape: Shape) -> float:
        axis = self._axis(link, shape)
        return reach(shape, axis) if axis is not None else -self._height(link, shape)

    def _axis(self, link: str, shape: Shape) -> Axis | None:
        """Return the axis of the joint that moves a link, in a shape's frame; None for a prismatic joint or a fixed
        link.
        """
        joint = self._moved_by(link)
        if joint is None or joint.kind != "revolute":
            return None
        X_SJ = (self.X_RL[link] @ shape.X_LS).inverse() @ self.X_RL[joint.child]
        return Axis(X_SJ.p, X_SJ.R @ joint.axis)

    def _moved_by(self, link: str) -> Joint | None:
        """Return the nearest joint above a link that moves."""
        while link in self.joint_to and self.joint_to[link].kind == "fixed":
            link = self.joint_to[link].parent
        return self.joint_to.get(link)

    def check_mirrored(self, feet: Sequence[Foot]) -> None:
        """Warn when left and right feet differ in their distance from the joint that moves them, or in radius: in
        any pose, a robot's legs are mirror images of each other.
        """
        by_name = {foot.name: foot for foot in feet}
        for left, right in (("LF", "RF"), ("LH", "RH")):
            if left not in by_name or right not in by_name:
                continue
            (a, r), (b, s) = (self._from_joint(by_name[side]) for side in (left, right))
            off = max(abs(a - b), abs(r - s))
            if off > _MIRRORED:
                self.remarks.append(
                    f"feet {left} and {right} are not mirror images: they differ by {1e3 * off:.0f} mm in their"
                    " distance from the joint above or in radius, so that one may be wrong: name them with feet=[...]"
                )

    def _from_joint(self, foot: Foot) -> tuple[float, float]:
        joint = self._moved_by(foot.link)
        if joint is None or joint.kind != "revolute":
            return 0.0, foot.radius
        p = (self.X_RL[joint.child].inverse() @ self.X_RL[foot.link]).point(foot.position)
        return float(np.linalg.norm(p - (p @ joint.axis) * joint.axis)), foot.radius

    # -- bodies ------------------------------------------------------------------------------------------------------
    def _bodies(self) -> list[list[str]]:
        """Return groups of links welded together."""
        group: dict[str, list[str]] = {}
        for link in self.X_RL:  # parents come before children
            joint = self.joint_to.get(link)
            if joint is not None and joint.kind == "fixed":
                group[link] = group[joint.parent]
                group[link].append(link)
            else:
                group[link] = [link]
        return list({id(links): links for links in group.values()}.values())

    def _moving_leaves(self) -> list[list[str]]:
        """Return the groups that carry no further moving joint, except the root's."""
        moving = {joint.parent for joint in self.draft.joints if joint.kind != "fixed"}
        root = self.draft.root()
        return [links for links in self._bodies() if root not in links and not moving & set(links)]


def is_foot_name(name: str, words: Sequence[str] = _FOOT_WORDS) -> bool:
    text = name.lower()
    return any(word in text for word in words)


def in_leg_order(draft: Draft, feet: Sequence[Foot]) -> list[Joint]:
    """Return the joints depth first, with the branches in the order of their feet, in which Robot numbers its
    bodies.
    """
    children, root = draft.children(), draft.root()
    rank: dict[str, int] = {}
    parent = {joint.child: joint.parent for joint in draft.joints}
    for number, foot in enumerate(feet):
        link: str | None = foot.link
        while link is not None and link not in rank:
            rank[link] = number
            link = parent.get(link)
    ordered: list[Joint] = []
    waiting = sorted(children[root], key=lambda j: rank.get(j.child, len(feet)), reverse=True)
    while waiting:
        joint = waiting.pop()
        ordered.append(joint)
        waiting += sorted(children[joint.child], key=lambda j: rank.get(j.child, len(feet)), reverse=True)
    return ordered


# -- the sphere that stands for a foot's shape, and how sure that is: vertices of meshes count, not where a shape's ----
# happens to be.
POINT = 1e-6  # [m]: a sphere this small represents a point, which files cannot express
STATED_RADIUS = 0.02  # [m] of a mesh that cannot be read
AT_PLACE = "(as thick as its vertices, at the site that the file calls a foot)"
_LEVEL = 0.05  # sine of a tilt that counts as zero
_ROUND = 0.05  # fraction of its radius by which a wheel may be out of round


@dataclass(frozen=True)
class Axis:
    """The joint that moves a shape: a point on its axis, and its direction, in the shape's frame."""

    point: ndarray
    direction: ndarray

    def away(self, points: ndarray) -> ndarray:
        """Return vectors from the axis to points, perpendicular to it."""
        arms = points - self.point
        return np.asarray(arms - np.outer(arms @ self.direction, self.direction))


@dataclass(frozen=True)
class Ball:
    """A sphere in the shape's frame, and a description of how it was chosen."""

    centre: ndarray
    radius: float
    how: str
    tyre: float = 0.0  # of a wheel: from the middle of its tyre to its tread


def radius_of(sphere: Shape) -> float:
    return float(sphere.size[0]) if sphere.size[0] > POINT else 0.0


def extent(shape: Shape, direction: ndarray) -> float:
    """Return how far a shape reaches from its origin along a direction in its own axes [m]."""
    d, size = direction, shape.size
    if shape.kind == "mesh":
        points = points_of(shape)
        return float((points @ d).max()) if points is not None else 0.0
    if not size.size:
        return 0.0
    if shape.kind == "sphere":
        return float(size[0])
    if shape.kind == "capsule":
        return float(size[0] + size[1] * abs(d[2]))
    if shape.kind == "cylinder":
        return float(size[0] * np.hypot(d[0], d[1]) + size[1] * abs(d[2]))
    if shape.kind == "ellipsoid":
        return float(np.linalg.norm(size * d))
    return float(np.abs(d) @ size) if len(size) == 3 else 0.0


def reach(shape: Shape, axis: Axis) -> float:
    """Return how far a shape reaches from the axis of the joint that moves it [m]."""
    if shape.kind == "mesh":
        points = points_of(shape)
        return float(np.linalg.norm(axis.away(points), axis=1).max()) if points is not None else 0.0
    out = axis.away(np.zeros((1, 3)))[0]
    length = float(np.linalg.norm(out))
    return length + (extent(shape, out / length) if length > 0 else extent(shape, np.array([0.0, 0.0, -1.0])))


def wheel(shape: Shape, axis: Axis) -> Ball | None:
    """Return the ball of a wheel: a shape that is round about the axis of its own joint, as large as the wheel;
    otherwise None.
    """
    if shape.kind == "mesh":
        points = points_of(shape)
        if points is None:
            return None
        along = (points - axis.point) @ axis.direction
        arms = axis.away(points)
        radius = float(np.linalg.norm(arms, axis=1).max())
        across = np.linalg.svd(np.eye(3) - np.outer(axis.direction, axis.direction))[0][:, :2]
        low, high = (arms @ across).min(axis=0), (arms @ across).max(axis=0)
        if radius <= 0 or max(np.abs(high - radius).max(), np.abs(low + radius).max()) > _ROUND * radius:
            return None
        middle, half = 0.5 * (along.min() + along.max()), 0.5 * float(along.max() - along.min())
        reported = f"a wheel of radius {radius:.4g} m (its vertices are round about its axis)"
    elif shape.kind in ("cylinder", "sphere") and shape.size.size:
        radius, middle = float(shape.size[0]), float(-axis.point @ axis.direction)
        half = float(shape.size[-1])
        off = float(np.linalg.norm(axis.away(np.zeros((1, 3)))))
        level = shape.kind == "sphere" or abs(axis.direction[2]) > 1.0 - _LEVEL
        if radius <= 0 or off > _ROUND * radius or not level:
            return None
        reported = f"a wheel of radius {radius:.4g} m (a {shape.kind} about its axis)"
    else:
        return None
    return Ball(axis.point + middle * axis.direction, radius, reported, min(half, 0.5 * radius))


def stated(shape: Shape, down: ndarray, axis: Axis | None, sites: list[ndarray]) -> Ball:
    """Return a ball for a shape that is not one; ``down`` is the robot's direction, ``sites`` are points that the
    file calls feet, both in the shape's frame.
    """
    if shape.kind == "mesh":
        return _of_mesh(shape, axis, sites)
    if not shape.size.size:
        return _ball(np.zeros(3), STATED_RADIUS, shape, "(its size is not known)")
    if shape.kind == "capsule":
        centre = shape.size[1] * _sign(down) * np.array([0.0, 0.0, 1.0])
        return _ball(centre, float(shape.size[0]), shape, "(its lower end)")
    if shape.kind == "ellipsoid":
        radius = float(shape.size.min())
        lowest = shape.size**2 * down / np.linalg.norm(shape.size * down)
        return _ball(lowest - radius * down, radius, shape, "(its lowest place)")
    half = shape.size if shape.kind != "cylinder" else shape.size[[0, 0, 1]]
    radius = float(half.min())
    room = half - radius  # where the centre of such a sphere may be
    centre = room * _sign(down)
    if shape.kind == "cylinder" and room[0] > 0:  # a disc: the point on its rim
        across = np.array([down[0], down[1], 0.0])
        length = float(np.linalg.norm(across))
        centre = room[0] * across / length if length > _LEVEL else np.zeros(3)
    return _ball(centre, radius, shape, "(its lowest place)")


def _of_mesh(shape: Shape, axis: Axis | None, sites: list[ndarray]) -> Ball:
    """Return a least-squares fit where the vertices lie on a sphere; otherwise as thick as the mesh, at a site that
    the file calls a foot, or at the end furthest from the joint that moves it.
    """
    points = points_of(shape)
    if points is None:
        return _ball(np.zeros(3), STATED_RADIUS, shape, "(its mesh cannot be read)")
    centre, radius, off = fit_sphere(points)
    if off is not None:
        return _ball(centre, radius, shape, f"(fitted to its vertices, which lie within {1e3 * off:.2g} mm of it)")
    low, high = points.min(axis=0) - radius, points.max(axis=0) + radius
    for place in sites:
        if (place >= low).all() and (place <= high).all():
            return _ball(place, radius, shape, AT_PLACE)
    if axis is None:
        return _ball(centre, radius, shape, "(fitted to its vertices, which do not lie on a sphere)")
    arms = axis.away(points)
    far = int(np.linalg.norm(arms, axis=1).argmax())
    length = float(np.linalg.norm(arms[far]))
    along = (points - axis.point) @ axis.direction
    middle = axis.point + 0.5 * (along.min() + along.max()) * axis.direction
    end = middle + arms[far] * (1.0 - min(radius / length, 1.0) if length > 0 else 1.0)
    return _ball(end, radius, shape, "(as thick as its vertices, at their end furthest from the joint)")


def _ball(centre: ndarray, radius: float, shape: Shape, how: str) -> Ball:
    article = "an" if shape.kind == "ellipsoid" else "a"
    return Ball(centre, radius, f"{article} {shape.kind}, taken as a sphere of radius {radius:.4g} m {how}")


def points_of(shape: Shape) -> ndarray | None:
    """Return the vertices of a mesh at its scale, in the shape's frame; None if they cannot be read."""
    if shape.mesh is None:
        return None
    try:
        written = shape.mesh.stat()
    except OSError:
        return None
    points = _read(shape.mesh, written.st_mtime_ns, written.st_size)
    return points * shape.size if points is not None else None


@lru_cache(maxsize=32)
def _read(path: Path, written: int, size: int) -> ndarray | None:
    """Return the vertices of a file, keyed by its time of modification."""
    return vertices(path)


def _sign(direction: ndarray) -> ndarray:
    """Return -1, 0 or 1 per component; 0 for a nearly level one, where neither side is lower."""
    return np.where(np.abs(direction) < _LEVEL, 0.0, np.sign(direction))
