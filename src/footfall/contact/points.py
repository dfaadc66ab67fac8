"""Contact points between the spheres of the robot and the ground: eqs. (31)-(33), (36)-(37) of de Paula et al. 2024.

Any sphere on any link may touch. Jacobians here give the velocity of the contact point, the lowest point of the sphere,
in *base* axes: the ground's axes are applied to three numbers rather than to every column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.checks import known
from footfall.contact.ground import Ground, Plane
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import FlatFoot, Foot
from footfall.spatial import Transform, cross, skew
from nptrace import custom_fixed_point, repeat, stop_gradient
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float

_FLAT = 1e-12  # a wheel lying on its side has no lowest point
_SPOKES = 12  # minimum number of points tried on half a rim, and an eighth of the maximum
_ARC = 0.01  # [m] between them: half of a narrow tyre
_GOLDEN = 0.5 * (5.0**0.5 - 1.0)
_GOLDEN_STEPS = 24  # refines to 1e-6 of the angle between points
_APART = 1e-5  # [rad] over which the curvature of the distance along a rim is evaluated


@dataclass(frozen=True, kw_only=True)
class Sphere:
    """A contact sphere: its body, and its centre [m] in that body's frame.

    With an ``axis`` in that frame, it is a wheel: a torus of that radius with a tyre ``tyre`` [m] thick.
    """

    name: str
    body: int
    center: Float[ndarray, "3"]
    radius: float
    axis: Float[ndarray, "3"] | None = None
    tyre: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ContactPoint:
    """The point of the ground that is nearest to a contact sphere."""

    distance: float  # distance of the sphere's surface from the ground [m]; negative: penetration
    J: Float[ndarray, "3 nv"]  # velocity of the contact point in base axes = J v
    R_BC: Float[ndarray, "3 3"]  # contact axes in base axes, the normal last
    friction: float
    dofs: tuple[int, ...]  # the nonzero columns of J
    couples: bool = False  # whether it couples two branches of the tree, as colliding links do
    p_BC: Float[ndarray, "3"] | None = None  # position in base axes; None for pairs


def spheres_of(robot: Robot, extra: Sequence[Foot] = ()) -> tuple[Sphere, ...]:
    """Return all contact spheres of a robot: its feet, then further ones.

    Args:
        robot: The robot.
        extra: Further spheres (``trunk_corners``, ``knees``, ``body_spheres``).

    Returns:
        Spheres by body.
    """
    for foot in robot.feet:
        if isinstance(foot, FlatFoot):
            raise InputError(
                f"foot '{foot.name}' of robot '{robot.name}' has a sole, but contact models support only points:"
                " replace the sole by its corners, ff.robot.by_corners(robot)"
            )
    spheres = [
        Sphere(name=foot.name, body=body, center=p, radius=foot.radius, axis=_axis(robot, foot), tyre=foot.tyre)
        for foot, body, p in zip(robot.feet, robot.tree.feet, robot.tree.foot_positions)
    ]
    for sphere in extra:
        if sphere.link not in robot.tree.frames:
            raise InputError(f"contact sphere '{sphere.name}' is on the unknown link '{sphere.link}'")
        body, X_BL = robot.tree.frames[sphere.link]
        center = X_BL.point(sphere.position)
        spheres.append(
            Sphere(
                name=sphere.name,
                body=body,
                center=center,
                radius=sphere.radius,
                axis=_axis(robot, sphere),
                tyre=sphere.tyre,
            )
        )
    return tuple(spheres)


def _axis(robot: Robot, foot: Foot) -> Float[ndarray, "3"] | None:
    """Return the axis of a wheel in the frame of its body."""
    return None if foot.axis is None else robot.tree.frames[foot.link][1].R @ np.array(foot.axis)


def trunk_corners(robot: Robot, radius: float = 0.01) -> list[Foot]:
    """Return a small contact sphere at each corner of the base's box, so that a fallen robot lies on its trunk.

    Args:
        robot: The robot.
        radius: Radius of the spheres [m].

    Returns:
        Eight spheres.
    """
    link = robot.link(robot.tree.bodies[0].name)
    if link.box is None:
        raise InputError(
            f"link '{link.name}' of robot '{robot.name}' has no box: pass its contact spheres (touching=...)"
        )
    half = np.array(link.box) / 2
    signs = [(x, y, z) for x in (1, -1) for y in (1, -1) for z in (-1, 1)]
    return [
        Foot(name=f"corner_{k}", link=link.name, position=link.com + half * sign, radius=radius)
        for k, sign in enumerate(signs)
    ]


def knees(robot: Robot, radius: float = 0.02) -> list[Foot]:
    """Return a contact sphere at the last joint of every leg.

    Args:
        robot: The robot.
        radius: Radius of the spheres [m].

    Returns:
        Spheres.
    """
    links = [robot.tree.bodies[body].name for body in robot.tree.feet]
    return [
        Foot(name=f"{foot.name}_knee", link=link, position=np.zeros(3), radius=radius)
        for foot, link in zip(robot.feet, links)
    ]


def point_jacobian(robot: Robot, poses: list[Transform], body: int, p_B: Float[ndarray, "3"]) -> Float[ndarray, "3 nv"]:
    """Return the Jacobian of a point of a body, in base axes; ``poses`` are the bodies' in base axes."""
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
    """Return the nearest ground point of every contact sphere.

    Args:
        robot: The robot.
        X: Poses of the bodies in their parents (``kinematics.joint_transforms``).
        poses: Poses of the bodies in base axes.
        spheres: Contact spheres (``spheres_of``).
        ground: The ground.

    Returns:
        Distance, axes, Jacobian and friction coefficient at each point.
    """
    tree, X_WB, points, whole = robot.tree, X[0], [], ground
    for sphere in spheres:
        p_B, radius = poses[sphere.body].point(sphere.center), sphere.radius
        ground = whole.for_radius(radius if sphere.axis is None else sphere.tyre)
        if sphere.axis is not None:
            axis_W = X_WB.R @ (poses[sphere.body].R @ sphere.axis)
            p_W, R_WC = _rim_point(ground, X_WB.point(p_B), axis_W, radius - sphere.tyre)
            p_B, radius = X_WB.R.T @ (p_W - X_WB.p), sphere.tyre
        else:
            p_W = X_WB.point(p_B)
            R_WC = ground.frame(p_W)
        R_BC = X_WB.R.T @ R_WC
        p_BC = p_B + -radius * R_BC[:, 2]  # a sum: with a difference, a trace would keep both signs
        J = point_jacobian(robot, poses, sphere.body, p_BC)
        dofs = (*range(tree.base_dof), *(tree.dof(j) for j in tree.support[sphere.body]))
        distance = ground.distance(p_W) - radius
        points.append(
            ContactPoint(distance=distance, J=J, R_BC=R_BC, friction=ground.friction_at(p_W), dofs=dofs, p_BC=p_BC)
        )
    return points


