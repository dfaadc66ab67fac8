"""Joint torques from sensors that err: what XiLing's IMU, encoders and foot sensors allow (Yan et al. 2021)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.dynamics.inverse_dynamics import inverse_dynamics
from footfall.hardware.sensors import Reading, Sensor, Sensors
from footfall.kinematics.jacobian import feet_jacobian
from footfall.recording.recording import Recording
from footfall.spatial.quaternion import rotated, to_rotation


def noisy_torques(rec: Recording, rows: ndarray, sensors: Sensors) -> Float[ndarray, "n nj"]:
    """Joint torques by inverse dynamics on sampled readings [N m], accelerations by central differences over two steps.

    The accelerometer gives the base's acceleration at once; turn and joint accelerations are differences of gyro and
    encoder rates. The base's linear velocity is read by no sensor, and drops out: only its change makes forces.
    """
    rng, robot = np.random.default_rng(sensors.seed), rec.robot
    dt = float(np.median(np.diff(rec.time)))
    R = np.array([to_rotation(q[3:7]) for q in rec.q])
    world = np.einsum("tij,tj->ti", R, rec.v[:, 3:6])
    change = np.gradient(world, rec.time, axis=0)
    acceleration = _read(np.einsum("tji,tj->ti", R, change), sensors.acceleration, rng)
    gyro = _read(rec.v[:, :3], sensors.gyro, rng)
    tilt = _read(np.zeros((len(rec), 3)), sensors.attitude, rng)
    position = _read(rec.q[:, 7:], sensors.position, rng)
    rate = _read(rec.v[:, 6:], sensors.velocity, rng)
    force = _read(rec.force.reshape(len(rec), -1), sensors.force, rng).reshape(rec.force.shape)
    torques = []
    for k in rows:
        q = np.concatenate([rec.q[k, :3], rotated(rec.q[k, 3:7], tilt[k]), position[k]])
        v = np.concatenate([gyro[k], np.zeros(3), rate[k]])
        turning, joints = ((x[k + 1] - x[k - 1]) / (2.0 * dt) for x in (gyro, rate))
        need = inverse_dynamics(robot, q, v, np.concatenate([turning, acceleration[k], joints]))
        J = feet_jacobian(robot, q, "contact", np.eye(3))
        torques.append((need - np.einsum("kij,ki->j", J[:, 3:], 0.5 * (force[k] + force[k + 1])))[6:])
    return np.array(torques)


def _read(truth: Float[ndarray, "T n"], sensor: Sensor, rng: np.random.Generator) -> Float[ndarray, "T n"]:
    """What a sensor says of all samples: the truth, a constant offset, noise, rounding."""
    assert isinstance(sensor, Reading)
    said = truth + sensor.bias * rng.normal(size=truth.shape[1]) + sensor.noise * rng.normal(size=truth.shape)
    return sensor.resolution * np.round(said / sensor.resolution) if sensor.resolution else said
