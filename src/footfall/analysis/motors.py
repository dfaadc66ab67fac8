"""Motors from encoders alone: inertia, losses, bias, gain and delay of every joint from wanted and measured angles.

Two ways, which must agree where the recording says anything at all. By search: CMA-ES over lanes, every leg its own
search in the same lanes; an interval is what the candidates span that the recording cannot tell from the best (a ratio
of likelihoods). By gradients: Levenberg-Marquardt on exact sensitivities, intervals from σ² (JᵀJ)⁻¹. Both count only as
many residuals as their own correlation leaves independent. What a recording does not show is marked: kd times the gain
and damping show as a sum where a joint moves slowly, and so do delay and inertia.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from footfall.analysis.hanging import COLUMNS, RANGES, Hanging
from footfall.analysis.search import Search

Progress = Callable[[str, int, int], None]
_Z = 1.96  # half of a 95 % interval, in standard deviations
_WIDE = 0.25  # of its range: a 95 % interval that reaches so far to either side says nothing
_AT_BOUND = 1e-3  # of its range
_TIED = 0.95  # correlation of two estimates that show only together
_LAMBDAS = np.array([1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0])  # of Levenberg and Marquardt, a lane each
_LOW = np.array([r.low for r in RANGES])
_SPAN = np.array([r.high - r.low for r in RANGES])
_START = np.array([r.start for r in RANGES])
_PRIOR = 0.25  # of its range: how far a number that no residual speaks of may be from the start, as a deviation
_ENOUGH = 1e-5  # of the cost: an iteration that gains less is the last


@dataclass(frozen=True)
class Motors:
    """Parameters of the motors fitted to a recording: a table of one row a joint and a column each of ``COLUMNS``."""

    method: str
    table: Float[ndarray, "nj 7"]
    half_width: Float[ndarray, "nj 7"]  # of the 95 % interval
    tied: dict[tuple[int, int], str]  # (joint, column): what else it shows with alone
    rms: Float[ndarray, "nj"]  # of the rows that it was fitted to [rad]

    @property
    def identifiable(self) -> Bool[ndarray, "nj 7"]:
        """Whether an interval is narrow, and the estimate not at the end of its range."""
        return (self.half_width < _WIDE * _SPAN) & ~self.at_bound

    @property
    def at_bound(self) -> Bool[ndarray, "nj 7"]:
        place = (self.table - _LOW) / _SPAN
        return (place < _AT_BOUND) | (place > 1.0 - _AT_BOUND)

    def verdict(self, joint: int, column: int) -> str:
        """Return a remark on one number, or nothing."""
        if self.at_bound[joint, column]:
            return "at the end of its range"
        if self.half_width[joint, column] >= _WIDE * _SPAN[column]:
            with_ = self.tied.get((joint, column))
            return "not identifiable" + (f", shows with {with_} only" if with_ else "")
        return f"shows with {self.tied[joint, column]}" if (joint, column) in self.tied else ""


def start_table(hanging: Hanging) -> Float[ndarray, "nj 7"]:
    """Where both ways begin."""
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
    """CMA-ES for every leg; all legs' candidates run in the same lanes."""
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
    """Half of the width over which candidates were no worse than chance, as a likelihood ratio at 95 % has it.

    No less than what the last generation still spans: a search that is not at its end knows no better.
    """
    candidates, costs = (np.concatenate(column) for column in zip(*seen))
    independent = sum(len(away) / _correlation_time(x) for x in away.T)
    alike = candidates[costs <= search.cost * (1.0 + _Z**2 / independent)]
    return np.maximum(0.5 * np.ptp(alike, axis=0), _Z * search.spread)


# -- by gradients ------------------------------------------------------------------------------------------------------
def by_gradients(hanging: Hanging, rows: slice, *, iterations: int = 25, progress: Progress | None = None) -> Motors:
    """Levenberg-Marquardt within the ranges; dampings are tried side by side, and each leg takes its own.

    Numbers that the recording does not show stay near their start: a prior of a quarter of the range, weighed against
    as many residuals as are independent.
    """
    table = start_table(hanging)
    for iteration in range(iterations):
        if progress is not None:
            progress("gradients", iteration, iterations)
        away, slopes = hanging.sensitivities(table, rows)
        prices = np.array([_price(away[:, list(group)]) for group in hanging.groups])
        tables = np.repeat(table[None], len(_LAMBDAS) + 1, axis=0)  # the last stays
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
    """(J, r) of one leg in units of the ranges."""
    count = len(group) * len(COLUMNS)
    J = (slopes[:, group][:, :, group] * _SPAN).reshape(-1, count)
    return J, away[:, group].reshape(-1)


def _price(away: Float[ndarray, "n g"]) -> float:
    """Return the cost of leaving the start by a whole range, squared: as much as chance makes of it for ``_PRIOR``."""
    return sum(_correlation_time(x) * float(np.mean(x**2)) for x in away.T) / away.shape[1] / _PRIOR**2


def _strayed(hanging: Hanging, tables: Float[ndarray, "lanes nj 7"]) -> Float[ndarray, "lanes groups"]:
    """How far the legs' numbers are from the start, squared, in ranges."""
    away = np.sum(((tables - _START) / _SPAN) ** 2, axis=2)
    return np.stack([away[:, list(group)].sum(axis=1) for group in hanging.groups], axis=1)


def _steps(
    table: ndarray, away: ndarray, slopes: ndarray, group: list[int], price: float
) -> Float[ndarray, "lanes g 7"]:
    """Where each damping leads; numbers at an end of their range that would leave it stay there."""
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
    """(half widths of 95 % intervals, which estimates show together): a number without a slope has no interval."""
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
    """By how many rows in a row a residual says the same: 1 + 2 Σ ρ up to the first ρ that is not positive."""
    x = x - x.mean()
    size = 1 << (2 * len(x) - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(x, size)) ** 2
    rho = np.fft.irfft(spectrum)[: len(x)]
    rho = rho / max(rho[0], 1e-300)
    ends = np.flatnonzero(rho <= 0.0)
    return float(1.0 + 2.0 * np.sum(rho[1 : ends[0] if len(ends) else len(x)]))


def held_out(hanging: Hanging, motors: Motors | None, rows: slice) -> Float[ndarray, "nj"]:
    """Error of every joint over rows that nothing was fitted to [rad]; of the robot as it came, without motors."""
    table: ndarray = hanging.nominal if motors is None else motors.table
    return rms(hanging.errors(table[None], rows)[0])
