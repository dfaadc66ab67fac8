"""Checks of numbers that users give: each refuses in one sentence that names what is wrong, and says what it got.

Parts of robots have their own (``robot.parts``), whose errors are of the model.
"""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.errors import InputError, finite
from footfall.nests import Given


def is_number(value: object) -> bool:
    """Whether something is one finite real number."""
    return isinstance(value, Real) and finite(float(value) if not isinstance(value, int) else value)


def finite_number(value: Given, what: str) -> float:
    """A finite number, or an InputError."""
    number = _float(value, what)
    if not math.isfinite(number):
        raise InputError(f"{what} must be finite, got {number}")
    return number


def positive_number(value: Given, what: str) -> float:
    """A finite number above zero, or an InputError."""
    number = _float(value, what)
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{what} must be positive and finite, got {number:g}")
    return number


def number_between(
    value: Given, what: str, above: float = -math.inf, below: float = math.inf, wanted: str = "a finite number"
) -> float:
    """A number between two others, neither of them included, or an InputError that says what is ``wanted``."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (above < number < below):
        raise InputError(f"{what} must be {wanted}, got {value!r}")
    return number


def checked_number(value: Given, what: str, low: float, high: float = np.inf, above: bool = False) -> Given:
    """A finite number from low (beyond it with ``above``) to high, or an InputError; a traced value passes as it is."""
    if isinstance(value, Real):
        number = float(value)
        if np.isfinite(number) and low <= number <= high and not (above and number == low):
            return number
    elif value is not None and not isinstance(value, (str, bytes, complex, ndarray, list, tuple)):
        return value
    if high < np.inf:
        must = f"must lie in [{low:g}, {high:g}]"
    else:
        must = "must be positive and finite" if above else "must be finite and not negative"
    raise InputError(f"{what} {must}, got {value!r}")


def three_numbers(value: Given, what: str) -> Float[ndarray, "3"]:
    """Three finite numbers as an array of their own, or an InputError."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        array = np.zeros(0)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InputError(f"{what} must be three finite numbers, got {value!r}")
    return array


def one_or_more_names(value: Given, what: str) -> tuple[str, ...]:
    """Names, of which one may stand alone, as a tuple, or an InputError."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
        return tuple(value)
    raise InputError(f"{what} must be a name or a list of names, got {value!r}")


def _float(value: Given, what: str) -> float:
    try:
        if not isinstance(value, str | bytes):  # a text that reads like a number is still a text to whoever uses it
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{what} must be a number, got {value!r}")


def checked_option(name: str, kind: str, value: Given) -> Given:
    """A value of the option's type: whole numbers pass for decimal ones, nothing else passes for anything else."""
    if value is None and "None" in kind:
        return None
    wanted = kind.partition(" |")[0]
    if wanted == "float" and isinstance(value, (int, float)) and not isinstance(value, bool) and finite(value):
        return float(value)
    if wanted == "int" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if wanted == "str" and isinstance(value, str) and value:
        return value
    if wanted == "bool" and isinstance(value, bool):
        return value
    words = {"float": "a finite number", "int": "a whole number", "str": "a text", "bool": "true or false"}[wanted]
    raise InputError(f"{name} must be {words}, got {value!r}")


__all__ = [
    "checked_number", "checked_option", "finite_number", "is_number", "number_between", "one_or_more_names",
    "positive_number", "three_numbers",
]  # fmt: skip
