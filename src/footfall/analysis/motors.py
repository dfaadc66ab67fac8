"""Identification of motors from encoders alone: inertia, losses, bias, gain and delay of every joint.

There are two methods, which must agree where the recording is informative. Search: CMA-ES over lanes, one search per
leg in the same lanes; an interval spans the candidates that a likelihood-ratio test cannot distinguish from the best.
Gradients: Levenberg-Marquardt on exact sensitivities, with intervals from σ² (JᵀJ)⁻¹. Both count only as many residuals
as their autocorrelation leaves independent. Unidentifiable parameters are marked: where a joint moves slowly, only the
sum of kd times the gain and damping can be identified, and similarly for delay and inertia.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

from footfall.analysis.hanging import COLUMNS, RANGES, Hanging
from footfall.analysis.search import Search
from nptrace.array_types import Bool, Float

Progress = Callable[[str, int, int], None]
_Z = 1.96  # half of a 95 % interval, in standard deviations
_WIDE = 0.25  # fraction of its range: a 95 % interval that extends this far on either side carries no information
_AT_BOUND = 1e-3  # fraction of its range
_TIED = 0.95  # correlation above which only the combination of two estimates is identified
_LAMBDAS = np.array([1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0])  # Levenberg-Marquardt dampings, one per lane
_LOW = np.array([r.low for r in RANGES])
_SPAN = np.array([r.high - r.low for r in RANGES])
_START = np.array([r.start for r in RANGES])
_PRIOR = 0.25  # fraction of its range: standard deviation from the start for a number that no residual depends on
_ENOUGH = 1e-5  # fraction of the cost: an iteration that gains less is the last


@dataclass(frozen=True)
class Motors:
    """Fitted parameters of the motors: a table with one row per joint and a column for each of ``COLUMNS``."""

    method: str
    table: Float[ndarray, "nj 7"]
    half_width: Float[ndarray, "nj 7"]  # half widths of the 95 % intervals
    tied: dict[tuple[int, int], str]  # (joint, column): parameters identified only in combination with it
    rms: Float[ndarray, "nj"]  # rms error over the rows that it was fitted to [rad]

    @property
    def identifiable(self) -> Bool[ndarray, "nj 7"]:
        """Return whether an interval is narrow, and the estimate not at the end of its range."""
        return (self.half_width < _WIDE * _SPAN) & ~self.at_bound

    @property
    def at_bound(self) -> Bool[ndarray, "nj 7"]:
        place = (self.table - _LOW) / _SPAN
        return (place < _AT_BOUND) | (place > 1.0 - _AT_BOUND)

    def verdict(self, joint: int, column: int) -> str:
        """Return a remark on one number, or an empty string."""
        if self.at_bound[joint, column]:
            return "at the end of its range"
        if self.half_width[joint, column] >= _WIDE * _SPAN[column]:
            with_ = self.tied.get((joint, column))
            return "not identifiable" + (f", identified only in combination with {with_}" if with_ else "")
        return f"only in combination with {self.tied[joint, column]}" if (joint, column) in self.tied else ""


def start_table(hanging: Hanging) -> Float[ndarray, "nj 7"]:
    """Return where both methods start."""
    return np.tile([r.start for r in RANGES], (hanging.robot.nj, 1))


def rms(errors: Float[ndarray, "n nj"]) -> Float[ndarray, "nj"]:
    """Return the root mean square error of every joint [rad]."""
    return np.sqrt(np.mean(errors**2, axis=0))


# -- by search ---------------------------------------------------------------------------------------------------------
def by_search(
    hanging: Hanging,
    rows: slice,
    *,
    generations: int = 300,
    population: int = 16,
    seed: int = 0,
    progress: Progress | None = None,
) -> Motors:
    """Fit every leg by CMA-ES; the candidates of all legs run in the same lanes."""
    start = start_table(hanging)
    searches = [_leg_search(start, group, population, generations, seed) for group in hanging.groups]
    seen: list[list[tuple[ndarray, ndarray]]] = [[] for _ in searches]
    for generation in range(generations):
        if progress is not None:
            progress("CMA-ES", generation, generations)
        tables = np.repeat(start[None], population, axis=0)
        proposed = [search.ask() for search in searches]
        for group, candidates in zip(hanging.groups, proposed):
            tables[:, list(group)] = candidates.reshape(population, len(group), len(COLUMNS))
        costs = _costs(hanging, tables, rows)
        for k, search in enumerate(searches):
            search.tell(costs[:, k])
            seen[k].append((proposed[k], costs[:, k]))
    table, half = start.copy(), np.zeros_like(start)
    for search, group in zip(searches, hanging.groups):
        table[list(group)] = search.best.reshape(len(group), len(COLUMNS))
    away = hanging.errors(table[None], rows)[0]
    for group, search, known in zip(hanging.groups, searches, seen):
        half[list(group)] = _region(search, known, away[:, list(group)]).reshape(len(group), -1)
    return Motors("CMA-ES", table, half, {}, rms(away))


def _leg_search(table: ndarray, group: Sequence[int], population: int, generations: int, seed: int) -> Search:
    ranges = [replace(r, name=f"{j} {r.name}", start=float(table[j, k])) for j in group for k, r in enumerate(RANGES)]
    return Search(ranges, population, generations, seed)


def _region(search: Search, seen: list[tuple[ndarray, ndarray]], away: Float[ndarray, "n g"]) -> ndarray:
    """Return half the width over which candidates are no worse than chance, by a likelihood ratio at 95 %.

    At least the span of the last generation, since a search that has not converged knows no better.
    """
    candidates, costs = (np.concatenate(column) for column in zip(*seen))
    independent = sum(len(away) / _correlation_time(x) for x in away.T)
    alike = candidates[costs <= search.cost * (1.0 + _Z**2 / independent)]
    return np.maximum(0.5 * np.ptp(alike, axis=0), _Z * search.spread)


# -- by gradients ------------------------------------------------------------------------------------------------------
def by_gradients(hanging: Hanging, rows: slice, *, iterations: int = 25, progress: Progress | None = None) -> Motors:
    """Fit by Levenberg-Marquardt within the ranges; dampings are tried in parallel, and each leg takes its best.

    Parameters that the recording does not identify stay near their start: a prior of a quarter of the range, weighted
    against the number of independent residuals.
    """
    table = start_table(hanging)
    for iteration in range(iterations):
        if progress is not None:
            progress("gradients", iteration, iterations)
        away, slopes = hanging.sensitivities(table, rows)
        prices = np.array([_price(away[:, list(group)]) for group in hanging.groups])
        tables = np.repeat(table[None], len(_LAMBDAS) + 1, axis=0)  # the last row is kept
        for price, group in zip(prices, hanging.groups):
            tables[:-1, list(group)] = _steps(table, away, slopes, list(group), price)
        costs = _costs(hanging, tables, rows) + prices * _strayed(hanging, tables)
        gained = 0.0
        for k, group in enumerate(hanging.groups):
            least = int(np.nanargmin(costs[:, k]))
            gained = max(gained, 1.0 - costs[least, k] / costs[-1, k])
            table[list(group)] = tables[least, list(group)]
        if gained < _ENOUGH:
            break
    away, slopes = hanging.sensitivities(table, rows)
    half = np.zeros_like(table)
    tied: dict[tuple[int, int], str] = {}
    for group in hanging.groups:
        half[list(group)], more = _intervals(away, slopes, list(group))
        tied |= more
    return Motors("gradients", table, half, tied, rms(away))


def _costs(hanging: Hanging, tables: ndarray, rows: slice) -> Float[ndarray, "lanes groups"]:
    squares = np.sum(hanging.errors(tables, rows) ** 2, axis=1)
    return np.stack([squares[:, list(group)].sum(axis=1) for group in hanging.groups], axis=1)


def _normal(away: ndarray, slopes: ndarray, group: list[int]) -> tuple[ndarray, ndarray]:
    """Return (J, r) of one leg in units of the ranges."""
    count = len(group) * len(COLUMNS)
    J = (slopes[:, group][:, :, group] * _SPAN).reshape(-1, count)
    return J, away[:, group].reshape(-1)


def _price(away: Float[ndarray, "n g"]) -> float:
    """Return the cost of leaving the start by a whole range, squared: as much as chance allows for ``_PRIOR``."""
    return sum(_correlation_time(x) * float(np.mean(x**2)) for x in away.T) / away.shape[1] / _PRIOR**2


def _strayed(hanging: Hanging, tables: Float[ndarray, "lanes nj 7"]) -> Float[ndarray, "lanes groups"]:
    """Return the squared distance of each leg's numbers from the start, in ranges."""
    away = np.sum(((tables - _START) / _SPAN) ** 2, axis=2)
    return np.stack([away[:, list(group)].sum(axis=1) for group in hanging.groups], axis=1)


