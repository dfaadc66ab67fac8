"""The report of the demo: an overview, then the evidence, then where to go next."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from footfall.recording.recording import Recording
from footfall_lab.demo import figures
from footfall_lab.demo.runs import DURATION, MANY, ROBOTS, SPEED, DemoRun, Many
from footfall_lab.demo.scene import Pair, scene
from footfall_lab.papers.claims import Claim, assess
from footfall_lab.papers.depaula2024.comparison import Comparison
from footfall_lab.papers.depaula2024.runs import core_seconds
from footfall_lab.papers.registered import registration
from footfall_lab.report.page import data_uri
from footfall_lab.report.style import CSS
from footfall_lab.verify.report import Report
from nptrace._types import Json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST = 1.0  # [s], during which the two simulators are compared, before small differences have grown
PAPER = "depaula2024"


@dataclass(frozen=True, kw_only=True)
class Demo:
    """The results of the demo's runs."""

    pairs: tuple[Pair, ...]
    trot: Recording
    trot_in_mujoco: Recording
    many: Many
    reports: tuple[Report, ...]

    @staticmethod
    def of(runs: dict[DemoRun, Recording | Many | Report]) -> Demo:
        """Return the results of all runs."""
        found: dict[str, list] = {}  # type: ignore[type-arg]
        for run in sorted(runs, key=lambda run: list(ROBOTS).index(run.subject) if run.subject else 0):
            found.setdefault(run.kind, []).append(runs[run])
        return Demo(
            pairs=tuple(Pair(*each) for each in zip(ROBOTS, found["walk"], found["walk_in_mujoco"])),
            trot=found["trot"][0],
            trot_in_mujoco=found["trot_in_mujoco"][0],
            many=found["many"][0],
            reports=tuple(found["check"]),
        )

    @property
    def dynamics_checks(self) -> int:
        return sum(len(report.checks) for report in self.reports)

    @property
    def dynamics_worst(self) -> float:
        return max(check.max_rel_error for report in self.reports for check in report.checks)

    @property
    def overlay(self) -> dict[str, Json]:
        """Return the differences between the first robot's run and MuJoCo's over the first second."""
        pair = self.pairs[0]
        ours, theirs = ({k: rec[k][rec.time <= FIRST] for k in ("q", "contact")} for rec in (pair.ours, pair.theirs))
        apart = 1e3 * np.abs(ours["q"][:, :3] - theirs["q"][:, :3]).mean(axis=0)
        return {
            "robot": pair.name,
            "seconds": FIRST,
            "position_difference_mm": [float(each) for each in apart],
            "contact_agreement": float((ours["contact"] == theirs["contact"]).mean()),
            "speeds": [pair.ours.mean_speed(FIRST), pair.theirs.mean_speed(FIRST)],
        }

    @property
    def seconds(self) -> dict[str, float]:
        """Return computing times of the paper's trot, printed and measured now [s]."""
        printed = {
            id: float(registration().entry(PAPER, id).printed or 0.0)
            for id in ("wall_time_10s", "mujoco_wall_time_10s")
        }
        return {
            "the paper's simulator, printed": printed["wall_time_10s"],
            "MuJoCo, printed": printed["mujoco_wall_time_10s"],
            "MuJoCo, this machine": core_seconds(self.trot_in_mujoco),
            "footfall, this machine": core_seconds(self.trot),
        }

    @property
    def fallen(self) -> tuple[str, ...]:
        """Return which robots fell, and in which simulator."""
        runs = [(pair.name, pair.ours, pair.theirs) for pair in self.pairs]
        runs.append(("the paper's Mini Cheetah", self.trot, self.trot_in_mujoco))
        return tuple(
            f"{name} in {engine}"
            for name, *both in runs
            for engine, rec in zip(("footfall", "MuJoCo"), both)
            if rec.meta.get("fell") or rec.meta.get("diverged")
        )

    def claims(self) -> list[Claim]:
        """Return the paper's statements about its trot, measured on this run."""
        found = Comparison.of(self.trot, self.trot_in_mujoco)
        made = []
        for id, value in found.sentences.items():
            if id == "spurious_contacts_are_mujocos":
                note = f"Shorter than 10 ms: {found.spurious[0]} in ours, {found.spurious[1]} in MuJoCo."
                made.append(assess(PAPER, id, float(found.spurious[1]), note, holds=value > 0.0))
            else:
                made.append(assess(PAPER, id, value, "Set A of the gait's constants, which are ours."))
        return made

    def sentences(self) -> list[str]:
        """Return sentences that compare the paper's statements about the two simulators with this run."""
        found = Comparison.of(self.trot, self.trot_in_mujoco)
        names = ("x", "y", "z", "yaw", "pitch", "roll")
        trunk = ", ".join(f"{name} {value:.2f}" for name, value in zip(names, found.trunk))
        return [
            f"The contact of the left fore foot is “very similar”: equal {100 * found.agreement:.0f} % of the time.",
            f"Its vertical force is “similar”: the two curves correlate {found.vertical:.2f}.",
            f"Peak forces are “slightly higher” than MuJoCo's: {found.peaks[0]:.0f} N against {found.peaks[1]:.0f} N.",
            "MuJoCo has “a few spurious” contacts, shorter than 10 ms:"
            f" {found.spurious[1]} there and {found.spurious[0] or 'none'} here.",
            f"The trunk moves “very similarly”: correlations {trunk}, of which pitch and roll move by less than a"
            " degree.",
        ]

    def to_json(self) -> dict[str, Json]:
        seconds = list(self.seconds.values())
        return {
            "claims": [claim.to_json() for claim in self.claims()],
            "dynamics_checks": self.dynamics_checks,
            "dynamics_worst": self.dynamics_worst,
            "overlay": self.overlay,
            "speedup": {"over_mujoco": seconds[2] / seconds[3], "over_paper": seconds[0] / seconds[3]},
            "fell": list(self.fallen),
        }

    def figures(self) -> dict[str, Figure]:
        """Return the figures by name."""
        return {
            "overlay": figures.overlaid(self.pairs),
            "trot": figures.trot(self.trot, self.trot_in_mujoco),
            "times": figures.times(self.seconds),
            "many": figures.many(self.many),
        }


