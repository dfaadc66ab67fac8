"""Sensors as on XiLing (Yan et al. 2021): IMU, joint encoders and force sensors under the feet.

A sensor returns the true value plus a constant bias plus noise, rounded to its resolution, at its own rate and with a
delay. All of it is plain NumPy and is traced and compiled with the controller behind it. Noise is a function of seed,
robot, sensor and tick (``nptrace.random``): runs repeat bit for bit, robots of a batch have independent noise, and no
axis repeats itself within 2^48 ticks.

The gains of a ``JointCommand`` act in the drives, on the true joints: sensors change the input of a controller, and
only through that its commands. Quantities that no sensor measures keep their true values: the position and the linear
velocity of the base. The attitude is the IMU's estimate. The accelerometer reads the mean specific force over the
controller's last tick (in the first tick, that of a base at rest): up by g at rest, nothing in free fall.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy import ndarray

from footfall.checks import checked_number, whole_number
from footfall.control.interface import (
    Command,
    Controller,
    ControllerInfo,
    ControllerWrapper,
    Inertial,
    JointCommand,
    Sensed,
)
from footfall.errors import InputError
from footfall.kinematics.forward import joint_positions, joint_rates
from footfall.robot.model.description import Robot
from footfall.sensing.sensor_faults import Fault
from footfall.spatial import cross
from footfall.spatial.quaternion import rotated, to_rotation
from footfall.spatial.rotation import is_rotation
from nptrace import random
from nptrace._types import PyTree, Scalar
from nptrace.array_types import Float, Integer

_KEYS = ("acceleration", "gyro", "attitude", "position", "velocity", "force")  # streams of noise, in this order
_PURPOSE = int.from_bytes(b"sensor")  # a user-defined noise with the same seed is different
_TICK, _NUMBER = 3, 2  # 16-bit words of a tick, and of a robot's number


@runtime_checkable
class Sensor(Protocol):
    """The base class of sensors; ``Reading`` is one."""

    @property
    def is_ideal(self) -> bool:
        """Return whether it returns the true value without delay."""
        ...

    def ticks(self, controller_rate: float, what: str) -> tuple[int, int]:
        """Return (ticks between samples, ticks of delay) at a controller's rate [Hz]."""
        ...

    def sample(
        self, truth: Float[ndarray, "n"], bias: Float[ndarray, "axes"], noise: Callable[[], Float[ndarray, "axes"]]
    ) -> Float[ndarray, "n"]:
        """Return a reading of the true value, given normal numbers for every axis: drawn once, and drawn for this tick.

        An attitude is a quaternion of four numbers with three axes, about which it is rotated.
        """
        ...


@dataclass(frozen=True)
class Reading:
    """The errors of a sensor: bias, noise, delay, rate and resolution, in the unit of the quantity.

    ``noise``: standard deviation of every sample. ``bias``: standard deviation of an offset that the seed draws once
    for every axis. ``resolution``: step to which samples are rounded. ``delay`` [s] and ``rate`` [Hz] (None: every
    tick).
    """

    noise: float = 0.0
    bias: float = 0.0
    resolution: float = 0.0
    delay: float = 0.0
    rate: float | None = None

    def __post_init__(self) -> None:
        for key in ("noise", "bias", "resolution", "delay"):
            value = getattr(self, key)
            object.__setattr__(self, key, float(checked_number(value, f"{key} of a sensor", 0.0)))
        if self.rate is not None:
            rate = float(checked_number(self.rate, "rate of a sensor", 0.0, above=True))
            object.__setattr__(self, "rate", rate)

    @property
    def is_ideal(self) -> bool:
        return not (self.noise or self.bias or self.resolution or self.delay) and self.rate is None

    def ticks(self, controller_rate: float, what: str) -> tuple[int, int]:
        """Return (ticks between samples, ticks of delay) at a controller's rate [Hz]; both must be integers."""
        ratio = 1.0 if self.rate is None else controller_rate / self.rate
        late = self.delay * controller_rate
        if round(ratio) < 1 or abs(ratio - round(ratio)) > 1e-6 * ratio:
            raise InputError(
                f"the {what} sensor's {self.rate:g} Hz must divide the controller's {controller_rate:g} Hz"
            )
        if abs(late - round(late)) > 1e-6 * max(late, 1.0):
            raise InputError(
                f"the {what} sensor's delay of {self.delay:g} s must be a whole number of the controller's ticks of"
                f" {1 / controller_rate:g} s"
            )
        return round(ratio), round(late)

    def sample(
        self, truth: Float[ndarray, "n"], bias: Float[ndarray, "axes"], noise: Callable[[], Float[ndarray, "axes"]]
    ) -> Float[ndarray, "n"]:
        """Return the true value with an error, rounded."""
        error = self.bias * bias
        if self.noise:
            error = error + self.noise * noise()
        reading = truth + error if truth.shape == error.shape else rotated(truth, error)
        return self.resolution * np.floor(reading / self.resolution + 0.5) if self.resolution else reading


