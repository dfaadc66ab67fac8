"""Helpers of the library's robots: the order of the legs and the mirroring of a left fore leg's numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.errors import InputError

# name: (+1 fore, -1 hind; +1 left, -1 right), in the order of q
LEGS: dict[str, tuple[int, int]] = {"LF": (1, 1), "RF": (1, -1), "LH": (-1, 1), "RH": (-1, -1)}
KNEES = ("behind", "front")


def leg_vector(leg: str, vector: Sequence[float]) -> Float[ndarray, "3"]:
    """Return a left fore leg's vector for any leg: x changes sign for hind legs, y for right ones."""
    fore, side = LEGS[leg]
    x, y, z = vector
    return np.array([fore * x, side * y, z]) + 0.0  # + 0.0 turns -0.0 into 0.0


def knee_bend(knees: str) -> int:
    """Return +1 for knees ``behind`` the hips, -1 for knees in ``front``."""
    if knees not in KNEES:
        raise InputError(f"unknown knees '{knees}': choose {', '.join(KNEES)}")
    return 1 if knees == "behind" else -1


def mirrored_limits(limits: tuple[float, float], bend: int) -> tuple[float, float]:
    """Return limits [rad] given for knees behind, for knees on the side ``bend``."""
    lower, upper = limits
    return (lower, upper) if bend > 0 else (-upper, -lower)
