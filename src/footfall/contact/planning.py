"""Contact for planning and training: no modes to iterate, so that no robot in a batch waits for another.

    f_n = max(0, k (d - dt v_n) - c v_n),   f_t = -μ min(k d, f_n) u / sqrt(u² + s²)

d is the depth, v_n the speed along the normal, u the slip; k, c and s are ``stiffness``, ``damping`` and
``slip_speed``. A step predicts and corrects (``ForceLaw.one_solve``). One symmetric system, with the derivatives of the
force at the start of the step, gives the velocity at its end; a force that would pull there is set to zero, one outside
its cone is scaled back onto it, and the robot accelerates under the resulting forces. So the ground never pulls and no
force leaves its cone, for any step; the price is stiffness. A standing robot sinks by its weight over k per foot, 1.1
mm for a robot of 9 kg, and a foot that sticks creeps by s r / sqrt(1 - r²), r the fraction of its friction that it
needs.

Joints take part in both solutions: dry friction is a damper, and a motor at its limit has a reduced gain; both are
linearised at the rates at the start of the step in the prediction, and at its end in the correction (``sim.joints``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy import ndarray

from footfall.checks import checked_number
from footfall.contact.force_law import ForceLaw
from footfall.contact.points import ContactPoint
from nptrace.array_types import Float

_TINY = 1e-12  # [N²], avoids 0 / 0 in the direction of zero force


@dataclass(frozen=True, kw_only=True)
class Planning(ForceLaw):
    """Spring, damper and smooth friction without modes: every step costs the same."""

    stiffness: float = 2e4  # k [N/m]
    damping: float = 400.0  # c [N s/m]
    slip_speed: float = 0.01  # s [m/s], at which friction reaches 0.7 of its limit
    one_solve: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for key in ("stiffness", "damping", "slip_speed"):
            what = f"{key.replace('_', ' ')} of planning contact"
            object.__setattr__(self, key, checked_number(getattr(self, key), what, 0.0, above=key != "damping"))

    def law(
        self, depth: float, v_C: Float[ndarray, "3"], friction: float, dt: float
    ) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"]]:
        """Return (force, derivatives) of a sphere that continues at v_C."""
        ahead = depth - dt * v_C[2]
        push = self.stiffness * ahead - self.damping * v_C[2]
        touches = (ahead > 0.0) & (push > 0.0)
        normal, slope = np.where(touches, push, 0.0), np.where(touches, self.damping + dt * self.stiffness, 0.0)
        load = np.minimum(normal, self.stiffness * np.maximum(depth, 0.0))
        drag = friction * load / np.sqrt(v_C[0] * v_C[0] + v_C[1] * v_C[1] + self.slip_speed * self.slip_speed)
        return np.array([-drag * v_C[0], -drag * v_C[1], normal]), np.array([drag, drag, slope])

    def allowed(self, point: ContactPoint, f: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
        """Return the force that acts, given a prediction, in base axes: it does not pull and is within its cone."""
        n = point.R_BC[:, 2]
        normal = n @ f
        tangential, presses = f - normal * n, np.maximum(normal, 0.0)
        size = np.sqrt(tangential @ tangential + _TINY)
        return presses * n + np.minimum(point.friction * presses / size, 1.0) * tangential
