"""Contact in Adak et al.: least squares, hard contact against springs, and a standing robot.

The spined robot stands, is dropped, and trots, on rigid ground, with motors in its spine. The runs are repeated with
eq. (37) as printed in every step. The residual of the contact conditions is recorded in each step, which shows where
least squares alone did not converge. Hard contact against springs: ``adak_steps``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.contact.complementarity import Complementarity
from footfall.contact.coulomb import ContactProblem, residuals
from footfall.contact.ground import Plane
from footfall.contact.least_squares import solve_by_least_squares
from footfall.control.interface import Command, Controller, ControllerWrapper, JointCommand, Sensed
from footfall.control.joint.joint_pd import SPINE_GAINS, Hold, JointPD
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall.spatial.gravity import STANDARD, weight_of
from footfall_lab.papers.adak2021 import adak_steps
from footfall_lab.papers.adak2021.adak_steps import FRICTION
from footfall_lab.papers.claims import Claim, Table, assess
from footfall_lab.papers.registered import setup
from nptrace import select
from nptrace._types import PyTree
from nptrace.array_types import Float

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "adak2021"
_SETUP = setup(NAME)  # registered before the runs
DT, SLIPPERY = _SETUP["dt"], _SETUP["slippery"]
SECONDS = 5.0  # [s] per run
DROP = 0.2  # [m], height of the feet above the ground
BEND = 0.06  # [rad], amplitude of the spine in the trot
RESIDUAL, STEPS = _SETUP["residual"], _SETUP["steps"]  # [m/s], residual that counts as exact; fewest steps
PRINTED = "eq. (37)"  # marks a run by the paper's problem as printed
SPINE = ("spine_pitch", "spine_roll")


@dataclass(frozen=True, kw_only=True)
class ContactFindings:
    """The results from which the outcome of the experiment is assembled."""

    claims: tuple[Claim, ...]
    figures: dict[str, Figure]
    captions: dict[str, str]
    tables: tuple[Table, ...]
    settings: dict[str, str]
    replays: dict[str, dict[str, Recording]]


def measure(robot: Robot, quick: bool = False) -> ContactFindings:
    """Measure all claims about contact. ``quick``: tune fewer springs."""
    runs = perform(robot)
    steps = adak_steps.largest_steps(robot, quick)
    claims = (
        exactness(runs),
        adak_steps.stability(steps),
        adak_steps.accuracy(steps),
        otherwise(runs),
        pitch(runs),
        stands(runs["stand"]),
        drops(runs["drop"]),
        trots(runs["trot"]),
    )
    figures = {"contact": _figure(runs), "largest_step": adak_steps.figure(steps)}
    captions = {
        "contact": f"Drop from {1e3 * DROP:.0f} mm and trot on rigid ground: height of the trunk, and the residual of"
        " the contact conditions in every step, which must stay below the dashed line.",
        "largest_step": "Largest steps at which the robot stands and trots, over the depth to which its feet sink:"
        " explicit"
        " spring-dampers of several stiffnesses, the damper tuned for each, and hard contact, which does not sink.",
    }
    settings = {
        "contact": f"least squares, warm-started, dt {DT:g} s, friction {FRICTION:g}; tolerance {RESIDUAL:g} m/s",
        "trot": f"gait of the library, spine bowing by {BEND:g} rad in every half cycle",
    }
    return ContactFindings(
        claims=claims,
        figures=figures,
        captions=captions,
        tables=(adak_steps.table(steps), _exactness_table(runs)),
        settings=settings,
        replays={
            "A trot with a spine that bows, and a drop, on rigid ground.": {"trot": runs["trot"], "drop": runs["drop"]}
        },
    )


# -- runs on hard ground -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class BowingSpine(ControllerWrapper):
    """A trot whose spine joint bends and straightens twice per cycle, once for each pair of feet."""

    inner: JointPD
    bend: float = BEND  # [rad]
    joint: str = SPINE[0]

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        answer, after = self.inner(t, robot, sensed, command, memory)
        gait, which = self.inner.gait, np.array([name == self.joint for name in robot.joint_names], dtype=float)
        grown = np.minimum(t / gait.ramp, 1.0)
        wave = self.bend * grown * np.sin(4.0 * np.pi * t / gait.period)
        return replace(answer, position=answer.position + wave * which), after


class Unscaled(ContactProblem):
    """Least squares with unscaled impulses and velocities: A - I of eq. (37)."""

    def _scales(self, k: int) -> tuple[float, float, float]:
        return 1.0, 1.0, 1.0


class AsPrinted(Complementarity):
    """Eq. (37) as printed, from zero impulses in every step; the usual solvers continue if it does not converge.

    Column ``contact_sweeps`` is 0 where least squares alone converged.
    """

    def _solve(self, problem: ContactProblem, impulses: Float[ndarray, "nc"], slips: Float[ndarray, "ns"]) -> PyTree:
        plain = Unscaled(problem.A, problem.V_free, problem.floor, problem.friction)
        nothing = np.zeros(3 * problem.contacts), np.zeros(problem.contacts)
        found, sliding, _, made = solve_by_least_squares(plain, *nothing, self.iterations, 1e-2 * self.tolerance)
        arrived = np.max(residuals(problem, found)) <= self.tolerance
        after = super()._solve(problem, select(arrived, found, impulses), select(arrived, sliding, slips))
        return replace(after, iterations=made, sweeps=select(arrived, 0.0, 1.0 + after.sweeps))


def perform(robot: Robot, seconds: float = SECONDS) -> dict[str, Recording]:
    """Return recordings of a stand, a drop, a trot and a slipping trot; and all of them with eq. (37) as printed."""
    trot = JointPD.tuned(robot, "trot", open_loop=True)
    bowing = BowingSpine(trot)
    joints = robot.state("stand")[0][robot.nq - robot.nj :]
    spine = np.array([name in SPINE for name in robot.joint_names])
    kp, kd = (np.where(spine, stiff, legs) for stiff, legs in zip(SPINE_GAINS, (trot.kp, trot.kd)))
    hold = Hold(joints, kp, kd)
    cases: dict[str, tuple[Controller, float, float]] = {
        "stand": (hold, FRICTION, 0.0),
        "drop": (hold, FRICTION, DROP),
        "trot": (bowing, FRICTION, 0.0),
        "slipping trot": (bowing, SLIPPERY, 0.0),
    }
    plan: dict[str, tuple[Controller, Complementarity, float, float]] = {}
    for suffix, contact in (
        ("", Complementarity(method="least_squares")),
        (f", {PRINTED}", AsPrinted(method="least_squares")),
    ):
        plan |= {
            f"{key}{suffix}": (controller, contact, friction, air) for key, (controller, friction, air) in cases.items()
        }
    runs = {}
    for key, (controller, contact, friction, clearance) in plan.items():
        ground = Plane(friction)
        start = standing_start(robot, controller, ground, clearance=clearance)
        stops = friction == FRICTION  # a slipping trot may fall
        simulation = Simulation(
            robot, controller, contact=contact, ground=ground, dt=DT, start=start, stop_on_fall=stops
        )
        runs[key] = simulation.run(seconds)
    return runs


def exact(rec: Recording) -> tuple[int, int]:
    """Return (steps solved by least squares alone, all steps)."""
    reached = (rec["contact_residual"].max(axis=1) <= RESIDUAL) & (rec["contact_sweeps"] == 0)
    return int(reached.sum()), len(rec)


def exactness(runs: dict[str, Recording]) -> Claim:
    """Assess eq. (37) as printed, over all runs; too few steps give no verdict."""
    reached, steps = _sum({key: rec for key, rec in runs.items() if PRINTED in key})
    warm, of = _sum({key: rec for key, rec in runs.items() if PRINTED not in key})
    worst = max(float(rec["contact_residual"].max()) for rec in runs.values())
    share = 100 * reached / steps if steps >= STEPS and worst <= RESIDUAL else float("nan")
    note = (
        f"{reached} of {steps} recorded steps (standing, drop, trot, trot slipping on friction {SLIPPERY:g}) solved to"
        f" at most {RESIDUAL:g} m/s by least squares alone, with A - I as printed and from no impulses in every step;"
        f" the remaining steps go to the contact-by-contact solver, and no step ends above {worst:.1e} m/s. Scaled by"
        " diag(A), which"
        f" has the same solutions, and from the impulses of the step before: {warm} of {of}. We chose the minimisation"
        " method (Gauss-Newton): the paper names none and gives no iteration count."
    )
    return assess(NAME, "least_squares_reaches_exact_solution", share, note)


def pitch(runs: dict[str, Recording]) -> Claim:
    """Return the largest pitch of the trunk, except in the slipping trot."""
    most = {key: float(np.degrees(np.abs(runs[key].trunk_euler()[:, 1]).max())) for key in ("stand", "drop", "trot")}
    words = ", ".join(f"{key} {degrees:.1f}" for key, degrees in most.items())
    worst = max(most.values())
    return assess(NAME, "pitch_keeps_off_singularity", worst, f"{words} deg.", holds=worst <= 45.0)


def otherwise(runs: dict[str, Recording]) -> Claim:
    """Assess where least squares do not reach the exact solution."""
    reached, steps = _sum({key: rec for key, rec in runs.items() if PRINTED in key})
    return assess(NAME, "otherwise_rational_solution", None, f"{steps - reached} of {steps} steps need another solver.")


def _sum(runs: dict[str, Recording]) -> tuple[int, int]:
    counted = [exact(rec) for rec in runs.values()]
    return sum(reached for reached, _ in counted), sum(steps for _, steps in counted)


def _exactness_table(runs: dict[str, Recording]) -> Table:
    rows = []
    for key, rec in runs.items():
        reached, steps = exact(rec)
        made, swept = rec["contact_iterations"], rec["contact_sweeps"]
        rows.append(
            (
                key,
                f"{steps}",
                f"{steps - reached}",
                f"{float(rec['contact_residual'].max()):.1e}",
                f"{made.mean():.2f}, {made.max():.0f}",
                f"{swept.max():.0f}",
            )
        )
    header = (
        "run",
        "steps",
        "not by least squares",
        "residual, largest [m/s]",
        "iterations, mean, most",
        "sweeps, most",
    )
    return Table("Least squares, step by step", header, tuple(rows))


def _spine(rec: Recording) -> str:
    """Describe the torques and angles of the spine's motors."""
    columns = [rec.robot.joint_names.index(name) for name in SPINE]
    torque = np.abs(rec.torque[:, columns]).max(axis=0)
    turned = np.degrees(np.abs(rec.joint_position[:, columns]).max(axis=0))
    return (
        f"The motors of the spine give up to {torque[0]:.1f} (pitch) and {torque[1]:.1f} N m (roll), and it rotates by"
        " up to"
        f" {turned[0]:.1f} and {turned[1]:.1f} deg."
    )


