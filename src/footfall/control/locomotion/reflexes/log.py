"""Events of reflexes: when one begins to act, and on which leg."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.locomotion.reflexes.responses import GEARS
from footfall.control.locomotion.reflexes.state import ReflexMemory
from footfall.control.locomotion.reflexes.switches import NAMES, OF_A_LEG
from footfall.gait.pattern import LEGS

_QUIET = 0.1  # a reflex of a leg that acts again within this is the same event [s]
_WORDS = {
    "early_touchdown": "early touchdown of {}",
    "missed_touchdown": "missed touchdown of {}: it reaches down",
    "slip": "{} slips: friction {:.2f} is trusted",
    "stumble": "{} stumbles: it swings again, higher",
    "sidestep": "sidestep: the capture point leaves the feet",
    "safe_stop": "safe stop: a fall is certain, legs fold",
    "slope": "slope: trunk and footholds follow it",
    "rough_ground": "rough ground: feet go higher",
}


def begun(
    t: float, before: ReflexMemory, after: ReflexMemory, told: dict[tuple[str, str], float]
) -> list[tuple[float, str]]:
    """(time, words) of what begins to act at this tick; ``told`` keeps when each reflex of a leg last acted."""
    if not after.acting.any() and not before.acting.any():
        return []
    found = []
    for name, was, now in zip(NAMES, before.acting, after.acting):
        if name in OF_A_LEG:
            for leg in np.flatnonzero(now > 0.5):
                key = (name, LEGS[leg])
                if was[leg] < 0.5 and t - told.get(key, -np.inf) > _QUIET:
                    found.append((t, _WORDS[name].format(LEGS[leg], float(after.friction))))
                told[key] = t
        elif name == "speed_gait":
            if was[0] != now[0]:
                found.append((t, f"speed: the gait changes to {GEARS[round(float(now[0]))].name}"))
        elif was[0] < 0.5 < now[0]:
            found.append((t, _WORDS[name]))
    return found


def still_acting(t: float, acting: Float[ndarray, "9 4"], told: dict[tuple[str, str], float]) -> None:
    """The same for ticks in which nothing begins or ends, up to one at t: ``told`` alone changes."""
    for place, leg in np.argwhere(acting > 0.5).tolist():
        if NAMES[place] in OF_A_LEG:
            told[NAMES[place], LEGS[leg]] = t
