"""Contact modes: which feet are in stance. n feet have 2ⁿ modes; 4 for a biped, 16 for a quadruped.

A mode is data, one number per foot: 1 in stance, 0 otherwise. Modes have readable names: ``LF+RH``, ``flight``.
"""

from collections.abc import Iterable, Iterator
from itertools import permutations, product

import numpy as np
from numpy import ndarray

from footfall.errors import InputError, unknown
from footfall.robot.model.description import Robot
from nptrace.array_types import Float

FLIGHT = "flight"


def mode_of(robot: Robot, standing: str | Iterable[str] | Float[ndarray, "nf"]) -> Float[ndarray, "nf"]:
    """Return a contact mode as a vector of 0 and 1.

    Args:
        robot: The robot.
        standing: Names (``"LF+RH"``, ``["LF", "RH"]``, ``"flight"``), or numbers, which are checked.

    Returns:
        1 for each foot in contact.
    """
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
    """Return the name of a contact mode: ``LF+RH``, or ``flight``.

    Args:
        robot: The robot.
        mode: 1 for each foot in contact, 0 for the others.

    Returns:
        Name.
    """
    return "+".join(standing_feet(robot, mode)) or FLIGHT


def standing_feet(robot: Robot, mode: Float[ndarray, "nf"]) -> tuple[str, ...]:
    return tuple(name for name, stands in zip(robot.foot_names, mode) if stands)


def all_modes(robot: Robot) -> list[ndarray]:
    """Return every contact mode, flight first, all feet last.

    Args:
        robot: The robot.

    Returns:
        2ⁿ vectors of 0 and 1, n the number of feet.
    """
    return [np.array(mode) for mode in product((0.0, 1.0), repeat=robot.nf)]


def transitions(robot: Robot) -> Iterator[tuple[ndarray, ndarray]]:
    """Return every ordered pair of different contact modes: feet may land and lift at the same instant.

    Args:
        robot: The robot.

    Returns:
        n (n - 1) pairs for n modes.
    """
    yield from permutations(all_modes(robot), 2)


def single_transitions(robot: Robot) -> Iterator[tuple[ndarray, ndarray]]:
    """Return the transitions in which one foot lands or lifts; every other one is a chain of these."""
    for before, after in transitions(robot):
        if np.abs(after - before).sum() == 1:
            yield before, after