def page(demo: Demo, drawn: dict[str, Figure], took: float) -> str:
    """Return the report as one HTML page that needs no network."""
    overlay, seconds, many = demo.overlay, list(demo.seconds.values()), demo.many
    speeds = overlay["speeds"]
    apart, agreed = overlay["position_difference_mm"][0], 100 * overlay["contact_agreement"]
    cards = [
        _card(
            f"{demo.dynamics_checks} checks",
            "of the rigid-body dynamics agree with Pinocchio and MuJoCo to"
            f" {demo.dynamics_worst:.0e} (largest relative difference)",
        ),
        _card(
            f"{apart:.1f} mm",
            "mean distance along x between the two simulators, for the Mini Cheetah above in the first second;"
            f" contacts agree {agreed:.0f} % of the time",
        ),
        _card(f"{seconds[2] / seconds[3]:.0f} times", "as fast as MuJoCo on the published trot below, on this machine"),
        _card(
            f"{_count(MANY)} robots",
            f"all different, walk for {many.duration:g} s under a learned policy in {many.seconds:.1f} s of processor"
            " time",
        ),
    ]
    captions = {
        "overlay": f"{DURATION:g} s from standing. The Mini Cheetah's mean speed after the first second:"
        f" {speeds[0]:.3f} m/s in footfall, {speeds[1]:.3f} m/s in MuJoCo, whose default contact is softer: feet sink"
        " some millimetres.",
        "trot": "The gait's constants are not published; these are ours, fixed before any comparison.",
        "times": "Published times are from the paper's machine; measured times are processor time of the steps on one"
        " core.",
        "many": f"{many.duration:g} s: each robot has a different trunk mass, ground friction, speed and turning rate;"
        f" {many.fell} fell. Default contact and joints, 1 ms steps, {many.seconds:.1f} s of processor time.",
    }
    figure = {name: _figure(drawn[name], caption, fits=name == "times") for name, caption in captions.items()}
    sentences = "".join(f"<li>{escape(reported)}</li>" for reported in demo.sentences())
    trot = [f"{rec.mean_speed(FIRST):.2f} m/s" for rec in (demo.trot, demo.trot_in_mujoco)]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>footfall: quadruped robots, simulated and controlled in Python</title>
