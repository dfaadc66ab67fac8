"""A robot in a viser scene: its own links, the ground, contact forces, support polygon, path of the centre of mass.

The web page (``view``) and the replay of a report draw with the same pieces. A body is one mesh, made of the link's
box, of a capsule to every joint and foot that it carries, and of its feet; it moves as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from footfall.contact.ground import Ground, Plane
from footfall.errors import MissingExtraError
from footfall.gait.stability import polygon_margin, support_polygon
from footfall.kinematics.forward import center_of_mass
from footfall.robot.description import Robot
from footfall.robot.placement import body_poses
from footfall.spatial import quaternion

TRUNK, LEFT, RIGHT, FOOT = (92, 104, 120), (46, 117, 182), (214, 110, 40), (40, 46, 54)
FORCE, INSIDE, OUTSIDE, PATH = (190, 8, 28), (16, 150, 90), (230, 140, 0), (120, 60, 200)
FORCE_LENGTH = 1.0  # of an arrow as strong as the robot's weight, over the robot's size
_AWAY = np.array([0.0, 0.0, -50.0])  # where an arrow of no force is put
TRAIL = 240  # places of the centre of mass that are shown


def viser() -> Any:
    """The package that draws, if it is installed."""
    try:
        import viser
    except ImportError:
        raise MissingExtraError("a 3-D view", "view", "viser") from None
    return viser


Shape = tuple[ndarray, ndarray]  # vertices and faces


# -- shapes ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Mesh:
    """Triangles of one body in its own axes, and their colour."""

    vertices: Float[ndarray, "n 3"]
    faces: Int[ndarray, "m 3"]
    color: tuple[int, int, int]


def capsule(start: Float[ndarray, "3"], end: Float[ndarray, "3"], radius: float, around: int = 14) -> Shape:
    """(vertices, faces) of a capsule between two points [m]; a ball where they are the same."""
    axis = np.asarray(end, dtype=float) - np.asarray(start, dtype=float)
    length = float(np.linalg.norm(axis))
    z = axis / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    x = np.cross(z, [1.0, 0.0, 0.0] if abs(z[0]) < 0.9 else [0.0, 1.0, 0.0])
    x /= np.linalg.norm(x)
    R = np.stack([x, np.cross(z, x), z], axis=1)
    half = np.linspace(0.0, np.pi / 2, 5)
    rings = [(-np.cos(a), np.sin(a), 0.0) for a in half] + [(np.sin(a), np.cos(a), length) for a in half]
    turn = np.linspace(0.0, 2 * np.pi, around, endpoint=False)
    points = [
        np.stack([radius * wide * np.cos(turn), radius * wide * np.sin(turn), np.full(around, at + radius * up)], 1)
        for up, wide, at in rings
    ]
    vertices = np.concatenate(points) @ R.T + start
    faces = []
    for ring in range(len(rings) - 1):
        for k in range(around):
            a, b = ring * around + k, ring * around + (k + 1) % around
            faces += [(a, b, a + around), (b, b + around, a + around)]
    return vertices, np.array(faces)


def box(center: Float[ndarray, "3"], size: Sequence[float]) -> Shape:
    """(vertices, faces) of a box; corners are not shared, so that its edges look sharp."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * np.asarray(size) / 2 + center
    sides = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    vertices = np.concatenate([corners[list(side)] for side in sides])
    faces = np.array([(4 * k + a, 4 * k + b, 4 * k + c) for k in range(6) for a, b, c in ((0, 1, 2), (0, 2, 3))])
    return vertices, faces


def size_of(robot: Robot) -> float:
    """Length, width or height of the robot as it stands, whichever is largest [m]."""
    q = robot.state("stand" if "stand" in robot.poses else None)[0]
    poses, tree = body_poses(robot, q), robot.tree
    points = [pose.p for pose in poses] + [poses[b].point(p) for b, p in zip(tree.feet, tree.foot_positions)]
    return max(float(np.ptp(np.array(points), axis=0).max()), 0.05)