def _upright(rec: Recording, seconds: float) -> bool:
    """Return whether a run neither fell nor diverged nor ended early."""
    return not rec.meta["fell"] and not rec.meta["diverged"] and rec.time[-1] > seconds - 1.5 * DT


def stands(rec: Recording, seconds: float = SECONDS) -> Claim:
    z, speed = rec.trunk_position[:, 2], float(np.abs(rec.v[-1]).max())
    there = _upright(rec, seconds) and speed < 1e-3
    carried = float(rec.force[-1, :, 2].sum()) / weight_of(rec.robot.mass)
    note = (
        f"{rec.time[-1]:.1f} s on hard ground, joints held by PD: the trunk comes from {z[0]:.3f} to rest at"
        f" {z[-1]:.3f} m, last speed {speed:.1e}; the feet carry {carried:.6f} of the weight. {_spine(rec)} The paper"
        " shows no simulation."
    )
    return assess(NAME, "stands", there, note, holds=there)


def drops(rec: Recording, seconds: float = SECONDS) -> Claim:
    z, speed = rec.trunk_position[:, 2], float(np.abs(rec.v[-1]).max())
    touched = int(np.argmax(rec.contact.any(axis=1)))
    losing = -float(rec["contact_work"][-1])
    limits = np.array([motor.torque_limit for motor in rec.robot.actuators])
    over = int((np.abs(rec.torque) > limits + 1e-6).any(axis=1).sum())
    there = _upright(rec, seconds) and speed < 1e-2 and bool(rec.contact[-1].all())
    note = (
        f"{1e3 * DROP:.0f} mm above the ground: the feet land after {rec.time[touched]:.3f} s (free fall:"
        f" {np.sqrt(2 * DROP / STANDARD):.3f} s), the trunk falls from {z[0]:.3f} to {z.min():.3f} m and comes to rest"
        f" at {z[-1]:.3f} m on four feet; contact takes {losing:.2f} J. {_spine(rec)}"
        f" In {over} of {len(rec)} steps, at the impact, implicit feedback exceeds the torque limit of a motor."
    )
    return assess(NAME, "drops", there, note, holds=there)