def _steps(
    table: ndarray, away: ndarray, slopes: ndarray, group: list[int], price: float
) -> Float[ndarray, "lanes g 7"]:
    """Return where each damping leads; numbers at an end of their range that would leave it stay there."""
    J, r = _normal(away, slopes, group)
    place = ((table[group] - _LOW) / _SPAN).reshape(-1)
    H = J.T @ J + price * np.eye(len(place))
    g = J.T @ r + price * (place - np.tile((_START - _LOW) / _SPAN, len(group)))
    held = ((place <= 0.0) & (g > 0.0)) | ((place >= 1.0) & (g < 0.0))
    H[held], H[:, held], g[held] = 0.0, 0.0, 0.0
    floor = 1e-9 * np.diag(H).max()
    found = []
    for damping in _LAMBDAS:
        step = np.linalg.solve(H + damping * np.diag(np.diag(H)) + floor * np.eye(len(H)), -g)
        found.append(np.clip(place + step, 0.0, 1.0).reshape(len(group), -1) * _SPAN + _LOW)
    return np.array(found)


def _intervals(
    away: ndarray, slopes: ndarray, group: list[int]
) -> tuple[Float[ndarray, "g 7"], dict[tuple[int, int], str]]:
    """Return (half widths of 95 % intervals, estimates identified only together); infinite without a derivative."""
    J, _ = _normal(away, slopes, group)
    share = np.sqrt([_correlation_time(away[:, j]) * np.mean(away[:, j] ** 2) for j in group])
    J = (J.reshape(len(away), len(group), -1) / share[:, None]).reshape(len(J), -1)
    lengths = np.linalg.norm(J, axis=0)
    seen = lengths > 1e-6 * lengths.max()
    C = np.zeros((len(lengths),) * 2)
    unit = J[:, seen] / lengths[seen]
    C[np.ix_(seen, seen)] = np.linalg.pinv(unit.T @ unit, rcond=1e-12) / np.outer(lengths[seen], lengths[seen])
    deviation = np.sqrt(np.diag(C))
    half = np.where(seen, _Z * deviation, np.inf).reshape(len(group), -1) * _SPAN
    correlation = C / np.maximum(np.outer(deviation, deviation), 1e-300)
    np.fill_diagonal(correlation, 0.0)
    tied = {}
    for k in np.flatnonzero(np.abs(correlation).max(axis=1) > _TIED):
        other = int(np.abs(correlation[k]).argmax())
        joint, column = divmod(int(k), len(COLUMNS))
        tied[group[joint], column] = COLUMNS[other % len(COLUMNS)]
    return half, tied


def _correlation_time(x: Float[ndarray, "n"]) -> float:
    """Return how many consecutive rows carry one independent residual: 1 + 2 Σ ρ over the first positive ρ."""
    x = x - x.mean()
    size = 1 << (2 * len(x) - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(x, size)) ** 2
    rho = np.fft.irfft(spectrum)[: len(x)]
    rho = rho / max(rho[0], 1e-300)
    ends = np.flatnonzero(rho <= 0.0)
    return float(1.0 + 2.0 * np.sum(rho[1 : ends[0] if len(ends) else len(x)]))


def held_out(hanging: Hanging, motors: Motors | None, rows: slice) -> Float[ndarray, "nj"]:
    """Return the error of every joint over the validation rows [rad], for the original robot without motors."""
    table: ndarray = hanging.nominal if motors is None else motors.table
    return rms(hanging.errors(table[None], rows)[0])
