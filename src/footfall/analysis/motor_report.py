"""Identify motors from recorded encoders: the order of the joints, both methods, validation on the second half.

found = identify_motors(ff.load("go2"), Encoders.read("go2_joints.npz"), kp=20, kd=1.5)
robot, motors, joints = found.apply(ff.load("go2"))
sim = ff.Simulation(robot, motors.of(controller), joints=joints)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall.analysis.hanging import UNITS, Encoders, Hanging
from footfall.analysis.joint_order import Order, indistinguishable_orders, joint_orders
from footfall.analysis.motors import Motors, Progress, by_gradients, by_search, held_out
from footfall.errors import unknown
from footfall.robot.model.description import Robot
from footfall.sim.joints import JointModel
from footfall.sim.motors import COLUMNS, FORMAT, MotorModel, applied, motors_of, read_identified
from nptrace._types import Json
from nptrace.array_types import Bool, Float

METHODS = ("both", "gradients", "search")


@dataclass(frozen=True, kw_only=True)
class MotorReport:
    """Motor parameters fitted to a recording; errors [rad] are over the validation half."""

    robot: str
    joints: tuple[str, ...]
    orders: tuple[Order, ...]  # all orders that were tried, best first
    found: tuple[Motors, ...]  # one per method
    before: Float[ndarray, "nj"]
    after: tuple[Float[ndarray, "nj"], ...]  # one per method

    @property
    def best(self) -> int:
        """Return the method with the smallest error over the fitted rows; the validation half is not used."""
        return int(np.argmin([np.mean(motors.rms**2) for motors in self.found]))

    @property
    def total(self) -> tuple[float, float]:
        """Return the rms over all joints before and after [rad]."""
        return whole(self.before), whole(self.after[self.best])

    @property
    def settled(self) -> Bool[ndarray, "nj 7"]:
        """Return parameters that every method finds identifiable, with overlapping intervals."""
        shown = np.all([motors.identifiable for motors in self.found], axis=0)
        for a in self.found:
            for b in self.found:
                shown &= np.abs(a.table - b.table) <= a.half_width + b.half_width
        return shown

    def apply(self, robot: Robot) -> tuple[Robot, MotorModel, JointModel]:
        """Return (the robot with the fitted joint parameters, its motors, its joint effects)."""
        return applied(robot, self.joints, self.found[self.best].table)

    def to_json(self) -> dict[str, Json]:
        motors, (before, after) = self.found[self.best], self.total
        return {
            "format": FORMAT,
            "robot": self.robot,
            "joints": list(self.joints),
            "columns": self.orders[0].columns.tolist(),
            "orders_alike": [order.columns.tolist() for order in indistinguishable_orders(list(self.orders))],
            "settled": self.settled.tolist(),
            "rms_before": before,
            "rms_after": after,
            "table": motors.table.tolist(),
            "names": list(COLUMNS),
            "motors": motors_of(motors.table).to_json(),
            "methods": {
                m.method: {
                    "table": m.table.tolist(),
                    "rms": whole(rms),
                    "half_width": [[x if np.isfinite(x) else None for x in row] for row in m.half_width.tolist()],
                    "verdicts": [[m.verdict(j, k) for k in range(len(COLUMNS))] for j in range(len(self.joints))],
                }
                for m, rms in zip(self.found, self.after)
            },
        }

    def save(self, path: str | Path) -> None:
        Path(path).write_text(json.dumps(self.to_json(), indent=1) + "\n")


def identify_motors(
    robot: Robot,
    encoders: Encoders,
    kp: float,
    kd: float,
    *,
    method: str = "both",
    generations: int = 300,
    seed: int = 0,
    progress: Progress | None = None,
) -> MotorReport:
    """Fit motor delay, gain, friction and armature to the first half of a recording, and test them on the second.

    Args:
        robot: The robot.
        encoders: Commanded and measured joint angles of a suspended robot with a fixed base.
        kp: Gain of the PD controller [N m/rad].
        kd: Gain of the PD controller [N m s/rad].
        method: ``gradients``, ``search`` (CMA-ES) or ``both``.
        generations: Maximum number of generations of CMA-ES.
        seed: Seed of CMA-ES.
        progress: Called with the fraction done and a text.

    Returns:
        Fitted values, errors on both halves, and plots.
    """
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    orders = joint_orders(robot, encoders, kp, kd)
    hanging = Hanging(robot, encoders.of(orders[0].columns), kp, kd)
    middle = len(encoders.time) // 2
    first, second = slice(0, middle), slice(middle, len(encoders.time))
    found = []
    if method in ("both", "gradients"):
        found.append(by_gradients(hanging, first, progress=progress))
    if method in ("both", "search"):
        found.append(by_search(hanging, first, generations=generations, seed=seed, progress=progress))
    after = tuple(held_out(hanging, motors, second) for motors in found)
    before = held_out(hanging, None, second)
    return MotorReport(
        robot=robot.name, joints=robot.joint_names, orders=tuple(orders), found=tuple(found), before=before, after=after
    )


def whole(rms: Float[ndarray, "nj"]) -> float:
    """Return the rms over all joints."""
    return float(np.sqrt(np.mean(rms**2)))


def cell(report: MotorReport, motors: Motors, joint: int, column: int) -> str:
    """Return a number with its interval as text; in brackets if the recording does not identify it."""
    value, half = motors.table[joint, column], motors.half_width[joint, column]
    scale = 1e3 if UNITS[column] in ("rad", "s", "kg m²") else 1.0  # mrad, ms, g m²
    shown = f"{scale * value:.3g}"
    if report.settled[joint, column]:
        return f"{shown} ± {scale * half:.2g}"
    return f"({shown})"


__all__ = ["METHODS", "MotorReport", "applied", "cell", "identify_motors", "read_identified", "whole"]
