"""Settings of the estimator, its memory between ticks, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy import ndarray

from footfall.checks import positive_number
from footfall.control.interface import JointCommand
from footfall.errors import InputError
from footfall.identity import digest_of
from footfall.robot.model.description import Robot
from footfall.sensing.estimation.contact_detection import Agreement
from footfall.sensing.estimation.invariant_filter import (
    ACCELERATION_BIAS,
    FEET,
    GYRO_BIAS,
    LOST,
    PLACE,
    SPEED,
    TURN,
    FilterState,
)
from footfall.sensing.estimation.momentum_observer import ObserverMemory
from footfall.sensing.estimation.sensor_health import Health, Limits
from footfall.spatial.gravity import GRAVITY, Gravity, strength
from footfall.spatial.rotation import is_rotation
from nptrace._types import Scalar
from nptrace.array_types import Float


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimator:
    """The estimator's model of its sensors and of the ground: standard deviations of samples, and thresholds."""

    gyro: float = 0.005  # [rad/s]
    acceleration: float = 0.1  # [m/s²]
    gyro_bias: float = 0.01  # at the start [rad/s]
    acceleration_bias: float = 0.1  # at the start [m/s²]
    gyro_bias_walk: float = 2e-4  # [rad/s/√s]
    acceleration_bias_walk: float = 2e-3  # [m/s²/√s]
    encoder: float = 1e-3  # [rad]
    leg: float = 1e-4  # error of the model of a leg [m]
    stance: float = 5e-4  # random walk of a stance foot [m/√s]
    landing: float = 1e-2  # during landing [m/√s]
    landing_time: float = 0.03  # [s]
    tilt: float = 0.03  # at the start [rad]
    gate: float = 21.1  # gate of a foot's normalised innovation squared: exceeded by one in ten thousand valid ones
    slip_speed: float = 0.25  # velocity of a foot that slips [m/s]
    on: float = 0.1  # normal force at touchdown, as a fraction of the weight
    off: float = 0.05  # at lift-off
    observer_gain: float = 200.0  # bandwidth of the momentum observer [1/s]
    contact_change: float = 8.0  # rate at which feet land or lift [1/s]
    sure: float = 0.9  # probability at which a foot's contact changes
    firm: float = 0.99  # probability below which a stance foot may be about to lift and move
    level: float | None = None  # deviation of the ground from a level plane [m]; None: unknown
    patience: float = 0.06  # time for which a force sensor may contradict the momentum observer [s]
    gyro_disagreement: float = 0.08  # difference between gyro and stance legs, mean over 0.05 s [rad/s]
    worst_gyro_bias: float = 0.05  # bias beyond which it is reported [rad/s]
    limits: Limits = field(default_factory=Limits)
    imu_position: Float[ndarray, "3"] = field(default_factory=lambda: np.zeros(3))  # on the base [m]
    imu_rotation: Float[ndarray, "3 3"] = field(default_factory=lambda: np.eye(3))  # R_BI
    gravity: Gravity | None = None  # [m/s²]; None: gravity of the run

    def __post_init__(self) -> None:
        for key in ("gyro", "acceleration", "encoder", "leg", "stance", "landing", "tilt", "gate", "observer_gain"):
            positive_number(getattr(self, key), f"{key} of an estimator")
        if not 0 <= self.off <= self.on:
            raise InputError(f"the thresholds of an estimator must satisfy off < on: {self.on}, {self.off}")
        for key in ("sure", "firm"):
            if not 0.5 < getattr(self, key) < 1:
                raise InputError(f"'{key}' of an estimator must lie between 0.5 and 1, got {getattr(self, key)}")
        if self.level is not None and not (np.isfinite(self.level) and self.level > 0):
            raise InputError(f"'level' of an estimator is a positive length [m] or None, got {self.level!r}")
        position, turn = np.array(self.imu_position, dtype=float), np.array(self.imu_rotation, dtype=float)
        if position.shape != (3,) or not np.isfinite(position).all() or turn.shape != (3, 3) or not is_rotation(turn):
            raise InputError("the IMU of an estimator needs a position of three numbers and a rotation matrix")
        object.__setattr__(self, "imu_position", position)
        object.__setattr__(self, "imu_rotation", turn)


