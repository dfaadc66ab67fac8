"""A robot in a viser scene: its appearance, the ground, contact forces, support polygon, path of the centre of mass.

The web page (``view``) and the replay in a report share this code. Each body of the robot is one node.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import numpy as np
from numpy import ndarray

from footfall.contact.free_bodies import FreeBody
from footfall.contact.ground import Ground, Plane
from footfall.draw.free_bodies import object_solids
from footfall.draw.ground_surface import lines_along_x
from footfall.draw.solids import ColoredMesh, look_of, size_of
from footfall.draw.video import FORCE, INSIDE, OUTSIDE, PATH
from footfall.errors import MissingExtraError
from footfall.gait.stability import polygon_margin, support_polygon
from footfall.kinematics.forward import center_of_mass
from footfall.robot.model.description import Robot
from footfall.robot.model.placement import body_poses
from footfall.spatial import quaternion
from footfall.spatial.gravity import GRAVITY, Gravity, force_scale
from nptrace._types import Foreign
from nptrace.array_types import Float

FORCE_LENGTH = 1.0  # length of an arrow for a force as large as the robot's weight, over the robot's size
_AWAY = np.array([0.0, 0.0, -50.0])  # position of an arrow without a force
_MESH, _TILE = 0.1, 0.5  # [m] between points of a ground that is not level, and size of its tiles
TRAIL = 240  # points of the path of the centre of mass


def viser() -> ModuleType:
    """Return the package viser, if it is installed."""
    try:
        import viser
    except ImportError:
        raise MissingExtraError("a 3-D view", "view", "viser") from None
    return viser


# -- the scene ---------------------------------------------------------------------------------------------------------
class Stage:
    """One robot in a scene, under the node ``root``; ``offset`` shifts it, ``label`` names it."""

    def __init__(
        self,
        scene: Foreign,
        robot: Robot,
        root: str = "/world/robot",
        offset: Sequence[float] = (0.0, 0.0, 0.0),
        label: str | None = None,
        fade: float | None = None,
        gravity: Gravity = GRAVITY,
        objects: Sequence[FreeBody] = (),
    ) -> None:
        self.scene, self.robot, self.root = scene, robot, root
        self.offset = np.array(offset, dtype=float)
        self.size, self.weight = size_of(robot), force_scale(robot.mass, gravity)
        scene.add_frame(root, show_axes=False, position=self.offset)
        look = look_of(robot)
        self.note = look.note
        self.bodies = [self._node(f"body{i}", solids, fade) for i, solids in enumerate(look.bodies)]
        self.objects = [self._node(f"object{i}", object_solids(body), fade) for i, body in enumerate(objects)]
        # attached to the trunk: what a slow browser draws late is then out of date, but not left behind
        self.near = scene.add_frame(f"{root}/near", show_axes=False)
        self.label = scene.add_label(f"{root}/near/name", label) if label else None
        self.arrows = self._arrows(np.tile([_AWAY, _AWAY + 0.1], (max(1, robot.nf), 1, 1)))
        self.polygon = self._lines("near/polygon", np.zeros((1, 2, 3)), INSIDE, 0.008)
        self.path = self._lines("path", np.zeros((1, 2, 3)), PATH, 0.006)
        self.trail: list[ndarray] = []
        self.margin = np.nan

    def show(
        self,
        q: Float[ndarray, "nq"],
        force: Float[ndarray, "nf 3"] | None = None,
        follow_path: bool = True,
        objects: Float[ndarray, "n 7"] | None = None,
    ) -> None:
        """Move the robot to ``q``, with the forces on its feet [N]; its path grows on request. ``objects``: poses of
        free bodies.
        """
        for node, row in zip(self.objects, () if objects is None else objects):
            node.position, node.wxyz = row[:3], row[3:7]
        poses, tree = body_poses(self.robot, q), self.robot.tree
        for node, pose in zip(self.bodies, poses):
            node.position = pose.p
            node.wxyz = quaternion.from_rotation(pose.R)
        center, here = center_of_mass(self.robot, q), np.asarray(poses[0].p)
        self.near.position = here
        if self.label is not None:
            self.label.position = np.array([0.0, 0.0, 0.45 * self.size])
        feet = np.array([poses[b].point(p) for b, p in zip(tree.feet, tree.foot_positions)]).reshape(-1, 3)
        bottoms = feet - np.array([[0.0, 0.0, foot.radius] for foot in self.robot.feet]).reshape(-1, 3)
        if force is not None and len(feet):
            shown = force / self.weight * FORCE_LENGTH * self.size
            down = np.linalg.norm(force, axis=1) > 0
            seen = np.linalg.norm(shown, axis=1, keepdims=True) > 0.02 * self.size
            starts = bottoms - here
            ends = np.where(seen, starts, _AWAY), np.where(seen, starts + shown, _AWAY + 0.1)
            self.arrows.points = np.stack(ends, axis=1).astype(np.float32)
            self._support(starts[down], center - here)
        if follow_path:
            self.trail = [*self.trail[-TRAIL:], center]
            self.draw_path(np.array(self.trail))

    def draw_path(self, points: Float[ndarray, "n 3"]) -> None:
        """Draw the whole path of the centre of mass at once."""
        if len(points) > 1:
            self.path.points = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)

    def forget(self) -> None:
        """Restart the path of the centre of mass."""
        self.trail = []

    def _support(self, down: Float[ndarray, "n 3"], center: Float[ndarray, "3"]) -> None:
        """Draw the sides of the support polygon, green while the centre of mass is above it, and a plumb line to the
        ground.

        Positions are relative to the trunk's origin, in world axes.
        """
        corners = support_polygon(down)
        self.margin = polygon_margin(corners, center[:2])
        level = float(down[:, 2].max()) + 0.004 if len(down) else float(center[2])
        ring = np.column_stack([corners, np.full(len(corners), level)]) if len(corners) else np.zeros((0, 3))
        sides = [(a, b) for a, b in zip(ring, np.roll(ring, -1, axis=0))] if len(ring) > 1 else []
        sides.append((center, np.array([center[0], center[1], level])))
        # the number of sides is constant, so that the client need not create the lines anew
        self.polygon.points = np.array([*sides, *[sides[-1]] * (len(self.robot.feet) + 1 - len(sides))], np.float32)
        self.polygon.colors = np.array(INSIDE if self.margin >= 0 else OUTSIDE, np.uint8)

    def _node(self, name: str, solids: Sequence[ColoredMesh], fade: float | None) -> Foreign:
        """Return a node for a body."""
        node = self.scene.add_frame(f"{self.root}/{name}", show_axes=False)
        for k, solid in enumerate(solids):
            self.scene.add_mesh_simple(
                f"{self.root}/{name}/part{k}",
                solid.vertices.astype(np.float32),
                solid.faces.astype(np.uint32),
                color=solid.color,
                opacity=fade,
                flat_shading=solid.sharp,
                side="double",
            )
        return node

    def _arrows(self, points: ndarray) -> Foreign:
        thick = 0.014 * self.size
        return self.scene.add_arrows(
            f"{self.root}/near/force",
            points.astype(np.float32),
            FORCE,
            shaft_radius=thick,
            head_radius=2.4 * thick,
            head_length=5.0 * thick,
        )

    def _lines(self, name: str, points: ndarray, color: tuple[int, int, int], thick: float) -> Foreign:
        return self.scene.add_line_segments(
            f"{self.root}/{name}", points.astype(np.float32), color, thickness=thick * self.size * 1.5
        )


def draw_ground(
    scene: Foreign, ground: Ground | None, places: Float[ndarray, "n 2"] | None = None, root: str = "/world/ground"
) -> None:
    """Draw the ground: a grid on a plane or slope, otherwise a surface around points [m], or ahead of the origin."""
    ground = Plane() if ground is None else ground
    if ground.flat:
        R = np.asarray(ground.frame(np.zeros(3)))
        height = float(ground.distance(np.zeros(3)))
        scene.add_grid(
            root,
            width=40.0,
            height=40.0,
            plane="xy",
            cell_size=0.25,
            section_size=1.0,
            cell_color=(226, 230, 235),
            section_color=(196, 203, 212),
            cell_thickness=0.8,
            section_thickness=1.0,
            plane_color=(246, 247, 249),
            plane_opacity=1.0,
            fade_distance=12.0,
            shadow_opacity=0.0,
            wxyz=quaternion.from_rotation(R),
            position=-height * R[:, 2] - np.array([0.0, 0.0, 0.001]),
        )
        return
    low, high = (-4.0, -5.0), (11.0, 5.0)
    if places is not None:
        low, high = (
            np.min(places, axis=0) - 2.5,
            np.minimum(np.max(places, axis=0) + 2.5, np.min(places, axis=0) + 20.0),
        )
    xs, ys = lines_along_x(ground, low[0], high[0], _MESH), np.arange(low[1], high[1] + _MESH, _MESH)
    x, y = np.meshgrid(xs, ys, indexing="ij")
    n = len(ys)
    corner = (np.arange(len(xs) - 1)[:, None] * n + np.arange(n - 1)[None, :]).ravel()
    faces = np.stack(
        [np.stack([corner, corner + n, corner + 1], 1), np.stack([corner + 1, corner + n, corner + n + 1], 1)], 1
    )
    vertices = np.stack([x.ravel(), y.ravel(), ground.heights_at(x, y).ravel()], 1)
    dark = np.floor((vertices[corner, :2] + 0.5 * _MESH) / _TILE).sum(axis=1) % 2 > 0.5
    scene.add_frame(root, show_axes=False)
    for name, chosen, color in (("light", ~dark, (216, 221, 228)), ("dark", dark, (198, 205, 214))):
        scene.add_mesh_simple(
            f"{root}/{name}",
            vertices.astype(np.float32),
            faces[chosen].reshape(-1, 3).astype(np.uint32),
            color=color,
            flat_shading=True,
            side="double",
            cast_shadow=False,
        )


def light(scene: Foreign) -> None:
    """Add lights and a sky that need no external files."""
    scene.set_up_direction("+z")
    scene.configure_environment_map(None)
    scene.configure_default_lights(enabled=False)
    scene.add_light_hemisphere("/lights/sky", sky_color=(255, 255, 255), ground_color=(150, 150, 155), intensity=2.2)
    scene.add_light_directional("/lights/sun", intensity=1.8, cast_shadow=False, position=(2.0, -3.0, 6.0))
