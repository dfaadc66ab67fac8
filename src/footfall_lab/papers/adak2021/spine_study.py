"""Does a spine help? Trot, bound and gallop with a spine that is rigid, passive, lockable, actuated or series-elastic.

Questions of the survey in Adak et al. 2021. The legs follow a commanded speed by MPC (stage ``mpc`` of Locomotion,
which does not model the spine's drive); only the spine differs. All speeds, frictions and gaits of a case run in one
batch. Springs and brakes cost nothing; positive work of motors, in the legs or the spine, counts.

    case("bound", "series_elastic", stiffness=400.0, phase=0.25)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.control.fixed_model import FixedModel
from footfall.control.interface import Command
from footfall.control.joint.spine import LOCKED, Spine
from footfall.control.locomotion.locomotion_tick import gait_numbers
from footfall.control.named import on_command, schedule
from footfall.errors import InputError, unknown
from footfall.kinematics import center_of_mass
from footfall.kinematics.forward import joint_rates
from footfall.robot.library import load
from footfall.robot.model.description import Robot
from footfall.robot.model.spine import KINDS, SPRING, spine_joints, with_spine
from footfall.sim.simulation import Simulation
from footfall.sim.tick import Inputs, RunState, SimulationModel, reduced, repeated, tick
from footfall.spatial.gravity import weight_of
from nptrace._types import Json, Scalar
from nptrace.array_types import Float

SETTLE, MEASURE = 2.5, 2.5  # [s]
SPEEDS = {"trot": (0.5, 1.0), "bound": (1.0, 2.0), "rotary_gallop": (1.0, 1.5, 2.0, 2.5, 3.0, 3.5)}  # commanded [m/s]
FRICTION = 0.8
DAMPING = 0.01  # [s], damping relative to stiffness
STIFF = 1e7  # [N m/rad]: effectively no series spring
SWING = 0.12  # [rad]
GAINS = (800.0, 16.0)  # [N m/rad], [N m s/rad]: of the spine's motors
FILTER = 5e-3  # [s]: shorter peaks are due to the foot, not the robot
PLAN_RATE = 200.0  # [Hz]: one program for all gaits


@dataclass(frozen=True, kw_only=True)
class WatchedSpine:
    """The state of one robot or a batch, with the quantities measured during a run."""

    state: RunState
    legs: Scalar  # positive work of the legs' motors [J]
    spine: Scalar  # positive work of the spine's motors [J]
    force: Scalar  # vertical force on each foot, filtered [N]
    peak: Scalar  # the largest of these [N]
    top: Scalar  # highest centre of mass [m]
    bottom: Scalar
    bend: Scalar  # sum over ticks of the spine's angles squared [rad²]
    tilt: Scalar  # sum over ticks of 1 - cos(tilt)
    flight: Scalar  # ticks without a foot on the ground
    left: Scalar  # height of the centre of mass when a foot last touched [m]
    hop: Scalar  # its largest rise above that, while none touches [m]
    shove: Scalar  # horizontal ground reaction force, filtered [N]
    shoved: Scalar  # the largest of these [N]


def watched_tick(model: SimulationModel, watched: WatchedSpine, inputs: Inputs) -> WatchedSpine:
    """Make a tick of the simulation and update the measured quantities."""
    robot, (after, _) = model.world.robot, tick(model, watched.state, inputs)
    work = model.period * np.maximum(after.motor * joint_rates(robot, after.v), 0.0)
    names = spine_joints(robot)
    of_spine = np.array([1.0 if name in names else 0.0 for name in robot.joint_names])
    at = {name: after.q[7 + robot.joint_names.index(name)] for name in names}
    angles = [at[name] + at.get(name + SPRING, 0.0) for name in names if not name.endswith(SPRING)]
    height, vertical = center_of_mass(robot, after.q)[2], after.forces[:, 2]
    force = watched.force + model.period / FILTER * (vertical - watched.force)
    shove = watched.shove + model.period / FILTER * (np.sum(after.forces[:, :2], axis=0) - watched.shove)
    x, y = after.q[4], after.q[5]
    return WatchedSpine(
        state=reduced(after, "forces"),
        legs=watched.legs + work @ (1.0 - of_spine),
        spine=watched.spine + work @ of_spine,
        force=force,
        peak=np.maximum(watched.peak, np.max(force)),
        top=np.maximum(watched.top, height),
        bottom=np.minimum(watched.bottom, height),
        bend=watched.bend + sum(a * a for a in angles),
        tilt=watched.tilt + 2.0 * (x * x + y * y),
        flight=watched.flight + np.where(np.max(vertical) > 0.0, 0.0, 1.0),
        left=np.where(np.max(vertical) > 0.0, height, watched.left),
        hop=np.maximum(watched.hop, np.where(np.max(vertical) > 0.0, 0.0, height - watched.left)),
        shove=shove,
        shoved=np.maximum(watched.shoved, np.sqrt(shove @ shove)),
    )


@dataclass(frozen=True)
class SpineCase:
    """A spine: its kind, stiffness [N m/rad] of its springs, phase [cycles] and swing [rad] of its motors."""

    kind: str
    stiffness: float = 800.0
    phase: float = 0.0
    swing: float = SWING

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown("kind of spine", self.kind, KINDS)
        for name, least in (("stiffness", 1.0), ("swing", 0.0), ("phase", -1e3)):
            value = getattr(self, name)
            if not np.isfinite(value) or value < least:
                raise InputError(f"{name} of the spine must be at least {least:g}, got {value}")

    @property
    def machine(self) -> str:
        """Return which of the two robots runs it."""
        return "series_elastic" if self.kind in ("series_elastic", "actuated") else "lockable"

    def numbers(self, joints: Sequence[str]) -> dict[str, float]:
        """Return the values of the free parameters of that robot's program."""
        k = STIFF if self.kind == "actuated" else self.stiffness
        springs = {f"{j}.stiffness": k for j in joints} | {f"{j}.damping": DAMPING * k for j in joints}
        if self.machine == "series_elastic":
            return springs | {"controller.swing": self.swing, "controller.phase": self.phase}
        held, braked = (LOCKED * (self.kind == name) for name in ("rigid", "lockable"))
        return springs | {"controller.kd": held, "controller.brake": braked}


