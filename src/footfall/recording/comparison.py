"""Differences between two recordings of the same robot, quantity by quantity, as one table.

Rows are compared at common times (``metrics.shared_rows``), so that a run that stopped early is compared while it
lasted.
"""

from __future__ import annotations

import html
import importlib
import math
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.errors import InputError, MissingExtraError
from footfall.recording import metrics
from footfall.recording.columns import unit_of
from footfall.recording.recording import Recording
from nptrace._types import Json

if TYPE_CHECKING:
    import pandas

_SKIPPED = ("time", "q", "v", "contact")  # columns that are compared in parts
_ANGLES = ("yaw", "pitch", "roll")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The difference |a - b| of one quantity over the common times of two recordings."""

    quantity: str
    unit: str
    mean: float
    rms: float
    largest: float
    at: float  # when it is largest [s]


@dataclass(frozen=True)
class Differences:
    """Differences of all common quantities of two recordings, with the time window [s] and number of rows."""

    rows: tuple[Difference, ...]
    start: float
    end: float
    shared: int
    contact_agreement: float | None  # fraction of the time in which both agree on the contact of a foot, 0 to 1

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.rows)

    def __getitem__(self, quantity: str) -> Difference:
        for row in self.rows:
            if row.quantity == quantity:
                return row
        raise InputError(f"there is no quantity '{quantity}': {', '.join(row.quantity for row in self.rows)}")

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with one row per quantity."""
        try:
            table = importlib.import_module("pandas")
        except ImportError:
            raise MissingExtraError("a pandas table", "tables", "pandas") from None
        return table.DataFrame([asdict(row) for row in self.rows]).set_index("quantity")

    @property
    def title(self) -> str:
        """Return a description of the time window."""
        return f"|a - b| from {self.start:g} to {self.end:g} s, {self.shared} shared rows"

    def cells(self) -> list[tuple[str, ...]]:
        """Return the table as text, its header first."""
        head = ("quantity", "unit", "mean", "rms", "largest", "at [s]")
        body = [(r.quantity, r.unit, *(f"{x:.4g}" for x in astuple(r)[2:])) for r in self.rows]
        if self.contact_agreement is not None:
            body.append(("contact agrees", "%", f"{100 * self.contact_agreement:.1f}", "", "", ""))
        return [head, *body]

    def __repr__(self) -> str:
        cells = self.cells()
        widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
        lines = [
            "  ".join(x.ljust(w) if k < 2 else x.rjust(w) for k, (x, w) in enumerate(zip(row, widths))) for row in cells
        ]
        return "\n".join([self.title, *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        rows = ["<tr>" + "".join(f"<td>{html.escape(x)}</td>" for x in row) + "</tr>" for row in self.cells()]
        return f"<p>{html.escape(self.title)}</p><table>{''.join(rows)}</table>"


def compare_recordings(a: Recording, b: Recording) -> Differences:
    """Return the differences of two runs: trunk, joints, forces, torques, energies, and all columns that both have.

    Args:
        a: The recording.
        b: The other recording.

    Returns:
        Differences at the times that both have.
    """
    for rec in (a, b):
        if not isinstance(rec, Recording):
            raise InputError(f"compare needs two Recordings, got {type(rec).__name__}")
    rows_a, rows_b = metrics.shared_rows(a, b)
    time = a.time[rows_a]
    found = []
    for name, (unit, left, right) in _quantities(a, b).items():
        apart = np.abs(left[rows_a] - right[rows_b])
        if name in _ANGLES:  # the shorter direction
            apart = np.minimum(apart, 360.0 - apart)
        apart = apart.reshape(len(time), -1).astype(float)
        if apart.size:
            worst = int(np.argmax(apart.max(axis=1)))
            rms = float(np.sqrt(np.mean(apart**2)))
            found.append(
                Difference(
                    quantity=name,
                    unit=unit,
                    mean=float(apart.mean()),
                    rms=rms,
                    largest=float(apart.max()),
                    at=float(time[worst]),
                )
            )
    agree = metrics.contact_agreement(a, b) if "contact" in a and "contact" in b and a.robot.nf else None
    return Differences(tuple(found), float(time[0]), float(time[-1]), len(time), agree)


def _quantities(a: Recording, b: Recording) -> dict[str, tuple[str, ndarray, ndarray]]:
    """Return unit and values of both by name: the trunk's position and angles, joints, then every further common
    column.
    """
    found: dict[str, tuple[str, ndarray, ndarray]] = {}
    if a.robot.floating:
        turned = [np.degrees(rec.trunk_euler()) % 360.0 for rec in (a, b)]
        for k, (axis, angle) in enumerate(zip("xyz", _ANGLES)):
            found[f"trunk {axis}"] = ("m", a.trunk_position[:, k], b.trunk_position[:, k])
            found[angle] = ("deg", turned[0][:, k], turned[1][:, k])
        found = dict(sorted(found.items(), key=lambda item: item[1][0] == "deg"))
        found["base angular velocity"] = ("rad/s", a.v[:, :3], b.v[:, :3])
        found["base velocity"] = ("m/s", a.v[:, 3:6], b.v[:, 3:6])
    found["joint position"] = ("rad", a.joint_position, b.joint_position)
    found["joint rate"] = ("rad/s", a.joint_velocity, b.joint_velocity)
    if "force" in a and "force" in b and "force_mean" not in a.columns.keys() & b.columns.keys():
        found["force mean"] = ("N", a.force_mean, b.force_mean)  # one of them recorded no impulses
    for name in a.columns:
        if name not in _SKIPPED and name in b and a[name].shape[1:] == b[name].shape[1:] and a[name].dtype != bool:
            found[name.replace("_", " ")] = (unit_of(name), a[name], b[name])
    return found


def comparison_json(a: Recording, b: Recording) -> dict[str, Json]:
    """Return the JSON object of a comparison: the keys of ``footfall compare`` first, then the whole table."""
    table = compare_recordings(a, b)
    floating, forces = a.robot.floating, "force" in a and "force" in b
    walls = [rec.meta.get("wall_seconds") for rec in (a, b)]
    return {
        "position_mae": metrics.position_mae(a, b).tolist() if floating else None,
        "euler_mae_deg": metrics.euler_mae_deg(a, b).tolist() if floating else None,
        "force_mae": metrics.force_mae(a, b) if forces else None,
        "force_mean_mae": metrics.force_mean_mae(a, b) if forces else None,
        "contact_agreement": table.contact_agreement,
        "peak_force": [metrics.peak_force(rec) for rec in (a, b)] if forces else None,
        "peak_force_mean": [metrics.peak_force_mean(rec) for rec in (a, b)] if forces else None,
        "wall_seconds": walls,
        "window": [table.start, table.end],
        "shared_rows": table.shared,
        "differences": [{key: _or_null(value) for key, value in asdict(row).items()} for row in table],
    }


def _or_null(value: Json) -> Json:
    """Return None for numbers that are not finite, which JSON lacks."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