<style>{CSS}{_CSS}</style>
</head>
<body>
<main>
<header>
<div class="kicker">footfall</div>
<h1>Model, simulate and control quadruped robots in Python</h1>
<p class="lead">Physics and controllers are plain NumPy, compiled to machine code. Here two robots walk at {SPEED:g} m/s
under model-predictive and whole-body control: a Mini Cheetah, and a robot read from a URDF file.
<span class="ours-ink">Solid: footfall.</span>
<span class="theirs-ink">Orange outline: the same controller in MuJoCo</span>, which hardly differs.</p>
</header>
{scene(demo.pairs)}
<div class="cards">{"".join(cards)}</div>
<h2>The same controller in both simulators</h2>
{figure["overlay"]}
<h2>A published trot, reproduced</h2>
<p>De Paula, Godoy and Becerra-Vargas (2024) compared their contact model with MuJoCo's on a trotting Mini Cheetah.
With the published constants, the robot trots at {trot[0]} here and at {trot[1]} in MuJoCo:</p>
{figure["trot"]}
<p>What they say about the two simulators, and what we see here:</p>
<ul>{sentences}</ul>
{figure["times"]}
<h2>{_count(MANY)} different robots</h2>
{figure["many"]}
<h2>Where to go next</h2>
<pre>{_NEXT}</pre>
<p class="small">docs/tutorials/ten-minutes.md takes you to your own controller in ten minutes.
Made by <code>footfall demo</code> in {took:.0f} s.</p>
</main>
</body>
</html>
"""


_NEXT = """\
footfall view                                  # drive a robot in the browser
footfall simulate my_robot.urdf --controller whole_body --speed 0.5
footfall reproduce all                         # five papers, claim by claim
footfall bench step                            # timings beside MuJoCo on this machine"""


def _card(number: str, text: str) -> str:
    return f'<div class="card"><b>{escape(number)}</b><span>{escape(text)}</span></div>'


def _count(number: int) -> str:
    """Return a count with thousands separated."""
    return f"{number:,}".replace(",", "\u202f")


def _figure(figure: Figure, caption: str, fits: bool = False) -> str:
    """Return the HTML of a figure; one that does not fit a narrow window scrolls sideways."""
    image = f'<img src="{data_uri(figure, 150)}" alt="{escape(caption)}">'
    kind = ' class="fits"' if fits else ""
    return f"<figure{kind}><div>{image}</div><figcaption>{escape(caption)}</figcaption></figure>"


_CSS = """
main { padding-top: 1.2rem; }
.ours-ink { color: #0072b2; font-weight: 600; } .theirs-ink { color: #d55e00; font-weight: 600; }
.scene { position: relative; margin: 1rem 0; }
.scene canvas { width: 100%; height: min(46vh, 430px); min-height: 260px; display: block; touch-action: pan-y;
  border: 1px solid var(--line); border-radius: 8px; cursor: grab; }
.scene button { position: absolute; right: .7rem; bottom: .7rem; border: 1px solid var(--line); border-radius: 999px;
  width: 2.1rem; height: 2.1rem; background: #fff; color: var(--soft); cursor: pointer; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: .8rem; }
.card { border: 1px solid var(--line); border-radius: 8px; padding: .7rem .9rem; }
.card b { display: block; font-size: 1.35rem; } .card span { color: var(--soft); font-size: .86rem; }
figure.fits { max-width: 44rem; }
@media (max-width: 640px) { figure:not(.fits) div { overflow-x: auto; }
  figure:not(.fits) div img { width: 720px; max-width: none; }
  figure:not(.fits) figcaption::before { content: "Move the picture sideways to see all of it. "; }
  pre { white-space: pre-wrap; } main { padding-left: 1rem; padding-right: 1rem; } }
"""
