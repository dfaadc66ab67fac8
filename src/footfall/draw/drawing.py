"""Drawings of a robot: Figs. 1-2 of de Paula et al. 2024, Figs. 1-3 of Adak et al., Fig. 5 of the DynaKat report.

``draw`` shows the whole robot with its body numbers and joint axes, one leg with its frames, and the connectivity
graph; ``draw_robot``, ``draw_leg`` and ``draw_tree`` give each alone. All return a matplotlib Figure (no window is
opened). The views are parallel projections drawn on flat axes, so that labels can be moved apart where they would
overlap.
"""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from footfall.draw.sketch import (
    AXIS_COLOUR,
    INK,
    Label,
    Scene,
    draw_axis,
    draw_box,
    draw_feet,
    draw_triad,
    finish,
    ground_patch,
)
from footfall.draw.style import new_figure
from footfall.robot.model.description import Robot
from footfall.spatial.transform import Transform

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LIMB_COLOURS = ("#1f77b4", "#d95f02", "#1b9e77", "#c2458f", "#8c6d31", "#5e6ad2")
TRUNK_COLOUR = "#6b7280"
VIEW = (-58.0, 20.0)  # direction of the viewer: azimuth and elevation [deg]; the robot faces right
_MANY = 6  # ends of branches


def draw(robot: Robot, q: np.ndarray | None = None, leg: str | None = None, view: tuple[float, float] = VIEW) -> Figure:
    """Draw the robot, one of its legs (the first unless named) and its tree on one sheet; ``q`` as in
    ``draw_robot``.
    """
    figure = new_figure(16, 6.9, layout=None)
    grid = figure.add_gridspec(
        1, 3, width_ratios=(1.2, 1.0, 0.9), left=0.015, right=0.985, bottom=0.02, top=0.88, wspace=0.06
    )
    q = _configuration(robot, q)
    _robot_view(figure.add_subplot(grid[0]), robot, q, view)
    _leg_view(figure.add_subplot(grid[1]), robot, q, _foot_index(robot, leg), view)
    _tree_view(figure.add_subplot(grid[2]), robot)
    figure.suptitle(f"{robot.name}: {robot.nv} degrees of freedom, {robot.mass:.4g} kg", fontsize=14, color=INK)
    return figure


def draw_robot(robot: Robot, q: np.ndarray | None = None, view: tuple[float, float] = VIEW) -> Figure:
    """Draw a robot: links, body numbers, joint axes, base and world frames.

    Args:
        robot: The robot.
        q: Configuration; the pose ``stand`` unless given, else all zero.
        view: Azimuth and elevation of the camera [deg].

    Returns:
        The figure.
    """
    figure = new_figure(9, 7, layout=None)
    _robot_view(figure.add_subplot(), robot, _configuration(robot, q), view)
    return figure


def draw_leg(
    robot: Robot, leg: str | None = None, q: np.ndarray | None = None, view: tuple[float, float] = VIEW
) -> Figure:
    """Draw one leg with the frame, the axis and the position of each joint.

    Args:
        robot: The robot.
        leg: Name of its foot; the first unless given.
        q: Configuration; the pose ``stand`` unless given, else all zero.
        view: Azimuth and elevation of the camera [deg].

    Returns:
        The figure.
    """
    figure = new_figure(7, 8, layout=None)
    _leg_view(figure.add_subplot(), robot, _configuration(robot, q), _foot_index(robot, leg), view)
    return figure


def draw_tree(robot: Robot) -> Figure:
    """Draw the kinematic tree with body numbers: Fig. 2 and eqs. (1)-(3) of de Paula et al. 2024.

    Args:
        robot: The robot.

    Returns:
        The figure.
    """
    figure = new_figure(8, 7, layout=None)
    _tree_view(figure.add_subplot(), robot)
    return figure


def card(robot: Robot) -> str:
    """Return HTML that shows a robot in a notebook: its dimensions, and the picture by ``draw_robot``."""
    limits = [a.torque_limit for a in robot.actuators if np.isfinite(a.torque_limit)]
    rows = {
        "robot": robot.name,
        "degrees of freedom": f"{robot.nv}: {'6 of the floating base, ' if robot.floating else ''}{robot.nj} joints",
        "bodies": f"{len(robot.tree.bodies)}, {robot.mass:.4g} kg",
        "feet": ", ".join(robot.foot_names) or "none",
        "largest motor torque": f"{max(limits):.4g} N m" if limits else "not limited",
        "poses": ", ".join(robot.poses) or "none",
        "notes": robot.notes,
    }
    left = 'style="text-align:left;vertical-align:top"'  # overrides the notebook's style
    cells = "".join(f"<tr><th {left}>{escape(k)}</th><td {left}>{escape(v)}</td></tr>" for k, v in rows.items() if v)
    picture = io.BytesIO()
    draw_robot(robot).savefig(picture, format="png", dpi=120, bbox_inches="tight", metadata={"Software": None})
    data = base64.b64encode(picture.getvalue()).decode("ascii")
    look = 'style="max-width:min(100%,36em);border-radius:4px"'
    return f'<table>{cells}</table><img {look} alt="{escape(robot.name)}" src="data:image/png;base64,{data}">'


