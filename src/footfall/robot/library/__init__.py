"""The robots of the papers, and one with closed loops, one file each; their numbers are defined only here.

Names, for every robot: legs and feet ``LF RF LH RH`` in this order; joints ``LF_abad``, ``LF_hip``, ``LF_knee``; the
link that joint ``X`` carries is ``X_link``; the root link is ``trunk``. Beyond these: ``spine_pitch`` and
``spine_roll`` of ``spined``, ``LF_ankle`` of ``dynakat``, ``LF_crank`` and ``LF_rod`` of ``fivebar``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from footfall.errors import unknown
from footfall.robot.library.biped import biped
from footfall.robot.library.dynakat import dynakat
from footfall.robot.library.fivebar import fivebar
from footfall.robot.library.mini_cheetah import mini_cheetah
from footfall.robot.library.one_leg import one_leg
from footfall.robot.library.spined import spined
from footfall.robot.library.xiling import xiling
from footfall.robot.model.description import Robot

_ROBOTS: dict[str, Callable[..., Robot]] = {
    "mini_cheetah": mini_cheetah,
    "spined": spined,
    "xiling": xiling,
    "dynakat": dynakat,
    "fivebar": fivebar,
}
_MACHINES: dict[str, Callable[..., Robot]] = {"one_leg": one_leg, "biped": biped}  # machines of the lecture slides


def names() -> tuple[str, ...]:
    """Return the quadrupeds of the papers."""
    return tuple(_ROBOTS)


def machines() -> tuple[str, ...]:
    """Return the machines of the lecture slides, which are not quadrupeds, but have contact modes and flat feet."""
    return tuple(_MACHINES)


def load(name: str, **variant: Any) -> Robot:
    """Return a library robot by name and variant: ``load("mini_cheetah", rotors="exact")``."""
    made = {**_ROBOTS, **_MACHINES}
    if name not in made:
        raise unknown("robot", name, made, "the library has")
    options = inspect.signature(made[name]).parameters
    for option in variant:
        if option not in options:
            raise unknown(f"variant of {name}", option, options, "choose from")
    return made[name](**variant)


__all__ = ["biped", "dynakat", "fivebar", "load", "machines", "mini_cheetah", "names", "one_leg", "spined", "xiling"]


def __dir__() -> list[str]:
    return sorted(__all__)
