"""Legs: their names and common synonyms, their order, and the mirroring of a left fore leg's numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from footfall.errors import InputError
from nptrace.array_types import Float

# name: (+1 fore, -1 hind; +1 left, -1 right), in the order of q
LEGS: dict[str, tuple[int, int]] = {"LF": (1, 1), "RF": (1, -1), "LH": (-1, 1), "RH": (-1, -1)}
KNEES = ("behind", "front")
_CODES = {
    "lf": "LF",
    "fl": "LF",
    "rf": "RF",
    "fr": "RF",
    "lh": "LH",
    "hl": "LH",
    "rl": "LH",
    "lr": "LH",
    "bl": "LH",
    "lb": "LH",
    "rh": "RH",
    "hr": "RH",
    "rr": "RH",
    "br": "RH",
    "rb": "RH",
}
_ENDS = {"front": "F", "fore": "F", "hind": "H", "rear": "H", "back": "H"}
_SIDES = {"left": "L", "right": "R"}
_FOOT_WORDS = ("foot", "toe", "paw")


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


def leg_of(name: str) -> str | None:
    """Return LF, RF, LH or RH for a name that contains it: FL_foot, LF_FOOT, toeRL, front_left_foot, hind-right, ..."""
    tokens = _tokens(name)
    for token in tokens:
        if token in _CODES:
            return _CODES[token]
    text = " ".join(tokens)
    ends = {code for word, code in _ENDS.items() if word in text}
    sides = {code for word, code in _SIDES.items() if word in text}
    return f"{sides.pop()}{ends.pop()}" if len(ends) == len(sides) == 1 else None


def foot_of(name: str) -> str | None:
    """Return LF, RF, LH or RH for a name that consists of it: FL, rear_left, RH_FOOT; None for FL_hip."""
    words = {*_CODES, *_ENDS, *_SIDES, *_FOOT_WORDS}
    return leg_of(name) if all(token in words for token in _tokens(name)) and not any(map(str.isdigit, name)) else None


def _tokens(name: str) -> list[str]:
    for word in _FOOT_WORDS:
        name = re.sub(f"(?<=[A-Za-z]){word}|{word}(?=[A-Za-z])", f" {word} ", name, flags=re.IGNORECASE)
    return [t.lower() for t in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
