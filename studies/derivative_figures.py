"""Figures of docs/guides/derivatives.md: ``python studies/derivative_figures.py docs/figures``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jump import DT, STEPS, Jump, find_jump
from numpy import ndarray

from footfall.control.joint.joint_pd import Hold
from footfall.control.optimal.lqr import LqrStand
from footfall.draw.sketch import Scene
from footfall.dynamics.coordinates import difference
from footfall.robot import library
from footfall.sim.pushes import Push
from footfall.sim.simulation import Simulation
from footfall.sim.standing_lqr import lqr_stand
from footfall.spatial.gravity import weight_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LQR, PD, INK, SECOND = "#0072b2", "#d55e00", "#333333", "#009e73"
_AT, _FOR = 0.1, 0.1  # start and duration of pushes [s]


def as_stiff_pd(stand: LqrStand) -> Hold:
    """Joint PD as stiff and as damped as LQR's stiffest and most damped joint, with the same torques fed forward."""
    nv = len(stand.q) - 1
    kp = stand.kp + np.abs(np.diag(stand.gain[:, 6:nv])).max()
    kd = stand.kd + np.abs(np.diag(stand.gain[:, nv + 6 :])).max()
    return Hold(stand.q[7:], kp=kp, kd=kd, torque=stand.torque)


def pushed(controller: Any, start: ndarray, force: tuple[float, float, float], name: str) -> tuple[ndarray, ndarray]:
    """(time, deviation from the stand) under a push; one row if it fell."""
    robot = library.load(name)
    sim = Simulation(
        robot, controller, start=(start, np.zeros(robot.nv)), pushes=[Push(start=_AT, duration=_FOR, force=force)]
    )
    rec = sim.run(2.0)
    away = np.array([difference(robot, start, q) for q in rec.q])
    return (rec.time, away) if sim.stopped is None else (rec.time[:1], away[:1])


def largest_push(controller: Any, start: ndarray, along: tuple[float, float, float], name: str) -> float:
    """The largest push of 0.1 s that the robot stands, as a part of its weight, to one percent."""
    weight, low, high = weight_of(library.load(name).mass), 0.0, 4.0
    while high - low > 0.01:
        middle = 0.5 * (low + high)
        x, y, z = (middle * weight * a for a in along)
        stands = len(pushed(controller, start, (x, y, z), name)[0]) > 1
        low, high = (middle, high) if stands else (low, middle)
    return low


def lqr_figure(name: str = "mini_cheetah") -> tuple[Figure, dict[str, Any]]:
    """Response to a sideways push, and the largest pushes, by LQR and by joint PD of the same stiffness."""
    stand = lqr_stand(library.load(name))
    weight, controllers = weight_of(library.load(name).mass), {"LQR": stand, "joint PD": as_stiff_pd(stand)}
    figure, axes = _sheet(1, 3, (10.5, 3.0))
    directions = {"forward": (1.0, 0.0, 0.0), "backward": (-1.0, 0.0, 0.0), "sideways": (0.0, 1.0, 0.0)}
    numbers: dict[str, Any] = {}
    for (label, controller), colour, shift in zip(controllers.items(), (LQR, PD), (-0.2, 0.2)):
        t, away = pushed(controller, stand.q, (0.0, 0.5 * weight, 0.0), name)
        axes[0].plot(t, np.degrees(away[:, 0]), color=colour, label=label)
        axes[1].plot(t, 1e3 * away[:, 4], color=colour, label=label)
        most = [largest_push(controller, stand.q, along, name) for along in directions.values()]
        axes[2].bar(np.arange(len(most)) + shift, most, 0.36, color=colour, label=label)
        numbers[label] = {
            "roll_deg": float(np.degrees(np.abs(away[:, 0]).max())),
            "shift_mm": float(1e3 * np.abs(away[:, 4]).max()),
            "largest": dict(zip(directions, most)),
        }
    for ax, label in ((axes[0], "roll [deg]"), (axes[1], "sideways shift of the trunk [mm]")):
        ax.axvspan(_AT, _AT + _FOR, color="#eeeeee", zorder=0)
        ax.set(xlabel="time [s]", ylabel=label, xlim=(0.0, 1.2))
    axes[2].set(xticks=range(len(directions)), xticklabels=list(directions), ylabel="largest push / weight")
    axes[0].legend(frameon=False)
    return figure, numbers


