"""Joint torques from sensors that err: what XiLing's IMU, encoders and foot sensors allow (Yan et al. 2021)."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.compiling import compile
from footfall.control.estimation.torque_sensing import TorqueSensing
from footfall.control.interface import Inertial, Sensed
from footfall.dynamics.inverse_dynamics import inverse_dynamics
from footfall.experiments.registered import setup
from footfall.gravity import GRAVITY
from footfall.hardware.sensors import Reading, Sensor, Sensors
from footfall.kinematics.jacobian import feet_jacobian
from footfall.nests import Nest
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.spatial.quaternion import rotated, to_rotation


def noisy_torques(rec: Recording, rows: ndarray, sensors: Sensors) -> Float[ndarray, "n nj"]:
    """Joint torques by inverse dynamics on sampled readings [N m], accelerations by central differences over two steps.

    The accelerometer gives the base's acceleration at once; turn and joint accelerations are differences of gyro and
    encoder rates. The base's linear velocity is read by no sensor, and drops out: only its change makes forces.
    """
    robot, said, dt = rec.robot, readings(rec, sensors), float(np.median(np.diff(rec.time)))
    torques = []
    for k in rows:
        q = np.concatenate([rec.q[k, :3], said["quaternion"][k], said["position"][k]])
        v = np.concatenate([said["gyro"][k], np.zeros(3), said["rate"][k]])
        turning, joints = ((x[k + 1] - x[k - 1]) / (2.0 * dt) for x in (said["gyro"], said["rate"]))
        need = inverse_dynamics(robot, q, v, np.concatenate([turning, said["acceleration"][k], joints]))
        J = feet_jacobian(robot, q, "contact", np.eye(3))
        force = 0.5 * (said["force"][k] + said["force"][k + 1])
        torques.append((need - np.einsum("kij,ki->j", J[:, 3:], force))[6:])
    return np.array(torques)


def registered_sensing() -> TorqueSensing:
    return TorqueSensing(1000.0, setup("yan2021")["filter"], setup("yan2021")["stands_from"])


def filtered_torques(rec: Recording, sensors: Sensors, sensing: TorqueSensing) -> Float[ndarray, "T nj"]:
    """The same readings through ``TorqueSensing``, tick after tick: torques of every row [N m]."""
    robot, said, up = rec.robot, readings(rec, sensors), -np.array(GRAVITY)
    memory = sensing.start(robot)
    sensed = [
        Sensed(
            np.concatenate([rec.q[k, :3], quat, said["position"][k]]),
            np.concatenate([said["gyro"][k], np.zeros(3), said["rate"][k]]), said["force"][k],
            Inertial(said["acceleration"][k] + to_rotation(quat).T @ up, said["gyro"][k]),
        )
        for k, quat in enumerate(said["quaternion"])
    ]  # fmt: skip
    tick = compile(_tick, robot, sensed[0], memory, sensing=sensing, verify=False)
    torques = []
    for each in sensed:
        torque, memory = tick(each, memory)
        torques.append(np.array(torque))
    return np.array(torques)


def _tick(
    robot: Robot, sensed: Sensed, memory: dict[str, Nest], sensing: TorqueSensing
) -> tuple[ndarray, dict[str, Nest]]:
    return sensing(robot, sensed, memory)


def readings(rec: Recording, sensors: Sensors) -> dict[str, ndarray]:
    """What sensors say of every row of a recording; ``acceleration`` is the accelerometer's less gravity, base axes."""
    rng = np.random.default_rng(sensors.seed)
    R = np.array([to_rotation(q[3:7]) for q in rec.q])
    world = np.einsum("tij,tj->ti", R, rec.v[:, 3:6])
    change = np.gradient(world, rec.time, axis=0)
    said = {"acceleration": _read(np.einsum("tji,tj->ti", R, change), sensors.acceleration, rng)}
    said["gyro"] = _read(rec.v[:, :3], sensors.gyro, rng)
    tilt = _read(np.zeros((len(rec), 3)), sensors.attitude, rng)
    said["quaternion"] = np.array([rotated(q[3:7], turn) for q, turn in zip(rec.q, tilt)])
    said["position"] = _read(rec.q[:, 7:], sensors.position, rng)
    said["rate"] = _read(rec.v[:, 6:], sensors.velocity, rng)
    said["force"] = _read(rec.force.reshape(len(rec), -1), sensors.force, rng).reshape(rec.force.shape)
    return said


def _read(truth: Float[ndarray, "T n"], sensor: Sensor, rng: np.random.Generator) -> Float[ndarray, "T n"]:
    """What a sensor says of all samples: the truth, a constant offset, noise, rounding."""
    assert isinstance(sensor, Reading)
    said = truth + sensor.bias * rng.normal(size=truth.shape[1]) + sensor.noise * rng.normal(size=truth.shape)
    return sensor.resolution * np.round(said / sensor.resolution) if sensor.resolution else said
