"""Convergence in the time step: the explicit scheme of de Paula et al. 2024 against the linearly implicit one.

Three questions with the constants of the paper. After a 5 mm drop onto four feet: how far is the trunk, after 0.5 s,
from its position in the limit dt -> 0? After the first second of the trot: the same. And over ten seconds of trot in
comparison with MuJoCo: does the published figure, the mean distance from MuJoCo along x, depend on the time step?

The limit is the *explicit* scheme with a step so fine that both schemes agree: it cannot favour the implicit one. The
robot has its rotors here, whose inertia helps the explicit scheme; without them it is less accurate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from footfall.recording import metrics
from footfall.recording.recording import Recording
from footfall_lab.papers.depaula2024.runs import DT, DURATION, STIFFNESS, Job

DROP, FIRST_SECOND = 0.5, 1.0  # [s]
FORM = "rotors"
ENOUGH = 0.5e-3  # [m]: an error below this counts as converged, as in our benchmarks
Runs = Mapping[Job, Recording]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The time steps of a study [s]."""

    explicit: tuple[float, ...]
    implicit: tuple[float, ...]
    limit: float
    damped: bool  # also with c_max read as 10 N s/mm
    long_explicit: tuple[float, ...]
    long_implicit: tuple[float, ...]


QUICK = Plan(
    explicit=(1e-4, 2e-5),
    implicit=(1e-3, 1e-4, 2e-5),
    limit=2e-6,
    damped=False,
    long_explicit=(1e-4, 2e-5),
    long_implicit=(1e-4,),
)
FULL = Plan(
    explicit=(1e-4, 5e-5, 2e-5, 1e-5, 5e-6, 2e-6),
    implicit=(1e-3, 5e-4, 2e-4, 1e-4, 2e-5, 1e-5),
    limit=2e-7,
    damped=True,
    long_explicit=(1e-4, 5e-5, 2e-5, 1e-5, 5e-6),
    long_implicit=(1e-3, 5e-4, 2e-4, 1e-4, 2e-5),
)


@dataclass(frozen=True)
class Curve:
    """Errors [m] of one scheme over time steps [s]; ``nan`` where it fell or diverged."""

    case: str  # drop, trot, ten_seconds
    scheme: str  # key of a reading
    steps: tuple[float, ...]
    errors: tuple[float, ...]

    def at(self, dt: float) -> float:
        return self.errors[self.steps.index(dt)]


@dataclass(frozen=True)
class Study:
    """All curves, and the difference between both schemes at their finest steps [m], by case."""

    curves: tuple[Curve, ...]
    agreement: Mapping[str, float]

    def curve(self, case: str, scheme: str) -> Curve:
        return next(c for c in self.curves if (c.case, c.scheme) == (case, scheme))

    @property
    def explicit_converged(self) -> bool:
        """Whether the explicit scheme has converged at the paper's step."""
        return all(self.curve(case, "explicit").at(DT) < ENOUGH for case in ("drop", "trot"))


def _cases(plan: Plan, choice: str) -> list[tuple[str, str, float, str, str]]:
    """Return (case, choice, duration, explicit scheme, implicit scheme) of every case."""
    cases = [("drop", "drop", DROP, "explicit", "implicit_soft")]
    if plan.damped:
        cases.append(("drop", "drop", DROP, "explicit_damped", "implicit"))
    return [*cases, ("trot", choice, FIRST_SECOND, "explicit", "implicit_soft")]


def jobs(plan: Plan, choice: str, stiffness: float = STIFFNESS) -> list[Job]:
    """Return all runs for ``study``, including those in MuJoCo and those at the paper's step."""
    wanted = []
    for _, what, duration, explicit, implicit in _cases(plan, choice):
        wanted += [
            Job(scheme=explicit, choice=what, duration=duration, dt=dt, form=FORM, stiffness=stiffness)
            for dt in (*plan.explicit, plan.limit)
        ]
        wanted += [
            Job(scheme=implicit, choice=what, duration=duration, dt=dt, form=FORM, stiffness=stiffness)
            for dt in plan.implicit
        ]
    wanted += [
        Job(scheme="explicit", choice=choice, dt=dt, form=FORM, stiffness=stiffness) for dt in plan.long_explicit
    ]
    wanted += [
        Job(scheme="implicit_soft", choice=choice, dt=dt, form=FORM, stiffness=stiffness) for dt in plan.long_implicit
    ]
    return [*wanted, Job(scheme="mujoco", choice=choice, form=FORM)]


def study(plan: Plan, choice: str, stiffness: float, runs: Runs) -> Study:
    """Return the errors of all runs."""
    curves, agreement = [], {}
    for case, what, duration, explicit, implicit in _cases(plan, choice):
        limit = runs[
            Job(scheme=explicit, choice=what, duration=duration, dt=plan.limit, form=FORM, stiffness=stiffness)
        ]
        for scheme, steps in ((explicit, plan.explicit), (implicit, plan.implicit)):
            errors = tuple(
                _apart(
                    runs[Job(scheme=scheme, choice=what, duration=duration, dt=dt, form=FORM, stiffness=stiffness)],
                    limit,
                    duration,
                )
                for dt in steps
            )
            curves.append(Curve(case, scheme, steps, errors))
        if explicit == "explicit":
            agreement[case] = curves[-1].errors[-1]
    theirs = runs[Job(scheme="mujoco", choice=choice, form=FORM)]
    for scheme, steps in (("explicit", plan.long_explicit), ("implicit_soft", plan.long_implicit)):
        errors = tuple(
            _mean_x(runs[Job(scheme=scheme, choice=choice, dt=dt, form=FORM, stiffness=stiffness)], theirs)
            for dt in steps
        )
        curves.append(Curve("ten_seconds", scheme, steps, errors))
    return Study(tuple(curves), agreement)


def _apart(rec: Recording, limit: Recording, duration: float) -> float:
    """Return the final distance of the trunk from that in the limit [m]."""
    if rec.meta.get("fell") or rec.meta.get("diverged") or rec.time[-1] < duration - 0.01:
        return float("nan")
    return float(np.linalg.norm(rec.trunk_position[-1] - limit.trunk_position[-1]))


def _mean_x(rec: Recording, theirs: Recording) -> float:
    if rec.meta.get("fell") or rec.meta.get("diverged") or rec.time[-1] < DURATION - 0.01:
        return float("nan")
    return float(metrics.position_mae(rec, theirs)[0])
