"""A recording frame by frame for other formats: at a given rate, with an IMU even if none was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.checks import checked_number
from footfall.errors import InputError
from footfall.recording.recording import Recording
from footfall.spatial.gravity import GRAVITY
from footfall.spatial.quaternion import to_rotation
from nptrace.array_types import Float


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The robot at one time. IMU in base axes."""

    stamp: int  # [ns]
    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    torque: Float[ndarray, "nj"]
    gyro: Float[ndarray, "3"]  # [rad/s]
    acceleration: Float[ndarray, "3"]  # specific force [m/s²]
    force: Float[ndarray, "nf 3"]  # forces on the feet, world axes [N]


def frames(recording: Recording, rate: float | None = None) -> Iterator[Frame]:
    """Yield every row, or frames at a given rate; a robot on a fixed base is refused, as it has no meaningful IMU."""
    robot = recording.robot
    if not robot.floating:
        raise InputError(f"robot '{robot.name}' has a fixed base: these formats need a floating base")
    if len(recording) < 2:
        raise InputError("the recording has fewer than two rows: there is nothing to convert")
    columns = {name: recording[name] for name in recording.columns}
    time, q, v = columns["time"], columns["q"], columns["v"]
    gyro = columns.get("gyro", v[:, :3])
    pull = columns.get("acceleration")
    pull = _specific_force(recording) if pull is None else pull
    torque = columns.get("torque", np.zeros((len(time), robot.nj)))
    force = columns.get("force", np.zeros((len(time), robot.nf, 3)))
    for k in _rows(time, rate):
        yield Frame(
            stamp=round(float(time[k]) * 1e9),
            q=q[k],
            v=v[k],
            torque=torque[k],
            gyro=gyro[k],
            acceleration=pull[k],
            force=force[k],
        )


def count(recording: Recording, rate: float | None) -> int:
    return len(_rows(recording.time, rate))


def _rows(time: Float[ndarray, "T"], rate: float | None) -> ndarray:
    """Return the rows nearest to multiples of a period; all of them without a rate."""
    if rate is None:
        return np.arange(len(time))
    checked_number(rate, "the rate of frames", 0.0, above=True)
    wanted = np.arange(time[0], time[-1] + 1e-9, 1.0 / rate)
    return np.unique(np.clip(np.searchsorted(time, wanted - 1e-9), 0, len(time) - 1))


def _specific_force(recording: Recording) -> Float[ndarray, "T 3"]:
    """Return the reading of an IMU at the base's origin, from the change of its velocity."""
    gravity = np.array(recording.meta.get("gravity", GRAVITY))
    R_WB = np.moveaxis(to_rotation(recording.q[:, 3:7].T), -1, 0)
    velocity = np.einsum("tij,tj->ti", R_WB, recording.v[:, 3:6])
    change = np.gradient(velocity, recording.time, axis=0) if recording.duration > 0 else 0.0 * velocity
    return np.einsum("tji,tj->ti", R_WB, change - gravity)


__all__ = ["Frame", "count", "frames"]
