"""The switches of a controller's reflexes and responses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.errors import InputError, unknown
from nptrace._types import Given
from nptrace.array_types import Float

LEG_REFLEXES = ("early_touchdown", "missed_touchdown", "slip", "stumble")
TRUNK_REFLEXES = ("sidestep", "safe_stop", "slope", "rough_ground", "speed_gait")
NAMES = (*LEG_REFLEXES, *TRUNK_REFLEXES)
_OFF_BY_DEFAULT = ("speed_gait",)  # overrides the user's choice of gait


@dataclass(frozen=True, init=False)
class Reflexes:
    """The active reflexes: ``Reflexes(slip=False)`` has all but one, ``Reflexes.only("slip")`` only one.

    Reflexes: ``early_touchdown``, ``missed_touchdown``, ``slip``, ``stumble``, ``sidestep``, ``safe_stop``. Responses:
    ``slope``, ``rough_ground``, ``speed_gait``; the last is off by default, because it changes the gait.
    """

    early_touchdown: bool
    missed_touchdown: bool
    slip: bool
    stumble: bool
    sidestep: bool
    safe_stop: bool
    slope: bool
    rough_ground: bool
    speed_gait: bool

    def __init__(self, **switches: bool) -> None:
        for name, value in switches.items():
            if name not in NAMES:
                raise unknown("reflex", name, NAMES)
            if not isinstance(value, bool | np.bool_):
                raise InputError(f"the reflex {name} must be True or False, got {value!r}")
        for name in NAMES:
            object.__setattr__(self, name, bool(switches.get(name, name not in _OFF_BY_DEFAULT)))

    @staticmethod
    def only(*names: str) -> Reflexes:
        """Return a copy with only the named reflexes; without names, none."""
        return Reflexes(**dict.fromkeys(NAMES, False) | dict.fromkeys(names, True))

    def without(self, *names: str) -> Reflexes:
        return self.replace(**dict.fromkeys(names, False))

    def replace(self, **switches: bool) -> Reflexes:
        return Reflexes(**dataclasses.asdict(self) | switches)

    @staticmethod
    def of(given: Given) -> Reflexes:
        """Create the switches from Reflexes, True (the defaults), False (none), or names."""
        if isinstance(given, Reflexes):
            return given
        if isinstance(given, bool):
            return Reflexes() if given else Reflexes.only()
        if isinstance(given, str):
            return Reflexes.only(given)
        if isinstance(given, Iterable):
            return Reflexes.only(*(str(name) for name in given))
        raise InputError(f"reflexes must be Reflexes(...), True, False or names, got {given!r}")

    def numbers(self) -> Float[ndarray, "9"]:
        """Return 1 or 0 for each of ``NAMES``."""
        return np.array([float(getattr(self, name)) for name in NAMES])
