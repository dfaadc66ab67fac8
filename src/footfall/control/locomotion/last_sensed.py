"""What is sensed, as far as it is numbers: where any of it is not, all of it is what was last sensed in full.

A tick that is handed NaN, infinity or what no robot can sense plans with the last good numbers, keeps its memory as it
was and asks for the fallback torque; its trouble says which sensor it is (``sensed_names``).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import Command, Sensed
from footfall.robot.model.description import Robot
from nptrace._types import PyTree, Scalar

MOST = 1e6  # [m, rad, m/s, rad/s, N]: no robot senses more, and squares of it are numbers in single precision too


@dataclass(frozen=True)
class LastSensed:
    """The last that was numbers throughout."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    forces: Float[ndarray, "nf 3"]


NOTHING = LastSensed(np.zeros(0), np.zeros(0), np.zeros((0, 3)))


def trusted(sensed: Sensed, command: Command, last: LastSensed) -> tuple[Sensed, Command, Scalar]:
    """(what a tick may look at, what is asked of it, 0 or which number is none: see ``sensed_names``)."""
    asked = dataclasses.asdict(command)
    given = np.concatenate([sensed.q, sensed.v, np.ravel(sensed.forces), np.stack(list(asked.values()))])
    missing = np.max(np.where(np.abs(given) < MOST, 0.0, np.arange(len(given), 0, -1)))  # the first has the highest
    good = missing < 0.5
    seen = Sensed(**{key: np.where(good, getattr(sensed, key), getattr(last, key)) for key in ("q", "v", "forces")})
    wanted: dict[str, Scalar] = {key: np.where(good, part, 0.0) for key, part in asked.items()}
    return seen, Command(**wanted), missing


def sensed_names(robot: Robot) -> tuple[str, ...]:
    """What ``trusted`` speaks of: the last is its number 1."""
    base = ("position", "position", "position", "orientation", "orientation", "orientation", "orientation")
    moves = ("angular velocity",) * 3 + ("velocity",) * 3
    return (
        *(f"{part} of the base" for part in base),
        *(f"encoder '{name}'" for name in robot.joint_names),
        *(f"{part} of the base" for part in moves),
        *(f"joint rate '{name}'" for name in robot.joint_names),
        *(f"force sensor '{foot.name}'" for foot in robot.feet for _ in range(3)),
        *(f"command {part.name}" for part in dataclasses.fields(Command)),
    )


def kept_where(held: Scalar, before: PyTree, after: PyTree) -> PyTree:
    """A memory that stays as it was where it is held."""
    if dataclasses.is_dataclass(after) and not isinstance(after, type):
        parts = [f.name for f in dataclasses.fields(after)]
        kept = {part: kept_where(held, getattr(before, part), getattr(after, part)) for part in parts}
        return dataclasses.replace(after, **kept)
    return after if after is before else np.where(held, before, after)


__all__ = ["MOST", "NOTHING", "LastSensed", "kept_where", "sensed_names", "trusted"]