def body_meshes(robot: Robot) -> list[list[Mesh]]:
    """The shapes of every body of the tree, in its own axes: a model needs no mesh files."""
    tree, thin = robot.tree, 0.028 * size_of(robot)
    found: list[list[Mesh]] = [[] for _ in tree.bodies]
    boxed = set()
    for link in robot.links:
        if link.box is not None:
            at, X_BL = tree.frames[link.name]
            vertices, faces = box(link.com, link.box)
            found[at].append(Mesh(vertices @ X_BL.R.T + X_BL.p, faces, _color(robot, at)))
            boxed.add(at)
    for i, body in enumerate(tree.bodies[1:], start=1):
        parent, joint = tree.parent[i], body.X_PJ.p
        if parent not in boxed or _color(robot, parent) != TRUNK:
            found[parent].append(Mesh(*capsule(np.zeros(3), joint, thin), _color(robot, parent)))
        found[i].append(Mesh(*capsule(np.zeros(3), np.zeros(3), 1.3 * thin), _color(robot, i)))
    for foot, at, place in zip(robot.feet, tree.feet, tree.foot_positions):
        found[at].append(Mesh(*capsule(np.zeros(3), place, 0.8 * thin), _color(robot, at)))
        found[at].append(Mesh(*capsule(place, place, max(foot.radius, 0.8 * thin)), FOOT))
    return [_merged(meshes) for meshes in found]


def _merged(meshes: list[Mesh]) -> list[Mesh]:
    """One mesh a colour."""
    merged = []
    for color in dict.fromkeys(mesh.color for mesh in meshes):
        same = [mesh for mesh in meshes if mesh.color == color]
        offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in same)])
        faces = np.concatenate([mesh.faces + at for mesh, at in zip(same, offsets)])
        merged.append(Mesh(np.concatenate([mesh.vertices for mesh in same]), faces, color))
    return merged


def _color(robot: Robot, body: int) -> tuple[int, int, int]:
    """Left legs blue, right legs orange, what carries several feet grey."""
    feet = [k for k, at in enumerate(robot.tree.feet) if at in robot.tree.subtree[body]]
    if body == 0 or len(feet) != 1:
        return TRUNK
    return RIGHT if robot.feet[feet[0]].name.upper().startswith(("R", "FR", "HR")) else LEFT


# -- the scene ---------------------------------------------------------------------------------------------------------
class Stage:
    """One robot in a scene, under the node ``root``; ``offset`` moves it aside, ``label`` names it."""

    def __init__(
        self, scene: Any, robot: Robot, root: str = "/world/robot", offset: Sequence[float] = (0.0, 0.0, 0.0),
        label: str | None = None, fade: float | None = None,
    ) -> None:  # fmt: skip
        self.scene, self.robot, self.root = scene, robot, root
        self.offset = np.array(offset, dtype=float)
        self.size, self.weight = size_of(robot), 9.81 * robot.mass
        scene.add_frame(root, show_axes=False, position=self.offset)
        self.bodies = []
        for i, meshes in enumerate(body_meshes(robot)):
            self.bodies.append(scene.add_frame(f"{root}/body{i}", show_axes=False))
            for k, mesh in enumerate(meshes):
                scene.add_mesh_simple(
                    f"{root}/body{i}/part{k}", mesh.vertices.astype(np.float32), mesh.faces.astype(np.uint32),
                    color=mesh.color, opacity=fade, flat_shading=mesh.color == TRUNK, side="double",
                )  # fmt: skip
        self.label = scene.add_label(f"{root}/name", label) if label else None
        self.arrows = self._arrows(np.zeros((max(1, robot.nf), 2, 3)))
        self.polygon = self._lines("polygon", np.zeros((1, 2, 3)), INSIDE, 0.008)
        self.path = self._lines("path", np.zeros((1, 2, 3)), PATH, 0.006)
        self.trail: list[ndarray] = []
        self.margin = np.nan

    def show(
        self, q: Float[ndarray, "nq"], force: Float[ndarray, "nf 3"] | None = None, follow_path: bool = True,
    ) -> None:  # fmt: skip
        """Move the robot to ``q``, with the forces on its feet [N]; its path grows if asked for."""
        poses, tree = body_poses(self.robot, q), self.robot.tree
        for node, pose in zip(self.bodies, poses):
            node.position = pose.p
            node.wxyz = quaternion.from_rotation(pose.R)
        center = center_of_mass(self.robot, q)
        if self.label is not None:
            self.label.position = poses[0].p + np.array([0.0, 0.0, 0.45 * self.size])
        feet = np.array([poses[b].point(p) for b, p in zip(tree.feet, tree.foot_positions)]).reshape(-1, 3)
        bottoms = feet - np.array([[0.0, 0.0, foot.radius] for foot in self.robot.feet]).reshape(-1, 3)
        if force is not None and len(feet):
            shown = force / self.weight * FORCE_LENGTH * self.size
            down = np.linalg.norm(force, axis=1) > 0
            seen = np.linalg.norm(shown, axis=1, keepdims=True) > 0.02 * self.size
            ends = np.where(seen, bottoms, _AWAY), np.where(seen, bottoms + shown, _AWAY + 0.1)
            self.arrows.points = np.stack(ends, axis=1).astype(np.float32)
            self._support(bottoms[down], center)
        if follow_path:
            self.trail = [*self.trail[-TRAIL:], center]
            self.draw_path(np.array(self.trail))

    def draw_path(self, points: Float[ndarray, "n 3"]) -> None:
        """The path of the centre of mass, all at once."""
        if len(points) > 1:
            self.path.points = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)

    def forget(self) -> None:
        """Start the path of the centre of mass anew."""
        self.trail = []

    def _support(self, down: Float[ndarray, "n 3"], center: Float[ndarray, "3"]) -> None:
        """Sides of the support polygon, green while the centre of mass is over it, and a plumb line to the ground."""
        corners = support_polygon(down)
        self.margin = polygon_margin(corners, center[:2])
        level = float(down[:, 2].max()) + 0.004 if len(down) else float(center[2])
        ring = np.column_stack([corners, np.full(len(corners), level)]) if len(corners) else np.zeros((0, 3))
        sides = [(a, b) for a, b in zip(ring, np.roll(ring, -1, axis=0))] if len(ring) > 1 else []
        sides.append((center, np.array([center[0], center[1], level])))
        # the number of sides is kept, so that the client need not make the lines anew
        self.polygon.points = np.array([*sides, *[sides[-1]] * (len(self.robot.feet) + 1 - len(sides))], np.float32)
        self.polygon.colors = np.array(INSIDE if self.margin >= 0 else OUTSIDE, np.uint8)

    def _arrows(self, points: ndarray) -> Any:
        thick = 0.014 * self.size
        return self.scene.add_arrows(
            f"{self.root}/force", points.astype(np.float32), FORCE, shaft_radius=thick, head_radius=2.4 * thick,
            head_length=5.0 * thick,
        )  # fmt: skip

    def _lines(self, name: str, points: ndarray, color: tuple[int, int, int], thick: float) -> Any:
        return self.scene.add_line_segments(
            f"{self.root}/{name}", points.astype(np.float32), color, thickness=thick * self.size * 1.5
        )


