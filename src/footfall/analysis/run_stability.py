"""Stability margins along a run: the margins of ``gait.stability`` row by row, and as figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.draw.notebook import Summarised
from footfall.draw.style import COLORS, GREY, PALE, new_figure, style
from footfall.dynamics.momentum import momentum
from footfall.errors import InputError
from footfall.gait.stability import (
    capture_point,
    center_of_pressure,
    energy_margin,
    static_margin,
    support_polygon,
    wide_stability_margin,
    zero_moment_point,
)
from footfall.kinematics.forward import center_of_mass, foot_positions
from footfall.recording.recording import Recording
from footfall.spatial.gravity import GRAVITY, strength
from nptrace.array_types import Float

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROWS = 800  # rows of a recording that are used by default


@dataclass(frozen=True, repr=False, kw_only=True)
class Stability(Summarised):
    """Stability margins and points over time."""

    time: Float[ndarray, "T"]
    center: Float[ndarray, "T 3"]  # centre of mass [m]
    feet: Float[ndarray, "T nf 3"]
    contact: ndarray
    static: Float[ndarray, "T"]  # margin of the support polygon [m]
    wide: Float[ndarray, "T"]  # margin of all feet [m]
    energy: Float[ndarray, "T"]  # margin [J]
    pressure: Float[ndarray, "T 2"]  # centre of pressure of the recorded forces [m]
    zmp: Float[ndarray, "T 2"]  # ZMP from the motion of the centre of mass [m]
    capture: Float[ndarray, "T 2"]  # [m]

    def _summary(self) -> tuple[str, list[tuple[str, str]]]:
        least = [
            (f"least {name} margin", f"{np.nanmin(values):.3g} {unit}" if np.isfinite(values).any() else "none")
            for name, values, unit in (
                ("static", self.static, "m"),
                ("wide", self.wide, "m"),
                ("energy", self.energy, "J"),
            )
        ]
        return f"{len(self.time)} times from {self.time[0]:g} to {self.time[-1]:g} s", least


def stability(rec: Recording, rows: int = _ROWS) -> Stability:
    """Return stability margins of a run.

    The ZMP is computed from the motion: differences of the linear and angular momentum between evaluated rows. The
    force on each foot acts below its center.

    Args:
        rec: The recording.
        rows: Number of evenly spaced rows that are evaluated.

    Returns:
        Margins, ZMP, centre of pressure and capture point over time.
    """
    if len(rec) < 3:
        raise InputError(f"margins need at least three rows, the recording has {len(rec)}")
    robot = rec.robot
    at = np.unique(np.linspace(0, len(rec) - 1, min(rows, len(rec))).astype(int))
    time, contact, forces = rec.time[at], rec.contact[at], rec.force[at]
    center = np.array([center_of_mass(robot, q) for q in rec.q[at]])
    feet = np.array([foot_positions(robot, q) for q in rec.q[at]])
    gravity = float(strength(rec.meta.get("gravity", GRAVITY)))
    moving = np.array([momentum(robot, q, v) for q, v in zip(rec.q[at], rec.v[at])])
    velocity, rates = moving[:, 3:] / robot.mass, np.gradient(moving, time, axis=0)
    return Stability(
        time=time,
        center=center,
        feet=feet,
        contact=contact,
        static=np.array([static_margin(f, c, p) for f, c, p in zip(feet, contact, center)]),
        wide=np.array([wide_stability_margin(f, p) for f, p in zip(feet, center)]),
        energy=np.array([energy_margin(f, c, p, robot.mass, gravity) for f, c, p in zip(feet, contact, center)]),
        pressure=np.array([center_of_pressure(f, force) for f, force in zip(feet, forces)]),
        zmp=np.array(
            [zero_moment_point(p, k[3:] / robot.mass, k[:3], robot.mass, gravity) for p, k in zip(center, rates)]
        ),
        capture=np.array([capture_point(p, v, gravity) for p, v in zip(center, velocity)]),
    )


def plot_stability(rec: Recording, rows: int = _ROWS) -> Figure:
    """Plot stability margins over time, with ZMP, centre of pressure and capture point.

    Args:
        rec: The recording.
        rows: Number of evenly spaced rows that are evaluated.

    Returns:
        The figure.
    """
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
    """Plot the support polygon, the polygon of all feet and the centre of mass from above.

    Args:
        rec: The recording.
        times: Times of the panels [s]; four in the second half unless given.

    Returns:
        The figure.
    """
    start, end = float(rec.time[0]), float(rec.time[-1])
    chosen = list(np.linspace(start + 0.5 * (end - start), end, 8)[:4]) if times is None else list(times)
    if not chosen or not all(start <= t <= end for t in chosen):
        raise InputError(f"times of support polygons must be between {start:g} and {end:g} s, got {chosen}")
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
                (support_polygon(local), PALE, GREY),
                (support_polygon(local[contact]), "#cfe3f2", COLORS[0]),
            ):
                axis.fill(-polygon[:, 1], polygon[:, 0], facecolor=face, edgecolor=edge, lw=1.2)
            for foot, (x, y) in enumerate(local):
                down = bool(contact[foot])
                axis.plot(-y, x, "o", ms=6, color=COLORS[0], mfc=COLORS[0] if down else "white")
                axis.annotate(
                    rec.robot.foot_names[foot],
                    (-y, x),
                    (0, 6 if x > 0 else -13),
                    ha="center",
                    fontsize=7.5,
                    textcoords="offset points",
                )
            axis.plot(0.0, 0.0, "+", ms=10, mew=1.8, color=COLORS[1])
            margins = static_margin(feet, contact, center), wide_stability_margin(feet, center)
            axis.set_title(f"{t:.2f} s\nsupport {1e3 * margins[0]:.0f}, wide {1e3 * margins[1]:.0f} mm", fontsize=8.5)
            axis.set_aspect("equal")
            axis.set_xlabel("to the right [m]")
            axis.margins(0.2)
        axes[0].set_ylabel("forward [m]")
        figure.suptitle(f"{rec.robot.name}: feet from above, + is the centre of mass", fontsize=10, x=0.01, ha="left")
        return figure
