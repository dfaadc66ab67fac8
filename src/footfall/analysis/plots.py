"""Figures of recordings, alone or overlaid: trunk (Fig. 5 of de Paula et al. 2024), contact (Fig. 6), torque, joints,
energy.

``plot(rec, "trunk")`` and ``plot_compare({"footfall": rec, "MuJoCo": other}, "trunk")`` return a matplotlib Figure and
open no window; ``between=(t0, t1)`` [s] selects an interval. Units are SI, except for angles, which are drawn in
degrees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall import hints
from footfall.draw.style import COLORS, Dashes, new_figure, style
from footfall.errors import InputError, unknown
from footfall.robot.model.description import Robot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from footfall.recording.recording import Recording

Runs = dict[str, "Recording"]
_DASHES: tuple[Dashes, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))


def plot(
    rec: Recording,
    kind: str = "trunk",
    *others: Recording,
    between: tuple[float, float] | None = None,
    labels: Sequence[str] | None = None,
) -> Figure:
    """Plot one recording, with others laid over it."""
    if not isinstance(kind, str):
        raise InputError(f"the kind of a plot must be one of {', '.join(_KINDS)}, got {kind!r}")
    runs = (rec, *others)
    for other in others:
        if not isinstance(other, type(rec)):
            raise InputError(f"only a Recording can be overlaid on a plot, got {type(other).__name__}")
    names = [""] if not others and labels is None else _labels(runs) if labels is None else list(map(str, labels))
    if len(set(names)) != len(runs):
        raise InputError(f"a plot of {len(runs)} recordings needs as many labels, all different, got {names}")
    return plot_compare(dict(zip(names, runs)), kind, between)


def plot_compare(
    recordings: Mapping[str, Recording], kind: str = "trunk", between: tuple[float, float] | None = None
) -> Figure:
    """Plot recordings of the same robot over each other, by label."""
    if kind not in _KINDS:
        if kind in hints.PLOTS:
            raise InputError(f"there is no plot {kind!r}: it is {hints.PLOTS[kind]!r}")
        raise unknown("plot", kind, _KINDS)
    if not recordings or len(recordings) > len(_DASHES):
        raise InputError(f"a plot shows 1 to {len(_DASHES)} recordings, got {len(recordings)}")
    runs = {name: rec.between(*between) if between else rec for name, rec in recordings.items()}
    first, *others = runs.values()
    for other in others:
        if other.robot.joint_names != first.robot.joint_names or other.robot.foot_names != first.robot.foot_names:
            raise InputError(f"robots '{first.robot.name}' and '{other.robot.name}' differ in their joints or feet")
    with style():
        return _KINDS[kind](runs)


# -- the kinds ---------------------------------------------------------------------------------------------------------
def _trunk(runs: Runs) -> Figure:
    figure = new_figure(9.0, 4.6)
    axes = figure.subplots(2, 3, sharex=True)
    titles = (("x, forward", "y, left", "z, up"), ("yaw ψ", "pitch θ", "roll φ"))
    for index, (name, rec) in enumerate(runs.items()):
        angles = np.degrees(np.unwrap(rec.trunk_euler(), axis=0))
        for row, values in enumerate((rec.trunk_position, angles)):
            for column in range(3):
                axes[row, column].plot(
                    rec.time, values[:, column], color=COLORS[index], linestyle=_DASHES[index], label=name
                )
    for row in range(2):
        for column in range(3):
            axes[row, column].set_title(titles[row][column])
        axes[row, 0].set_ylabel(("position [m]", "angle (ZYX) [deg]")[row])
    _finish(figure, axes[1], runs, _title(runs, "trunk position and orientation"))
    if len(runs) > 1:
        _legend_above(figure, axes[0, 0])
    return figure


def _contact(runs: Runs) -> Figure:
    robot = _robot(runs)
    if not robot.nf:
        raise InputError(f"robot '{robot.name}' has no feet, which a contact plot needs")
    figure = new_figure(9.0, 1.0 + 0.16 * robot.nf * (len(runs) + 1) + 1.15 * robot.nf)
    heights = [0.28 * (len(runs) + 1) / 2 * robot.nf / 1.15, *[1.0] * robot.nf]
    axes = figure.subplots(robot.nf + 1, 1, sharex=True, gridspec_kw={"height_ratios": heights})
    _bars(axes[0], runs)
    forces = [rec.force_mean[:, :, 2] for rec in runs.values()]
    top = max(float(f.max(initial=1.0, where=np.isfinite(f))) for f in forces)  # a run may have diverged
    for foot, axis in enumerate(axes[1:]):
        for index, (name, rec) in enumerate(runs.items()):
            if len(runs) == 1:
                for start, end in spans(rec.time, rec.contact[:, foot]):
                    axis.axvspan(start, end, color=_foot_color(foot), alpha=0.13, linewidth=0)
            color = _foot_color(foot) if len(runs) == 1 else COLORS[index]
            axis.plot(rec.time, forces[index][:, foot], color=color, linestyle=_DASHES[index], label=name)
        axis.set_ylim(-0.04 * top, 1.08 * top)
        axis.set_ylabel(f"{robot.foot_names[foot]}  $f_z$ [N]")
    shaded = ", contact shaded" if len(runs) == 1 else ""
    axes[1].set_title(f"vertical ground reaction force, mean over 10 ms{shaded}", loc="left")
    _finish(figure, axes[-1:], runs, _title(runs, "contact activation and force"))
    if len(runs) > 1:
        _legend_above(figure, axes[1])
    return figure


def _bars(axis: Axes, runs: Runs) -> None:
    """Draw Hildebrand's diagram: one bar per foot during stance, the first foot on top."""
    robot = _robot(runs)
    height = 0.8 / len(runs)
    for index, rec in enumerate(runs.values()):
        for foot in range(robot.nf):
            bars = [(start, end - start) for start, end in spans(rec.time, rec.contact[:, foot])]
            low = foot - 0.4 + index * height
            color = _foot_color(foot) if len(runs) == 1 else COLORS[index]
            axis.broken_barh(bars, (low, 0.92 * height), facecolors=color, linewidth=0)
    axis.set_yticks(range(robot.nf), robot.foot_names)
    axis.set_ylim(robot.nf - 0.5, -0.5)
    axis.grid(False, axis="y")
    axis.set_title("contact activation", loc="left")


