"""A controller that runs on an estimate: sensor readings enter the filter, and its estimate the controller.

    sensors = ff.sensing.Sensors.realistic(seed=1)
    controller = ff.control.Estimated(ff.control.Locomotion())
    sim = ff.Simulation(robot, controller, sensors=sensors, start=ff.control.standing_state(robot))

The inner controller receives a ``Sensed`` made of estimates alone: the true state, which a simulation passes along with
the readings, is not used. Filter and controller are compiled into one tick if the controller can be compiled; the
estimate is part of the memory, from which log and history are made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray

import nptrace
from footfall.control.interface import Command, Controller, ControllerInfo, ControllerWrapper, JointCommand, Sensed
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.sensing.estimation.estimator import (
    Estimate,
    EstimatedRobot,
    Estimator,
    EstimatorMemory,
    estimate,
    sensor_names,
)
from footfall.sensing.estimation.sensor_health import DISAGREES, FROZEN, GOOD, MISSING, OUT_OF_RANGE, Readings
from footfall.spatial.gravity import GRAVITY, Gravity
from nptrace._types import PyTree, Scalar
from nptrace.array_types import Float

_STAND_IN = {
    "gyro": "the angular velocity of the base comes from the legs",
    "accelerometer": "the base is assumed not to accelerate",
    "encoder": "its rate is integrated",
    "joint rate": "the change of the position is used instead",
    "force sensor": "the momentum observer is used instead",
}
_WORDS = {
    MISSING: "gives no reading",
    FROZEN: "is frozen",
    OUT_OF_RANGE: "is out of range",
    DISAGREES: "contradicts the other sensors",
}


@dataclass(frozen=True, kw_only=True)
class History:
    """The history of an estimate, time first in every array."""

    time: Float[ndarray, "t"]
    q: Float[ndarray, "t nq"]
    v: Float[ndarray, "t nv"]
    contact: Float[ndarray, "t nf"]
    P: Float[ndarray, "t 9 9"]  # covariance of (rotation, v, p), world axes
    nis: Float[ndarray, "t nf"]
    score: Float[ndarray, "t"]  # probability of the chosen contact mode


@dataclass(eq=False)
class Estimated(ControllerWrapper):
    """A controller that runs on estimated states. ``log`` lists sensor faults with their times.

    keep: interval in ticks at which estimates are kept for ``history``.
    """

    inner: Controller
    estimator: Estimator = field(default_factory=Estimator)
    keep: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.estimator, Estimator):
            raise InputError(f"the estimator must be an Estimator, got {type(self.estimator).__name__}")
        if isinstance(self.keep, bool) or not isinstance(self.keep, int) or self.keep < 1:
            raise InputError(
                "keep (every so many ticks an estimate is kept) must be a whole number of at least 1, got"
                f" {self.keep!r}"
            )
        self.log: list[tuple[float, str]] = []
        self._kept: list[tuple[float, Estimate]] = []
        self.seen: Sensed | None = None  # input of the inner controller in the last tick
        self.model: EstimatedRobot
        self._robot: Robot | None = None
        self._compile: Callable[..., PyTree] | None = None

    @property
    def info(self) -> ControllerInfo:
        return dataclasses.replace(self.wrapped.info, needs_sensors=True)

    @property
    def estimates(self) -> Estimated:
        return self

    def start(self, robot: Robot) -> dict[str, PyTree]:
        self._set_up(robot, self.model.gravity if self._robot is robot else GRAVITY)
        self._kept = []
        self.log.clear()
        return {
            "inner": self.inner.start(robot),
            "estimator": EstimatorMemory.at_start(self.model),
            "estimate": _nothing(robot, len(self.names)),
            "tick": 0.0,
        }

    def _set_up(self, robot: Robot, gravity: Gravity) -> bool:
        """Set up the estimator; return whether anything was created anew."""
        self._true_gravity = gravity
        gravity = self.estimator.gravity or gravity
        if self._robot is robot and self.model.gravity == gravity:
            return False
        self._robot, self.names = robot, sensor_names(robot)
        self.model = EstimatedRobot(robot, self.estimator, self.rate, gravity)
        self._estimate: Callable[..., PyTree] = lambda *arguments: estimate(self.model, *arguments)
        return True

    def prepare(self, robot: Robot, compile: Callable[..., PyTree], gravity: Gravity = GRAVITY) -> None:
        """Compile the estimator and the controller."""
        self._set_up(robot, gravity)
        super().prepare(robot, compile, gravity)
        self._compile = compile
        self._compile_estimate(robot)

    def _compile_estimate(self, robot: Robot) -> None:
        assert self._compile is not None
        readings = Readings(np.zeros(3), np.zeros(3), np.zeros(robot.nj), np.zeros(robot.nj), np.zeros((robot.nf, 3)))
        self._estimate = self._compile(estimate, self.model, readings, EstimatorMemory.at_start(self.model))

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, PyTree]
    ) -> tuple[JointCommand, dict[str, PyTree]]:
        traced = nptrace.is_tracing()
        if self._set_up(robot, sensed.gravity) and self._compile is not None and not traced:
            self._compile_estimate(robot)
        readings = readings_of(robot, sensed)
        if traced:
            found, after = estimate(self.model, readings, memory["estimator"])
        else:
            found, after = self._estimate(readings, memory["estimator"])
            self._keep(t, memory["tick"], memory["estimate"].conditions, found)
        seen = self._shown(found)
        if not traced:
            self.seen = seen
        answer, inner = self.inner(t, robot, seen, command, memory["inner"])
        answer = answer.broadcast(robot.nj)
        kept = dataclasses.replace(after, command=answer)
        return answer, {"inner": inner, "estimator": kept, "estimate": found, "tick": memory["tick"] + 1.0}

    def _shown(self, found: Estimate) -> Sensed:
        """Return the input of the inner controller."""
        return Sensed(q=found.q, v=found.v, forces=found.forces, gravity=self._true_gravity, contact=found.contact)

    def log_ticks(self, times: Float[ndarray, "n"], command: Command, before: PyTree, rows: PyTree) -> None:
        """Record the log and the history of compiled ticks."""
        super().log_ticks(times, command, before, rows)
        if not len(times):
            return
        if self.log:
            self.log[:] = [entry for entry in self.log if entry[0] < times[0]]
        if self._kept and self._kept[-1][0] >= times[0]:
            self._kept = [kept for kept in self._kept if kept[0] < times[0]]
        found = rows["estimate"]
        ticks = np.asarray(rows["tick"]) - 1.0
        q, v, forces, contact = (np.array(getattr(found, key)[-1]) for key in ("q", "v", "forces", "contact"))
        self.seen = Sensed(q=q, v=v, forces=forces, gravity=self._true_gravity, contact=contact)
        if len(times) == 1 and found.conditions.tobytes() == before["estimate"].conditions.tobytes():
            if ticks[0] % self.keep == 0:
                self._kept.append((float(times[0]), _row(found, 0)))
            return
        conditions = np.concatenate([before["estimate"].conditions[None], found.conditions])
        for k in np.flatnonzero((conditions[1:] != conditions[:-1]).any(axis=1) | (ticks % self.keep == 0)).tolist():
            self._keep(float(times[k]), ticks[k], conditions[k], _row(found, k))

    def _keep(self, t: float, tick: Scalar, before: Float[ndarray, "_"], found: Estimate) -> None:
        """Keep an estimate for log and history."""
        self._tell(t, before, found.conditions)
        if int(tick) % self.keep == 0:
            self._kept.append((t, found))

    def _tell(self, t: float, before: Float[ndarray, "_"], now: Float[ndarray, "_"]) -> None:
        """Log every sensor whose condition has changed."""
        for k in np.flatnonzero(before != now):
            name = self.names[k]
            if now[k] == GOOD:
                self.log.append((t, f"{name} is good again"))
            else:
                kind = name.partition(" '")[0]
                self.log.append((t, f"{name} {_WORDS[float(now[k])]}: {_instead(kind, float(now[k]))}"))

    def history(self) -> History:
        """Return the estimates kept since the start."""
        if not self._kept:
            raise InputError("nothing was estimated yet: run the simulation first")
        rows = {
            key: np.array([getattr(found, key) for _, found in self._kept])
            for key in ("q", "v", "contact", "P", "nis", "score")
        }
        return History(time=np.array([t for t, _ in self._kept]), **rows)


def readings_of(robot: Robot, sensed: Sensed) -> Readings:
    """Return the readings of the sensors, without anything that they cannot measure."""
    if sensed.imu is None or sensed.foot_force is None:
        raise InputError("an estimator needs sensors: Simulation(..., sensors=Sensors.realistic())")
    return Readings(
        sensed.imu.gyro,
        sensed.imu.acceleration,
        sensed.q[robot.nq - robot.nj :],
        sensed.v[robot.nv - robot.nj :],
        sensed.foot_force,
    )


def _nothing(robot: Robot, sensors: int) -> Estimate:
    """Return the memory before the first tick."""
    feet = np.zeros(robot.nf)
    return Estimate(
        q=np.zeros(robot.nq),
        v=np.zeros(robot.nv),
        forces=np.zeros((robot.nf, 3)),
        contact=feet,
        score=0.0,
        P=np.zeros((9, 9)),
        nis=feet,
        conditions=np.zeros(sensors),
    )


def _row(rows: Estimate, k: int) -> Estimate:
    """Return a copy of one estimate out of many, which outlives them."""
    return Estimate(**{f.name: np.array(getattr(rows, f.name)[k]) for f in dataclasses.fields(Estimate)})


def _instead(kind: str, code: float) -> str:
    return "its bias is learnt anew" if kind == "gyro" and code == DISAGREES else _STAND_IN[kind]


__all__ = ["Estimated", "History", "readings_of"]
