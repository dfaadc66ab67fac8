"""Claims of the survey of Adak et al. 2021 about the uses of spines, assessed by runs of ``spine_study``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from footfall_lab.papers.adak2021 import spine_study
from footfall_lab.papers.adak2021.spine_study import SpineCase
from footfall_lab.papers.claims import Claim, Spread, Table, assess
from footfall_lab.papers.registered import registration, setup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "adak2021"
RIGID = SpineCase("rigid", swing=0.0)
ARTICULATED = ("passive", "lockable", "actuated", "series_elastic")
Run = tuple[str, float]  # gait, commanded speed [m/s]
BOUND: tuple[Run, ...] = (("bound", 1.0), ("bound", 2.0))
GALLOP: tuple[Run, ...] = (("rotary_gallop", 1.5), ("rotary_gallop", 2.0))
FAST: tuple[Run, ...] = (("rotary_gallop", 2.0), ("rotary_gallop", 2.5))
TROT: tuple[Run, ...] = (("trot", 0.5), ("trot", 1.0))


def cases() -> list[SpineCase]:
    """Return every registered spine."""
    fixed = setup(NAME)
    springs, phases, swing = fixed["spine_stiffness"], fixed["spine_phases"], fixed["spine_swing"]
    found = [RIGID]
    found += [SpineCase(kind, k, swing=0.0) for kind in ("passive", "lockable") for k in springs]
    found += [SpineCase("actuated", phase=phase, swing=swing) for phase in phases]
    return found + [SpineCase("series_elastic", k, phase, swing) for k in springs for phase in phases]


@dataclass(frozen=True)
class Finding:
    """The result of one start for a sentence: a number for its bound, or whether it holds."""

    id: str
    value: float | str
    words: str
    holds: bool | None = None  # for a sentence without a number
    missing: str = ""  # the reason why there is no number

    @property
    def good(self) -> bool:
        """Return whether the sentence holds for this start."""
        if self.missing:
            return False
        if self.holds is not None:
            return self.holds
        entry = registration().entry(NAME, self.id)
        return registration().bounds[entry.kind].met(entry.printed, float(self.value))


@dataclass
class Spines:
    """All runs from one start, and the claims that they assess."""

    found: dict[tuple[SpineCase, str, float, float], dict[str, float]]

    @staticmethod
    def run(start: int = 0) -> Spines:
        """Perform all runs; the first start is the exact one."""
        fixed = setup(NAME)
        speeds = {gait: tuple(values) for gait, values in fixed["spine_speeds"].items()}
        more = {"bound": tuple(v for v in fixed["spine_bound_speeds"] if v not in speeds["bound"])}
        noise = fixed["spine_start_noise"] if start else 0.0
        fast = [case for case in cases() if case.kind in ("rigid", "actuated")]
        found = spine_study.measured(cases(), speeds, (fixed["friction"],), start=start, noise=noise)
        return Spines(found | spine_study.measured(fast, more, (fixed["friction"],), start=start, noise=noise))

    def rows(self, case: SpineCase, runs: Sequence[Run]) -> list[dict[str, float]]:
        return [self.found[case, gait, speed, setup(NAME)["friction"]] for gait, speed in runs]

    def stays_up(self, case: SpineCase, runs: Sequence[Run]) -> bool:
        return all(row["survived"] for row in self.rows(case, runs))

    def mean(self, case: SpineCase, key: str, runs: Sequence[Run]) -> float:
        """Return the mean over all runs; NaN if the robot falls in one of them."""
        return float(np.mean([row[key] for row in self.rows(case, runs)]))

    def best(self, kinds: Sequence[str], runs: Sequence[Run], **having: float) -> SpineCase | None:
        """Return the case of least cost that stays up in all runs; None if all cases fall."""
        able = [
            case
            for case in cases()
            if case.kind in kinds
            and all(getattr(case, k) == v for k, v in having.items())
            and self.stays_up(case, runs)
        ]
        return min(able, key=lambda case: self.mean(case, "cost_of_transport", runs), default=None)

    def ratio(self, key: str, kinds: Sequence[str], runs: Sequence[Run]) -> tuple[float, str]:
        """Return (a quantity of the best spine of some kinds over that of the rigid spine, both in words)."""
        case, rigid = self.best(kinds, runs), self.mean(RIGID, key, runs)
        if case is None:
            return float("nan"), f"Every {' or '.join(map(_kind, kinds))} spine falls in one of the runs."
        own = self.mean(case, key, runs)
        return own / rigid, f"{_words(case)}: {own:.3g} against {_number(rigid)} of the rigid one."

    def top_speed(self, case: SpineCase, gait: str) -> float:
        speeds = setup(NAME)["spine_speeds" if gait == "rotary_gallop" else "spine_bound_speeds"]
        speeds = speeds[gait] if isinstance(speeds, dict) else speeds
        rows = self.rows(case, [(gait, v) for v in speeds])
        return max((row["speed"] for row in rows if row["survived"]), default=0.0)

    # -- findings ------------------------------------------------------------------------------------------------------
    def findings(self) -> list[Finding]:
        """Return the findings of this start for every sentence that the runs can assess."""

        def over_rigid(id: str, key: str, kinds: Sequence[str], runs: Sequence[Run], why: str = "") -> Finding:
            ratio, words = self.ratio(key, kinds, runs)
            return Finding(id, ratio, f"{words} {why}".rstrip(), missing=_fallen(ratio))

        held = "The legs place feet and forces as if the spine were rigid."
        return [
            over_rigid("spine_reduces_ground_forces", "peak_force", ["passive"], (*BOUND, *GALLOP), held),
            over_rigid("flexible_spine_reduces_height_change", "height_change", ["passive"], BOUND, held),
            over_rigid("flexible_spine_saves_energy", "cost_of_transport", ["passive"], BOUND),
            over_rigid("elastic_spine_saves_in_gallop", "cost_of_transport", ["passive"], GALLOP),
            over_rigid("active_spine_saves_energy", "cost_of_transport", ["actuated"], BOUND),
            self._saves_most(),
            self._softer(),
            self._fastest("spine_raises_top_speed", "rotary_gallop", ARTICULATED),
            self._fastest("actuated_spine_bounds_faster", "bound", ("actuated",)),
            over_rigid("spine_saves_at_high_speed", "cost_of_transport", ARTICULATED, FAST),
            self._hops(),
            over_rigid("lock_reduces_peak_force", "peak_force", ["lockable"], BOUND, held),
            over_rigid("active_spine_lowers_horizontal_impulse", "horizontal_force", ["actuated"], BOUND, held),
            self._bends(),
            over_rigid("spine_relieves_legs_in_trot", "leg_work", ["actuated", "series_elastic"], TROT),
            over_rigid("spine_relieves_legs_in_bound", "leg_work", ["actuated"], BOUND),
            self._supplements(),
            self._many_gaits(),
            self._bounds_stably(),
        ]

    def _hops(self) -> Finding:
        """Return the rise in flight, in a bound with a flight phase; ours may not have one."""
        ratio, words = self.ratio("hop_height", ["actuated"], BOUND)
        rigid = self.mean(RIGID, "hop_height", BOUND)
        words = f"{words} Heights in m; the range of the height, which is not hopping, is a separate claim."
        flat = "" if rigid > 1e-3 else "a bound with a flight: under this controller a foot is always on the ground"
        return Finding("actuated_spine_hops_higher", ratio, words, missing=flat or _fallen(ratio))

    def _saves_most(self) -> Finding:
        key = "cost_of_transport"
        others = {case: self.mean(case, key, BOUND) for case in (RIGID, self.best(["passive"], BOUND)) if case}
        rival = min(others, key=lambda case: others[case])
        case = self.best(["series_elastic"], BOUND)
        own = float("nan") if case is None else self.mean(case, key, BOUND)
        words = f"{_words(case)}: {own:.3g}" if case else "Every series-elastic spine falls"
        ratio, note = own / others[rival], f"{words}, against {others[rival]:.3g} of {_words(rival).lower()}."
        return Finding("series_elastic_spine_saves_most", ratio, note, missing=_fallen(ratio))

    def _softer(self) -> Finding:
        soft, stiff = setup(NAME)["spine_stiffness"]
        ratios = {}
        for kind in ("series_elastic", "passive"):
            both = [self.best([kind], BOUND, stiffness=k) for k in (soft, stiff)]
            costs = [float("nan") if case is None else self.mean(case, "cost_of_transport", BOUND) for case in both]
            ratios[kind] = costs[0] / costs[1]
        gains = {kind: ratio <= 0.95 for kind, ratio in ratios.items()}
        return Finding(
            "only_actuated_gains_by_softness",
            ", ".join(f"{r:.3g}" if np.isfinite(r) else "falls" for r in ratios.values()),
            f"Cost of transport at {soft:g} over that at {stiff:g} N m/rad, or that all spines of one stiffness fall.",
            holds=gains["series_elastic"] and not gains["passive"],
        )

    def _fastest(self, id: str, gait: str, kinds: Sequence[str]) -> Finding:
        speeds = {case: self.top_speed(case, gait) for case in cases() if case.kind in ("rigid", *kinds)}
        case = max((c for c in speeds if c.kind != "rigid"), key=lambda c: speeds[c])
        note = f"{_words(case)}: {speeds[case]:.2f} against {speeds[RIGID]:.2f} m/s of the rigid one."
        return Finding(id, speeds[case] / speeds[RIGID] if speeds[RIGID] else float("nan"), note)

    def _bends(self) -> Finding:
        case = SpineCase("passive", max(setup(NAME)["spine_stiffness"]), swing=0.0)
        bends = {gait: self.mean(case, "bend", [(gait, 1.0)]) for gait in ("trot", "bound", "rotary_gallop")}
        trot, bound, gallop = bends.values()
        reported = ", ".join(
            f"{bend:.3f} rad in a {gait.split('_')[-1]}" if np.isfinite(bend) else f"falls in a {gait.split('_')[-1]}"
            for gait, bend in bends.items()
        )
        ratio = float(trot / np.mean([bound, gallop]))
        note = f"{_words(case)}: {reported}, sag included."
        return Finding("symmetrical_gaits_bend_less", ratio, note, missing=_fallen(ratio))

    def _supplements(self) -> Finding:
        case = self.best(["actuated"], FAST)
        share = float("nan") if case is None else self.mean(case, "spine_share", FAST)
        words = f"{_words(case)}." if case else "Every actuated spine falls in one of the runs."
        return Finding("spine_supplements_power", share, words, missing=_fallen(share))

    def _many_gaits(self) -> Finding:
        springs = [case for case in cases() if case.kind == "passive"]
        able = {
            gait: [case for case in springs if self.stays_up(case, runs)]
            for gait, runs in (("trot", TROT), ("bound", BOUND), ("gallop", GALLOP))
        }
        words = ", ".join(
            f"{gait}: {' and '.join(f'{case.stiffness:g} N m/rad' for case in found) or 'none'}"
            for gait, found in able.items()
        )
        good = sum(map(bool, able.values()))
        return Finding("elastic_spine_in_many_gaits", float(good), f"Upright, {words}.", holds=good == len(able))

    def _bounds_stably(self) -> Finding:
        able = [case for case in cases() if case.kind == "actuated"]
        runs = [row["survived"] for case in able for row in self.rows(case, BOUND)]
        up = [f"{case.phase:g}" for case in able if self.stays_up(case, BOUND)]
        return Finding(
            "actuated_spine_bounds_stably",
            100.0 * float(np.mean(runs)),
            f"Upright at both speeds with phase {', '.join(up) or 'none'} of {len(able)}.",
            holds=bool(up),
        )

    # -- presentation --------------------------------------------------------------------------------------------------
    def table(self) -> Table:
        header = (
            "gait",
            "spine",
            "stays up",
            "speed [m/s]",
            "cost of transport",
            "of the legs",
            "peak force [weights]",
            "height change [mm]",
            "bend [rad]",
        )
        rows: list[tuple[str, ...]] = []
        for gait, runs in {"trot": TROT, "bound": BOUND, "gallop": GALLOP}.items():
            for kind in ("rigid", *ARTICULATED):
                case = self.best([kind], runs)
                if case is None:
                    rows.append((gait, _kind(kind), "no", *("–",) * 6))
                    continue
                values = [self.mean(case, key, runs) for key in KEYS]
                values[4] *= 1e3
                rows.append((gait, _words(case), "yes", *(f"{x:.3g}" for x in values)))
        return Table(
            "Spines: the cheapest of each kind that stays up, mean over the speeds of a gait",
            header,
            tuple(rows),
            "Trot at 0.5 and 1, bound at 1 and 2, rotary gallop at 1.5 and 2 m/s. Peak force on one foot, filtered by"
            " 5 ms. Springs and brakes cost nothing; positive work of motors counts.",
        )

    def figure(self) -> Figure:
        """Draw cost, force, height change and top speed of every kind, relative to the rigid spine."""
        from matplotlib.figure import Figure

        from footfall.draw.style import COLORS

        figure = Figure(figsize=(7.5, 3.2), layout="constrained")
        panels = {
            "cost of transport": "cost_of_transport",
            "peak force": "peak_force",
            "height change": "height_change",
        }
        for axis, (label, key) in zip(figure.subplots(1, 3, sharey=True), panels.items()):
            for k, kind in enumerate(ARTICULATED):
                values = [self.ratio(key, [kind], runs)[0] for runs in (TROT, BOUND, GALLOP)]
                axis.bar(np.arange(3) + 0.2 * (k - 1.5), values, 0.2, color=COLORS[k], label=_kind(kind))
            axis.axhline(1.0, color="black", linewidth=0.8)
            axis.set_xticks(range(3), ["trot", "bound", "gallop"])
            axis.set_title(label, fontsize="medium")
        figure.axes[0].set_ylabel("over the rigid spine's")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
        return figure


@dataclass
class Starts:
    """The runs from every start, by which the sentences are assessed."""

    each: list[Spines]

    @staticmethod
    def run(report: Callable[[int, int], None] | None = None) -> Starts:
        """Perform the runs from all registered starts."""
        count, found = setup(NAME)["spine_starts"], []
        for start in range(count):
            if report is not None:
                report(start, count)
            found.append(Spines.run(start))
        return Starts(found)

    def claims(self) -> list[Claim]:
        """Assess every sentence of the survey that is about motion: it is shown if it holds from every start."""
        by_start = [spines.findings() for spines in self.each]
        made = [_over_starts([found[k] for found in by_start]) for k in range(len(by_start[0]))]
        strides = assess(
            NAME, "actuated_spine_lengthens_strides", None, "The page on the spine has the speeds reached."
        )
        return [*made, strides, *(assess(NAME, id, None) for id in NOT_ASKED)]


def _over_starts(found: Sequence[Finding]) -> Claim:
    """Assess a sentence by the share of starts in which it holds."""
    first, count = found[0], len(found)
    known = [float(f.value) for f in found if f.holds is None and np.isfinite(float(f.value)) and not f.missing]
    if all(f.missing for f in found):
        return assess(NAME, first.id, None, first.words, missing=first.missing)
    ends = np.percentile(known, (0.0, 50.0, 100.0)).tolist() if known else [None] * 3
    share = float(np.mean([f.good for f in found]))
    spread = Spread(of="starts", runs=count, low=ends[0], middle=ends[1], high=ends[2], share=share)
    none = sum(bool(f.missing) for f in found)
    note = f"{first.words}{f' A robot falls in {none} of the starts: no number.' if none else ''}"
    measured = ends[1] if known else first.value
    return assess(NAME, first.id, measured, note, spread=spread, by_spread=True)


NOT_ASKED = tuple(id for id in registration().claims[NAME] if id.startswith("survey_"))
KEYS = ("speed", "cost_of_transport", "leg_work", "peak_force", "height_change", "bend")
CAPTION = "Spines relative to the rigid one: the cheapest of each kind that stays up, by gait; none where all fall."


def _number(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else "a fall"


def _fallen(ratio: float) -> str:
    """Return what is missing if a run of a ratio fell; "" if the ratio is a number."""
    return "" if np.isfinite(ratio) else "a run without a fall for every spine and gait compared"


def _kind(kind: str) -> str:
    return kind.replace("_", "-")


def _words(case: SpineCase) -> str:
    """Return a description of a spine: "Series-elastic, 300 N m/rad, phase 0.25"."""
    parts = [_kind(case.kind).capitalize()]
    parts += [f"{case.stiffness:g} N m/rad"] if case.kind not in ("rigid", "actuated") else []
    parts += [f"phase {case.phase:g}"] if case.swing else []
    return ", ".join(parts)