def _torque(runs: Runs) -> Figure:
    return _by_limb(runs, lambda rec: {"": rec.torque}, "torque", "joint torque", 1.0)


def _joints(runs: Runs) -> Figure:
    def positions(rec: Recording) -> dict[str, ndarray]:
        shown = {"": rec.joint_position}
        if len(runs) == 1 and "command_position" in rec:
            shown["commanded"] = rec["command_position"]
        return shown

    return _by_limb(runs, positions, "position", "joint positions", np.degrees(1.0))


def _by_limb(
    runs: Runs, values: Callable[[Recording], dict[str, ndarray]], what: str, title: str, turn: float
) -> Figure:
    """Draw one panel per leg (and one for the spine), one line per joint; dashes distinguish recordings."""
    robot = _robot(runs)
    groups = limbs(robot)
    rows = -(-len(groups) // 2)
    figure = new_figure(9.0, 1.1 + 1.75 * rows)
    grid = figure.subplots(rows, 2 if len(groups) > 1 else 1, sharex=True, sharey=True, squeeze=False)
    panels = grid.ravel()
    variants: list[str] = []
    for panel, (limb, joints) in zip(panels, groups.items()):
        for index, (name, rec) in enumerate(runs.items()):
            for extra, (variant, array) in enumerate(values(rec).items()):
                dash, width = _DASHES[max(index, extra)], 0.8 if extra else 1.1
                variants += [v for v in (name or variant,) if v not in variants]
                for color, joint in zip(COLORS * 9, joints):
                    scale = turn if robot.tree.bodies[joint + 1].kind == "revolute" else 1.0
                    panel.plot(rec.time, scale * array[:, joint], color=color, linestyle=dash, linewidth=width)
        panel.set_title(limb)
        labels = [robot.joint_names[j].removeprefix(f"{limb}_") for j in joints]
        panel.legend(
            panel.lines[: len(joints)],
            labels,
            ncols=len(joints),
            loc="upper right",
            borderpad=0.1,
            columnspacing=1.0,
            handlelength=1.4,
        )
    for panel in panels[len(groups) :]:
        panel.set_visible(False)
    for panel in grid[-2][len(groups) % 2 :] if len(groups) % 2 and rows > 1 else ():  # no link hangs below it
        panel.set_xlabel("time [s]")
        panel.tick_params(labelbottom=True)
    low, high = panels[0].get_ylim()
    panels[0].set_ylim(low, high + 0.18 * (high - low))  # space for the legends
    unit = _unit(robot, what)
    for row in grid:
        row[0].set_ylabel(f"{what} [{unit}]")
    _finish(figure, grid[-1], runs, _title(runs, title))
    if len(variants) > 1:
        _legend_above(figure, None, [v or "measured" for v in variants])
    return figure


def _energy(runs: Runs) -> Figure:
    figure = new_figure(9.0, 5.6)
    top, bottom = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [2.6, 1.0]})
    for index, (name, rec) in enumerate(runs.items()):
        rec.energy_balance()  # raises and names the missing column
        shown = {
            "kinetic": rec["kinetic"],
            "potential": rec["potential"] - rec["potential"][0],
            "total": rec.energy - rec["potential"][0],
        }
        shown |= {_work_label(k): rec[k] - rec[k][0] for k in rec.columns if k == "work" or k.endswith("_work")}
        for color, (label, values) in zip(COLORS * 2, shown.items()):
            top.plot(rec.time, values, color=color, linestyle=_DASHES[index], label=label if index == 0 else None)
        bottom.plot(rec.time, rec.energy_balance(), color=COLORS[index], linestyle=_DASHES[index], label=name)
    top.set_ylabel("energy [J]")
    top.set_title("energy (potential from its first value) and work done on the robot", loc="left")
    top.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    bottom.set_ylabel("balance [J]")
    residuals = [f"{name} {rec.energy_residual():.1e}".strip() for name, rec in runs.items()]
    bottom.set_title(f"energy gained minus work; largest, relative: {', '.join(residuals)}", loc="left")
    _finish(figure, [bottom], runs, _title(runs, "energy audit"))
    if len(runs) > 1:
        _legend_above(figure, None, list(runs))
    return figure


