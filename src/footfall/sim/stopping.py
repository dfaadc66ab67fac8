"""Detectors that end a run early: each checks every batch of ticks for one reason.

Whether a robot has fallen, or never stood, follows from its lean and from the height of its base relative to its
standing height. That height is a property of the robot, not of the start: a robot that starts on its belly does not
stand. It also counts as lying when its base stays below half of that height, or when links other than feet carry it,
for a second, unless its commanded posture is as low as that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy import ndarray

from footfall.contact.ground import Ground
from footfall.kinematics.forward import foot_positions
from footfall.robot.model.description import Robot
from footfall.sim.self_collision import Watcher
from footfall.sim.start import over_hole
from footfall.sim.tick import RunState, SimulationModel
from footfall.sim.world import World
from nptrace.array_types import Bool, Float

if TYPE_CHECKING:
    from footfall.sim.rollouts import TickBatch


@dataclass(frozen=True)
class Stop:
    """The reason why a run ended early."""

    time: float
    kind: str  # fell, diverged, self_collision, error
    message: str


# -- falls -------------------------------------------------------------------------------------------------------------
LEAN = np.radians(75.0)
LOW = 0.3  # fraction of the standing height: the base lies on the ground, or nearly
HALF, PATIENCE = 0.5, 1.0  # fraction of the standing height below which a robot lies after a time [s]
CARRIED = 0.1  # fraction of the weight: with this load on links other than feet, it lies after that time
_BENT = 0.72  # fraction of its legs' length: standing height of a robot without a standing pose


@dataclass(kw_only=True)
class Falls:
    """The detection of a fall, from the start of a run."""

    robot: Robot
    ground: Ground
    stands: float  # height of the base when the robot stands [m]
    lying: bool  # lying since the start
    height: float  # height of the base over the ground at the last check [m]
    weight: float  # weight of the robot [N]
    other: list[int]  # spheres on links other than feet
    low_for: float = 0.0  # how long the base has been below half of its height [s]
    carried_for: float = 0.0  # and how long links other than feet have carried the robot [s]

    @staticmethod
    def of(world: World, q: Float[ndarray, "nq"]) -> Falls:
        """Start to monitor a robot; one without a stand and without legs is assumed to stand at the start."""
        robot = world.robot
        height = float(world.ground.distance(q[:3]))
        stands = _standing_height(robot) or height
        other = [k for k, sphere in enumerate(world.spheres) if k >= robot.nf and sphere.body not in robot.tree.feet]
        return Falls(
            robot=robot,
            ground=world.ground,
            stands=stands,
            lying=height < LOW * stands,
            height=height,
            weight=robot.mass * float(np.linalg.norm(world.gravity)),
            other=other,
        )

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

    def lies(self, batch: TickBatch, kept: int) -> tuple[int, str] | None:
        """Return the first row of a batch by which the robot has lain for ``PATIENCE``, and a description."""
        q, forces = batch.states.q[:kept], batch.states.forces[:kept]
        if self.lying or not kept:
            return None
        spans = np.diff(batch.time[:kept], prepend=float(batch.before.tick) * batch.period)
        low = self.ground.distances(q[:, :3]) < HALF * self.stands
        carried = np.linalg.norm(forces[:, self.other].sum(axis=1), axis=1) > CARRIED * self.weight
        low_for, carried_for = _durations(low, spans, self.low_for), _durations(carried, spans, self.carried_for)
        self.low_for, self.carried_for = float(low_for[-1]), float(carried_for[-1])
        down = f"its base is below half of the {self.stands:.3f} m at which it stands"
        for times, how in ((low_for, down), (carried_for, "links other than its feet carry it")):
            late = np.flatnonzero(times >= PATIENCE - 1e-9)
            if len(late) and not self._is_meant(batch, int(late[0])):
                return int(late[0]), how
        return None

    def _is_meant(self, batch: TickBatch, row: int) -> bool:
        """Return whether the commanded posture is itself below half of the standing height."""
        command, robot = batch.commands, self.robot
        if self.stands + min(batch.command.height, 0.0) < HALF * self.stands:
            return True
        if not np.any(command.kp[row] > 0.0) or not robot.nf:  # type: ignore[index]
            return False
        q = np.concatenate([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], command.position[row]])  # type: ignore[index]
        soles = [p[2] - foot.radius for p, foot in zip(foot_positions(robot, q), robot.feet)]
        return bool(-min(soles) < HALF * self.stands)

    @property
    def words(self) -> str:
        """Describe a robot that has not stood up."""
        return (
            f"the robot lies on the ground: its base is {max(self.height, 0.0):.3f} m over it, {self.stands:.3f} m when"
            " it stands"
        )


def _durations(holds: Bool[ndarray, "N"], spans: Float[ndarray, "N"], before: float) -> Float[ndarray, "N"]:
    """Return for how long a condition has held at the end of every row [s]."""
    total = before + np.cumsum(spans)
    return np.where(holds, total - np.maximum.accumulate(np.where(holds, 0.0, total)), 0.0)


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
    """Detect numbers that are no longer finite."""

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
    """Detect a base that leans too far or lies on the ground, or a robot that has lain there for a while."""

    falls: Falls

    def find(self, batch: TickBatch, kept: int) -> tuple[int, Stop] | None:
        row = self.falls.first(batch.states.q[:kept]) if kept else None
        lies = self.falls.lies(batch, kept if row is None else row)
        if lies is not None:
            row, how = lies
            when = float(batch.time[row])
            return row + 1, Stop(when, "fell", f"the robot fell: at {when:.3f} s it has lain for {PATIENCE:g} s, {how}")
        if row is None:
            return None
        when = float(batch.time[row])
        return row + 1, Stop(when, "fell", f"the robot fell at {when:.3f} s")


@dataclass(frozen=True)
class Collision:
    """Detect collisions between links of the robot."""

    watch: Watcher

    def find(self, batch: TickBatch, kept: int) -> tuple[int, Stop] | None:
        q = batch.states.q
        row = self.watch.first(q[:kept])
        if row is None or row >= kept:
            return None
        when = float(batch.time[row])
        message = f"the run stopped at {when:.3f} s: {self.watch.words(q[row])} collided"
        return row + 1, Stop(when, "self_collision", message)


def is_finite(state: RunState) -> bool:
    return bool(np.isfinite(state.q).all() and np.isfinite(state.v).all())
