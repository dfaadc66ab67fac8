"""What Adak et al. say about contact: least squares, hard contact against springs, and a robot that stands on it.

The spined robot stands, is dropped, and trots, on rigid ground, with motors in its spine. Every step is recorded with
the residual of the laws of contact and with the work of the fallback solver, so that what least squares did not reach
by itself shows. Hard contact against springs: ``adak_steps``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.complementarity import Complementarity
from footfall.contact.ground import Plane
from footfall.contact.model import Memory
from footfall.contact.points import ContactPoint
from footfall.control.interface import Command, Controller, ControllerWrapper, JointCommand, Sensed
from footfall.control.joint.joint_pd import SPINE_GAINS, Hold, JointPD
from footfall.experiments.adak2021 import adak_steps
from footfall.experiments.adak2021.adak_steps import FRICTION
from footfall.experiments.claims import Claim, Table, shape
from footfall.gravity import STANDARD, weight_of
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.simulate.simulation import Simulation
from footfall.simulate.standing import standing_start

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DT, SLIPPERY = 1e-3, 0.2
SECONDS = 5.0  # of every run
DROP = 0.2  # [m] of air under the feet
BEND = 0.06  # [rad] that the spine bows and stretches in the trot
RESIDUAL, SHARE = 1e-8, 0.99  # [m/s] that counts as exact; share of the steps
STEPS = 10_000  # at least, over which the share is taken
SPINE = ("spine_pitch", "spine_roll")


@dataclass(frozen=True)
class Findings:
    """What goes into the experiment's outcome."""

    claims: tuple[Claim, ...]
    figures: dict[str, Figure]
    captions: dict[str, str]
    tables: tuple[Table, ...]
    settings: dict[str, str]
    replays: dict[str, dict[str, Recording]]


def measure(robot: Robot, quick: bool = False) -> Findings:
    """All claims about contact. ``quick``: fewer springs to tune."""
    runs = perform(robot)
    steps = adak_steps.largest_steps(robot, quick)
    claims = (
        exactness(runs),
        adak_steps.stability(steps),
        stands(runs["stand"]),
        drops(runs["drop"]),
        trots(runs["trot"]),
    )
    figures = {"contact": _figure(runs), "largest_step": adak_steps.figure(steps)}
    captions = {
        "contact": f"Drop from {1e3 * DROP:.0f} mm and trot on rigid ground: height of the trunk, and the residual of"
        " the laws of contact in every step, which must stay below the broken line.",
        "largest_step": "Largest steps at which the robot stands and trots, against how deep its feet sink: explicit"
        " spring-dampers of several stiffnesses, the damper tuned for each, and hard contact, which does not sink.",
    }
    settings = {
        "contact": f"least squares, warm-started, dt {DT:g} s, friction {FRICTION:g}; tolerance {RESIDUAL:g} m/s",
        "trot": f"gait of the library, spine bowing by {BEND:g} rad in every half cycle",
    }
    return Findings(claims, figures, captions, (adak_steps.table(steps), _exactness_table(runs)), settings,
                    {"A trot with a spine that bows, and a drop, on rigid ground.":
                     {"trot": runs["trot"], "drop": runs["drop"]}})  # fmt: skip


# -- runs on hard ground -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class BowingSpine(ControllerWrapper):
    """A trot whose spine joint bows and stretches twice a cycle, once for each pair of feet."""

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


class ColdStart(Complementarity):
    """Every step is solved from no impulses at all: what least squares can do by itself."""

    def respond(
        self,
        robot: Robot,
        M: Float[ndarray, "nv nv"],
        force: Float[ndarray, "nv"],
        points: Sequence[ContactPoint],
        v: Float[ndarray, "nv"],
        dt: float,
        memory: Memory,
    ) -> tuple[Float[ndarray, "nv"], list[ndarray], Memory]:
        n = len(points)
        return super().respond(
            robot, M, force, points, v, dt, {**memory, "impulse": np.zeros((n, 3)), "slip": np.zeros(n)}
        )


def perform(robot: Robot, seconds: float = SECONDS) -> dict[str, Recording]:
    """The recordings: stand, drop, trot; and for the solver alone, trots that slip or start every step anew."""
    trot = JointPD.tuned(robot, "trot")
    bowing = BowingSpine(trot)
    joints = robot.state("stand")[0][robot.nq - robot.nj :]
    spine = np.array([name in SPINE for name in robot.joint_names])
    kp, kd = (np.where(spine, stiff, legs) for stiff, legs in zip(SPINE_GAINS, (trot.kp, trot.kd)))
    hold = Hold(joints, kp, kd)
    warm, cold = Complementarity(method="least_squares"), ColdStart(method="least_squares")
    plan: dict[str, tuple[Controller, Complementarity, float, float]] = {
        "stand": (hold, warm, FRICTION, 0.0),
        "drop": (hold, warm, FRICTION, DROP),
        "trot": (bowing, warm, FRICTION, 0.0),
        "slipping trot": (bowing, warm, SLIPPERY, 0.0),
        "trot, cold starts": (bowing, cold, FRICTION, 0.0),
    }
    runs = {}
    for key, (controller, contact, friction, clearance) in plan.items():
        ground = Plane(friction)
        start = standing_start(robot, controller, ground, clearance=clearance)
        stops = friction == FRICTION  # one that slips may fall
        simulation = Simulation(robot, controller, contact, ground, dt=DT, start=start, stop_on_fall=stops)
        runs[key] = simulation.run(seconds)
    return runs


