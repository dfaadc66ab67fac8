"""Validity of readings, and substitutes for missing, frozen, out-of-range or wrong ones.

    no gyro             the angular velocity from the stance legs (``leg_odometry``)
    no accelerometer    the base is assumed not to accelerate
    no encoder          its rate, integrated
    no joint rate       the change of the position
    no force sensor     the momentum observer

A sensor's condition is a number, and a change of it is an event. Plain NumPy; NaN is accepted as input, and never
returned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.spatial.gravity import STANDARD
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float

GOOD, MISSING, FROZEN, OUT_OF_RANGE, DISAGREES = 0.0, 1.0, 2.0, 3.0, 4.0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits beyond which a reading is invalid."""

    gyro: float = 35.0  # [rad/s]
    acceleration: float = 160.0  # [m/s²]
    position: float = 12.0  # [rad]
    rate: float = 60.0  # [rad/s]
    force: float = 20.0  # times the weight
    jump: float = 0.2  # deviation of an encoder from the prediction of its rate [rad]
    frozen: float = 0.02  # [s]: an IMU that repeats itself for this long is dead
    drift: float = 0.1  # drift of an integrated rate [rad/s]
    slipped: float = 0.04  # [rad]: rotation of a joint, by its rate, during which its encoder may stand still


@dataclass(frozen=True)
class Readings:
    """One sample of every sensor: IMU in its own axes, joints, forces on the feet in base axes."""

    gyro: Float[ndarray, "3"]  # [rad/s]
    acceleration: Float[ndarray, "3"]  # specific force [m/s²]
    position: Float[ndarray, "nj"]  # [rad]
    rate: Float[ndarray, "nj"]  # [rad/s]
    force: Float[ndarray, "nf 3"]  # [N]


@dataclass(frozen=True, kw_only=True)
class Health:
    """Present conditions of the sensors (``GOOD`` and so on), and the data needed to check the next sample."""

    gyro: Scalar
    acceleration: Scalar
    position: Float[ndarray, "nj"]
    rate: Float[ndarray, "nj"]
    force: Float[ndarray, "nf"]  # conditions from the sample alone; see contact_detection for the rest
    last: Readings  # as received, except for NaN
    used: Readings  # as used
    still: Float[ndarray, "2"]  # how long gyro and accelerometer have repeated themselves [s]
    turned: Float[ndarray, "nj"]  # rotation by the rates since an encoder last moved [rad]
    uncertainty: Float[ndarray, "nj"]  # error of the integrated rate that substitutes for an encoder [rad]
    started: Scalar

    @staticmethod
    def at_start(joints: int, feet: int, g: float = STANDARD) -> Health:
        none = Readings(np.zeros(3), np.array([0.0, 0.0, g]), np.zeros(joints), np.zeros(joints), np.zeros((feet, 3)))
        return Health(
            gyro=0.0,
            acceleration=0.0,
            position=np.zeros(joints),
            rate=np.zeros(joints),
            force=np.zeros(feet),
            last=none,
            used=none,
            still=np.zeros(2),
            turned=np.zeros(joints),
            uncertainty=np.zeros(joints),
            started=0.0,
        )


