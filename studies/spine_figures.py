"""The figures of the spine study, from the table that ``footfall sweep examples/studies/spine.toml`` writes.

python studies/spine_figures.py out/spine --out out/spine
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from footfall.draw.style import COLORS, GREY, new_figure, style
from footfall.errors import InputError

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PANELS = {
    "speed": "speed [m/s]", "cost_of_transport": "cost of transport", "stride_length": "stride length [m]",
    "hop_height": "hop height [m]", "peak_force": "peak force [weights]", "tilt": "tilt, rms [deg]",
    "survived": "conditions survived", "flight": "in flight [share]",
}  # fmt: skip
SOUND = 0.75  # of the conditions survived: means over fewer are not drawn


def over_stiffness(table: xarray.Dataset) -> Figure:
    """A passive spine of any stiffness against a rigid one, trotting and bounding."""
    with style():
        figure = new_figure(9.0, 4.6)
        axes = figure.subplots(2, 4, sharex=True)
        for axis, (key, label) in zip(axes.ravel(), PANELS.items()):
            for color, gait in zip(COLORS, ("trot", "bound")):
                passive = _sound(table.sel(gait=gait, mode="passive").isel(phase=0), key)
                rigid = float(table[key].sel(gait=gait, mode="rigid").isel(phase=0, stiffness=0))
                axis.semilogx(table.stiffness, passive, "o-", color=color, markersize=3.5, label=f"{gait}, passive")
                axis.axhline(rigid, color=color, linestyle="--", linewidth=0.9, label=f"{gait}, rigid")
            _finish(axis, label, key)
        for axis in axes[-1]:
            axis.set_xlabel("spine stiffness [N m/rad]")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def over_phase(table: xarray.Dataset, gait: str = "bound") -> Figure:
    """An actuated spine by its phase against the first leg, stiffness by stiffness, and the rigid one."""
    with style():
        figure = new_figure(9.0, 4.6)
        axes = figure.subplots(2, 4, sharex=True)
        chosen = [k for k in table.stiffness.values if k >= 400.0]
        for axis, (key, label) in zip(axes.ravel(), PANELS.items()):
            for color, stiffness in zip(COLORS, chosen):
                cases = table.sel(gait=gait, mode="actuated", stiffness=stiffness)
                axis.plot(
                    table.phase, _sound(cases, key), "o-", color=color, markersize=3.5, label=f"{stiffness:g} N m/rad"
                )
            rigid = float(table[key].sel(gait=gait, mode="rigid").isel(phase=0, stiffness=0))
            axis.axhline(rigid, color=GREY, linestyle="--", linewidth=0.9, label="rigid")
            _finish(axis, label, key)
        for axis in axes[-1]:
            axis.set_xlabel("phase of the spine [cycles]")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5, title=gait)
    return figure


def _sound(cases: xarray.Dataset, key: str) -> Any:
    """A figure where enough conditions were survived for a mean to say something; survival itself everywhere."""
    values = cases[key].values
    return values if key == "survived" else np.where(cases["survived"].values >= SOUND, values, np.nan)


def _finish(axis: Any, label: str, key: str) -> None:
    axis.set_ylabel(label)
    if key != "speed":
        axis.set_ylim(bottom=0.0)
    if key == "survived":
        axis.set_ylim(0.0, 1.05)


def summary(table: xarray.Dataset) -> str:
    """The best of every mode as Markdown: the fastest of those that survive most conditions."""
    keys = ("survived", "speed", "cost_of_transport", "stride_length", "hop_height", "peak_force", "tilt")
    lines = [f"| gait | spine | stiffness, phase | {' | '.join(PANELS[k] for k in keys)} |", "|---" * 10 + "|"]
    for gait in ("trot", "bound"):
        for mode in ("rigid", "passive", "actuated"):
            cases = table.sel(gait=gait, mode=mode).stack(case=("stiffness", "phase"))
            able = cases.where(cases.survived >= float(cases.survived.max()) - 1e-9, drop=True)
            best = able.isel(case=int(np.argmax(able.speed.values)))
            stiffness, phase = best.case.item()
            where = {"rigid": "-", "passive": f"{stiffness:g}", "actuated": f"{stiffness:g}, {phase:g}"}[mode]
            numbers = " | ".join(f"{float(best[k]):.2f}" for k in keys)
            lines.append(f"| {gait} | {mode} | {where} | {numbers} |")
    return "\n".join(lines)


def read(place: Path) -> xarray.Dataset:
    """The table of a finished study: a NetCDF file, or the folder that holds one."""
    import xarray

    files = sorted(place.glob("*.nc")) if place.is_dir() else [place]
    if len(files) != 1 or not files[0].exists():
        raise InputError(f"{place} holds no table of a study: run  footfall sweep examples/studies/spine.toml  first")
    table = xarray.load_dataset(files[0], engine="h5netcdf")
    missing = [name for name in ("gait", "mode", "stiffness", "phase") if name not in table.dims]
    if missing:
        raise InputError(f"{files[0]} is not the spine study: it has no dimension {missing[0]}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description="Figures of the spine study.")
    parser.add_argument("table", type=Path, help="the folder or NetCDF file that footfall sweep wrote")
    parser.add_argument("--out", type=Path, default=Path("out/spine"))
    asked = parser.parse_args()
    table = read(asked.table)
    asked.out.mkdir(parents=True, exist_ok=True)
    over_stiffness(table).savefig(asked.out / "spine-stiffness.png")
    over_phase(table).savefig(asked.out / "spine-phase.png")
    print(summary(table))


if __name__ == "__main__":
    main()
