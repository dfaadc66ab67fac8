"""Base pose and velocity, contact mode and foot forces from IMU, encoders and foot forces: one tick of the estimator.

Seed 003 (Yan et al. 2021) puts force sensors under the feet and an IMU on the body, and chooses the model by the
topology that they show. Here a tick judges the readings (``sensor_health``), chooses the contact mode
(``contact_mode``), moves and corrects the invariant filter (``invariant_filter``, ``leg_odometry``), and observes the
forces at the feet by the momentum of the robot (``momentum_observer``). Plain NumPy without hidden state.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.estimation.contact_detection import Agreement, force_contact, watch_agreement
from footfall.control.estimation.contact_mode import debounced, evidence, foot_probabilities, mode_score, update_modes
from footfall.control.estimation.invariant_filter import (
    ACCELERATION_BIAS,
    FEET,
    GYRO_BIAS,
    LOST,
    PLACE,
    SPEED,
    TURN,
    FilterState,
    FootSeen,
    correct,
    on_level_ground,
    plain_covariance,
    propagate,
)
from footfall.control.estimation.leg_odometry import (
    Legs,
    base_motion,
    foot_speeds,
    in_step,
    legs_of,
    place_noise,
    rolling,
)
from footfall.control.estimation.momentum_observer import ObserverMemory, foot_forces, observe_momentum
from footfall.control.estimation.sensor_health import DISAGREES, Health, Limits, Readings, check
from footfall.control.interface import JointCommand
from footfall.control.locomotion.whole_body import torque_bounds
from footfall.errors import InputError
from footfall.gravity import GRAVITY, Gravity, strength, weight_of
from footfall.identity import digest_of
from footfall.robot.model.description import Robot
from footfall.spatial import cross
from footfall.spatial.quaternion import conjugate, from_rotation, multiply, to_rotation
from footfall.spatial.rotation import is_rotation

_UNREADABLE = 1e3  # variance of a foot on a leg that cannot be read [m²]


@dataclass(frozen=True, eq=False)
class Estimator:
    """What the estimator believes of its sensors and of the ground: standard deviations of samples, and thresholds."""

    gyro: float = 0.005  # [rad/s]
    acceleration: float = 0.1  # [m/s²]
    gyro_bias: float = 0.01  # at the start [rad/s]
    acceleration_bias: float = 0.1  # at the start [m/s²]
    gyro_bias_walk: float = 2e-4  # [rad/s/√s]
    acceleration_bias_walk: float = 2e-3  # [m/s²/√s]
    encoder: float = 1e-3  # [rad]
    leg: float = 1e-4  # of the model of a leg [m]
    stance: float = 5e-4  # what a standing foot wanders [m/√s]
    landing: float = 1e-2  # the same while it lands [m/√s]
    landing_time: float = 0.03  # [s]
    tilt: float = 0.03  # at the start [rad]
    gate: float = 21.1  # of a foot's normalised innovation squared: one in ten thousand good ones is beyond
    slip_speed: float = 0.25  # of a foot that slips [m/s]
    on: float = 0.1  # normal force of a foot that comes down, of the weight
    off: float = 0.05  # of one that lifts
    observer_gain: float = 200.0  # of the momentum observer [1/s]
    contact_change: float = 8.0  # how often a foot comes or goes [1/s]
    sure: float = 0.9  # probability at which a foot's contact changes
    firm: float = 0.99  # probability below which a foot that stands may be about to lift, and to move
    level: float | None = None  # what the ground strays from a level plane [m]; None: nothing is assumed of it
    patience: float = 0.06  # how long a force sensor may contradict the momentum observer [s]
    gyro_disagreement: float = 0.08  # between gyro and standing legs, mean over 0.05 s [rad/s]
    worst_gyro_bias: float = 0.05  # beyond which it is told [rad/s]
    limits: Limits = field(default_factory=Limits)
    imu_position: Float[ndarray, "3"] = field(default_factory=lambda: np.zeros(3))  # on the base [m]
    imu_rotation: Float[ndarray, "3 3"] = field(default_factory=lambda: np.eye(3))  # R_BI
    gravity: Gravity | None = None  # [m/s²]; None: that of the run

    def __post_init__(self) -> None:
        for key in ("gyro", "acceleration", "encoder", "leg", "stance", "landing", "tilt", "gate", "observer_gain"):
            if not np.isfinite(getattr(self, key)) or getattr(self, key) <= 0:
                raise InputError(f"{key} of an estimator must be positive, got {getattr(self, key)!r}")
        if not 0 <= self.off <= self.on:
            raise InputError(f"an estimator's feet come down above 'on' and lift below 'off': {self.on}, {self.off}")
        for key in ("sure", "firm"):
            if not 0.5 < getattr(self, key) < 1:
                raise InputError(f"'{key}' of an estimator must lie between 0.5 and 1, got {getattr(self, key)}")
        if self.level is not None and not (np.isfinite(self.level) and self.level > 0):
            raise InputError(f"'level' of an estimator is a positive length [m] or None, got {self.level!r}")
        place, turn = np.array(self.imu_position, dtype=float), np.array(self.imu_rotation, dtype=float)
        if place.shape != (3,) or not np.isfinite(place).all() or turn.shape != (3, 3) or not is_rotation(turn):
            raise InputError("the IMU of an estimator needs a position of three numbers and a rotation matrix")
        object.__setattr__(self, "imu_position", place)
        object.__setattr__(self, "imu_rotation", turn)


@dataclass(frozen=True, eq=False)
class EstimatedRobot:
    """The constants of a tick: a robot, its estimator, how often it is asked [Hz], and the gravity it reckons with."""

    robot: Robot
    estimator: Estimator
    rate: float
    gravity: Gravity = GRAVITY  # [m/s²]

    def __post_init__(self) -> None:
        if not self.robot.floating or not self.robot.nf:
            raise InputError(f"an estimator needs a floating robot with feet, which '{self.robot.name}' is not")

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)


@dataclass(frozen=True)
class EstimatorMemory:
    """What one tick leaves to the next."""

    state: FilterState
    health: Health
    belief: Float[ndarray, "modes"]  # probabilities of the contact modes
    contact: Float[ndarray, "nf"]  # 1: stands
    since: Float[ndarray, "nf"]  # it came down [s]
    slipping: Float[ndarray, "nf"]  # speed over the ground, smoothed [m/s]
    omega: Float[ndarray, "3"]  # of the base, base axes [rad/s]
    disagreement: Float[ndarray, "3"]  # between gyro and legs, smoothed [rad/s]
    doubted: Any  # 1 while the gyro contradicts the legs
    observer: ObserverMemory
    observed: Float[ndarray, "nf 3"]  # forces by the observer, world axes [N]
    felt: Float[ndarray, "nf"]  # contact by the force sensors alone
    pushed: Float[ndarray, "nf"]  # contact by the momentum observer alone
    agreement: Agreement
    forces: Float[ndarray, "nf 3"]  # smoothed, base axes [N]
    command: JointCommand
    started: Any

    @staticmethod
    def at_start(model: EstimatedRobot) -> EstimatorMemory:
        robot, nf = model.robot, model.robot.nf
        state = FilterState(
            np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros((nf, 3)),
            _first_covariance(model.estimator, nf),
        )  # fmt: skip
        ones, zeros = np.ones(nf), np.zeros(nf)
        return EstimatorMemory(
            state, Health.at_start(robot.nj, nf, strength(model.gravity)), np.eye(2**nf)[-1], ones, ones, zeros,
            np.zeros(3), np.zeros(3), 0.0, ObserverMemory.at_start(robot), np.zeros((nf, 3)), ones, ones,
            Agreement.at_start(nf), np.zeros((nf, 3)), JointCommand().spread(robot.nj), 0.0,
        )  # fmt: skip


@dataclass(frozen=True)
class Estimate:
    """The robot as the sensors show it."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    forces: Float[ndarray, "nf 3"]  # on the feet that stand, world axes [N]
    contact: Float[ndarray, "nf"]  # the chosen contact mode
    score: Any  # its probability
    P: Float[ndarray, "9 9"]  # covariance of (turn, v, p), world axes
    nis: Float[ndarray, "nf"]  # normalised innovations squared of the feet
    conditions: Float[ndarray, "_"]  # of the sensors: see ``sensor_names``