def _rim_point(
    ground: Ground, center: Float[ndarray, "3"], axis: Float[ndarray, "3"], rim: float
) -> tuple[Float[ndarray, "3"], Float[ndarray, "3 3"]]:
    """Return (point of a wheel's rim nearest to the ground, contact axes there) in world axes.

    On level or inclined planes and treads it lies in the direction of the normal under the wheel's centre. Elsewhere
    the whole lower half of the rim is searched, since the ground that a wheel meets may be far from the ground under
    its centre: the two lowest minima of the distance at ``_spokes`` points are refined by golden-section search.
    """
    if isinstance(ground, Plane):
        normal = ground.frame(center)[:, 2]
        across = normal - (normal @ axis) * axis
        p = center - rim * (across / np.sqrt(across @ across + _FLAT))
        return p, ground.frame(p)
    across = np.array([-axis[0] * axis[2], -axis[1] * axis[2], 1.0 - axis[2] * axis[2]])
    down = across * (-1.0 / np.sqrt(across @ across + _FLAT))
    along = cross(axis, down)

    def at(angle: Scalar) -> Float[ndarray, "3"]:
        return center + rim * (np.cos(angle) * down + np.sin(angle) * along)

    def tangent(angle: Scalar) -> Float[ndarray, "3"]:
        return np.cos(angle) * along - np.sin(angle) * down

    def steepness(angle: Scalar) -> Scalar:
        return ground.frame(at(angle))[:, 2] @ tangent(angle)

    count = _spokes(rim)
    width = np.pi / count

    def least(k: float, seen: tuple[Operand, ...]) -> tuple[Operand, ...]:
        """Return the two lowest minima among the points, each lower than both its neighbours."""
        before, last, first, at_first, second, at_second = seen
        distance = ground.distance(at((k + 0.5) * width - 0.5 * np.pi))
        angle = (k - 0.5) * width - 0.5 * np.pi  # from the point before
        minimum = np.where((last <= before) & (last <= distance), last, np.inf)
        lowest, lower = minimum < first, minimum < second
        return (
            last,
            distance,
            np.where(lowest, minimum, first),
            np.where(lowest, angle, at_first),
            np.where(lowest, first, np.where(lower, minimum, second)),
            np.where(lowest, at_first, np.where(lower, angle, at_second)),
        )

    def narrower(_: float, bracket: tuple[Operand, ...]) -> tuple[Operand, ...]:
        """Take one step of golden-section search: the minimum lies between low and high, a and b inside."""
        low, high, a, d_a, b, d_b = bracket
        left = d_a < d_b
        ends: tuple[Operand, Operand] = (np.where(left, low, a), np.where(left, b, high))
        low, high = ends
        tried = np.where(left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        d_tried = ground.distance(at(tried))
        return (
            low,
            high,
            np.where(left, tried, b),
            np.where(left, d_tried, d_b),
            np.where(left, a, tried),
            np.where(left, d_a, d_tried),
        )

    def refined(angle: Operand) -> tuple[Operand, Operand]:
        low, high = angle - width, angle + width
        a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        ends = repeat(_GOLDEN_STEPS, narrower, (low, high, a, ground.distance(at(a)), b, ground.distance(at(b))))
        return 0.5 * (ends[0] + ends[1]), np.minimum(ends[3], ends[5])

    _, _, _, first, _, second = repeat(count + 1, least, (np.inf, np.inf, np.inf, 0.0, np.inf, 0.0))
    (one, d_one), (other, d_other) = refined(first), refined(second)
    found: Operand = stop_gradient(np.where(d_other < d_one, other, one))
    bend = stop_gradient((steepness(found + _APART) - steepness(found - _APART)) / (2.0 * _APART))
    angle = custom_fixed_point(found, lambda x: x - steepness(x) / np.maximum(bend, _APART))
    p, t = at(angle), tangent(angle)
    normal = ground.frame(p)[:, 2]
    normal = normal - (normal @ t) * t  # on a crease: no component of it rotates the wheel
    return p, _axes_of(normal / np.sqrt(normal @ normal + _FLAT))


def _spokes(rim: float) -> int:
    """Return how many points of half a rim are tried: one for every ``_ARC`` of it; the most where it is a free
    parameter."""
    if not known(rim):
        return 8 * _SPOKES
    return int(np.clip(np.ceil(np.pi * rim / _ARC), _SPOKES, 8 * _SPOKES))


def _axes_of(normal: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
    """Return the world's axes under the smallest rotation that makes z the normal (Frisvad 2012)."""
    n_x, n_y, n_z = normal
    k = 1.0 / (1.0 + n_z)
    mixed = -n_x * n_y * k
    return np.array([[1.0 - n_x * n_x * k, mixed, n_x], [mixed, 1.0 - n_y * n_y * k, n_y], [-n_x, -n_y, n_z]])


def generalised_forces(
    points: Sequence[ContactPoint], forces: Sequence[Float[ndarray, "3"]], first: int, nv: int
) -> Float[ndarray, "nv"]:
    """Return Σ Jᵀ f over the columns from ``first`` on."""
    return sum((point.J[:, first:].T @ f for point, f in zip(points, forces)), start=np.zeros(nv))
