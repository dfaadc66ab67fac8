"""Figures 9 to 14 of Yan et al. 2021, reproduced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.draw.style import COLORS, GREY, PALE, new_figure, style
from footfall.gait.pattern import LEGS
from footfall.gait.planner import MotionPlan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from footfall_lab.papers.yan2021.runs import Run


def paths(plans: dict[str, MotionPlan]) -> Figure:
    """Draw feet from the side, and the forward motion of body and feet over time; one column per gait."""
    with style():
        figure = new_figure(9.5, 5.0)
        axes = figure.subplots(2, len(plans), squeeze=False, gridspec_kw={"height_ratios": [1.0, 2.0]})
        for column, (name, plan) in enumerate(plans.items()):
            t = np.linspace(0.0, plan.duration, 1500)
            placed = plan.at(t)
            body, feet = placed.position.T, np.moveaxis(placed.feet, 2, 0)
            side, way = axes[0, column], axes[1, column]
            for k, leg in enumerate(LEGS):
                side.plot(feet[:, k, 0], 1e3 * feet[:, k, 2], color=COLORS[k], lw=1.0)
                way.plot(t, feet[:, k, 0], color=COLORS[k], label=leg)
            way.plot(t, body[:, 0], color=COLORS[6], lw=1.8, label="body")
            side.set_title(f"{name}: feet from the side", loc="left")
            side.set_xlabel("x [m]")
            way.set_xlabel("time [s]")
        axes[0, 0].set_ylabel("z of the centre [mm]")
        axes[1, 0].set_ylabel("x [m]")
        handles, labels = axes[1, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=5)
        return figure


def progress(runs: dict[str, Run]) -> Figure:
    """Draw the forward motion of the body over time: planned and simulated."""
    with style():
        figure = new_figure(7.0, 3.2)
        axis = figure.subplots()
        for color, (name, run) in zip(COLORS, runs.items()):
            rec = run.rec
            plan = run.plan.at(rec.time).position[0]
            axis.plot(rec.time, plan - plan[0], color=color, lw=0.9, linestyle="--", label=f"{name}, planned")
            moved = rec.trunk_position[:, 0] - rec.trunk_position[0, 0]
            axis.plot(rec.time, moved, color=color, label=f"{name}, simulated")
        axis.set_xlabel("time [s]")
        axis.set_ylabel("position of the body [m]")
        axis.legend(loc="lower right")
        axis.set_title("the same steps as a trot and as a walk", loc="left")
        return figure


def knee_torque(times: ndarray, model: ndarray, simulated: ndarray, swinging: ndarray, name: str) -> Figure:
    """Draw model and simulation over two cycles, swing shaded; below, one swing."""
    with style():
        figure = new_figure(9.0, 4.6)
        whole, near = figure.subplots(2, 1, gridspec_kw={"height_ratios": [1.6, 1.0]})
        for axis in (whole, near):
            axis.plot(times, simulated, color=COLORS[0], label="simulation")
            axis.plot(times, model, color=COLORS[1], linestyle=(0, (4, 1.5)), label="whole-body model on the plan")
            _shade(axis, times, swinging)
            axis.set_ylabel("torque [N m]")
        whole.set_xlim(times[0], times[-1])
        whole.set_title(f"{name.replace('_', ' ')} in a walk, swing shaded", loc="left")
        edges = np.flatnonzero(np.diff(swinging.astype(int)))
        first = times[edges[np.argmax(swinging[edges + 1])]] if len(edges) else times[0]
        near.set_xlim(first - 0.08, first + 0.5)
        window = (times > first - 0.02) & (times < first + 0.39)
        spread = float(np.abs(simulated[window]).max(initial=1.0))
        near.set_ylim(-1.6 * spread, 1.6 * spread)
        near.set_title("one swing, enlarged", loc="left")
        near.set_xlabel("time [s]")
        whole.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=2)
        return figure


def postures(run: Run) -> Figure:
    """Draw commanded and simulated body angles."""
    with style():
        figure = new_figure(9.0, 3.2)
        axis = figure.subplots()
        angles, wanted = np.degrees(run.rec.trunk_euler()), np.degrees(run.euler)
        for k, name in ((2, "roll"), (1, "pitch"), (0, "yaw")):
            axis.plot(run.rec.time, angles[:, k], color=COLORS[k], label=name)
            axis.plot(run.rec.time, wanted[:, k], color=COLORS[k], lw=0.8, linestyle="--")
        axis.plot([], [], color=GREY, lw=0.8, linestyle="--", label="planned")
        axis.set_xlabel("time [s]")
        axis.set_ylabel("angle [deg]")
        axis.set_xlim(run.rec.time[0], run.rec.time[-1])
        axis.legend(loc="upper left", ncols=4)
        axis.set_ylim(-24.0, 29.0)
        axis.set_title("standing postures", loc="left")
        return figure


def yaw(run: Run, knee: str) -> Figure:
    """Draw yaw, and position and velocity of a knee with their references."""
    rec, j = run.rec, run.joint(knee)
    with style():
        figure = new_figure(9.0, 5.2)
        turn, position, velocity = figure.subplots(3, 1, sharex=True)
        turn.plot(rec.time, np.degrees(rec.trunk_euler()[:, 0]), color=COLORS[0], label="simulated")
        turn.plot(rec.time, np.degrees(run.euler[:, 0]), color=COLORS[1], lw=0.9, linestyle="--", label="planned")
        turn.set_ylabel("yaw [deg]")
        position.plot(rec.time, np.degrees(rec.joint_position[:, j]), color=COLORS[0])
        position.plot(rec.time, np.degrees(rec["command_position"][:, j]), color=COLORS[1], lw=0.9, linestyle="--")
        position.set_ylabel("position [deg]")
        rate = np.gradient(rec["command_position"][:, j], rec.time)
        velocity.plot(rec.time, rec.joint_velocity[:, j], color=COLORS[0])
        velocity.plot(rec.time, rate, color=COLORS[1], lw=0.9, linestyle="--")
        velocity.set_ylabel("velocity [rad/s]")
        velocity.set_xlabel("time [s]")
        velocity.set_xlim(rec.time[0], rec.time[-1])
        low, high = np.percentile(rate, (0.1, 99.9))
        velocity.set_ylim(low - 0.4 * (high - low), high + 0.4 * (high - low))
        position.set_title(knee.replace("_", " "), loc="left")
        turn.set_title("body", loc="left")
        turn.legend(loc="upper left", ncols=2)
        return figure


def drives(runs: dict[str, Run], knee: str, window: tuple[float, float]) -> Figure:
    """Draw a knee's velocity at its motor's encoder, with rigid and realistic drives; below, its burrs."""
    from footfall_lab.papers.yan2021.drives import WHOLE, measured_rate, smoothed

    with style():
        figure = new_figure(9.0, 4.6)
        whole, rough = figure.subplots(2, 1, sharex=True)
        for color, (name, label) in zip(COLORS, ((WHOLE, "belt, play and friction"), ("rigid drives", "rigid drives"))):
            run = runs[name]
            rate, time = measured_rate(run, knee), run.rec.time
            whole.plot(time, rate, color=color, lw=1.2, label=label)
            rough.plot(time, 1e3 * (rate - smoothed(rate, time)), color=color, lw=0.9)
        whole.set_ylabel("velocity [rad/s]")
        rough.set_ylabel("less its mean [mrad/s]")
        rough.set_xlabel("time [s]")
        rough.set_xlim(window[0] - 0.1, window[1] + 0.1)
        rough.set_ylim(-5.0, 5.0)
        whole.set_title(f"{knee.replace('_', ' ')} at its motor's encoder, yaw from -15 to 15 degrees", loc="left")
        rough.set_title("burrs: deviation from the mean over 21 ms", loc="left")
        whole.legend(loc="upper right", ncols=2)
        return figure


def responses(errors: dict[str, tuple[ndarray, dict[str, ndarray]]], joint: str) -> Figure:
    """Draw the position error of a joint over time, by controller; one panel per run."""
    with style():
        figure = new_figure(9.0, 5.6)
        axes = figure.subplots(len(errors), 1)
        for axis, (run, (time, curves)) in zip(axes, errors.items()):
            for color, (name, error) in zip(COLORS, curves.items()):
                axis.plot(time, np.degrees(error), color=color, lw=1.1, label=name)
            axis.set_title(f"{run}: {joint.replace('_', ' ')}", loc="left")
            axis.set_ylabel("error [deg]")
            axis.set_xlim(time[0], time[-1])
        axes[-1].set_xlabel("time [s]")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
        return figure


def sensed(run: Run, rows: ndarray, torques: ndarray, leg: str) -> Figure:
    """Draw the applied torques of one leg, and those estimated from ideal sensors."""
    rec = run.rec
    with style():
        figure = new_figure(9.0, 4.4)
        axes = figure.subplots(3, 1, sharex=True)
        names = [name for name in run.robot.joint_names if name.startswith(f"{leg}_")]
        for axis, name in zip(axes, names):
            j = run.joint(name)
            axis.plot(rec.time, rec.torque[:, j], color=COLORS[0], label="applied")
            axis.plot(
                rec.time[rows], torques[:, j], ".", ms=2.5, color=COLORS[1], label="from IMU, encoders, foot forces"
            )
            axis.set_ylabel(f"{name.removeprefix(leg + '_')} [N m]")
        axes[-1].set_xlabel("time [s]")
        axes[-1].set_xlim(2.0, min(6.0, float(rec.time[-1])))
        axes[0].legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=2)
        axes[0].set_title(f"joint torques of {leg} in a walk", loc="left")
        return figure


def _shade(axis: Axes, times: ndarray, active: ndarray) -> None:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], active.astype(int), [0]])))
    ends = np.concatenate([times, times[-1:]])
    for a, b in zip(edges[::2], edges[1::2]):
        axis.axvspan(float(ends[a]), float(ends[b]), color=PALE, zorder=0)