# -- the three views ---------------------------------------------------------------------------------------------------
def _robot_view(ax: Axes, robot: Robot, q: np.ndarray, view: tuple[float, float]) -> None:
    scene = Scene(robot, q, view)
    limb = _limbs(robot)
    ground = ground_patch(scene, ax) if robot.floating else None
    for body, segments in enumerate(scene.segments):
        colour, thick = _colour(limb[body]), limb[body] is not None
        for box in scene.boxes[body]:
            draw_box(ax, scene, box, colour, 0.08 if thick else 0.13)
        for start, end in segments:
            a, b = scene.flat(start), scene.flat(end)
            ax.plot(
                *zip(a, b),
                color=colour,
                lw=4.0 if thick else 1.2,
                alpha=0.9 if thick else 0.6,
                solid_capstyle="round",
                zorder=3 + scene.depth(start),
            )
    draw_feet(ax, scene, robot)
    labels: list[Label] = []
    for body in range(1, len(scene.poses)):
        draw_axis(ax, scene, body, 0.045 * scene.size)
    for body in range(len(scene.poses)):
        aside = scene.size * np.array([-0.045, -0.03]) if body == 0 else np.zeros(2)
        labels.append(Label(text=str(body), at=scene.flat(scene.middle(body)) + aside, circle=True))
        joint = robot.tree.bodies[body].joint
        if joint is not None and limb[body] is None:
            at = scene.flat(scene.poses[body].p)
            labels.append(
                Label(text=joint.name, at=at + np.array([0, 0.17 * scene.size]), colour=AXIS_COLOUR, target=at)
            )
    for k, foot in enumerate(robot.feet):
        labels.append(
            Label(text=foot.name, at=scene.flat(scene.feet[k]) - [0, 0.055 * scene.size], colour=INK, bold=True)
        )
    draw_triad(ax, scene, scene.poses[0], 0.16 * scene.size, "0")
    if ground is not None:
        draw_triad(ax, scene, Transform(np.eye(3), ground), 0.12 * scene.size, "W")
    finish(ax, scene.shown(), labels, f"bodies and joint axes{_pose_name(robot, q)}")


def _leg_view(ax: Axes, robot: Robot, q: np.ndarray, foot: int, view: tuple[float, float]) -> None:
    scene = Scene(robot, q, view)
    if robot.nj == 0:
        ax.set_axis_off()
        ax.set_title("no joints", fontsize=10, color=INK)
        return
    tip = robot.tree.feet[foot] if robot.feet else len(scene.poses) - 1
    path = [b for b in robot.tree.support[tip] if _limbs(robot)[b] is not None] or list(robot.tree.support[tip])
    name = robot.feet[foot].name if robot.feet else robot.tree.bodies[tip].name
    points = [scene.poses[b].p for b in path]
    ends = [*points[1:], scene.feet[foot] if robot.feet else points[-1]]
    length = sum(float(np.linalg.norm(b - a)) for a, b in zip(points, ends)) or scene.size
    parent = robot.tree.parent[path[0]]
    if parent >= 0:
        root, first = scene.flat(scene.poses[parent].p), scene.flat(points[0])
        stub = first + (root - first) * min(1.0, 0.25 * length / max(float(np.linalg.norm(root - first)), 1e-9))
        ax.plot(*zip(stub, first), color=TRUNK_COLOUR, lw=5, alpha=0.5, ls=(0, (1.2, 0.8)))
    corners = []
    for a, b in zip(points, ends):
        ax.plot(*zip(scene.flat(a), scene.flat(b)), color=LIMB_COLOURS[0], lw=7, alpha=0.25, solid_capstyle="round")
    labels = []
    side = max(scene.flat(p)[0] for p in [*points, *ends]) + 0.15 * length
    for body in path:
        joint = robot.tree.bodies[body].joint
        assert joint is not None
        draw_axis(ax, scene, body, 0.16 * length)
        corners += draw_triad(ax, scene, scene.poses[body], 0.13 * length)
        at = scene.flat(scene.poses[body].p)
        position = ", ".join(f"{v:.4g}" for v in robot.tree.bodies[body].X_PJ.p + 0.0)
        text = f"{joint.name}  (body {body})\naxis {_axis_words(joint.axis)}\nat ({position}) m"
        labels.append(Label(text=text, at=np.array([side, at[1]]), target=at, left=True))
    if robot.feet:
        radius = robot.feet[foot].radius
        draw_feet(ax, scene, robot, [foot])
        at = scene.flat(scene.feet[foot])
        labels.append(
            Label(
                text=f"foot {name}\nradius {radius:.4g} m", at=np.array([side, at[1]]), target=at, left=True, bold=True
            )
        )
    shown = np.array([*corners, *(scene.flat(p) for p in [*points, *ends])])
    shown = np.vstack([shown, [side + 0.52 * length, shown[:, 1].mean()]])
    finish(ax, shown, labels, f"leg {name}: frames (x red, y green, z blue)")


