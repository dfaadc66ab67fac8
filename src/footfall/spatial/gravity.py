"""The default gravity, and the strength of a given one.

A simulation passes its gravity to every controller (``Sensed.gravity``): weights, gains and plans follow it.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from nptrace.array_types import Float

Gravity = tuple[float, float, float]
STANDARD = 9.81  # [m/s²]; De Paula et al. 2024 have 9.807
GRAVITY: Gravity = (0.0, 0.0, -STANDARD)  # in world axes [m/s²]


def strength(gravity: Gravity | Float[ndarray, "3"] = GRAVITY) -> float:
    """Return its magnitude [m/s²]; ``gravity`` may be traced."""
    x, y, z = (gravity[k] for k in range(3))
    return np.sqrt(x * x + y * y + z * z)


def weight_of(mass: float, gravity: Gravity | Float[ndarray, "3"] = GRAVITY) -> float:
    """Return the weight of a mass [kg] in a gravity [N]."""
    return mass * strength(gravity)


def force_scale(mass: float, gravity: Gravity = GRAVITY) -> float:
    """Return the scale of drawn forces: the weight of a mass, or without gravity its weight on Earth [N]."""
    return float(weight_of(mass, gravity) or weight_of(mass))


__all__ = ["GRAVITY", "STANDARD", "Gravity", "force_scale", "strength", "weight_of"]