class Machine:
    """A robot with a kind of spine, compiled once, with spine parameters, gait, speed and friction as inputs."""

    def __init__(self, kind: str, robot: Robot | str = "spined") -> None:
        plain = load(robot) if isinstance(robot, str) else robot
        motors = spine_joints(plain)
        if not motors:
            raise InputError(f"robot '{plain.name}' has no spine: use one such as quadruped(spine=('pitch',))")
        self.robot = with_spine(plain, kind)
        self.springs = [j + SPRING for j in motors] if kind == "series_elastic" else list(motors)
        legs = FixedModel(on_command("mpc", "trot", mpc_rate=PLAN_RATE), self.robot)  # without springs
        kp, kd = GAINS if kind == "series_elastic" else (0.0, 0.0)
        brake = None if kind == "series_elastic" else 0.0
        share = 1.0 if brake is None else 0.0
        controller = Spine(inner=legs, kp=kp, kd=kd, share=share, brake=brake)
        simulation = Simulation(self.robot, controller)
        self.period = simulation.model.period
        self.free = ("ground.friction", *SpineCase(kind).numbers(self.springs))
        zero = dict.fromkeys(
            ("legs", "spine", "peak", "top", "bottom", "bend", "tilt", "flight", "left", "hop", "shoved"), 0.0
        )
        self.first, self.inputs = (
            WatchedSpine(state=reduced(simulation.state, "forces"), force=np.zeros(4), shove=np.zeros(2), **zero),
            Inputs(Command(), np.zeros(6)),
        )
        self.function = compiling.compile(
            watched_tick, simulation.model, self.first, self.inputs, target="batch", free=self.free, verify=False
        )

    def run(
        self, runs: Sequence[tuple[SpineCase, str, float, float]], starts: Float[ndarray, "n legs"] | None = None
    ) -> list[dict[str, float]]:
        """Run every (case, gait, speed [m/s], friction) in one batch.

        Args:
            runs: One tuple per robot.
            starts: Offsets of the leg joints of each robot at the start [rad].

        Returns:
            The results of each run.
        """
        n = len(runs)
        numbers = [{"ground.friction": mu, **case.numbers(self.springs)} for case, _, _, mu in runs]
        free = {path: np.array([row[path] for row in numbers]) for path in self.free}
        state, inputs = repeated((self.first, self.inputs), n)
        if starts is not None:
            q = np.array(state.state.q)
            q[:, [7 + self.robot.joint_names.index(name) for name in leg_joints(self.robot)]] += starts
            state = dataclasses.replace(state, state=dataclasses.replace(state.state, q=q))
        speed = np.array([v for _, _, v, _ in runs])
        gaits = [schedule(gait, v) for _, gait, v, _ in runs]
        state = _on_gaits(state, np.stack([gait_numbers(gait) for gait in gaits]))
        inputs = dataclasses.replace(inputs, command=dataclasses.replace(inputs.command, forward=speed))
        settled = self.function.advance(round(SETTLE / self.period), state, inputs, free)
        zero, height = np.zeros(n), settled.state.q[:, 2]
        begun = WatchedSpine(
            state=settled.state,
            legs=zero,
            spine=zero,
            force=settled.force,
            peak=zero,
            top=height - 1.0,
            bottom=height + 1.0,
            bend=zero,
            tilt=zero,
            flight=zero,
            left=height + 1.0,  # no rise before a foot has touched
            hop=zero,
            shove=settled.shove,
            shoved=zero,
        )
        ended = self.function.advance(round(MEASURE / self.period), begun, inputs, free)
        return self._figures(settled.state.q, ended, np.array([gait.period for gait in gaits]))

    def _figures(self, before: ndarray, ended: WatchedSpine, period: ndarray) -> list[dict[str, float]]:
        q, ticks, weight = ended.state.q, MEASURE / self.period, weight_of(self.robot.mass)
        with np.errstate(invalid="ignore", over="ignore"):
            lean = 1.0 - 2.0 * (q[:, 4] ** 2 + q[:, 5] ** 2)
            up = np.isfinite(q).all(axis=1) & (lean > np.cos(np.radians(40.0))) & (q[:, 2] > 0.5 * before[0, 2])
            up &= ended.bottom > 0.5 * self.first.state.q[2]
            way = np.linalg.norm((q - before)[:, :2], axis=1)
            columns = {
                "speed": way / MEASURE,
                "cost_of_transport": (ended.legs + ended.spine) / (weight * np.maximum(way, 0.05)),
                "leg_work": ended.legs / (weight * np.maximum(way, 0.05)),
                "stride_length": way / MEASURE * period,
                "height_change": ended.top - ended.bottom,
                "hop_height": ended.hop,
                "peak_force": ended.peak / weight,
                "horizontal_force": ended.shoved / weight,
                "spine_share": 100.0 * ended.spine / (ended.legs + ended.spine),
                "bend": np.sqrt(ended.bend / ticks),
                "tilt": np.degrees(np.sqrt(2.0 * np.maximum(ended.tilt, 0.0) / ticks)),
                "flight": ended.flight / ticks,
            }
        return [
            {"survived": float(u), **{key: float(values[k]) if u else float("nan") for key, values in columns.items()}}
            for k, u in enumerate(up)
        ]


