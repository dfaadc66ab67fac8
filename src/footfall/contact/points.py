"""Where spheres of the robot meet the ground: eqs. (31)-(33), (36)-(37) of de Paula et al. 2024.

Any sphere on any link may touch. Jacobians here give the velocity of the contact point, the lowest point of the sphere,
in *base* axes: the ground's axes are applied to three numbers rather than to every column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.ground import Ground
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import FlatFoot, Foot
from footfall.spatial import Transform, cross, skew

_FLAT = 1e-12  # a wheel that lies on its side has no lowest point


@dataclass(frozen=True)
class Sphere:
    """A sphere that may touch: on body ``body``, centre [m] in that body's frame.

    With an ``axis`` in that frame a wheel: a torus of that radius, whose tyre is ``tyre`` [m] thick.
    """

    name: str
    body: int
    center: Float[ndarray, "3"]
    radius: float
    axis: Float[ndarray, "3"] | None = field(default=None, metadata={"added_later": True})
    tyre: float = field(default=0.0, metadata={"added_later": True})


@dataclass(frozen=True)
class ContactPoint:
    """One sphere over the ground in one state."""

    distance: float  # of the sphere's surface from the ground [m]; negative: penetration
    J: Float[ndarray, "3 nv"]  # velocity of the contact point in base axes = J v
    R_BC: Float[ndarray, "3 3"]  # contact axes in base axes, the normal last
    friction: float
    dofs: tuple[int, ...]  # the columns of J that are not zero
    couples: bool = False  # two branches of the tree, as links that meet do
    p_BC: Float[ndarray, "3"] | None = None  # where it is, in base axes; of pairs nobody asks


def spheres_of(robot: Robot, extra: Sequence[Foot] = ()) -> tuple[Sphere, ...]:
    """The feet first, then any further spheres (see ``trunk_corners`` and ``knees``)."""
    for foot in robot.feet:
        if isinstance(foot, FlatFoot):
            raise InputError(
                f"foot '{foot.name}' of robot '{robot.name}' has a sole, and contact laws know points: run it by its"
                " corners, ff.robot.by_corners(robot)"
            )
    spheres = [
        Sphere(foot.name, body, p, foot.radius, _axis(robot, foot), foot.tyre)
        for foot, body, p in zip(robot.feet, robot.tree.feet, robot.tree.foot_positions)
    ]
    for sphere in extra:
        if sphere.link not in robot.tree.frames:
            raise InputError(f"contact sphere '{sphere.name}' sits on the unknown link '{sphere.link}'")
        body, X_BL = robot.tree.frames[sphere.link]
        place = (X_BL.point(sphere.position), sphere.radius)
        spheres.append(Sphere(sphere.name, body, *place, _axis(robot, sphere), sphere.tyre))
    return tuple(spheres)


def _axis(robot: Robot, foot: Foot) -> Float[ndarray, "3"] | None:
    """The axis of a wheel in the frame of its body."""
    return None if foot.axis is None else robot.tree.frames[foot.link][1].R @ np.array(foot.axis)


def trunk_corners(robot: Robot, radius: float = 0.01) -> list[Foot]:
    """A small sphere at each lower and upper corner of the base's box, so that a fallen robot lies on its trunk."""
    link = robot.link(robot.tree.bodies[0].name)
    if link.box is None:
        raise InputError(f"link '{link.name}' of robot '{robot.name}' has no box: give its contact spheres yourself")
    half = np.array(link.box) / 2
    signs = [(x, y, z) for x in (1, -1) for y in (1, -1) for z in (-1, 1)]
    return [Foot(f"corner_{k}", link.name, link.com + half * sign, radius) for k, sign in enumerate(signs)]


def knees(robot: Robot, radius: float = 0.02) -> list[Foot]:
    """A sphere at the last joint of every leg."""
    links = [robot.tree.bodies[body].name for body in robot.tree.feet]
    return [Foot(f"{foot.name}_knee", link, np.zeros(3), radius) for foot, link in zip(robot.feet, links)]


def point_jacobian(robot: Robot, poses: list[Transform], body: int, p_B: Float[ndarray, "3"]) -> Float[ndarray, "3 nv"]:
    """Velocity of a point of a body by v, both in base axes; ``poses`` are the bodies in base axes."""
    tree, J = robot.tree, np.zeros((3, robot.nv))
    if robot.floating:
        J[:, :3], J[:, 3:6] = -skew(p_B), np.eye(3)
    for j in tree.support[body]:
        axis = poses[j].R @ tree.bodies[j].axis
        J[:, tree.dof(j)] = cross(axis, p_B - poses[j].p) if tree.bodies[j].kind == "revolute" else axis
    return J


def contact_points(
    robot: Robot, X: list[Transform], poses: list[Transform], spheres: Sequence[Sphere], ground: Ground
) -> list[ContactPoint]:
    """Every sphere over the ground; ``poses`` are the bodies in base axes (``kinematics.poses_in_base``)."""
    tree, X_WB, points = robot.tree, X[0], []
    for sphere in spheres:
        p_B, radius = poses[sphere.body].point(sphere.center), sphere.radius
        if sphere.axis is not None:
            toward = X_WB.R.T @ ground.frame(X_WB.point(p_B))[:, 2]
            p_B, radius = _in_tyre(p_B, poses[sphere.body].R @ sphere.axis, toward, radius - sphere.tyre), sphere.tyre
        p_W = X_WB.point(p_B)
        R_BC = X_WB.R.T @ ground.frame(p_W)
        p_BC = p_B + -radius * R_BC[:, 2]  # a sum: of a difference a trace would keep both signs
        J = point_jacobian(robot, poses, sphere.body, p_BC)
        dofs = (*range(tree.base_dof), *(tree.dof(j) for j in tree.support[sphere.body]))
        distance = ground.distance(p_W) - radius
        points.append(ContactPoint(distance, J, R_BC, ground.friction_at(p_W), dofs, p_BC=p_BC))
    return points


def _in_tyre(
    p: Float[ndarray, "3"], axis: Float[ndarray, "3"], normal: Float[ndarray, "3"], rim: float
) -> Float[ndarray, "3"]:
    """The point of a wheel's rim that is nearest to the ground: down in the wheel's plane, whatever its tilt."""
    across = normal - (normal @ axis) * axis
    return p - rim * (across / np.sqrt(across @ across + _FLAT))


def generalised_forces(
    points: Sequence[ContactPoint], forces: Sequence[Float[ndarray, "3"]], first: int, nv: int
) -> Float[ndarray, "nv"]:
    """Σ Jᵀ f over the columns from ``first`` on."""
    return sum((point.J[:, first:].T @ f for point, f in zip(points, forces)), start=np.zeros(nv))
