"""Contact modes: which feet stand. n feet have 2ⁿ of them; the slides count 4 for a biped, 16 for a quadruped.

A mode is data, one number per foot: 1 stands, 0 is up. Names are for people: ``LF+RH``, ``flight``.
"""

from collections.abc import Iterable, Iterator
from itertools import permutations, product

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.errors import InputError, unknown
from footfall.robot.model.description import Robot

FLIGHT = "flight"


def mode_of(robot: Robot, standing: str | Iterable[str] | Float[ndarray, "nf"]) -> Float[ndarray, "nf"]:
    """The 0/1 vector of a mode: from names (``"LF+RH"``, ``["LF", "RH"]``, ``"flight"``) or from numbers, checked."""
    if isinstance(standing, str):
        standing = [] if standing == FLIGHT else standing.split("+")
    given = list(standing)
    if given and all(isinstance(name, str) for name in given):
        for name in given:
            if name not in robot.foot_names:
                raise unknown("foot", name, robot.foot_names, f"a mode of robot '{robot.name}' is made of")
        return np.array([float(name in given) for name in robot.foot_names])
    if not given:
        return np.zeros(robot.nf)
    mode = np.array(given, dtype=float)
    if mode.shape != (robot.nf,) or not np.isin(mode, (0.0, 1.0)).all():
        raise InputError(f"a mode of robot '{robot.name}' is {robot.nf} numbers, each 0 or 1, got {given}")
    return mode


def mode_name(robot: Robot, mode: Float[ndarray, "nf"]) -> str:
    """``LF+RH``, or ``flight``."""
    return "+".join(standing_feet(robot, mode)) or FLIGHT


def standing_feet(robot: Robot, mode: Float[ndarray, "nf"]) -> tuple[str, ...]:
    return tuple(name for name, stands in zip(robot.foot_names, mode) if stands)


def all_modes(robot: Robot) -> list[ndarray]:
    """Return every contact mode, flight first, all feet last."""
    return [np.array(mode) for mode in product((0.0, 1.0), repeat=robot.nf)]


def transitions(robot: Robot) -> Iterator[tuple[ndarray, ndarray]]:
    """Return every ordered pair of different modes: feet may land and lift at the same instant, n (n - 1) in all."""
    yield from permutations(all_modes(robot), 2)


def single_transitions(robot: Robot) -> Iterator[tuple[ndarray, ndarray]]:
    """Those in which one foot lands or lifts; every other one is a chain of these."""
    for before, after in transitions(robot):
        if np.abs(after - before).sum() == 1:
            yield before, after
