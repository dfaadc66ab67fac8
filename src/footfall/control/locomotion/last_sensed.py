"""Guard against invalid sensor readings: the last complete set of readings replaces all of them.

A tick with NaN, infinity or impossible values plans with the last valid readings, keeps its memory unchanged and uses
the fallback torque; its status identifies the sensor (``sensed_names``).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, Sensed
from footfall.robot.model.description import Robot
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float

# [m, rad, m/s, rad/s, N]: no robot senses larger values, and their squares are finite in single precision too
MAX_READING = 1e6


@dataclass(frozen=True)
class LastSensed:
    """The last readings that were all finite."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    forces: Float[ndarray, "nf 3"]


NO_READING = LastSensed(np.zeros(0), np.zeros(0), np.zeros((0, 3)))


def replace_bad_readings(sensed: Sensed, command: Command, last: LastSensed) -> tuple[Sensed, Command, Operand]:
    """Return (readings for this tick, its command, 0 or the code of an invalid reading: see ``sensed_names``)."""
    values = dataclasses.asdict(command)
    readings = np.concatenate([sensed.q, sensed.v, np.ravel(sensed.forces), np.stack(list(values.values()))])
    # the first invalid reading gets the highest code
    missing = np.max(np.where(np.abs(readings) < MAX_READING, 0.0, np.arange(len(readings), 0, -1)))
    good = missing < 0.5
    seen = Sensed(**{key: np.where(good, getattr(sensed, key), getattr(last, key)) for key in ("q", "v", "forces")})
    kept: dict[str, Operand] = {key: np.where(good, value, 0.0) for key, value in values.items()}
    return seen, Command(**kept), missing


def sensed_names(robot: Robot) -> tuple[str, ...]:
    """Return the names of readings by the codes of ``replace_bad_readings``; the last name has code 1."""
    base = ("position", "position", "position", "orientation", "orientation", "orientation", "orientation")
    rates = ("angular velocity",) * 3 + ("velocity",) * 3
    return (
        *(f"{quantity} of the base" for quantity in base),
        *(f"encoder '{name}'" for name in robot.joint_names),
        *(f"{quantity} of the base" for quantity in rates),
        *(f"joint rate '{name}'" for name in robot.joint_names),
        *(f"force sensor '{foot.name}'" for foot in robot.feet for _ in range(3)),
        *(f"command {quantity.name}" for quantity in dataclasses.fields(Command)),
    )


def hold_where(hold: Scalar, before: PyTree, after: PyTree) -> PyTree:
    """Return a memory that keeps its old value where ``held``."""
    if dataclasses.is_dataclass(after) and not isinstance(after, type):
        names = [f.name for f in dataclasses.fields(after)]
        kept = {name: hold_where(hold, getattr(before, name), getattr(after, name)) for name in names}
        return dataclasses.replace(after, **kept)
    return after if after is before else np.where(hold, before, after)


__all__ = ["MAX_READING", "NO_READING", "LastSensed", "hold_where", "replace_bad_readings", "sensed_names"]
