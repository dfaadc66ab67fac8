"""Mini Cheetah walking on the estimate of its own state, with all that its sensors said: made once for all tests."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import footfall as ff
from footfall.contact.terrain import named
from footfall.control.interface import JointCommand
from footfall.recording.recording import Recording
from footfall.sensing.estimation.estimated import Estimated, readings_of
from footfall.sensing.estimation.estimator import Estimate, EstimatedRobot, Estimator, EstimatorMemory, estimate
from footfall.sensing.estimation.sensor_health import Readings
from footfall.sensing.sensors import Sensors
from footfall.sim.start import standing_start

CHEETAH = ff.load("mini_cheetah")


class Watched(Estimated):
    """Remembers what the estimator was told, for which it runs in Python."""

    @property
    def info(self):
        return replace(super().info, traceable=False)

    def __call__(self, t, robot, sensed, command, memory):
        self.told.append((readings_of(robot, sensed), memory["estimator"].command))
        return super().__call__(t, robot, sensed, command, memory)

    def start(self, robot):
        self.told: list[tuple[Readings, JointCommand]] = []
        return super().start(robot)


@dataclass(frozen=True)
class Walk:
    simulation: ff.Simulation
    controller: Watched
    recording: Recording


def walk(ground: str = "plane", seconds: float = 2.5, sensors: Sensors | None = None, **estimator: Any) -> Walk:
    """A walk at 0.4 m/s on the estimate, from standing still."""
    controller = Watched(ff.control.Locomotion(), Estimator(**estimator))
    command, surface = ff.Command(forward=0.4), named(ground, 0, 0.8)
    simulation = ff.Simulation(
        CHEETAH,
        controller,
        ground=surface,
        command=command,
        sensors=sensors or Sensors.realistic(2),
        start=standing_start(CHEETAH, controller.inner, surface, command),
    )
    return Walk(simulation, controller, simulation.run(seconds))


@functools.cache
def short_walk() -> Walk:
    return walk()


def model(**options: Any) -> EstimatedRobot:
    return EstimatedRobot(CHEETAH, Estimator(**options), 1000.0)


@functools.cache
def compiled_estimate() -> Any:
    readings, _ = short_walk().controller.told[0]
    return ff.compile(estimate, model(), readings, EstimatorMemory.at_start(model()))


def replay(
    told: list[tuple[Readings, JointCommand]], change: Any = None, run: Any = None
) -> list[tuple[Estimate, EstimatorMemory]]:
    """The estimator alone over what was said; ``change(tick, readings)`` may spoil the readings."""
    memory, found = EstimatorMemory.at_start(model()), []
    for tick, (readings, command) in enumerate(told):
        spoilt = readings if change is None else change(tick, readings)
        one, memory = (run or compiled_estimate())(spoilt, dataclasses.replace(memory, command=command))
        found.append((one, memory))
    return found


def sane(found: Estimate, memory: EstimatorMemory) -> bool:
    """Finite, a unit quaternion, and a covariance that is one."""
    P = memory.state.P
    numbers = (found.q, found.v, found.forces, found.P, P, memory.state.gyro_bias, memory.state.feet)
    return (
        all(np.isfinite(x).all() for x in numbers)
        and abs(np.linalg.norm(found.q[3:7]) - 1.0) < 1e-9
        and bool((P == P.T).all())
        and bool(np.linalg.eigvalsh(P).min() > -1e-9)
    )
