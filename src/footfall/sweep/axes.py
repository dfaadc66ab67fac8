"""The variations of a study: grids with one dimension each, and samples drawn together along one dimension."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.checks import finite_number, whole_number
from footfall.errors import InputError, finite, unknown
from nptrace._types import Given
from nptrace.array_types import Float

SPAN = ("from", "to", "count", "spacing")
SPACINGS = ("linear", "log")
METHODS = ("latin_hypercube", "sobol", "random")
MOST_VALUES = 1_000_000  # values of one parameter: a larger number is a mistake, and fills the memory
_EDGE = 1e-12  # bound on probabilities, since the normal distribution is unbounded


# -- values ------------------------------------------------------------------------------------------------------------
def plain_value(value: Given, where: str) -> Given:
    """Return a finite number, a string, a Boolean, or a list of finite numbers."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        if not finite(value):
            raise InputError(f"{where} must be finite, got {value}")
        return value
    if isinstance(value, list) and value and all(isinstance(v, int | float | bool) for v in value):
        return [plain_value(v, where) for v in value]
    raise InputError(f"{where} must be a number, a string, true or false, or a list of numbers, got {value!r}")


def flattened(
    table: Mapping[str, Given], is_leaf: Callable[[Mapping[str, Given]], bool] | None = None, prefix: str = ""
) -> dict[str, Given]:
    """Return nested tables with dotted names: ``trunk.mass = 4`` and ``"trunk.mass" = 4`` are equivalent."""
    flat: dict[str, Given] = {}
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and not (is_leaf and is_leaf(value)):
            flat |= flattened(value, is_leaf, f"{name}.")
        else:
            flat[name] = value
    return flat


# -- grids -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class SweepAxis:
    """One parameter and the values it takes."""

    name: str
    values: tuple[Given, ...]


def axis(name: str, given: Given, where: str) -> SweepAxis:
    """Return an axis from a list of values or from ``{ from = 0.2, to = 0.6, count = 5 }``."""
    here = f"{name} in {where}"
    if isinstance(given, Mapping):
        return SweepAxis(name, tuple(_span(given, here)))
    if not isinstance(given, list):
        raise InputError(f"{here} must be a list of values or {{ from = .., to = .., count = .. }}, got {given!r}")
    if not given:
        raise InputError(f"{here} has no values")
    values = [plain_value(value, here) for value in given]
    seen: dict[str, Given] = {}
    for value in values:
        key = json.dumps(value)
        if key in seen:
            raise InputError(f"{here} has the value {value!r} twice")
        seen[key] = value
    kinds = {"text" if isinstance(v, str) else "list" if isinstance(v, list) else "number" for v in values}
    if len(kinds) > 1:
        raise InputError(f"{here} mixes {' and '.join(sorted(kinds))} values")
    return SweepAxis(name, tuple(values))


def _span(given: Mapping[str, Given], here: str) -> list[float]:
    for key in given:
        if key not in SPAN:
            raise unknown(f"key of {here}", key, SPAN, "a range has")
    for key in SPAN[:3]:
        if key not in given:
            raise InputError(f"{here} needs {key}: {{ from = .., to = .., count = .. }}")
    low, high = (finite_number(given[key], f"{key} of {here}") for key in ("from", "to"))
    count = whole_number(given["count"], f"count of {here}", 1, MOST_VALUES)
    spacing = given.get("spacing", "linear")
    if spacing not in SPACINGS:
        raise unknown(f"spacing of {here}", spacing, SPACINGS)
    if count > 1 and low == high:
        raise InputError(f"{here} has {count} values from {low:g} to {high:g}, which are all the same")
    if spacing == "log":
        if not (low > 0 and high > 0):
            raise InputError(f"{here} is spaced logarithmically: from and to must be positive, got {low:g}, {high:g}")
        return [float(x) for x in np.geomspace(low, high, count)]
    return [float(x) for x in np.linspace(low, high, count)]


# -- samples -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Distribution:
    """The distribution of one parameter: its kind, and its numbers or choices."""

    kind: str
    given: tuple[Given, ...]

    def at(self, u: Float[ndarray, "n"]) -> list[Given]:
        """Return the quantiles at given probabilities: the inverse of the cumulative distribution."""
        a = self.given[0]
        b = self.given[1] if len(self.given) > 1 else a
        if self.kind == "uniform":
            return [float(x) for x in a + (b - a) * u]
        if self.kind == "log_uniform":
            return [float(x) for x in a * (b / a) ** u]
        if self.kind == "normal":
            from scipy.special import ndtri

            return [float(x) for x in a + b * ndtri(np.clip(u, _EDGE, 1.0 - _EDGE))]
        if self.kind == "integer":
            return [int(x) for x in np.minimum(a + np.floor((b - a + 1) * u), b)]
        return [self.given[int(min(x * len(self.given), len(self.given) - 1))] for x in u]


