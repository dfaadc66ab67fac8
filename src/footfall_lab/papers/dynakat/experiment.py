"""The DynaKat report (Tacescu, Shantha Kumar, Morcel, Crawford): legs of four joints, FABRIK, oscillators, margins.

The report gives a Denavit-Hartenberg table, one time, and otherwise statements; masses, limits and gaits are chosen.
Each statement is measured on this robot, with FABRIK in the loop, which the report leaves for future work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall import gait
from footfall.analysis.run_stability import Stability, stability
from footfall.compiling import compile
from footfall.contact.points import knees, trunk_corners
from footfall.control.joint.joint_pd import Hold, JointPD
from footfall.dynamics import coriolis_matrix, gravity_terms, mass_matrix
from footfall.dynamics.formalisms import lagrange
from footfall.kinematics.iterative.fabrik_leg import contact_angle
from footfall.kinematics.iterative.resolved_rate import manipulability
from footfall.kinematics.leg_chain import foot_jacobian, foot_position, leg_chain
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.robot.library.dynakat import table
from footfall.robot.model import dh
from footfall.robot.model.description import Robot
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall.spatial.gravity import STANDARD
from footfall_lab.papers.claims import Claim, Outcome, Table, assess
from footfall_lab.papers.dynakat import figures, further, leg_race, margins, published, rhythm
from footfall_lab.papers.dynakat.leg_race import COARSE, FINE, METHODS, Racer, best_time
from footfall_lab.papers.registered import setup
from nptrace.array_types import Float

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "dynakat"
TITLE = "Four joints per leg, FABRIK and oscillators (the DynaKat report)"
FIG7 = (math.pi / 2, 0.0, -math.pi / 2, -math.pi / 2)  # the configuration of Fig. 7
FIG7_FOOT = (0.050, -0.030, -0.075)  # [m]: thigh forward, shank down, foot back, by hand from Table I
DROP = setup(NAME)["drop"]  # height of the trunk above its standing height [m]
CLOSED = "closed form, all branches, nine angles of a fourth link"
COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 40, 64, 100)  # numbers of iterations in Fig. 1

Progress = Callable[[str, int, int], None]


def run(quick: bool = False, progress: Progress | None = None, workers: int = 1) -> Outcome:
    """Assess all claims. ``quick``: fewer targets, on this robot only, and fewer initial phases."""
    tell = progress or (lambda what, done, of: None)
    found = LegFindings(quick)
    steps: list[tuple[str, Callable[[], Claim | list[Claim]]]] = [
        ("pose", found.pose),
        ("race", found.race),
        ("as published", found.published),
        ("singular", found.singular),
        ("limits", found.limits),
        ("contact angle", found.contact_angles),
        ("M, C, G", found.mcg),
        ("drop", found.drop),
        ("walk", found.walk),
        ("oscillators", found.kuramoto),
        ("neurons", found.rulkov),
        ("reflexes", found.reflex),
        ("further claims", lambda: further.claims(found.robot, quick)),
    ]
    claims = list[Claim]()
    for k, (what, measure) in enumerate(steps):
        tell(what, k, len(steps))
        made = measure()
        claims += made if isinstance(made, list) else [made]
    tell("done", len(steps), len(steps))
    return Outcome(
        experiment=NAME,
        title=TITLE,
        summary=SUMMARY,
        claims=tuple(claims),
        figures=found.figures(),
        captions=dict(CAPTIONS),
        tables=tuple(found.tables),
        settings=dict(SETTINGS),
        replays={
            "The walk, FABRIK in the loop.": {found.robot.name: found.walked[0]},
            "Dropped, limp.": {found.robot.name: found.dropped},
            "On three feet: it tips within its wide margin.": {found.robot.name: found.tipping.rec},
        },
    )


class LegFindings:
    """Measurements of the claims, with the data for figures and tables."""

    def __init__(self, quick: bool = False) -> None:
        self.quick = quick
        self.robot = library.load("dynakat")
        self.count = 1000 if quick else 10_000
        self.tables: list[Table] = []
        self.races: dict[tuple[str, float], dict[str, Racer]] = {}

    # -- kinematics ----------------------------------------------------------------------------------------------------
    def pose(self) -> Claim:
        """Assess Fig. 7: the last frame of the table, and the robot built from it."""
        by_table = dh.forward(table("RF"), FIG7)[-1].p
        leg = leg_chain(self.robot, "RF")
        hip = np.array(leg.screws[0].point)
        by_robot = foot_position(leg, FIG7) - hip
        off = 1e3 * max(np.abs(by_table - FIG7_FOOT).max(), np.abs(by_robot - FIG7_FOOT).max())
        return assess(
            NAME,
            "fig7_dh_pose",
            float(off),
            "The foot is 50 mm forward, 30 mm to the right and 75 mm below the hip, by the table alone and by the"
            " robot's tree; calculated by hand. The plot is not public. In the table joint 1 is the hip's pitch and"
            " joint 2 the roll, whereas the text describes a roll followed by a planar chain.",
            holds=bool(off < 1e-9),
        )

    def race(self) -> list[Claim]:
        """Assess Fig. 1 on legs with limits, and compare with the closed form."""
        names = ("dynakat",) if self.quick else ("dynakat", "mini_cheetah", "xiling", "spined")
        for name in names:
            robot = library.load(name)
            targets = leg_race.random_targets(robot, self.count)
            for tolerance in (COARSE, FINE):
                entries = leg_race.race(robot, targets, tolerance)
                self.races[name, tolerance] = {**entries, "closed": leg_race.race_closed(robot, targets, tolerance)}
        targets = leg_race.random_targets(self.robot, self.count)
        self.curves = leg_race.error_curves(self.robot, targets, COUNTS)
        self.tables.append(self._race_table())
        fine = self.races["dynakat", FINE]
        mine, exact = fine["fabrik"], fine["closed"]
        others = [entry for method, entry in fine.items() if method not in ("fabrik", "closed")]
        quickest = min(others, key=lambda e: e.seconds)
        fewest, time_ratio = mine.median / min(e.median for e in others), mine.seconds / quickest.seconds
        times = f"{1e6 * mine.seconds:.1f} µs per target on average"
        form = f"{1e6 * exact.seconds:.2f} µs by the {CLOSED}"
        medians = ", ".join(f"{METHODS[m]} {e.median:.0f}" for m, e in fine.items() if m in METHODS)
        return [
            assess(
                NAME,
                "fig1_fabrik_converges_fastest",
                max(fewest, time_ratio),
                f"{self.count} random targets, one leg, limits kept, to {FINE:g} m. It needs the fewest iterations:"
                f" {medians}, the medians ({fewest:.2g} of the next). It is not the fastest in time:"
                f" {times} against {1e6 * quickest.seconds:.1f} µs by"
                f" {METHODS[quickest.method]}, since targets that it misses use all iterations. The figure in the"
                " report is from a reference, for ball joints; FABRIK as published stalls on hinges, ours first"
                " points the leg at the target and rotates its plane through it.",
            ),
            assess(
                NAME,
                "iterative_faster_than_analytical",
                mine.seconds / exact.seconds,
                f"{times}, {form}. The report says 'often'; a leg is not such a case.",
            ),
            assess(
                NAME,
                "fabrik_no_weakness",
                mine.seconds / exact.seconds,
                f"{100 * mine.failures:.1f} % of the reachable targets are not reached in {leg_race.MOST} iterations"
                " (limits on the wrong side of the start, or a nearly stretched leg, where convergence is slow),"
                " against"
                f" {100 * fine['levenberg'].failures:.1f} % by Levenberg's rule and {100 * exact.failures:.1f} % by"
                f" the closed form; {times}, {form}. The report's double negative is read as intended.",
                holds=mine.failures == 0.0 and mine.seconds <= min(e.seconds for e in fine.values()),
            ),
        ]

    def published(self) -> list[Claim]:
        """Assess Figs. 1 and 2 as in their reference, and every method on hard targets."""
        on_balls, table = published.on_a_chain(self.count)
        self.tables += [table, published.on_hard_targets(self.robot, self.count // 10)]
        return [on_balls, published.on_a_leg(self.robot, leg_race.random_targets(self.robot, self.count))]

    def _race_table(self) -> Table:
        rows = [
            (
                name,
                f"{tolerance:g}",
                METHODS.get(method, CLOSED),
                f"{e.median:.0f}",
                f"{e.mean:.1f}",
                f"{np.percentile(e.iterations, 95):.0f}",
                f"{100 * e.failures:.2f}",
                f"{1e6 * e.seconds:.2f}",
            )
            for (name, tolerance), entries in self.races.items()
            for method, e in entries.items()
        ]
        return Table(
            f"{self.count} random targets within reach of the left fore leg, from standing",
            ("robot", "to [m]", "method", "median", "mean", "95 %", "not reached [%]", "µs per target"),
            tuple(rows),
            f"Iterations, at most {leg_race.MOST}; time on one core, compiled, one target after another.",
        )

    def singular(self) -> Claim:
        """Assess starts from straight legs, and targets on the edge of reach."""
        leg, count = leg_chain(self.robot, "LF"), 100 if self.quick else 1000
        targets, starts, _ = further.singular_cases(self.robot, count)
        straight = np.zeros(len(leg))
        found = {}
        for method in ("fabrik", "levenberg"):
            solve = compile(
                leg_race.reach, self.robot, straight[:3], straight, target="batch", method=method, iterations=1000
            )
            found[method] = solve(targets, starts)
        left = found["fabrik"][1]
        near, there = left <= COARSE, left <= FINE
        closed = compile(leg_race.closed, self.robot, straight[:3], target="batch")(targets)[1]
        edge = manipulability(foot_jacobian(leg, straight)[1])
        return assess(
            NAME,
            "fabrik_resists_singularity",
            100 * float(np.mean(near)),
            f"Half of {count} cases start from a straight leg (manipulability {edge:.1g} m³), half end in one. Nothing"
            f" breaks down, and {100 * np.mean(near):.0f} % come within 1 mm; to 1 µm"
            f" {100 * np.mean(there[1::2]):.0f} % of those that leave the straight leg and"
            f" {100 * np.mean(there[0::2]):.0f} % of those that end in one: towards the edge of reach it converges"
            " slowly. By the"
            f" closed form {100 * np.mean(closed <= FINE):.0f} %, by Levenberg's rule"
            f" {100 * np.mean(found['levenberg'][1] <= FINE):.0f} %. To leave an exactly straight leg, a perturbation"
            " is needed, which the published rule lacks: a straight chain pulled along its axis stays straight.",
        )

    def limits(self) -> Claim:
        """Assess limits: reachable and unreachable targets, for every foot."""
        worst, requested = 0.0, 0
        for k, foot in enumerate(self.robot.foot_names):
            leg, random = leg_chain(self.robot, foot), np.random.default_rng(2 + k)
            targets = np.concatenate(
                [
                    leg_race.random_targets(self.robot, self.count // 4, 2 + k, foot),
                    foot_position(leg, np.zeros(len(leg))) + random.normal(size=(self.count // 4, 3)),
                ]
            )
            starts = random.uniform(-3.0, 3.0, (len(targets), len(leg)))  # starts beyond the limits
            solve = compile(leg_race.reach, self.robot, targets[0], starts[0], target="batch", foot=foot, iterations=50)
            worst, requested = max(worst, leg_race.violation(leg, solve(targets, starts)[0])), requested + len(targets)
        entry = self.races["dynakat", FINE]["fabrik"]
        beyond = max(worst, entry.violation)
        return assess(
            NAME,
            "fabrik_keeps_limits",
            beyond,
            f"The worst of {requested} targets, half of them out of reach, from starts beyond the limits, and of the"
            f" comparison's {self.count} within reach. Of these it reaches {100.0 * (1.0 - entry.failures):.1f} % to 1"
            f" µm:"
            " it cannot pass a limit on the wrong side of the start. The closed form, the best of nine angles of the"
            " last link,"
            f" reaches {100.0 * (1.0 - self.races['dynakat', FINE]['closed'].failures):.1f} %.",
            holds=beyond == 0.0,
        )

    def contact_angles(self) -> Claim:
        """Assess how far the last link can rotate while the foot stays in place."""
        leg = leg_chain(self.robot, "LF")
        stand = leg_race.standing(self.robot)
        place = foot_position(leg, stand)
        requested = np.radians(np.arange(-120, 121, 4 if self.quick else 2))
        solve = compile(leg_race.reach_at, self.robot, place, stand, 0.0, target="batch")
        held = np.zeros(len(requested), bool)
        for start in (stand, np.array([-stand[0], 0.0, -stand[2], -stand[3]])):
            joints, left, _ = solve(*(np.tile(x, (len(requested), 1)) for x in (place, start)), requested)
            angles = np.array([float(contact_angle(leg, j)) for j in joints])
            held |= (left <= FINE) & (np.abs(angles - requested) < 1e-3)
        middle = int(np.argmin(np.abs(requested)))
        gaps = np.flatnonzero(~held)
        first, last = max(gaps[gaps < middle], default=-1) + 1, min(gaps[gaps > middle], default=len(requested)) - 1
        low, high = np.degrees(requested[[first, last]])
        return assess(
            NAME,
            "redundant_link_sets_contact_angle",
            float(high - low) if held[middle] else 0.0,
            f"Standing, the left fore foot stays in place to {FINE:g} m while its link takes any angle from"
            f" {low:.0f} to {high:.0f} degrees, limits kept. A link with its foot on the ground has a range of at most"
            " 180 degrees: beyond 90 degrees, its upper end is below the ground. A leg of three joints has one angle,"
            " or one for each knee.",
        )

    # -- dynamics ------------------------------------------------------------------------------------------------------
    def mcg(self) -> Claim:
        """Assess M, C and G of the whole robot."""
        random = np.random.default_rng(3)
        q, v = self.robot.state(random.uniform(-0.5, 0.5, self.robot.nj))[0], random.normal(size=self.robot.nv)
        fast = compile(_mcg, self.robot, q, v)
        M, C, G = fast(q, v)
        each = best_time(lambda: fast(q, v))
        witness = (
            lagrange.mass_matrix(self.robot, q),
            lagrange.velocity_terms(self.robot, q, v),
            lagrange.gravity_terms(self.robot, q),
        )
        off = max(_apart(M, witness[0]), _apart(C @ v, witness[1]), _apart(G, witness[2]))
        plain = best_time(lambda: _mcg(self.robot, q, v), least=0.05)
        return assess(
            NAME,
            "mcg_time",
            1e3 * each,
            f"All 22 degrees of freedom, compiled: {1e6 * each:.1f} µs; the"
            f" same source in plain NumPy {1e3 * plain:.1f} ms. They agree with Euler-Lagrange, the method of the"
            f" report, to {off:.0e}. Erratum: its Christoffel sum lacks the factor 1/2. The report times"
            " one leg in MATLAB, on an unnamed machine.",
        )

    def drop(self) -> Claim:
        """Assess Fig. 6: a drop without motor torques."""
        q, v = self.robot.state("stand")
        q[2] += DROP
        limp = Hold(q[7:], kp=0.0, kd=0.02)
        touching = [*trunk_corners(self.robot), *knees(self.robot, 0.005)]
        sim = Simulation(self.robot, limp, start=(q, v), touching=touching, stop_on_fall=False)
        self.dropped = rec = sim.run(2.0)
        low = min(_lowest_foot(self.robot, row) for row in rec.q[::5])
        energy = rec.energy
        first = float(rec.time[np.flatnonzero(rec.contact.any(axis=1))[0]])
        free = math.sqrt(2.0 * DROP / STANDARD)
        end = np.abs(rec.v[-1, :6]).max()
        fine = low > -5e-3 and end < 0.1 and energy[-1] < energy[0] and abs(first - free) < 0.01
        return assess(
            NAME,
            "fig6_drop",
            -1e3 * min(low, 0.0),
            f"Limp, from {100 * DROP:.0f} cm: paws touch after {first:.3f} s (free fall: {free:.3f} s), the trunk comes"
            f" to rest {1e3 * rec.q[-1, 2]:.0f} mm over the floor, moving {end:.1e} after 2 s. Its trunk and shins"
            " also touch the ground, which the report omits.",
            holds=bool(fine) and sim.stopped is None,
        )

    def walk(self) -> list[Claim]:
        """Assess ten seconds of walk with FABRIK in the loop, and its margins."""
        controller = JointPD.tuned(self.robot, "walk", open_loop=True, inverse="fabrik")
        sim = Simulation(self.robot, controller, start=standing_start(self.robot, controller))
        rec = sim.run(4.0 if self.quick else 10.0)
        self.walked: tuple[Recording, Stability] = rec, stability(rec)
        self.tipping = margins.on_three_feet(self.robot)
        return margins.claims(NAME, rec, self.walked[1], sim.stopped is None, self.tipping)

    # -- rhythm --------------------------------------------------------------------------------------------------------
    def kuramoto(self) -> Claim:
        """Assess all gaits, from random phases."""
        starts, coupling, seconds = (4 if self.quick else 20), 4.0, 6.0
        worst, random, dt = 0.0, np.random.default_rng(4), 2e-3
        for name in gait.names():
            oscillators = gait.Kuramoto.of(gait.named(name, period=1.0 / 1.5), coupling)
            phases = random.uniform(0.0, 1.0, (starts, 4))
            step = compile(
                _oscillate,
                None,
                phases[0],
                target="batch",
                oscillators=oscillators,
                dt=dt,
                count=round(seconds / dt),
                verify=False,
            )
            ended = step(phases)
            worst = max(worst, max(float(np.abs(oscillators.error(phase)).max()) for phase in ended))
        return assess(
            NAME,
            "kuramoto_locks",
            worst,
            f"All {len(gait.names())} gait tables from {starts} random phases each, coupling {coupling:g} /s, 1.5 Hz:"
            " the largest distance of a leg from its phase.",
            holds=worst < 1e-6,
        )

    def rulkov(self) -> Claim:
        """Assess bursts of a chaotic and a regular map as a rhythm."""
        steps = 20_000 if self.quick else 50_000
        self.bursts = {
            "chaotic, α 4.1": _intervals(gait.Rulkov(4.1), steps),
            "chaotic, α 4.5": _intervals(gait.Rulkov(4.5), steps),
            "regular, α 6, σ -0.1": _intervals(gait.Rulkov(6.0, -0.1, chaotic=False), steps),
        }
        spread = {name: float(np.std(i) / np.mean(i)) for name, i in self.bursts.items()}
        words = ", ".join(f"{n}: {np.mean(i):.0f} steps ± {100 * spread[n]:.0f} %" for n, i in self.bursts.items())
        return rhythm.paced_walk(
            self.robot,
            f"Intervals between bursts of one neuron: {words} (spread); chaotic ones are irregular.",
        )

    def reflex(self) -> Claim:
        return rhythm.catches(self.robot)

    def figures(self) -> dict[str, Figure]:
        return {
            "fig1": figures.errors(COUNTS, self.curves),
            "fig2": figures.reaching(),
            "margins": figures.margins(self.walked[1]),
            "drop": figures.drop(self.dropped),
            "bursts": figures.bursts(self.bursts),
        }


# -- helpers -----------------------------------------------------------------------------------------------------------
def _mcg(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> tuple[ndarray, ndarray, ndarray]:
    return mass_matrix(robot, q), coriolis_matrix(robot, q, v), gravity_terms(robot, q)


def _oscillate(phase: Float[ndarray, "4"], oscillators: gait.Kuramoto, dt: float, count: int) -> Float[ndarray, "4"]:
    import nptrace

    return nptrace.repeat(count, lambda _, p: oscillators.advance(p, dt), phase)


def _intervals(neuron: gait.Rulkov, steps: int) -> Float[ndarray, "n"]:
    """Return the steps between the beginnings of bursts; a burst begins after 20 silent steps."""
    state, fast = neuron.start(np.array([-1.0]), np.array([-2.9 if neuron.chaotic else -3.5])), np.empty(steps)
    for k in range(steps):
        state = neuron.step(state)
        fast[k] = state[0, 0]
    spikes = np.flatnonzero(fast > 0.0)
    spikes = spikes[spikes > steps // 10]  # after the transient
    begins = spikes[1:][np.diff(spikes) > 20]
    return np.diff(begins).astype(float)


def _lowest_foot(robot: Robot, q: ndarray) -> float:
    from footfall.kinematics.forward import foot_positions

    return float((foot_positions(robot, q)[:, 2] - [foot.radius for foot in robot.feet]).min())


def _apart(a: ndarray, b: ndarray) -> float:
    return float(np.abs(a - b).max() / np.abs(b).max())


SUMMARY = (
    "The claims of the DynaKat report about its leg, its table, FABRIK, the oscillators and the margin, measured on a"
    " robot with its legs. FABRIK takes the fewest iterations of all compared methods and keeps every limit, but the"
    " closed form is faster and reaches more targets, and a margin over four feet does not predict the fall of a robot"
    " on three."
)
CAPTIONS = {
    "fig1": "Remaining distance over iterations, median of the random targets, quartiles shaded (Fig. 1).",
    "fig2": "One iteration of FABRIK as published: from the end to the root, and back (Fig. 2).",
    "margins": "The margins of the walk: of all four feet (wide) and of the feet in contact.",
    "drop": "The fall of Fig. 6: the trunk's height and the paws' vertical force.",
    "bursts": "Intervals between bursts of Rulkov's maps, in steps of the map.",
}
SETTINGS = {
    "robot": "DynaKat: Table I of the report; masses, limits, trunk and gaits are chosen",
    "race": f"from standing, limits kept, at most {leg_race.MOST} iterations, targets of random postures within limits",
    "walk": "tuned constants, joint PD at 1 kHz, FABRIK in every tick, linearly implicit steps of 1 ms",
}
