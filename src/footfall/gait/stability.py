"""How far a robot is from tipping over: support polygon and its margins, ZMP, capture point.

The Wide Stability Margin is that of the DynaKat report, after Kimura, Fukuoka, Cohen 2007: the distance of the
projected centre of mass from the nearest side of the polygon of the feet. Erratum: the report speaks of contact points;
the margin is defined over the projections of *all four* feet, touching or not ("wide"), and beside it stands the margin
of the support polygon, of the touching feet alone. The energy margin is that of Messuri and Klein 1985.

Margins are positive inside and negative outside. The ground is level; points are given by x and y [m].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.dynamics.momentum import momentum
from footfall.errors import InputError
from footfall.gravity import GRAVITY, STANDARD, strength
from footfall.kinematics.forward import center_of_mass, foot_positions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from footfall.simulate.recording import Recording

_ROWS = 800  # of a recording that are looked at, unless asked for more


# -- polygons ----------------------------------------------------------------------------------------------------------
def support_polygon(points: Float[ndarray, "n d"] | Sequence[Any]) -> Float[ndarray, "m 2"]:
    """Corners of the convex hull of points on the ground, anticlockwise; fewer than three if they lie in line.

    Andrew's monotone chain. Only x and y count: the points are projected.
    """
    if not len(points):
        return np.zeros((0, 2))
    array = np.asarray(points, dtype=float).reshape(len(points), -1)
    if array.shape[1] < 2 or not np.isfinite(array).all():
        raise InputError(f"points of a support polygon must be finite, with x and y, got {array.tolist()}")
    unique = sorted({(float(p[0]), float(p[1])) for p in array})
    if len(unique) < 3:
        return np.array(unique).reshape(-1, 2)
    scale = max(math.hypot(*np.ptp(np.array(unique), axis=0)), 1e-300) ** 2

    def chain(ordered: list[tuple[float, float]]) -> list[tuple[float, float]]:
        out: list[tuple[float, float]] = []
        for p in ordered:
            while len(out) > 1 and _cross(out[-2], out[-1], p) <= 1e-12 * scale:
                out.pop()
            out.append(p)
        return out[:-1]

    return np.array(chain(unique) + chain(unique[::-1]))


def polygon_margin(polygon: Float[ndarray, "m 2"], point: Float[ndarray, "2"]) -> float:
    """Distance of a point from the nearest side [m]: positive inside, negative outside; never positive of a line.

    No polygon at all (no foot) gives minus infinity.
    """
    x, y = float(point[0]), float(point[1])
    corners = [tuple(map(float, p)) for p in polygon]
    if not corners:
        return -math.inf
    if len(corners) == 1:
        return -math.hypot(x - corners[0][0], y - corners[0][1])
    sides = list(zip(corners, corners[1:] + corners[:1])) if len(corners) > 2 else [(corners[0], corners[1])]
    nearest = min(_distance_to_side(a, b, (x, y)) for a, b in sides)
    area = sum(a[0] * b[1] - b[0] * a[1] for a, b in sides)  # twice; below zero for corners in clockwise order
    inside = len(corners) > 2 and area != 0 and all(area * _cross(a, b, (x, y)) >= 0 for a, b in sides)
    return nearest if inside else -nearest


def static_margin(feet: Float[ndarray, "n 3"], contact: Sequence[Any], center: Float[ndarray, "3"]) -> float:
    """Margin of the projected centre of mass in the polygon of the feet that touch [m]."""
    return polygon_margin(support_polygon(_touching(feet, contact)), center[:2])


def wide_stability_margin(feet: Float[ndarray, "n 3"], center: Float[ndarray, "3"]) -> float:
    """Margin of the projected centre of mass in the polygon of all feet, touching or not [m]."""
    return polygon_margin(support_polygon(feet), center[:2])


def energy_margin(
    feet: Float[ndarray, "n 3"], contact: Sequence[Any], center: Float[ndarray, "3"], mass: float,
    gravity: float = STANDARD,
) -> float:  # fmt: skip
    """Least energy that tips the robot over a side of its support polygon [J]: Messuri and Klein 1985.

    The centre of mass turns about the side, at the distance r from it; it must rise from its height h over that side
    to r. Negative where it is beyond the side already; of one or two feet at most zero.
    """
    touching = _touching(feet, contact)
    polygon = support_polygon(touching)
    if len(polygon) < 2:
        return 0.0 if len(polygon) and polygon_margin(polygon, center[:2]) == 0 else -math.inf
    level = {(float(p[0]), float(p[1])): float(p[2]) for p in touching}
    corners = [(float(p[0]), float(p[1])) for p in polygon]
    sides = list(zip(corners, corners[1:] + corners[:1])) if len(corners) > 2 else [(corners[0], corners[1])]
    inside = polygon_margin(polygon, center[:2]) >= 0
    rises = []
    for a, b in sides:
        p, q = np.array([*a, level[a]]), np.array([*b, level[b]])
        along = (q - p) / np.linalg.norm(q - p)
        arm = (center - p) - along * ((center - p) @ along)
        up = np.array([0.0, 0.0, 1.0]) - along * along[2]  # the steepest way round the side
        rises.append(mass * gravity * (float(np.linalg.norm(arm)) * float(np.linalg.norm(up)) - float(arm[2])))
    if inside and len(corners) > 2:
        return min(rises)
    beyond = [rise for rise, (a, b) in zip(rises, sides) if len(corners) < 3 or _cross(a, b, center) < 0]
    return -max(beyond)


# -- points ------------------------------------------------------------------------------------------------------------
def center_of_pressure(points: Float[ndarray, "n 3"], forces: Float[ndarray, "n 3"]) -> Float[ndarray, "2"]:
    """Where the ground's normal forces act [m]: NaN where there are none."""
    normal = forces[:, 2]
    total = float(normal.sum())
    return points[:, :2].T @ normal / total if total > 0 else np.full(2, np.nan)


