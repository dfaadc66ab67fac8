"""Does a spine help? Trotting and bounding with a rigid, a passive and an actuated spine (questions of Adak 2021).

The legs follow the same open-loop gait throughout; only the spine differs. A case runs under eight conditions at once:
two frictions, with and without a payload, started straight and with a sideways shove. Means are over those that stay
up. The work of a passive spine is a spring's and costs nothing, that of an actuated one is paid.

    case("bound", "actuated", stiffness=800.0, phase=0.25)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.batch.batch_tick import full_tick, reduced, repeated
from footfall.control.interface import Command
from footfall.control.joint.joint_pd import JointPD
from footfall.control.joint.spine import MODES, RIGID, Spine
from footfall.errors import InputError, unknown
from footfall.gait.pattern import Gait, bound
from footfall.gait.tuned import for_robot
from footfall.gravity import weight_of
from footfall.kinematics import center_of_mass
from footfall.kinematics.forward import joint_rates
from footfall.robot.library import load
from footfall.simulate.simulation import Simulation
from footfall.simulate.tick import Inputs, RunState, SimulationModel

SETTLE, MEASURE = 3.0, 4.0  # [s]
CONDITIONS = tuple(product((0.6, 0.9), (1.0, 1.15), (0.0, 0.2)))  # friction, share of the trunk's mass, shove [m/s]
DAMPING = 0.01  # [s], of the stiffness
SWING = 0.12  # [rad], of an actuated spine
MOVES = {"trot": "spine_roll", "bound": "spine_pitch"}


def gaits() -> dict[str, tuple[Gait, float, float]]:
    """(gait, kp, kd) of the legs: the tuned trot, and a bound found by ``gait_optimisation`` at 0.8 m/s, spine held."""
    trot = for_robot(load("spined"), "trot")
    leaps = bound(
        period=0.74, stride=0.29, height=0.051, duty=0.556, hip_height=0.40, depth=0.006, ramp=trot.gait.ramp,
        knees=trot.gait.knees,
    )  # fmt: skip
    return {"trot": (trot.gait, trot.kp, trot.kd), "bound": (leaps, 311.0, 8.7)}


@dataclass(frozen=True)
class Watched:
    """One robot, or a batch of them, and what is measured on the way."""

    state: RunState
    legs: Any  # positive work of the legs' motors [J]
    spine: Any  # positive work at the spine's joints [J]
    peak: Any  # largest vertical force on a foot [N]
    top: Any  # of the centre of mass [m]
    bottom: Any
    tilt: Any  # sum over ticks of 1 - cos(tilt)
    flight: Any  # ticks without a foot on the ground


def watched_tick(model: SimulationModel, watched: Watched, inputs: Inputs) -> Watched:
    """A tick of the simulation, and the meters after it."""
    robot, after = model.world.robot, full_tick(model, watched.state, inputs)
    work = model.period * np.maximum(after.motor * joint_rates(robot, after.v), 0.0)
    assert isinstance(model.controller, Spine)
    of_spine = np.array([1.0 if name in model.controller.joints else 0.0 for name in robot.joint_names])
    height, vertical = center_of_mass(robot, after.q)[2], after.forces[:, 2]
    x, y = after.q[4], after.q[5]
    return Watched(
        reduced(after, foot_forces=True), watched.legs + work @ (1.0 - of_spine), watched.spine + work @ of_spine,
        np.maximum(watched.peak, np.max(vertical)), np.maximum(watched.top, height),
        np.minimum(watched.bottom, height), watched.tilt + 2.0 * (x * x + y * y),
        watched.flight + np.where(np.max(vertical) > 0.0, 0.0, 1.0),
    )  # fmt: skip


class Course:
    """One gait, compiled once; the spine's numbers, friction and payload are inputs."""

    FREE = ("controller.kp", "controller.kd", "controller.swing", "controller.phase", "ground.friction", "trunk.mass")

    def __init__(self, name: str) -> None:
        self.robot = load("spined")
        self.gait, kp, kd = gaits()[name]
        simulation = Simulation(self.robot, Spine(JointPD(self.gait, kp, kd), moves=MOVES[name]))
        self.period = simulation.model.period
        self.first = Watched(reduced(simulation.state, foot_forces=True), *(0.0,) * 7)
        self.inputs = Inputs(Command(), np.zeros(6))
        self.mass = float(simulation.model.parameter("trunk.mass"))
        self.function = compiling.compile(
            watched_tick, simulation.model, self.first, self.inputs, target="batch", free=self.FREE, verify=False
        )

    def run(self, kp: float, kd: float, swing: float, phase: float) -> dict[str, float]:
        """One spine under all conditions."""
        friction, share, shove = (np.array(x) for x in zip(*CONDITIONS))
        n = len(CONDITIONS)
        mass = self.mass * share
        numbers = (kp, kd, swing, phase)
        free = {path: np.full(n, value) for path, value in zip(self.FREE, numbers)}
        free |= {"ground.friction": friction, "trunk.mass": mass}
        state, inputs = repeated((self.first, self.inputs), n)
        state.state.v[:, 4] = shove
        settled = self.function.advance(round(SETTLE / self.period), state, inputs, free)
        zero = np.zeros(n)
        height = settled.state.q[:, 2]
        begun = Watched(settled.state, zero, zero, zero, height - 1.0, height + 1.0, zero, zero)
        ended = self.function.advance(round(MEASURE / self.period), begun, inputs, free)
        return self._figures(settled.state.q, ended, weight_of(self.robot.mass + mass - self.mass), swing > 0.0)

    def _figures(self, before: ndarray, ended: Watched, weight: ndarray, paid: bool) -> dict[str, float]:
        q, ticks = ended.state.q, MEASURE / self.period
        with np.errstate(invalid="ignore"):
            lean = 1.0 - 2.0 * (q[:, 4] ** 2 + q[:, 5] ** 2)
            up = np.isfinite(q).all(axis=1) & (lean > np.cos(np.radians(40.0))) & (q[:, 2] > 0.5 * before[0, 2])
        survived = float(up.mean())
        if not up.any():
            return {"survived": 0.0, **dict.fromkeys(FIGURES, float("nan"))}
        way = np.linalg.norm((q - before)[up, :2], axis=1)
        work = ended.legs[up] + (ended.spine[up] if paid else 0.0)
        speed = way / MEASURE
        return {
            "survived": survived,
            "speed": float(speed.mean()),
            "cost_of_transport": float((work / (weight[up] * np.maximum(way, 0.05))).mean()),
            "stride_length": float(speed.mean() * self.gait.period),
            "hop_height": float((ended.top - ended.bottom)[up].mean()),
            "peak_force": float((ended.peak / weight)[up].mean()),
            "tilt": float(np.degrees(np.sqrt(2.0 * np.maximum(ended.tilt[up], 0.0) / ticks)).mean()),
            "flight": float((ended.flight[up] / ticks).mean()),
        }


