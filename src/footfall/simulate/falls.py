"""When a robot has fallen, or never stood: by how it leans and how low its base is, against how high it stands.

The height that counts is the robot's own, not that of the start: one that is put down on its belly does not stand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.ground import Ground
from footfall.contact.terrain import distances
from footfall.robot.model.description import Robot

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
        """A robot without a stand and without legs is taken to stand as it starts."""
        height = float(ground.distance(q[:3]))
        stands = _standing_height(robot) or height
        return Falls(ground, stands, height < LOW * stands, height)

    def first(self, q: Float[ndarray, "N nq"]) -> int | None:
        """The first row in which the base leans too far or lies on the ground; a robot that starts there may get up."""
        _, x, y, _ = q[:, 3:7].T
        leaning = 1.0 - 2.0 * (x * x + y * y) < np.cos(LEAN)
        heights = distances(self.ground, q[:, :3])
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
        """Of a robot that has not got up."""
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