def zero_moment_point(
    center: Float[ndarray, "3"], acceleration: Float[ndarray, "3"], momentum_rate: Float[ndarray, "3"] | None = None,
    mass: float = 1.0, gravity: float = STANDARD,
) -> Float[ndarray, "2"]:  # fmt: skip
    """Where on the ground z = 0 gravity and inertia make no horizontal moment [m].

    x = c_x - (c_z c̈_x + L̇_y / m) / (c̈_z + g),  y = c_y - (c_z c̈_y - L̇_x / m) / (c̈_z + g); ``momentum_rate`` is L̇ about
    the centre of mass [N m]. In flight (c̈_z = -g) there is none: NaN.
    """
    L = np.zeros(3) if momentum_rate is None else np.asarray(momentum_rate)
    lift = acceleration[2] + gravity
    if lift <= 1e-9 * gravity:
        return np.full(2, np.nan)
    return np.array(
        [
            center[0] - (center[2] * acceleration[0] + L[1] / mass) / lift,
            center[1] - (center[2] * acceleration[1] - L[0] / mass) / lift,
        ]
    )


def capture_point(
    center: Float[ndarray, "3"], velocity: Float[ndarray, "3"], gravity: float = STANDARD
) -> Float[ndarray, "2"]:
    """Where the robot would have to step to come to rest over it [m]: c + ċ √(z / g), a linear inverted pendulum."""
    if center[2] <= 0:
        raise InputError(f"a capture point needs a centre of mass above the ground, got {float(center[2])} m")
    return center[:2] + velocity[:2] * math.sqrt(center[2] / gravity)


# -- of a recording ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Stability:
    """Margins and points along a recording."""

    time: Float[ndarray, "T"]
    center: Float[ndarray, "T 3"]  # of mass [m]
    feet: Float[ndarray, "T nf 3"]
    contact: ndarray
    static: Float[ndarray, "T"]  # margin of the support polygon [m]
    wide: Float[ndarray, "T"]  # margin of all feet [m]
    energy: Float[ndarray, "T"]  # margin [J]
    pressure: Float[ndarray, "T 2"]  # centre of pressure of the recorded forces [m]
    zmp: Float[ndarray, "T 2"]  # by the motion of the centre of mass [m]
    capture: Float[ndarray, "T 2"]  # [m]


