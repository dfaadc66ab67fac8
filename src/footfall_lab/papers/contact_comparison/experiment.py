"""Three contact models on the same robot, controller and ground: our own question, after de Paula et al. 2024.

Drop, slide and trot of the Mini Cheetah by ``Compliant``, ``Complementarity`` and ``Stance``, and by MuJoCo as an
independent reference: pose of the trunk, forces on the feet, residuals of the contact conditions, energy, time.
Differences are relative to the complementarity run, whose residual is at rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from footfall.contact.ground import Plane
from footfall.contact.model import named
from footfall.control.joint.joint_pd import Hold, JointPD
from footfall.draw.style import Dashes, new_figure
from footfall.errors import MissingExtraError
from footfall.recording import metrics
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall.spatial.gravity import weight_of
from footfall_lab.papers.claims import Claim, Outcome, Table, assess
from footfall_lab.papers.registered import Value, setup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "contact_comparison"
TITLE = "Compliant, complementary, standing: three models of contact side by side"
ROBOT, DT, SET = (setup(NAME)[key] for key in ("robot", "dt", "gait_set"))
FRICTION, SLIPPERY, PUSH = 0.8, 0.2, 0.6
MODELS = ("compliant", "complementarity", "stance")
WITNESS = "mujoco"
LABELS = {"compliant": "compliant", "complementarity": "complementarity", "stance": "stance", WITNESS: "MuJoCo, stiff"}
COLORS = {"compliant": "#0072b2", "complementarity": "#d55e00", "stance": "#009e73", WITNESS: "#909090"}
DASHES: dict[str, Dashes] = {"compliant": "-", "complementarity": (0, (6, 2)), "stance": (0, (2, 2)), WITNESS: "-"}
HARD_RESIDUAL = 1e-8  # [m/s]
_STIFFEST = {
    "solref": (4 * DT, 1.0),
    "solimp": (0.95, 0.99, 0.001),
}  # stable in MuJoCo at this step
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A scene: duration, ground, initial state."""

    key: str
    title: str
    duration: float
    friction: float = FRICTION
    clearance: float = 0.0
    sideways: float = 0.0
    trots: bool = False

    def simulation(self, model: str) -> Simulation:
        robot, ground = library.load(ROBOT), Plane(self.friction)
        controller = JointPD.tuned(ROBOT, "trot", SET, open_loop=True) if self.trots else Hold("stand", 40.0, 1.0)
        q, v = standing_start(robot, controller, ground, clearance=self.clearance)
        v[4] = self.sideways
        contact = named("complementarity" if model == WITNESS else model)
        return Simulation(robot, controller, contact=contact, ground=ground, dt=DT, start=(q, v), stop_on_fall=False)


def scenes(quick: bool = False) -> tuple[Scene, ...]:
    return (
        Scene(key="drop", title="drop of 50 mm onto four feet", duration=0.6 if quick else 1.0, clearance=0.05),
        Scene(
            key="slide",
            title=f"pushed off sideways with {PUSH} m/s, friction {SLIPPERY}",
            duration=1.0,
            friction=SLIPPERY,
            sideways=PUSH,
        ),
        Scene(key="trot", title=f"trot, gait constants of set {SET}", duration=2.0 if quick else 6.0, trots=True),
    )