def check(readings: Readings, weight: float, dt: float, limits: Limits, before: Health) -> Health:
    """Return the conditions of this sample, and in ``used`` the substitutes for bad readings.

    A bad gyro or accelerometer keeps its last value here; the caller, who knows the state, has a better one.
    """
    fresh = before.started < 0.5
    last, used = before.last, before.used
    gyro, still_gyro = _of_imu(readings.gyro, last.gyro, before.still[0], limits.gyro, dt, limits.frozen, fresh)
    pull, still_pull = _of_imu(
        readings.acceleration, last.acceleration, before.still[1], limits.acceleration, dt, limits.frozen, fresh
    )

    # -- joints
    no_rate = ~np.isfinite(readings.rate)
    rate_code = np.where(no_rate, MISSING, np.where(np.abs(readings.rate) > limits.rate, OUT_OF_RANGE, GOOD))
    angle = np.where(np.isfinite(readings.position), readings.position, last.position)
    moved = np.where(fresh, 0.0, angle - last.position)
    foretold = used.position + dt * np.where(_good(rate_code), _finite(readings.rate), used.rate)
    turned = np.where((np.abs(moved) <= 0.0) & ~fresh, before.turned + dt * np.where(no_rate, 0.0, readings.rate), 0.0)
    was_frozen = np.abs(before.position - FROZEN) < 0.5  # it stays so until it moves
    stuck = (np.abs(moved) <= 0.0) & ~fresh & (was_frozen | (np.abs(turned) > limits.slipped))
    code = np.where(stuck, FROZEN, GOOD)
    apart = np.abs(angle - foretold) > limits.jump + before.uncertainty
    code = np.where(apart & ~fresh & _good(code), DISAGREES, code)
    code = np.where(np.abs(angle) > limits.position, OUT_OF_RANGE, code)
    position_code = np.where(np.isfinite(readings.position), code, MISSING)
    away = ~_good(position_code) & (position_code < DISAGREES)
    uncertainty = np.where(
        away, before.uncertainty + limits.drift * dt, np.where(_good(position_code), 0.0, before.uncertainty)
    )
    # an encoder that disagrees with a faulty rate is accepted again: there is nothing better
    position_code = np.where((position_code > OUT_OF_RANGE) & (rate_code > GOOD), GOOD, position_code)
    position = np.where(_good(position_code), angle, np.where(fresh, 0.0, foretold))
    position = np.clip(position, -limits.position, limits.position)
    differences = np.clip((position - used.position) / dt, -limits.rate, limits.rate)
    smoothed = used.rate + 0.1 * (differences - used.rate)  # ten periods: differences of noise are noise over dt
    both = position_code > GOOD
    stand_in = np.where(fresh, 0.0, np.where(both, 0.9 * used.rate, smoothed))
    rate = np.where(_good(rate_code), _finite(readings.rate), stand_in)

    # -- feet
    total = np.sum(readings.force, axis=1)
    largest = np.max(np.abs(_finite(readings.force)), axis=1)
    force_code = np.where(np.isfinite(total), np.where(largest > limits.force * weight, OUT_OF_RANGE, GOOD), MISSING)
    force = np.where(_good(force_code)[:, None], _finite(readings.force), 0.0)

    kept = Readings(
        _or_last(readings.gyro, last.gyro),
        _or_last(readings.acceleration, last.acceleration),
        angle,
        _or_last(readings.rate, last.rate),
        _or_last(readings.force, last.force),
    )
    chosen = Readings(
        np.where(_good(gyro), _finite(readings.gyro), used.gyro),
        np.where(_good(pull), _finite(readings.acceleration), used.acceleration),
        position,
        rate,
        force,
    )
    return Health(
        gyro=gyro,
        acceleration=pull,
        position=position_code,
        rate=rate_code,
        force=force_code,
        last=kept,
        used=chosen,
        still=np.stack([still_gyro, still_pull]),
        turned=turned,
        uncertainty=uncertainty,
        started=1.0 + 0.0 * before.started,
    )


def _of_imu(
    sample: ndarray, last: ndarray, still: Operand, most: float, dt: float, frozen: float, fresh: Operand
) -> tuple[Operand, Operand]:
    """Return (condition, how long it has repeated itself [s]) of three axes: noise never repeats itself."""
    clean = _finite(sample)
    same = np.max(np.abs(clean - last)) <= 0.0
    still = np.where(same & ~fresh, still + dt, 0.0)
    code = np.where(np.max(np.abs(clean)) > most, OUT_OF_RANGE, np.where(still > frozen, FROZEN, GOOD))
    return np.where(np.isfinite(np.sum(sample)), code, MISSING), still


def _good(code: Scalar) -> Operand:
    return code < 0.5 * MISSING


def _finite(x: ndarray) -> ndarray:
    return np.where(np.isfinite(x), x, 0.0)


def _or_last(x: ndarray, last: ndarray) -> ndarray:
    return np.where(np.isfinite(x), x, last)