def jump_figure(jumps: list[Jump]) -> Figure:
    """Height, forces on the feet, torques over their limits, and the cost by iteration."""
    figure, axes = _sheet(2, 2, (9.5, 5.6))
    for jump, colour in zip(jumps, (LQR, PD)):
        rec, label = jump.replay(), jump.robot.name
        axes[0, 0].plot(rec.time, 1e3 * (rec.q[:, 2] - jump.stand[2]), color=colour, label=label)
        weight = weight_of(jump.robot.mass)
        axes[0, 1].plot(rec.time, rec.force[:, :, 2].sum(axis=1) / weight, color=colour, label=label)
        axes[1, 0].plot(rec.time, (np.abs(rec.torque) / jump.problem.high).max(axis=1), color=colour, label=label)
        axes[1, 1].semilogy(jump.searches[-1].costs, ".-", color=colour)
    axes[0, 0].set(ylabel="trunk over its stand [mm]", xlabel="time [s]")
    axes[0, 0].legend(frameon=False)
    axes[0, 1].set(ylabel="force on all feet / weight", xlabel="time [s]")
    axes[1, 0].axhline(1.0, color=INK, lw=0.8, ls="--")
    axes[1, 0].set(ylabel="largest torque / its limit", xlabel="time [s]", ylim=(0.0, 1.08))
    axes[1, 1].set(ylabel="cost", xlabel="iteration on the default ground")
    return figure


def snapshots(jump: Jump) -> Figure:
    """The robot from its side at moments of the jump, set apart along the sheet."""
    figure, axes = _sheet(1, 1, (10.0, 2.1))
    ax: Axes = axes
    t = jump.time
    apex = int(jump.rise.argmax())
    moments = np.round(apex * np.array([0.0, 0.5, 0.67, 0.8, 1.0, 1.2, 1.35, 1.9]))
    left, colours = 0.0, {0: "#6b7280"}
    for knot in moments.astype(int):
        scene = Scene(jump.robot, jump.trajectory.x[knot, : jump.robot.nq], (-90.0, 0.0))
        offset = np.array([left, 0.0])
        for body, segments in enumerate(scene.segments):
            for a, b in segments:
                ends = np.array([scene.flat(a), scene.flat(b)]) + offset
                ax.plot(*ends.T, color=colours.get(body, LQR), lw=2.2, solid_capstyle="round")
        for boxes in scene.boxes[:1]:
            for box in boxes:
                flat = box @ scene.plane.T + offset
                low, high = flat.min(axis=0), flat.max(axis=0)
                ax.fill(
                    [low[0], high[0], high[0], low[0]], [low[1], low[1], high[1], high[1]], color="#d1d5db", zorder=0
                )
        ax.text(left, -0.06 * scene.size, f"{t[knot]:.2f} s", ha="center", va="top", fontsize=8)
        left += 1.25 * scene.size
    ax.axhline(0.0, color=INK, lw=1.0)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return figure


def _sheet(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, Any]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained")
    for ax in np.ravel(axes):
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def make(folder: Path) -> dict[str, Any]:
    """All figures into a folder; returns the numbers that the page quotes."""
    folder.mkdir(parents=True, exist_ok=True)
    figure, numbers = lqr_figure()
    figure.savefig(folder / "lqr_push.png", dpi=110)
    jumps = [find_jump("mini_cheetah"), find_jump("xiling")]
    jump_figure(jumps).savefig(folder / "jump.png", dpi=110)
    snapshots(jumps[0]).savefig(folder / "jump_snapshots.png", dpi=110)
    for jump in jumps:
        rec = jump.replay()
        in_the_air = (rec.force[:, :, 2] < 1e-9).all(axis=1)
        numbers[jump.robot.name] = {
            "apex_m": float(jump.rise.max()),
            "iterations": [len(search.costs) - 1 for search in jump.searches],
            "on": [search.on for search in jump.searches],
            "ended": [search.ended for search in jump.searches],
            "processor_seconds": jump.seconds,
            "stays": jump.stays(rec),
            "flight_s": float(in_the_air.sum() * DT * STEPS),
            "torque_over_limit": float((np.abs(rec.torque) / jump.problem.high).max()),
            "largest_force_of_a_foot_in_weights": float(rec.force[:, :, 2].max() / weight_of(jump.robot.mass)),
        }
    return numbers


if __name__ == "__main__":
    print(json.dumps(make(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures")), indent=1))