def stability(rec: Recording, rows: int = _ROWS) -> Stability:
    """Every margin at up to ``rows`` evenly spaced rows.

    The ZMP comes from the motion alone: differences over those rows of the linear and angular momentum. Every foot's
    force acts under its centre.
    """
    if len(rec) < 3:
        raise InputError(f"margins need three rows or more, the recording has {len(rec)}")
    robot = rec.robot
    at = np.unique(np.linspace(0, len(rec) - 1, min(rows, len(rec))).astype(int))
    time, contact, forces = rec.time[at], rec.contact[at], rec.force[at]
    center = np.array([center_of_mass(robot, q) for q in rec.q[at]])
    feet = np.array([foot_positions(robot, q) for q in rec.q[at]])
    gravity = float(strength(rec.meta.get("gravity", GRAVITY)))
    moving = np.array([momentum(robot, q, v) for q, v in zip(rec.q[at], rec.v[at])])
    velocity, rates = moving[:, 3:] / robot.mass, np.gradient(moving, time, axis=0)
    return Stability(
        time, center, feet, contact,
        np.array([static_margin(f, c, p) for f, c, p in zip(feet, contact, center)]),
        np.array([wide_stability_margin(f, p) for f, p in zip(feet, center)]),
        np.array([energy_margin(f, c, p, robot.mass, gravity) for f, c, p in zip(feet, contact, center)]),
        np.array([center_of_pressure(f, force) for f, force in zip(feet, forces)]),
        np.array(
            [zero_moment_point(p, k[3:] / robot.mass, k[:3], robot.mass, gravity) for p, k in zip(center, rates)]
        ),
        np.array([capture_point(p, v, gravity) for p, v in zip(center, velocity)]),
    )  # fmt: skip


# -- pieces ------------------------------------------------------------------------------------------------------------
def _touching(feet: Float[ndarray, "n 3"], contact: Sequence[Any]) -> Float[ndarray, "m 3"]:
    array = np.asarray(feet, dtype=float)
    if len(contact) != len(array):
        raise InputError(f"contact must say of every foot whether it touches: {len(array)} feet, got {len(contact)}")
    return array[np.asarray(contact, dtype=bool)]


def _cross(a: Sequence[float], b: Sequence[float], p: Any) -> float:
    """Twice the area of the triangle a, b, p: positive where p is to the left of the line from a to b."""
    return (b[0] - a[0]) * (float(p[1]) - a[1]) - (b[1] - a[1]) * (float(p[0]) - a[0])