FIGURES = (
    "speed",
    "cost_of_transport",
    "leg_work",
    "stride_length",
    "height_change",
    "hop_height",
    "peak_force",
    "horizontal_force",
    "spine_share",
    "bend",
    "tilt",
    "flight",
)


def _on_gaits(state: WatchedSpine, beats: ndarray) -> WatchedSpine:
    """Return a batch in which each controller has its gait: delays, duty, period."""
    memory = state.state.memory
    legs = memory["inner"] if isinstance(memory, dict) else memory
    legs = dataclasses.replace(legs, delays=beats[:, :4], timing=beats[:, 4:], gait_goal=beats)
    memory = {**memory, "inner": legs} if isinstance(memory, dict) else legs
    return dataclasses.replace(state, state=dataclasses.replace(state.state, memory=memory))


@lru_cache(maxsize=4)
def machine(kind: str, robot: Robot | str = "spined") -> Machine:
    return Machine(kind, robot)


def measured(
    cases: Sequence[SpineCase],
    speeds: dict[str, tuple[float, ...]] | None = None,
    frictions: Sequence[float] = (FRICTION,),
    robot: Robot | str = "spined",
    start: int = 0,
    noise: float = 0.0,
) -> dict[tuple[SpineCase, str, float, float], dict[str, float]]:
    """Measure every case in every gait, at every speed and friction; each machine runs its cases in one batch.

    Args:
        cases: The spines.
        speeds: Commanded [m/s], by gait.
        frictions: Coefficients of the ground.
        robot: Any robot with a spine, or the name of a library robot.
        start: Seed of the start; the robots of all cases start alike.
        noise: Standard deviation of the joints of the legs at the start [rad].

    Returns:
        Results by case, gait, speed and friction.
    """
    found: dict[tuple[SpineCase, str, float, float], dict[str, float]] = {}
    lanes = [(gait, v, mu) for gait, values in (speeds or SPEEDS).items() for v, mu in product(values, frictions)]
    for kind in ("lockable", "series_elastic"):
        runs = [(case, *lane) for case in cases if case.machine == kind for lane in lanes]
        if runs:
            made = machine(kind, robot)
            off = noise * np.random.default_rng(start).normal(size=len(leg_joints(made.robot)))
            found |= dict(zip(runs, made.run(runs, np.tile(off, (len(runs), 1)))))
    return found


