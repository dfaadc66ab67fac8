"""Contact models against 570 real tosses: each is fitted to 50 and evaluated on the other 520, as is MuJoCo."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from footfall.draw.style import COLORS, GREY, new_figure, style
from footfall.errors import MissingExtraError
from footfall.spatial.gravity import STANDARD
from footfall_lab.papers.claims import Claim, Table, beside_others
from footfall_lab.reality.cube import CANDIDATES, ContactCandidate, Progress, Rival, evaluate, fit
from footfall_lab.reality.tosses import AFTER, HALF, RATE, TossErrors, Tosses, load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GENERATIONS, POPULATION = 30, 16  # for every model and for MuJoCo
_SHOWN = 3  # tosses in the figure


@dataclass(frozen=True)
class Fitted:
    """A contact model with its best values, its errors on the test tosses, and the cost."""

    model: ContactCandidate | Rival
    values: dict[str, float]
    errors: TossErrors  # on the test tosses
    run_seconds: float  # [s], all tosses in one batch, compiled


@dataclass(frozen=True)
class CubeStudy:
    tosses: Tosses
    held_out: np.ndarray
    fitted: dict[str, Fitted]

    @property
    def rival(self) -> Fitted | None:
        return self.fitted.get("mujoco")

    @property
    def best(self) -> Fitted:
        """Return the best of our models, by the median distance at the end."""
        return min((f for k, f in self.fitted.items() if k != "mujoco"), key=lambda f: end(f.errors))


def end(errors: TossErrors) -> float:
    """Return the median distance at the end of a toss [mm]."""
    return 1e3 * float(np.median(errors.end_position))


def study(quick: bool = False, progress: Progress | None = None) -> CubeStudy:
    """Fit and evaluate; ``quick``: few candidates, and without complementarity, whose fit takes minutes."""
    tosses, fits = load()
    models: list[ContactCandidate | Rival] = [
        model for model in CANDIDATES if not (quick and model.key == "complementarity")
    ]
    try:
        from footfall.mujoco.model import library

        library()
        models.append(Rival())
    except MissingExtraError:
        pass
    train, found = tosses.of(fits), {}
    for model in models:
        values, _ = fit(
            model,
            train,
            generations=4 if quick else GENERATIONS,
            population=8 if quick else POPULATION,
            progress=progress,
        )
        evaluate(model, tosses, values)  # compiles
        compiled = time.perf_counter()
        errors = evaluate(model, tosses, values)
        seconds = time.perf_counter() - compiled
        found[model.key] = Fitted(model, values, errors.of(~fits), seconds)
    return CubeStudy(tosses, ~fits, found)


def claims(found: CubeStudy) -> list[Claim]:
    """Return the claims that must hold, with MuJoCo's values."""
    best, rival, out = found.best, found.rival, []
    if rival is not None:
        theirs, ours = end(rival.errors), end(best.errors)
        claim, note = (
            "Cube: median distance at the end of a toss, within 10 % of MuJoCo's",
            f"{best.model.title}, held out",
        )
        out.append(beside_others("cube-end", claim, theirs, ours, ours <= 1.1 * theirs, "mm", note))
        theirs, ours = (1e3 * float(np.median(f.errors.impact_position)) for f in (rival, best))
        claim, note = (
            "Cube: median distance 34 ms after the first touch",
            "theirs: MuJoCo, fitted to the same tosses",
        )
        out.append(beside_others("cube-impact", claim, theirs, ours, ours <= theirs, "mm", note))
    seconds, claim = found.fitted["compliant"].run_seconds, "Cube: time for all 570 tosses in one batch"
    out.append(
        beside_others("cube-batch", claim, "seconds", seconds, seconds < 10.0, "s", "compliant contact, compiled")
    )
    fall, off = float(np.mean(found.tosses.g)), abs(found.tosses.scale - 1.0)
    claim = "Cube: free fall in the recording, with uncorrected lengths"
    note = f"lengths are {100 * off:.1f} % short, as the resting cube confirms, and are divided by that factor"
    out.append(beside_others("cube-scale", claim, STANDARD, fall, off < 0.05, "m/s²", note))
    return out