def _tree_view(ax: Axes, robot: Robot) -> None:
    tree = robot.tree
    at, limb, n = _layout(tree.children), _limbs(robot), len(tree.bodies)
    deepest = min(y for _, y in at)
    beside = sum(not below for below in tree.children) <= _MANY  # with many branches, names go below the bodies
    for i in range(1, n):
        (x0, y0), (x1, y1) = at[tree.parent[i]], at[i]
        ax.plot([x0, x1], [y0, y1], color=INK, lw=1.1, zorder=1)
        name = tree.joint_names[i - 1]
        position = (x1 + 0.19, y1) if beside else (x1, y1 - 0.2)
        ha, va = ("left", "center") if beside else ("center", "top")
        ax.text(*position, name, fontsize=7.5 if beside else 5.5, color=AXIS_COLOUR, ha=ha, va=va)
    for i, (x, y) in enumerate(at):
        ax.plot(x, y, "o", ms=18, color=_colour(limb[i]), mec="white", zorder=4)
        ax.text(x, y, str(i), fontsize=9, color="white", ha="center", va="center_baseline", zorder=5, fontweight="bold")
    for k, body in enumerate(tree.feet):
        x, y = at[body]
        ax.text(
            x,
            y - (0.38 if beside else 0.5),
            f"foot {robot.feet[k].name}",
            fontsize=8,
            ha="center",
            va="top",
            color=INK,
            fontweight="bold",
        )
    base = "joint 0: floating base, 6 DOF" if robot.floating else "base fixed to the world"
    ax.text(at[0][0], at[0][1] + 0.42, f"{tree.bodies[0].name}   ({base})", fontsize=8, ha="center", color=INK)
    low = deepest - 0.8
    for block in range(0, n - 1, 16):
        lines = [("i", range(1, n)), ("PRED", tree.pred), ("SUCC", tree.succ), ("λ", tree.parent[1:])]
        text = "\n".join(
            f"{title:<5}" + "".join(f"{v:>3}" for v in list(row)[block : block + 16]) for title, row in lines
        )
        centre = (min(x for x, _ in at) + max(x for x, _ in at)) / 2 + 0.15
        ax.text(centre, low, text, family="monospace", fontsize=7.8, ha="center", va="top", color=INK, linespacing=1.5)
        low -= 1.15
    ax.set_xlim(min(x for x, _ in at) - 0.55, max(x for x, _ in at) + 0.85)
    ax.set_ylim(low, 0.8)
    ax.set_axis_off()
    ax.set_title("connectivity graph: joint i carries body i", fontsize=10, color=INK)


# -- helpers ----------------------------------------------------------------------------------------------------------
def _colour(limb: int | None) -> str:
    return TRUNK_COLOUR if limb is None else LIMB_COLOURS[limb % len(LIMB_COLOURS)]


def _limbs(robot: Robot) -> list[int | None]:
    """Return for each body the number of its only foot (or leaf) below, None for the trunk and spine."""
    tree = robot.tree
    ends = tree.feet or tuple(i for i, children in enumerate(tree.children) if not children)
    owners = [[k for k, end in enumerate(ends) if end in tree.subtree[i]] for i in range(len(tree.bodies))]
    return [o[0] if len(o) == 1 and i > 0 else None for i, o in enumerate(owners)]


def _layout(children: tuple[tuple[int, ...], ...]) -> list[tuple[float, float]]:
    """Return positions of the bodies in the graph: leaves side by side, a parent over the middle of its children."""
    at: list[tuple[float, float]] = [(0.0, 0.0)] * len(children)
    leaves = 0

    def visit(body: int, depth: int) -> float:
        nonlocal leaves
        if children[body]:
            xs = [visit(child, depth + 1) for child in children[body]]
            x = (xs[0] + xs[-1]) / 2
        else:
            x, leaves = 1.15 * leaves, leaves + 1
        at[body] = (x, -1.0 * depth)
        return x

    visit(0, 0)
    return at


def _axis_words(axis: np.ndarray) -> str:
    for k in range(3):
        if abs(axis[k]) == 1.0:
            return f"{'+' if axis[k] > 0 else '−'}{'xyz'[k]}"
    return "(" + ", ".join(f"{v:.3g}" for v in axis) + ")"


def _configuration(robot: Robot, q: np.ndarray | None) -> np.ndarray:
    if q is None:
        return robot.state("stand" if "stand" in robot.poses else None)[0]
    return np.asarray(q, dtype=float)


def _pose_name(robot: Robot, q: np.ndarray) -> str:
    return next((f", pose {name}" for name in robot.poses if np.array_equal(q, robot.state(name)[0])), "")


def _foot_index(robot: Robot, leg: str | None) -> int:
    return 0 if leg is None else robot.foot_index(leg)
