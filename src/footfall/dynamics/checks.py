"""Checks for invalid numbers, for functions that run outside of traces."""

from typing import Any

import numpy as np

from footfall.errors import InputError
from footfall.robot.model.description import Robot


def check_finite(robot: Robot, **arrays: Any) -> None:
    """Raise for NaN and infinity, naming the argument."""
    for name, array in arrays.items():
        if array is not None and not np.isfinite(np.asarray(array, dtype=float)).all():
            raise InputError(f"{name} of robot '{robot.name}' has a value that is not finite")