def sensor_names(robot: Robot) -> tuple[str, ...]:
    """What ``Estimate.conditions`` speaks of, in its order."""
    encoders = [f"encoder '{name}'" for name in robot.joint_names]
    rates = [f"joint rate '{name}'" for name in robot.joint_names]
    return "gyro", "accelerometer", *encoders, *rates, *(f"force sensor '{foot.name}'" for foot in robot.feet)


# -- a tick ------------------------------------------------------------------------------------------------------------
def estimate(model: EstimatedRobot, readings: Readings, memory: EstimatorMemory) -> tuple[Estimate, EstimatorMemory]:
    """(what is estimated now, memory); ``memory.command`` is what was asked of the joints since the last tick."""
    robot, own, dt = model.robot, model.estimator, 1.0 / model.rate
    g = strength(model.gravity)
    weight = robot.mass * g
    R_BI, r_I = own.imu_rotation, own.imu_position
    on_earth = weight_of(robot.mass)  # what sensors are made for: their range and their noise do not go with gravity
    health = check(readings, on_earth, dt, own.limits, memory.health)
    used = health.used
    legs = legs_of(robot, used.position, used.rate)
    memory = replace(memory, state=_begun(model, memory, used, legs))
    state = memory.state
    R_WB = to_rotation(state.quat) @ R_BI.T
    up = R_WB[2]

    # -- the contact mode
    force = used.force @ R_WB.T
    sensor_good = (health.force < 0.5) & (memory.agreement.faulty < 0.5)
    middle, blurred = 0.5 * (own.on + own.off), 0.04 * (on_earth / weight)
    odds_felt = evidence(force[:, 2] / weight, middle, blurred, 1.5)
    odds_pushed = evidence(memory.observed[:, 2] / weight, middle, blurred, 1.5)
    odds = np.where(sensor_good, odds_felt + 0.3 * odds_pushed, odds_pushed)
    pull = used.acceleration
    weightless = evidence(-np.sqrt(pull @ pull), -0.35 * g, 0.1 * g, 1.0)
    belief = update_modes(memory.belief, odds, np.where(health.acceleration < 0.5, weightless, 0.0),
                          own.contact_change * dt)  # fmt: skip
    probability = foot_probabilities(belief, robot.nf)
    contact = debounced(probability, memory.contact, own.sure)
    since = np.where(contact > 0.5, memory.since + dt, 0.0)
    slips = memory.slipping > own.slip_speed
    readable = _readable(robot, health)
    stands = np.where((probability > own.sure) & (since > own.landing_time) & ~slips & readable, 1.0, 0.0)

    # -- how the base moves by its legs, for a gyro that is gone or wrong
    gyro_good = health.gyro < 0.5
    v_B = R_WB.T @ state.v - cross(memory.omega, r_I)
    omega = np.where(gyro_good, R_BI @ (used.gyro - state.gyro_bias), memory.omega)
    rolled = rolling(robot, legs, omega, up)
    spread = np.concatenate([np.where(gyro_good, 0.5, 2.0) * np.ones(3), 0.2 * np.ones(3)])
    steady = in_step(foot_speeds(legs, omega, v_B, rolled), stands, 0.15)
    shown = base_motion(legs, steady, rolled, np.concatenate([omega, v_B]), spread, 0.03)
    apart = np.where(gyro_good, omega - shown[:3], 0.0)
    disagreement = memory.disagreement + np.minimum(dt / 0.05, 1.0) * (apart - memory.disagreement)
    bound = np.where(memory.doubted > 0.5, 0.5, 1.0) * own.gyro_disagreement
    wrong = np.sqrt(disagreement @ disagreement) > bound
    omega = np.where(gyro_good, omega, shown[:3])

    # -- the filter
    gyro = R_BI.T @ omega + state.gyro_bias
    rest = to_rotation(state.quat).T @ -np.array(model.gravity) + state.acceleration_bias
    acceleration = np.where(health.acceleration < 0.5, pull, rest)
    walk = np.where(wrong, 1.0, own.gyro_bias_walk) ** 2 * dt
    variances = np.stack([
        np.where(gyro_good, own.gyro, 0.5) ** 2, np.where(health.acceleration < 0.5, own.acceleration, 5.0) ** 2,
        walk, own.acceleration_bias_walk**2 * dt + 0.0 * walk, np.where(wrong, own.tilt**2 * dt / 0.01, 0.0),
    ])  # fmt: skip
    firm = (since > own.landing_time) & (probability > own.firm)  # a foot moves before it is known to have lifted
    wander = np.where(firm, own.stance, own.landing) ** 2 * dt
    feet_variance = np.where((contact > 0.5) & ~slips, wander, LOST)
    moves = np.where((contact > 0.5)[:, None], dt * (rolled @ R_WB.T), 0.0)
    predicted = propagate(state, gyro, acceleration, dt, np.array(model.gravity), variances, moves, feet_variance)
    encoders = np.where(health.position < 0.5, own.encoder, 0.02) ** 2
    noise = place_noise(legs, encoders, own.leg**2) + np.where(readable, 0.0, _UNREADABLE)[:, None, None] * np.eye(3)
    seen = FootSeen((legs.place - r_I) @ R_BI, np.stack([R_BI.T @ N @ R_BI for N in noise]), stands)
    corrected, nis = correct(predicted, seen, own.gate)
    if own.level is not None:
        settles = ((since > own.landing_time) & (memory.since <= own.landing_time)) | (memory.started < 0.5)
        radii = np.array([foot.radius for foot in robot.feet])
        corrected = on_level_ground(corrected, radii, own.level**2, settles)
    state = _finite_or(corrected, state)

    # -- what it means for the base
    quat = multiply(state.quat, conjugate(from_rotation(R_BI)))
    R_WB = to_rotation(quat)
    omega = np.where(gyro_good, R_BI @ (used.gyro - state.gyro_bias), omega)
    v_B = R_WB.T @ state.v - cross(omega, r_I)
    q = np.concatenate([state.p - R_WB @ r_I, quat, used.position])
    v = np.concatenate([omega, v_B, used.rate])
    speeds = foot_speeds(legs, omega, v_B, rolled)
    slipping = np.where(
        since > own.landing_time, memory.slipping + np.minimum(dt / 0.01, 1.0) * (speeds - memory.slipping), 0.0
    )

    # -- forces
    torque = _torque(robot, memory.command, used)
    observer = observe_momentum(robot, q, v, torque, dt, own.observer_gain, memory.observer, model.gravity)
    observed = foot_forces(robot, q, observer.external)
    felt = force_contact(force[:, 2], memory.felt, own.on * weight, own.off * weight)
    pushed = force_contact(observed[:, 2], memory.pushed, own.on * weight, own.off * weight)
    agreement = watch_agreement(felt, pushed, dt, own.patience, 0.6, memory.agreement)
    here = np.where(sensor_good[:, None], used.force, observed @ R_WB)
    forces = memory.forces + np.minimum(dt / 0.005, 1.0) * (here - memory.forces)

    bias = state.gyro_bias
    gyro_code = np.where(gyro_good & (wrong | (np.sqrt(bias @ bias) > own.worst_gyro_bias)), DISAGREES, health.gyro)
    force_code = np.where((health.force < 0.5) & (agreement.faulty > 0.5), DISAGREES, health.force)
    conditions = np.concatenate([
        np.stack([gyro_code, 1.0 * health.acceleration]), health.position, health.rate, force_code
    ])  # fmt: skip
    found = Estimate(
        q, v, (contact[:, None] * forces) @ R_WB.T, contact, mode_score(belief, contact), plain_covariance(state), nis,
        conditions,
    )  # fmt: skip
    after = EstimatorMemory(
        state, health, belief, contact, since, slipping, omega, disagreement, np.where(wrong, 1.0, 0.0), observer,
        observed, felt, pushed, agreement, forces, memory.command, 1.0 + 0.0 * memory.started,
    )  # fmt: skip
    return found, after