def _distance_to_side(a: Sequence[float], b: Sequence[float], p: Sequence[float]) -> float:
    dx, dy = b[0] - a[0], b[1] - a[1]
    along = min(max(((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / (dx * dx + dy * dy), 0.0), 1.0)
    return math.hypot(p[0] - a[0] - along * dx, p[1] - a[1] - along * dy)


# -- figures -----------------------------------------------------------------------------------------------------------
def plot_stability(rec: Recording, rows: int = _ROWS) -> Figure:
    """Margins over time, and ZMP, centre of pressure and capture point beside the centre of mass."""
    from footfall.gait.drawing import COLORS, GREY, new_figure, style

    found = stability(rec, rows)
    with style():
        figure = new_figure(9.0, 6.6)
        margin, energy, forward, side = figure.subplots(4, 1, sharex=True)
        margin.plot(found.time, 1e3 * found.wide, color=COLORS[0], label="wide (all feet)")
        margin.plot(found.time, 1e3 * found.static, color=COLORS[1], label="support polygon")
        margin.set_ylabel("margin [mm]")
        low = max(float(1e3 * np.percentile(found.static, 2)), -150.0)
        margin.set_ylim(min(1.2 * low, -10.0), 1.25e3 * float(found.wide.max()))
        shown = np.where(np.isfinite(found.energy), found.energy, np.nan)
        energy.plot(found.time, shown, color=COLORS[1], label="energy margin, support polygon")
        energy.set_ylabel("energy [J]")
        for axis in (margin, energy):
            axis.axhline(0.0, color=GREY, lw=0.8)
        for axis, k, name in ((forward, 0, "x"), (side, 1, "y")):
            axis.plot(
                found.time, found.pressure[:, k] - found.center[:, k], color=COLORS[2], label="centre of pressure"
            )
            axis.plot(found.time, found.zmp[:, k] - found.center[:, k], color=COLORS[3], lw=0.8, label="ZMP")
            axis.plot(found.time, found.capture[:, k] - found.center[:, k], color=COLORS[5], label="capture point")
            axis.set_ylabel(f"{name} from CoM [m]")
            spread = np.nanpercentile(np.abs(found.pressure[:, k] - found.center[:, k]), 98)
            axis.set_ylim(-1.6 * spread - 0.01, 1.6 * spread + 0.01)
        for axis in (margin, energy, forward):
            axis.legend(loc="lower right", bbox_to_anchor=(1.0, 0.96), ncols=3, borderaxespad=0.1)
        side.set_xlabel("time [s]")
        side.set_xlim(found.time[0], found.time[-1])
        figure.suptitle(f"{rec.robot.name}: stability", fontsize=11, x=0.01, ha="left")
        return figure


def plot_support(rec: Recording, times: Sequence[float] | None = None) -> Figure:
    """The support polygon and the polygon of all feet from above, at a few times, with the centre of mass."""
    from footfall.gait.drawing import COLORS, GREY, PALE, new_figure, style

    start, end = float(rec.time[0]), float(rec.time[-1])
    chosen = list(np.linspace(start + 0.5 * (end - start), end, 8)[:4]) if times is None else list(times)
    if not chosen or not all(start <= t <= end for t in chosen):
        raise InputError(f"times of support polygons must lie between {start:g} and {end:g} s, got {chosen}")
    with style():
        figure = new_figure(1.75 * len(chosen) + 0.7, 3.3)
        axes = figure.subplots(1, len(chosen), sharex=True, sharey=True, squeeze=False)[0]
        for axis, t in zip(axes, chosen):
            row = min(int(np.searchsorted(rec.time, t)), len(rec) - 1)
            q, contact = rec.q[row], rec.contact[row]
            yaw = float(rec.trunk_euler()[row, 0])
            turn = np.array([[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]])
            feet, center = foot_positions(rec.robot, q), center_of_mass(rec.robot, q)
            local = (feet[:, :2] - center[:2]) @ turn.T  # heading up the page
            for polygon, face, edge in (
                (support_polygon(local), PALE, GREY), (support_polygon(local[contact]), "#cfe3f2", COLORS[0]),
            ):  # fmt: skip
                axis.fill(-polygon[:, 1], polygon[:, 0], facecolor=face, edgecolor=edge, lw=1.2)
            for foot, (x, y) in enumerate(local):
                down = bool(contact[foot])
                axis.plot(-y, x, "o", ms=6, color=COLORS[0], mfc=COLORS[0] if down else "white")
                axis.annotate(rec.robot.foot_names[foot], (-y, x), (0, 6 if x > 0 else -13), ha="center", fontsize=7.5,
                              textcoords="offset points")  # fmt: skip
            axis.plot(0.0, 0.0, "+", ms=10, mew=1.8, color=COLORS[1])
            margins = static_margin(feet, contact, center), wide_stability_margin(feet, center)
            axis.set_title(f"{t:.2f} s\nsupport {1e3 * margins[0]:.0f}, wide {1e3 * margins[1]:.0f} mm", fontsize=8.5)
            axis.set_aspect("equal")
            axis.set_xlabel("to the right [m]")
            axis.margins(0.2)
        axes[0].set_ylabel("forward [m]")
        figure.suptitle(f"{rec.robot.name}: feet from above, + is the centre of mass", fontsize=10, x=0.01, ha="left")
        return figure