DISTRIBUTIONS = ("uniform", "log_uniform", "normal", "integer", "choice")


def distribution(name: str, given: Given, where: str) -> Distribution:
    """Parse ``{ uniform = [low, high] }``, ``{ log_uniform = [low, high] }``, ``{ normal = [mean, deviation] }``,
    ``{ integer = [low, high] }`` or ``{ choice = [..] }``.
    """
    here = f"{name} in {where}"
    if not isinstance(given, Mapping) or len(given) != 1:
        raise InputError(
            f"{here} must be drawn from one distribution, such as {{ uniform = [0.4, 1.0] }}, got {given!r}"
        )
    ((kind, numbers),) = given.items()
    if kind not in DISTRIBUTIONS:
        raise unknown(f"distribution of {here}", kind, DISTRIBUTIONS)
    if kind == "choice":
        return Distribution(kind, axis(name, numbers, where).values)
    if not isinstance(numbers, list) or len(numbers) != 2:
        raise InputError(f"{kind} of {here} needs two numbers, got {numbers!r}")
    a, b = (finite_number(x, f"{kind} of {here}") for x in numbers)
    if kind == "integer":
        a, b = (whole_number(x, f"{kind} of {here}") for x in numbers)
    if kind == "normal" and not b > 0:
        raise InputError(f"normal of {here} needs a positive deviation, got {b:g}")
    if kind != "normal" and not a < b:
        raise InputError(f"{kind} of {here} must have low < high, got {a:g} to {b:g}")
    if kind == "log_uniform" and not a > 0:
        raise InputError(f"log_uniform of {here} needs positive numbers, got {a:g}")
    return Distribution(kind, (a, b))


@dataclass(frozen=True)
class RandomSamples:
    """Parameters drawn together, ``count`` times."""

    count: int
    method: str
    of: Mapping[str, Distribution]

    def drawn(self, seed: int) -> list[dict[str, Given]]:
        """Return the samples of a seed, reproducibly."""
        names = list(self.of)
        u = _unit_cube(self.method, len(names), self.count, seed)
        columns = [self.of[name].at(u[:, k]) for k, name in enumerate(names)]
        return [dict(zip(names, row)) for row in zip(*columns)]


def samples(given: Mapping[str, Given], where: str) -> RandomSamples:
    """Parse the table ``[samples]``: ``count``, ``method``, and a distribution for each parameter."""
    if "count" not in given:
        raise InputError(f"{where} needs count, how many samples to draw")
    count = whole_number(given["count"], f"count in {where}", 1, MOST_VALUES)
    method = given.get("method", METHODS[0])
    if method not in METHODS:
        raise unknown(f"method in {where}", method, METHODS)
    rest = {key: value for key, value in given.items() if key not in ("count", "method")}
    flat = flattened(rest, lambda table: bool(set(table) & set(DISTRIBUTIONS)) or not _nested(table))
    if not flat:
        raise InputError(
            f"{where} has no distributions: add a parameter, such as  friction = {{ uniform = [0.4, 1.0] }}"
        )
    return RandomSamples(count, method, {name: distribution(name, value, where) for name, value in flat.items()})


def _nested(table: Mapping[str, Given]) -> bool:
    return any(isinstance(value, Mapping) for value in table.values())


def _unit_cube(method: str, dimensions: int, count: int, seed: int) -> Float[ndarray, "n d"]:
    random = np.random.default_rng(seed)
    if method == "random":
        return random.random((count, dimensions))
    from scipy.stats import qmc

    if method == "latin_hypercube":
        return qmc.LatinHypercube(dimensions, seed=random).random(count)
    with warnings.catch_warnings():  # a count that is not a power of two is less uniform, but not an error
        warnings.simplefilter("ignore", UserWarning)
        return qmc.Sobol(dimensions, seed=random).random(count)


def names_of(axes: Sequence[SweepAxis], drawn: RandomSamples | None) -> list[str]:
    """Return every parameter that varies."""
    return [*(a.name for a in axes), *(drawn.of if drawn else ())]