def exact(rec: Recording) -> tuple[int, int]:
    """(steps that least squares solved by itself to the residual, steps): the fallback's do not count."""
    reached = (rec["contact_residual"].max(axis=1) <= RESIDUAL) & (rec["contact_sweeps"] == 0)
    return int(reached.sum()), len(rec)


def exactness(runs: dict[str, Recording]) -> Claim:
    counts = {key: exact(rec) for key, rec in runs.items() if "cold" not in key}
    reached, steps = (sum(pair[k] for pair in counts.values()) for k in range(2))
    share = reached / max(steps, 1)
    worst = max(float(runs[key]["contact_residual"].max()) for key in counts)
    cold_reached, cold_steps = exact(runs["trot, cold starts"])
    rest = steps - reached
    note = (
        f"{reached} of {steps} recorded steps (standing, drop, trot, trot slipping on friction {SLIPPERY:g}) solved"
        f" to at most {RESIDUAL:g} m/s by least squares alone; the other {rest} went to the solver by contact, and"
        f" none was left above {worst:.1e} m/s. Started from nothing in every step, without the impulses of the step"
        f" before: {cold_reached} of {cold_steps}. Eq. (37) with two errata mended: S_11 of eq. (34) is 1 only for a"
        " pressed contact, and the impulses are scaled, since A - 1 mixes units. The paper gives no count."
    )
    return shape(
        "least_squares_reaches_exact_solution", "least squares reaches the exact solution", "almost always",
        100 * share, share >= SHARE and steps >= STEPS and worst <= RESIDUAL, "% of steps", note,
    )  # fmt: skip


def _exactness_table(runs: dict[str, Recording]) -> Table:
    rows = []
    for key, rec in runs.items():
        reached, steps = exact(rec)
        made, swept = rec["contact_iterations"], rec["contact_sweeps"]
        rows.append(
            (key, f"{steps}", f"{steps - reached}", f"{float(rec['contact_residual'].max()):.1e}",
             f"{made.mean():.2f}, {made.max():.0f}", f"{swept.max():.0f}")
        )  # fmt: skip
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
    """What the motors of the spine did, in words."""
    columns = [rec.robot.joint_names.index(name) for name in SPINE]
    torque = np.abs(rec.torque[:, columns]).max(axis=0)
    turned = np.degrees(np.abs(rec.joint_position[:, columns]).max(axis=0))
    return (
        f"The spine's motors give up to {torque[0]:.1f} (pitch) and {torque[1]:.1f} N m (roll), and it turns by up to"
        f" {turned[0]:.1f} and {turned[1]:.1f} deg."
    )


def _upright(rec: Recording, seconds: float) -> bool:
    """Neither fallen nor lost nor cut short."""
    return not rec.meta["fell"] and not rec.meta["diverged"] and rec.time[-1] > seconds - 1.5 * DT


def stands(rec: Recording, seconds: float = SECONDS) -> Claim:
    z, speed = rec.trunk_position[:, 2], float(np.abs(rec.v[-1]).max())
    there = _upright(rec, seconds) and speed < 1e-3
    carried = float(rec.force[-1, :, 2].sum()) / weight_of(rec.robot.mass)
    note = (
        f"{rec.time[-1]:.1f} s on hard ground, joints held by PD: the trunk comes from {z[0]:.3f} to rest at"
        f" {z[-1]:.3f} m, last speed {speed:.1e}; the feet carry {carried:.6f} of the weight. {_spine(rec)} The paper"
        " shows no run: that such a robot works in its environment is read from its aim."
    )
    return shape("stands", "the spined robot stands on hard ground", True, there, there, note=note)


def drops(rec: Recording, seconds: float = SECONDS) -> Claim:
    z, speed = rec.trunk_position[:, 2], float(np.abs(rec.v[-1]).max())
    touched = int(np.argmax(rec.contact.any(axis=1)))
    losing = -float(rec["contact_work"][-1])
    limits = np.array([motor.torque_limit for motor in rec.robot.actuators])
    over = int((np.abs(rec.torque) > limits + 1e-6).any(axis=1).sum())
    there = _upright(rec, seconds) and speed < 1e-2 and bool(rec.contact[-1].all())
    note = (
        f"{1e3 * DROP:.0f} mm of air under the feet: they land after {rec.time[touched]:.3f} s (free fall:"
        f" {np.sqrt(2 * DROP / STANDARD):.3f} s), the trunk falls from {z[0]:.3f} to {z.min():.3f} m and comes to rest"
        f" at {z[-1]:.3f} m on four feet; contact takes {losing:.2f} J. {_spine(rec)}"
        f" In {over} of {len(rec)} steps, at the impact, implicit feedback takes a torque past its motor's limit."
    )
    return shape("drops", "the spined robot lands from a drop", True, there, there, note=note)


def trots(rec: Recording, seconds: float = SECONDS) -> Claim:
    gait = JointPD.tuned(rec.robot, "trot").gait
    speed, z = rec.mean_speed(gait.ramp), rec.trunk_position[rec.time > gait.ramp, 2]
    there = _upright(rec, seconds) and speed > 0.5 * gait.speed
    note = (
        f"{rec.time[-1]:.1f} s on hard ground: {rec.distance:.2f} m forward, {speed:.3f} m/s after the start (the"
        f" gait's nominal speed is {gait.speed:.3f}), trunk between {z.min():.3f} and {z.max():.3f} m high."
        f" {_spine(rec)} It is bent by command in every half cycle; gait and gains are chosen, as the paper prints"
        " none."
    )
    return shape("trots", "the spined robot trots on hard ground", True, there, there, note=note)


# -- figures -----------------------------------------------------------------------------------------------------------
def _figure(runs: dict[str, Recording]) -> Figure:
    """Height and residual, in the drop and in the trot."""
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
