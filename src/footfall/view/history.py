"""The last seconds of a live run, for its plots."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy import ndarray

from footfall.gait.stability import static_margin
from footfall.kinematics.forward import center_of_mass, foot_positions
from footfall.sim.simulation import Simulation
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import to_euler
from nptrace._types import PyTree

SECONDS = 6.0
_MARGIN_EVERY = 5  # rows between margins, which need the full kinematics


class PlotHistory:
    """One row for every piece of simulated time. Columns: see ``COLUMNS``."""

    COLUMNS = (
        "time",
        "height",
        "forward",
        "sideways",
        "torque",
        "margin",
        "power",
        "speed",
        "roll",
        "pitch",
        "kinetic",
        "potential",
    )

    def __init__(self) -> None:
        self.rows: deque[tuple[float, ...]] = deque(maxlen=int(SECONDS * 110))
        self.forces: deque[ndarray] = deque(maxlen=self.rows.maxlen)
        self._margin, self._count = float("nan"), 0

    def clear(self) -> None:
        self.rows.clear()
        self.forces.clear()

    def add(self, sim: Simulation, block: dict[str, ndarray]) -> None:
        """Add the last row of a block, with means over it for quantities with spikes."""
        robot, q, v = sim.robot, block["q"][-1], block["v"][-1]
        rates = block.get("rotor_velocity", block["v"][:, robot.nv - robot.nj :])
        power = float(np.maximum(block["torque"] * rates, 0.0).sum(axis=1).mean())
        height, forward, sideways, speed, roll, pitch = float("nan"), 0.0, 0.0, 0.0, 0.0, 0.0
        if robot.floating:
            R = to_rotation(q[3:7])
            velocity = R @ v[3:6]
            ahead = R[:2, 0] / max(float(np.linalg.norm(R[:2, 0])), 1e-9)
            forward = float(ahead @ velocity[:2])
            sideways = float(ahead[0] * velocity[1] - ahead[1] * velocity[0])
            height = float(sim.model.world.ground.distance(q[:3]))
            speed = float(np.hypot(*velocity[:2]))
            _, pitch, roll = np.degrees(to_euler(R, "zyx"))
        if self._count % _MARGIN_EVERY == 0 and robot.nf:
            self._margin = static_margin(foot_positions(robot, q), block["contact"][-1], center_of_mass(robot, q))
        self._count += 1
        torque = float(np.abs(block["torque"][-1]).max(initial=0.0))
        margin = self._margin if np.isfinite(self._margin) else float("nan")
        energies = float(block["kinetic"][-1]), float(block["potential"][-1])
        self.rows.append(
            (float(block["time"][-1]), height, forward, sideways, torque, margin, power, speed, roll, pitch, *energies)
        )
        self.forces.append(block["force_mean"][-1, :, 2])

    def arrays(self) -> dict[str, PyTree]:
        """Return columns as arrays, and ``force``: vertical forces, means over 10 ms, one row per foot."""
        table = np.array(self.rows).reshape(-1, len(self.COLUMNS))
        columns = {name: table[:, k] for k, name in enumerate(self.COLUMNS)}
        columns["force"] = np.array(self.forces).T if self.forces else np.zeros((0, 0))
        return columns

    def costs(self, weight: float, over: float = 1.0) -> ndarray:
        """Return the cost of transport over about the last second before every row; NaN at rest."""
        columns = self.arrays()
        time, power, speed = (columns[key] for key in ("time", "power", "speed"))
        first = np.searchsorted(time, time - over)
        work, way = (np.concatenate([[0.0], np.cumsum(each)]) for each in (power, speed))
        upto = np.arange(1, len(time) + 1)
        done, gone = work[upto] - work[first], way[upto] - way[first]
        moving = gone > 0.05 * (upto - first)
        return np.where(moving, done / (weight * np.where(moving, gone, 1.0)), np.nan)

    def cost_of_transport(self, weight: float) -> float:
        """Return positive work of the motors over weight and distance in this window; infinite at rest."""
        if len(self.rows) < 20:
            return float("inf")
        table = np.array(self.rows)
        power, speed = float(table[:, 6].mean()), float(table[:, 7].mean())
        return power / (weight * speed) if speed > 0.05 else float("inf")