# -- parts of it -------------------------------------------------------------------------------------------------------
def _begun(model: EstimatedRobot, memory: EstimatorMemory, used: Readings, legs: Legs) -> FilterState:
    """In the first tick: level by the accelerometer, heading along x at the origin, the lowest foot on the ground."""
    own, state = model.estimator, memory.state
    pull = own.imu_rotation @ used.acceleration
    roll, pitch = np.arctan2(pull[1], pull[2]), np.arctan2(-pull[0], np.sqrt(pull[1] ** 2 + pull[2] ** 2))
    cr, sr, cp, sp = np.cos(0.5 * roll), np.sin(0.5 * roll), np.cos(0.5 * pitch), np.sin(0.5 * pitch)
    quat_WB = np.stack([cp * cr, cp * sr, sp * cr, -sp * sr])
    R_WB = to_rotation(quat_WB)
    places = legs.place @ R_WB.T
    height = np.max(np.stack([foot.radius - places[k, 2] for k, foot in enumerate(model.robot.feet)]))
    base = np.stack([0.0 * height, 0.0 * height, height])
    quat = multiply(quat_WB, from_rotation(own.imu_rotation))
    first = memory.started < 0.5
    return replace(
        state, quat=np.where(first, quat, state.quat), p=np.where(first, base + R_WB @ own.imu_position, state.p),
        feet=np.where(first, base + places, state.feet),
    )  # fmt: skip


