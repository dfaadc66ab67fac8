"""Gravity has one owner: what a run has unless it says otherwise, and how strongly a given one pulls.

A simulation hands its own to every controller (``Sensed.gravity``): weights, gains and plans follow it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

Gravity = tuple[float, float, float]
STANDARD = 9.81  # [m/s²]; De Paula et al. 2024 have 9.807
GRAVITY: Gravity = (0.0, 0.0, -STANDARD)  # in world axes [m/s²]


def strength(gravity: Gravity | Float[ndarray, "3"] = GRAVITY) -> float:
    """Return how strongly it pulls [m/s²], whichever way; ``gravity`` may be traced."""
    x, y, z = (gravity[k] for k in range(3))
    return np.sqrt(x * x + y * y + z * z)


def weight_of(mass: float, gravity: Gravity | Float[ndarray, "3"] = GRAVITY) -> float:
    """Return the weight of a mass [kg] in a gravity [N]."""
    return mass * strength(gravity)


def force_scale(mass: float, gravity: Gravity = GRAVITY) -> float:
    """By which forces are drawn: the weight of a mass, or what it would be on Earth where there is none [N]."""
    return float(weight_of(mass, gravity) or weight_of(mass))


__all__ = ["GRAVITY", "STANDARD", "Gravity", "force_scale", "strength", "weight_of"]
