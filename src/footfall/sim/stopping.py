"""Why a run ends early: detectors that look at every batch of its ticks, each for one kind of end.

A robot has fallen, or never stood, by how it leans and how low its base is, compared with how high it stands. That
height is the robot's own, not that of the start: one that is put down on its belly does not stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.ground import Ground
from footfall.robot.model.description import Robot
from footfall.sim.self_collision import Watcher
from footfall.sim.start import over_hole
from footfall.sim.tick import RunState, SimulationModel

if TYPE_CHECKING:
    from footfall.sim.rollouts import TickBatch


@dataclass(frozen=True)
class Stop:
    """Why a run ended early."""

    time: float
    kind: str  # fell, diverged, self_collision, error
    message: str


# -- falls -------------------------------------------------------------------------------------------------------------
LEAN = np.radians(75.0)
LOW = 0.3  # of the standing height: the base lies on the ground, or nearly
_BENT = 0.72  # of its legs' length: how high a robot stands that has no pose for it


@dataclass
class Falls:
    """Looks at a run from its start."""

    ground: Ground
    stands: float  # height of the base when the robot stands [m]
    lying: bool  # since the start
    height: float = np.inf  # of the base over the ground when last looked at [m]

    @staticmethod
    def of(robot: Robot, ground: Ground, q: Float[ndarray, "nq"]) -> Falls:
        """Return a robot without a stand and without legs is taken to stand as it starts."""
        height = float(ground.distance(q[:3]))
        stands = _standing_height(robot) or height
        return Falls(ground, stands, height < LOW * stands, height)

    def first(self, q: Float[ndarray, "N nq"]) -> int | None:
        """Return the first row in which the base leans too far or lies on the ground.

        A robot that starts there may get up.
        """
        _, x, y, _ = q[:, 3:7].T
        leaning = 1.0 - 2.0 * (x * x + y * y) < np.cos(LEAN)
        heights = self.ground.distances(q[:, :3])
        low = heights < LOW * self.stands
        if self.lying:
            up = np.flatnonzero(~low)
            low[: int(up[0]) if len(up) else len(low)] = False
            self.lying = not len(up)
        self.height = float(heights[-1])
        fallen = np.flatnonzero(leaning | low)
        return int(fallen[0]) if len(fallen) else None

    @property
    def words(self) -> str:
        """Describe a robot that has not got up."""
        return (
            f"the robot lies on the ground: its base is {max(self.height, 0.0):.3f} m over it, {self.stands:.3f} m when"
            " it stands"
        )


def _standing_height(robot: Robot) -> float | None:
    if "stand" in robot.poses:
        return robot.poses["stand"].height
    tree, lengths = robot.tree, []
    for body, p in zip(tree.feet, tree.foot_positions):
        chain = [j for j in tree.support[body] if sum(j in tree.support[foot] for foot in tree.feet) == 1]
        offsets = [tree.bodies[j].X_PJ.p for j in chain[1:]] + [p]
        lengths.append(sum(float(np.linalg.norm(offset)) for offset in offsets) if len(chain) > 1 else 0.0)
    return _BENT * min(lengths) if lengths and min(lengths) > 0 else None


# -- detectors ---------------------------------------------------------------------------------------------------------
class StopDetector(Protocol):
    """A detector of one kind of end."""

    def find(self, batch: TickBatch, kept: int) -> tuple[int, Stop] | None:
        """Return (how many rows remain, why) if the run ends within the first ``kept`` rows, or right after them."""
        ...


@dataclass(frozen=True)
class Divergence:
    """A number that is no longer finite."""

    model: SimulationModel

    def find(self, batch: TickBatch, kept: int) -> tuple[int, Stop] | None:
        good = batch.count_finite()
        if good == len(batch) and (batch.trouble is not None or is_finite(batch.after)):
            return None
        bad = min(good, len(batch) - 1)
        when = float(batch.time[bad]) if len(batch) else float(batch.before.tick) * self.model.period
        culprit = batch.culprit(bad, self.model) if len(batch) else "the state of the base"
        last = batch.states.q[bad - 1] if bad > 0 else batch.before.q
        culprit = over_hole(self.model.world, last) or culprit
        return good, Stop(when, "diverged", f"the run diverged at {when:.4f} s: {culprit}")


@dataclass(frozen=True)
class Fall:
    """A base that leans too far or lies on the ground."""

    falls: Falls

    def find(self, batch: TickBatch, kept: int) -> tuple[int, Stop] | None:
        row = self.falls.first(batch.states.q[:kept]) if kept else None
        if row is None:
            return None
        when = float(batch.time[row])
        return row + 1, Stop(when, "fell", f"the robot fell at {when:.3f} s")


@dataclass(frozen=True)
class Collision:
    """Two links of the robot that meet."""

    watch: Watcher

    def find(self, batch: TickBatch, kept: int) -> tuple[int, Stop] | None:
        q = batch.states.q
        row = self.watch.first(q[:kept])
        if row is None or row >= kept:
            return None
        when = float(batch.time[row])
        message = f"the run stopped at {when:.3f} s: {self.watch.words(q[row])} met"
        return row + 1, Stop(when, "self_collision", message)


def is_finite(state: RunState) -> bool:
    return bool(np.isfinite(state.q).all() and np.isfinite(state.v).all())
