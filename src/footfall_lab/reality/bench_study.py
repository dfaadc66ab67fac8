"""Claims, tables and figures of the published benchmarks: SimBenchmark, contactbench, mpc_qpbenchmark, creep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from footfall.draw.style import COLORS, GREY, new_figure, style
from footfall_lab.papers.claims import Claim, Table, beside_others
from footfall_lab.reality import anymal, balls, creep, problems
from footfall_lab.reality.cube import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SECONDS = 10.0  # of timing


@dataclass(frozen=True, kw_only=True)
class BenchStudy:
    energy: list[anymal.EnergyRow]
    stand: list[anymal.StandRow]
    balls: list[balls.BallRow]
    contact: list[problems.ContactRow]
    programs: list[problems.ProgramRow]
    creep: list[creep.CreepRow]
    repeats: dict[str, float]


def study(quick: bool = False, progress: Progress | None = None) -> BenchStudy:
    reported = progress or (lambda what, done, of: None)
    energy, stand = anymal.measure(1.0 if quick else _SECONDS, reported, 1 if quick else len(anymal.STEPS))
    reported("balls, boxes and test problems", 1, 3)
    thrown, contact, programs = balls.measure(), problems.contact_rows(), problems.program_rows()
    reported("creep", 2, 3)
    return BenchStudy(
        energy=energy,
        stand=stand,
        balls=thrown,
        contact=contact,
        programs=programs,
        creep=creep.measure(),
        repeats=creep.repeats(),
    )


def claims(found: BenchStudy) -> list[Claim]:
    """Return claims about speed ratios, energies, residuals and creep."""
    stand = {row.name: row.step_us[0.005] for row in found.stand}
    ratio = stand["MuJoCo, no-slip"] / stand["footfall, compliant"]
    printed = anymal.PRINTED_STAND["MuJoCo 1.5 (Newton, no-slip)"] / anymal.PRINTED_STAND["RaiSim"]
    flight = {row.name: row for row in found.energy}
    ours, theirs = flight["footfall, default step"], flight["MuJoCo, Euler"]
    speed = theirs.step_us / ours.step_us
    printed_speed = anymal.PRINTED_SPEED["MuJoCo 1.5 Euler"] / anymal.PRINTED_SPEED["RaiSim"]
    dt = min(ours.errors)
    worst = max(max(row.signorini, row.cone, row.dissipation) for row in found.contact if row.solver.startswith("as"))
    drift = {row.name: row.drift for row in found.creep}
    hard, mujoco = drift["footfall, complementarity"], drift["MuJoCo, default contact"]
    return [
        beside_others(
            "anymal-stand",
            "ANYmal stands, dt 5 ms: time per step of MuJoCo over ours",
            printed,
            ratio,
            ratio > printed,
            "",
            "ours compliant, MuJoCo's soft with no-slip; theirs: MuJoCo over RaiSim, on their machine",
        ),
        beside_others(
            "anymal-speed",
            "ANYmal in flight: time per step of MuJoCo over ours",
            printed_speed,
            speed,
            speed > printed_speed,
            "",
            "Euler; theirs: MuJoCo over RaiSim",
        ),
        beside_others(
            "anymal-energy",
            f"ANYmal in flight: mean square error of energy at dt {dt:g} s",
            theirs.errors[dt],
            ours.errors[dt],
            ours.errors[dt] <= 1.05 * theirs.errors[dt],
            "J²",
            "theirs: MuJoCo, repeated here",
        ),
        beside_others(
            "contactbench",
            "contactbench's two problems: worst residual of the solver as simulated",
            problems.THEIR_STOP,
            worst,
            worst < problems.THEIR_STOP,
            "m/s",
            "theirs: stopping tolerance of their tests",
        ),
        beside_others(
            "creep",
            "Mini Cheetah on a slope of 15 degrees: creep of complementarity and of MuJoCo",
            mujoco,
            hard,
            hard < mujoco,
            "um/s",
            f"theirs: MuJoCo's defaults, here; its issue 3328 reports {creep.PRINTED}",
        ),
        beside_others(
            "repeats",
            "A run is reproducible bit for bit: repeated, in a batch, among others",
            0.0,
            max(found.repeats.values()),
            max(found.repeats.values()) == 0.0,
        ),
    ]


def tables(found: BenchStudy) -> list[Table]:
    steps = tuple(found.energy[0].errors)
    energy = [(row.name, f"{row.step_us:.2f}", *(f"{row.errors[dt]:.2g}" for dt in steps)) for row in found.energy] + [
        (f"{name} (printed)", f"{1e6 * anymal.PRINTED_SPEED[name] / 3000:.2f}", *(f"{row[dt]:.2g}" for dt in steps))
        for name, row in anymal.PRINTED_ENERGY.items()
    ]
    stand = [
        (row.name, *(f"{row.step_us[dt]:.2f}" for dt in anymal.STAND_STEPS), f"{row.drift:.2g}") for row in found.stand
    ] + [(f"{name} (printed)", f"{1e6 * t / 5e4:.1f}", "", "", "") for name, t in anymal.PRINTED_STAND.items()]
    bounce = [
        (
            row.name,
            *(f"{row.bouncing[dt]:.2g}" if row.bouncing else "–" for dt in balls.STEPS),
            f"{row.sliding:.1g}",
            f"{row.rolling:.1g}",
        )
        for row in found.balls
    ] + [
        (f"{name} (printed)", *(f"{row[dt]:.2g}" for dt in balls.STEPS), "", "") for name, row in balls.PRINTED.items()
    ]
    contact = [
        (r.problem, r.solver, f"{r.signorini:.0e}", f"{r.cone:.0e}", f"{r.dissipation:.0e}", str(r.iterations))
        for r in found.contact
    ]
    programs = [
        (r.problem, r.solver, *(f"{x:.0e}" for x in (r.primal, r.dual, r.gap)), f"{r.seconds:.2g}")
        for r in found.programs
    ] + [
        (name, f"{solver} (printed)", *(f"{x:.0e}" for x in row[:3]), f"{row[3]:.2g}")
        for name, each in problems.PRINTED_QP.items()
        for solver, row in each.items()
    ]
    drift = [(row.name, f"{row.drift:.2g}") for row in found.creep]
    flights = tuple(f"dt {dt:g}" for dt in steps)
    return [
        Table(
            "ANYmal in flight: time of a step [us], mean square error of energy [J²]",
            ("engine", "step", *flights),
            tuple(energy),
        ),
        Table(
            "ANYmal stands: time of a step [us], drift of the base over 250 s at dt 5 ms [mm]",
            ("engine", *(f"dt {1e3 * dt:g} ms" for dt in anymal.STAND_STEPS), "drift"),
            tuple(stand),
        ),
        Table(
            "Bouncing [J²] by dt; sliding and rolling [m²/s²] at dt 1 ms",
            ("engine", *(f"dt {dt:g}" for dt in balls.STEPS), "sliding", "rolling"),
            tuple(bounce),
        ),
        Table(
            "contactbench: residuals [m/s]",
            ("problem", "solver", "Signorini", "cone", "dissipation", "iterations"),
            tuple(contact),
        ),
        Table(
            "mpc_qpbenchmark: errors",
            ("problem", "solver", "primal", "dual", "gap", "seconds"),
            tuple(programs),
            "Seconds printed are of their machine.",
        ),
        Table("Creep on a slope of 15 degrees [um/s]", ("law", "drift"), tuple(drift)),
    ]


def figure(found: BenchStudy) -> Figure:
    """Draw energy error over speed as in SimBenchmark, one point per dt; and the time per step of the stand."""
    with style():
        drawn = new_figure(9.5, 4.2)
        energy, stand = drawn.subplots(1, 2)
        for row, color in zip(found.energy, COLORS):
            dts = sorted(row.errors)
            factor = [1e6 * dt / row.step_us for dt in dts]
            energy.loglog(factor, [max(row.errors[dt], 1e-22) for dt in dts], "o-", color=color, ms=4, label=row.name)
        for name, marks in (("RaiSim", "s"), ("MuJoCo 1.5 Euler", "^")):
            printed = anymal.PRINTED_ENERGY[name]
            per_step = anymal.PRINTED_SPEED[name] / 3000
            energy.loglog(
                [dt / per_step for dt in printed],
                list(printed.values()),
                f"{marks}:",
                color=GREY,
                ms=4,
                lw=0.8,
                label=f"{name}, printed",
            )
        energy.set(xlabel="simulated seconds a second", ylabel="mean square error of energy [J²]")
        energy.set_title("ANYmal in flight")
        energy.legend(fontsize=6.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
        names = [row.name for row in found.stand] + [f"{name}, printed" for name in anymal.PRINTED_STAND]
        times = [row.step_us[0.005] for row in found.stand] + [1e6 * t / 5e4 for t in anymal.PRINTED_STAND.values()]
        colors = [COLORS[0] if "footfall" in name else GREY if "printed" in name else COLORS[2] for name in names]
        stand.barh(range(len(names)), times, color=colors)
        for k, t in enumerate(times):
            stand.text(1.1 * t, k, f"{t:.3g}", va="center", fontsize=7)
        stand.set_yticks(range(len(names)), names, fontsize=7)
        stand.invert_yaxis()
        stand.set(xscale="log", xlabel="time of a step [us]", xlim=(0.2, 3e3))
        stand.set_title("ANYmal stands under PD, dt 5 ms")
        return drawn