def trots(rec: Recording, seconds: float = SECONDS) -> Claim:
    gait = JointPD.tuned(rec.robot, "trot").gait
    speed, z = rec.mean_speed(gait.ramp), rec.trunk_position[rec.time > gait.ramp, 2]
    there = _upright(rec, seconds) and speed > 0.5 * gait.speed
    note = (
        f"{rec.time[-1]:.1f} s on hard ground: {rec.distance:.2f} m forward, {speed:.3f} m/s after the start (the"
        f" gait's nominal speed is {gait.speed:.3f}), trunk between {z.min():.3f} and {z.max():.3f} m high."
        f" {_spine(rec)} The spine is actuated in every half cycle; gait and gains are chosen, as the paper prints"
        " none."
    )
    return assess(NAME, "trots", there, note, holds=there)


# -- figures -----------------------------------------------------------------------------------------------------------
def _figure(runs: dict[str, Recording]) -> Figure:
    """Draw height and residual, in the drop and in the trot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 4.2), layout="constrained")
    axes = figure.subplots(2, 2, sharex="col", sharey="row")
    for column, key in enumerate(("drop", "trot")):
        rec = runs[key]
        axes[0, column].plot(rec.time, 1e3 * rec.trunk_position[:, 2], color="#2f6fab", lw=1.0)
        axes[0, column].set_title(key, loc="left", fontsize="medium")
        worst = np.maximum(rec["contact_residual"].max(axis=1), 1e-18)
        axes[1, column].plot(rec.time, worst, ".", color="#c4622d", ms=1.5)
        axes[1, column].axhline(RESIDUAL, color="#555555", lw=0.9, ls="--")
        axes[1, column].set_yscale("log")
        axes[1, column].set_xlabel("time [s]")
    axes[0, 0].set_ylabel("trunk height [mm]")
    axes[1, 0].set_ylabel("residual [m/s]")
    for axis in axes.flat:
        axis.grid(color="#dddddd", lw=0.6)
    return figure