_KINDS: dict[str, Callable[[Runs], Figure]] = {
    "trunk": _trunk,
    "contact": _contact,
    "torque": _torque,
    "joints": _joints,
    "energy": _energy,
}
KINDS = tuple(_KINDS)


_TOLD_BY = ("controller", "contact", "ground", "integrator", "dt", "seed", "place")


def _labels(runs: Sequence[Recording]) -> list[str]:
    """Return labels that distinguish runs: the first setting that differs between all, otherwise numbers."""
    for key in _TOLD_BY:
        values = [rec.meta.get(key) for rec in runs]
        if None not in values and len(set(map(str, values))) == len(runs):
            return [value if isinstance(value, str) else f"{key} {value:g}" for value in values]
    return ["this", *(f"other {k}" if len(runs) > 2 else "other" for k in range(1, len(runs)))]


# -- pieces ------------------------------------------------------------------------------------------------------------
def spans(time: ndarray, active: ndarray) -> list[tuple[float, float]]:
    """Return the intervals [s] during which something is active; a row counts until the next one."""
    if not len(time):
        return []
    edges = np.flatnonzero(np.diff(np.concatenate([[False], np.asarray(active, dtype=bool), [False]]).astype(int)))
    ends = np.concatenate([time, time[-1:]])
    return [(float(ends[a]), float(ends[b])) for a, b in zip(edges[::2], edges[1::2])]


def limbs(robot: Robot) -> dict[str, list[int]]:
    """Return the joints of each leg as indices into ``robot.joint_names``; the others are the ``spine``."""
    tree = robot.tree
    owners: dict[int, list[str]] = {i: [] for i in range(1, len(tree.bodies))}
    for name, body in zip(robot.foot_names, tree.feet):
        for i in tree.support[body]:
            if i:
                owners[i].append(name)
    groups: dict[str, list[int]] = {name: [] for name in robot.foot_names}
    for i, feet in owners.items():
        groups.setdefault(feet[0] if len(feet) == 1 else "spine" if feet else "other", []).append(i - 1)
    return {name: joints for name, joints in groups.items() if joints} or {"joints": []}


def _robot(runs: Runs) -> Robot:
    return next(iter(runs.values())).robot


def _foot_color(foot: int) -> str:
    return COLORS[foot % len(COLORS)]


def _unit(robot: Robot, what: str) -> str:
    kinds = {body.kind for body in robot.tree.bodies[1:]}
    units = {"torque": {"revolute": "N m", "prismatic": "N"}, "position": {"revolute": "deg", "prismatic": "m"}}[what]
    return ", ".join(unit for kind, unit in units.items() if kind in kinds) or "1"


def _work_label(column: str) -> str:
    names = {"work": "actuator work", "contact_work": "contact work", "friction_work": "friction work"}
    return names.get(column, column.replace("_", " "))


def _title(runs: Runs, what: str) -> str:
    return f"{_robot(runs).name}: {what}"


def _finish(figure: Figure, bottom: Iterable[Axes], runs: Runs, title: str) -> None:
    times = [rec.time for rec in runs.values() if len(rec)]
    for axis in bottom:
        axis.set_xlabel("time [s]")
        if times:
            start, end = min(t[0] for t in times), max(t[-1] for t in times)
            axis.set_xlim(start, end if end > start else start + 1.0)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")


def _legend_above(figure: Figure, axis: Axes | None, labels: list[str] | None = None) -> None:
    """Draw the legend that maps dashes to recordings at the top right, beside the title."""
    from matplotlib.lines import Line2D

    names = list(labels or [])
    if axis is not None:
        lines = [Line2D([], [], color=h.get_color(), linestyle=h.get_linestyle()) for h in axis.lines]
        names = [str(h.get_label()) for h in axis.lines]
    else:
        lines = [Line2D([], [], color="#404040", linestyle=dash) for dash in _DASHES[: len(names)]]
    figure.legend(lines, names, loc="upper right", ncols=len(lines), borderaxespad=0.2, handlelength=2.4)