def leg_joints(robot: Robot) -> list[str]:
    """Return the joints that are not part of the spine."""
    spine = set(spine_joints(robot))
    return [name for name in robot.joint_names if name not in spine]


def mean(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return means over the runs that stay up; ``survived`` is their fraction."""
    up = [row for row in rows if row["survived"]]
    share = len(up) / len(rows)
    return {"survived": share} | {k: float(np.mean([r[k] for r in up])) if up else float("nan") for k in FIGURES}


def case(
    gait: str = "bound",
    mode: str = "rigid",
    stiffness: float = 800.0,
    phase: float = 0.0,
    swing: float = SWING,
    robot: Robot | str = "spined",
) -> dict[str, Json]:
    """Measure one spine in one gait.

    Args:
        gait: A key of ``SPEEDS``.
        mode: Kind of the spine.
        stiffness: Stiffness of its springs [N m/rad].
        phase: Phase of its motors [cycles].
        swing: Amplitude of its motors [rad].
        robot: Any robot with a spine, or the name of a library robot.

    Returns:
        survived [fraction of runs], speed [m/s], cost_of_transport, leg_work [the legs' part of that cost],
        stride_length [m], height_change [m] (range of the centre of mass), hop_height [m] (its rise without a foot on
        the ground), peak_force [weights, on one foot], horizontal_force [weights, on the robot], spine_share [% of the
        motors' work], bend [rad, rms], tilt [degrees, rms], flight [fraction of the time].
    """
    if gait not in SPEEDS:
        raise unknown("gait of the spine study", gait, SPEEDS)
    spine = SpineCase(mode, stiffness, phase, swing)
    if mode in ("rigid", "passive", "lockable"):  # no motors
        spine = dataclasses.replace(spine, phase=0.0, swing=0.0)
    if mode in ("rigid", "actuated"):  # no springs
        spine = dataclasses.replace(spine, stiffness=SpineCase.stiffness)
    return dict(_one(spine, gait, robot))


@lru_cache(maxsize=4096)
def _one(spine: SpineCase, gait: str, robot: Robot | str) -> dict[str, float]:
    return mean(list(measured([spine], {gait: SPEEDS[gait]}, robot=robot).values()))