FIGURES = ("speed", "cost_of_transport", "stride_length", "hop_height", "peak_force", "tilt", "flight")


@lru_cache(maxsize=4)
def course(gait: str) -> Course:
    if gait not in MOVES:
        raise unknown("gait of the spine study", gait, MOVES)
    return Course(gait)


def case(
    gait: str = "bound", mode: str = "rigid", stiffness: float = 800.0, phase: float = 0.0, swing: float = SWING
) -> dict[str, Any]:
    """One case: survived [share of conditions], speed [m/s], cost_of_transport, stride_length [m], hop_height [m]
    (range of the centre of mass), peak_force [weights, on one foot], tilt [degrees, rms], flight [share of the time].

    stiffness [N m/rad] of a passive or actuated spine; phase [cycles] and swing [rad] of an actuated one.
    """
    if mode not in MODES:
        raise unknown("mode of the spine", mode, MODES)
    for name, value, least in (("stiffness", stiffness, 1.0), ("swing", swing, 0.0)):
        if not np.isfinite(value) or value < least:
            raise InputError(f"{name} of the spine must be at least {least:g}, got {value}")
    if mode == "rigid":
        return dict(_measured(gait, *RIGID, 0.0, 0.0))
    moves = mode == "actuated"
    return dict(_measured(gait, stiffness, DAMPING * stiffness, swing if moves else 0.0, phase if moves else 0.0))


@lru_cache(maxsize=4096)  # a rigid spine has no stiffness and no phase to vary
def _measured(gait: str, kp: float, kd: float, swing: float, phase: float) -> dict[str, float]:
    return course(gait).run(kp, kd, swing, phase)