def run(quick: bool = False, progress: Progress | None = None, workers: int = 1) -> Outcome:
    """Run all scenes with all models; without MuJoCo its rows are left out."""
    plan, runs = scenes(quick), dict[tuple[str, str], Recording]()
    total = len(plan) * (len(MODELS) + 1)
    for scene in plan:
        for model in (*MODELS, WITNESS):
            recording = _perform(scene, model)
            if recording is not None:
                runs[scene.key, model] = recording
            if progress is not None:
                progress(f"{scene.key}, {LABELS[model]}", len(runs), total)
    claims = tuple(_claims(runs))
    held = sum(claim.verdict == "holds" for claim in claims)
    return Outcome(
        experiment=NAME,
        title=TITLE,
        summary=f"Three contact models on one robot, with one controller and ground, dt {DT:g} s. {held} of"
        f" {len(claims)} of our own expectations hold. Without slip the three agree to millimetres; stance cannot"
        f" simulate slip, and reports it.",
        claims=claims,
        figures={scene.key: _figure(scene, runs) for scene in plan},
        captions={scene.key: f"{scene.title}: trunk, vertical force on all feet, energy, residual." for scene in plan},
        tables=tuple(_table(scene, runs) for scene in plan),
        settings={
            "robot": ROBOT,
            "dt": f"{DT:g} s",
            "friction": f"{FRICTION:g}; sliding {SLIPPERY:g}",
            "gait": f"trot, set {SET}",
        },
        replays={
            f"{scene.title[0].upper()}{scene.title[1:]}: one controller, every model.": {
                LABELS[model]: runs[scene.key, model] for model in (*MODELS, WITNESS) if (scene.key, model) in runs
            }
            for scene in plan
            if scene.key != "drop"
        },
    )


def _perform(scene: Scene, model: str) -> Recording | None:
    simulation = scene.simulation(model)
    if model != WITNESS:
        simulation.backend  # noqa: B018  compiled before the clock runs
        return simulation.run(scene.duration)
    try:
        from footfall.mujoco.run import mujoco_model, run_mujoco

        stiff = mujoco_model(simulation, contact=_STIFFEST, options={"impratio": 100})
        return run_mujoco(simulation, scene.duration, stiff)
    except MissingExtraError:
        return None


# -- figures of merit --------------------------------------------------------------------------------------------------
def residual(rec: Recording) -> float | None:
    """Return the largest residual of the solver's contact laws [m/s]; None for a model without a solver."""
    return float(rec["contact_residual"].max()) if "contact_residual" in rec else None


def contact_loss(rec: Recording) -> float | None:
    """Return the energy dissipated by contact [J]."""
    return -float(rec["contact_work"][-1]) if "contact_work" in rec else None


def needed_friction(rec: Recording, pressed: float = 5.0) -> float:
    """Return the 99.9th percentile of |f_T| / f_N at feet that carry more than ``pressed`` [N], on level ground."""
    tangent = np.linalg.norm(rec.force[:, :, :2], axis=2)
    loaded = rec.force[:, :, 2] > pressed
    return float(np.percentile(tangent[loaded] / rec.force[:, :, 2][loaded], 99.9)) if loaded.any() else 0.0


def _table(scene: Scene, runs: dict[tuple[str, str], Recording]) -> Table:
    header = (
        "model",
        "end x, y, z [mm]",
        "apart x, y, z [mm]",
        "apart yaw, pitch, roll [deg]",
        "force apart [N]",
        "contact agrees",
        "peak f_z [N]",
        "friction needed",
        "residual [m/s]",
        "lost in contact [J]",
        "audit",
        "us/step",
    )
    exact, rows = runs[scene.key, "complementarity"], []
    for model in (*MODELS, WITNESS):
        rec = runs.get((scene.key, model))
        if rec is None:
            continue
        missed, loss = residual(rec), contact_loss(rec)
        apart, turned = 1e3 * metrics.position_mae(rec, exact), metrics.euler_mae_deg(rec, exact)
        rows.append(
            (
                LABELS[model],
                _triple(1e3 * rec.trunk_position[-1], 1),
                _triple(apart, 2),
                _triple(turned, 2),
                f"{metrics.force_mae(rec, exact):.2f}",
                f"{100 * metrics.contact_agreement(rec, exact):.1f} %",
                f"{metrics.peak_force(rec):.0f}",
                f"{needed_friction(rec):.2f}",
                "–" if missed is None else f"{missed:.1e}",
                "–" if loss is None else f"{loss:.2f}",
                "–" if loss is None else f"{rec.energy_residual():.1e}",
                f"{1e6 * metrics.wall_seconds(rec) / len(rec):.2f}",
            )
        )
    note = "Apart: mean absolute difference from the complementarity run. Time includes the controller, not MuJoCo's."
    return Table(scene.title, header, tuple(rows), note)


