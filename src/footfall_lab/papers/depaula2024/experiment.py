"""De Paula, Godoy, Becerra-Vargas 2024, sections 6-7: ten seconds of trot, a compliant contact beside MuJoCo's.

The set-up that decides is registered: what the paper prints (13 bodies, friction per axis, Table I), "explicit
2nd-order Euler" read as Heun's method, and set A of gait constants, fixed before any comparison. All others stand
beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footfall.recording import metrics
from footfall.recording.recording import Recording
from footfall_lab.papers.claims import Claim, Outcome, Table, judge
from footfall_lab.papers.depaula2024 import convergence, figures
from footfall_lab.papers.depaula2024.runs import (
    DT,
    FORMS,
    READINGS,
    SETS,
    Job,
    core_seconds,
    perform_all,
    short_contacts,
    stances,
    stands,
)
from footfall_lab.papers.registered import registration, setup
from footfall_lab.processes import Progress

IDS = {
    "x": "trunk_position_mae_x",
    "y": "trunk_position_mae_y",
    "z": "trunk_position_mae_z",
    "yaw": "trunk_euler_mae_z",
    "pitch": "trunk_euler_mae_y",
    "roll": "trunk_euler_mae_x",
    "force": "normal_force_mae",
}
PRINTED = {key: float(registration().entry("depaula2024", id).printed or 0.0) for key, id in IDS.items()}
MEDIANS = {"x": 74.0, "y": 28.0, "z": 5.9, "force": 7.5}  # of 200 random sets, explicit, measured before this code was
HEADER = (
    "set",
    "reading",
    "robot and friction",
    "x [mm]",
    "y [mm]",
    "z [mm]",
    "yaw [deg]",
    "pitch [deg]",
    "roll [deg]",
    "force [N]",
    "contact agrees",
    "peak [N]",
    "speed [m/s]",
    "within",
)


@dataclass(frozen=True, kw_only=True)
class Errors:
    """The figures of section 7 for one pair of runs: mm, deg (yaw, pitch, roll), N; and what goes with them."""

    x: float
    y: float
    z: float
    yaw: float
    pitch: float
    roll: float
    force: float
    agreement: float
    peak: float  # 99.9th percentile of the left fore foot's vertical force [N]
    speed: float  # [m/s]

    @property
    def figures(self) -> tuple[float, ...]:
        return tuple(getattr(self, key) for key in PRINTED)

    @property
    def within(self) -> int:
        """How many of the seven errors are within the bound, either way."""
        bound = registration().bounds["error"]
        return sum(bound.met(printed, ours) for ours, printed in zip(self.figures, PRINTED.values()))

    def row(self, choice: str, label: str, form: str) -> tuple[str, ...]:
        """The cells under HEADER."""
        e = self
        errors = f"{e.x:.0f} {e.y:.1f} {e.z:.2f} {e.yaw:.2f} {e.pitch:.2f} {e.roll:.2f} {e.force:.2f}".split()
        rest = (f"{e.agreement:.3f}", f"{e.peak:.0f}", f"{e.speed:.3f}", f"{e.within} of 7")
        return choice, label, form, *errors, *rest


def errors_between(ours: Recording, theirs: Recording) -> Errors:
    """Compare two runs as the paper does: left fore foot, ZYX Euler angles."""
    x, y, z = (1e3 * metrics.position_mae(ours, theirs)).tolist()
    yaw, pitch, roll = metrics.euler_mae_deg(ours, theirs).tolist()
    return Errors(
        x=x,
        y=y,
        z=z,
        yaw=yaw,
        pitch=pitch,
        roll=roll,
        force=metrics.force_mae(ours, theirs, "LF"),
        agreement=metrics.contact_agreement(ours, theirs, "LF"),
        peak=metrics.peak_force(ours, "LF", 99.9),
        speed=ours.mean_speed(1.0),
    )


NAME = "depaula2024"
TITLE = "A trot of ten seconds beside MuJoCo (de Paula et al. 2024)"
CHOICE, READING = setup(NAME)["gait_set"], setup(NAME)["integrator"]
FOOT = setup(NAME)["foot"]
BESIDE = ("heun", "explicit", "implicit_soft", "implicit")
_SHORT = {"heun": "Heun", "explicit": "semi-implicit Euler", "implicit_soft": "linearly implicit"}


def run(quick: bool = False, progress: Progress | None = None, workers: int = 1) -> Outcome:
    """All claims. ``quick`` leaves out sets B to E and the finest time steps."""
    plan = convergence.QUICK if quick else convergence.FULL
    sets = (CHOICE,) if quick else SETS
    deciding = [
        Job(scheme=READING, choice=CHOICE),
        Job(scheme="mujoco", choice=CHOICE),
    ]  # alone on the machine: they are timed
    pairs = {key: pair for choice in sets for key, pair in _pairs(choice).items()}
    wanted = [job for pair in pairs.values() for job in pair]
    wanted += [
        Job(scheme="mujoco_stiff", choice=CHOICE, form="rotors"),
        Job(scheme="explicit_damped", choice=CHOICE, form="rotors"),
    ]
    wanted += convergence.jobs(plan, CHOICE)
    runs = perform_all(deciding, progress)
    runs |= perform_all([job for job in wanted if job not in runs], progress, workers)
    found = TrotFindings(runs, pairs, convergence.study(plan, CHOICE, runs))
    return Outcome(
        experiment=NAME,
        title=TITLE,
        summary=found.summary(),
        claims=tuple(found.claims()),
        figures=found.figures(),
        captions=dict(CAPTIONS),
        tables=found.tables(),
        settings=dict(SETTINGS),
        replays={
            "The deciding run in both simulators, side by side.": {"footfall": found.ours, "MuJoCo": found.theirs}
        },
    )


Key = tuple[str, str, str]  # set, form, reading


def _pairs(choice: str) -> dict[Key, tuple[Job, Job]]:
    """Return the runs of a set: ours and MuJoCo's; MuJoCo's cone is round in every form."""
    wanted = [("printed", key) for key in (BESIDE if choice == CHOICE else (READING,))]
    wanted += [("round", READING)] if choice == CHOICE else []
    wanted += [("rotors", key) for key in (BESIDE if choice == CHOICE else (READING, "implicit"))]
    theirs = {"printed": "printed", "round": "printed", "rotors": "rotors"}
    return {
        (choice, form, key): (
            Job(scheme=key, choice=choice, form=form),
            Job(scheme="mujoco", choice=choice, form=theirs[form]),
        )
        for form, key in wanted
    }


class TrotFindings:
    """The findings of the runs."""

    def __init__(self, runs: dict[Job, Recording], pairs: dict[Key, tuple[Job, Job]], study: convergence.Study) -> None:
        self.runs, self.study = runs, study
        self.ours, self.theirs = runs[Job(scheme=READING, choice=CHOICE)], runs[Job(scheme="mujoco", choice=CHOICE)]
        self.errors: dict[Key, Errors | None] = {
            key: errors_between(runs[ours], runs[theirs]) if stands(runs[ours]) and stands(runs[theirs]) else None
            for key, (ours, theirs) in pairs.items()
        }
        self.decided = errors_between(self.ours, self.theirs)

    # -- claims --------------------------------------------------------------------------------------------------------
    def claims(self) -> list[Claim]:
        return [*self._error_figures(), *self._contact(), *self._times(), *self._shapes(), *self._own()]

    def _error_figures(self) -> list[Claim]:
        made = []
        for key, id in IDS.items():
            note = self._beside(key)
            if key == "x":
                note += (
                    f" Ours creeps at {self.ours.mean_speed(1.0):.3f} m/s where MuJoCo's trots at"
                    f" {self.theirs.mean_speed(1.0):.3f}: without the rotors' inertia explicit steps of 1e-4 s make the"
                    " feet chatter. The rotors, which the paper's 13 bodies leave out, bring most of the way back."
                )
            if key in ("yaw", "pitch", "roll"):
                note += " Order: the paper's ξ = (ψ, θ, φ)."
            if key == "roll":
                note += " Why the printed roll is the largest of the three angles we do not know."
            made.append(judge(NAME, id, getattr(self.decided, key), note))
        return made

    def _beside(self, key: str) -> str:
        """The other forms, readings and sets, in a sentence or two."""

        def value(e: Errors | None) -> str:
            return "fell" if e is None else f"{getattr(e, key):.3g}"

        def at(form: str, *readings: str) -> str:
            return ", ".join(f"{_SHORT[r]} {value(self.errors[CHOICE, form, r])}" for r in readings)

        others = [(c, e) for (c, f, r), e in self.errors.items() if c != CHOICE and (f, r) == ("printed", READING)]
        note = (
            f"Beside it, set {CHOICE}: {at('printed', 'explicit', 'implicit_soft')}; isotropic friction,"
            f" {at('round', READING)}; with rotors, {at('rotors', 'heun', 'explicit', 'implicit_soft')}."
        )
        if others:
            note += f" Other sets as decided: {', '.join(f'{c} {value(e)}' for c, e in others)}."
        if key in MEDIANS:
            note += f" Median of 200 random sets, rotors, semi-implicit: {MEDIANS[key]:g}."
        return note

    def _contact(self) -> list[Claim]:
        ours, theirs = self.ours, self.theirs
        a, b = stances(ours), stances(theirs)
        offsets = f"{len(a)} stances in ours, {len(b)} in MuJoCo"
        if len(a) == len(b):
            early, late = 1e3 * np.median(np.abs(np.array(a) - np.array(b)), axis=0)
            offsets = f"{len(a)} stances in both, touchdown and lift-off {early:.0f} and {late:.0f} ms apart (median)"
        k = ours.robot.foot_names.index(FOOT)
        alike = _alike(ours.contact[:, k], theirs.contact[:, k])
        spurious = short_contacts(ours, k), short_contacts(theirs, k)
        feet = ours.robot.foot_names
        ours_all, theirs_all = ([short_contacts(rec, foot) for foot in range(len(feet))] for rec in (ours, theirs))
        with_rotors = [
            self.runs[Job(scheme=READING, choice=CHOICE, form="rotors")],
            self.runs[Job(scheme="mujoco", choice=CHOICE, form="rotors")],
        ]
        then = " and ".join(str(short_contacts(rec, k)) for rec in with_rotors)
        peaks = (self.decided.peak, metrics.peak_force(theirs, FOOT, 99.9))
        damped = self.errors[CHOICE, "printed", "implicit"]
        return [
            judge(
                NAME,
                "contact_activation_matches",
                alike,
                f"{offsets}; both say the same {100 * self.decided.agreement:.1f} % of the time.",
            ),
            judge(
                NAME,
                "spurious_contacts_are_mujocos",
                float(spurious[1]),
                f"Shorter than 10 ms: {spurious[0]} in ours, {spurious[1]} in MuJoCo, at foot {FOOT} as in the paper's"
                f" figure. Of all feet ({', '.join(feet)}): {', '.join(map(str, ours_all))} in ours and"
                f" {', '.join(map(str, theirs_all))} in MuJoCo. With rotors it is the other way round at {FOOT}:"
                f" {then}.",
                holds=spurious[1] > max(spurious[0], 0),
            ),
            judge(
                NAME,
                "higher_peak_forces_than_mujoco",
                peaks[0] / peaks[1],
                f"{peaks[0]:.0f} N against {peaks[1]:.0f} N; the largest {metrics.peak_force(ours, FOOT):.0f} against"
                f" {metrics.peak_force(theirs, FOOT):.0f} N. Higher, as printed, but not slightly: feet without the"
                " rotors' inertia behind them chatter at this step."
                + (f" {READINGS['implicit'].label}: {damped.peak:.0f} N." if damped is not None else ""),
            ),
        ]

    def _times(self) -> list[Claim]:
        mine, other = core_seconds(self.ours), core_seconds(self.theirs)
        steps = round(self.ours.time[-1] / DT)
        return [
            judge(
                NAME,
                "wall_time_10s",
                mine,
                "Time spent stepping, controller included, on one core, less what other processes took of it:"
                f" {1e9 * mine / steps:.0f} ns a step, compiled, on another machine than the paper's, which it does not"
                " name.",
            ),
            judge(
                NAME,
                "mujoco_wall_time_10s",
                other,
                "Time inside MuJoCo's own steps, without the controller; the paper's includes whatever its script did.",
            ),
            judge(
                NAME,
                "wall_time_over_mujoco",
                mine / other,
                f"The paper's finding turned round, in one run on one machine: ours is {other / mine:.1f} times as fast"
                " as MuJoCo, not 15 times as slow. An S-function is interpreted; this is machine code.",
            ),
        ]

    def _shapes(self) -> list[Claim]:
        ours, theirs = self.ours, self.theirs
        names = ("x", "y", "z", "yaw", "pitch", "roll")
        signals = [np.hstack([rec.trunk_position, np.unwrap(rec.trunk_euler(), axis=0)]).T for rec in (ours, theirs)]
        alike = {name: _alike(a, b) for name, a, b in zip(names, *signals)}
        k = ours.robot.foot_names.index(FOOT)
        force = _alike(ours.force[:, k, 2], theirs.force[:, k, 2])
        return [
            judge(
                NAME,
                "fig5",
                min(alike.values()),
                "Correlations over all 10 s: "
                + ", ".join(f"{name} {value:.3f}" for name, value in alike.items())
                + ". Both stay upright and go forward, at different speeds.",
            ),
            judge(
                NAME,
                "fig6",
                force,
                f"Raw vertical force, row by row at 1 kHz; contact agrees {100 * self.decided.agreement:.1f} % of the"
                " time, peaks do not.",
            ),
        ]

    def _own(self) -> list[Claim]:
        study = self.study
        drop, trot = study.curve("drop", "explicit"), study.curve("trot", "explicit")
        soft = {case: study.curve(case, "implicit_soft") for case in ("drop", "trot")}
        long, far = study.curve("ten_seconds", "explicit"), study.curve("ten_seconds", "implicit_soft").at(DT)
        moves = ", ".join(f"{1e3 * error:.0f} mm at {dt:g} s" for dt, error in zip(long.steps, long.errors))
        stiff = errors_between(
            self.runs[Job(scheme="implicit", choice=CHOICE, form="rotors")],
            self.runs[Job(scheme="mujoco_stiff", choice=CHOICE, form="rotors")],
        )
        near = self.errors[CHOICE, "rotors", "implicit"]
        damped = self.runs[Job(scheme="explicit_damped", choice=CHOICE, form="rotors")]
        upright = stands(self.ours) and stands(self.theirs)
        slowest = min(self.ours.mean_speed(1.0), self.theirs.mean_speed(1.0))
        return [
            judge(
                NAME,
                "explicit_dt_1e-4_converged",
                1e3 * drop.at(DT),
                "Trunk's error against the limit of the explicit scheme itself, at dt 1e-4 s, with rotors: drop, after"
                f" 0.5 s, {1e3 * drop.at(DT):.2g} mm explicit, {1e3 * soft['drop'].at(DT):.2g} mm linearly implicit;"
                f" first second of trot {1e3 * trot.at(DT):.2g} and {1e3 * soft['trot'].at(DT):.2g} mm. Over 10 s the"
                f" published figure itself moves: mean |x - x of MuJoCo| is {moves}; linearly implicit,"
                f" {1e3 * far:.0f} mm at 1e-4 s. As steps shrink both schemes meet"
                f" ({1e6 * study.agreement['drop']:.0f} µm apart in the drop, {1e6 * study.agreement['trot']:.0f} µm in"
                " the trot).",
                holds=study.explicit_converged,
            ),
            judge(
                NAME,
                "trots_forward_upright_10s",
                slowest,
                f"{self.ours.mean_speed(1.0):.3f} m/s in ours, {self.theirs.mean_speed(1.0):.3f} m/s in MuJoCo, after"
                " the start.",
                holds=upright and slowest > 0.1,
            ),
            judge(
                NAME,
                "stiff_mujoco_agrees",
                stiff.x,
                f"({stiff.x:.1f}, {stiff.y:.1f}, {stiff.z:.2f}) mm from MuJoCo with solref -2e6 -2e3, impratio 100"
                + (
                    "."
                    if near is None
                    else f"; ({near.x:.0f}, {near.y:.1f}, {near.z:.1f}) mm from MuJoCo as in Table"
                    " I. With the linearly implicit scheme the distance is mostly MuJoCo's softness."
                ),
                holds=stiff.x < 30.0 and stiff.z < 1.0,
            ),
            judge(
                NAME,
                "damping_is_per_metre",
                "10 N s/m",
                f"With 10 N s/mm: {damped.meta.get('stopped', 'the robot stays up')}.",
                holds=stands(self.runs[Job(scheme="explicit", choice=CHOICE, form="rotors")]) and not stands(damped),
            ),
        ]

    # -- for people ----------------------------------------------------------------------------------------------------
    def summary(self) -> str:
        study, e = self.study, self.decided
        near = self.errors[CHOICE, "rotors", READING]
        beside = "" if near is None else f" With rotors they are ({near.x:.0f}, {near.y:.0f}, {near.z:.1f}) mm."
        return (
            "The Mini Cheetah trots for ten seconds under joint PD control, once on footfall's compliant contact and"
            " once in MuJoCo, with the constants of the paper's Table I. The paper's gait constants are not public and"
            f" its integrator is not defined: set {CHOICE} of ours and Heun's method were registered beforehand and"
            " decide, on the paper's 13 bodies with its friction per axis; all else is shown beside. The trunk's mean"
            f" distance from MuJoCo's is ({e.x:.0f}, {e.y:.0f}, {e.z:.1f}) mm; the paper has (63, 17, 4.6) mm.{beside}"
            " What the paper does not ask: with these constants explicit steps of 1e-4 s are not"
            f" converged ({1e3 * study.curve('drop', 'explicit').at(DT):.1f} mm of error after a 5 mm drop, against"
            f" {1e3 * study.curve('drop', 'implicit_soft').at(DT):.2f} mm for the linearly implicit default)."
        )

    def figures(self) -> dict[str, figures.Figure]:
        errors = {
            (choice, key if form == "rotors" else "printed"): e.figures
            for (choice, form, key), e in self.errors.items()
            if e is not None and (form == "rotors" or (form, key) == ("printed", READING))
        }
        return {
            "fig5": figures.trunk(self.ours, self.theirs),
            "fig6": figures.contact(self.ours, self.theirs, self.runs[Job(scheme="implicit", choice=CHOICE)]),
            "convergence": figures.convergence(self.study),
            "spread": figures.spread(errors, list(PRINTED.values())),
        }

    def tables(self) -> tuple[Table, ...]:
        rows = [
            (choice, READINGS[key].label, FORMS[form].label, *["fell"] * 7, "", "", "", "")
            if e is None
            else e.row(choice, READINGS[key].label, FORMS[form].label)
            for (choice, form, key), e in self.errors.items()
        ]
        cells = [
            (curve.case.replace("_", " "), READINGS[curve.scheme].label, f"{dt:g}", _millimetres(error))
            for curve in self.study.curves
            for dt, error in zip(curve.steps, curve.errors)
        ]
        printed = ("", "printed", "", *(f"{v:g}" for v in PRINTED.values()), "very similar", "", "", "")
        return (
            Table(
                "Every set, reading and robot",
                HEADER,
                (printed, *rows),
                "Against MuJoCo with the constants of Table I; the first row of ours decides. Within: how many of the"
                " seven errors are within the bound, either way. Peak: 99.9th percentile of the left fore foot's"
                " vertical force.",
            ),
            Table(
                "Time steps",
                ("case", "scheme", "dt [s]", "error [mm]"),
                tuple(cells),
                "With rotors. Drop and trot: against the explicit scheme at its finest step. Ten seconds: mean"
                " |x - x of MuJoCo|",
            ),
        )


def _millimetres(error: float) -> str:
    return f"{1e3 * error:.3g}" if np.isfinite(error) else "fell or diverged"


def _alike(a: np.ndarray, b: np.ndarray) -> float:
    """Correlation of two raw signals; none where one of them ended early."""
    return float(np.corrcoef(a, b)[0, 1]) if len(a) == len(b) else float("nan")


CAPTIONS = {
    "fig5": "The paper's Fig. 5 again: the trunk in both simulators (the registered set-up).",
    "fig6": "The paper's Fig. 6 again: the left fore foot's contact and vertical force.",
    "convergence": "Which time step to believe, with rotors. Dotted: the paper's 1e-4 s.",
    "spread": "Error figures by set of gait constants: the registered set-up, and readings with rotors. Dashed:"
    " printed; grey: within the bound.",
}
SETTINGS = {
    "decides": f"set {CHOICE}, {READINGS[READING].label}, {FORMS['printed'].label}; registered before the runs",
    "robot": "Mini Cheetah, 18 degrees of freedom, ideal joints (no friction, no limits), gravity 9.807 m/s²",
    "gait": "trot: oscillators, 12-point Bézier swing, planar inverse kinematics, start ramp 1 s; sets are ours",
    "control": "joint PD, 40 N m/rad and 1 N m s/rad at every step; joint targets renewed at 1 kHz",
    "start": "at rest in the controller's first posture, feet touching the ground",
    "footfall": "dt 1e-4 s; K 1e4 N/mm^2.2 (the unit that makes sense of the printed number), exponent 2.2, c_max"
    " 10 N s/m over 0.1 mm, friction 2.0, stick 0.1 mm/s",
    "MuJoCo": "dt 1e-4 s, implicitfast, elliptic cone, solref -1600 -100, friction 1.6",
    "compared": "10 s, rows at 1 kHz; left fore foot; ZYX Euler angles in the order yaw, pitch, roll",
}
