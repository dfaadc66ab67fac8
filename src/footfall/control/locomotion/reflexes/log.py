"""Events of reflexes: when one starts to act, and on which leg."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.control.locomotion.reflexes.responses import GEARS
from footfall.control.locomotion.reflexes.state import ReflexMemory
from footfall.control.locomotion.reflexes.switches import LEG_REFLEXES, NAMES
from footfall.gait.pattern import LEGS
from nptrace.array_types import Float

_SAME_EVENT_TIME = 0.1  # a leg's reflex that acts again within this time is the same event [s]
_WORDS = {
    "early_touchdown": "early touchdown of {}",
    "missed_touchdown": "missed touchdown of {}: it reaches down",
    "slip": "{} slips: friction {:.2f} is assumed",
    "stumble": "{} stumbles: it swings again, higher",
    "sidestep": "sidestep: the capture point leaves the feet",
    "safe_stop": "safe stop: the robot has fallen, its legs fold",
    "slope": "slope: trunk and footholds follow it",
    "rough_ground": "rough ground: feet go higher",
}


def new_events(
    t: float, before: ReflexMemory, after: ReflexMemory, last_acting: dict[tuple[str, str], float]
) -> list[tuple[float, str]]:
    """Return (time, description) of reflexes that start to act at this tick; ``last_acting`` has the time at which
    each reflex of a leg last acted.
    """
    if not after.acting.any() and not before.acting.any():
        return []
    found = []
    for name, was, now in zip(NAMES, before.acting, after.acting):
        if name in LEG_REFLEXES:
            for leg in np.flatnonzero(now > 0.5):
                key = (name, LEGS[leg])
                if was[leg] < 0.5 and t - last_acting.get(key, -np.inf) > _SAME_EVENT_TIME:
                    found.append((t, _WORDS[name].format(LEGS[leg], float(after.friction))))
                last_acting[key] = t
        elif name == "speed_gait":
            if was[0] != now[0]:
                found.append((t, f"speed: the gait changes to {GEARS[round(float(now[0]))].name}"))
        elif was[0] < 0.5 < now[0]:
            found.append((t, _WORDS[name]))
    return found


def update_last_acting(t: float, acting: Float[ndarray, "9 4"], last_acting: dict[tuple[str, str], float]) -> None:
    """Update ``last_acting`` for ticks up to time t in which no reflex starts or ends."""
    if not acting.any():
        return
    for row, leg in np.argwhere(acting > 0.5).tolist():
        if NAMES[row] in LEG_REFLEXES:
            last_acting[NAMES[row], LEGS[leg]] = t