def _triple(values: np.ndarray, digits: int) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


# -- claims ------------------------------------------------------------------------------------------------------------
def _claims(runs: dict[tuple[str, str], Recording]) -> list[Claim]:
    """Assess our own expectations, none of which is published."""
    made = []

    def expect(id: str, measured: Value, holds: bool, note: str = "") -> None:
        made.append(assess(NAME, id, measured, note, holds=holds))

    for key in ("drop", "slide", "trot"):
        worst = residual(runs[key, "complementarity"])
        assert worst is not None
        expect(f"{key}_residual", worst, worst <= HARD_RESIDUAL)
    for model in MODELS:
        rec = runs["drop", model]
        weight = float(rec.force[-1, :, 2].sum()) / weight_of(rec.robot.mass)
        expect(f"drop_{model}_weight", weight, abs(weight - 1.0) < 2e-2)
    low = {model: float(runs["drop", model].trunk_position[-1, 2]) for model in MODELS}
    spread = 1e3 * (max(low.values()) - min(low.values()))
    expect("drop_same_height", spread, spread < 1.0)
    slid = {model: float(runs["slide", model].trunk_position[-1, 1]) for model in ("compliant", "complementarity")}
    apart, way = 1e3 * abs(slid["compliant"] - slid["complementarity"]), 1e3 * abs(slid["complementarity"])
    expect("slide_same_distance", apart, apart < 0.1 * way, f"Of {way:.0f} mm.")
    excess = int(runs["slide", "stance"].meta["contact_misses"])
    expect("slide_stance_says_so", float(excess), excess > 0)
    ways = {model: 1e3 * float(runs["trot", model].trunk_position[-1, 0]) for model in MODELS}
    gap = max(ways.values()) - min(ways.values())
    expect("trot_same_way", gap, gap < 0.05 * max(ways.values()), f"Of {ways['complementarity']:.0f} mm.")
    for key in ("drop", "slide", "trot"):
        losses = [contact_loss(runs[key, model]) for model in MODELS]
        least = min(loss for loss in losses if loss is not None)
        expect(f"{key}_contact_loses", least, least >= 0.0)
    return made


# -- figures -----------------------------------------------------------------------------------------------------------
def _figure(scene: Scene, runs: dict[tuple[str, str], Recording]) -> Figure:
    figure = new_figure(10.0, 5.6)
    axes = figure.subplots(2, 3, sharex=True)
    far = 0 if scene.trots else 1
    titles = (
        f"trunk {'xy'[far]} [mm]",
        "trunk z [mm]",
        "trunk pitch [deg]",
        "sum of vertical forces [N]",
        "energy, change [J]",
        "complementarity: residual [m/s]",
    )
    for model in (WITNESS, *MODELS):
        rec = runs.get((scene.key, model))
        if rec is None:
            continue
        columns = [
            1e3 * rec.trunk_position[:, far],
            1e3 * rec.trunk_position[:, 2],
            np.degrees(rec.trunk_euler()[:, 1]),
            rec.force[:, :, 2].sum(axis=1),
            rec.energy - rec.energy[0] if "kinetic" in rec else None,
            np.maximum(rec["contact_residual"].max(axis=1), 1e-20) if "contact_residual" in rec else None,
        ]
        for axis, values in zip(axes.flat, columns):
            if values is not None:
                dashes = "-" if axis is axes[1, 2] else DASHES[model]
                axis.plot(rec.time, values, color=COLORS[model], lw=1.0, label=LABELS[model], linestyle=dashes)
    for axis, title in zip(axes.flat, titles):
        axis.set_title(title, loc="left", fontsize=9.5)
        axis.grid(color="#dddddd", lw=0.6)
    axes[1, 2].set_yscale("log")
    low, high = axes[0, 0].get_ylim()
    axes[0, 0].set_ylim(min(low, -1.0), max(high, 1.0))  # do not magnify rounding
    for axis in axes[1]:
        axis.set_xlabel("time [s]")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=len(labels), frameon=False)
    return figure