def table(found: CubeStudy) -> Table:
    """Return a table of the errors of every model."""
    header = (
        "law",
        "friction",
        "other values",
        "whole toss [mm, deg]",
        "end [mm, deg]",
        f"{1e3 * AFTER / RATE:.0f} ms after touch [mm, deg]",
        "570 tosses [s]",
    )
    rows = []
    for f in found.fitted.values():
        e = f.errors
        pairs = [(e.position, e.angle), (e.end_position, e.end_angle), (e.impact_position, e.impact_angle)]
        others = ", ".join(f"{k} {_short(k, v)}" for k, v in f.values.items() if k != "friction")
        rows.append(
            (
                f.model.title,
                f"{f.values['friction']:.3f}",
                others,
                *(f"{1e3 * np.median(p):.1f}, {np.degrees(np.median(a)):.1f}" for p, a in pairs),
                f"{f.run_seconds:.2g}",
            )
        )
    return Table("Cube tosses: medians over 520 test tosses", header, tuple(rows))


def _short(key: str, value: float) -> str:
    return f"{1e3 * value:.1f} mm" if key in ("height", "radius") else f"{value:.3g}"


def figure(found: CubeStudy) -> Figure:
    """Draw how many tosses end within a distance, how errors grow after the touch, and three tosses."""
    tosses = found.tosses.of(np.flatnonzero(found.held_out))
    rows = np.arange(-8, 60)
    with style():
        drawn = new_figure(10.5, 3.4)
        share, growth, side = drawn.subplots(1, 3)
        shown = _typical(found)
        some = tosses.of(shown)
        for (key, f), color in zip(found.fitted.items(), COLORS):
            dash = (0, (4, 1.5)) if key == "mujoco" else "-"
            ends = np.sort(1e3 * f.errors.end_position)
            share.plot(ends, np.linspace(0, 100, len(ends)), color=color, linestyle=dash, label=f.model.title)
            values = np.array([[f.values[r.name] for r in f.model.all_ranges]])
            p, _ = f.model.rollouts(tosses, values)
            away = 1e3 * np.linalg.norm(p - tosses.position, axis=-1)
            at = np.clip(tosses.touch[:, None] + rows, 0, tosses.length[:, None] - 1)
            median = np.median(np.take_along_axis(away, at, axis=1), axis=0)
            growth.plot(1e3 * rows / RATE, median, color=color, linestyle=dash)
            own, _ = f.model.rollouts(some, values)
            for k in range(_SHOWN):
                n = some.length[k]
                side.plot(own[k, :n, 0], own[k, :n, 2], color=color, linestyle=dash, lw=0.9)
        for k in range(_SHOWN):
            n = some.length[k]
            side.plot(
                some.position[k, :n, 0],
                some.position[k, :n, 2],
                ".",
                color=GREY,
                ms=2.5,
                zorder=0,
                label="measured" if k == 0 else None,
            )
        share.set(xlim=(0, 100), ylim=(0, 100), xlabel="distance at the end [mm]", ylabel="tosses [%]")
        share.set_title("520 test tosses: where they end")
        share.legend(loc="lower right")
        growth.set(xlabel="time after the first touch [ms]", ylabel="median distance [mm]")
        growth.set_title("how the error grows")
        side.set(xlabel="x [m]", ylabel="height of the centre [m]")
        side.axhline(HALF, color=GREY, lw=0.6)
        side.set_title("three tosses from the side")
        side.legend(loc="upper right")
        return drawn


def _typical(found: CubeStudy) -> np.ndarray:
    """Return tosses near the median error of our best model, with different launches."""
    order = np.argsort(found.best.errors.end_position)
    middle = order[int(0.45 * len(order)) : int(0.55 * len(order))]
    starts = found.tosses.q[np.flatnonzero(found.held_out)[middle], 0]
    return middle[np.argsort(starts)[[2, len(middle) // 2, -3]]]