def draw_ground(scene: Any, ground: Ground | None, span: float = 6.0, root: str = "/world/ground") -> Any:
    """The ground around the origin: a grid on a plane or slope, a surface otherwise."""
    surface = Plane() if ground is None else ground
    if isinstance(surface, Plane):
        R = surface.frame(np.zeros(3))
        height = float(surface.distance(np.zeros(3)))
        return scene.add_grid(
            root, width=40.0, height=40.0, plane="xy", cell_size=0.25, section_size=1.0, cell_color=(226, 230, 235),
            section_color=(196, 203, 212), cell_thickness=0.8, section_thickness=1.0, plane_color=(246, 247, 249),
            plane_opacity=1.0, fade_distance=12.0, shadow_opacity=0.0,
            wxyz=quaternion.from_rotation(R), position=-height * R[:, 2] - np.array([0.0, 0.0, 0.001]),
        )  # fmt: skip
    side = np.linspace(-span, span, int(span * 2 / 0.06))
    x, y = np.meshgrid(side, side, indexing="ij")
    z = _heights(surface, x, y)
    n = len(side)
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)[None, :]).ravel()
    faces = np.concatenate(
        [np.stack([corner, corner + n, corner + 1], 1), np.stack([corner + 1, corner + n, corner + n + 1], 1)]
    )
    return scene.add_mesh_simple(
        root, np.stack([x.ravel(), y.ravel(), z.ravel()], 1).astype(np.float32), faces.astype(np.uint32),
        color=(205, 211, 218), flat_shading=True, side="double", cast_shadow=False,
    )  # fmt: skip


def _heights(ground: Any, x: ndarray, y: ndarray) -> ndarray:
    """Heights of a ground on a mesh of places; where it has a hole, far below."""
    if hasattr(ground, "surface"):
        z = np.asarray(ground.surface(x, y)[0])
    elif hasattr(ground, "height") and callable(ground.height):
        z = np.broadcast_to(np.asarray(ground.height(x)), x.shape)
    else:  # the distance along the vertical is near enough for a picture
        flat = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
        z = -np.array([float(ground.distance(p)) for p in flat]).reshape(x.shape)
    return np.where(np.isfinite(z), z, -1.0)


def light(scene: Any) -> None:
    """Lights and sky that need nothing from outside."""
    scene.set_up_direction("+z")
    scene.configure_environment_map(None)
    scene.configure_default_lights(enabled=False)
    scene.add_light_hemisphere("/lights/sky", sky_color=(255, 255, 255), ground_color=(150, 150, 155), intensity=2.2)
    scene.add_light_directional("/lights/sun", intensity=1.8, cast_shadow=False, position=(2.0, -3.0, 6.0))
