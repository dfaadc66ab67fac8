"""Parallel projections on flat matplotlib axes: the parts that ``drawing`` uses, and labels that move apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from footfall.robot.model.description import Robot
from footfall.robot.model.placement import body_poses
from footfall.spatial.transform import Transform

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

AXIS_COLOUR, INK = "#7c3aed", "#1f2937"
FRAME_COLOURS = ("#d62728", "#2ca02c", "#1f4fd8")  # x, y, z


class Scene:
    """A robot at q, seen along a direction: poses, line segments and boxes of the bodies, and their projections."""

    def __init__(self, robot: Robot, q: np.ndarray, view: tuple[float, float]) -> None:
        azimuth, elevation = np.radians(view)
        ca, sa, ce, se = np.cos(azimuth), np.sin(azimuth), np.cos(elevation), np.sin(elevation)
        self.plane = np.array([[-sa, ca, 0.0], [-ca * se, -sa * se, ce]])
        self.towards = np.array([ca * ce, sa * ce, se])
        self.robot, tree = robot, robot.tree
        self.poses = body_poses(robot, q)
        self.feet = [self.poses[b].point(p) for b, p in zip(tree.feet, tree.foot_positions)]
        self.segments: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in self.poses]
        for i in range(1, len(self.poses)):
            self.segments[tree.parent[i]].append((self.poses[tree.parent[i]].p, self.poses[i].p))
        for k, body in enumerate(tree.feet):
            self.segments[body].append((self.poses[body].p, self.feet[k]))
        self.boxes: list[list[np.ndarray]] = [[] for _ in self.poses]
        for link in robot.links:
            if link.box is not None:
                body, X_BL = tree.frames[link.name]
                corners = (
                    np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * link.box / 2 + link.com
                )
                self.boxes[body].append(np.array([(self.poses[body] @ X_BL).point(c) for c in corners]))
        self.points = np.array(
            [p.p for p in self.poses] + self.feet + [c for boxes in self.boxes for box in boxes for c in box]
        )
        self.size = max(float(np.ptp(self.points, axis=0).max()), 1e-6)

    def flat(self, point: np.ndarray) -> np.ndarray:
        """Return where a point of the world appears on the sheet."""
        return self.plane @ point

    def depth(self, point: np.ndarray) -> float:
        """Return how near to the eye a point lies, 0 to 1: nearer points are drawn later."""
        near = self.points @ self.towards
        return float((point @ self.towards - near.min()) / max(float(np.ptp(near)), 1e-9))

    def middle(self, body: int) -> np.ndarray:
        """Return the position of a body's number: the middle of its longest line, or of its box."""
        if body == 0 or not self.segments[body]:
            return self.poses[body].p
        if len(self.segments[body]) > 1 and self.boxes[body]:
            return self.boxes[body][0].mean(axis=0)
        start, end = max(self.segments[body], key=lambda s: float(np.linalg.norm(s[1] - s[0])))
        return (start + end) / 2

    def shown(self) -> np.ndarray:
        return self.points @ self.plane.T


@dataclass(kw_only=True)
class Label:
    """A text on the sheet; a thin line joins it to its ``target`` if the label had to move away."""

    text: str
    at: np.ndarray
    target: np.ndarray | None = None
    colour: str = INK
    circle: bool = False
    left: bool = False
    bold: bool = False


def ground_patch(scene: Scene, ax: Axes) -> np.ndarray:
    """Draw a patch of the plane z = 0 under the robot; return the corner where the world frame is drawn."""
    low, high = scene.points[:, :2].min(axis=0) - 0.12 * scene.size, scene.points[:, :2].max(axis=0) + 0.12 * scene.size
    corners = [
        np.array([x, y, 0.0]) for x, y in ((low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1]))
    ]
    ax.fill(*zip(*(scene.flat(c) for c in corners)), fc="#f3f4f6", ec="#d1d5db", lw=0.8, zorder=0)
    scene.points = np.vstack([scene.points, corners])
    return corners[0]


def draw_box(ax: Axes, scene: Scene, corners: np.ndarray, colour: str, alpha: float) -> None:
    """Draw a box in outline, its faces tinted; corners are numbered by the bits x y z."""
    flat = corners @ scene.plane.T
    depth = scene.depth(corners.mean(axis=0))
    for face in ((0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)):
        ax.fill(*flat[list(face)].T, fc=colour, ec=colour, alpha=alpha, lw=0.7, zorder=1 + depth)


def draw_feet(ax: Axes, scene: Scene, robot: Robot, chosen: list[int] | None = None) -> None:
    from matplotlib.patches import Circle

    for k in range(robot.nf) if chosen is None else chosen:
        radius = max(robot.feet[k].radius, 0.006 * scene.size)
        ax.add_patch(Circle(tuple(scene.flat(scene.feet[k])), radius, fc="white", ec=INK, lw=1.4, zorder=5))


