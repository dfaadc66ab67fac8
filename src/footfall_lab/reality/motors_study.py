"""The motors of a real Go2 from its encoders: before and after identification, compared with MuJoCo's."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.analysis.hanging import COLUMNS, Encoders, Hanging
from footfall.analysis.joint_order import indistinguishable_orders
from footfall.analysis.motor_report import MotorReport, cell, identify_motors, whole
from footfall.analysis.motors import Progress, rms
from footfall.draw.style import COLORS, GREY, new_figure, style
from footfall.errors import FootfallError
from footfall.loading import load
from footfall_lab.papers.claims import Claim, Table, beside_others
from footfall_lab.reality.motors_mujoco import mujoco_angles, mujoco_motors
from nptrace.array_types import Float

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KP, KD = 20.0, 1.5  # from the source
GENERATIONS, TURNS = 150, 25
_JOINTS = ("FL_thigh_joint", "RL_calf_joint")  # in the figure: the best and the worst


@dataclass(frozen=True, kw_only=True)
class MotorsStudy:
    report: MotorReport
    encoders: Encoders  # in the robot's order
    rows: slice  # test half
    before: Float[ndarray, "n nj"]  # angles over these rows, with initial parameters
    after: Float[ndarray, "n nj"]
    theirs: Float[ndarray, "n nj"] | None  # MuJoCo's, after its identification
    their_before: float | None  # rms [rad]

    @property
    def their_after(self) -> float | None:
        return None if self.theirs is None else whole(rms(self.theirs - self.encoders.measured[self.rows]))


def study(quick: bool = False, progress: Progress | None = None) -> MotorsStudy:
    """Identify and evaluate; ``quick``: only by gradients, and without MuJoCo's identification."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about meshes replaced by spheres
        robot = load("go2")
    recorded = Encoders.read(str(files("footfall_lab.reality") / "data" / "go2_joints.npz"))
    method = "gradients" if quick else "both"
    report = identify_motors(robot, recorded, KP, KD, method=method, generations=GENERATIONS, progress=progress)
    encoders = recorded.of(report.orders[0].columns)
    hanging = Hanging(robot, encoders, KP, KD)
    middle = len(encoders.time) // 2
    first, rows = slice(0, middle), slice(middle, len(encoders.time))
    tables = np.stack([hanging.nominal, report.found[report.best].table])
    before, after = hanging.rollout(tables, rows)
    theirs, their_before = None, None
    try:
        plain = mujoco_angles(robot, encoders, KP, KD, hanging.nominal, rows)
        their_before = whole(rms(plain - encoders.measured[rows]))
        if not quick:
            if progress is not None:
                progress("MuJoCo's system identification", 0, 1)
            table = mujoco_motors(robot, encoders, KP, KD, first, TURNS)
            theirs = mujoco_angles(robot, encoders, KP, KD, table, rows)
    except FootfallError:  # the extra is not installed
        pass
    return MotorsStudy(
        report=report,
        encoders=encoders,
        rows=rows,
        before=before,
        after=after,
        theirs=theirs,
        their_before=their_before,
    )


def claims(found: MotorsStudy) -> list[Claim]:
    before, after = found.report.total
    out = [
        beside_others(
            "go2-third",
            "Go2: joint angles of the test half, at most a third of the initial error",
            1e3 * before,
            1e3 * after,
            after <= before / 3.0,
            "mrad rms",
            "theirs: before identification",
        )
    ]
    theirs = found.their_after
    if theirs is not None:
        note = "theirs: MuJoCo after its identification from the same half"
        out.append(
            beside_others(
                "go2-mujoco",
                "Go2: the same, compared with MuJoCo",
                1e3 * theirs,
                1e3 * after,
                after <= theirs,
                "mrad rms",
                note,
            )
        )
    orders = list(found.report.orders)
    alike = indistinguishable_orders(orders)
    least, next_best = orders[0].remainder, orders[len(alike)].remainder
    out.append(
        beside_others(
            "go2-order",
            "Go2: order of the joints, unexplained torque with the best and the next order",
            next_best,
            least,
            next_best > 2.0 * least,
            "N m",
            f"FL, FR, RL, RR, joints leg by leg; {len(alike)} orders are equivalent, since front and rear legs are"
            f" identical",
        )
    )
    return out


def table(found: MotorsStudy) -> list[Table]:
    """Return one table per method: parameters with their intervals."""
    header = (
        "joint",
        "armature [g m²]",
        "damping [N m s/rad]",
        "friction [N m]",
        "stiction",
        "bias [mrad]",
        "gain",
        "delay [ms]",
        "before [mrad]",
        "after [mrad]",
    )
    tables = []
    for motors, after in zip(found.report.found, found.report.after):
        rows = tuple(
            (
                name.removesuffix("_joint"),
                *(cell(found.report, motors, j, k) for k in range(len(COLUMNS))),
                f"{1e3 * found.report.before[j]:.1f}",
                f"{1e3 * after[j]:.1f}",
            )
            for j, name in enumerate(found.report.joints)
        )
        note = (
            "95 % intervals; in brackets: at the end of its range, not identifiable, or where the two methods disagree"
        )
        tables.append(Table(f"Go2 motors by {motors.method}", header, rows, note))
    return tables


def figure(found: MotorsStudy) -> Figure:
    """Draw two joints over some seconds of the test half, and the error of every joint."""
    time_ = found.encoders.time[found.rows]
    window = (time_ > 16.0) & (time_ < 20.0)
    measured = found.encoders.measured[found.rows]
    series = [("initial parameters", found.before, COLORS[5]), ("identified", found.after, COLORS[0])]
    if found.theirs is not None:
        series.append(("MuJoCo, identified", found.theirs, COLORS[2]))
    with style():
        drawn = new_figure(10.5, 3.4)
        axes = drawn.subplots(1, 3)
        for axis, name in zip(axes, _JOINTS):
            j = found.report.joints.index(name)
            axis.plot(time_[window], measured[window, j], color="black", lw=1.6, label="measured")
            for label, angles, color in series:
                axis.plot(time_[window], angles[window, j], color=color, lw=0.9, label=label)
            axis.plot(
                time_[window], found.encoders.wanted[found.rows][window, j], ":", color=GREY, lw=0.8, label="wanted"
            )
            axis.set(xlabel="time [s]", ylabel="angle [rad]", title=name.removesuffix("_joint"))
        handles, labels = axes[0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        place = np.arange(len(found.report.joints))
        width = 0.8 / len(series)
        for k, (label, angles, color) in enumerate(series):
            axes[2].bar(place + k * width, 1e3 * rms(angles - measured), width, color=color, label=label)
        names = [name.removesuffix("_joint").replace("_", " ") for name in found.report.joints]
        axes[2].set_xticks(place + width, names, rotation=70, fontsize=7)
        axes[2].set(ylabel="error [mrad rms]", title="half held out")
        return drawn
