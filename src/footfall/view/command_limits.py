"""How much of a command a page may give: as much as the controller follows, which depends on its gait and its robot."""

from __future__ import annotations

import math

from footfall.control.interface import as_controller
from footfall.control.locomotion.locomotion import LIMITS
from footfall.nests import Given
from footfall.simulate.simulation import Simulation


def limit(key: str, sim: Simulation | None = None) -> float:
    """The most of one part of a command that a simulation's controller follows; the usual one where it does not say."""
    known = None if sim is None or sim.controller is None else as_controller(sim.controller).command_limits(sim.robot)
    most = (known or {}).get(key)
    return float(getattr(LIMITS, key)) if most is None else min(float(most), 100.0)


def clipped(key: str, value: Given, sim: Simulation | None = None) -> float:
    """A number of a command within its limits; junk is zero."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):  # a whole number may be too large for a float
        return 0.0
    most = limit(key, sim)
    return min(max(number, -most), most) if math.isfinite(number) else 0.0