def draw_axis(ax: Axes, scene: Scene, body: int, half: float) -> None:
    joint = scene.robot.tree.bodies[body].joint
    assert joint is not None
    centre, axis = scene.poses[body].p, scene.poses[body].R @ joint.axis
    ends = scene.flat(centre - half * axis), scene.flat(centre + half * axis)
    ax.annotate(
        "",
        xy=tuple(ends[1]),
        xytext=tuple(ends[0]),
        zorder=6,
        arrowprops={
            "arrowstyle": "-|>",
            "color": AXIS_COLOUR,
            "lw": 1.3,
            "mutation_scale": 7,
            "shrinkA": 0,
            "shrinkB": 0,
        },
    )
    ax.plot(*scene.flat(centre), "o", color=INK, ms=3, zorder=6)


def draw_triad(ax: Axes, scene: Scene, X: Transform, length: float, name: str | None = None) -> list[np.ndarray]:
    """Draw a frame's three arrows, lettered when it has a name; return the arrows' ends on the sheet."""
    tips = [scene.flat(X.point(length * np.eye(3)[k])) for k in range(3)]
    origin = scene.flat(X.p)
    for k, (tip, colour) in enumerate(zip(tips, FRAME_COLOURS)):
        ax.annotate(
            "",
            xy=tuple(tip),
            xytext=tuple(origin),
            zorder=7,
            arrowprops={
                "arrowstyle": "-|>",
                "color": colour,
                "lw": 1.5,
                "mutation_scale": 8,
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
        if name is not None:
            x, y = tip + 0.2 * (tip - origin)
            ax.text(x, y, f"${'xyz'[k]}_{{{name}}}$", color=colour, fontsize=9, ha="center", va="center", zorder=8)
    return tips


def finish(ax: Axes, shown: np.ndarray, labels: list[Label], title: str) -> None:
    """Fit the sheet to what is shown, put the labels on it and move those apart that overlap."""
    low, high = shown.min(axis=0), shown.max(axis=0)
    page = ax.get_window_extent()
    half = 0.5 * np.maximum(high - low, 1e-9) + 0.07 * (high - low).max()
    half = max(half[0] / page.width, half[1] / page.height) * np.array([page.width, page.height])  # fill the page
    centre = (low + high) / 2
    ax.set(
        xlim=(centre[0] - half[0], centre[0] + half[0]), ylim=(centre[1] - half[1], centre[1] + half[1]), aspect="equal"
    )
    ax.set_axis_off()
    ax.set_title(title, fontsize=10, color=INK)
    texts = []
    for label in labels:
        style: dict[str, str | float] = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.85}
        if label.circle:
            style = {"boxstyle": "circle,pad=0.22", "fc": "white", "ec": INK, "lw": 0.8}
        x, y = label.at
        weight, align = "bold" if label.bold else "normal", "left" if label.left else "center"
        texts.append(
            ax.text(
                x,
                y,
                label.text,
                fontsize=8,
                color=label.colour,
                va="center",
                ha=align,
                zorder=10,
                bbox=style,
                fontweight=weight,
            )
        )
    _spread(ax, texts, [label.left for label in labels])
    for label, text in zip(labels, texts):
        target = label.at if label.target is None else label.target
        moved = float(np.linalg.norm(np.array(text.get_position()) - target)) > 0.03 * float((high - low).max())
        if label.target is not None or moved:
            ax.plot(*zip(target, text.get_position()), color="#9ca3af", lw=0.7, zorder=2)


def _spread(ax: Axes, texts: list[Text], only_up: list[bool], sweeps: int = 200) -> None:
    """Push overlapping texts apart, along the shorter overlap (columns of labels only up and down)."""
    figure = ax.figure
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    ax.apply_aspect()
    boxes = [text.get_window_extent(renderer) for text in texts]
    centre = np.array([[(b.x0 + b.x1) / 2, (b.y0 + b.y1) / 2] for b in boxes]).reshape(-1, 2)
    half = np.array([[b.width / 2 + 5, b.height / 2 + 4] for b in boxes]).reshape(-1, 2)
    start = centre.copy()
    for _ in range(sweeps):
        clear = True
        for i in range(len(texts)):
            for j in range(i):
                gap = centre[i] - centre[j]
                overlap = half[i] + half[j] - np.abs(gap)
                if (overlap > 0).all():
                    clear = False
                    k = 1 if only_up[i] or only_up[j] or overlap[1] < overlap[0] else 0
                    push = 0.51 * overlap[k] * (1.0 if gap[k] > 0 or (gap[k] == 0 and i < j) else -1.0)
                    centre[i, k] += push
                    centre[j, k] -= push
        if clear:
            break
    to_data = ax.transData.inverted()
    for text, move in zip(texts, centre - start):
        at = ax.transData.transform(text.get_position()) + move
        x, y = to_data.transform(at)
        text.set_position((x, y))
