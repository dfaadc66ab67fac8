"""Estimation of base pose and velocity, contact mode and foot forces from IMU, encoders and foot forces: one tick.

Yan et al. 2021 put force sensors under the feet and an IMU on the body, and select the model by the sensed topology.
Here a tick checks the readings (``sensor_health``), selects the contact mode (``contact_mode``), propagates and
corrects the invariant filter (``invariant_filter``, ``leg_odometry``), and estimates the forces at the feet from the
momentum of the robot (``momentum_observer``). Plain NumPy without hidden state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from footfall.control.interface import JointCommand
from footfall.control.locomotion.whole_body import torque_bounds
from footfall.robot.model.description import Robot
from footfall.sensing.estimation.contact_detection import Agreement, force_contact, watch_agreement
from footfall.sensing.estimation.contact_mode import (
    debounced,
    evidence,
    foot_probabilities,
    mode_score,
    update_modes,
)
from footfall.sensing.estimation.estimator_records import (
    Estimate,
    EstimatedRobot,
    Estimator,
    EstimatorMemory,
    sensor_names,
)
from footfall.sensing.estimation.invariant_filter import (
    LOST,
    FilterState,
    FootSeen,
    correct,
    on_level_ground,
    plain_covariance,
    propagate,
)
from footfall.sensing.estimation.leg_odometry import (
    LegKinematics,
    base_motion,
    foot_speeds,
    in_step,
    legs_of,
    place_noise,
    rolling,
)
from footfall.sensing.estimation.momentum_observer import ObserverMemory, foot_forces, observe_momentum
from footfall.sensing.estimation.sensor_health import DISAGREES, Health, Readings, check
from footfall.spatial import cross
from footfall.spatial.gravity import strength, weight_of
from footfall.spatial.quaternion import conjugate, from_rotation, multiply, to_rotation
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float

_UNREADABLE = 1e3  # variance of a foot on a leg without valid readings [m²]


# -- a tick ------------------------------------------------------------------------------------------------------------
def estimate(model: EstimatedRobot, readings: Readings, memory: EstimatorMemory) -> tuple[Estimate, EstimatorMemory]:
    """Return (the estimate, memory); ``memory.command`` is the command to the joints since the last tick."""
    tick = _begun(model, readings, memory)
    mode = _contact_mode(tick)
    turning = _turning(tick, mode)
    state, nis = _filtered(tick, mode, turning)
    base = _base_motion(tick, mode, turning, state)
    loads = _foot_loads(tick, base)
    result = Estimate(
        q=base.q,
        v=base.v,
        forces=(mode.contact[:, None] * loads.forces) @ base.R_WB.T,
        contact=mode.contact,
        score=mode_score(mode.belief, mode.contact),
        P=plain_covariance(state),
        nis=nis,
        conditions=_conditions(tick, turning, state, loads),
    )
    after = EstimatorMemory(
        state=state,
        health=tick.health,
        belief=mode.belief,
        contact=mode.contact,
        since=mode.since,
        slipping=base.slipping,
        omega=base.v[:3],
        disagreement=turning.disagreement,
        doubted=np.where(turning.wrong, 1.0, 0.0),
        observer=loads.observer,
        observed=loads.observed,
        force_contacts=loads.force_contacts,
        pushed=loads.pushed,
        agreement=loads.agreement,
        forces=loads.forces,
        command=memory.command,
        started=1.0 + 0.0 * memory.started,
    )
    return result, after


class _Tick(NamedTuple):
    """The inputs of every step of a tick."""

    model: EstimatedRobot
    memory: EstimatorMemory  # its state is that at the start of the tick
    health: Health
    legs: LegKinematics
    R_WB: Float[ndarray, "3 3"]  # before the correction
    force: Float[ndarray, "nf 3"]  # measured, world axes [N]
    gyro_good: Scalar
    acceleration_good: Scalar
    force_good: Operand  # (nf)

    @property
    def dt(self) -> float:
        return 1.0 / self.model.rate

    @property
    def weight(self) -> float:
        return self.model.robot.mass * strength(self.model.gravity)


def _begun(model: EstimatedRobot, readings: Readings, memory: EstimatorMemory) -> _Tick:
    """Check the readings and compute the legs; in the first tick initialise the state."""
    robot, own = model.robot, model.estimator
    # design limits of sensors: their range and their noise do not depend on gravity
    health = check(readings, weight_of(robot.mass), 1.0 / model.rate, own.limits, memory.health)
    used = health.used
    legs = legs_of(robot, used.position, used.rate)
    memory = replace(memory, state=_first_state(model, memory, used, legs))
    R_WB = to_rotation(memory.state.quat) @ own.imu_rotation.T
    force_good = (health.force < 0.5) & (memory.agreement.faulty < 0.5)
    good = health.gyro < 0.5, health.acceleration < 0.5, force_good
    return _Tick(model, memory, health, legs, R_WB, used.force @ R_WB.T, *good)


class _Mode(NamedTuple):
    """The contact mode, and its consequences for each foot."""

    belief: Float[ndarray, "modes"]
    contact: Float[ndarray, "nf"]
    since: Float[ndarray, "nf"]  # time of touchdown [s]
    firm: Scalar  # (nf) certainly in contact: a foot moves before its lift-off is detected
    slips: Operand  # (nf)
    readable: Scalar  # (nf)
    stands: Float[ndarray, "nf"]  # 1: in contact firmly enough to measure the base


def _contact_mode(tick: _Tick) -> _Mode:
    """Return the likeliest set of feet in contact, from forces, observer and accelerometer."""
    robot, own, memory, weight = tick.model.robot, tick.model.estimator, tick.memory, tick.weight
    g = strength(tick.model.gravity)
    middle, blurred = 0.5 * (own.on + own.off), 0.04 * (weight_of(robot.mass) / weight)
    odds_felt = evidence(tick.force[:, 2] / weight, middle, blurred, 1.5)
    odds_pushed = evidence(memory.observed[:, 2] / weight, middle, blurred, 1.5)
    odds = np.where(tick.force_good, odds_felt + 0.3 * odds_pushed, odds_pushed)
    pull = tick.health.used.acceleration
    weightless = evidence(-np.sqrt(pull @ pull), -0.35 * g, 0.1 * g, 1.0)
    belief = update_modes(
        memory.belief, odds, np.where(tick.acceleration_good, weightless, 0.0), own.contact_change * tick.dt
    )
    probability = foot_probabilities(belief, robot.nf)
    contact = debounced(probability, memory.contact, own.sure)
    since = np.where(contact > 0.5, memory.since + tick.dt, 0.0)
    slips: ndarray = memory.slipping > own.slip_speed
    readable = _readable(robot, tick.health)
    landed = since > own.landing_time
    stands = np.where((probability > own.sure) & landed & ~slips & readable, 1.0, 0.0)
    return _Mode(belief, contact, since, landed & (probability > own.firm), slips, readable, stands)


class _Turning(NamedTuple):
    """The angular velocity of the base, from the gyro, or from the legs where it fails."""

    omega: Float[ndarray, "3"]  # base axes [rad/s]
    rolled: Float[ndarray, "nf 3"]  # velocity of rolling feet, base axes [m/s]
    disagreement: Float[ndarray, "3"]  # difference between gyro and legs, smoothed [rad/s]
    wrong: Scalar  # whether the gyro contradicts the legs


def _turning(tick: _Tick, mode: _Mode) -> _Turning:
    own, memory, legs, dt = tick.model.estimator, tick.memory, tick.legs, tick.dt
    v_B = tick.R_WB.T @ memory.state.v - cross(memory.omega, own.imu_position)
    omega = _gyro_rate(tick, memory.state, memory.omega)
    rolled = rolling(tick.model.robot, legs, omega, tick.R_WB[2])
    spread = np.concatenate([np.where(tick.gyro_good, 0.5, 2.0) * np.ones(3), 0.2 * np.ones(3)])
    steady = in_step(foot_speeds(legs, omega, v_B, rolled), mode.stands, 0.15)
    shown = base_motion(legs, steady, rolled, np.concatenate([omega, v_B]), spread, 0.03)
    apart = np.where(tick.gyro_good, omega - shown[:3], 0.0)
    disagreement = memory.disagreement + np.minimum(dt / 0.05, 1.0) * (apart - memory.disagreement)
    bound = np.where(memory.doubted > 0.5, 0.5, 1.0) * own.gyro_disagreement
    wrong = np.sqrt(disagreement @ disagreement) > bound
    return _Turning(np.where(tick.gyro_good, omega, shown[:3]), rolled, disagreement, wrong)


def _gyro_rate(tick: _Tick, state: FilterState, otherwise: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
    """Return the angular velocity of the base from a working gyro, minus its bias [rad/s]."""
    rate = tick.model.estimator.imu_rotation @ (tick.health.used.gyro - state.gyro_bias)
    return np.where(tick.gyro_good, rate, otherwise)


def _filtered(tick: _Tick, mode: _Mode, turning: _Turning) -> tuple[FilterState, Float[ndarray, "nf"]]:
    """Return (the filter's state, propagated by the IMU and corrected by the stance feet; normalised innovations²)."""
    own, memory, state, dt = tick.model.estimator, tick.memory, tick.memory.state, tick.dt
    R_BI, gravity = own.imu_rotation, np.array(tick.model.gravity)
    gyro = R_BI.T @ turning.omega + state.gyro_bias
    rest = to_rotation(state.quat).T @ -gravity + state.acceleration_bias
    acceleration = np.where(tick.acceleration_good, tick.health.used.acceleration, rest)
    wander = np.where(mode.firm, own.stance, own.landing) ** 2 * dt
    stays = mode.contact > 0.5
    feet_variance = np.where(stays & ~mode.slips, wander, LOST)
    moves = np.where(stays[:, None], dt * (turning.rolled @ tick.R_WB.T), 0.0)
    predicted = propagate(state, gyro, acceleration, dt, gravity, _variances(tick, turning.wrong), moves, feet_variance)
    encoders = np.where(tick.health.position < 0.5, own.encoder, 0.02) ** 2
    unreadable = np.where(mode.readable, 0.0, _UNREADABLE)[:, None, None] * np.eye(3)
    noise = place_noise(tick.legs, encoders, own.leg**2) + unreadable
    positions = (tick.legs.position - own.imu_position) @ R_BI
    seen = FootSeen(positions, np.stack([R_BI.T @ N @ R_BI for N in noise]), mode.stands)
    corrected, nis = correct(predicted, seen, own.gate)
    if own.level is not None:
        settles = ((mode.since > own.landing_time) & (memory.since <= own.landing_time)) | (memory.started < 0.5)
        radii = np.array([foot.radius for foot in tick.model.robot.feet])
        corrected = on_level_ground(corrected, radii, own.level**2, settles)
    return _finite_or(corrected, state), nis


def _variances(tick: _Tick, wrong: Scalar) -> Float[ndarray, "5"]:
    """Return the variances of gyro, accelerometer, their bias walks, and the attitude where gyro and legs disagree."""
    own, dt = tick.model.estimator, tick.dt
    walk = np.where(wrong, 1.0, own.gyro_bias_walk) ** 2 * dt
    return np.stack(
        [
            np.where(tick.gyro_good, own.gyro, 0.5) ** 2,
            np.where(tick.acceleration_good, own.acceleration, 5.0) ** 2,
            walk,
            own.acceleration_bias_walk**2 * dt + 0.0 * walk,
            np.where(wrong, own.tilt**2 * dt / 0.01, 0.0),
        ]
    )


class _BaseMotion(NamedTuple):
    """The motion of the base from the filter's state."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    R_WB: Float[ndarray, "3 3"]
    slipping: Float[ndarray, "nf"]  # velocity over the ground, smoothed [m/s]


def _base_motion(tick: _Tick, mode: _Mode, turning: _Turning, state: FilterState) -> _BaseMotion:
    own, memory, used = tick.model.estimator, tick.memory, tick.health.used
    quat = multiply(state.quat, conjugate(from_rotation(own.imu_rotation)))
    R_WB = to_rotation(quat)
    omega = _gyro_rate(tick, state, turning.omega)
    v_B = R_WB.T @ state.v - cross(omega, own.imu_position)
    q = np.concatenate([state.p - R_WB @ own.imu_position, quat, used.position])
    change = np.minimum(tick.dt / 0.01, 1.0) * (foot_speeds(tick.legs, omega, v_B, turning.rolled) - memory.slipping)
    slipping = np.where(mode.since > own.landing_time, memory.slipping + change, 0.0)
    return _BaseMotion(q, np.concatenate([omega, v_B, used.rate]), R_WB, slipping)


class _FootLoads(NamedTuple):
    """Forces on the feet, measured and estimated, and the contacts that either indicates."""

    observer: ObserverMemory
    observed: Float[ndarray, "nf 3"]  # world axes [N]
    force_contacts: Float[ndarray, "nf"]
    pushed: Float[ndarray, "nf"]
    agreement: Agreement
    forces: Float[ndarray, "nf 3"]  # smoothed, base axes [N]


def _foot_loads(tick: _Tick, base: _BaseMotion) -> _FootLoads:
    model, own, memory, dt = tick.model, tick.model.estimator, tick.memory, tick.dt
    torque = _torque(model.robot, memory.command, tick.health.used)
    observer = observe_momentum(
        model.robot, base.q, base.v, torque, dt, own.observer_gain, memory.observer, model.gravity
    )
    observed = foot_forces(model.robot, base.q, observer.external)
    on, off = own.on * tick.weight, own.off * tick.weight
    force_contacts = force_contact(tick.force[:, 2], memory.force_contacts, on, off)
    pushed = force_contact(observed[:, 2], memory.pushed, on, off)
    agreement = watch_agreement(force_contacts, pushed, dt, own.patience, 0.6, memory.agreement)
    here = np.where(tick.force_good[:, None], tick.health.used.force, observed @ base.R_WB)
    forces = memory.forces + np.minimum(dt / 0.005, 1.0) * (here - memory.forces)
    return _FootLoads(observer, observed, force_contacts, pushed, agreement, forces)


def _conditions(tick: _Tick, turning: _Turning, state: FilterState, loads: _FootLoads) -> Float[ndarray, "_"]:
    """Return the conditions of the sensors, including those that only comparing two of them reveals."""
    health, bias = tick.health, state.gyro_bias
    drifted = np.sqrt(bias @ bias) > tick.model.estimator.worst_gyro_bias
    gyro = np.where(tick.gyro_good & (turning.wrong | drifted), DISAGREES, health.gyro)
    force = np.where((health.force < 0.5) & (loads.agreement.faulty > 0.5), DISAGREES, health.force)
    return np.concatenate([np.stack([gyro, 1.0 * health.acceleration]), health.position, health.rate, force])


def _first_state(model: EstimatedRobot, memory: EstimatorMemory, used: Readings, legs: LegKinematics) -> FilterState:
    """Initialise the first tick: level by the accelerometer, heading along x at the origin, lowest foot on the
    ground.
    """
    own, state = model.estimator, memory.state
    pull = own.imu_rotation @ used.acceleration
    roll, pitch = np.arctan2(pull[1], pull[2]), np.arctan2(-pull[0], np.sqrt(pull[1] ** 2 + pull[2] ** 2))
    cr, sr, cp, sp = np.cos(0.5 * roll), np.sin(0.5 * roll), np.cos(0.5 * pitch), np.sin(0.5 * pitch)
    quat_WB = np.stack([cp * cr, cp * sr, sp * cr, -sp * sr])
    R_WB = to_rotation(quat_WB)
    positions = legs.position @ R_WB.T
    height = np.max(np.stack([foot.radius - positions[k, 2] for k, foot in enumerate(model.robot.feet)]))
    base = np.stack([0.0 * height, 0.0 * height, height])
    quat = multiply(quat_WB, from_rotation(own.imu_rotation))
    first = memory.started < 0.5
    return replace(
        state,
        quat=np.where(first, quat, state.quat),
        p=np.where(first, base + R_WB @ own.imu_position, state.p),
        feet=np.where(first, base + positions, state.feet),
    )


def _readable(robot: Robot, health: Health) -> Scalar:
    """Return whether every joint on the path to a foot has an encoder or at least a rate."""
    lost = np.where((health.position > 0.5) & (health.rate > 0.5), 1.0, 0.0)
    positions = [[i - 1 for i in robot.tree.support[foot] if i] for foot in robot.tree.feet]
    return np.stack([np.sum(lost[own]) for own in positions]) < 0.5


def _torque(robot: Robot, command: JointCommand, used: Readings) -> Float[ndarray, "nj"]:
    """Return the torque of the drives for their command [N m]."""
    wanted = command.kp * (command.position - used.position) + command.kd * (command.velocity - used.rate)
    limits = torque_bounds(robot)
    return np.clip(wanted + command.torque, -limits, limits)


def _finite_or(state: FilterState, before: FilterState) -> FilterState:
    """Return the previous state where a result is not finite, so that a failed tick does not invalidate the filter
    forever.
    """
    total = np.sum(state.P) + np.sum(state.quat) + np.sum(state.v) + np.sum(state.p) + np.sum(state.feet)
    fine = np.isfinite(total + np.sum(state.gyro_bias) + np.sum(state.acceleration_bias))
    return FilterState(
        **{
            key: np.where(fine, getattr(state, key), getattr(before, key))
            for key in ("quat", "v", "p", "gyro_bias", "acceleration_bias", "feet", "P")
        }
    )


__all__ = ["Estimate", "EstimatedRobot", "Estimator", "EstimatorMemory", "estimate", "sensor_names"]
