"""CMA-ES (Hansen 2016) within ranges: the candidates of a generation are rows of one array, so that they run in lanes.

    search = Search([Range("friction", 0.05, 1.0, 0.3)], population=16)
    while not search.done:
        candidates = search.ask()
        search.tell(cost(candidates))

The cost need not be differentiable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.errors import InputError, MissingExtraError
from nptrace._types import Scalar
from nptrace.array_types import Float

_FIRST_SPREAD = 0.2  # standard deviation of the first generation, as a fraction of every range


@dataclass(frozen=True)
class Range:
    """A search range from low to high; with ``log``, uniform in the logarithm."""

    name: str
    low: float
    high: float
    start: float
    log: bool = False

    def __post_init__(self) -> None:
        if not (np.isfinite([self.low, self.high]).all() and self.low <= self.start <= self.high):
            raise InputError(f"the range of '{self.name}' must have low < high and contain its start: {self}")
        if self.low == self.high:
            raise InputError(f"the range of '{self.name}' is one number, {self.low:g}: remove it")
        if self.log and self.low <= 0.0:
            raise InputError(f"the range of '{self.name}' on a logarithmic scale must be positive, got {self.low:g}")

    def value(self, unit: Scalar) -> Scalar:
        """Return the value of a coordinate between 0 and 1."""
        if self.log:
            return self.low * (self.high / self.low) ** unit
        return self.low + (self.high - self.low) * unit

    def unit(self, value: Scalar) -> Scalar:
        """Return the position of a value in its range, between 0 and 1."""
        if self.log:
            return np.log(value / self.low) / np.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


class Search:
    """One search by CMA-ES; costs that are not finite rank last."""

    def __init__(
        self,
        ranges: Sequence[Range],
        population: int = 16,
        generations: int = 40,
        seed: int = 0,
        spread: float = _FIRST_SPREAD,
    ) -> None:
        try:
            import cma
        except ImportError:
            raise MissingExtraError("a search by CMA-ES", "studies", "cma") from None
        self.ranges = tuple(ranges)
        options = {
            "bounds": [0.0, 1.0],
            "popsize": population,
            "seed": seed + 1,
            "verbose": -9,
            "maxiter": generations,
        }
        start = [float(r.unit(r.start)) for r in self.ranges]
        self._strategy = cma.CMAEvolutionStrategy(start, spread, options)
        self.best, self.cost = np.array([r.start for r in self.ranges]), np.inf
        self._requested: list[ndarray] = []

    @property
    def done(self) -> bool:
        return bool(self._strategy.stop())

    @property
    def spread(self) -> Float[ndarray, "k"]:
        """Return the standard deviations of the current generation around the best, in the units of the ranges."""
        units = np.array([float(r.unit(x)) for r, x in zip(self.ranges, self.best)])
        step = np.asarray(self._strategy.result.stds)
        ends = [np.clip(units + sign * step, 0.0, 1.0) for sign in (1.0, -1.0)]
        return np.array([0.5 * (r.value(a) - r.value(b)) for r, a, b in zip(self.ranges, *ends)])

    def ask(self) -> Float[ndarray, "n k"]:
        """Return the candidates of the next generation, one per row."""
        self._requested = [np.asarray(unit) for unit in self._strategy.ask()]
        units = np.array(self._requested)
        return np.stack([r.value(units[:, k]) for k, r in enumerate(self.ranges)], axis=1)

    def tell(self, costs: Float[ndarray, "n"]) -> None:
        """Report the costs of the candidates of the last ``ask``."""
        costs = np.where(np.isfinite(costs), costs, 1e30)
        self._strategy.tell(self._requested, costs.tolist())
        least = int(np.argmin(costs))
        if costs[least] < self.cost:
            unit = self._requested[least]
            self.best, self.cost = np.array([r.value(unit[k]) for k, r in enumerate(self.ranges)]), float(costs[least])


def minimise(
    cost: Callable[[Float[ndarray, "n k"]], Float[ndarray, "n"]],
    ranges: Sequence[Range],
    *,
    population: int = 16,
    generations: int = 40,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
    title: str = "",
) -> tuple[dict[str, float], float]:
    """Return (values by name, cost) of the best candidate of CMA-ES; ``cost`` evaluates a whole generation."""
    search = Search(ranges, population, generations, seed)
    for generation in range(generations):
        if search.done:
            break
        if progress is not None:
            progress(title, generation, generations)
        search.tell(cost(search.ask()))
    return {r.name: float(x) for r, x in zip(search.ranges, search.best)}, search.cost