@dataclass(frozen=True, eq=False)
class EstimatedRobot:
    """The constants of a tick: a robot, its estimator, tick rate [Hz], and assumed gravity."""

    robot: Robot
    estimator: Estimator
    rate: float
    gravity: Gravity = GRAVITY  # [m/s²]

    def __post_init__(self) -> None:
        if not self.robot.floating or not self.robot.nf:
            raise InputError(f"an estimator needs a floating robot with feet, and '{self.robot.name}' is not one")

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)


@dataclass(frozen=True, kw_only=True)
class EstimatorMemory:
    """The memory of the estimator between ticks."""

    state: FilterState
    health: Health
    belief: Float[ndarray, "modes"]  # probabilities of the contact modes
    contact: Float[ndarray, "nf"]  # 1: in contact
    since: Float[ndarray, "nf"]  # time of touchdown [s]
    slipping: Float[ndarray, "nf"]  # velocity over the ground, smoothed [m/s]
    omega: Float[ndarray, "3"]  # angular velocity of the base, base axes [rad/s]
    disagreement: Float[ndarray, "3"]  # difference between gyro and legs, smoothed [rad/s]
    doubted: Scalar  # 1 while the gyro contradicts the legs
    observer: ObserverMemory
    observed: Float[ndarray, "nf 3"]  # forces from the observer, world axes [N]
    force_contacts: Float[ndarray, "nf"]  # contact by the force sensors alone
    pushed: Float[ndarray, "nf"]  # contact by the momentum observer alone
    agreement: Agreement
    forces: Float[ndarray, "nf 3"]  # smoothed, base axes [N]
    command: JointCommand
    started: Scalar

    @staticmethod
    def at_start(model: EstimatedRobot) -> EstimatorMemory:
        robot, nf = model.robot, model.robot.nf
        state = FilterState(
            quat=np.array([1.0, 0.0, 0.0, 0.0]),
            v=np.zeros(3),
            p=np.zeros(3),
            gyro_bias=np.zeros(3),
            acceleration_bias=np.zeros(3),
            feet=np.zeros((nf, 3)),
            P=_first_covariance(model.estimator, nf),
        )
        ones, zeros = np.ones(nf), np.zeros(nf)
        return EstimatorMemory(
            state=state,
            health=Health.at_start(robot.nj, nf, strength(model.gravity)),
            belief=np.eye(2**nf)[-1],
            contact=ones,
            since=ones,
            slipping=zeros,
            omega=np.zeros(3),
            disagreement=np.zeros(3),
            doubted=0.0,
            observer=ObserverMemory.at_start(robot),
            observed=np.zeros((nf, 3)),
            force_contacts=ones,
            pushed=ones,
            agreement=Agreement.at_start(nf),
            forces=np.zeros((nf, 3)),
            command=JointCommand().broadcast(robot.nj),
            started=0.0,
        )


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The estimated state of the robot."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    forces: Float[ndarray, "nf 3"]  # forces on the stance feet, world axes [N]
    contact: Float[ndarray, "nf"]  # the chosen contact mode
    score: Scalar  # its probability
    P: Float[ndarray, "9 9"]  # covariance of (rotation, v, p), world axes
    nis: Float[ndarray, "nf"]  # normalised innovations squared of the feet
    conditions: Float[ndarray, "_"]  # conditions of the sensors: see ``sensor_names``


def sensor_names(robot: Robot) -> tuple[str, ...]:
    """Return the names of the sensors in ``Estimate.conditions``, in its order."""
    encoders = [f"encoder '{name}'" for name in robot.joint_names]
    rates = [f"joint rate '{name}'" for name in robot.joint_names]
    return "gyro", "accelerometer", *encoders, *rates, *(f"force sensor '{foot.name}'" for foot in robot.feet)


def _first_covariance(own: Estimator, feet: int) -> Float[ndarray, "n n"]:
    """Return the initial covariance: zero for heading and position, by definition; large for the rest."""
    deviations = np.zeros(FEET + 3 * feet)
    deviations[TURN], deviations[SPEED], deviations[PLACE] = (own.tilt, own.tilt, 1e-3), 0.05, (1e-3, 1e-3, 5e-3)
    deviations[GYRO_BIAS], deviations[ACCELERATION_BIAS] = own.gyro_bias, own.acceleration_bias
    deviations[FEET:] = np.sqrt(LOST)
    return np.diag(deviations**2)