def _first_covariance(own: Estimator, feet: int) -> Float[ndarray, "n n"]:
    """Heading and place are where we start from, by definition; the rest is not known well."""
    deviations = np.zeros(FEET + 3 * feet)
    deviations[TURN], deviations[SPEED], deviations[PLACE] = (own.tilt, own.tilt, 1e-3), 0.05, (1e-3, 1e-3, 5e-3)
    deviations[GYRO_BIAS], deviations[ACCELERATION_BIAS] = own.gyro_bias, own.acceleration_bias
    deviations[FEET:] = np.sqrt(LOST)
    return np.diag(deviations**2)


def _readable(robot: Robot, health: Health) -> Any:
    """Whether every joint on the way to a foot has an encoder or at least a rate."""
    lost = np.where((health.position > 0.5) & (health.rate > 0.5), 1.0, 0.0)
    places = [[i - 1 for i in robot.tree.support[foot] if i] for foot in robot.tree.feet]
    return np.stack([np.sum(lost[own]) for own in places]) < 0.5


def _torque(robot: Robot, command: JointCommand, used: Readings) -> Float[ndarray, "nj"]:
    """What the drives gave, by what was asked of them [N m]."""
    asked = command.kp * (command.position - used.position) + command.kd * (command.velocity - used.rate)
    limits = torque_bounds(robot)
    return np.clip(asked + command.torque, -limits, limits)


def _finite_or(state: FilterState, before: FilterState) -> FilterState:
    """The state before, where arithmetic has failed: a filter that is lost for a tick must not be lost for ever."""
    total = np.sum(state.P) + np.sum(state.quat) + np.sum(state.v) + np.sum(state.p) + np.sum(state.feet)
    fine = np.isfinite(total + np.sum(state.gyro_bias) + np.sum(state.acceleration_bias))
    return FilterState(*(np.where(fine, getattr(state, key), getattr(before, key)) for key in (
        "quat", "v", "p", "gyro_bias", "acceleration_bias", "feet", "P")))  # fmt: skip


__all__ = ["Estimate", "EstimatedRobot", "Estimator", "EstimatorMemory", "estimate", "sensor_names"]