@dataclass(frozen=True, eq=False, kw_only=True)
class Sensors:
    """The sensors between the robot and its controller: ``Simulation(sensors=Sensors.typical(seed=1))``.

    ``acceleration`` [m/s²] and ``gyro`` [rad/s] in the axes of the IMU, at ``imu_position`` [m] on the base, rotated by
    ``imu_rotation``; ``attitude`` [rad] of the base; ``position`` [rad] and ``velocity`` [rad/s] of the joints;
    ``force`` [N] at the feet, in world axes. ``faults``: which sensors fail, and when (``sensing.Fault``).

    ``seed`` and ``robot`` select the noise: robot k of a ``Batch`` has that of a ``Simulation`` with ``robot=k``.
    """

    NOT_IN_DIGEST = ("seed", "robot")  # these are in the memory: one program serves all values

    acceleration: Sensor = field(default_factory=Reading)
    gyro: Sensor = field(default_factory=Reading)
    attitude: Sensor = field(default_factory=Reading)
    position: Sensor = field(default_factory=Reading)
    velocity: Sensor = field(default_factory=Reading)
    force: Sensor = field(default_factory=Reading)
    imu_position: Float[ndarray, "3"] = field(default_factory=lambda: np.zeros(3))
    imu_rotation: Float[ndarray, "3 3"] = field(default_factory=lambda: np.eye(3))
    seed: int = 0
    robot: int = 0
    faults: tuple[Fault, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "faults", tuple(self.faults))
        for fault in self.faults:
            if not isinstance(fault, Fault):
                raise InputError(f"the faults of sensors must be Faults, got {fault!r}")
        for key in _KEYS:
            if not isinstance(getattr(self, key), Sensor):
                raise InputError(f"the {key} sensor must be a Reading, got {getattr(self, key)!r}")
        place, turn = np.array(self.imu_position, dtype=float), np.array(self.imu_rotation, dtype=float)
        if place.shape != (3,) or not np.isfinite(place).all():
            raise InputError(f"the position of the IMU must be three finite numbers, got {self.imu_position!r}")
        if turn.shape != (3, 3) or not is_rotation(turn):
            raise InputError("the rotation of the IMU must be a rotation matrix")
        if isinstance(self.attitude, Reading) and self.attitude.resolution:
            raise InputError("the attitude has no resolution: give it noise")
        object.__setattr__(self, "seed", whole_number(self.seed, "the seed of sensors", 0, 2**64 - 1))
        most = 2 ** (16 * _NUMBER) - 1
        object.__setattr__(self, "robot", whole_number(self.robot, "the robot of sensors", 0, most))
        for key, value in (("imu_position", place), ("imu_rotation", turn)):
            object.__setattr__(self, key, value)

    @staticmethod
    def typical(seed: int = 0) -> Sensors:
        """Return typical values: a small IMU, 14-bit encoders, and strain gauges under the feet."""
        return Sensors(
            acceleration=Reading(noise=0.05, bias=0.05),
            gyro=Reading(noise=0.005, bias=0.002),
            attitude=Reading(noise=0.001, bias=0.005),
            position=Reading(resolution=2 * np.pi / 2**14),
            velocity=Reading(noise=0.02),
            force=Reading(noise=1.0, bias=0.5, delay=0.0),
            seed=seed,
        )

    @staticmethod
    def realistic(seed: int = 0) -> Sensors:
        """Return values noisier than ``typical``, such as an estimator meets on a robot.

        At 1 kHz the gyro's noise is a density of 1.6e-4 rad/s/√Hz, and the accelerometer's one of 3.2e-3 m/s²/√Hz.
        """
        return Sensors(
            acceleration=Reading(noise=0.1, bias=0.1),
            gyro=Reading(noise=0.005, bias=0.01),
            attitude=Reading(noise=0.001, bias=0.005),
            position=Reading(noise=1e-3),
            velocity=Reading(noise=0.05),
            force=Reading(noise=3.0, bias=1.0),
            seed=seed,
        )


