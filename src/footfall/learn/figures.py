"""Figures of a training and of the learned gait: the curve, and stills of one cycle from the side."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from footfall.draw.style import COLORS, GREY, PALE, new_figure, style
from footfall.errors import InputError
from footfall.gait.pattern import LEGS, Gait
from footfall.kinematics.forward import body_poses, foot_positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from footfall.recording.recording import Recording


def read_curve(path: str | Path) -> list[dict[str, float]]:
    """Return the rows of a curve that ``footfall train`` wrote."""
    try:
        with Path(path).open(newline="") as file:
            return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    except OSError as error:
        raise InputError(f"cannot read the curve {path}: {error.strerror}") from None
    except (TypeError, ValueError, csv.Error):
        raise InputError(f"{path} is not a learning curve") from None


def curve_figure(curve: Sequence[Mapping[str, float]]) -> Figure:
    """Plot reward, speed error, score (for walking: feet in time with the clock) and falls over training time."""
    if not curve:
        raise InputError("a learning curve needs at least one row")
    panels = (
        ("reward", "reward per tick"),
        ("forward_error", "forward speed error [m/s]"),
        ("score", "score"),
        ("falls", "falls per robot and second"),
    )
    x = [row["seconds"] for row in curve]
    with style():
        figure = new_figure(8.4, 4.6)
        for axis, (key, title), color in zip(figure.subplots(2, 2, sharex=True).ravel(), panels, COLORS):
            axis.plot(x, [row[key] for row in curve], color=color)
            axis.set_title(title, loc="left")
            axis.set_xlim(0.0, x[-1])
            if key != "reward":
                axis.set_ylim(bottom=0.0)
        for axis in figure.axes[2:]:
            axis.set_xlabel("training time [s]")
        return figure


def stills_figure(rec: Recording, gait: Gait, after: float = 5.0, count: int = 8) -> Figure:
    """Draw a cycle of a gait from the left side: left legs in colour, right legs grey, stance feet filled."""
    first = gait.period * np.ceil(after / gait.period)
    times = first + gait.period * np.arange(count) / count
    if not len(rec) or times[-1] > rec.time[-1]:
        raise InputError(f"the recording ends before {times[-1]:.2f} s, where the last still is taken")
    with style():
        figure = new_figure(10.5, 1.0 + 1.55 * (count // 4))
        for axis, t in zip(figure.subplots(-(-count // 4), 4, squeeze=False).ravel(), times):
            _still(axis, rec, int(np.searchsorted(rec.time, t - 1e-9)))
            axis.set_title(f"{(t - first) / gait.period:.3g} of a cycle", loc="left", color=GREY)
        return figure


def _still(axis: Axes, rec: Recording, row: int) -> None:
    robot, q = rec.robot, rec.q[row]
    poses, feet, tree = body_poses(robot, q), foot_positions(robot, q), robot.tree
    here = q[0]
    axis.axhspan(-0.05, 0.0, color=PALE)
    for leg in ("RF", "RH", "LF", "LH"):  # the far side first
        k = robot.foot_names.index(leg)
        near = leg.startswith("L")
        color: str = COLORS[LEGS.index(leg)] if near else "#b4bac2"
        at, chain = tree.feet[k], [feet[k]]
        while at > 0:
            chain.append(poses[at].p)
            at = tree.parent[at]
        path = np.array(chain)
        axis.plot(path[:, 0] - here, path[:, 2], color=color, linewidth=3.0 if near else 2.2, solid_capstyle="round")
        stands = bool(rec.contact[row, k])
        axis.plot(
            feet[k, 0] - here, feet[k, 2], "o", color=color, markersize=6, markerfacecolor=color if stands else "w"
        )
    link = robot.link(robot.trunk)
    length, _, height = link.box or (0.3, 0.1, 0.1)
    corners = np.array(
        [(s * length / 2, 0.0, z * height / 2) for s, z in ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))]
    )
    X_WT = poses[0] @ tree.frames[robot.trunk][1]
    trunk = np.array([X_WT.point(link.com + corner) for corner in corners])
    axis.fill(trunk[:, 0] - here, trunk[:, 2], color="#5b6673", alpha=0.55, linewidth=0)
    axis.set_aspect("equal")
    axis.set_xlim(-0.41, 0.34)
    axis.set_ylim(-0.03, 0.40)
    axis.set_xticks([])
    axis.set_yticks([])
    for side in axis.spines.values():
        side.set_visible(False)
