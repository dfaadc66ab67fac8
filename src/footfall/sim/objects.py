"""Free bodies in a step: their possible contacts, and their equations together with the robot's.

A ball against a surface is one sphere; boxes, and links and boxes, meet each other with the corners of both, and with
the edges along the longest side of each, the two that face the other (``contact.edges``).

Every free body has the six degrees of freedom of a base. Placed before those of the robot, v = (v_1 .. v_n, v_robot),
they are six additional rows each at the root of its tree: a contact couples a body with one branch, and branches still
meet only at the root, so that contact models, their factors and their modes work unchanged. A contact between two trees
has a Jacobian of both, of the relative velocity of their points: forces are equal and opposite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.contact.bodies import PARTS
from footfall.contact.boxes import Box, Boxes
from footfall.contact.edges import bearing_point, edge_directions, facing_edge, raised
from footfall.contact.free_bodies import FreeBall, FreeBody, FreeBox, PlacedSolid, Solid, rounding
from footfall.contact.ground import Ground
from footfall.contact.link_solids import link_solids
from footfall.contact.model import ContactModel
from footfall.contact.pairs import pair_points
from footfall.contact.points import ContactPoint, Sphere, contact_points, point_jacobian
from footfall.contact.stance import Stance
from footfall.dynamics.closed_loops import LoopConstraint
from footfall.dynamics.composite_bias import composite_bias
from footfall.dynamics.free_rotation import free_rotation
from footfall.dynamics.mass_matrix import composite_bodies, composite_mass_matrix
from footfall.dynamics.parallel_joints import PosedRobot, posture
from footfall.errors import InputError, unknown
from footfall.kinematics.forward import poses_in_base
from footfall.robot.model.description import Robot
from footfall.spatial import Transform
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import about_axis
from nptrace._types import Given, PyTree
from nptrace.array_types import Float

if TYPE_CHECKING:
    from footfall.sim.world import World


# -- what free bodies may meet -----------------------------------------------------------------------------------------
ROBOT, GROUND = -1, -2


@dataclass(frozen=True)
class Edge:
    """One of the two edges of a solid, along an axis, that face a crossing solid, and its first or last point of
    support.
    """

    along: int
    which: int
    last: bool
    has_corners: bool  # whether corners touch at the ends of the edge, where it then need not


@dataclass(frozen=True, kw_only=True)
class ContactPair:
    """A sphere, or an edge, that may touch a surface; ``owner`` and ``other``: free bodies by number, ROBOT, GROUND."""

    name: str
    owner: int
    sphere: int  # index among the owner's; for an edge of the robot, among its solids
    other: int
    solid: int = 0  # index among the other's; for an edge on the ground, among its boxes
    edge: Edge | None = None


def touches_of(
    objects: Sequence[FreeBody], spheres: Sequence[Sphere], solids: Sequence[Solid], ground: Ground, robot: str
) -> tuple[ContactPair, ...]:
    """Return all possible contacts: bodies with the ground, with the robot's spheres and solids, and with each
    other.
    """
    found, solid_bodies = [], {solid.body for solid in solids}
    for k, body in enumerate(objects):
        found += [
            ContactPair(name=f"{body.name} on the ground", owner=k, sphere=i, other=GROUND)
            for i in range(len(body.spheres))
        ]
        for i, sphere in enumerate(spheres):
            if not (isinstance(body, FreeBall) and sphere.body in solid_bodies):
                found.append(ContactPair(name=f"{robot} {sphere.name} on {body.name}", owner=ROBOT, sphere=i, other=k))
        for s, solid in enumerate(solids):
            found += [
                ContactPair(name=f"{body.name} on {robot} {solid.name}", owner=k, sphere=i, other=ROBOT, solid=s)
                for i in range(len(body.spheres))
            ]
    for k, body in enumerate(objects):
        for j, other in enumerate(objects):
            both = not isinstance(body, FreeBall) and not isinstance(other, FreeBall)
            one = isinstance(body, FreeBall) and (not isinstance(other, FreeBall) or k < j)
            if k != j and (both or one):
                found += [
                    ContactPair(name=f"{body.name} on {other.name}", owner=k, sphere=i, other=j)
                    for i in range(len(body.spheres))
                ]
    return (*found, *_edge_touches(objects, spheres, solids, ground, robot))


def _edge_touches(
    objects: Sequence[FreeBody], spheres: Sequence[Sphere], solids: Sequence[Solid], ground: Ground, robot: str
) -> Iterator[ContactPair]:
    boxes = [(k, body) for k, body in enumerate(objects) if not isinstance(body, FreeBall)]
    cornered = {sphere.body for sphere in spheres}
    for k, body in boxes:
        for j, other in boxes:
            for edge in _edges(body.solid.half) if j != k else ():
                yield ContactPair(
                    name=f"{body.name} across {other.name}", owner=k, sphere=0, other=j, solid=0, edge=edge
                )
        for s, solid in ((s, solid) for s, solid in enumerate(solids) if (solid.half > 0.0).any()):
            for edge in _edges(body.solid.half):
                yield ContactPair(
                    name=f"{body.name} across {robot} {solid.name}", owner=k, sphere=0, other=ROBOT, solid=s, edge=edge
                )
            for edge in _edges(solid.half, has_corners=solid.body in cornered):
                yield ContactPair(
                    name=f"{robot} {solid.name} across {body.name}", owner=ROBOT, sphere=s, other=k, solid=0, edge=edge
                )
        for g in range(len(ground.boxes) if isinstance(ground, Boxes) else 0):
            for edge in _edges(body.solid.half, count=2):  # the ground's own edges touch nothing
                yield ContactPair(
                    name=f"{body.name} across box {g} of the ground",
                    owner=k,
                    sphere=0,
                    other=GROUND,
                    solid=g,
                    edge=edge,
                )


def _edges(half: Float[ndarray, "3"], count: int = 1, has_corners: bool = True) -> list[Edge]:
    beside = 2 if (half > 0.0).sum() > 1 else 1  # a rod has one edge
    return [
        Edge(along, which, last, has_corners)
        for along in edge_directions(half, count)
        for which in range(beside)
        for last in (False, True)
    ]


def edge_sphere(
    edge: Edge, own: Solid, X_WA: Transform, other: Solid, X_WO: Transform
) -> tuple[Float[ndarray, "3"], float, float]:
    """Return (center in the solid's axes, radius, how far it is raised [m]) of the sphere that represents an edge."""
    radius = own.radius or rounding(own.half)
    half = own.half if own.radius else own.half - radius
    X_OA = X_WO.inverse() @ X_WA
    nearest = np.clip(X_OA.p, -other.half, other.half)
    a, b = facing_edge(half, edge.along, edge.which, X_OA.R.T @ (nearest - X_OA.p))
    ends = X_OA.point(a), X_OA.point(b)
    t = bearing_point(other.half, radius + other.radius, radius, *ends, edge.last)
    up = raised(t, 2.0 * float(half[edge.along]), radius) if edge.has_corners else 0.0
    return a + t * (b - a), radius, up


def ground_solid(box: Box) -> tuple[Solid, Transform]:
    """Return a box of the ground, and its pose."""
    R = about_axis(np.array([0.0, 0.0, 1.0]), box.yaw)
    return Solid("", 0, 0.5 * box.size, 0.0, Transform.identity()), Transform(R, box.center)


# -- free bodies in a step ---------------------------------------------------------------------------------------------
_DEEP = 5e-3  # [m]


@dataclass(frozen=True, kw_only=True)
class System:
    """The equations of a step of robot and free bodies; ``width`` columns belong to the bodies."""

    robot: Robot
    M: Float[ndarray, "n n"]
    force: Float[ndarray, "n"]
    points: list[ContactPoint]
    v: Float[ndarray, "n"]
    loops: LoopConstraint | None
    axes: list[Float[ndarray, "3 3"]]  # axes in the world for the components at each point
    width: int = 0

    def split(self, a: Float[ndarray, "n"]) -> tuple[Float[ndarray, "nv"], PyTree]:
        """Return (accelerations of the robot, of the free bodies in rows of six)."""
        return a[self.width :], a[: self.width].reshape(-1, 6) if self.width else ()


@dataclass(frozen=True, kw_only=True)
class ObjectState:
    """The pose and velocity of a free body."""

    body: FreeBody
    position: Float[ndarray, "3"]  # position of its middle [m]
    quaternion: Float[ndarray, "4"]  # quaternion w, x, y, z
    rotation: Float[ndarray, "3 3"]  # its axes in the world
    velocity: Float[ndarray, "3"]  # velocity of its middle, world axes [m/s]
    omega: Float[ndarray, "3"]  # angular velocity in its own axes [rad/s]


def object_state(world: World, objects: PyTree, name: str) -> ObjectState:
    names = [body.name for body in world.objects]
    if name not in names:
        raise unknown("object", name, names)
    row = objects[names.index(name)]
    R = to_rotation(row[3:7])
    return ObjectState(
        body=world.objects[names.index(name)],
        position=row[:3],
        quaternion=row[3:7],
        rotation=R,
        velocity=R @ row[10:13],
        omega=row[7:10],
    )


def named_objects(objects: PyTree) -> tuple[FreeBody, ...]:
    """Return a list of free bodies, each with a unique name."""
    if not isinstance(objects, (list, tuple)) or not all(isinstance(body, (FreeBox, FreeBall)) for body in objects):
        raise InputError(f"objects must be a list of FreeBox and FreeBall, got {' '.join(repr(objects).split())[:60]}")
    taken = [body.name for body in objects if body.name]
    for name in taken:
        if taken.count(name) > 1:
            raise InputError(f"two objects are named '{name}'")
    named: list[FreeBody] = []
    for body in objects:
        kind = "ball" if isinstance(body, FreeBall) else "box"
        free = (name for k in count() if (name := kind if k == 0 else f"{kind}_{k + 1}") not in taken)
        name = body.name or next(free)
        taken.append(name)
        named.append(replace(body, name=name))
    return tuple(named)


def objects_and_solids(
    robot: Robot, objects: PyTree, collisions: Given, contact: ContactModel, integrator: str
) -> tuple[tuple[FreeBody, ...], tuple[Solid, ...]]:
    """Return free bodies by name, and the links of the robot that they touch: its trunk, and the colliding ones."""
    named = named_objects(objects)
    if not named:
        return (), ()
    if isinstance(contact, Stance):
        raise InputError("free bodies need compliant or complementarity contact: stance contact supports only feet")
    if integrator not in ("linearly_implicit", "semi_implicit_euler"):
        raise InputError(f"free bodies are stepped by linearly_implicit or semi_implicit_euler, not {integrator}")
    parts = collisions if collisions is True else [PARTS[0], *_names(collisions)]
    return named, link_solids(robot, parts)


def _names(collisions: Given) -> list[str]:
    if not collisions:
        return []
    return collisions.split(",") if isinstance(collisions, str) else list(collisions)


def check_objects(world: World, q: Float[ndarray, "nq"]) -> None:
    """Raise for free bodies that start inside the ground, the robot or each other: they would be ejected."""
    if not world.objects:
        return
    at_q = posture(world.robot, q)
    poses = poses_in_base(at_q.robot, at_q.X)
    spheres = [place_sphere(at_q, sphere) for sphere in world.spheres]
    X = [Transform(to_rotation(body.start[3:7]), body.start[:3]) for body in world.objects]
    scene = _Scene(world, at_q, poses, spheres, X)
    for touch in world.touches:
        depth = -float(scene.point(touch).distance)
        if depth > _DEEP:
            raise InputError(f"the start puts {touch.name} {1e3 * depth:.1f} mm deep: move the object")


def place_sphere(at_q: PosedRobot, sphere: Sphere) -> Sphere:
    """Return a sphere or wheel in the present axes of its body."""
    center = at_q.point(sphere.body, sphere.center)
    if sphere.axis is None:
        return replace(sphere, center=center)
    return replace(sphere, center=center, axis=at_q.rotations[sphere.body] @ sphere.axis)


def contact_candidates(
    world: World, at_q: PosedRobot, poses: list[Transform], spheres: Sequence[Sphere]
) -> list[ContactPoint]:
    """Return where the robot may touch the ground, and its links each other."""
    points = contact_points(at_q.robot, at_q.X, poses, spheres, world.ground)
    if not world.pairs:
        return points
    return [*points, *pair_points(at_q.robot, poses, [pair.moved(at_q.point) for pair in world.pairs])]


def assemble_system(
    world: World,
    at_q: PosedRobot,
    poses: list[Transform],
    spheres: list[Sphere],
    objects: PyTree,
    M: ndarray,
    force: ndarray,
    points: list[ContactPoint],
    v: ndarray,
    loops: LoopConstraint | None,
    dt: float,
) -> System:
    """Return the equations of the robot with those of the free bodies around it; the robot's alone if there are none.

    ``poses`` and ``spheres`` are the robot's present ones; free bodies rotate as at the midpoint of a step of length
    ``dt``.
    """
    robot, X_WB = at_q.robot, at_q.X[0]
    axes = [X_WB.R] * len(points)
    if not world.objects:
        return System(robot=robot, M=M, force=force, points=points, v=v, loops=loops, axes=axes)
    width = 6 * len(world.objects)
    scene = _Scene(world, at_q, poses, spheres, [Transform(to_rotation(row[3:7]), row[:3]) for row in objects])
    M_all = np.zeros((width + robot.nv, width + robot.nv))
    M_all[width:, width:] = M
    forces, rates = [], []
    for k, (body, X, row) in enumerate(zip(world.objects, scene.X, objects)):
        composite = composite_bodies(body.robot, [X])
        M_all[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = composite_mass_matrix(body.robot, [X], composite)
        turning = np.concatenate([row[7:10] + free_rotation(body.robot, row[7:10], dt), row[10:]])
        forces.append(-composite_bias(body.robot, [X], composite, turning, world.gravity))
        rates.append(row[7:])
    met = [scene.point(touch) for touch in world.touches]
    return System(
        robot=robot.with_tree(replace(robot.tree, base_dof=robot.tree.base_dof + width)),
        M=M_all,
        force=np.concatenate([*forces, force]),
        points=[*(_shifted(point, width) for point in points), *met],
        v=np.concatenate([*rates, v]),
        loops=_widened(loops, width),
        axes=[*axes, *(X_WB.R if touch.owner == ROBOT else scene.X[touch.owner].R for touch in world.touches)],
        width=width,
    )


def contact_forces_world(
    world: World, axes: Sequence[Float[ndarray, "3 3"]], forces_B: Sequence[Float[ndarray, "3"]]
) -> Float[ndarray, "nc 3"]:
    """Return the forces of all contacts in world axes; a sphere's include those of the free bodies that it touches."""
    if not forces_B:
        return np.zeros((0, 3))
    forces = [R @ f for R, f in zip(axes, forces_B)]
    first, total = len(world.spheres) + len(world.pairs), list(forces)
    for k, touch in enumerate(world.touches):
        if touch.owner == ROBOT and touch.edge is None:
            total[touch.sphere] = total[touch.sphere] + forces[first + k]
    return np.stack(total)


@dataclass(frozen=True)
class _Scene:
    """Robot and free bodies in one state."""

    world: World
    at_q: PosedRobot
    poses: list[Transform]  # poses of the robot's bodies in base axes
    spheres: list[Sphere]  # spheres of the robot
    X: list[Transform]  # poses of the free bodies in the world

    @property
    def width(self) -> int:
        return 6 * len(self.X)

    def point(self, touch: ContactPair) -> ContactPoint:
        """Return a contact in the axes of its owner, with the Jacobians of both."""
        surface, robot = self._surface(touch), self.at_q.robot
        sphere, up = self._sphere(touch)
        if touch.owner == ROBOT:
            point = contact_points(robot, self.at_q.X, self.poses, [sphere], surface)[0]
            X_WA, own = self.at_q.X[0], self.width
        else:
            body, X_WA, own = self.world.objects[touch.owner], self.X[touch.owner], 6 * touch.owner
            point = contact_points(body.robot, [X_WA], [Transform.identity()], [sphere], surface)[0]
        J = np.zeros((3, self.width + robot.nv))
        J[:, own : own + point.J.shape[1]] = point.J
        dofs = [own + k for k in point.dofs]
        assert point.p_BC is not None
        p_W = X_WA.point(point.p_BC)
        if touch.other != GROUND:
            at, J_other, used = self._velocity(touch, p_W)
            R_AO = X_WA.R.T @ (self.at_q.X[0] if touch.other == ROBOT else self.X[touch.other]).R
            J[:, at : at + J_other.shape[1]] = -(R_AO @ J_other)
            dofs += [at + k for k in used]
        friction = self._friction(touch, point.friction)
        return replace(point, distance=point.distance + up, J=J, dofs=tuple(sorted(dofs)), friction=friction)

    def _sphere(self, touch: ContactPair) -> tuple[Sphere, float]:
        """Return (the contact sphere in the frame of its body, how far it is raised [m])."""
        if touch.edge is None:
            own = self.spheres if touch.owner == ROBOT else self.world.objects[touch.owner].spheres
            return own[touch.sphere], 0.0
        solid, X_WS = self._solid(touch.owner, touch.sphere)
        centre, radius, up = edge_sphere(touch.edge, solid, X_WS, *self._solid(touch.other, touch.solid))
        if touch.owner == ROBOT:
            return Sphere(
                name=touch.name, body=solid.body, center=self._in_body(solid).point(centre), radius=radius
            ), up
        return Sphere(name=touch.name, body=0, center=centre, radius=radius), up

    def _surface(self, touch: ContactPair) -> Ground:
        if touch.other == GROUND and touch.edge is None:
            return self.world.ground
        return PlacedSolid(*self._solid(touch.other, touch.solid), self.world.ground)

    def _solid(self, of: int, k: int) -> tuple[Solid, Transform]:
        """Return a solid of the robot, of the ground, or of a free body, and its pose in the world."""
        world = self.world
        if of == ROBOT:
            return world.solids[k], self.solid_pose(k)
        if of == GROUND:
            assert isinstance(world.ground, Boxes)
            return ground_solid(world.ground.boxes[k])
        return world.objects[of].solid, self.X[of]

    def solid_pose(self, k: int) -> Transform:
        """Return the pose of a solid of the robot in the world."""
        solid = self.world.solids[k]
        return self.at_q.X[0] @ self.poses[solid.body] @ self._in_body(solid)

    def _in_body(self, solid: Solid) -> Transform:
        """Return the pose of a solid of the robot in the present axes of its body."""
        return Transform(self.at_q.rotations[solid.body] @ solid.X_BS.R, self.at_q.point(solid.body, solid.X_BS.p))

    def _velocity(self, touch: ContactPair, p_W: Float[ndarray, "3"]) -> tuple[int, ndarray, Sequence[int]]:
        """Return (first column, Jacobian in its own axes, columns in use) of the other's point there."""
        if touch.other == ROBOT:
            robot, X_WB, body = self.at_q.robot, self.at_q.X[0], self.world.solids[touch.solid].body
            J = point_jacobian(robot, self.poses, body, X_WB.R.T @ (p_W - X_WB.p))
            tree = robot.tree
            return self.width, J, (*range(tree.base_dof), *(tree.dof(j) for j in tree.support[body]))
        X = self.X[touch.other]
        J = point_jacobian(self.world.objects[touch.other].robot, [], 0, X.R.T @ (p_W - X.p))
        return 6 * touch.other, J, range(6)

    def _friction(self, touch: ContactPair, there: float) -> float:
        """Return the lower friction of the touching free bodies, or of the contact."""
        own = [
            body.friction
            for k in (touch.owner, touch.other)
            if k >= 0 and (body := self.world.objects[k]).friction is not None
        ]
        return min(own) if own else there


def _shifted(point: ContactPoint, width: int) -> ContactPoint:
    """Return a contact of the robot alone, after the columns of free bodies."""
    J = np.concatenate([np.zeros((3, width)), point.J], axis=1)
    return replace(point, J=J, dofs=tuple(width + k for k in point.dofs))


def _widened(loops: LoopConstraint | None, width: int) -> LoopConstraint | None:
    if loops is None:
        return None
    return LoopConstraint(np.concatenate([np.zeros((len(loops.G), width)), loops.G], axis=1), loops.wanted)