@dataclass(frozen=True, eq=False)
class SensorWrapper(ControllerWrapper):
    """A controller behind sensors."""

    inner: Controller
    sensors: Sensors
    gravity: tuple[float, float, float]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.sensors, Sensors):
            raise InputError(f"sensors of a simulation must be Sensors, got {type(self.sensors).__name__}")
        for key in _KEYS:
            getattr(self.sensors, key).ticks(self.inner.rate, key)

    @property
    def name(self) -> str:
        return self.wrapped.name

    @property
    def info(self) -> ControllerInfo:
        return replace(self.wrapped.info, needs_sensors=False)  # the sensors are here

    def start(self, robot: Robot) -> dict[str, PyTree]:
        memory: dict[str, PyTree] = {
            "inner": self.inner.start(robot),
            "tick": np.zeros(_TICK),  # since the start, in 16-bit words
            "v_I": np.zeros(3),
        }
        for key, size in _sizes(robot).items():
            reading = getattr(self.sensors, key)
            if not reading.is_ideal:
                late = reading.ticks(self.rate, key)[1]
                bias = np.zeros(3 if key == "attitude" else size)
                memory[key] = {"samples": np.zeros((late + 1, size)), "bias": bias, "wait": 0.0}
        for k, fault in enumerate(self.sensors.faults):
            size = _sizes(robot).get(fault.sensor, 0)
            fault.check(size)
            memory[f"fault {k}"] = np.zeros(size)
        return self._with_noise(memory, np.array(0))

    def memory_of_robots(self, memory: PyTree, numbers: Integer[ndarray, "n"]) -> PyTree:
        return self._with_noise(super().memory_of_robots(memory, numbers), numbers)

    def _with_noise(self, memory: dict[str, PyTree], numbers: Integer[ndarray, "*n"]) -> dict[str, PyTree]:
        """Return an initial memory with the keys and the offsets of robots."""
        found, seed = dict(memory), random.key(self.sensors.seed)
        purpose = random.fold_in(seed, random.words(_PURPOSE, _TICK))
        found["noise"] = noise = random.fold_in(purpose, random.words(self.sensors.robot + numbers, _NUMBER))
        for stream, key in enumerate(_KEYS):
            if key in memory:
                counter = _counter(np.zeros((*numbers.shape, _TICK)), stream, drawn_once=True)
                found[key] = {**memory[key], "bias": random.normal(noise, counter, memory[key]["bias"].shape[-1])}
        return found

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        seen, after = self.read(robot, sensed, memory)
        answer, inner = self.inner(t, robot, seen, command, memory["inner"])
        return answer, {**after, "inner": inner}

    def read(self, robot: Robot, sensed: Sensed, memory: PyTree) -> tuple[Sensed, dict[str, PyTree]]:
        """Return (readings of the sensors, their memory) for the true state."""
        tick = memory["tick"]
        truth, v_I = self._truth(robot, sensed, memory)
        seen, after = dict(truth), {"noise": memory["noise"], "tick": random.advance(tick), "v_I": v_I}
        for key in truth:
            if key in memory:
                seen[key], after[key] = self._read_one(key, truth[key], memory)
        for k, fault in enumerate(self.sensors.faults):
            key, held = fault.sensor, f"fault {k}"
            if key in seen:
                seen[key], after[held] = fault.apply(seen[key], random.number(tick) / self.rate, memory[held])
            else:
                after[held] = memory[held]
        forces = np.reshape(seen["force"], (robot.nf, 3))
        if not robot.floating:
            return Sensed(q=seen["position"], v=seen["velocity"], forces=forces, gravity=self.gravity), after
        q = np.concatenate([sensed.q[:3], seen["attitude"], seen["position"]])
        v = np.concatenate([self.sensors.imu_rotation @ seen["gyro"], sensed.v[3:6], seen["velocity"]])
        # a sensor rotates with the robot, whatever its controller's model is
        foot_force_B = forces @ to_rotation(sensed.q[3:7])
        imu = Inertial(seen["acceleration"], seen["gyro"])
        return Sensed(q=q, v=v, forces=forces, imu=imu, foot_force=foot_force_B, gravity=self.gravity), after

    def _truth(self, robot: Robot, sensed: Sensed, memory: PyTree) -> tuple[dict[str, ndarray], ndarray]:
        """Return (ideal readings, the velocity of the IMU in world axes)."""
        truth = {
            "position": joint_positions(robot, sensed.q),
            "velocity": joint_rates(robot, sensed.v),
            "force": np.reshape(sensed.forces, (3 * robot.nf,)),
        }
        if not robot.floating:
            return truth, memory["v_I"]
        R_WB, R_BI, omega = to_rotation(sensed.q[3:7]), self.sensors.imu_rotation, sensed.v[:3]
        v_I = R_WB @ (sensed.v[3:6] + cross(omega, self.sensors.imu_position))
        mean = np.where(_is_first(memory["tick"]), 0.0, (v_I - memory["v_I"]) * self.rate)
        specific = R_BI.T @ (R_WB.T @ (mean - np.array(self.gravity)))
        return {**truth, "acceleration": specific, "gyro": R_BI.T @ omega, "attitude": sensed.q[3:7]}, v_I

    def _read_one(self, key: str, value: ndarray, memory: PyTree) -> tuple[ndarray, dict[str, PyTree]]:
        """Return (present reading of a sensor, its memory: delayed samples, newest first, and ticks to the next)."""
        sensor: Sensor = getattr(self.sensors, key)
        every, late = sensor.ticks(self.rate, key)
        kept, bias, wait = memory[key]["samples"], memory[key]["bias"], memory[key]["wait"]

        def noise() -> ndarray:
            return random.normal(memory["noise"], _counter(memory["tick"], _KEYS.index(key)), len(bias))

        sample = sensor.sample(value, bias, noise)
        due, first = wait < 0.5, _is_first(memory["tick"])  # nothing was sampled before
        newest = np.where(due, sample, kept[0])
        samples = [newest, *(np.where(first, newest, kept[k]) for k in range(late))]
        wait = np.where(due, every - 1.0, wait - 1.0)
        return samples[late], {"samples": np.stack(samples), "bias": bias, "wait": wait}


def _counter(tick: ndarray, stream: int, drawn_once: bool = False) -> ndarray:
    """Return the counter of a draw: the tick, the sensor, and whether it is drawn once or in every tick."""
    of_stream = np.broadcast_to(np.array([stream, float(drawn_once)]), (*tick.shape[:-1], 2))
    return np.concatenate([tick, of_stream], axis=-1)


def _is_first(tick: ndarray) -> Scalar:
    return np.max(tick) < 0.5


def _sizes(robot: Robot) -> dict[str, int]:
    """Return the size of every sensor's reading."""
    joints = {"position": robot.nj, "velocity": robot.nj, "force": 3 * robot.nf}
    return {**joints, "acceleration": 3, "gyro": 3, "attitude": 4} if robot.floating else joints


__all__ = ["Reading", "Sensor", "SensorWrapper", "Sensors"]
