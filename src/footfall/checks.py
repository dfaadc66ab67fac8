"""Checks of user-supplied numbers: each error names the culprit and quotes the value in one sentence.

All number checks are here, except for numbers in XML files, which ``robot.files.guard`` reads.
"""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
from numpy import ndarray

from footfall.errors import FootfallError, InputError, finite
from nptrace._types import Given
from nptrace.array_types import Float


def is_number(value: object) -> bool:
    """Return whether a value is one finite real number."""
    return isinstance(value, Real) and finite(float(value) if not isinstance(value, int) else value)


def finite_number(value: Given, what: str) -> float:
    """Return a finite number; raise otherwise."""
    number = _float(value, what)
    if not math.isfinite(number):
        raise InputError(f"{what} must be finite, got {number}")
    return number


def positive_number(value: Given, what: str) -> float:
    """Return a finite number above zero; raise otherwise."""
    number = _float(value, what)
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{what} must be positive and finite, got {number:g}")
    return number


def number_from_zero(value: Given, what: str) -> float:
    """Return a finite, non-negative number; raise otherwise."""
    if not is_number(value) or value < 0:
        raise InputError(f"{what} must be 0 or more, got {value!r}")
    return float(value)


def whole_number(value: Given, what: str, low: int | None = None, high: int | None = None) -> int:
    """Return an integer within bounds (inclusive); raise otherwise."""
    if isinstance(value, bool | np.bool_) or not is_number(value) or value != value // 1:
        raise InputError(f"{what} must be a whole number, got {value!r}")
    if low is not None and value < low:
        raise InputError(f"{what} must be at least {low}, got {value}")
    if high is not None and value > high:
        raise InputError(f"{what} must be at most {high}, got {value}")
    return int(value)


def number_within(
    value: Given,
    what: str,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    infinite: bool = False,
    error: type[FootfallError] = InputError,
) -> float:
    """Return a number in [low, high]; raise ``error`` otherwise. Infinity is accepted only with ``infinite``."""
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise error(f"{what} must be a number, got {value!r}") from None
    if math.isnan(result) or (math.isinf(result) and not infinite):
        raise error(f"{what} is not finite: {result}")
    if not low <= result <= high:
        raise error(f"{what} must lie in [{low:g}, {high:g}], got {result:g}")
    return result


def number_between(
    value: Given, what: str, above: float = -math.inf, below: float = math.inf, wanted: str = "a finite number"
) -> float:
    """Return a number strictly between two bounds; the error says what is ``wanted``."""
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (above < number < below):
        raise InputError(f"{what} must be {wanted}, got {value!r}")
    return number


def known(number: Given) -> bool:
    """Return whether a value is a plain number; ``isinstance`` would accept traced ones too."""
    return issubclass(type(number), (float, int, np.floating, np.integer))


def checked_number(value: Given, what: str, low: float, high: float = np.inf, above: bool = False) -> Given:
    """Return a finite number in [low, high] (above low with ``above``); a traced value passes unchanged."""
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
    """Return three finite numbers as a new array; raise otherwise."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        array = np.zeros(0)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InputError(f"{what} must be three finite numbers, got {value!r}")
    return array


def one_or_more_names(value: Given, what: str) -> tuple[str, ...]:
    """Return one or more names as a tuple; raise otherwise."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
        return tuple(value)
    raise InputError(f"{what} must be a name or a list of names, got {value!r}")


def _float(value: Given, what: str) -> float:
    try:
        if not isinstance(value, str | bytes):  # a string that reads like a number is still a string to the caller
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{what} must be a number, got {value!r}")


__all__ = [
    "checked_number",
    "finite_number",
    "is_number",
    "number_between",
    "number_from_zero",
    "number_within",
    "one_or_more_names",
    "positive_number",
    "three_numbers",
    "whole_number",
]
