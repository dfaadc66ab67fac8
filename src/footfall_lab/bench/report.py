"""The results of a bench, as JSON and as tables."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from footfall.sim.cores import cores
from footfall_lab.bench.targets import Target, checked
from footfall_lab.bench.timing import Row
from nptrace._types import Json

if TYPE_CHECKING:
    from rich.table import Table

_TYPES = {"f64": "float64", "f32": "float32"}


@dataclass(frozen=True, kw_only=True)
class BenchReport:
    """Times, ratios of peers' times to ours, numbers of operations, and the method of measurement."""

    bench: str
    rows: list[Row]
    ratios: Mapping[str, float | None]  # None: the peer is not installed
    operations: dict[str, int]
    method: str
    notes: list[str] = field(default_factory=list)
    machine: dict[str, Json] = field(default_factory=lambda: this_machine())
    robot: str | None = None  # a robot other than the Mini Cheetah, without targets

    def row(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)

    def checked(self) -> list[tuple[Target, float, bool]]:
        """Return (target, measured value, whether met) for every target that this bench measures."""
        if self.robot is not None:
            return []
        times = {row.name: row.ns for row in self.rows}
        return checked({**times, **self.ratios, **self.operations}, self.machine["vector_bits"])

    def to_json(self) -> dict[str, Json]:
        """Return the report as JSON, with the targets."""
        return {
            "bench": self.bench,
            **({} if self.robot is None else {"robot": self.robot}),
            "rows": [{"name": row.name, "ns": row.ns, "per": row.per} for row in self.rows],
            "ratios": dict(self.ratios),
            "operations": self.operations,
            "machine": self.machine,
            "method": self.method,
            "notes": self.notes,
            "targets": [
                {"what": t.what, "measured": value, "must": t.must, "goal": t.goal, "unit": t.unit, "met": met}
                for t, value, met in self.checked()
            ],
        }

    def machine_description(self) -> str:
        cpu, cores, lanes = (self.machine[key] for key in ("cpu", "cores", "lanes"))
        return f"Machine: {cpu}, {cores} cores, {lanes['f64']} lanes of f64 and {lanes['f32']} of f32"

    def tables(self) -> list[Table]:
        """Return tables of the times and of the targets."""
        from rich.table import Table

        times = Table(title=f"bench {self.bench}", title_justify="left")
        times.add_column("what")
        times.add_column("time", justify="right")
        times.add_column("per")
        for row in self.rows:
            times.add_row(row.name, spelled(row.ns), row.per)
        goals = Table(title="what to reach", title_justify="left")
        goals.add_column("what")
        for title in ("measured", "must", "goal"):
            goals.add_column(title, justify="right")
        goals.add_column("met")
        for target, value, met in self.checked():
            goal = target.within(value, target.goal)
            numbers = [target.spelled(x) for x in (value, target.must, target.goal)]
            goals.add_row(target.what, *numbers, "goal" if met and goal else "must" if met else "no")
        return [times, goals] if goals.rows else [times]


def merged(reports: Sequence[BenchReport], notes: Sequence[str] = ()) -> BenchReport:
    """Merge reports of several benches."""
    return BenchReport(
        bench="all",
        rows=[row for report in reports for row in report.rows],
        ratios={key: value for report in reports for key, value in report.ratios.items()},
        operations={key: value for report in reports for key, value in report.operations.items()},
        method=" ".join(f"{report.bench}: {report.method}" for report in reports),
        notes=[*(note for report in reports for note in report.notes), *notes],
    )


def spelled(ns: float) -> str:
    """Return a time in a suitable unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.4g} ns"


def this_machine() -> dict[str, Json]:
    """Return the processor, the cores available to this process, and the lanes that batches use on it."""
    import numpy as np

    from nptrace.runtime import lanes, machine
    from nptrace.runtime.cache import Cache

    if machine.unavailable():
        return {"cpu": _processor(), "cores": cores(), "lanes": {"f64": 1, "f32": 1}, "vector_bits": 0}
    host, store = machine.host(), Cache()
    return {
        "cpu": f"{_processor()} ({host.cpu})",
        "cores": cores(),
        "lanes": {key: lanes.choose(host, np.dtype(name), store, lanes.LONG) for key, name in _TYPES.items()},
        "vector_bits": host.vector_bits,
    }


def _processor() -> str:
    """Return the name that the processor reports."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
